// SPDX-License-Identifier: Apache-2.0
/*
 * The order of the walk. Each tier of roots is walked by type first, then by
 * mask for the words that types did not explain, until nothing new is found.
 */
#include "goruntime/sched/waits.h"
#include "mark/edges.h"
#include "mark/visit.h"

#include <time.h>

enum {
	POLL_EVERY = 1 << 14,
	HELD_LEVELS = 4,
	DROPPED_WORDS = 1 << 12,
	NAME_STEPS = 64, /* A name takes as long as so many words. */
};

static void poll(struct gr_walk *w, uint64_t i)
{
	if (i % POLL_EVERY == 0)
		gr_walk_poll(w);
}

static void set_scheduler_object(struct gr_walk *w, uint64_t addr)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(w->heap, addr, &span);

	if (obj != GR_OBJ_NONE)
		w->m.states[obj] |= GR_OBJECT_SCHEDULER;
}

/* Mark the objects of the scheduler, which are not followed before the last
 * tier. */
static void set_scheduler_objects(struct gr_walk *w)
{
	for (size_t i = 0; i < w->sched->ngoroutines; i++)
		set_scheduler_object(w, w->sched->goroutines[i].addr);
	const struct gr_waits *waits = w->sched->waits;
	for (size_t i = 0; waits && i < waits->nsudogs; i++)
		set_scheduler_object(w, waits->sudogs[i].addr);
	for (size_t i = 0; i < w->sched->nms; i++)
		set_scheduler_object(w, w->sched->ms[i]);
	for (size_t i = 0; i < w->sched->nps; i++)
		set_scheduler_object(w, w->sched->ps[i]);
}

/* Follow the live words of untyped memory: pointers of unknown type. */
static void run_untyped(struct gr_walk *w, const struct gr_origin *o,
			struct gr_scope *scope, const uint8_t *host,
			uint64_t word, uint64_t nwords)
{
	const struct gr_referent *to = gr_walk_referent(w, GR_TYPE_NONE);
	uint64_t end = word + nwords;

	for (uint64_t at = word;
	     (at = gr_bitmap_next(w->pending, at, end)) < end && !w->err;
	     at++) {
		uint64_t addr = gr_load_u64(host + (at - word) * GR_WORD_BYTES);
		gr_bitmap_clear(w->pending, at);
		if (addr)
			gr_walk_visit(w, o, addr, to, 0, scope, GR_STEP_SELF);
	}
}

static void run_typed(struct gr_walk *w, const struct gr_origin *o,
		      struct gr_scope *scope, gr_type_id type,
		      const uint8_t *host, uint64_t word, uint64_t bytes)
{
	if (type == GR_TYPE_NONE) {
		run_untyped(w, o, scope, host, word, bytes / GR_WORD_BYTES);
		return;
	}
	scope->key = type;
	scope->plan = gr_walk_type_plan(w, type);
	if (!w->err && scope->plan->size_bytes <= bytes)
		gr_walk_run_value(w, o, scope, host, word);
}

static void run_region_root(struct gr_walk *w, const struct gr_origin *o)
{
	struct gr_scope scope = { .node = GR_NODE_NONE, .root = o->root };
	const struct gr_root *root = o->root;
	const uint8_t *host;
	uint64_t word, bytes;

	if (root->bytes_at) {
		w->pending[w->extra_word / 64] = root->live;
		run_typed(w, o, &scope, root->type, root->bytes_at,
			  w->extra_word, root->bytes);
		w->pending[w->extra_word / 64] = 0;
		return;
	}
	if (gr_walk_locate(w, root->addr, &host, &word, &bytes))
		run_typed(w, o, &scope, root->type, host, word,
			  root->bytes < bytes ? root->bytes : bytes);
}

