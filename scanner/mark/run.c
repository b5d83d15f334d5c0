// SPDX-License-Identifier: Apache-2.0
/* Type plans over memory: the inner loop of the typed phase. */
#include "mark/visit.h"

/*
 * The distance of prefetches, in regions of the queue or elements of an array.
 * The memory of a region is fetched first, then the states of the objects that
 * its first pointers lead to. Without prefetches, the walk of a heap in random
 * order would wait for each of them. The table of pages is small enough to stay
 * in the processor's caches.
 */
enum {
	AHEAD_MEMORY = 16,
	AHEAD_OBJECT = 4,
};

/* The number of regions between two checks whether the walk is over. */
enum { SOME = 64 };

/* Fetch the data that visits of the value's first pointers will read. */
static inline void prefetch_targets(const struct gr_walk *w,
				    const struct gr_type_plan *plan,
				    const uint8_t *host)
{
	uint64_t mask = plan->first_words;

	for (; mask; mask &= mask - 1) {
		uint64_t i = __builtin_ctzll(mask);
		gr_marking_prefetch(&w->m,
				    gr_load_u64(host + i * GR_WORD_BYTES));
	}
}

/* Fetch the object that @p addr leads to, if it holds pointers. */
static void prefetch_memory(const struct gr_walk *w, uint64_t addr)
{
	enum { LINE = 64, MAX_LINES = 5 };
	struct gr_spot at;

	if (!gr_heap_spot(w->heap, addr, &at) || at.kind->is_noscan)
		return;
	const uint8_t *host = gr_spot_page(&at, addr)->host +
			      (addr & (GR_HEAP_PAGE_BYTES - 1));
	for (uint32_t i = 0; i < MAX_LINES && i * LINE < at.kind->elem_bytes;
	     i++)
		gr_prefetch(host + i * LINE);
}

/* Fetch the pieces of a container, and closures, whose code word is read. */
static void prefetch_words(const struct gr_walk *w, const uint8_t *host,
			   uint64_t words)
{
	for (; words; words &= words - 1)
		prefetch_memory(w, gr_load_u64(host + __builtin_ctzll(words) *
							      GR_WORD_BYTES));
}

/* Prefetch for the regions that wait behind number @p i of a chunk. */
static inline void look_ahead(const struct gr_walk *w,
			      const struct gr_region_chunk *chunk, uint32_t i)
{
	const struct gr_region *region = &chunk->regions[i];

	if (GR_UNLIKELY(i + AHEAD_MEMORY >= chunk->end))
		return;
	const struct gr_region *far = region + AHEAD_MEMORY;
	gr_prefetch(far->host);
	gr_prefetch(far->host + gr_region_last_off(far));
	gr_prefetch(&w->pending[gr_region_word(far) / 64]);
	region += AHEAD_OBJECT;
	if (region->type & GR_KEY_CONTAINER) {
		unsigned int n = gr_region_object_words(region) % 32;
		uint64_t words =
			gr_bitmap_peek(w->pending, gr_region_word(region));
		prefetch_words(w, region->host,
			       words & ((UINT64_C(1) << n) - 1));
		return;
	}
	// A region is queued only after its type has a plan.
	const struct gr_type_plan *plan = w->plans.by_type[region->type];
	prefetch_targets(w, plan, region->host);
	if (GR_UNLIKELY(plan->code_words))
		prefetch_words(w, region->host, plan->code_words);
}

static void run_slot(struct gr_walk *w, const struct gr_origin *o,
		     struct gr_scope *scope, struct gr_slot *slot,
		     uint32_t step, const uint8_t *at);

static inline void run_interface(struct gr_walk *w, const struct gr_origin *o,
				 struct gr_scope *scope, uint32_t step,
				 const uint8_t *at,
				 const struct gr_referent *to)
{
	struct gr_origin via = *o;

	if (via.row == &w->ledger->typed)
		via.row = &w->ledger->runtime_type;
	// An interface never holds another interface directly, so this
	// recursion ends after one level.
	if (to->plan->is_direct)
		run_slot(w, &via, scope, &to->plan->slots[0], step, at);
	else
		gr_walk_visit_inline(w, &via, gr_load_u64(at), to, 0, scope,
				     step);
}

void gr_walk_run_interface(struct gr_walk *w, const struct gr_origin *o,
			   struct gr_scope *scope, uint32_t step,
			   const uint8_t *at, const struct gr_referent *to)
{
	run_interface(w, o, scope, step, at, to);
}

