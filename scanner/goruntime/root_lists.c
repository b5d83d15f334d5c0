// SPDX-License-Identifier: Apache-2.0
/*
 * Roots from the runtime's own lists: specials of spans (runtime/mheap.go),
 * queued finalizers (runtime/mfinal.go) and cleanups (runtime/mcleanup.go),
 * timers (runtime/time.go), tiny blocks (runtime/malloc.go).
 */
#include "goruntime/heap.h"
#include "goruntime/roots.h"

#include "base/cleanup.h"

enum {
	MAX_SPECIALS = 1 << 26, /* in all */
	MAX_BLOCKS = 1 << 20,
	MAX_TIMERS = 1 << 26, /* of one P */
	MAX_RECORD_BYTES = 1 << 14,
};

struct reader {
	struct gr_runtime *rt;
	struct gr_root_list *list;
	uint64_t nspecials;
};

/* Append a root whose value is a pointer; 0 is none. */
static struct gr_error *add_value(struct reader *r, const char *name,
				  enum gr_root_kind kind,
				  enum gr_stratum stratum, uint64_t value,
				  bool is_func)
{
	struct gr_root root = {
		.name = gr_arena_intern(r->rt->arena, name, strlen(name)),
		.goroutine = UINT32_MAX,
		.kind = kind,
		.stratum = stratum,
		.form = GR_ROOT_VALUE,
		.is_func = is_func,
		.type = GR_TYPE_NONE,
		.addr = value,
	};

	if (!value)
		return NULL;
	if (!root.name || !gr_root_list_append(r->list, root))
		return &gr_enomem;
	return NULL;
}

static struct gr_error *add_finalizer(struct reader *r,
				      const struct gr_span *span,
				      uint64_t obj_addr, uint64_t record)
{
	const typeof(r->rt->layout.special_finalizer) *f =
		&r->rt->layout.special_finalizer;
	struct gr_error *err;
	uint64_t fn, ot;

	err = gr_image_read_u64(r->rt->image, record + f->fn.off, &fn);
	if (!err)
		err = gr_image_read_u64(r->rt->image, record + f->ot.off, &ot);
	if (!err)
		err = add_value(r, "runtime.SetFinalizer.fn", GR_ROOT_FINALIZER,
				GR_STRATUM_DEFERRED, fn, true);
	if (!err)
		err = add_value(r, "runtime.SetFinalizer.obj",
				GR_ROOT_FINALIZER, GR_STRATUM_DEFERRED,
				obj_addr + span->header_bytes, false);
	if (err)
		return err;
	r->list->data[r->list->size - 1].form = GR_ROOT_CONTENTS;
	r->list->data[r->list->size - 1].type_addr = ot;
	return NULL;
}

static struct gr_error *add_cleanup_fields(struct reader *r, uint64_t record,
					   struct gr_field call,
					   struct gr_field fn,
					   struct gr_field arg)
{
	const struct {
		struct gr_field field;
		const char *name;
		bool is_func;
	} parts[] = {
		{ call, "runtime.AddCleanup.call", true },
		{ fn, "runtime.AddCleanup.fn", true },
		{ arg, "runtime.AddCleanup.arg", false },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(parts); i++) {
		uint64_t value;
		struct gr_error *err;

		if (!gr_field_is_present(parts[i].field))
			continue;
		err = gr_image_read_u64(r->rt->image,
					record + parts[i].field.off, &value);
		if (!err)
			err = add_value(r, parts[i].name, GR_ROOT_CLEANUP,
					GR_STRATUM_DEFERRED, value,
					parts[i].is_func);
		if (err)
			return err;
	}
	return NULL;
}