/* Run a root that is a pointer itself. */
static void run_value_root(struct gr_walk *w, const struct gr_origin *o)
{
	struct gr_scope scope = { .node = GR_NODE_NONE, .root = o->root };
	const struct gr_root *root = o->root;

	if (root->addr && root->is_func)
		gr_walk_run_func(w, o, &scope, GR_STEP_SELF, root->addr,
				 root->type);
	else if (root->addr)
		gr_walk_visit(w, o, root->addr, gr_walk_referent(w, root->type),
			      0, &scope, GR_STEP_SELF);
}

/* The pointers of an object to itself are done: they do not make it reached. */
static void pass_by(struct gr_walk *w, const struct gr_span *span,
		    uint64_t slot_addr, const uint8_t *host, uint64_t word,
		    uint64_t bytes)
{
	uint64_t data_addr = slot_addr + span->header_bytes;
	uint64_t end = word + bytes / GR_WORD_BYTES;

	for (uint64_t at = word;
	     (at = gr_bitmap_next(w->pending, at, end)) < end; at++) {
		uint64_t off = (at - word) * GR_WORD_BYTES;

		if (gr_is_passed_by(slot_addr, span->elem_bytes,
				    data_addr + off, gr_load_u64(host + off)))
			gr_bitmap_clear(w->pending, at);
	}
}

/* Run the contents of an object with a finalizer. The finalizer alone does not
 * make the object itself reached. */
static void run_contents_root(struct gr_walk *w, const struct gr_origin *o)
{
	struct gr_scope scope = { .node = GR_NODE_NONE, .root = o->root };
	const struct gr_root *root = o->root;
	const struct gr_span *span;
	const uint8_t *host;
	uint64_t word, bytes;
	gr_obj obj = gr_heap_object_at(w->heap, root->addr, &span);

	if (obj == GR_OBJ_NONE || span->is_noscan ||
	    !gr_heap_is_allocated(w->heap, obj))
		return;
	uint64_t slot_addr = gr_span_slot_addr(span, obj - span->first_obj);
	if (!gr_walk_locate(w, slot_addr + span->header_bytes, &host, &word,
			    &bytes))
		return;
	pass_by(w, span, slot_addr, host, word, bytes);
	if (root->type != GR_TYPE_NONE)
		run_typed(w, o, &scope, root->type, host, word, bytes);
	if (gr_bitmap_next(w->pending, word, word + bytes / GR_WORD_BYTES) ==
	    word + bytes / GR_WORD_BYTES)
		return;
	gr_walk_note_unexplained(w,
				 gr_span_slot_word(span, obj - span->first_obj),
				 gr_walk_scope_node(w, &scope));
}

static void run_root(struct gr_walk *w, const struct gr_root *root,
		     enum gr_tier tier)
{
	const struct gr_origin o =
		gr_origin_of_root(w, root, tier, root->is_conservative);

	if (w->precise_only && root->is_conservative)
		return;
	switch ((enum gr_root_form)root->form) {
	case GR_ROOT_REGION:
		run_region_root(w, &o);
		break;
	case GR_ROOT_VALUE:
		run_value_root(w, &o);
		break;
	case GR_ROOT_CONTENTS:
		run_contents_root(w, &o);
		break;
	}
}

static bool is_type_word(const struct gr_module *m, uint64_t word)
{
	return word >= m->types && word < m->etypes;
}

/* Are these the two words of an itab that point to types of one module? */
static bool is_itab(const struct gr_module *m, const uint64_t words[2])
{
	return is_type_word(m, words[0]) && is_type_word(m, words[1]);
}

/*
 * Can the slot at @p addr hold a value of this type? A value boxed by an
 * interface has a slot of its own, of the smallest size class that it fits in.
 * (In mallocgc, the tiny allocator puts several values without pointers into
 * one slot.) A pointer may lead to any place that has enough room.
 */
static bool fits_slot(struct gr_walk *w, const struct gr_referent *to,
		      uint64_t addr)
{
	const struct gr_types *types = w->types;
	const struct gr_span *span = gr_heap_span_at(w->heap, addr);

	if (!span || to->label == GR_TYPE_NONE)
		return true;
	const struct gr_type *type = gr_types_get(types, to->label);
	bool is_boxed = !to->plan->is_direct;
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
	if (span->is_noscan && !gr_type_plan_is_empty(to->plan))
		return false;
	if (span->is_noscan && room == GR_TINY_BYTES)
		return true;
	return !off && type->size_bytes > room / 2;
}

