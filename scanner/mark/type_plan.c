// SPDX-License-Identifier: Apache-2.0
#include "mark/type_plan.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/vector.h"
#include "mark/type_holds.h"

const struct gr_type_plan gr_type_plan_nothing;

enum {
	MAX_DEPTH = 40,	       /* of types inside types */
	MAX_FLAT_ARRAY = 16,   /* elements that are unrolled */
	MAX_SLOTS = 1 << 14,   /* of one plan */
	MAX_WORDS = 1 << 20,   /* that one plan covers */
	MAX_VISITED = 1 << 16, /* types and fields inside one type */
	MAX_NAME_BYTES = 4096,
	NAME_BYTES_A_VISIT = 64,
	MANY = 10,	    /* elements from here on share a name */
	AHEAD_POINTERS = 4, /* of a value, for which the walk prefetches */
};

struct word_slot {
	uint64_t word;
	struct gr_slot slot;
};
GR_VECTOR(word_slot_vector, struct word_slot);
GR_VECTOR(step_vector, struct gr_step);
GR_VECTOR(array_vector, struct gr_array_slot);

struct compiler {
	struct gr_type_plans *plans;
	const struct gr_types *types;
	struct word_slot_vector slots;
	struct step_vector steps;
	struct array_vector arrays;
	uint64_t nwords;  /* of the value that is compiled */
	uint32_t visited; /* types gone through, with repetition */
	bool is_out_of_memory;
};

static void compiler_deinit(struct compiler *c)
{
	word_slot_vector_deinit(&c->slots);
	step_vector_deinit(&c->steps);
	array_vector_deinit(&c->arrays);
}

struct gr_error *gr_type_plans_init(struct gr_type_plans *plans,
				    struct gr_types *types)
{
	memset(plans, 0, sizeof(*plans));
	plans->rt = gr_types_runtime(types);
	plans->types = types;
	plans->time_timer = gr_types_known(types, GR_NAME_TIME_TIMER);
	plans->time_ticker = gr_types_known(types, GR_NAME_TIME_TICKER);
	plans->runtime_timer = gr_types_known(types, GR_NAME_CHANNEL_TIMER);
	plans->timer = gr_types_known(types, GR_NAME_RUNTIME_TIMER);
	plans->timer_chan = gr_types_known(types, GR_NAME_TIMER_CHANNEL);
	plans->any = gr_types_known(types, GR_NAME_EMPTY_INTERFACE);
	plans->pool_local = gr_types_known(types, GR_NAME_POOL_LOCAL);
	plans->weak_handle = gr_types_known(types, GR_NAME_WEAK_HANDLE);
	return gr_types_take_error(types);
}

void gr_type_plans_deinit(struct gr_type_plans *plans)
{
	free(plans->by_type);
	free(plans->holds);
	gr_error_destroy(plans->err);
	gr_arena_deinit(&plans->arena);
}

/* Is a limit reached? Then the rest of the type is left to the masks. */
static bool is_full(const struct compiler *c)
{
	return c->is_out_of_memory || c->visited >= MAX_VISITED ||
	       c->visited >= gr_type_plans_visits_left(c->plans) ||
	       c->slots.size + c->arrays.size >= MAX_SLOTS;
}

/* Do all words that a slot reads lie in the value? */
static bool slot_is_inside(const struct compiler *c, enum gr_slot_op op,
			   uint64_t word)
{
	uint64_t before = op == GR_SLOT_EFACE || op == GR_SLOT_IFACE ||
			  op == GR_SLOT_REFLECT;
	uint64_t after = op == GR_SLOT_SLICE ? 2 :
					       op == GR_SLOT_STRING ||
						       op == GR_SLOT_COUNTED ||
						       op == GR_SLOT_REFLECT;

	return word >= before && word < c->nwords && after < c->nwords - word;
}

/* The referent as far as the slot alone describes it. */
static struct gr_referent referent_of(const struct compiler *c,
				      enum gr_slot_op op, gr_type_id type)
{
	struct gr_referent to = { .type = type, .label = type };

