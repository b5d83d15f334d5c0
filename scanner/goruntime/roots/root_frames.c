// SPDX-License-Identifier: Apache-2.0
/*
 * Roots of goroutines: the variables of their frames that DWARF describes and
 * that cover live words, registers, and deferred functions. Live words that no
 * variable covers are left to the mask phase.
 */
#include "goruntime/roots/roots.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "goruntime/roots/frame_locals.h"
#include "goruntime/sched/stackmask.h"
#include "goruntime/types/word.h"
#include "inferior/recorder.h"

enum {
	MAX_PIECED_WORDS = 64,
	FRAME_STEPS = 4,
};

/** No address has more bits. */
#define MAX_LENGTH (UINT64_C(1) << 47)

struct frames {
	struct gr_runtime *rt;
	const struct gr_sched *sched;
	struct gr_root_list *list;
	struct gr_frame_locals locals;
};

static struct gr_root frame_root(const struct gr_sched *sched, uint32_t index,
				 const struct gr_frame *frame)
{
	const struct gr_goroutine *g = &sched->goroutines[index];

	return (struct gr_root){
		.goroutine = index,
		.goroutine_state = g->state,
		.kind = g->is_system ? GR_ROOT_RUNTIME : GR_ROOT_LOCAL,
		.tier = gr_roots_frame_tier(g, frame->func->name),
		.form = GR_ROOT_REGION,
		.type = GR_TYPE_NONE,
		.frame_sp = frame->sp,
	};
}

/* Is a word of a stack for a saved file? One that may be a pointer, and leads
 * nowhere, may be a number of the program. */
static bool is_kept(const struct gr_runtime *rt, const struct gr_area *stack,
		    uint64_t addr, const uint8_t *host)
{
	return rt->recorder &&
	       (!gr_area_has_doubt(stack, addr, GR_WORD_BYTES) ||
		gr_image_is_mapped(rt->image, gr_load_u64(host)));
}

/* Copy one piece of a variable into @p buf and set the root's live words. */
static bool gather_piece(const struct gr_runtime *rt,
			 const struct gr_goroutine *g,
			 const struct gr_frame *frame,
			 const struct gr_location_piece *piece, uint64_t bytes,
			 uint8_t *buf, struct gr_root *root)
{
	uint64_t word = piece->off_bytes / GR_WORD_BYTES, size, at;
	const uint8_t *host =
		gr_frame_piece(rt, g, frame, piece, bytes, &size, &at);

	if (!host)
		return false;
	memcpy(buf + piece->off_bytes, host, size);
	if (!at) { // a register
		if (size == GR_WORD_BYTES &&
		    piece->off_bytes % GR_WORD_BYTES == 0)
			root->live |= UINT64_C(1) << word;
		return true;
	}
	root->is_conservative |= gr_area_has_doubt(&g->stack, at, size);
	if (at % GR_WORD_BYTES || piece->off_bytes % GR_WORD_BYTES)
		return true;
	// Bounded by the variable's bytes, for which buf has room.
	for (uint64_t i = 0; i < size / GR_WORD_BYTES; i++) {
		if (!gr_bitmap_take(g->stack.live,
				    (at - g->stack.start) / GR_WORD_BYTES + i))
			continue;
		root->live |= UINT64_C(1) << (word + i);
		if (is_kept(rt, &g->stack, at + i * GR_WORD_BYTES,
			    host + i * GR_WORD_BYTES))
			gr_recorder_note(rt->recorder, host + i * GR_WORD_BYTES,
					 GR_WORD_BYTES);
	}
	return true;
}

/* Is the word at @p off, which is @p value, the length of a slice or a string, or
 * the type of an interface? The slot of a dead one may have any value. */
static struct gr_error *is_header(const struct frames *f, gr_type_id type,
				  uint64_t off, uint64_t value, bool *ret)
{
	char buf[64];
	struct gr_text name = gr_text_begin(buf, sizeof(buf));
	struct gr_type_word word;
	struct gr_error *err =
		gr_types_name_word(f->locals.types, type, off, &name, &word);

	*ret = false;
	if (err || word.is_nameless || word.type == GR_TYPE_NONE)
		return err;
	uint8_t kind = gr_types_get(f->locals.types, word.type)->kind;
	if (kind == GR_KIND_SLICE || kind == GR_KIND_STRING)
		*ret = value < MAX_LENGTH;
	else if (kind == GR_KIND_INTERFACE)
		*ret = gr_image_is_mapped(f->rt->image, value);
	return NULL;
}