static struct gr_error *add_special(struct reader *r,
				    const struct gr_span *span, uint64_t addr,
				    uint64_t offset, int64_t kind)
{
	const struct gr_layout *layout = &r->rt->layout;
	uint64_t index = offset / span->elem_bytes;

	if (index >= span->nelems)
		return NULL;
	if (layout->has.kind_finalizer && kind == layout->consts.kind_finalizer)
		return add_finalizer(r, span, gr_span_slot_addr(span, index),
				     addr);
	if (layout->has.kind_cleanup && kind == layout->consts.kind_cleanup)
		return add_cleanup_fields(r, addr, layout->special_cleanup.call,
					  layout->special_cleanup.fn,
					  layout->special_cleanup.arg);
	if (layout->has.kind_weak_handle &&
	    kind == layout->consts.kind_weak_handle) {
		uint64_t handle;
		struct gr_error *err = gr_image_read_u64(
			r->rt->image,
			addr + layout->special_weak_handle.handle.off, &handle);
		return err ? err :
			     add_value(r, "weak.Pointer.handle",
				       GR_ROOT_RUNTIME, GR_STRATUM_RUNTIME,
				       handle, false);
	}
	return NULL;
}

/* Brent: a list that comes back to the mark is a loop. */
struct loop_check {
	uint64_t mark, seen, next_mark;
};

static bool is_loop(struct loop_check *c, uint64_t addr)
{
	if (c->seen && addr == c->mark)
		return true;
	if (c->seen++ == c->next_mark) {
		c->mark = addr;
		c->next_mark = c->next_mark * 2 + 1;
	}
	return false;
}

static struct gr_error *read_specials(struct reader *r,
				      const struct gr_span *span)
{
	const typeof(r->rt->layout.special) *f = &r->rt->layout.special;
	struct gr_error *err = NULL;
	uint64_t addr = span->specials;
	struct loop_check check = { 0 };
	uint8_t record[64];

	if (f->size_bytes > sizeof(record))
		return gr_error_format(GR_ERROR_LAYOUT,
				       "runtime.special is absurdly large");
	while (addr) {
		if (++r->nspecials > MAX_SPECIALS || is_loop(&check, addr)) {
			gr_gap_broken_list(r->rt->gaps, "specials of the heap");
			return NULL;
		}
		err = gr_image_read(r->rt->image, addr, record, f->size_bytes);
		if (!err)
			err = add_special(r, span, addr,
					  gr_field_uint(record, f->offset),
					  gr_field_uint(record, f->kind));
		if (gr_error_catch(&err, GR_ERROR_FAULT)) {
			gr_gap_broken_list(r->rt->gaps, "specials of the heap");
			return NULL;
		}
		if (err)
			return err;
		addr = gr_field_word(record, f->next);
	}
	return NULL;
}

/* One block of queued finalizers: the first cnt entries are set. */
static struct gr_error *read_finblock(struct reader *r, const uint8_t *block)
{
	const struct gr_layout *layout = &r->rt->layout;
	uint64_t count = gr_field_uint(block, layout->finblock.cnt) &
			 UINT32_MAX;
	uint64_t stride = layout->finalizer.size_bytes;
	uint64_t most = layout->finblock.fin.bytes / stride;
	struct gr_error *err = NULL;

	for (uint64_t i = 0; !err && i < count && i < most; i++) {
		const uint8_t *fin =
			block + layout->finblock.fin.off + i * stride;
		err = add_value(r, "runtime.SetFinalizer.fn", GR_ROOT_FINALIZER,
				GR_STRATUM_DEFERRED,
				gr_field_word(fin, layout->finalizer.fn), true);
		if (!err)
			err = add_value(r, "runtime.SetFinalizer.obj",
					GR_ROOT_FINALIZER, GR_STRATUM_DEFERRED,
					gr_field_word(fin,
						      layout->finalizer.arg),
					false);
		// An object of one type: ot is that of a pointer to it.
		if (!err && gr_field_word(fin, layout->finalizer.arg))
			r->list->data[r->list->size - 1].type_addr =
				gr_field_word(fin, layout->finalizer.ot);
	}
	return err;
}

