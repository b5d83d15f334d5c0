// SPDX-License-Identifier: Apache-2.0
/* Type programs over memory: the inner loop of the typed phase. */
#include "mark/walk.h"

/*
 * How far ahead memory is fetched, in regions of the queue or elements of an
 * array: first what they lie in, then the spans that their first pointers lead
 * to, then the bits of those objects. On a heap in random order the walk would
 * wait for each of the three in turn.
 */
enum {
	AHEAD_MEMORY = 24,
	AHEAD_SPAN = 16,
	AHEAD_OBJECT = 8,
	AHEAD_POINTERS = 4, /* of one region */
};

static void prefetch_span(const struct gr_walk *w, uint64_t addr)
{
	const struct gr_span *span = gr_heap_span_at(w->heap, addr);

	if (span)
		gr_prefetch(span);
}

static void prefetch_object(const struct gr_walk *w, uint64_t addr)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(w->heap, addr, &span);

	if (obj == GR_OBJ_NONE)
		return;
	gr_prefetch(&w->heap->bits[obj / 64]);
	gr_prefetch(&w->node_of[obj]);
}

/* Call @p prefetch for the first pointers of the value at @p host. */
static inline void
prefetch_targets(const struct gr_walk *w, const struct gr_program *program,
		 const uint8_t *host,
		 void (*prefetch)(const struct gr_walk *w, uint64_t addr))
{
	uint64_t mask = program->nwords ? program->mask[0] : 0;

	for (unsigned int n = 0; mask && n < AHEAD_POINTERS;
	     n++, mask &= mask - 1) {
		uint64_t addr = gr_load_u64(host + __builtin_ctzll(mask) *
							   GR_WORD_BYTES);
		if (addr)
			prefetch(w, addr);
	}
}

/* The program that a waiting region begins with; NULL: not looked ahead. */
static const struct gr_program *program_ahead(struct gr_walk *w,
					      const struct gr_region *region)
{
	return !region || region->type & GR_KEY_CONTAINER ?
		       NULL :
		       w->programs.by_type[region->type];
}

static void look_ahead(struct gr_walk *w)
{
	const struct gr_region *region =
		gr_region_queue_peek(&w->queue, AHEAD_MEMORY);
	const struct gr_program *program;

	if (region) {
		gr_prefetch(region->host);
		gr_prefetch(&w->todo[region->word / 64]);
	}
	region = gr_region_queue_peek(&w->queue, AHEAD_SPAN);
	program = program_ahead(w, region);
	if (program)
		prefetch_targets(w, program, region->host, prefetch_span);
	region = gr_region_queue_peek(&w->queue, AHEAD_OBJECT);
	program = program_ahead(w, region);
	if (program)
		prefetch_targets(w, program, region->host, prefetch_object);
}

/* The same for elements of an array of @p count; i is the one at hand. */
static void look_ahead_in_array(struct gr_walk *w,
				const struct gr_program *program,
				const uint8_t *host, uint64_t i, uint64_t count)
{
	if (i + AHEAD_SPAN >= count)
		return;
	prefetch_targets(w, program,
			 host + (i + AHEAD_SPAN) * program->size_bytes,
			 prefetch_span);
	prefetch_targets(w, program,
			 host + (i + AHEAD_OBJECT) * program->size_bytes,
			 prefetch_object);
}

/* What an interface's data word holds, when its concrete type is known. */
void gr_walk_run_interface(struct gr_walk *w, struct gr_scope *scope,
			   const struct gr_slot *slot, const uint8_t *at,
			   gr_type_id type)
{
	struct gr_slot direct;

	if (type == GR_TYPE_NONE) {
		struct gr_referent to = { gr_load_u64(at), GR_TYPE_NONE,
					  GR_TYPE_NONE, 0, false };
		gr_walk_visit(w, &to, scope, slot->step);
		return;
	}
	if (gr_program_direct_slot(&w->programs, type, &direct)) {
		direct.step = slot->step;
		// An interface is never kept directly: this ends here.
		gr_walk_run_slot(w, scope, &direct, at);
		return;
	}
	struct gr_referent to = { gr_load_u64(at), type, type, 0, false };
	gr_walk_visit(w, &to, scope, slot->step);
}

