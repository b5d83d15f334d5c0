// SPDX-License-Identifier: Apache-2.0
/*
 * The order of the walk: strata of roots, each first by type, then by mask
 * what the types left unexplained, until nothing is new.
 */
#include "mark/visit.h"

#include <time.h>

enum { POLL_EVERY = 1 << 14, MAX_SUDOGS = 1 << 20, HELD_LEVELS = 4 };

static void poll(struct gr_walk *w, uint64_t i)
{
	if (i % POLL_EVERY == 0)
		gr_walk_poll(w);
}

static void set_barrier(struct gr_walk *w, uint64_t addr)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(w->heap, addr, &span);

	if (obj != GR_OBJ_NONE)
		w->heap->states[obj] |= GR_OBJECT_BARRIER;
}

/* The sudogs on which a goroutine waits (g.waiting, by waitlink). */
static void bar_sudogs(struct gr_walk *w, uint64_t g)
{
	const struct gr_layout *layout = &w->rt->layout;
	const uint8_t *host;
	uint64_t word, bytes;

	if (!gr_walk_locate(w, g, &host, &word, &bytes) ||
	    bytes < layout->g.size_bytes)
		return;
	uint64_t sudog = gr_field_word(host, layout->g.waiting);
	for (uint32_t i = 0; sudog && i < MAX_SUDOGS; i++) {
		set_barrier(w, sudog);
		if (!gr_walk_locate(w, sudog, &host, &word, &bytes) ||
		    bytes < layout->sudog.size_bytes)
			return;
		sudog = gr_field_word(host, layout->sudog.waitlink);
	}
}

/* Until the last stratum the scheduler's objects lead nowhere. */
static void set_barriers(struct gr_walk *w)
{
	for (size_t i = 0; i < w->rt->ngoroutines; i++) {
		set_barrier(w, w->rt->goroutines[i].addr);
		bar_sudogs(w, w->rt->goroutines[i].addr);
	}
	for (size_t i = 0; i < w->rt->nms; i++)
		set_barrier(w, w->rt->ms[i]);
	for (size_t i = 0; i < w->rt->nps; i++)
		set_barrier(w, w->rt->ps[i]);
}

/* Live words [first, end) of untyped memory: pointers to who knows what. */
static void run_untyped(struct gr_walk *w, struct gr_scope *scope,
			const uint8_t *host, uint64_t word, uint64_t nwords)
{
	const struct gr_referent *to = gr_walk_referent(w, GR_TYPE_NONE);
	uint64_t end = word + nwords;

	for (uint64_t at = word;
	     (at = gr_bitmap_next(w->todo, at, end)) < end && !w->err; at++) {
		uint64_t addr = gr_load_u64(host + (at - word) * GR_WORD_BYTES);
		gr_bitmap_clear(w->todo, at);
		if (addr)
			gr_walk_visit(w, addr, to, 0, scope, GR_STEP_SELF);
	}
}

static void run_typed(struct gr_walk *w, struct gr_scope *scope,
		      gr_type_id type, const uint8_t *host, uint64_t word,
		      uint64_t bytes)
{
	if (type == GR_TYPE_NONE) {
		run_untyped(w, scope, host, word, bytes / GR_WORD_BYTES);
		return;
	}
	scope->key = type;
	scope->program = gr_program_get(&w->programs, type);
	if (!scope->program)
		gr_walk_fail(w, &gr_enomem);
	else if (scope->program->size_bytes <= bytes)
		gr_walk_run_value(w, scope, host, word);
}

static void run_region_root(struct gr_walk *w, const struct gr_root *root)
{
	struct gr_scope scope = { .node = GR_NODE_NONE };
	const uint8_t *host;
	uint64_t word, bytes;

	if (root->bytes_at) {
		w->todo[w->extra_word / 64] = root->live;
		run_typed(w, &scope, root->type, root->bytes_at, w->extra_word,
			  root->bytes);
		w->todo[w->extra_word / 64] = 0;
		return;
	}
	if (gr_walk_locate(w, root->addr, &host, &word, &bytes))
		run_typed(w, &scope, root->type, host, word,
			  root->bytes < bytes ? root->bytes : bytes);
}

/* A root that is a pointer itself. */
static void run_value_root(struct gr_walk *w, const struct gr_root *root)
{
	struct gr_scope scope = { .node = GR_NODE_NONE };

	if (root->addr && root->is_func)
		gr_walk_run_func(w, &scope, GR_STEP_SELF, root->addr,
				 root->type);
	else if (root->addr)
		gr_walk_visit(w, root->addr, gr_walk_referent(w, root->type), 0,
			      &scope, GR_STEP_SELF);
}