/* Note the words of a piece of a variable that its pointers need. */
static struct gr_error *note_headers(const struct frames *f, uint32_t index,
				     const struct gr_frame *frame,
				     const struct gr_local *local,
				     const struct gr_location_piece *piece)
{
	uint64_t size, at;
	const uint8_t *host =
		gr_frame_piece(f->rt, &f->sched->goroutines[index], frame,
			       piece, local->bytes, &size, &at);
	struct gr_error *err = NULL;
	bool is_kept;

	// Bounded by the piece, which lies in the stack.
	for (uint64_t off = 0;
	     !err && host && at && off + GR_WORD_BYTES <= size;
	     off += GR_WORD_BYTES) {
		err = is_header(f, local->type, piece->off_bytes + off,
				gr_load_u64(host + off), &is_kept);
		if (!err && is_kept)
			gr_recorder_note(f->rt->recorder, host + off,
					 GR_WORD_BYTES);
	}
	return err;
}

/* Use the name and the type of the instance for a variable in the shared code
 * of a generic function. */
static struct gr_error *name_instance(struct frames *f, uint32_t index,
				      const struct gr_frame *frame,
				      const struct gr_local *local,
				      struct gr_root *root)
{
	const char *function;
	struct gr_error *err =
		gr_frame_instance(&f->locals, &f->sched->goroutines[index],
				  frame, local, &root->type, &function);

	if (err)
		return err;
	if (!function) {
		gr_gap_add(f->rt->gaps, GR_GAP_UNRESOLVED_GENERICS, 1);
		return NULL;
	}
	root->name = gr_arena_internf(f->rt->arena, "%s.%s", function,
				      local->variable);
	return root->name ? NULL : &gr_enomem;
}

static struct gr_error *add_named(struct frames *f, uint32_t index,
				  const struct gr_frame *frame,
				  const struct gr_local *local,
				  struct gr_root *root)
{
	struct gr_error *err = NULL;

	root->name = local->name;
	root->type = local->type;
	root->bytes = local->bytes;
	root->file = local->file;
	root->line = local->line;
	if (gr_local_is_generic(&f->locals, local))
		err = name_instance(f, index, frame, local, root);
	if (err)
		return err;
	return gr_root_list_append(f->list, *root) ? NULL : &gr_enomem;
}

/* Assemble a variable that lies in pieces or registers. */
static struct gr_error *add_pieced(struct frames *f, uint32_t index,
				   const struct gr_frame *frame,
				   const struct gr_local *local)
{
	struct gr_runtime *rt = f->rt;
	struct gr_root root = frame_root(f->sched, index, frame);
	uint8_t buf[(MAX_PIECED_WORDS + 1) * GR_WORD_BYTES] = { 0 };

	if (local->bytes > MAX_PIECED_WORDS * GR_WORD_BYTES)
		return NULL;
	for (uint32_t i = 0; i < local->npieces; i++) {
		if (local->pieces[i].kind == GR_LOCATION_UNKNOWN)
			gr_gap_add(rt->gaps, GR_GAP_UNKNOWN_LOCATIONS, 1);
		gather_piece(rt, &f->sched->goroutines[index], frame,
			     &local->pieces[i], local->bytes, buf, &root);
	}
	if (!root.live)
		return NULL;
	for (uint32_t i = 0; rt->recorder && i < local->npieces; i++) {
		struct gr_error *err =
			note_headers(f, index, frame, local, &local->pieces[i]);
		if (err)
			return err;
	}
	// Only DWARF says that registers are live; no map does.
	for (uint32_t i = 0; i < local->npieces; i++)
		if (local->pieces[i].kind == GR_LOCATION_REGISTER)
			root.is_conservative = true;
	uint8_t *kept = gr_arena_alloc(rt->arena, local->bytes + GR_WORD_BYTES);
	if (!kept)
		return &gr_enomem;
	memcpy(kept, buf, local->bytes);
	GR_ASSERT(root.form == GR_ROOT_REGION && root.live);
	root.bytes_at = kept;
	return add_named(f, index, frame, local, &root);
}