	if (op == GR_SLOT_STRING)
		to.type = GR_TYPE_NONE;
	else if (op == GR_SLOT_SLICE)
		to.type = gr_types_get(c->types, type)->elem;
	else if (op == GR_SLOT_UNKNOWN)
		to.type = to.label = GR_TYPE_NONE;
	to.is_container = op == GR_SLOT_HEADER || op == GR_SLOT_TRIE;
	return to;
}

static void add_slot(struct compiler *c, uint64_t off, enum gr_slot_op op,
		     gr_type_id type, uint32_t step)
{
	struct word_slot slot = {
		.word = off / GR_WORD_BYTES,
		.slot = { .op = op,
			  .type = type,
			  .step = step,
			  .to = referent_of(c, op, type) },
	};

	if (off % GR_WORD_BYTES || slot.word >= MAX_WORDS ||
	    !slot_is_inside(c, op, slot.word) || c->slots.size >= MAX_SLOTS)
		return; // Untyped words are left to the masks.
	if (!word_slot_vector_append(&c->slots, slot))
		c->is_out_of_memory = true;
}

static uint32_t add_step(struct compiler *c, uint32_t parent, const char *name)
{
	struct gr_step step = { .name = name, .parent = parent };

	if (!name || !step_vector_append(&c->steps, step)) {
		c->is_out_of_memory = true;
		return parent;
	}
	// A long name takes more memory than the rest of its slot.
	c->visited += strlen(name) / NAME_BYTES_A_VISIT;
	return c->steps.size - 1;
}

static const char *element_name(struct compiler *c, uint64_t i,
				const struct gr_type *elem)
{
	if (i < MANY)
		return gr_arena_internf(c->plans->rt->arena, "[%d]. (%.*s)",
					(int)i, MAX_NAME_BYTES, elem->name);
	return gr_arena_internf(c->plans->rt->arena, "[%d+]. (%.*s)", MANY,
				MAX_NAME_BYTES, elem->name);
}

static void compile_at(struct compiler *c, gr_type_id id, uint64_t off,
		       uint32_t step, unsigned int depth);

/* Compile a type below a new step; drop the step if the type adds nothing. */
static void compile_below(struct compiler *c, gr_type_id id, uint64_t off,
			  uint32_t parent, const char *name, unsigned int depth)
{
	size_t nsteps = c->steps.size, nslots = c->slots.size;
	size_t narrays = c->arrays.size;
	uint32_t step = add_step(c, parent, name);

	compile_at(c, id, off, step, depth + 1);
	if (c->slots.size == nslots && c->arrays.size == narrays)
		c->steps.size = nsteps;
}

