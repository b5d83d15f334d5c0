// SPDX-License-Identifier: Apache-2.0
/* Type programs over memory: the inner loop of the typed phase. */
#include "mark/visit.h"

/*
 * How far ahead memory is fetched, in regions of the queue or elements of an
 * array: first what they lie in, then the states of the objects that their
 * first pointers lead to. On a heap in random order the walk would wait for
 * each in turn. The table of pages is small enough to stay near.
 */
enum {
	AHEAD_MEMORY = 24,
	AHEAD_OBJECT = 12,
};

/* Fetch what visits of the first pointers of the value at @p host look at. */
static inline void prefetch_targets(const struct gr_walk *w,
				    const struct gr_program *program,
				    const uint8_t *host)
{
	uint64_t mask = program->first_words;

	for (; mask; mask &= mask - 1) {
		uint64_t addr = gr_load_u64(host + __builtin_ctzll(mask) *
							   GR_WORD_BYTES);
		struct gr_spot at;
		if (gr_heap_spot(w->heap, addr, &at))
			gr_prefetch(&w->heap->states[at.obj]);
	}
}

static inline void look_ahead(struct gr_walk *w)
{
	const struct gr_region *region =
		gr_region_queue_peek(&w->queue, AHEAD_MEMORY);

	if (GR_UNLIKELY(!region))
		return;
	gr_prefetch(region->host);
	gr_prefetch(region->host + region->object_words * GR_WORD_BYTES / 2);
	gr_prefetch(&w->todo[region->word / 64]);
	region -= AHEAD_MEMORY - AHEAD_OBJECT;
	// Programs of containers and of types not met before: not ahead.
	if (region->type < w->programs.capacity &&
	    w->programs.by_type[region->type])
		prefetch_targets(w, w->programs.by_type[region->type],
				 region->host);
}

static inline void run_slot(struct gr_walk *w, struct gr_scope *scope,
			    struct gr_slot *slot, uint32_t step,
			    const uint8_t *at);

void gr_walk_run_interface(struct gr_walk *w, struct gr_scope *scope,
			   uint32_t step, const uint8_t *at, gr_type_id type)
{
	const struct gr_referent *to = gr_walk_referent(w, type);
	struct gr_total *row = w->typed_row;

	if (row == &w->ledger->typed)
		w->typed_row = &w->ledger->runtime_type;
	// An interface is never kept directly: this ends here.
	if (to->program->is_direct)
		run_slot(w, scope, &to->program->slots[0], step, at);
	else
		gr_walk_visit(w, gr_load_u64(at), to, 0, scope, step);
	w->typed_row = row;
}

/*
 * A reflect.Value: the word before is its type, the one after its flags. With
 * flagIndir the pointer leads to the value, else it is the value.
 */
static void run_reflect_value(struct gr_walk *w, struct gr_scope *scope,
			      uint32_t step, const uint8_t *at)
{
	enum { FLAG_INDIR = 1 << 7 };
	gr_type_id type =
		gr_walk_runtime_type(w, gr_load_u64(at - GR_WORD_BYTES));

	if (gr_load_u64(at + GR_WORD_BYTES) & FLAG_INDIR)
		gr_walk_visit(w, gr_load_u64(at), gr_walk_referent(w, type), 0,
			      scope, step);
	else
		gr_walk_run_interface(w, scope, step, at, type);
}

/* A funcval: its first word is the code, what follows was captured. */
void gr_walk_run_func(struct gr_walk *w, struct gr_scope *scope, uint32_t step,
		      uint64_t addr, gr_type_id type)
{
	struct gr_referent to = gr_referent_untyped(type);
	const uint8_t *host;
	uint64_t word, bytes;

	if (gr_walk_locate(w, addr, &host, &word, &bytes)) {
		gr_type_id closure;
		struct gr_error *err =
			gr_types_closure(w->rt, gr_load_u64(host), &closure);
		if (err) {
			gr_walk_fail(w, err);
			return;
		}
		if (closure != GR_TYPE_NONE)
			to = *gr_walk_referent(w, closure);
	}
	size_t nmasked = w->masked.size;
	gr_walk_visit(w, addr, &to, 0, scope, step);
	if (w->masked.size == nmasked || !to.program->nsteps)
		return;
	// What DWARF does not know of the captures goes below the function.
	struct gr_scope below = {
		.node = gr_walk_step_node(w, scope, step),
		.key = to.type,
		.program = to.program,
	};
	w->masked.data[nmasked].node = gr_walk_step_node(w, &below, 0);
}