/*
 * A reflect.Value: the word before is its type, the one after its flags. With
 * flagIndir the pointer leads to the value, else it is the value.
 */
static void run_reflect_value(struct gr_walk *w, struct gr_scope *scope,
			      const struct gr_slot *slot, const uint8_t *at)
{
	enum { FLAG_INDIR = 1 << 7 };
	gr_type_id type =
		gr_walk_runtime_type(w, gr_load_u64(at - GR_WORD_BYTES));
	struct gr_referent to = { gr_load_u64(at), type, type, 0, false };

	if (gr_load_u64(at + GR_WORD_BYTES) & FLAG_INDIR)
		gr_walk_visit(w, &to, scope, slot->step);
	else
		gr_walk_run_interface(w, scope, slot, at, type);
}

/* A funcval: its first word is the code, what follows was captured. */
static void run_func(struct gr_walk *w, struct gr_scope *scope,
		     const struct gr_slot *slot, uint64_t addr)
{
	struct gr_referent to = { addr, GR_TYPE_NONE, slot->type, 0, false };
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
			to.type = to.label = closure;
	}
	gr_obj obj = gr_walk_visit(w, &to, scope, slot->step);
	if (obj == GR_OBJ_NONE || to.type == GR_TYPE_NONE)
		return;
	// What DWARF does not know of the captures goes below the function.
	struct gr_scope below = {
		.node = gr_walk_step_node(w, scope, slot->step),
		.key = to.type,
		.program = gr_program_get(&w->programs, to.type),
	};
	const struct gr_span *span = gr_heap_span_of(w->heap, obj);
	if (!span->is_noscan && below.program && below.program->nsteps)
		w->node_of[obj] = gr_walk_step_node(w, &below, 0);
}

/* An array that is kept as a pointer and a length (sync.Pool). */
static void run_counted(struct gr_walk *w, struct gr_scope *scope,
			const struct gr_slot *slot, const uint8_t *at)
{
	uint64_t count = gr_load_u64(at + GR_WORD_BYTES);
	struct gr_referent to = {
		.addr = gr_load_u64(at),
		.type = slot->type,
		.label = slot->type,
		.count = count < UINT32_MAX ? count : UINT32_MAX,
	};

	if (!count)
		to.type = GR_TYPE_NONE;
	gr_walk_visit(w, &to, scope, slot->step);
}

static void run_slice(struct gr_walk *w, struct gr_scope *scope,
		      const struct gr_slot *slot, const uint8_t *at)
{
	uint64_t cap = gr_load_u64(at + 2 * GR_WORD_BYTES);
	struct gr_referent to = {
		.addr = gr_load_u64(at),
		.type = gr_types_get(w->rt->types, slot->type)->elem,
		.label = slot->type,
		.count = cap < UINT32_MAX ? cap : UINT32_MAX,
	};

	// Of no capacity: it points to where an array was cut off.
	if (!cap)
		to.type = GR_TYPE_NONE;
	gr_walk_visit(w, &to, scope, slot->step);
}