/* Keep a word that leads to a type, and the first words of the type. */
static void note_type_word(struct gr_walk *w, const uint8_t *at, uint64_t word)
{
	gr_walk_note_read(w, at, GR_WORD_BYTES);
	gr_recorder_add(w->rt->recorder, word, 2 * GR_WORD_BYTES);
}

/*
 * The referent of a data word, if the word before it points to a type record
 * of a module or to an itab. The referent is untyped if that word points to
 * neither, or if a value of that type does not fit there. This is a guess, so a
 * word that turns out not to be a type is not counted as a gap.
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
	// Only a type is kept in a saved file: other words may be values.
	gr_recorder_pause(rt->recorder);
	struct gr_error *err =
		gr_image_read(rt->image, word, words, sizeof(words));
	gr_recorder_resume(rt->recorder);
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
	if (to->type != GR_TYPE_NONE && rt->recorder)
		note_type_word(w, at - GR_WORD_BYTES, word);
	return fits_slot(w, to, gr_load_u64(at)) ?
		       to :
		       gr_walk_referent(w, GR_TYPE_NONE);
}

/*
 * Follow one word that no type explained, for the node of @p step. @p first
 * says that no word lies before it.
 */
static void run_masked_word(struct gr_walk *w, struct gr_origin o,
			    struct gr_scope *scope, uint32_t step,
			    const uint8_t *at, bool first)
{
	if (!gr_load_u64(at))
		return;
	o.row = &w->ledger->header;
	gr_walk_run_interface(w, &o, scope, step, at,
			      first ? gr_walk_referent(w, GR_TYPE_NONE) :
				      type_before(w, at));
}

static void run_masked_object(struct gr_walk *w, enum gr_tier tier,
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
	// An object with a finalizer may not be reached, only its contents. The
	// chain then begins with the contents; otherwise a cycle through the
	// object would have no beginning.
	const struct gr_origin o = gr_origin_of(
		w, gr_marking_is_reached(&w->m, obj) ? obj : GR_OBJ_NONE, tier);
	for (uint64_t at = word;
	     (at = gr_bitmap_next(w->pending, at, end)) < end && !w->err;
	     at++) {
		gr_bitmap_clear(w->pending, at);
		run_masked_word(w, o, &scope, 0,
				span->host + off + (at - word) * GR_WORD_BYTES,
				at == word);
	}
}

/* Follow a live word of area @p i that no variable's type explained, unless it
 * belongs to a later tier. */
static void sweep_word(struct gr_walk *w, size_t i, uint64_t word,
		       enum gr_tier tier, bool is_doubtful)
{
	const struct gr_area *area = &w->roots->areas.areas[i];
	struct gr_root root;

	gr_walk_tick(w, NAME_STEPS);
	struct gr_error *err =
		gr_roots_name_word(w->sched, w->roots, i,
				   area->start + word * GR_WORD_BYTES, &root);

	if (err) {
		gr_walk_fail(w, err);
		return;
	}
	if (root.tier > tier)
		return;
	struct gr_scope scope = { .node = GR_NODE_NONE, .root = &root };
	struct gr_scope below = {
		.node = GR_NODE_NONE,
		.key = GR_KEY_SUB_OBJECTS,
		.up = &scope,
		.up_step = GR_STEP_SELF,
	};
	gr_bitmap_clear(w->pending, w->area_word[i] + word);
	// A word that belongs to a variable is billed below that variable, any
	// other word to a root of its own.
	run_masked_word(w, gr_origin_of_root(w, &root, tier, is_doubtful),
			&below, root.is_sub_object ? 0 : GR_STEP_SELF,
			area->host + word * GR_WORD_BYTES, word == 0);
}