/* What an object with a finalizer holds; the object is not reached by it. */
static void run_contents_root(struct gr_walk *w, const struct gr_root *root)
{
	struct gr_scope scope = { .node = GR_NODE_NONE };
	const struct gr_span *span;
	const uint8_t *host;
	uint64_t word, bytes;
	gr_obj obj = gr_heap_object_at(w->heap, root->addr, &span);

	if (obj == GR_OBJ_NONE || span->is_noscan ||
	    !gr_heap_is_allocated(w->heap, obj))
		return;
	uint64_t data = gr_span_slot_addr(span, obj - span->first_obj) +
			span->header_bytes;
	if (!gr_walk_locate(w, data, &host, &word, &bytes))
		return;
	if (root->type != GR_TYPE_NONE)
		run_typed(w, &scope, root->type, host, word, bytes);
	if (gr_bitmap_next(w->todo, word, word + bytes / GR_WORD_BYTES) ==
	    word + bytes / GR_WORD_BYTES)
		return;
	gr_walk_note_unexplained(w,
				 gr_span_slot_word(span, obj - span->first_obj),
				 gr_walk_scope_node(w, &scope));
}

static void run_root(struct gr_walk *w, const struct gr_root *root)
{
	if (w->precise_only && root->is_conservative)
		return;
	w->from = GR_OBJ_NONE;
	w->root = root;
	gr_walk_set_conservative(w, root->is_conservative);
	switch ((enum gr_root_form)root->form) {
	case GR_ROOT_REGION:
		run_region_root(w, root);
		break;
	case GR_ROOT_VALUE:
		run_value_root(w, root);
		break;
	case GR_ROOT_CONTENTS:
		run_contents_root(w, root);
		break;
	}
	gr_walk_set_conservative(w, false);
	w->root = NULL;
}

static bool is_type_word(const struct gr_module *m, uint64_t word)
{
	return word >= m->types && word < m->etypes;
}

/* Both words of an itab that name types, of one module. */
static bool is_itab(const struct gr_module *m, const uint64_t words[2])
{
	return is_type_word(m, words[0]) && is_type_word(m, words[1]);
}

/*
 * Can the slot at @p addr hold a value of this type? What an interface boxes
 * has a slot of its own, of the smallest class that it fits in (mallocgc: the
 * tiny allocator puts several without pointers into one); a pointer may lead
 * to any place that has room.
 */
static bool fits_slot(struct gr_walk *w, const struct gr_referent *to,
		      uint64_t addr)
{
	enum { TINY_BYTES = 16 }; // runtime.maxTinySize
	const struct gr_types *types = w->rt->types;
	const struct gr_span *span = gr_heap_span_at(w->heap, addr);

	if (!span || to->label == GR_TYPE_NONE)
		return true;
	const struct gr_type *type = gr_types_get(types, to->label);
	bool is_boxed = !to->program->is_direct;
	if (!is_boxed) {
		if (type->kind != GR_KIND_PTR || type->elem == GR_TYPE_NONE)
			return true;
		type = gr_types_get(types, type->elem);
	}
	uint64_t room = span->elem_bytes - span->header_bytes;
	uint64_t off = (addr - span->base_addr) % span->elem_bytes -
		       span->header_bytes;
	if (off > room || type->size_bytes > room - off)
		return false;
	if (!is_boxed)
		return true;
	if (span->is_noscan && !gr_program_is_empty(to->program))
		return false;
	if (span->is_noscan && room == TINY_BYTES)
		return true;
	return !off && type->size_bytes > room / 2;
}

/*
 * A value of the concrete type that the word before a data word names: a type
 * record of a module, or an itab; untyped: neither, or not what lies there. A
 * guess: what turns out to be no type is no gap.
 */
