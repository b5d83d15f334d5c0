// SPDX-License-Identifier: Apache-2.0
/*
 * The table is a sync.Map, of which there are two designs: two maps with shared
 * entries, or a hash trie. The fields of its type tell which. An entry leads to
 * the value, an interface.
 */
#include "cmemory/c_holds.h"

#include "base/cleanup.h"
#include "base/word_set.h"
#include "expr/element.h"
#include "goruntime/layout/pclntab.h"
#include "goruntime/layout/symbols.h"
#include "mark/container.h"
#include "scan/stop.h"

enum { MAX_TRIE_DEPTH = 17 /* 64 bits of hash, 4 a level, and the root */ };

struct table {
	struct gr_stop *stop;
	struct gr_types *types;
	struct gr_c_hold_vector *ret;
	struct gr_word_set seen; /* nodes of the trie */
	uint64_t last_record;	 /* of a type */
	gr_type_id last_type;
};

static void table_deinit(struct table *t)
{
	gr_word_set_deinit(&t->seen);
}

static struct gr_error *read_word(struct table *t, uint64_t addr, uint64_t *ret)
{
	return gr_image_read_u64(t->stop->program->rt.image, addr, ret);
}

// --------------------------------------------------------------------- values

static struct gr_error *find_type(struct table *t, uint64_t record,
				  gr_type_id *ret)
{
	struct gr_error *err = NULL;

	if (record != t->last_record)
		err = gr_types_from_runtime(t->types, record, &t->last_type);
	t->last_record = err ? 0 : record;
	*ret = t->last_type;
	return err;
}

/* Add the value of an entry, whose interface lies at @p addr. */
static struct gr_error *add_value(struct table *t, uint64_t addr)
{
	struct gr_c_hold hold = { .at = addr + GR_WORD_BYTES,
				  .by = GR_BY_HANDLE };
	uint64_t record;
	struct gr_error *err = read_word(t, addr, &record);

	if (!err)
		err = read_word(t, hold.at, &hold.to);
	if (err || !record)
		return err;
	err = find_type(t, record, &hold.type);
	return err ? err :
		     gr_runtime_append(&t->stop->program->rt, gr_c_hold_vector,
				       t->ret, hold);
}

// ----------------------------------------------------------------- a hash trie

/* Is there a node at @p addr that was not there before? The nodes of damaged
 * memory may lead to each other, but not out of the heap. */
static struct gr_error *enter_node(struct table *t, uint64_t addr, bool *ret)
{
	struct gr_error *err = gr_runtime_step(&t->stop->program->rt, 1);

	*ret = !err && addr && !(addr % GR_WORD_BYTES) &&
	       gr_heap_span_at(t->stop->heap, addr) &&
	       !gr_word_set_has(&t->seen, addr, 1);
	if (!*ret || gr_word_set_add(&t->seen, addr, 1))
		return err;
	return &gr_enomem;
}

/* Read an entry and those behind it, whose keys have the same hash. */
static struct gr_error *read_entries(struct table *t, uint64_t entry,
				     uint64_t value_off)
{
	struct gr_error *err = NULL;
	bool is_new = true;

	// Bounded by the nodes, each of which is new once.
	while (!err && is_new) {
		err = add_value(t, entry + value_off);
		if (!err)
			err = read_word(t, entry + GR_TRIE_ENTRY_OVERFLOW,
					&entry);
		if (!err)
			err = enter_node(t, entry, &is_new);
	}
	return err;
}

/* Recursion: each node is new once; 17 levels. */
static struct gr_error *read_node(struct table *t, uint64_t node,
				  uint64_t value_off, unsigned int depth)
{
	uint64_t children[GR_TRIE_CHILDREN];
	bool is_new;
	uint8_t is_entry;
	struct gr_image *image = t->stop->program->rt.image;
	struct gr_error *err = enter_node(t, node, &is_new);

	if (!err && is_new)
		err = gr_image_read(image, node + GR_TRIE_IS_ENTRY, &is_entry,
				    sizeof(is_entry));
	if (err || !is_new)
		return err;
	if (is_entry)
		return read_entries(t, node, value_off);
	err = gr_image_read(image, node + GR_TRIE_INDIRECT_CHILDREN, children,
			    sizeof(children));
	for (size_t i = 0; !err && i < GR_TRIE_CHILDREN; i++)
		if (children[i] && depth < MAX_TRIE_DEPTH)
			err = read_node(t, children[i], value_off, depth + 1);
	return err;
}

/* Read the trie of type @p id at @p addr. */
static struct gr_error *read_trie(struct table *t, uint64_t addr, gr_type_id id,
				  bool *is_known)
{
	const struct gr_type_field *root =
		gr_types_field_named(t->types, id, "root");
	gr_type_id key = gr_types_get(t->types, id)->key;
	uint64_t node;

	*is_known = root && key != GR_TYPE_NONE;
	if (!*is_known)
		return NULL;
	struct gr_error *err = read_word(t, addr + root->off_bytes, &node);
	return err ? err :
		     read_node(t, node, gr_trie_value_off(t->types, key), 0);
}

// -------------------------------------------------------------------- two maps

/** The fields of a sync.Map with two maps. */
struct maps {
	const struct gr_type_field *read, *dirty; /* of the sync.Map */
	const struct gr_type_field *m, *amended;  /* of what read leads to */
	const struct gr_type_field *p;		  /* of an entry */
};