void gr_walk_run_slot(struct gr_walk *w, struct gr_scope *scope,
		      const struct gr_slot *slot, const uint8_t *at)
{
	uint64_t addr = gr_load_u64(at);
	struct gr_referent to = { addr, GR_TYPE_NONE, GR_TYPE_NONE, 0, false };

	if (!addr)
		return;
	switch ((enum gr_slot_op)slot->op) {
	case GR_SLOT_POINTER:
		to.type = to.label = slot->type;
		gr_walk_visit(w, &to, scope, slot->step);
		break;
	case GR_SLOT_STRING:
		to.label = slot->type;
		gr_walk_visit(w, &to, scope, slot->step);
		break;
	case GR_SLOT_SLICE:
		run_slice(w, scope, slot, at);
		break;
	case GR_SLOT_EFACE:
		gr_walk_run_interface(
			w, scope, slot, at,
			gr_walk_runtime_type(w,
					     gr_load_u64(at - GR_WORD_BYTES)));
		break;
	case GR_SLOT_IFACE:
		gr_walk_run_interface(
			w, scope, slot, at,
			gr_walk_itab_type(w, gr_load_u64(at - GR_WORD_BYTES)));
		break;
	case GR_SLOT_HEADER:
	case GR_SLOT_TRIE:
		to.type = to.label = slot->type;
		to.is_container = true;
		gr_walk_visit(w, &to, scope, slot->step);
		break;
	case GR_SLOT_FUNC:
		run_func(w, scope, slot, addr);
		break;
	case GR_SLOT_COUNTED:
		run_counted(w, scope, slot, at);
		break;
	case GR_SLOT_REFLECT:
		run_reflect_value(w, scope, slot, at);
		break;
	case GR_SLOT_UNKNOWN:
		gr_walk_visit(w, &to, scope, slot->step);
		break;
	}
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

void gr_walk_run_value(struct gr_walk *w, struct gr_scope *scope,
		       const uint8_t *host, uint64_t word)
{
	const struct gr_program *program = scope->program;

	for (uint32_t first = 0; first < program->nwords; first += 64) {
		uint32_t n = program->nwords - first;
		uint64_t bits = gr_bitmap_extract(w->todo, word + first,
						  n < 64 ? n : 64) &
				program->mask[first / 64];
		if (!bits)
			continue;
		gr_bitmap_and_not(w->todo, word + first, bits);
		while (bits) {
			uint32_t i = first + __builtin_ctzll(bits);
			bits &= bits - 1;
			gr_walk_run_slot(
				w, scope,
				&program->slots[program->slot_of_word[i]],
				host + (uint64_t)i * GR_WORD_BYTES);
		}
	}
	if (GR_UNLIKELY(program->narrays))
		run_arrays(w, scope, host, word);
}

void gr_walk_run_elements(struct gr_walk *w, struct gr_scope *list,
			  gr_type_id elem, uint64_t count, const uint8_t *host,
			  uint64_t word)
{
	const struct gr_program *program = gr_program_get(&w->programs, elem);
	struct gr_scope scope = {
		.node = GR_NODE_NONE,
		.key = elem,
		.program = program,
		.up = list,
		.up_step = UINT32_MAX,
	};

	if (!program) {
		gr_walk_fail(w, &gr_enomem);
		return;
	}
	uint64_t stride = program->size_bytes / GR_WORD_BYTES;
	if (!stride || gr_program_is_empty(program))
		return;
	uint64_t end = word + count * stride;
	for (uint64_t at = word; at < end && !w->err;) {
		// From one word that is left to do to the next.
		at = gr_bitmap_next(w->todo, at, end);
		if (at == end)
			break;
		uint64_t i = (at - word) / stride;
		uint32_t name =
			i < GR_NELEMENT_NAMES - 1 ? i : GR_NELEMENT_NAMES - 1;
		if (name != scope.up_step) {
			scope.up_step = name;
			scope.node = GR_NODE_NONE;
			scope.table = 0;
		}
		look_ahead_in_array(w, program, host, i, count);
		gr_walk_run_value(w, &scope, host + i * program->size_bytes,
				  word + i * stride);
		at = word + (i + 1) * stride;
	}
}

static void run_region(struct gr_walk *w, const struct gr_region *region)
{
	struct gr_scope scope = { .node = region->node, .key = region->type };

	w->from = region->from;
	if (region->type & GR_KEY_CONTAINER) {
		gr_walk_run_container(w, &scope,
				      region->type & ~GR_KEY_CONTAINER,
				      region->host, region->word);
		return;
	}
	if (region->count) {
		scope.key |= GR_KEY_ELEMENTS;
		gr_walk_run_elements(w, &scope, region->type, region->count,
				     region->host, region->word);
		return;
	}
	scope.program = gr_program_get(&w->programs, region->type);
	if (scope.program)
		gr_walk_run_value(w, &scope, region->host, region->word);
}

void gr_walk_drain(struct gr_walk *w)
{
	struct gr_region region;

	while (!gr_walk_is_over(w)) {
		look_ahead(w);
		if (!(w->is_first_root ?
			      gr_region_queue_pop_last(&w->queue, &region) :
			      gr_region_queue_pop(&w->queue, &region)))
			return;
		run_region(w, &region);
	}
}
