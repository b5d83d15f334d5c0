// SPDX-License-Identifier: Apache-2.0
/*
 * Types of blocks of C: that of its vtable; or else that of the first pointer of Go to a block, as a field of
 * type *C.struct_x has it, or else of the first variable of C, and from there
 * along the typed pointers of blocks. The types are Go's own names of C types
 * (cmd/cgo), or those of the debug information of C. A block that only untyped
 * pointers lead to has none.
 */
#include "heapgraph/internal.h"
#include "heapgraph/limited_keys.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "goruntime/types/c_types.h"
#include "goruntime/types/word.h"
#include "native/block_class.h"

enum {
	MAX_WORDS = 1 << 12, /* of a block that are followed */
	/* The program has asked for so many bytes less than it got, at most. */
	ROUND_BYTES = 16,
	NAME_BYTES = 256,
	MAX_ARRAYS = 8, /* in arrays */
};

struct typer {
	struct gr_graph_maker *maker;
	struct gr_types *types;
	struct gr_blocks *blocks;
	uint32_t *labels;	 /* by block */
	struct gr_keys pointees; /* by label and word */
	struct gr_keys modules;	 /* with data that leads to blocks */
	struct gr_keys classes;	 /* by name and module */
	struct gr_u32_vector queue;
	struct gr_view view;
	struct gr_c_file file; /* of the last variable of C */
};

static void typer_deinit(struct typer *t)
{
	gr_keys_deinit(&t->pointees);
	gr_keys_deinit(&t->modules);
	gr_keys_deinit(&t->classes);
	gr_u32_vector_deinit(&t->queue);
}

/* The value that has the byte at *@p off of memory with a label, which becomes
 * the offset in it; GR_TYPE_NONE: none is known. */
static gr_type_id value_at(const struct gr_types *types, uint32_t label,
			   uint64_t *off)
{
	gr_type_id id = label & ~(uint32_t)GR_LABEL_FLAGS;
	const struct gr_type *type;

	if (label == GR_TYPE_NONE)
		return GR_TYPE_NONE;
	type = gr_types_get(types, id);
	if (label & GR_LABEL_DATA && type->kind == GR_KIND_SLICE) {
		id = type->elem;
		type = gr_types_get(types, id);
	}
	if (!type->size_bytes ||
	    (*off >= type->size_bytes && !(label & GR_LABEL_DATA)))
		return GR_TYPE_NONE;
	*off %= type->size_bytes;
	// Words of equal elements are one question.
	for (unsigned int i = 0; i < MAX_ARRAYS; i++) {
		type = gr_types_get(types, id);
		if (type->kind != GR_KIND_ARRAY || type->elem == GR_TYPE_NONE ||
		    !gr_types_get(types, type->elem)->size_bytes)
			break;
		id = type->elem;
		*off %= gr_types_get(types, id)->size_bytes;
	}
	return id;
}

/* The type that the word at byte @p off of a value points to. */
static struct gr_error *find_pointee(const struct gr_types *types,
				     gr_type_id id, uint64_t off,
				     gr_type_id *ret)
{
	char name[NAME_BYTES];
	struct gr_text text = gr_text_begin(name, sizeof(name));
	struct gr_type_word word;
	struct gr_error *err = gr_types_name_word(types, id, off, &text, &word);

	*ret = GR_TYPE_NONE;
	if (err || word.is_nameless || word.off_bytes)
		return err;
	const struct gr_type *type = gr_types_get(types, word.type);
	if (type->kind == GR_KIND_PTR)
		*ret = type->elem;
	return NULL;
}

/* The same for memory with a label, asked for once. */
static struct gr_error *pointee_of(struct typer *t, uint32_t label,
				   uint64_t off, gr_type_id *ret)
{
	gr_type_id id = value_at(t->types, label, &off);
	struct gr_error *err;

	*ret = GR_TYPE_NONE;
	if (id == GR_TYPE_NONE)
		return NULL;
	uint32_t known = gr_keys_find(&t->pointees, off, id);
	if (known != UINT32_MAX) {
		*ret = known - 1;
		return NULL;
	}
	err = find_pointee(t->types, id, off, ret);
	// GR_TYPE_NONE is 0 here.
	return err ? err :
		     gr_limited_keys_add(t->view.rt, &t->pointees, off, id,
					 *ret + 1);
}

/* Does a pointer to this type say what it leads to? A block is no function. */
static bool is_telling(const struct gr_type *type)
{
	static const char *const nameless[] = { "struct", "void" };

	for (size_t i = 0; i < GR_ARRAY_SIZE(nameless); i++)
		if (!strcmp(type->name, nameless[i]))
			return false;
	return type->kind != GR_KIND_FUNC && type->kind != GR_KIND_INVALID;
}