/* One block of queued cleanups: funcval pointers, or records. */
static struct gr_error *read_cleanup_block(struct reader *r,
					   const uint8_t *block, uint64_t addr)
{
	const struct gr_layout *layout = &r->rt->layout;
	uint64_t stride = layout->cleanup_fn.size_bytes ?
				  layout->cleanup_fn.size_bytes :
				  GR_WORD_BYTES;
	uint64_t count = gr_field_uint(block, layout->cleanup_block.n) &
			 UINT32_MAX;
	uint64_t most = layout->cleanup_block.cleanups.bytes / stride;
	struct gr_error *err = NULL;

	for (uint64_t i = 0; !err && i < count && i < most; i++) {
		uint64_t off = layout->cleanup_block.cleanups.off + i * stride;
		if (layout->cleanup_fn.size_bytes)
			err = add_cleanup_fields(r, addr + off,
						 layout->cleanup_fn.call,
						 layout->cleanup_fn.fn,
						 layout->cleanup_fn.arg);
		else
			err = add_value(r, "runtime.AddCleanup.fn",
					GR_ROOT_CLEANUP, GR_STRATUM_DEFERRED,
					gr_load_u64(block + off), true);
	}
	return err;
}

/* Follow a list of blocks by their link; every block counts. */
static struct gr_error *read_blocks(
	struct reader *r, const char *name, uint64_t head, uint64_t bytes,
	struct gr_field link,
	struct gr_error *(*read)(struct reader *, const uint8_t *, uint64_t))
{
	struct gr_error *err;
	uint64_t addr;
	struct loop_check check = { 0 };
	_cleanup_free_ uint8_t *block = malloc(bytes + 1);

	if (!block || bytes > MAX_RECORD_BYTES)
		return &gr_enomem;
	err = gr_image_read_u64(r->rt->image, head, &addr);
	for (uint32_t i = 0; !err && addr && i < MAX_BLOCKS; i++) {
		if (is_loop(&check, addr)) {
			gr_gap_broken_list(r->rt->gaps, name);
			return NULL;
		}
		err = gr_image_read(r->rt->image, addr, block, bytes);
		if (!err)
			err = read(r, block, addr);
		addr = gr_field_word(block, link);
	}
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		gr_gap_broken_list(r->rt->gaps, name);
	return err;
}

static struct gr_error *read_one_finblock(struct reader *r,
					  const uint8_t *block, uint64_t addr)
{
	(void)addr;
	return read_finblock(r, block);
}

static struct gr_error *read_queues(struct reader *r)
{
	const struct gr_layout *layout = &r->rt->layout;
	struct gr_error *err = NULL;

	if (!layout->finalizer.size_bytes)
		return NULL;
	// A search finds no empty queue.
	if (layout->vars.allfin)
		err = read_blocks(r, "runtime.allfin", layout->vars.allfin,
				  layout->finblock.size_bytes,
				  layout->finblock.alllink, read_one_finblock);
	if (!err && layout->vars.gc_cleanups &&
	    layout->cleanup_queue.size_bytes &&
	    layout->cleanup_block.size_bytes)
		err = read_blocks(r, "runtime.gcCleanups",
				  layout->vars.gc_cleanups +
					  layout->cleanup_queue.all.off,
				  layout->cleanup_block.size_bytes,
				  layout->cleanup_block.alllink,
				  read_cleanup_block);
	return err;
}

/* Type of field `name` of DWARF type `owner`, or GR_TYPE_NONE. */
static gr_type_id field_type(struct gr_runtime *rt, const char *owner,
			     const char *name)
{
	gr_type_id id = gr_types_find(rt, owner);

	if (id == GR_TYPE_NONE)
		return id;
	const struct gr_type *type = gr_types_get(rt->types, id);
	for (uint32_t i = 0; i < type->nfields; i++)
		if (!strcmp(gr_types_field(rt->types, type, i)->name, name))
			return gr_types_field(rt->types, type, i)->type;
	return GR_TYPE_NONE;
}