static const struct gr_referent *type_before(struct gr_walk *w,
					     const uint8_t *at)
{
	const struct gr_runtime *rt = w->rt;
	uint64_t word = gr_load_u64(at - GR_WORD_BYTES), words[2];
	uint64_t unknown = rt->gaps->count[GR_GAP_UNKNOWN_TYPES];
	const struct gr_referent *to = gr_walk_referent(w, GR_TYPE_NONE);

	if (!word || word % GR_WORD_BYTES || gr_heap_span_at(w->heap, word))
		return to;
	struct gr_error *err =
		gr_image_read(rt->image, word, words, sizeof(words));
	if (err) {
		gr_error_destroy(err);
		return to;
	}
	for (size_t i = 0; i < rt->nmodules && to->type == GR_TYPE_NONE; i++) {
		if (is_itab(&rt->modules[i], words))
			to = gr_walk_itab_type(w, word);
		else if (is_type_word(&rt->modules[i], word))
			to = gr_walk_runtime_type(w, word);
	}
	rt->gaps->count[GR_GAP_UNKNOWN_TYPES] = unknown;
	return fits_slot(w, to, gr_load_u64(at)) ?
		       to :
		       gr_walk_referent(w, GR_TYPE_NONE);
}

/*
 * Follow one word that no type explained, for the node of @p step; `first`:
 * nothing lies before it.
 */
static void run_masked_word(struct gr_walk *w, struct gr_scope *scope,
			    uint32_t step, const uint8_t *at, bool first)
{
	if (!gr_load_u64(at))
		return;
	w->typed_row = &w->ledger->header;
	gr_walk_run_interface(w, scope, step, at,
			      first ? gr_walk_referent(w, GR_TYPE_NONE) :
				      type_before(w, at));
	w->typed_row = &w->ledger->typed;
}

static void run_masked_object(struct gr_walk *w,
			      const struct gr_masked_object *masked)
{
	const struct gr_span *span =
		&w->heap->spans[w->heap->scan_page_spans[masked->word /
							 GR_PAGE_WORDS]];
	uint32_t index = (masked->word - span->first_word) /
			 (span->elem_bytes / GR_WORD_BYTES);
	gr_obj obj = span->first_obj + index;
	struct gr_scope scope = {
		.node = masked->node,
		.key = GR_KEY_SUB_OBJECTS,
	};

	if (!span->host)
		return;
	uint64_t off = index * span->elem_bytes + span->header_bytes;
	uint64_t word = span->first_word + off / GR_WORD_BYTES;
	uint64_t end =
		word + (span->elem_bytes - span->header_bytes) / GR_WORD_BYTES;
	// Of an object with a finalizer only the contents are reached: what it
	// holds begins a chain, or a cycle through it would have no beginning.
	w->from = gr_heap_is_counted(w->heap, obj) ? obj : GR_OBJ_NONE;
	for (uint64_t at = word;
	     (at = gr_bitmap_next(w->todo, at, end)) < end && !w->err; at++) {
		gr_bitmap_clear(w->todo, at);
		run_masked_word(w, &scope, 0,
				span->host + off + (at - word) * GR_WORD_BYTES,
				at == word);
	}
}

/* Live words of one area that no variable's type explained. */
static void sweep_area(struct gr_walk *w, size_t i)
{
	const struct gr_area *area = &w->roots->areas.areas[i];
	uint64_t first = w->area_word[i];
	uint64_t end = first + (area->end - area->start) / GR_WORD_BYTES;
	struct gr_error *err;

	if (!area->host)
		return;
	for (uint64_t at = first;
	     (at = gr_bitmap_next(w->todo, at, end)) < end &&
	     !gr_walk_is_over(w);
	     at++) {
		uint64_t word = at - first;
		const uint8_t *host = area->host + word * GR_WORD_BYTES;
		struct gr_root root;

		bool is_doubtful = area->conservative &&
				   gr_bitmap_test(area->conservative, word);
		if (!gr_load_u64(host) || (w->precise_only && is_doubtful)) {
			gr_bitmap_clear(w->todo, at);
			continue;
		}
		err = gr_roots_name_word(w->rt, w->roots, i,
					 area->start + word * GR_WORD_BYTES,
					 &root);
		if (err) {
			gr_walk_fail(w, err);
			return;
		}
		if (root.stratum > w->stratum)
			continue;
		struct gr_scope scope = { .node = GR_NODE_NONE };
		struct gr_scope below = {
			.node = GR_NODE_NONE,
			.key = GR_KEY_SUB_OBJECTS,
			.up = &scope,
			.up_step = GR_STEP_SELF,
		};
		gr_bitmap_clear(w->todo, at);
		w->root = &root;
		w->from = GR_OBJ_NONE;
		gr_walk_set_conservative(w, is_doubtful);
		// A word of its own is billed to itself, a word of a
		// variable below the variable.
		run_masked_word(w, &below,
				root.is_sub_object ? 0 : GR_STEP_SELF, host,
				word == 0);
		gr_walk_set_conservative(w, false);
		w->root = NULL;
	}
}