/* Note the code of a funcval. A stale variable may lead to something else. */
static void note_code(struct gr_walk *w, const uint8_t *host)
{
	struct gr_func func;

	if (w->rt->recorder && gr_func_find(w->rt, gr_load_u64(host), &func))
		gr_walk_note_read(w, host, GR_WORD_BYTES);
}

/*
 * Follow a reflect.Value. The word before the pointer is the type, the word
 * after it holds the flags. With flagIndir the pointer leads to the value,
 * otherwise it is the value.
 */
static void run_reflect_value(struct gr_walk *w, const struct gr_origin *o,
			      struct gr_scope *scope, uint32_t step,
			      const uint8_t *at)
{
	enum { FLAG_INDIR = 1 << 7 };
	const struct gr_referent *to =
		gr_walk_runtime_type(w, gr_load_u64(at - GR_WORD_BYTES));

	if (to->type != GR_TYPE_NONE) {
		gr_walk_note_read(w, at - GR_WORD_BYTES, GR_WORD_BYTES);
		gr_walk_note_count(w, at + GR_WORD_BYTES);
	}
	if (gr_load_u64(at + GR_WORD_BYTES) & FLAG_INDIR)
		gr_walk_visit(w, o, gr_load_u64(at), to, 0, scope, step);
	else
		run_interface(w, o, scope, step, at, to);
}

/* The first word of a funcval is the code; the captured variables follow. */
void gr_walk_run_func(struct gr_walk *w, const struct gr_origin *o,
		      struct gr_scope *scope, uint32_t step, uint64_t addr,
		      gr_type_id type)
{
	struct gr_referent to = gr_referent_untyped(type);
	const uint8_t *host;
	uint64_t word, bytes;

	if (gr_walk_locate(w, addr, &host, &word, &bytes)) {
		note_code(w, host);
		const struct gr_referent *closure =
			gr_walk_closure_type(w, gr_load_u64(host));
		if (closure->type != GR_TYPE_NONE)
			to = *closure;
	}
	size_t nmasked = w->masked.size;
	gr_walk_visit(w, o, addr, &to, 0, scope, step);
	if (w->masked.size == nmasked || !to.plan->nsteps)
		return;
	// Captures that DWARF does not describe go below the function.
	struct gr_scope below = {
		.node = w->m.parents ? w->masked.data[nmasked].node :
				       gr_walk_step_node(w, scope, step),
		.key = to.type,
		.plan = to.plan,
	};
	w->masked.data[nmasked].node = gr_walk_step_node(w, &below, 0);
}

/* Follow a pointer to @p count elements; slot->to describes one of them. */
static inline void run_array(struct gr_walk *w, const struct gr_origin *o,
			     struct gr_scope *scope, const struct gr_slot *slot,
			     uint32_t step, uint64_t addr, uint64_t count)
{
	if (GR_LIKELY(count)) {
		gr_walk_visit(w, o, addr, &slot->to,
			      count < UINT32_MAX ? count : UINT32_MAX, scope,
			      step);
	} else {
		// A slice of no capacity may point to the place where an array
		// was cut off, so the type of the memory there is not known.
		struct gr_referent to = gr_referent_untyped(slot->to.label);
		gr_walk_visit(w, o, addr, &to, 0, scope, step);
	}
}

/* Follow an interface, using the type record or itab before its data word. */
static inline void run_interface_slot(struct gr_walk *w,
				      const struct gr_origin *o,
				      struct gr_scope *scope,
				      const struct gr_slot *slot, uint32_t step,
				      const uint8_t *at)
{
	uint64_t word = gr_load_u64(at - GR_WORD_BYTES);
	const struct gr_referent *to = gr_walk_cached_type(w, word);

	if (GR_UNLIKELY(!to))
		to = slot->op == GR_SLOT_EFACE ? gr_walk_runtime_type(w, word) :
						 gr_walk_itab_type(w, word);
	if (to->type != GR_TYPE_NONE)
		gr_walk_note_read(w, at - GR_WORD_BYTES, GR_WORD_BYTES);
	run_interface(w, o, scope, step, at, to);
}