static struct gr_error *add_plain(struct frames *f, uint32_t index,
				  const struct gr_frame *frame,
				  const struct gr_local *local)
{
	const struct gr_area *stack = &f->sched->goroutines[index].stack;
	uint64_t addr = frame->fp + local->offset;

	if (!gr_area_has_live(stack, addr, local->bytes))
		return NULL;
	struct gr_root root = frame_root(f->sched, index, frame);
	root.is_conservative = gr_area_has_doubt(stack, addr, local->bytes);
	root.addr = addr;
	return add_named(f, index, frame, local, &root);
}

static int compare_addr(const void *a, const void *b)
{
	const struct gr_root *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return strcmp(x->name, y->name);
}

static struct gr_error *add_frame(struct frames *f, uint32_t index,
				  const struct gr_frame *frame)
{
	const struct gr_pc_locals *at = gr_frame_locals_at(
		&f->locals, frame - f->sched->goroutines[index].frames);
	struct gr_error *err = NULL;
	size_t first = f->list->size;

	for (size_t i = 0; !err && i < at->count; i++)
		if (at->locals[i].is_plain)
			err = add_plain(f, index, frame, &at->locals[i]);
	if (err)
		return err;
	if (f->list->size > first + 1)
		qsort(f->list->data + first, f->list->size - first,
		      sizeof(*f->list->data), compare_addr);
	for (size_t i = 0; !err && i < at->count; i++)
		if (!at->locals[i].is_plain)
			err = add_pieced(f, index, frame, &at->locals[i]);
	return err;
}

/* Add a value that has no address: a register or a deferred function. */
static struct gr_error *add_value(struct frames *f, uint32_t index,
				  const struct gr_value_root *value)
{
	const struct gr_goroutine *g = &f->sched->goroutines[index];
	static const enum gr_root_kind kinds[] = {
		[GR_VALUE_REGISTER] = GR_ROOT_REGISTER,
		[GR_VALUE_DEFER] = GR_ROOT_DEFER,
		[GR_VALUE_PANIC] = GR_ROOT_DEFER,
		[GR_VALUE_CTXT] = GR_ROOT_REGISTER,
	};
	const struct gr_frame *frame =
		value->frame < g->nframes ? &g->frames[value->frame] : NULL;
	const char *function = frame ? frame->func->name :
				       gr_goroutine_no_frame(g);
	struct gr_root root = {
		.goroutine = index,
		.form = GR_ROOT_VALUE,
		.is_conservative = value->conservative,
		.type = GR_TYPE_NONE,
		.addr = value->value,
		.kind = kinds[value->kind],
		.frame_sp = frame ? frame->sp : 0,
		.tier = gr_roots_frame_tier(g, function),
	};

	if (!value->value)
		return NULL;
	if (g->is_system)
		root.kind = GR_ROOT_RUNTIME;
	// A deferred function belongs to user code, even in a runtime frame.
	if (value->kind == GR_VALUE_DEFER && !g->is_system)
		root.tier = GR_TIER_USER;
	root.is_func = value->kind == GR_VALUE_DEFER ||
		       value->kind == GR_VALUE_CTXT;
	root.name = gr_arena_internf(f->rt->arena, "%s.%s", function,
				     value->name_suffix);
	root.goroutine_state = g->state;
	if (frame)
		gr_func_line(frame->func, frame->pc, &root.file, &root.line);
	if (!root.name || !gr_root_list_append(f->list, root))
		return &gr_enomem;
	return NULL;
}

struct gr_error *gr_roots_add_goroutines(const struct gr_heap *heap,
					 const struct gr_sched *sched,
					 struct gr_root_list *ret)
{
	struct frames f = { .rt = heap->rt,
			    .sched = sched,
			    .list = ret,
			    .locals = { .types = heap->types } };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];

		err = gr_runtime_step(f.rt, FRAME_STEPS);
		if (!err)
			err = gr_frame_locals_find(&f.locals, g);
		for (size_t j = 0; !err && j < g->nframes; j++) {
			err = gr_runtime_step(f.rt, FRAME_STEPS);
			if (!err)
				err = add_frame(&f, i, &g->frames[j]);
		}
		for (size_t j = 0; !err && j < g->nvalues; j++) {
			err = gr_runtime_step(f.rt, FRAME_STEPS);
			if (!err)
				err = add_value(&f, i, &g->values[j]);
		}
	}
	gr_frame_locals_deinit(&f.locals);
	return err;
}