static void compile_array(struct compiler *c, const struct gr_type *type,
			  uint64_t off, uint32_t step, unsigned int depth)
{
	gr_type_id elem_id = type->elem;
	uint64_t count = type->count;

	if (elem_id == GR_TYPE_NONE || !count ||
	    !gr_type_may_hold(c->plans, elem_id, depth))
		return;
	const struct gr_type *elem = gr_types_get(c->types, elem_id);
	uint64_t stride = elem->size_bytes;
	if (!stride || count > type->size_bytes / stride)
		return;
	if (count > MAX_FLAT_ARRAY) {
		struct gr_array_slot array = { off, count, elem_id, step };
		if (!array_vector_append(&c->arrays, array))
			c->is_out_of_memory = true;
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		compile_below(c, elem_id, off + i * stride, step,
			      element_name(c, i, elem), depth);
}

/* A field whose static type hides the type of the data behind it. */
struct known_field {
	enum gr_name_trait owner;
	const char *field;
	enum gr_slot_op op;
	gr_type_id type;
};

/*
 * Source: sync/map.go (entry.p is a *any), sync/pool.go (local and victim are
 * arrays of poolLocal, their sizes follow), sync/poolqueue.go (eface),
 * reflect/value.go (Value), runtime/time.go (timeTimer.c is its channel),
 * weak/pointer.go (u is specialWeakHandle.handle of runtime/mheap.go).
 */
static bool find_known_field(const struct gr_type_plans *p, const char *owner,
			     const char *field, struct gr_slot *ret)
{
	const struct known_field known[] = {
		{ GR_NAME_MAP_ENTRY, "p", GR_SLOT_POINTER, p->any },
		{ GR_NAME_POOL, "local", GR_SLOT_COUNTED, p->pool_local },
		{ GR_NAME_POOL, "victim", GR_SLOT_COUNTED, p->pool_local },
		{ GR_NAME_POOL_EFACE, "val", GR_SLOT_EFACE, p->any },
		{ GR_NAME_REFLECT_VALUE, "ptr", GR_SLOT_REFLECT, p->any },
		{ GR_NAME_CHANNEL_TIMER, "c", GR_SLOT_HEADER, p->timer_chan },
		{ GR_NAME_WEAK_POINTER, "u", GR_SLOT_POINTER, p->weak_handle },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(known); i++) {
		if (known[i].type == GR_TYPE_NONE ||
		    strcmp(field, known[i].field) ||
		    !gr_name_has(owner, known[i].owner))
			continue;
		ret->op = known[i].op;
		ret->type = known[i].type;
		return true;
	}
	return false;
}

/* The name has the real type, `local. ([]sync.poolLocal)`, instead of
 * unsafe.Pointer. */
static const char *known_field_name(struct compiler *c,
				    const struct gr_type_field *field,
				    const struct gr_slot *slot)
{
	const char *type = gr_types_get(c->types, slot->type)->name;
	const char *before = slot->op == GR_SLOT_POINTER ? "*" :
			     slot->op == GR_SLOT_COUNTED ? "[]" :
							   "";

	return gr_arena_internf(c->plans->rt->arena, "%s. (%s%s)", field->name,
				before, type);
}

static bool compile_known_field(struct compiler *c, const struct gr_type *owner,
				const struct gr_type_field *field, uint64_t off,
				uint32_t parent)
{
	struct gr_slot slot;

	if (gr_types_get(c->types, field->type)->kind !=
		    GR_KIND_UNSAFE_POINTER ||
	    !find_known_field(c->plans, owner->name, field->name, &slot))
		return false;
	add_slot(c, off, slot.op, slot.type,
		 add_step(c, parent, known_field_name(c, field, &slot)));
	return true;
}

static void compile_fields(struct compiler *c, const struct gr_type *type,
			   uint64_t off, uint32_t step, unsigned int depth)
{
	for (uint32_t i = 0; i < type->nfields; i++) {
		const struct gr_type_field *field =
			gr_types_field(c->types, type, i);
		const struct gr_type *ftype =
			gr_types_get(c->types, field->type);

		if (is_full(c))
			return;
		c->visited++;
		if (type->role != GR_ROLE_CLOSURE &&
		    (field->off_bytes > type->size_bytes ||
		     ftype->size_bytes > type->size_bytes - field->off_bytes))
			continue;
		if (compile_known_field(c, type, field, off + field->off_bytes,
					step))
			continue;
		if (!gr_type_may_hold(c->plans, field->type, depth))
			continue;
		const char *name = gr_arena_internf(
			c->plans->rt->arena, "%.*s. (%.*s)", MAX_NAME_BYTES,
			field->name, MAX_NAME_BYTES, ftype->name);
		compile_below(c, field->type, off + field->off_bytes, step,
			      name, depth);
	}
}

static void compile_struct(struct compiler *c, gr_type_id id, uint64_t off,
			   uint32_t step, unsigned int depth)
{
	const struct gr_type *type = gr_types_get(c->types, id);

	switch (type->role) {
	case GR_ROLE_ATOMIC_POINTER:
		// The pointer is the last word: zero-sized fields come first.
		if (type->size_bytes < GR_WORD_BYTES)
			return;
		add_slot(c, off + type->size_bytes - GR_WORD_BYTES,
			 GR_SLOT_POINTER, type->elem, step);
		return;
	case GR_ROLE_HASH_TRIE:
		for (uint32_t i = 0; i < type->nfields; i++) {
			const struct gr_type_field *f =
				gr_types_field(c->types, type, i);
			if (!strcmp(f->name, "root"))
				add_slot(c, off + f->off_bytes, GR_SLOT_TRIE,
					 id, step);
		}
		return;
	case GR_ROLE_CLOSURE:
		step = add_step(c, step, type->name);
		break;
	default:
		break;
	}
	compile_fields(c, type, off, step, depth);
}

/* The slot of a pointer to `elem`. */
static void compile_pointer(struct compiler *c, gr_type_id elem, uint64_t off,
			    uint32_t step)
{
	const struct gr_type_plans *p = c->plans;

	if (elem != GR_TYPE_NONE && p->runtime_timer != GR_TYPE_NONE &&
	    (elem == p->time_timer || elem == p->time_ticker))
		elem = p->runtime_timer;
	add_slot(c, off,
		 elem == GR_TYPE_NONE ? GR_SLOT_UNKNOWN : GR_SLOT_POINTER, elem,
		 step);
}

/* Recursion: 2^16 visits a type, 64 for each type and field in all; 40
 * levels. */
static void compile_at(struct compiler *c, gr_type_id id, uint64_t off,
		       uint32_t step, unsigned int depth)
{
	const struct gr_type *type = gr_types_get(c->types, id);

	if (depth > MAX_DEPTH || is_full(c))
		return;
	c->visited++;
	switch (type->kind) {
	case GR_KIND_PTR:
		compile_pointer(c, type->elem, off, step);
		break;
	case GR_KIND_UNSAFE_POINTER:
		add_slot(c, off, GR_SLOT_UNKNOWN, GR_TYPE_NONE, step);
		break;
	case GR_KIND_STRING:
		add_slot(c, off, GR_SLOT_STRING, id, step);
		break;
	case GR_KIND_SLICE:
		add_slot(c, off,
			 type->elem == GR_TYPE_NONE ? GR_SLOT_UNKNOWN :
						      GR_SLOT_SLICE,
			 id, step);
		break;
	case GR_KIND_INTERFACE:
		add_slot(c, off + GR_WORD_BYTES,
			 type->has_itab ? GR_SLOT_IFACE : GR_SLOT_EFACE, id,
			 step);
		break;
	case GR_KIND_MAP:
	case GR_KIND_CHAN:
		add_slot(c, off, GR_SLOT_HEADER, id, step);
		break;
	case GR_KIND_FUNC:
		add_slot(c, off, GR_SLOT_FUNC, id, step);
		break;
	case GR_KIND_ARRAY:
		compile_array(c, type, off, step, depth);
		break;
	case GR_KIND_STRUCT:
		compile_struct(c, id, off, step, depth);
		break;
	default:
		break;
	}
}

/* Copy the compiler's results into a plan in the arena of the plans. */
static struct gr_type_plan *finish(struct compiler *c, uint64_t size_bytes)
{
	struct gr_arena *arena = &c->plans->arena;
	struct gr_type_plan *p = gr_arena_alloc(arena, sizeof(*p));

	if (!p || c->is_out_of_memory)
		return NULL;
	p->size_bytes = size_bytes;
	p->nslots = c->slots.size;
	p->nsteps = c->steps.size;
	p->narrays = c->arrays.size;
	for (size_t i = 0; i < c->slots.size; i++)
		if (c->slots.data[i].word >= p->nwords)
			p->nwords = c->slots.data[i].word + 1;
	p->mask = gr_arena_alloc(arena, (gr_bitmap_words(p->nwords) + 1) * 8);
	p->slot_of_word = gr_arena_alloc(
		arena, (p->nwords + 1) * sizeof(*p->slot_of_word));
	p->slots = gr_arena_alloc(arena, p->nslots * sizeof(*p->slots) + 1);
	p->steps = gr_arena_alloc(arena, p->nsteps * sizeof(*p->steps) + 1);
	p->arrays = gr_arena_alloc(arena, p->narrays * sizeof(*p->arrays) + 1);
	if (!p->mask || !p->slot_of_word || !p->slots || !p->steps ||
	    !p->arrays)
		return NULL;
	for (size_t i = 0; i < c->slots.size; i++) {
		uint64_t word = c->slots.data[i].word;
		p->slots[i] = c->slots.data[i].slot;
		if (gr_bitmap_set_new(p->mask, word))
			p->slot_of_word[word] = &p->slots[i];
		if (p->slots[i].op == GR_SLOT_FUNC && word < 64)
			p->code_words |= UINT64_C(1) << word;
	}
	p->first_mask = p->first_words = p->mask[0];
	while (__builtin_popcountll(p->first_words) > AHEAD_POINTERS)
		p->first_words ^= UINT64_C(1)
				  << (63 - __builtin_clzll(p->first_words));
	if (p->nsteps)
		memcpy(p->steps, c->steps.data, p->nsteps * sizeof(*p->steps));
	if (p->narrays)
		memcpy(p->arrays, c->arrays.data,
		       p->narrays * sizeof(*p->arrays));
	return p;
}

/* Make room for the plan of every type. */
static bool grow_programs(struct gr_type_plans *plans, size_t count)
{
	size_t old = plans->capacity;

	if (count > old) {
		if (!gr_vector_grow((void **)&plans->by_type, &plans->capacity,
				    count, sizeof(*plans->by_type)))
			return false;
		memset(plans->by_type + old, 0,
		       (plans->capacity - old) * sizeof(*plans->by_type));
	}
	return gr_type_holds_grow(plans, count);
}

/* gr_referent.most_bytes of a type without pointers. It is never more than what
 * gr_least_bytes() allows. */
static uint16_t most_bytes(uint64_t size_bytes)
{
	uint64_t most = size_bytes + size_bytes / 8 + 16;

	if (size_bytes <= 16)
		return 16;
	return most < UINT16_MAX ? (uint16_t)most : UINT16_MAX;
}

/* Fill in the fields of a plan that do not come from its slots. */
static void describe(struct gr_type_plans *plans, gr_type_id type,
		     struct gr_type_plan *plan)
{
	const struct gr_types *types = plans->types;
	const struct gr_type *info = gr_types_get(types, type);

	plan->is_scheduler = info->role == GR_ROLE_SCHEDULER;
	plan->is_closure = info->role == GR_ROLE_CLOSURE;
	plan->is_direct = gr_types_is_direct(types, type) &&
			  plan->nslots == 1 && plan->nwords == 1;
	plan->is_small = !plan->narrays && plan->nwords <= GR_BITMAP_PEEK_BITS;
	plan->self = (struct gr_referent){
		.plan = plan,
		.type = type,
		.label = type,
		.bytes = plan->is_scheduler ||
					 plan->size_bytes >= GR_NOT_QUICK ?
				 GR_NOT_QUICK :
			 gr_type_plan_is_empty(plan) ? 0 :
						       plan->size_bytes,
		.most_bytes = gr_type_plan_is_empty(plan) ?
				      most_bytes(plan->size_bytes) :
				      0,
	};
}

const struct gr_type_plan *gr_type_plan_compile(struct gr_type_plans *plans,
						gr_type_id type)
{
	const struct gr_types *types = plans->types;
	uint64_t bytes = gr_types_get(types, type)->size_bytes;
	_cleanup_(compiler_deinit) struct compiler c = {
		.plans = plans,
		.types = types,
		.nwords = bytes / GR_WORD_BYTES,
	};

	if (plans->is_over || !grow_programs(plans, gr_types_count(types)))
		return NULL;
	compile_at(&c, type, 0, GR_STEP_SELF, 0);
	plans->visited += c.visited;
	if (!gr_type_plans_step(plans, c.visited))
		return NULL;
	struct gr_type_plan *plan = finish(&c, bytes);
	if (!plan)
		return NULL;
	describe(plans, type, plan);
	plans->by_type[type] = plan;
	return plan;
}