/* A timer in a P's heap: its function, its argument, then itself. */
static struct gr_error *add_timer(struct reader *r, uint64_t timer)
{
	struct gr_runtime *rt = r->rt;
	const struct {
		const char *name, *field;
		struct gr_field at;
	} parts[] = {
		{ "time.Timer.f", "f", rt->layout.timer.f },
		{ "time.Timer.arg", "arg", rt->layout.timer.arg },
	};
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(parts); i++) {
		err = add_value(r, parts[i].name, GR_ROOT_TIMER,
				GR_STRATUM_DEFERRED, timer + parts[i].at.off,
				false);
		if (err)
			return err;
		struct gr_root *root = &r->list->data[r->list->size - 1];
		root->form = GR_ROOT_REGION;
		root->bytes = parts[i].at.bytes;
		root->type = field_type(rt, "runtime.timer", parts[i].field);
	}
	err = add_value(r, "time.Timer.f", GR_ROOT_TIMER, GR_STRATUM_DEFERRED,
			timer, false);
	if (!err)
		r->list->data[r->list->size - 1].type =
			gr_types_find(rt, "runtime.timer");
	return err;
}

static struct gr_error *read_timers(struct reader *r, uint64_t p)
{
	const struct gr_layout *layout = &r->rt->layout;
	uint64_t stride = layout->timer_when.size_bytes ?
				  layout->timer_when.size_bytes :
				  GR_WORD_BYTES;
	struct gr_go_slice heap;
	struct gr_error *err;

	if (layout->p.timer_heap.bytes < 24 || !layout->timer.size_bytes)
		return NULL;
	err = gr_runtime_read_slice(r->rt, p + layout->p.timer_heap.off,
				    MAX_TIMERS, &heap);
	for (uint64_t i = 0; !err && i < heap.len; i++) {
		uint64_t timer;
		err = gr_image_read_u64(r->rt->image,
					heap.addr + i * stride +
						layout->timer_when.timer.off,
					&timer);
		if (!err && timer)
			err = add_timer(r, timer);
	}
	return err;
}

/* The tiny block that a P is filling (gcMarkTinyAllocs). */
static struct gr_error *read_tiny(struct reader *r, uint64_t p)
{
	const struct gr_layout *layout = &r->rt->layout;
	struct gr_error *err;
	uint64_t mcache, tiny;

	err = gr_image_read_u64(r->rt->image, p + layout->p.mcache.off,
				&mcache);
	if (err || !mcache)
		return err;
	err = gr_image_read_u64(r->rt->image, mcache + layout->mcache.tiny.off,
				&tiny);
	return err ? err :
		     add_value(r, "runtime.mcache.tiny", GR_ROOT_TINY,
			       GR_STRATUM_RUNTIME, tiny, false);
}

static bool is_torn(struct reader *r, const char *name, struct gr_error **err)
{
	if (!gr_error_catch(err, GR_ERROR_FAULT) &&
	    !gr_error_catch(err, GR_ERROR_FORMAT))
		return false;
	gr_gap_broken_list(r->rt->gaps, name);
	return true;
}

struct gr_error *gr_roots_read_lists(struct gr_runtime *rt,
				     struct gr_root_list *ret)
{
	struct reader r = { .rt = rt, .list = ret };
	struct gr_error *err;

	for (size_t i = 0; i < rt->nps; i++) {
		err = read_timers(&r, rt->ps[i]);
		if (err && !is_torn(&r, "timers of a P", &err))
			return err;
		err = read_tiny(&r, rt->ps[i]);
		if (err && !is_torn(&r, "mcache.tiny of a P", &err))
			return err;
	}
	for (uint32_t i = 0; i < rt->heap->nspans; i++) {
		err = read_specials(&r, &rt->heap->spans[i]);
		if (err)
			return err;
	}
	err = read_queues(&r);
	return err ? err : gr_roots_read_waits(rt, ret);
}