/* Clear the bits of an area's words that lead nowhere: such words need no name,
 * and a stack may be full of them. */
static void drop_done_words(struct gr_walk *w, const struct gr_area *area,
			    uint64_t first, uint64_t end)
{
	for (uint64_t at = first; at < end && !gr_walk_is_over(w);
	     at += DROPPED_WORDS) {
		uint64_t n = end - at < DROPPED_WORDS ? end - at :
							DROPPED_WORDS;

		gr_walk_drop_done(w, area->host + (at - first) * GR_WORD_BYTES,
				  at, n);
		gr_walk_tick(w, n);
	}
}

static void sweep_area(struct gr_walk *w, size_t i, enum gr_tier tier)
{
	const struct gr_area *area = &w->roots->areas.areas[i];
	uint64_t first = w->area_word[i];
	uint64_t end = first + (area->end - area->start) / GR_WORD_BYTES;

	if (!area->host)
		return;
	drop_done_words(w, area, first, end);
	for (uint64_t at = first;
	     (at = gr_bitmap_next(w->pending, at, end)) < end &&
	     !gr_walk_is_over(w);
	     at++) {
		uint64_t word = at - first;
		bool is_doubtful = area->conservative &&
				   gr_bitmap_test(area->conservative, word);

		if (!gr_load_u64(area->host + word * GR_WORD_BYTES) ||
		    (w->precise_only && is_doubtful))
			gr_bitmap_clear(w->pending, at);
		else
			sweep_word(w, i, word, tier, is_doubtful);
	}
}

/*
 * Follow the words that types did not explain: first those of the areas, then
 * those of the objects, until nothing is left. This phase also goes by
 * distance: a level of regions, then a level of words. Words are held back for
 * a few levels, because a typed pointer may still reach their object and give
 * it a name.
 */
static void mask_phase(struct gr_walk *w, enum gr_tier tier, size_t nareas)
{
	size_t ends[HELD_LEVELS] = { 0 };

	for (size_t i = 0; i < nareas && !gr_walk_is_over(w); i++)
		sweep_area(w, i, tier);
	for (size_t i = 0, level = 0;
	     !gr_walk_is_over(w) && (w->queue.size || i < w->masked.size);
	     level++) {
		size_t end = w->queue.size ? ends[level % HELD_LEVELS] :
					     w->masked.size;

		ends[level % HELD_LEVELS] = w->masked.size;
		gr_walk_drain(w, tier,
			      w->is_first_root ? UINT64_MAX : w->queue.size);
		for (; i < end && !gr_walk_is_over(w); i++) {
			struct gr_masked_object masked = w->masked.data[i];
			run_masked_object(w, tier, &masked);
			poll(w, i);
			if (w->is_first_root)
				gr_walk_drain(w, tier, UINT64_MAX);
		}
	}
	w->masked.size = 0;
}