/* Follow a pointer whose referent depends on other words beside it. */
static void run_wide_slot(struct gr_walk *w, const struct gr_origin *o,
			  struct gr_scope *scope, const struct gr_slot *slot,
			  uint32_t step, const uint8_t *at)
{
	uint64_t addr = gr_load_u64(at);

	switch ((enum gr_slot_op)slot->op) {
	case GR_SLOT_SLICE:
		gr_walk_note_count(w, at + GR_WORD_BYTES);
		run_array(w, o, scope, slot, step, addr,
			  gr_walk_load_count(w, at + 2 * GR_WORD_BYTES));
		break;
	case GR_SLOT_COUNTED: // sync.Pool
		run_array(w, o, scope, slot, step, addr,
			  gr_walk_load_count(w, at + GR_WORD_BYTES));
		break;
	case GR_SLOT_EFACE:
	case GR_SLOT_IFACE:
		run_interface_slot(w, o, scope, slot, step, at);
		break;
	case GR_SLOT_FUNC:
		gr_walk_run_func(w, o, scope, step, addr, slot->type);
		break;
	case GR_SLOT_REFLECT:
		run_reflect_value(w, o, scope, step, at);
		break;
	case GR_SLOT_UNKNOWN:
	case GR_SLOT_POINTER:
	case GR_SLOT_STRING:
	case GR_SLOT_HEADER:
	case GR_SLOT_TRIE:
		break;
	}
}

/* Complete the referent of a slot when it is followed for the first time. */
static void resolve_slot(struct gr_walk *w, struct gr_slot *slot)
{
	struct gr_referent *to = &slot->to;

	if (to->is_container) {
		to->plan = &gr_type_plan_nothing;
		to->bytes = gr_walk_header_bytes(w, to->type);
		return;
	}
	const struct gr_referent *known = gr_walk_referent(w, to->type);
	to->plan = known->plan;
	// A string has a label, but its bytes have no type.
	bool is_text = to->type == GR_TYPE_NONE && to->label != GR_TYPE_NONE;
	to->bytes = is_text ? 0 : known->bytes;
	to->most_bytes = is_text ? 0 : known->most_bytes;
}

/*
 * The referent of the pointer at @p at, if the slot alone describes it.
 * *@p ret_count is as gr_region.count. NULL means that other words must be
 * read.
 */
static inline const struct gr_referent *slot_referent(struct gr_walk *w,
						      struct gr_slot *slot,
						      const uint8_t *at,
						      uint32_t *ret_count)
{
	uint64_t count = 0;

	if (GR_UNLIKELY(!slot->to.plan))
		resolve_slot(w, slot);
	if (slot->op > GR_SLOT_TRIE) {
		if (slot->op == GR_SLOT_SLICE) {
			gr_walk_note_count(w, at + GR_WORD_BYTES);
			count = gr_walk_load_count(w, at + 2 * GR_WORD_BYTES);
		}
		if (!count || count > UINT32_MAX)
			return NULL;
	}
	*ret_count = count;
	return &slot->to;
}

/* Follow the pointer word at @p at, for the node of @p step.
 * Recursion: one level, because the plan of one word has no interface. */
static void run_slot(struct gr_walk *w, const struct gr_origin *o,
		     struct gr_scope *scope, struct gr_slot *slot,
		     uint32_t step, const uint8_t *at)
{
	uint32_t count;
	const struct gr_referent *to = slot_referent(w, slot, at, &count);

	if (to)
		gr_walk_visit(w, o, gr_load_u64(at), to, count, scope, step);
	else
		run_wide_slot(w, o, scope, slot, step, at);
}

static void run_arrays(struct gr_walk *w, const struct gr_origin *o,
		       struct gr_scope *scope, const uint8_t *host,
		       uint64_t word)
{
	const struct gr_type_plan *plan = scope->plan;

	for (uint32_t i = 0; i < plan->narrays; i++) {
		const struct gr_array_slot *array = &plan->arrays[i];
		struct gr_scope list = {
			.node = GR_NODE_NONE,
			.key = array->elem | GR_KEY_ELEMENTS,
			.up = scope,
			.up_step = array->step,
		};
		gr_walk_run_elements(w, o, &list, array->elem, array->count,
				     host + array->off_bytes,
				     word + array->off_bytes / GR_WORD_BYTES);
	}
}

/* Run words [first, first + 64) of a large value. */
static void run_words(struct gr_walk *w, const struct gr_origin *o,
		      struct gr_scope *scope, const uint8_t *host,
		      uint64_t word, uint32_t first)
{
	const struct gr_type_plan *plan = scope->plan;
	uint32_t n = plan->nwords - first;
	uint64_t bits =
		gr_bitmap_extract(w->pending, word + first, n < 64 ? n : 64) &
		plan->mask[first / 64];

	gr_bitmap_and_not(w->pending, word + first, bits);
	for (; bits; bits &= bits - 1) {
		uint32_t i = first + __builtin_ctzll(bits);
		struct gr_slot *slot = plan->slot_of_word[i];
		const uint8_t *at = host + (uint64_t)i * GR_WORD_BYTES;

		if (gr_load_u64(at))
			run_slot(w, o, scope, slot, slot->step, at);
	}
}