/* An array of @p count, as slot->to has it; of none the type is not known. */
static inline void run_array(struct gr_walk *w, struct gr_scope *scope,
			     const struct gr_slot *slot, uint32_t step,
			     uint64_t addr, uint64_t count)
{
	if (GR_LIKELY(count)) {
		gr_walk_visit(w, addr, &slot->to,
			      count < UINT32_MAX ? count : UINT32_MAX, scope,
			      step);
	} else {
		// A slice of no capacity points to where an array was cut off.
		struct gr_referent to = gr_referent_untyped(slot->to.label);
		gr_walk_visit(w, addr, &to, 0, scope, step);
	}
}

/* Follow what other words beside the pointer tell about. */
static void run_wide_slot(struct gr_walk *w, struct gr_scope *scope,
			  const struct gr_slot *slot, uint32_t step,
			  const uint8_t *at)
{
	uint64_t addr = gr_load_u64(at);

	switch ((enum gr_slot_op)slot->op) {
	case GR_SLOT_SLICE:
		run_array(w, scope, slot, step, addr,
			  gr_load_u64(at + 2 * GR_WORD_BYTES));
		break;
	case GR_SLOT_COUNTED: // sync.Pool
		run_array(w, scope, slot, step, addr,
			  gr_load_u64(at + GR_WORD_BYTES));
		break;
	case GR_SLOT_EFACE:
		gr_walk_run_interface(
			w, scope, step, at,
			gr_walk_runtime_type(w,
					     gr_load_u64(at - GR_WORD_BYTES)));
		break;
	case GR_SLOT_IFACE:
		gr_walk_run_interface(
			w, scope, step, at,
			gr_walk_itab_type(w, gr_load_u64(at - GR_WORD_BYTES)));
		break;
	case GR_SLOT_FUNC:
		gr_walk_run_func(w, scope, step, addr, slot->type);
		break;
	case GR_SLOT_REFLECT:
		run_reflect_value(w, scope, step, at);
		break;
	case GR_SLOT_UNKNOWN:
	case GR_SLOT_POINTER:
	case GR_SLOT_STRING:
	case GR_SLOT_HEADER:
	case GR_SLOT_TRIE:
		break;
	}
}

/* Follow the pointer word at @p at, for the node of @p step. */
static inline void run_slot(struct gr_walk *w, struct gr_scope *scope,
			    struct gr_slot *slot, uint32_t step,
			    const uint8_t *at)
{
	uint64_t addr = gr_load_u64(at), count = 0;

	if (!addr)
		return;
	if (GR_UNLIKELY(!slot->to.program))
		slot->to.program =
			slot->to.is_container ?
				&gr_program_nothing :
				gr_walk_referent(w, slot->to.type)->program;
	if (slot->op > GR_SLOT_TRIE) {
		if (slot->op == GR_SLOT_SLICE)
			count = gr_load_u64(at + 2 * GR_WORD_BYTES);
		if (!count || count > UINT32_MAX) {
			run_wide_slot(w, scope, slot, step, at);
			return;
		}
	}
	gr_walk_visit_inline(w, addr, &slot->to, count, scope, step);
}

static void run_arrays(struct gr_walk *w, struct gr_scope *scope,
		       const uint8_t *host, uint64_t word)
{
	const struct gr_program *program = scope->program;

	for (uint32_t i = 0; i < program->narrays; i++) {
		const struct gr_array_slot *array = &program->arrays[i];
		struct gr_scope list = {
			.node = GR_NODE_NONE,
			.key = array->elem | GR_KEY_ELEMENTS,
			.up = scope,
			.up_step = array->step,
		};
		gr_walk_run_elements(w, &list, array->elem, array->count,
				     host + array->off_bytes,
				     word + array->off_bytes / GR_WORD_BYTES);
	}
}