/* Give a block a type, unless it has one. */
static struct gr_error *set_type(struct typer *t, uint32_t block, gr_type_id id)
{
	if (id == GR_TYPE_NONE || t->labels[block] != GR_TYPE_NONE ||
	    !is_telling(gr_types_get(t->types, id)))
		return NULL;
	uint64_t bytes = gr_types_get(t->types, id)->size_bytes;
	uint64_t usable = gr_block_usable_bytes(&t->blocks->list.data[block]);
	// An array leaves no more room than malloc has rounded up.
	bool is_array = bytes && usable > ROUND_BYTES &&
			2 * bytes <= usable - ROUND_BYTES &&
			usable % bytes < ROUND_BYTES;

	// A smaller block is none of that type.
	if (bytes > usable)
		return NULL;
	t->labels[block] = id | (is_array ? (uint32_t)GR_LABEL_DATA : 0);
	struct gr_error *err =
		gr_runtime_append(t->view.rt, gr_u32_vector, &t->queue, block);
	return err ? err : gr_types_fill_c(t->types, id);
}

/* Follow the typed pointers of a block. */
static struct gr_error *follow(struct typer *t, uint32_t block)
{
	const struct gr_block *b = &t->blocks->list.data[block];
	uint64_t n = gr_block_usable_bytes(b) / GR_WORD_BYTES, word;
	struct gr_error *err = NULL;

	if (n > MAX_WORDS)
		n = MAX_WORDS;
	for (uint64_t i = 0; !err && i < n; i++) {
		uint32_t to = gr_view_word(&t->view,
					   b->addr + i * GR_WORD_BYTES, &word) ?
				      gr_blocks_find(t->blocks, word) :
				      GR_BLOCK_NONE;
		gr_type_id id = GR_TYPE_NONE;

		// A pointer into the middle says nothing of the whole.
		if (to == GR_BLOCK_NONE || t->labels[to] != GR_TYPE_NONE ||
		    t->blocks->list.data[to].addr != word)
			continue;
		err = pointee_of(t, t->labels[block], i * GR_WORD_BYTES, &id);
		if (!err)
			err = set_type(t, to, id);
	}
	return err ? err : gr_runtime_step(t->view.rt, n / 16 + 1);
}

static struct gr_error *add_seeds(struct typer *t)
{
	const struct gr_block_seeds *seeds = &t->maker->seeds;
	const uint32_t *types = t->maker->hg->graph->objects->type;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < seeds->size; i++) {
		const struct gr_block_seed *seed = &seeds->data[i];
		uint32_t label = seed->from == GR_VERTEX_NONE ?
					 seed->type :
					 types[seed->from];
		gr_type_id id;

		err = gr_runtime_step(t->view.rt, 1);
		if (err || t->labels[seed->block] != GR_TYPE_NONE)
			continue;
		err = pointee_of(t, label, seed->off_bytes, &id);
		if (!err)
			err = set_type(t, seed->block, id);
	}
	return err;
}

// ---------------------------------------------------------- variables of C

/* The debug information of a module; asked for once in a row. */
static struct gr_error *find_file(struct typer *t, size_t module)
{
	const struct gr_heap_graph_spec *spec = t->maker->spec;
	const struct gr_dwarf *dwarf = NULL;
	struct gr_error *err = NULL;

	if (module == t->file.module)
		return NULL;
	if (module != SIZE_MAX)
		err = spec->find_c_types(spec->ctx, module, &dwarf);
	t->file = (struct gr_c_file){ dwarf, module };
	return err;
}

/* Type the block that a word of a variable leads to. */
static struct gr_error *add_c_seed(struct typer *t,
				   const struct gr_c_seed *seed)
{
	struct gr_image *image = t->view.rt->image;
	size_t module = gr_image_module_at(image, seed->addr);
	struct gr_error *err = find_file(t, module);
	uint64_t addr = seed->addr;
	gr_type_id id;

	if (err || !t->file.dwarf)
		return err;
	addr -= gr_image_bias(image, module);
	const struct gr_dwarf_variable *variable =
		gr_c_file_variable(&t->file, addr);
	if (!variable)
		return NULL;
	err = gr_types_from_c(t->types, &t->file, variable->type, &id);
	if (!err)
		err = gr_types_fill_c(t->types, id);
	if (!err)
		err = pointee_of(t, id, addr - variable->addr, &id);
	return err ? err : set_type(t, seed->block, id);
}

static struct gr_error *add_c_seeds(struct typer *t)
{
	const struct gr_c_seeds *seeds = &t->maker->c_seeds;
	struct gr_error *err = NULL;

	if (!t->maker->spec->find_c_types)
		return NULL;
	for (size_t i = 0; !err && i < seeds->size; i++) {
		err = gr_runtime_step(t->view.rt, 1);
		if (!err && t->labels[seeds->data[i].block] == GR_TYPE_NONE)
			err = add_c_seed(t, &seeds->data[i]);
	}
	return err;
}