static void run_large_value(struct gr_walk *w, const struct gr_origin *o,
			    struct gr_scope *scope, const uint8_t *host,
			    uint64_t word)
{
	for (uint32_t first = 0; first < scope->plan->nwords; first += 64)
		run_words(w, o, scope, host, word, first);
	run_arrays(w, o, scope, host, word);
}

/* The inner loop of the walk. @return false if no word was pending. */
static inline __attribute__((always_inline)) bool
run_value(struct gr_walk *w, const struct gr_origin *o, struct gr_scope *scope,
	  const uint8_t *host, uint64_t word)
{
	const struct gr_type_plan *plan = scope->plan;

	if (GR_UNLIKELY(!plan->is_small)) {
		run_large_value(w, o, scope, host, word);
		return true;
	}
	uint64_t bits = gr_bitmap_peek(w->pending, word) & plan->first_mask;
	if (!bits)
		return false;
	gr_bitmap_poke_clear(w->pending, word, bits);
	for (; bits; bits &= bits - 1) {
		uint64_t i = __builtin_ctzll(bits);
		uint32_t count;
		const uint8_t *at = host + i * GR_WORD_BYTES;
		uint64_t addr = gr_load_u64(at);
		if (!addr)
			continue;
		struct gr_slot *slot = plan->slot_of_word[i];
		const struct gr_referent *to =
			slot_referent(w, slot, at, &count);
		if (GR_LIKELY(to != NULL))
			gr_walk_visit_inline(w, o, addr, to, count, scope,
					     slot->step);
		else
			run_wide_slot(w, o, scope, slot, slot->step, at);
	}
	return true;
}

void gr_walk_run_value(struct gr_walk *w, const struct gr_origin *o,
		       struct gr_scope *scope, const uint8_t *host,
		       uint64_t word)
{
	gr_walk_tick(w, 1);
	run_value(w, o, scope, host, word);
}

/* Name the scope of element @p i: the first ten elements have names of their
 * own, the others share one. */
static void name_element(const struct gr_walk *w, struct gr_scope *scope,
			 uint64_t i)
{
	uint32_t name = i < GR_NELEMENT_NAMES - 1 ? i : GR_NELEMENT_NAMES - 1;

	if (name == scope->up_step)
		return;
	scope->up_step = name;
	scope->node = GR_NODE_NONE;
	scope->table = 0;
	gr_walk_open_scope(w, scope);
}

void gr_walk_run_elements(struct gr_walk *w, const struct gr_origin *o,
			  struct gr_scope *list, gr_type_id elem,
			  uint64_t count, const uint8_t *host, uint64_t word)
{
	const struct gr_type_plan *plan = gr_walk_type_plan(w, elem);
	uint64_t size = plan->size_bytes, stride = size / GR_WORD_BYTES;
	struct gr_scope scope = {
		.node = GR_NODE_NONE,
		.key = elem,
		.plan = plan,
		.up = list,
		.up_step = UINT32_MAX,
	};

	if (!stride || gr_type_plan_is_empty(plan))
		return;
	gr_walk_open_scope(w, list);
	uint64_t end = word + count * stride;
	for (uint64_t i = 0; i < count && !w->err; i++) {
		name_element(w, &scope, i);
		gr_walk_tick(w, 1);
		if (i + AHEAD_OBJECT < count)
			prefetch_targets(w, plan,
					 host + (i + AHEAD_OBJECT) * size);
		if (run_value(w, o, &scope, host + i * size, word + i * stride))
			continue;
		// If the array was walked before, few words are pending: skip
		// to the next one.
		uint64_t next = gr_bitmap_next(w->pending,
					       word + (i + 1) * stride, end);
		i = next == end ? count : (next - word) / stride - 1;
	}
}

/* Run the key or the element of slot @p i. */
static inline __attribute__((always_inline)) void
run_entry(struct gr_walk *w, const struct gr_origin *o,
	  const struct gr_map_part *part, struct gr_scope *scope,
	  unsigned int i, const uint8_t *host, uint64_t word)
{
	uint64_t off = part->off_bytes + i * part->stride;

	host += off;
	word += off / GR_WORD_BYTES;
	if (!scope->plan)
		return;
	if (GR_LIKELY(!part->is_indirect))
		run_value(w, o, scope, host, word);
	else if (gr_bitmap_take(w->pending, word) && gr_load_u64(host))
		gr_walk_visit(w, o, gr_load_u64(host), &scope->plan->self, 0,
			      scope, GR_STEP_SELF);
}