/* Words [first, first + 64) of a value, as far as its program goes. */
static inline void run_words(struct gr_walk *w, struct gr_scope *scope,
			     const uint8_t *host, uint64_t word, uint32_t first)
{
	const struct gr_program *program = scope->program;
	uint32_t n = program->nwords - first;
	uint64_t bits =
		gr_bitmap_extract(w->todo, word + first, n < 64 ? n : 64) &
		program->mask[first / 64];

	if (!bits)
		return;
	gr_bitmap_and_not(w->todo, word + first, bits);
	for (; bits; bits &= bits - 1) {
		uint32_t i = first + __builtin_ctzll(bits);
		struct gr_slot *slot =
			&program->slots[program->slot_of_word[i]];
		run_slot(w, scope, slot, slot->step,
			 host + (uint64_t)i * GR_WORD_BYTES);
	}
}

void gr_walk_run_value(struct gr_walk *w, struct gr_scope *scope,
		       const uint8_t *host, uint64_t word)
{
	const struct gr_program *program = scope->program;

	gr_walk_tick(w);
	for (uint32_t first = 0; first < program->nwords; first += 64)
		run_words(w, scope, host, word, first);
	if (GR_UNLIKELY(program->narrays))
		run_arrays(w, scope, host, word);
}

/* Name the scope of element @p i: ten have their own, the rest one. */
static void name_element(struct gr_scope *scope, uint64_t i)
{
	uint32_t name = i < GR_NELEMENT_NAMES - 1 ? i : GR_NELEMENT_NAMES - 1;

	if (name == scope->up_step)
		return;
	scope->up_step = name;
	scope->node = GR_NODE_NONE;
	scope->table = 0;
}

void gr_walk_run_elements(struct gr_walk *w, struct gr_scope *list,
			  gr_type_id elem, uint64_t count, const uint8_t *host,
			  uint64_t word)
{
	const struct gr_program *program = gr_walk_program(w, elem);
	uint64_t size = program->size_bytes, stride = size / GR_WORD_BYTES;
	struct gr_scope scope = {
		.node = GR_NODE_NONE,
		.key = elem,
		.program = program,
		.up = list,
		.up_step = UINT32_MAX,
	};

	if (!stride || gr_program_is_empty(program))
		return;
	for (uint64_t i = 0; i < count && !w->err; i++) {
		name_element(&scope, i);
		if (i + AHEAD_OBJECT < count)
			prefetch_targets(w, program,
					 host + (i + AHEAD_OBJECT) * size);
		gr_walk_run_value(w, &scope, host + i * size,
				  word + i * stride);
	}
}

/* Did the type of a new object leave words of it? */
static inline void note_rest(struct gr_walk *w, const struct gr_region *region,
			     struct gr_scope *scope)
{
	uint64_t end = region->word + region->object_words;
	uint64_t rest = gr_bitmap_extract(
		w->todo, region->word,
		region->object_words < 64 ? region->object_words : 64);

	if (GR_LIKELY(!rest) &&
	    (region->object_words <= 64 ||
	     gr_bitmap_next(w->todo, region->word, end) == end))
		return;
	// What DWARF does not know of captures goes below the function.
	bool is_below = scope->program && scope->program->is_closure &&
			scope->program->nsteps;
	gr_walk_note_unexplained(w, region->word,
				 is_below ? gr_walk_step_node(w, scope, 0) :
					    region->node);
}

static inline void run_region(struct gr_walk *w, const struct gr_region *region)
{
	struct gr_scope scope = { .node = region->node, .key = region->type };

	w->from = region->from;
	if (GR_UNLIKELY(region->type & GR_KEY_CONTAINER)) {
		gr_walk_run_container(w, &scope,
				      region->type & ~GR_KEY_CONTAINER,
				      region->host, region->word);
		return;
	}
	if (region->count) {
		scope.key |= GR_KEY_ELEMENTS;
		gr_walk_run_elements(w, &scope, region->type, region->count,
				     region->host, region->word);
		if (region->object_words)
			note_rest(w, region, &scope);
		return;
	}
	scope.program = gr_walk_program(w, region->type);
	scope.table = gr_tree_find_table(&w->tree, scope.node, scope.key);
	gr_walk_run_value(w, &scope, region->host, region->word);
	if (region->object_words)
		note_rest(w, region, &scope);
}

void gr_walk_drain(struct gr_walk *w, uint64_t count)
{
	struct gr_region region;

	while (count-- && !gr_walk_is_over(w)) {
		look_ahead(w);
		if (!(w->is_first_root ?
			      gr_region_queue_pop_last(&w->queue, &region) :
			      gr_region_queue_pop(&w->queue, &region)))
			return;
		run_region(w, &region);
	}
}
