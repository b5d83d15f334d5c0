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
	AHEAD_MEMORY = 16,
	AHEAD_OBJECT = 4,
};

/* Regions between two looks at whether the walk is over. */
enum { SOME = 64 };

/* Fetch what visits of the first pointers of the value at @p host look at. */
static inline void prefetch_targets(const struct gr_walk *w,
				    const struct gr_program *program,
				    const uint8_t *host)
{
	uint64_t mask = program->first_words;

	for (; mask; mask &= mask - 1) {
		uint64_t i = __builtin_ctzll(mask);
		gr_heap_prefetch_state(w->heap,
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

/* The pieces of a container, and closures, whose code word is looked at. */
static void prefetch_words(const struct gr_walk *w, const uint8_t *host,
			   uint64_t words)
{
	for (; words; words &= words - 1)
		prefetch_memory(w, gr_load_u64(host + __builtin_ctzll(words) *
							      GR_WORD_BYTES));
}

/* Of the regions that wait behind number @p i of a chunk. */
static inline void look_ahead(const struct gr_walk *w,
			      const struct gr_region_chunk *chunk, uint32_t i)
{
	const struct gr_region *region = &chunk->regions[i];

	if (GR_UNLIKELY(i + AHEAD_MEMORY >= chunk->end))
		return;
	const struct gr_region *far = region + AHEAD_MEMORY;
	gr_prefetch(far->host);
	gr_prefetch(far->host + gr_region_last_off(far));
	gr_prefetch(&w->todo[gr_region_word(far) / 64]);
	region += AHEAD_OBJECT;
	if (region->type & GR_KEY_CONTAINER) {
		unsigned int n = gr_region_object_words(region) % 32;
		uint64_t words =
			gr_bitmap_peek(w->todo, gr_region_word(region));
		prefetch_words(w, region->host,
			       words & ((UINT64_C(1) << n) - 1));
		return;
	}
	// Nothing is queued before its type has a program.
	const struct gr_program *program = w->programs.by_type[region->type];
	prefetch_targets(w, program, region->host);
	if (GR_UNLIKELY(program->code_words))
		prefetch_words(w, region->host, program->code_words);
}

static void run_slot(struct gr_walk *w, struct gr_scope *scope,
		     struct gr_slot *slot, uint32_t step, const uint8_t *at);

static inline void run_interface(struct gr_walk *w, struct gr_scope *scope,
				 uint32_t step, const uint8_t *at,
				 const struct gr_referent *to)
{
	struct gr_total *row = w->typed_row;

	if (row == &w->ledger->typed)
		w->typed_row = &w->ledger->runtime_type;
	// An interface is never kept directly: this ends here.
	if (to->program->is_direct)
		run_slot(w, scope, &to->program->slots[0], step, at);
	else
		gr_walk_visit_inline(w, gr_load_u64(at), to, 0, scope, step);
	w->typed_row = row;
}

void gr_walk_run_interface(struct gr_walk *w, struct gr_scope *scope,
			   uint32_t step, const uint8_t *at,
			   const struct gr_referent *to)
{
	run_interface(w, scope, step, at, to);
}

/*
 * A reflect.Value: the word before is its type, the one after its flags. With
 * flagIndir the pointer leads to the value, else it is the value.
 */
static void run_reflect_value(struct gr_walk *w, struct gr_scope *scope,
			      uint32_t step, const uint8_t *at)
{
	enum { FLAG_INDIR = 1 << 7 };
	const struct gr_referent *to =
		gr_walk_runtime_type(w, gr_load_u64(at - GR_WORD_BYTES));

	if (gr_load_u64(at + GR_WORD_BYTES) & FLAG_INDIR)
		gr_walk_visit(w, gr_load_u64(at), to, 0, scope, step);
	else
		run_interface(w, scope, step, at, to);
}

/* A funcval: its first word is the code, what follows was captured. */
void gr_walk_run_func(struct gr_walk *w, struct gr_scope *scope, uint32_t step,
		      uint64_t addr, gr_type_id type)
{
	struct gr_referent to = gr_referent_untyped(type);
	const uint8_t *host;
	uint64_t word, bytes;

	if (gr_walk_locate(w, addr, &host, &word, &bytes)) {
		const struct gr_referent *closure =
			gr_walk_closure_type(w, gr_load_u64(host));
		if (closure->type != GR_TYPE_NONE)
			to = *closure;
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

/* What an interface holds, by the type record or itab before its data word. */
static inline void run_interface_slot(struct gr_walk *w, struct gr_scope *scope,
				      const struct gr_slot *slot, uint32_t step,
				      const uint8_t *at)
{
	uint64_t word = gr_load_u64(at - GR_WORD_BYTES);
	const struct gr_referent *to = gr_walk_cached_type(w, word);

	if (GR_UNLIKELY(!to))
		to = slot->op == GR_SLOT_EFACE ? gr_walk_runtime_type(w, word) :
						 gr_walk_itab_type(w, word);
	run_interface(w, scope, step, at, to);
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
	case GR_SLOT_IFACE:
		run_interface_slot(w, scope, slot, step, at);
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

/* What a slot refers to, now that it is followed for the first time. */
static void resolve_slot(struct gr_walk *w, struct gr_slot *slot)
{
	struct gr_referent *to = &slot->to;

	if (to->is_container) {
		to->program = &gr_program_nothing;
		to->bytes = gr_walk_header_bytes(w, to->type);
		return;
	}
	const struct gr_referent *known = gr_walk_referent(w, to->type);
	to->program = known->program;
	// Of a string the label is known, but its bytes are of no type.
	bool is_text = to->type == GR_TYPE_NONE && to->label != GR_TYPE_NONE;
	to->bytes = is_text ? 0 : known->bytes;
}

/*
 * What the slot alone tells of the pointer at @p at, and *@p ret_count, as
 * gr_region.count; NULL: other words have to be looked at.
 */
static inline const struct gr_referent *slot_referent(struct gr_walk *w,
						      struct gr_slot *slot,
						      const uint8_t *at,
						      uint32_t *ret_count)
{
	uint64_t count = 0;

	if (GR_UNLIKELY(!slot->to.program))
		resolve_slot(w, slot);
	if (slot->op > GR_SLOT_TRIE) {
		if (slot->op == GR_SLOT_SLICE)
			count = gr_load_u64(at + 2 * GR_WORD_BYTES);
		if (!count || count > UINT32_MAX)
			return NULL;
	}
	*ret_count = count;
	return &slot->to;
}

/* Follow the pointer word at @p at, for the node of @p step. */
static void run_slot(struct gr_walk *w, struct gr_scope *scope,
		     struct gr_slot *slot, uint32_t step, const uint8_t *at)
{
	uint32_t count;
	const struct gr_referent *to = slot_referent(w, slot, at, &count);

	if (to)
		gr_walk_visit(w, gr_load_u64(at), to, count, scope, step);
	else
		run_wide_slot(w, scope, slot, step, at);
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

/* Words [first, first + 64) of a value of many. */
static void run_words(struct gr_walk *w, struct gr_scope *scope,
		      const uint8_t *host, uint64_t word, uint32_t first)
{
	const struct gr_program *program = scope->program;
	uint32_t n = program->nwords - first;
	uint64_t bits =
		gr_bitmap_extract(w->todo, word + first, n < 64 ? n : 64) &
		program->mask[first / 64];

	gr_bitmap_and_not(w->todo, word + first, bits);
	for (; bits; bits &= bits - 1) {
		uint32_t i = first + __builtin_ctzll(bits);
		struct gr_slot *slot = program->slot_of_word[i];
		const uint8_t *at = host + (uint64_t)i * GR_WORD_BYTES;

		if (gr_load_u64(at))
			run_slot(w, scope, slot, slot->step, at);
	}
}

static void run_large_value(struct gr_walk *w, struct gr_scope *scope,
			    const uint8_t *host, uint64_t word)
{
	for (uint32_t first = 0; first < scope->program->nwords; first += 64)
		run_words(w, scope, host, word, first);
	run_arrays(w, scope, host, word);
}

/* The inner loop of the walk. @return false if nothing was left to do. */
static inline __attribute__((always_inline)) bool
run_value(struct gr_walk *w, struct gr_scope *scope, const uint8_t *host,
	  uint64_t word)
{
	const struct gr_program *program = scope->program;

	if (GR_UNLIKELY(!program->is_small)) {
		run_large_value(w, scope, host, word);
		return true;
	}
	uint64_t bits = gr_bitmap_peek(w->todo, word) & program->first_mask;
	if (!bits)
		return false;
	gr_bitmap_poke_clear(w->todo, word, bits);
	for (; bits; bits &= bits - 1) {
		uint64_t i = __builtin_ctzll(bits);
		uint32_t count;
		const uint8_t *at = host + i * GR_WORD_BYTES;
		uint64_t addr = gr_load_u64(at);
		if (!addr)
			continue;
		struct gr_slot *slot = program->slot_of_word[i];
		const struct gr_referent *to =
			slot_referent(w, slot, at, &count);
		if (GR_LIKELY(to != NULL))
			gr_walk_visit_inline(w, addr, to, count, scope,
					     slot->step);
		else
			run_wide_slot(w, scope, slot, slot->step, at);
	}
	return true;
}

void gr_walk_run_value(struct gr_walk *w, struct gr_scope *scope,
		       const uint8_t *host, uint64_t word)
{
	gr_walk_tick(w, 1);
	run_value(w, scope, host, word);
}

/* Name the scope of element @p i: ten have their own, the rest one. */
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
	gr_walk_open_scope(w, list);
	uint64_t end = word + count * stride;
	for (uint64_t i = 0; i < count && !w->err; i++) {
		name_element(w, &scope, i);
		gr_walk_tick(w, 1);
		if (i + AHEAD_OBJECT < count)
			prefetch_targets(w, program,
					 host + (i + AHEAD_OBJECT) * size);
		if (run_value(w, &scope, host + i * size, word + i * stride))
			continue;
		// Of an array that was gone through before little is left.
		uint64_t next =
			gr_bitmap_next(w->todo, word + (i + 1) * stride, end);
		i = next == end ? count : (next - word) / stride - 1;
	}
}

/* The key or the element of slot @p i. */
static inline __attribute__((always_inline)) void
run_entry(struct gr_walk *w, const struct gr_map_part *part,
	  struct gr_scope *scope, unsigned int i, const uint8_t *host,
	  uint64_t word)
{
	uint64_t off = part->off_bytes + i * part->stride;

	host += off;
	word += off / GR_WORD_BYTES;
	if (!scope->program)
		return;
	if (GR_LIKELY(!part->is_indirect))
		run_value(w, scope, host, word);
	else if (gr_bitmap_take(w->todo, word) && gr_load_u64(host))
		gr_walk_visit(w, gr_load_u64(host), &scope->program->self, 0,
			      scope, GR_STEP_SELF);
}

void gr_walk_run_entries(struct gr_walk *w, const struct gr_map_shape *shape,
			 struct gr_scope *key, struct gr_scope *elem,
			 uint64_t full, const uint8_t *host, uint64_t word)
{
	for (; full; full &= full - 1) {
		unsigned int i = __builtin_ctzll(full) / 8;

		gr_walk_tick(w, 1);
		run_entry(w, &shape->key, key, i, host, word);
		run_entry(w, &shape->elem, elem, i, host, word);
	}
}

/* Did the type of a new object leave words of it? */
static inline void note_rest(struct gr_walk *w, const struct gr_region *region,
			     struct gr_scope *scope)
{
	uint64_t n = gr_region_object_words(region);
	uint64_t word = gr_region_word(region);
	uint64_t rest =
		n <= GR_BITMAP_PEEK_BITS ?
			gr_bitmap_peek(w->todo, word) &
				((UINT64_C(1) << n) - 1) :
			gr_bitmap_next(w->todo, word, word + n) - word - n;

	if (GR_LIKELY(!rest) || !gr_walk_drop_done(w, region->host, word, n))
		return;
	// What DWARF does not know of captures goes below the function.
	bool is_below = scope->program && scope->program->is_closure &&
			scope->program->nsteps;
	gr_walk_note_unexplained(w, word,
				 is_below ? gr_walk_step_node(w, scope, 0) :
					    region->node);
}

static inline __attribute__((always_inline)) void
run_region(struct gr_walk *w, const struct gr_region *region)
{
	struct gr_scope scope = { .node = region->node, .key = region->type };
	uint64_t word = gr_region_word(region);

	w->from = region->from;
	if (GR_UNLIKELY(region->type & GR_KEY_CONTAINER)) {
		gr_walk_run_container(w, &scope,
				      region->type & ~GR_KEY_CONTAINER,
				      region->host, word);
	} else if (region->count) {
		scope.key |= GR_KEY_ELEMENTS;
		gr_walk_run_elements(w, &scope, region->type, region->count,
				     region->host, word);
	} else {
		scope.program = w->programs.by_type[region->type];
		scope.table =
			gr_tree_find_table(&w->tree, scope.node, scope.key);
		run_value(w, &scope, region->host, word);
	}
	if (gr_region_object_words(region))
		note_rest(w, region, &scope);
}

/* The last regions first. */
static void drain_depth_first(struct gr_walk *w, uint64_t count)
{
	struct gr_region region;

	while (count-- && !gr_walk_is_over(w) &&
	       gr_region_queue_pop_last(&w->queue, &region)) {
		gr_walk_tick(w, 1);
		run_region(w, &region);
	}
}

/*
 * The first regions, at most @p count, of one chunk. They stay where they are
 * while they run: a chunk is freed after the last one. @return how many.
 */
static uint32_t run_some(struct gr_walk *w, uint32_t count)
{
	struct gr_region_queue *queue = &w->queue;
	struct gr_region_chunk *chunk = queue->head;
	uint32_t i = chunk->first;

	if (count > chunk->end - i)
		count = chunk->end - i;
	gr_walk_tick(w, count);
	for (uint32_t end = i + count; i < end; i++) {
		look_ahead(w, chunk, i);
		run_region(w, &chunk->regions[i]);
	}
	chunk->first = i;
	queue->size -= count;
	if (i == chunk->end)
		gr_region_queue_drop_chunk(queue);
	return count;
}

void gr_walk_drain(struct gr_walk *w, uint64_t count)
{
	struct gr_region_queue *queue = &w->queue;

	if (w->is_first_root) {
		drain_depth_first(w, count);
		return;
	}
	while (count && queue->size && !gr_walk_is_over(w))
		count -= run_some(w, count < SOME ? count : SOME);
}