// ----------------------------------------------------------------- classes

/* Note the modules with data that leads to a block: only they are read. */
static struct gr_error *find_modules(struct typer *t)
{
	const struct gr_c_seeds *seeds = &t->maker->c_seeds;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < seeds->size; i++) {
		size_t module = gr_image_module_at(t->view.rt->image,
						   seeds->data[i].addr);

		err = gr_runtime_step(t->view.rt, 2);
		if (!err &&
		    gr_keys_find(&t->modules, module, 0) == UINT32_MAX &&
		    !gr_keys_add(&t->modules, module, 0, 0))
			err = &gr_enomem;
	}
	return err;
}

/* The class in the debug information, if there is one; asked for once. */
static struct gr_error *
find_class(struct typer *t, const struct gr_block_class *class, gr_type_id *ret)
{
	uint32_t known = gr_keys_find(&t->classes, (uintptr_t) class->name,
				      class->module);
	struct gr_error *err = NULL;

	*ret = known - 1;
	if (known != UINT32_MAX)
		return NULL;
	*ret = GR_TYPE_NONE;
	if (t->maker->spec->find_c_types &&
	    gr_keys_find(&t->modules, class->module, 0) != UINT32_MAX)
		err = find_file(t, class->module);
	if (!err && t->file.dwarf && t->file.module == class->module)
		err = gr_types_find_c(t->types, &t->file, class->name, ret);
	// GR_TYPE_NONE is 0 here.
	return err || gr_keys_add(&t->classes, (uintptr_t) class->name,
				  class->module, *ret + 1) ?
		       err :
		       &gr_enomem;
}

/* The type of an object: a name alone if the block has no room for the class
 * that is known by that name. */
static struct gr_error *class_type(struct typer *t, uint64_t bytes,
				   const struct gr_block_class *class,
				   gr_type_id *ret)
{
	struct gr_error *err = find_class(t, class, ret);

	if (!err && (*ret == GR_TYPE_NONE ||
		     gr_types_get(t->types, *ret)->size_bytes > bytes))
		err = gr_types_named_c(t->types, class->name, ret);
	return err ? err : gr_types_fill_c(t->types, *ret);
}

/* An array has no fields that could be named: a number is before them. */
static struct gr_error *array_type(struct typer *t, const char *name,
				   gr_type_id *ret)
{
	const char *text = gr_arena_internf(t->view.rt->arena, "[]%s", name);

	return text ? gr_types_named_c(t->types, text, ret) : &gr_enomem;
}

static struct gr_error *add_object(struct typer *t, uint32_t block,
				   const struct gr_block_class *class)
{
	uint64_t bytes = gr_block_usable_bytes(&t->blocks->list.data[block]);
	gr_type_id id;
	struct gr_error *err = class->count ? array_type(t, class->name, &id) :
					      class_type(t, bytes, class, &id);

	if (err)
		return err;
	t->labels[block] = id;
	return gr_runtime_append(t->view.rt, gr_u32_vector, &t->queue, block);
}

/* Type the objects of C++: a pointer to one may be that of a base. */
static struct gr_error *add_objects(struct typer *t)
{
	const struct gr_block_vector *list = &t->blocks->list;
	_cleanup_free_ struct gr_classes *classes = malloc(sizeof(*classes));
	struct gr_error *err = classes ? find_modules(t) : &gr_enomem;
	struct gr_block_class class;

	if (!err)
		gr_classes_init(classes, t->view.rt, t->blocks);
	for (size_t i = 0; !err && i < list->size; i++) {
		err = gr_block_class_find(classes, &list->data[i], &class);
		if (!err && class.name)
			err = add_object(t, i, &class);
		if (!err)
			err = gr_runtime_step(t->view.rt, 1);
	}
	return err;
}

struct gr_error *gr_graph_type_blocks(struct gr_graph_maker *maker)
{
	struct gr_objects *objects = maker->hg->graph->objects;
	struct gr_heap *heap = (struct gr_heap *)maker->spec->heap;
	_cleanup_(typer_deinit) struct typer t = {
		.maker = maker,
		.types = heap->types,
		.blocks = gr_graph_blocks(maker),
		.view = gr_view_of(heap->rt),
		.file.module = SIZE_MAX,
	};

	if (!t.blocks)
		return NULL;
	t.labels = objects->type + gr_objects_second(objects);
	struct gr_error *err = add_objects(&t);
	if (!err)
		err = add_seeds(&t);
	if (!err)
		err = add_c_seeds(&t);
	// Bounded by the blocks: each is in the queue once.
	for (size_t i = 0; !err && i < t.queue.size; i++)
		err = follow(&t, t.queue.data[i]);
	return err;
}
