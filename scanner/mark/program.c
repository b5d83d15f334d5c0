// SPDX-License-Identifier: Apache-2.0
#include "mark/program.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/vector.h"

const struct gr_program gr_program_nothing;

enum {
	MAX_DEPTH = 40,	       /* of types inside types */
	MAX_FLAT_ARRAY = 16,   /* elements that are unrolled */
	MAX_SLOTS = 1 << 14,   /* of one program */
	MAX_WORDS = 1 << 20,   /* that one program covers */
	MAX_VISITED = 1 << 20, /* types inside one type */
	MANY = 10,	       /* elements from here on share a name */
	AHEAD_POINTERS = 4,    /* of a value that the walk looks ahead to */
};

struct word_slot {
	uint64_t word;
	struct gr_slot slot;
};
GR_VECTOR(word_slot_vector, struct word_slot);
GR_VECTOR(step_vector, struct gr_step);
GR_VECTOR(array_vector, struct gr_array_slot);

struct compiler {
	struct gr_programs *programs;
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

struct gr_error *gr_programs_init(struct gr_programs *programs,
				  struct gr_runtime *rt)
{
	memset(programs, 0, sizeof(*programs));
	programs->rt = rt;
	programs->time_timer = gr_types_find(rt, "time.Timer");
	programs->time_ticker = gr_types_find(rt, "time.Ticker");
	programs->runtime_timer = gr_types_find(rt, "runtime.timeTimer");
	programs->timer = gr_types_find(rt, "runtime.timer");
	programs->timer_chan = gr_types_find(rt, "<-chan time.Time");
	if (programs->timer_chan == GR_TYPE_NONE)
		programs->timer_chan = gr_types_find(rt, "chan time.Time");
	programs->any = gr_types_find(rt, "interface {}");
	programs->pool_local = gr_types_find(rt, "sync.poolLocal");
	programs->weak_handle =
		gr_types_find(rt, "internal/runtime/atomic.Uintptr");
	if (programs->weak_handle == GR_TYPE_NONE)
		programs->weak_handle =
			gr_types_find(rt, "runtime/internal/atomic.Uintptr");
	return NULL;
}

void gr_programs_deinit(struct gr_programs *programs)
{
	free(programs->by_type);
	gr_arena_deinit(&programs->arena);
}

/* Do all words that a slot looks at lie in the value? */
static bool slot_is_inside(const struct compiler *c, enum gr_slot_op op,
			   uint64_t word)
{
	uint64_t before = op == GR_SLOT_EFACE || op == GR_SLOT_IFACE ||
			  op == GR_SLOT_REFLECT;
	uint64_t after = op == GR_SLOT_SLICE ?
				 2 :
				 op == GR_SLOT_COUNTED || op == GR_SLOT_REFLECT;

	return word >= before && word < c->nwords && after < c->nwords - word;
}

/* What a slot alone tells of what lies behind it. */
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
		return; // What is not typed is left to the masks.
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
	return c->steps.size - 1;
}

static const char *element_name(struct compiler *c, uint64_t i,
				const struct gr_type *elem)
{
	if (i < MANY)
		return gr_arena_internf(c->programs->rt->arena, "[%d]. (%s)",
					(int)i, elem->name);
	return gr_arena_internf(c->programs->rt->arena, "[%d+]. (%s)", MANY,
				elem->name);
}

static void compile_at(struct compiler *c, gr_type_id id, uint64_t off,
		       uint32_t step, unsigned int depth);

/* Compile what lies below a new step; forget the step if nothing does. */
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

	if (elem_id == GR_TYPE_NONE || !count)
		return;
	const struct gr_type *elem = gr_types_get(c->types, elem_id);
	uint64_t stride = elem->size_bytes;
	if (!stride || count > type->size_bytes / stride)
		return;
	if (count > MAX_FLAT_ARRAY) {
		struct gr_array_slot array = { off, count, elem_id, step };
		size_t nslots = c->slots.size, nsteps = c->steps.size;
		size_t narrays = c->arrays.size;
		// Only to learn whether an element holds pointers.
		compile_at(c, elem_id, 0, step, depth + 1);
		bool has_pointers = c->slots.size != nslots ||
				    c->arrays.size != narrays;
		c->slots.size = nslots;
		c->steps.size = nsteps;
		c->arrays.size = narrays;
		if (has_pointers && !array_vector_append(&c->arrays, array))
			c->is_out_of_memory = true;
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		compile_below(c, elem_id, off + i * stride, step,
			      element_name(c, i, elem), depth);
}

/* A field whose static type hides what the runtime or a library keeps there.
 * An owner with a bracket at its end stands for all instances. */
struct known_field {
	const char *owner, *field;
	enum gr_slot_op op;
	gr_type_id type;
};

/*
 * Source: sync/map.go (entry.p is a *any), sync/pool.go (local and victim are
 * arrays of poolLocal, their sizes follow), sync/poolqueue.go (eface),
 * reflect/value.go (Value), runtime/time.go (timeTimer.c is its channel),
 * weak/pointer.go (u is specialWeakHandle.handle of runtime/mheap.go).
 */