/*
 * What types left of the areas' words, then of the objects, until the end. It
 * goes by distance as well, a level of regions and then a level of words; but
 * words are held back for a few levels, for a type that may be on its way to
 * them from elsewhere: names are worth a little detour.
 */
static void mask_phase(struct gr_walk *w, size_t nareas)
{
	size_t ends[HELD_LEVELS] = { 0 };

	for (size_t i = 0; i < nareas && !gr_walk_is_over(w); i++)
		sweep_area(w, i);
	for (size_t i = 0, level = 0;
	     !gr_walk_is_over(w) && (w->queue.size || i < w->masked.size);
	     level++) {
		size_t end = w->queue.size ? ends[level % HELD_LEVELS] :
					     w->masked.size;

		ends[level % HELD_LEVELS] = w->masked.size;
		gr_walk_drain(w, w->is_first_root ? UINT64_MAX : w->queue.size);
		for (; i < end && !gr_walk_is_over(w); i++) {
			struct gr_masked_object masked = w->masked.data[i];
			run_masked_object(w, &masked);
			poll(w, i);
			if (w->is_first_root)
				gr_walk_drain(w, UINT64_MAX);
		}
	}
	w->masked.size = 0;
}

/* What led to the scheduler's objects from elsewhere, now that it may. */
static void run_deferred(struct gr_walk *w)
{
	for (size_t i = 0; i < w->deferred.size && !gr_walk_is_over(w); i++) {
		struct gr_scope scope = { .node = w->deferred.data[i].node };
		gr_walk_visit(w, w->deferred.data[i].addr,
			      gr_walk_referent(w, GR_TYPE_NONE), 0, &scope,
			      GR_STEP_SELF);
	}
	w->deferred.size = 0;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000) + now.tv_nsec / 1000;
}

static void run_stratum(struct gr_walk *w, enum gr_stratum stratum)
{
	uint64_t start = now_us();

	w->stratum = stratum;
	for (size_t i = 0; i < w->roots->list.size && !gr_walk_is_over(w);
	     i++) {
		if (w->roots->list.data[i].stratum == stratum)
			run_root(w, &w->roots->list.data[i]);
		if (w->is_first_root)
			gr_walk_drain(w, UINT64_MAX);
		poll(w, i);
	}
	gr_walk_drain(w, UINT64_MAX);
	uint64_t typed = now_us();
	w->ledger->phases_us[GR_PHASE_typed] += typed - start;
	mask_phase(w, w->roots->areas.count);
	if (stratum == GR_STRATUM_RUNTIME) {
		run_deferred(w);
		mask_phase(w, w->roots->areas.count);
	}
	w->ledger->phases_us[GR_PHASE_mask] += now_us() - typed;
}

/* Only what a few places hold. */
static void run_places(struct gr_walk *w, const struct gr_walk_options *options)
{
	uint64_t start = now_us();

	w->stratum = GR_STRATUM_USER;
	for (size_t i = 0; i < options->nplaces && !gr_walk_is_over(w); i++) {
		const struct gr_place *place = &options->places[i];
		struct gr_root root = {
			.name = place->name,
			.kind = place->is_variable ? GR_ROOT_GLOBAL :
						     GR_ROOT_ADDRESS,
			.form = place->is_variable ? GR_ROOT_REGION :
						     GR_ROOT_VALUE,
			.type = place->type,
			.addr = place->addr,
			.goroutine = UINT32_MAX,
		};
		if (place->is_variable && place->type != GR_TYPE_NONE)
			root.bytes = gr_types_get(w->rt->types, place->type)
					     ->size_bytes;
		run_root(w, &root);
	}
	gr_walk_drain(w, UINT64_MAX);
	uint64_t typed = now_us();
	w->ledger->phases_us[GR_PHASE_typed] += typed - start;
	mask_phase(w, 0); // Only the objects: no other root's words.
	w->ledger->phases_us[GR_PHASE_mask] += now_us() - typed;
}

struct gr_error *gr_walk_strata(struct gr_walk *w,
				const struct gr_walk_options *options)
{
	struct gr_error *err;

	set_barriers(w);
	if (options->nplaces)
		run_places(w, options);
	else
		for (int s = GR_STRATUM_USER;
		     s <= GR_STRATUM_RUNTIME && !gr_walk_is_over(w); s++)
			run_stratum(w, s);
	if (w->err) {
		err = w->err;
		w->err = NULL;
		return err;
	}
	return w->tree.is_out_of_memory ? &gr_enomem : NULL;
}
