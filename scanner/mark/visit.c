// SPDX-License-Identifier: Apache-2.0
/* Objects: count the new ones, queue what a type explains of them. */
#include "mark/walk.h"

/* Visits between two questions whether to go on: a few milliseconds. */
enum { POLL_EVERY = 1 << 16 };

/* A region that leaves this part of an object uncovered is still whole: size
 * classes waste at most an eighth. */
#define SLACK_BYTES(bytes) ((bytes) / 8 + 16)

gr_type_id gr_walk_runtime_type(struct gr_walk *w, uint64_t addr)
{
	typeof(w->type_cache[0]) *entry =
		&w->type_cache[(addr >> 5) % GR_TYPE_CACHE];

	if (entry->addr == addr && addr)
		return entry->id;
	gr_type_id id = GR_TYPE_NONE;
	struct gr_error *err = addr ? gr_types_from_runtime(w->rt, addr, &id) :
				      NULL;
	if (err) {
		gr_walk_fail(w, err);
		return GR_TYPE_NONE;
	}
	entry->addr = addr;
	entry->id = id;
	return id;
}

gr_type_id gr_walk_itab_type(struct gr_walk *w, uint64_t addr)
{
	// An itab and a type record never share an address: one cache.
	typeof(w->type_cache[0]) *entry =
		&w->type_cache[(addr >> 5) % GR_TYPE_CACHE];

	if (entry->addr == addr && addr)
		return entry->id;
	gr_type_id id = GR_TYPE_NONE;
	struct gr_error *err = addr ? gr_types_from_itab(w->rt, addr, &id) :
				      NULL;
	if (err) {
		gr_walk_fail(w, err);
		return GR_TYPE_NONE;
	}
	entry->addr = addr;
	entry->id = id;
	return id;
}

static const char *element_name(struct gr_walk *w, gr_type_id elem, uint32_t i)
{
	const char *type = gr_types_get(w->rt->types, elem)->name;

	return gr_arena_internf(w->rt->arena,
				i < GR_NELEMENT_NAMES - 1 ? "[%u]. (%s)" :
							    "[%u+]. (%s)",
				i, type);
}

/* `$mapkey. (K)` or `$mapval. (V)` of a map type; of a trie any is both. */
static const char *container_name(struct gr_walk *w, gr_type_id id, uint32_t i)
{
	const struct gr_type *map = gr_types_get(w->rt->types, id);
	gr_type_id part = i ? map->elem : map->key;
	const char *type = "interface {}";

	if (map->kind == GR_KIND_MAP)
		type = part == GR_TYPE_NONE ?
			       "?" :
			       gr_types_get(w->rt->types, part)->name;
	return gr_arena_internf(w->rt->arena, "%s. (%s)",
				i ? "$mapval" : "$mapkey", type);
}

static const char *step_name(struct gr_walk *w, const struct gr_scope *scope,
			     uint32_t step)
{
	if (scope->key & GR_KEY_ELEMENTS)
		return element_name(w, scope->key & ~GR_KEY_ELEMENTS, step);
	if (scope->key == GR_KEY_SUB_OBJECTS)
		return gr_arena_internf(w->rt->arena, "$sub_objects$");
	if (scope->key & GR_KEY_CONTAINER)
		return container_name(w, scope->key & ~GR_KEY_CONTAINER, step);
	return scope->program->steps[step].name;
}

static uint32_t scope_nchildren(const struct gr_scope *scope)
{
	if (scope->key & GR_KEY_ELEMENTS)
		return GR_NELEMENT_NAMES;
	if (scope->key == GR_KEY_SUB_OBJECTS)
		return 1;
	if (scope->key & GR_KEY_CONTAINER)
		return 2;
	return scope->program->nsteps;
}

uint32_t gr_walk_root_node(struct gr_walk *w, const struct gr_root *root)
{
	struct gr_root_total total = {
		.name = root->name,
		.kind = root->kind,
		.goroutine_state = root->goroutine_state,
		.file = root->file,
		.line = root->line,
	};

	if (w->per_goroutine && root->goroutine < w->rt->ngoroutines)
		total.goroutine_id = w->rt->goroutines[root->goroutine].goid;
	return gr_tree_root(&w->tree, &total);
}

uint32_t gr_walk_scope_node(struct gr_walk *w, struct gr_scope *scope)
{
	if (scope->node == GR_NODE_NONE)
		scope->node = scope->up ? gr_walk_step_node(w, scope->up,
							    scope->up_step) :
					  gr_walk_root_node(w, w->root);
	return scope->node;
}