static bool find_fields(struct gr_types *types, gr_type_id id, struct maps *ret)
{
	gr_type_id only = gr_types_known(types, GR_NAME_MAP_READ_ONLY);
	gr_type_id entry = gr_types_known(types, GR_NAME_MAP_ENTRY);

	*ret = (struct maps){
		.read = gr_types_field_named(types, id, "read"),
		.dirty = gr_types_field_named(types, id, "dirty"),
		.m = gr_types_field_named(types, only, "m"),
		.amended = gr_types_field_named(types, only, "amended"),
		.p = gr_types_field_named(types, entry, "p"),
	};
	return ret->read && ret->dirty && ret->m && ret->amended && ret->p &&
	       gr_types_get(types, ret->dirty->type)->kind == GR_KIND_MAP;
}

/* Add the value of the *entry at @p addr. One whose value was deleted has nil,
 * or a mark, which leads to a nil interface. */
static struct gr_error *read_entry(struct table *t, uint64_t addr,
				   const struct maps *f)
{
	uint64_t entry, value = 0;
	struct gr_error *err = gr_runtime_step(&t->stop->program->rt, 4);

	if (!err)
		err = read_word(t, addr, &entry);
	if (!err && entry)
		err = read_word(t, entry + f->p->off_bytes, &value);
	return err || !value ? err : add_value(t, value);
}

/* The map that has all entries with values: `dirty' if the other lacks some. */
static struct gr_error *find_map(struct table *t, uint64_t addr,
				 const struct maps *f, uint64_t *ret)
{
	// An atomic.Value is an interface; an atomic.Pointer, one word.
	uint64_t size = gr_types_get(t->types, f->read->type)->size_bytes;
	uint64_t only, is_amended = 0;
	struct gr_error *err = read_word(
		t, addr + f->read->off_bytes + size - GR_WORD_BYTES, &only);

	*ret = 0;
	if (!err && only)
		err = gr_image_read_uint(t->stop->program->rt.image,
					 only + f->amended->off_bytes, 1,
					 &is_amended);
	if (err)
		return err;
	if (is_amended)
		return read_word(t, addr + f->dirty->off_bytes, ret);
	return only ? read_word(t, only + f->m->off_bytes, ret) : NULL;
}

static struct gr_error *read_maps(struct table *t, uint64_t addr, gr_type_id id,
				  bool *is_known)
{
	struct gr_map_cursor cursor;
	struct gr_map_entry entry;
	uint64_t header;
	struct maps f;
	bool is_end = false;

	*is_known = find_fields(t->types, id, &f);
	if (!*is_known)
		return NULL;
	struct gr_error *err = find_map(t, addr, &f, &header);
	if (!err)
		err = gr_element_map_cursor(t->stop->heap, f.dirty->type,
					    header, &cursor);
	while (!err && !is_end) {
		err = gr_map_cursor_next(&cursor, &entry, &is_end);
		if (!err && !is_end)
			err = read_entry(t, entry.elem_addr, &f);
	}
	return err;
}

// ------------------------------------------------------------------- the table

/* Find the variable and its type. */
static bool find_variable(struct table *t, uint64_t *addr, gr_type_id *type)
{
	const struct gr_runtime *rt = &t->stop->program->rt;
	const char *name = gr_name_of(GR_NAME_CGO_HANDLES);

	if (gr_types_variable(t->types, name, addr, type))
		return true;
	*type = gr_types_known(t->types, GR_NAME_SYNC_MAP);
	for (size_t i = 0; i < rt->nsymbols; i++)
		if (!strcmp(rt->symbols[i].name, name)) {
			*addr = rt->symbols[i].addr;
			return true;
		}
	return false;
}

static struct gr_error *read_table(struct table *t, uint64_t addr,
				   gr_type_id type, bool *is_known)
{
	const struct gr_type_field *trie =
		gr_types_field_named(t->types, type, "m");
	struct gr_error *err;

	if (trie &&
	    gr_types_get(t->types, trie->type)->role == GR_ROLE_HASH_TRIE)
		err = read_trie(t, addr + trie->off_bytes, trie->type,
				is_known);
	else
		err = read_maps(t, addr, type, is_known);
	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_FORMAT))
		gr_gap_broken_list(t->stop->program->rt.gaps,
				   gr_name_of(GR_NAME_CGO_HANDLES));
	return err;
}

/* Does the program make handles? Without debug information, only its functions
 * tell. */
static struct gr_error *has_handles(struct gr_runtime *rt, bool *ret)
{
	struct gr_func func;

	*ret = false;
	for (size_t i = 0; i < rt->nmodules; i++)
		if (rt->modules[i].dwarf)
			return NULL;
	return gr_func_find_named(rt, gr_name_of(GR_NAME_MAKES_HANDLE), &func,
				  ret);
}

struct gr_error *gr_c_holds_read_handles(struct gr_stop *stop,
					 struct gr_c_hold_vector *ret,
					 bool *is_known)
{
	_cleanup_(table_deinit) struct table t = {
		.stop = stop,
		.types = stop->program->types,
		.ret = ret,
	};
	gr_type_id type;
	uint64_t addr;
	struct gr_error *err = NULL;
	bool is_used = true;

	*is_known = false;
	if (!find_variable(&t, &addr, &type)) {
		err = has_handles(&stop->program->rt, &is_used);
		*is_known = !is_used;
	} else if (type != GR_TYPE_NONE) {
		err = read_table(&t, addr, type, is_known);
	}
	return err ? err : gr_types_take_error(t.types);
}