static bool find_known_field(const struct gr_programs *p, const char *owner,
			     const char *field, struct gr_slot *ret)
{
	const struct known_field known[] = {
		{ "sync.entry", "p", GR_SLOT_POINTER, p->any },
		{ "sync.Pool", "local", GR_SLOT_COUNTED, p->pool_local },
		{ "sync.Pool", "victim", GR_SLOT_COUNTED, p->pool_local },
		{ "sync.eface", "val", GR_SLOT_EFACE, p->any },
		{ "reflect.Value", "ptr", GR_SLOT_REFLECT, p->any },
		{ "runtime.timeTimer", "c", GR_SLOT_HEADER, p->timer_chan },
		{ "weak.Pointer[", "u", GR_SLOT_POINTER, p->weak_handle },
		{ "internal/weak.Pointer[", "u", GR_SLOT_POINTER,
		  p->weak_handle },
	};
	size_t owner_bytes = strcspn(owner, "[");

	for (size_t i = 0; i < GR_ARRAY_SIZE(known); i++) {
		if (strncmp(owner, known[i].owner, owner_bytes + 1) ||
		    strcmp(field, known[i].field) ||
		    known[i].type == GR_TYPE_NONE)
			continue;
		ret->op = known[i].op;
		ret->type = known[i].type;
		return true;
	}
	return false;
}

/* `local. ([]sync.poolLocal)`: what is there, not unsafe.Pointer. */
static const char *known_field_name(struct compiler *c,
				    const struct gr_type_field *field,
				    const struct gr_slot *slot)
{
	const char *type = gr_types_get(c->types, slot->type)->name;
	const char *before = slot->op == GR_SLOT_POINTER ? "*" :
			     slot->op == GR_SLOT_COUNTED ? "[]" :
							   "";

	return gr_arena_internf(c->programs->rt->arena, "%s. (%s%s)",
				field->name, before, type);
}

static bool compile_known_field(struct compiler *c, const struct gr_type *owner,
				const struct gr_type_field *field, uint64_t off,
				uint32_t parent)
{
	struct gr_slot slot;

	if (gr_types_get(c->types, field->type)->kind !=
		    GR_KIND_UNSAFE_POINTER ||
	    !find_known_field(c->programs, owner->name, field->name, &slot))
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
		const char *name = gr_arena_internf(c->programs->rt->arena,
						    "%s. (%s)", field->name,
						    ftype->name);

		if (type->role != GR_ROLE_CLOSURE &&
		    (field->off_bytes > type->size_bytes ||
		     ftype->size_bytes > type->size_bytes - field->off_bytes))
			continue;
		if (compile_known_field(c, type, field, off + field->off_bytes,
					step))
			continue;
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
	const struct gr_programs *p = c->programs;

	if (elem != GR_TYPE_NONE && p->runtime_timer != GR_TYPE_NONE &&
	    (elem == p->time_timer || elem == p->time_ticker))
		elem = p->runtime_timer;
	add_slot(c, off,
		 elem == GR_TYPE_NONE ? GR_SLOT_UNKNOWN : GR_SLOT_POINTER, elem,
		 step);
}

static void compile_at(struct compiler *c, gr_type_id id, uint64_t off,
		       uint32_t step, unsigned int depth)
{
	const struct gr_type *type = gr_types_get(c->types, id);

	if (depth > MAX_DEPTH || c->is_out_of_memory ||
	    c->visited++ > MAX_VISITED)
		return;
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

/* Copy what the compiler collected into memory of the programs' arena. */
static struct gr_program *finish(struct compiler *c, uint64_t size_bytes)
{
	struct gr_arena *arena = &c->programs->arena;
	struct gr_program *p = gr_arena_alloc(arena, sizeof(*p));

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

const struct gr_program *gr_program_compile(struct gr_programs *programs,
					    gr_type_id type)
{
	_cleanup_(compiler_deinit) struct compiler c = {
		.programs = programs,
		.types = programs->rt->types,
		.nwords = gr_types_get(programs->rt->types, type)->size_bytes /
			  GR_WORD_BYTES,
	};

	if (type >= programs->capacity) {
		size_t old = programs->capacity;
		if (!gr_vector_grow((void **)&programs->by_type,
				    &programs->capacity,
				    gr_types_count(c.types),
				    sizeof(*programs->by_type)))
			return NULL;
		memset(programs->by_type + old, 0,
		       (programs->capacity - old) * sizeof(*programs->by_type));
	}
	compile_at(&c, type, 0, GR_STEP_SELF, 0);
	const struct gr_type *info = gr_types_get(c.types, type);
	struct gr_program *program = finish(&c, info->size_bytes);
	if (!program)
		return NULL;
	program->is_barrier = info->role == GR_ROLE_BARRIER;
	program->is_closure = info->role == GR_ROLE_CLOSURE;
	program->is_direct = gr_types_is_direct(c.types, type) &&
			     program->nslots == 1 && program->nwords == 1;
	program->is_small = !program->narrays &&
			    program->nwords <= GR_BITMAP_PEEK_BITS;
	program->self = (struct gr_referent){
		.program = program,
		.type = type,
		.label = type,
		.bytes = program->is_barrier ||
					 program->size_bytes >= GR_NOT_QUICK ?
				 GR_NOT_QUICK :
			 gr_program_is_empty(program) ? 0 :
							program->size_bytes,
	};
	programs->by_type[type] = program;
	return program;
}