uint32_t gr_walk_step_node(struct gr_walk *w, struct gr_scope *scope,
			   uint32_t step)
{
	uint32_t node = gr_walk_scope_node(w, scope);

	if (step == GR_STEP_SELF)
		return node;
	if (!scope->table)
		scope->table = gr_tree_table(&w->tree, node, scope->key,
					     scope_nchildren(scope));
	if (!scope->table)
		return node;
	uint32_t child = w->tree.tables.data[scope->table + 2 + step];
	if (GR_LIKELY(child))
		return child - 1;
	if (scope->program &&
	    scope->program->steps[step].parent != GR_STEP_SELF)
		node = gr_walk_step_node(w, scope,
					 scope->program->steps[step].parent);
	return gr_tree_child(&w->tree, node, scope->table, step,
			     step_name(w, scope, step));
}

static bool type_total_add(struct gr_walk *w, gr_type_id label, uint64_t bytes)
{
	if (label == GR_TYPE_NONE) {
		w->untyped_total.objects++;
		w->untyped_total.bytes += bytes;
		return true;
	}
	if (GR_UNLIKELY(label >= w->type_totals.size)) {
		size_t need = gr_types_count(w->rt->types);
		if (!gr_total_vector_reserve(&w->type_totals, need))
			return false;
		memset(w->type_totals.data + w->type_totals.size, 0,
		       (need - w->type_totals.size) * sizeof(struct gr_total));
		w->type_totals.size = need;
	}
	w->type_totals.data[label].objects++;
	w->type_totals.data[label].bytes += bytes;
	return true;
}

/* The row of the ledger that an object first reached like this counts in. */
static struct gr_total *ledger_row(struct gr_walk *w,
				   const struct gr_referent *to, bool is_header)
{
	if (to->label == GR_TYPE_NONE)
		return &w->ledger->masked;
	return is_header || w->via == GR_VIA_MASK ? &w->ledger->header :
						    &w->ledger->typed;
}

/* First visit: bill the slot to its node, its type, the ledger. */
static void count_object(struct gr_walk *w, const struct gr_span *span,
			 gr_obj obj, gr_type_id label, struct gr_total *how,
			 struct gr_scope *scope, uint32_t step)
{
	uint64_t bytes = span->elem_bytes;
	uint32_t node = gr_walk_step_node(w, scope, step);

	gr_tree_bill(&w->tree, node, bytes);
	w->node_of[obj] = node;
	how->objects++;
	how->bytes += bytes;
	if (!type_total_add(w, label, bytes))
		gr_walk_fail(w, &gr_enomem);
	if (w->parents) {
		struct gr_parent parent = { w->from,
					    w->root ? w->root->goroutine :
						      UINT32_MAX };
		w->parents[obj] = parent;
		w->type_of[obj] = label;
		if (obj == w->wanted)
			w->is_found = true;
	}
	if (w->is_mask_phase && !span->is_noscan) {
		struct gr_masked_object masked = { obj, node };
		if (!gr_masked_vector_append(&w->masked, masked))
			gr_walk_fail(w, &gr_enomem);
	}
}

/*
 * The real type of an object, by its malloc header or mspan.largeType; it
 * replaces what the referrer knows, and covers the whole object.
 */
static gr_type_id real_type(struct gr_walk *w, const struct gr_span *span,
			    uint32_t index)
{
	if (span->header_bytes && span->host)
		return gr_walk_runtime_type(
			w, gr_load_u64(span->host + index * span->elem_bytes));
	if (!span->large_type)
		return GR_TYPE_NONE;
	// A type with an unrolled mask is a copy without kind and name.
	if (w->rt->layout.has.tflag_unrolled &&
	    gr_heap_is_synthetic_type(w->rt, span->large_type))
		return GR_TYPE_NONE;
	return gr_walk_runtime_type(w, span->large_type);
}

/* A visit to a barrier object: kept for the last stratum. */
static void defer_visit(struct gr_walk *w, gr_obj obj, uint64_t addr,
			struct gr_scope *scope, uint32_t step)
{
	struct gr_deferred_visit visit = { .addr = addr };

	if (!gr_bitmap_set_new(w->deferred_seen, obj))
		return;
	visit.node = gr_walk_step_node(w, scope, step);
	if (!gr_deferred_vector_append(&w->deferred, visit))
		gr_walk_fail(w, &gr_enomem);
}

/*
 * Bytes that the referent's type, of @p program, explains, at most @p avail;
 * 0: none.
 */
static uint64_t region_bytes(struct gr_walk *w, const struct gr_referent *to,
			     const struct gr_program *program, uint64_t avail,
			     uint32_t *ret_count)
{
	uint64_t size;

	*ret_count = to->count;
	if (to->type == GR_TYPE_NONE || to->addr % GR_WORD_BYTES)
		return 0;
	if (to->is_container) {
		size = gr_walk_header_bytes(w, to->type);
		return size <= avail ? size : 0;
	}
	size = program->size_bytes;
	if (gr_program_is_empty(program) || !size || size > avail)
		return 0;
	if (!to->count)
		return size;
	if (*ret_count > avail / size)
		*ret_count = avail / size;
	return *ret_count * size;
}