void gr_walk_run_entries(struct gr_walk *w, const struct gr_origin *o,
			 const struct gr_map_shape *shape, struct gr_scope *key,
			 struct gr_scope *elem, uint64_t full,
			 const uint8_t *host, uint64_t word)
{
	for (; full; full &= full - 1) {
		unsigned int i = __builtin_ctzll(full) / 8;

		gr_walk_tick(w, 1);
		run_entry(w, o, &shape->key, key, i, host, word);
		run_entry(w, o, &shape->elem, elem, i, host, word);
	}
}

/* Note a new object if its type left words of it pending. */
static inline void note_rest(struct gr_walk *w, const struct gr_region *region,
			     struct gr_scope *scope)
{
	uint64_t n = gr_region_object_words(region);
	uint64_t word = gr_region_word(region);
	uint64_t rest =
		n <= GR_BITMAP_PEEK_BITS ?
			gr_bitmap_peek(w->pending, word) &
				((UINT64_C(1) << n) - 1) :
			gr_bitmap_next(w->pending, word, word + n) - word - n;

	if (GR_LIKELY(!rest) || !gr_walk_drop_done(w, region->host, word, n))
		return;
	// Captures that DWARF does not describe go below the function.
	bool is_below = scope->plan && scope->plan->is_closure &&
			scope->plan->nsteps;
	gr_walk_note_unexplained(w, word,
				 is_below ? gr_walk_step_node(w, scope, 0) :
					    region->node);
}

static inline __attribute__((always_inline)) void
run_region(struct gr_walk *w, const struct gr_origin *o,
	   const struct gr_region *region)
{
	struct gr_scope scope = { .node = region->node, .key = region->type };
	uint64_t word = gr_region_word(region);

	if (GR_UNLIKELY(region->type & GR_KEY_CONTAINER)) {
		gr_walk_run_container(w, o, &scope,
				      region->type & ~GR_KEY_CONTAINER,
				      region->host, word);
	} else if (region->count) {
		scope.key |= GR_KEY_ELEMENTS;
		gr_walk_run_elements(w, o, &scope, region->type, region->count,
				     region->host, word);
	} else {
		scope.plan = w->plans.by_type[region->type];
		scope.table =
			gr_tree_find_table(&w->m.tree, scope.node, scope.key);
		run_value(w, o, &scope, region->host, word);
	}
	if (gr_region_object_words(region))
		note_rest(w, region, &scope);
}

/* Run regions in depth-first order: the last region first. */
static void drain_depth_first(struct gr_walk *w, enum gr_tier tier,
			      uint64_t count)
{
	struct gr_origin o = gr_origin_of(w, GR_OBJ_NONE, tier);
	struct gr_region region;

	while (count-- && !gr_walk_is_over(w) &&
	       gr_region_queue_pop_last(&w->queue, &region)) {
		gr_walk_tick(w, 1);
		o.from = region.from;
		run_region(w, &o, &region);
	}
}

/*
 * Run the first regions of one chunk, at most @p count. They stay in place
 * while they run: a chunk is freed only after its last region.
 *
 * @return the number of regions that ran.
 */
static uint32_t run_some(struct gr_walk *w, enum gr_tier tier, uint32_t count)
{
	struct gr_region_queue *queue = &w->queue;
	struct gr_region_chunk *chunk = queue->head;
	struct gr_origin o = gr_origin_of(w, GR_OBJ_NONE, tier);
	uint32_t i = chunk->first;

	if (count > chunk->end - i)
		count = chunk->end - i;
	gr_walk_tick(w, count);
	for (uint32_t end = i + count; i < end; i++) {
		look_ahead(w, chunk, i);
		o.from = chunk->regions[i].from;
		run_region(w, &o, &chunk->regions[i]);
	}
	chunk->first = i;
	queue->size -= count;
	if (i == chunk->end)
		gr_region_queue_drop_chunk(queue);
	return count;
}

void gr_walk_drain(struct gr_walk *w, enum gr_tier tier, uint64_t count)
{
	struct gr_region_queue *queue = &w->queue;

	if (w->is_first_root) {
		drain_depth_first(w, tier, count);
		return;
	}
	// Bounded by count: each turn takes one at least.
	while (count && queue->size && !gr_walk_is_over(w))
		count -= run_some(w, tier, count < SOME ? count : SOME);
}