/* Make the deferred visits of the scheduler's objects, in the last tier. */
static void run_deferred(struct gr_walk *w)
{
	for (size_t i = 0; i < w->deferred.size && !gr_walk_is_over(w); i++) {
		struct gr_scope scope = { .node = w->deferred.data[i].node };

		const struct gr_origin o = gr_origin_of(
			w, w->deferred.data[i].from, GR_TIER_RUNTIME);

		gr_walk_visit(w, &o, w->deferred.data[i].addr,
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

static void run_tier(struct gr_walk *w, enum gr_tier tier)
{
	uint64_t start = now_us();

	for (size_t i = 0; i < w->roots->list.size && !gr_walk_is_over(w);
	     i++) {
		if (w->roots->list.data[i].tier == tier)
			run_root(w, &w->roots->list.data[i], tier);
		if (w->is_first_root)
			gr_walk_drain(w, tier, UINT64_MAX);
		poll(w, i);
	}
	gr_walk_drain(w, tier, UINT64_MAX);
	uint64_t typed = now_us();
	w->ledger->phases_us[GR_PHASE_typed] += typed - start;
	mask_phase(w, tier, w->roots->areas.count);
	if (tier == GR_TIER_RUNTIME) {
		run_deferred(w);
		mask_phase(w, tier, w->roots->areas.count);
	}
	w->ledger->phases_us[GR_PHASE_mask] += now_us() - typed;
}

/* Is the variable at an address a local one? */
static bool is_on_stack(const struct gr_walk *w, uint64_t addr)
{
	for (size_t i = 0; i < w->sched->ngoroutines; i++)
		if (addr >= w->sched->goroutines[i].stack_lo &&
		    addr < w->sched->goroutines[i].stack_hi)
			return true;
	return false;
}

static enum gr_root_kind kind_of_place(const struct gr_walk *w,
				       const struct gr_place *place)
{
	if (!place->is_variable)
		return GR_ROOT_ADDRESS;
	return is_on_stack(w, place->addr) ? GR_ROOT_LOCAL : GR_ROOT_GLOBAL;
}

/* Walk from the given places only. */
static void run_places(struct gr_walk *w, const struct gr_walk_options *options)
{
	uint64_t start = now_us();

	const enum gr_tier tier = GR_TIER_USER;
	for (size_t i = 0; i < options->nplaces && !gr_walk_is_over(w); i++) {
		const struct gr_place *place = &options->places[i];
		struct gr_root root = {
			.name = place->name,
			.kind = kind_of_place(w, place),
			.form = place->is_variable ? GR_ROOT_REGION :
						     GR_ROOT_VALUE,
			.type = place->type,
			.addr = place->addr,
			.goroutine = UINT32_MAX,
		};
		if (place->is_variable && place->type != GR_TYPE_NONE)
			root.bytes =
				gr_types_get(w->types, place->type)->size_bytes;
		run_root(w, &root, tier);
	}
	gr_walk_drain(w, tier, UINT64_MAX);
	uint64_t typed = now_us();
	w->ledger->phases_us[GR_PHASE_typed] += typed - start;
	mask_phase(w, tier, 0); // Objects only: areas belong to other roots.
	w->ledger->phases_us[GR_PHASE_mask] += now_us() - typed;
}

/* Do the totals by ledger row, by type and by node cover the same objects? */
GR_MAYBE_UNUSED static bool totals_agree(const struct gr_walk *w)
{
	const struct gr_ledger *l = w->ledger;
	struct gr_total by_type = w->m.untyped_total, by_node = { 0 };

	for (size_t i = 0; i < w->m.type_totals.size; i++) {
		by_type.objects += w->m.type_totals.data[i].objects;
		by_type.bytes += w->m.type_totals.data[i].bytes;
	}
	for (size_t i = 0; i < w->m.tree.nodes.size; i++) {
		by_node.objects += w->m.tree.nodes.data[i].objects;
		by_node.bytes += w->m.tree.nodes.data[i].bytes;
	}
	uint64_t objects = l->typed.objects + l->runtime_type.objects +
			   l->header.objects + l->masked.objects;
	uint64_t bytes = l->typed.bytes + l->runtime_type.bytes +
			 l->header.bytes + l->masked.bytes;
	return by_type.objects == objects && by_type.bytes == bytes &&
	       by_node.objects == objects && by_node.bytes == bytes;
}

struct gr_error *gr_walk_tiers(struct gr_walk *w,
			       const struct gr_walk_options *options)
{
	struct gr_error *err;

	uint64_t start = now_us();
	set_scheduler_objects(w);
	w->ledger->phases_us[GR_PHASE_typed] += now_us() - start;
	if (options->nplaces)
		run_places(w, options);
	else
		for (int s = GR_TIER_USER;
		     s <= GR_TIER_RUNTIME && !gr_walk_is_over(w); s++)
			run_tier(w, s);
	gr_walk_name_parts(w);
	GR_ASSERT(w->err || totals_agree(w));
	if (w->err) {
		err = w->err;
		w->err = NULL;
		return err;
	}
	return w->m.tree.is_out_of_memory ? &gr_enomem : NULL;
}