static void push_region(struct gr_walk *w, const struct gr_referent *to,
			uint32_t count, const uint8_t *host, uint64_t word,
			gr_obj from, struct gr_scope *scope, uint32_t step)
{
	uint32_t node = gr_walk_step_node(w, scope, step);
	struct gr_region *region = gr_walk_push(w);

	if (!region)
		return;
	region->host = host;
	region->word = word;
	region->type = to->is_container ? to->type | GR_KEY_CONTAINER :
					  to->type;
	region->node = node;
	region->count = count;
	region->from = from;
}

/* A typed pointer out of the heap: into static data or a stack. */
static void visit_area(struct gr_walk *w, const struct gr_referent *to,
		       const struct gr_program *program, struct gr_scope *scope,
		       uint32_t step)
{
	const uint8_t *host;
	uint64_t word, avail;
	uint32_t count;

	if (to->type == GR_TYPE_NONE ||
	    !gr_walk_locate(w, to->addr, &host, &word, &avail))
		return;
	uint64_t bytes = region_bytes(w, to, program, avail, &count);
	uint64_t end = word + bytes / GR_WORD_BYTES;
	if (bytes && gr_bitmap_next(w->todo, word, end) < end)
		push_region(w, to, count, host, word, w->from, scope, step);
}

/* Queue what the type explains of an object in a span with pointers. */
static void visit_contents(struct gr_walk *w, const struct gr_referent *to,
			   const struct gr_program *program,
			   const struct gr_span *span, gr_obj obj,
			   uint64_t slot_addr, bool is_new,
			   struct gr_scope *scope, uint32_t step)
{
	struct gr_object_bits *bits = &w->heap->bits[obj / 64];
	uint64_t mask = UINT64_C(1) << (obj % 64);
	uint64_t data = slot_addr + span->header_bytes;
	uint64_t end = slot_addr + span->elem_bytes;
	uint32_t count;

	if (!span->host || to->addr < data)
		return;
	uint64_t bytes = region_bytes(w, to, program, end - to->addr, &count);
	if (!bytes)
		return;
	uint64_t off = to->addr - span->base_addr;
	uint64_t word = span->first_word + off / GR_WORD_BYTES;
	if (to->addr == data && end - data - bytes <= SLACK_BYTES(end - data)) {
		bits->whole |= mask;
	} else if (!is_new) {
		uint64_t word_end = word + bytes / GR_WORD_BYTES;
		if (gr_bitmap_next(w->todo, word, word_end) == word_end)
			return;
	}
	push_region(w, to, count, span->host + off, word, obj, scope, step);
}

/* Replace the referrer's type by the real one, if the object tells. */
static bool apply_real_type(struct gr_walk *w, const struct gr_span *span,
			    uint32_t index, uint64_t slot_addr,
			    struct gr_referent *to)
{
	gr_type_id real = real_type(w, span, index);
	uint64_t data = slot_addr + span->header_bytes;

	if (real == GR_TYPE_NONE)
		return false;
	uint64_t size = gr_types_get(w->rt->types, real)->size_bytes;
	uint64_t count = size ? (span->elem_bytes - span->header_bytes) / size :
				0;
	if (!count)
		return false;
	bool is_same = to->type == real;
	to->addr = data;
	to->type = real;
	to->count = count > 1 || (is_same && to->count) ?
			    (count < UINT32_MAX ? count : UINT32_MAX) :
			    0;
	if (to->label != GR_TYPE_NONE && is_same)
		return false;
	to->label = real;
	return true;
}

/*
 * Make up what an object in a span with pointers is: by its header, else as
 * the referrer says. A pointer to something without pointers (`*byte`, the
 * address of a field) does not say what the object is. A closure is known by
 * its code, whatever it captures.
 */
static bool refine_type(struct gr_walk *w, const struct gr_span *span,
			uint32_t index, uint64_t slot_addr,
			struct gr_referent *to,
			const struct gr_program **program)
{
	if (to->is_container || (*program && (*program)->is_closure))
		return false;
	if ((span->header_bytes || span->large_type) &&
	    apply_real_type(w, span, index, slot_addr, to)) {
		*program = gr_walk_program(w, to->type);
		return true;
	}
	if (*program && gr_program_is_empty(*program))
		to->type = to->label = GR_TYPE_NONE;
	return false;
}

const struct gr_program *gr_walk_program(struct gr_walk *w, gr_type_id type)
{
	static const struct gr_program nothing;
	const struct gr_program *program = gr_program_get(&w->programs, type);

	if (GR_UNLIKELY(!program)) {
		gr_walk_fail(w, &gr_enomem);
		return &nothing;
	}
	return program;
}

gr_obj gr_walk_visit(struct gr_walk *w, const struct gr_referent *referent,
		     struct gr_scope *scope, uint32_t step)
{
	// Field by field: it was just written field by field, and a copy in
	// larger pieces would have to wait for that.
	struct gr_referent to = {
		.addr = referent->addr,
		.type = referent->type,
		.label = referent->label,
		.count = referent->count,
		.is_container = referent->is_container,
	};
	const struct gr_span *span = NULL;
	gr_obj obj = gr_heap_object_at(w->heap, to.addr, &span);
	const struct gr_program *program = to.type == GR_TYPE_NONE ||
							   to.is_container ?
						   NULL :
						   gr_walk_program(w, to.type);

	if (GR_UNLIKELY(++w->nvisits % POLL_EVERY == 0))
		gr_walk_poll(w);
	if (obj == GR_OBJ_NONE) {
		visit_area(w, &to, program, scope, step);
		return GR_OBJ_NONE;
	}
	struct gr_object_bits *bits = &w->heap->bits[obj / 64];
	uint64_t mask = UINT64_C(1) << (obj % 64);
	if (GR_UNLIKELY(!(bits->allocated & mask))) {
		gr_gap_add(w->rt->gaps,
			   w->is_conservative ? GR_GAP_CONSERVATIVE_FREE_SLOTS :
						GR_GAP_FREE_SLOT_POINTERS,
			   1);
		return GR_OBJ_NONE;
	}
	// As the collector: from a word that is perhaps no pointer, what lies
	// in a slot that is perhaps not initialised is not followed.
	if (GR_UNLIKELY(w->is_conservative) &&
	    obj - span->first_obj == span->fresh) {
		gr_gap_add(w->rt->gaps, GR_GAP_CONSERVATIVE_FREE_SLOTS, 1);
		return GR_OBJ_NONE;
	}
	bool is_new = !(bits->counted & mask);
	if (!is_new && (span->is_noscan || bits->whole & mask))
		return GR_OBJ_NONE;
	if (w->stratum < GR_STRATUM_RUNTIME &&
	    (bits->barrier & mask || (program && program->is_barrier))) {
		defer_visit(w, obj, to.addr, scope, step);
		return GR_OBJ_NONE;
	}
	uint32_t index = obj - span->first_obj;
	uint64_t slot_addr = gr_span_slot_addr(span, index);
	bool is_header = !span->is_noscan &&
			 refine_type(w, span, index, slot_addr, &to, &program);
	if (is_new) {
		bits->counted |= mask;
		// The type of a part, by a pointer to it, is not the whole's.
		bool is_part = to.type != GR_TYPE_NONE && !to.count &&
			       to.addr != slot_addr + span->header_bytes;
		count_object(w, span, obj, is_part ? GR_TYPE_NONE : to.label,
			     ledger_row(w, &to, is_header), scope, step);
	}
	if (!span->is_noscan && to.type != GR_TYPE_NONE)
		visit_contents(w, &to, program, span, obj, slot_addr, is_new,
			       scope, step);
	return is_new ? obj : GR_OBJ_NONE;
}

static bool locate_area(struct gr_walk *w, uint64_t addr, const uint8_t **host,
			uint64_t *word, uint64_t *bytes)
{
	const struct gr_area_list *areas = &w->roots->areas;
	size_t low = 0, high = areas->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (areas->areas[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == areas->count || addr < areas->areas[low].start ||
	    !areas->areas[low].host)
		return false;
	const struct gr_area *area = &areas->areas[low];
	*host = area->host + (addr - area->start);
	*word = w->area_word[low] + (addr - area->start) / GR_WORD_BYTES;
	*bytes = area->end - addr;
	return true;
}

bool gr_walk_locate(struct gr_walk *w, uint64_t addr, const uint8_t **host,
		    uint64_t *word, uint64_t *bytes)
{
	const struct gr_span *span;
	gr_obj obj;

	if (addr % GR_WORD_BYTES)
		return false;
	obj = gr_heap_object_at(w->heap, addr, &span);
	if (obj == GR_OBJ_NONE)
		return locate_area(w, addr, host, word, bytes);
	if (!span->host || !gr_heap_is_allocated(w->heap, obj))
		return false;
	uint64_t off = addr - span->base_addr;
	*host = span->host + off;
	*word = span->first_word + off / GR_WORD_BYTES;
	*bytes = (uint64_t)(obj - span->first_obj + 1) * span->elem_bytes - off;
	return true;
}
