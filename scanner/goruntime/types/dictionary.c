// SPDX-License-Identifier: Apache-2.0
#include "goruntime/types/dictionary.h"
#include "goruntime/types/types_internal.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "goruntime/layout/code.h"
#include "inferior/elf.h"
#include "inferior/modules.h"

enum {
	MAX_DICTIONARIES = 1 << 20,
	MAX_WORDS = 1 << 12,
	MAX_CALL_BYTES = 256, // code before a call that is read
	MAX_SHAPE_DEPTH = 4,
	MAX_SHAPE_STEPS = 1 << 12,
	// All dictionaries are compared with each generic function that a frame
	// runs, and those of the function with each of its variables. More
	// comparisons in all take many seconds.
	MAX_COMPARISONS = 1 << 26,
	LOAD_BYTES = 8, // length of adrp and add; lea is shorter
};

#define DICT_MARK "..dict."

GR_VECTOR(dictionary_vector, struct gr_dictionary);

struct gr_dictionaries {
	struct dictionary_vector list;
	uint64_t comparisons;
};

void gr_dictionaries_destroy(struct gr_dictionaries *dictionaries)
{
	if (!dictionaries)
		return;
	dictionary_vector_deinit(&dictionaries->list);
	free(dictionaries);
}

const struct gr_dictionary *gr_dictionaries_list(const struct gr_types *types,
						 size_t *count)
{
	const struct gr_dictionaries *dictionaries = types->dictionaries;

	*count = dictionaries ? dictionaries->list.size : 0;
	return dictionaries ? dictionaries->list.data : NULL;
}

static struct gr_error *read_symbols(struct gr_types *types,
				     const struct gr_elf *elf, uint64_t bias)
{
	struct dictionary_vector *list = &types->dictionaries->list;
	struct gr_elf_symbols at = { .off = 0 };
	struct gr_elf_symbol symbol;

	while (gr_elf_next_symbol(elf, &at, &symbol) &&
	       list->size < MAX_DICTIONARIES) {
		struct gr_dictionary dict = {
			.addr = symbol.addr + bias,
			.words = symbol.bytes / GR_WORD_BYTES,
		};

		struct gr_error *err =
			gr_runtime_step_name(types->rt, symbol.name);
		if (err)
			return err;
		const char *mark = symbol.type == STT_OBJECT && dict.words ?
					   strstr(symbol.name, DICT_MARK) :
					   NULL;
		if (!mark)
			continue;
		if (dict.words > MAX_WORDS)
			dict.words = MAX_WORDS;
		dict.name = gr_arena_intern(types->rt->arena, symbol.name,
					    strlen(symbol.name));
		dict.package_bytes = mark - symbol.name;
		if (!dict.name || !dictionary_vector_append(list, dict))
			return &gr_enomem;
	}
	return NULL;
}

// Pay for comparisons with @n dictionaries. *@ret is false if there were too
// many.
static struct gr_error *pay(struct gr_types *types, uint64_t n, bool *ret)
{
	struct gr_dictionaries *dictionaries = types->dictionaries;

	*ret = n <= MAX_COMPARISONS - dictionaries->comparisons;
	if (!*ret)
		return NULL;
	dictionaries->comparisons += n;
	return gr_runtime_step(types->rt, n);
}

struct gr_error *gr_dictionaries_read(struct gr_types *types,
				      const struct gr_target_module *module,
				      uint64_t bias)
{
	struct gr_elf symbols;
	struct gr_error *err;

	if (!types->dictionaries)
		types->dictionaries = calloc(1, sizeof(*types->dictionaries));
	if (!types->dictionaries)
		return &gr_enomem;
	err = module->debug_path ? gr_elf_open(module->debug_path, &symbols) :
				   gr_module_open(module, &symbols);
	if (err)
		return err;
	err = read_symbols(types, &symbols, bias);
	gr_elf_deinit(&symbols);
	return err;
}

// The parts of a generic's name. `(*Stack[go.shape.int]).wait` has the head
// `Stack`, the arguments `go.shape.int` and the tail `).wait`.
struct generic_name {
	const char *head, *args, *tail;
	size_t head_bytes, args_bytes;
};

// Split the name after `package.`. Return false if it is not a generic's name.
static bool split_name(const char *name, struct generic_name *ret)
{
	unsigned int depth = 0;
	const char *at;

	ret->head = name + (!strncmp(name, "(*", 2) ? 2 : 0);
	ret->head_bytes = strcspn(ret->head, "[");
	ret->args = ret->head + ret->head_bytes;
	for (at = ret->args; *at; at++) {
		depth += *at == '[';
		if (*at == ']' && --depth == 0)
			break;
	}
	if (!*at)
		return false;
	ret->args++;
	ret->args_bytes = at - ret->args;
	ret->tail = at + 1;
	return true;
}

// Return true if the dictionary belongs to an instance of the function. A
// method has its own dictionary or that of its type, depending on the release.
static bool belongs_to(const struct gr_dictionary *dict, const char *function)
{
	size_t package_bytes = dict->package_bytes;
	const char *mark = dict->name + package_bytes;
	struct generic_name of, name;

	return !strncmp(dict->name, function, package_bytes) &&
	       strlen(function) > package_bytes &&
	       function[package_bytes] == '.' &&
	       split_name(function + package_bytes + 1, &name) &&
	       split_name(mark + strlen(DICT_MARK), &of) &&
	       name.head_bytes == of.head_bytes &&
	       !memcmp(name.head, of.head, of.head_bytes) &&
	       !strncmp(name.tail, of.tail, strlen(of.tail));
}

static int compare_addresses(const void *a, const void *b)
{
	const struct gr_dictionary *const *x = a, *const *y = b;

	return (*x)->addr < (*y)->addr ? -1 : (*x)->addr > (*y)->addr;
}

struct gr_error *gr_dictionaries_find(struct gr_types *types,
				      const char *function,
				      struct gr_dictionary_set *ret)
{
	const struct dictionary_vector *list =
		types->dictionaries ? &types->dictionaries->list : NULL;
	struct gr_error *err = NULL;
	bool has_room = true;
	size_t count = 0;

	memset(ret, 0, sizeof(*ret));
	if (!list || !strchr(function, '['))
		return NULL;
	for (size_t i = 0; !err && has_room && i < list->size; i++) {
		err = pay(types, 1, &has_room);
		count += belongs_to(&list->data[i], function);
	}
	if (err || !has_room || !count)
		return err;
	ret->dicts =
		gr_arena_alloc(types->rt->arena, count * sizeof(*ret->dicts));
	if (!ret->dicts)
		return &gr_enomem;
	for (size_t i = 0; i < list->size; i++)
		if (belongs_to(&list->data[i], function))
			ret->dicts[ret->count++] = &list->data[i];
	return gr_sort(ret->dicts, count, sizeof(*ret->dicts),
		       compare_addresses, types->rt->poll, types->rt->poll_ctx);
}

static bool is_pointer(uint8_t kind)
{
	return kind == GR_KIND_PTR || kind == GR_KIND_UNSAFE_POINTER;
}

// Return true if the type may have the given shape in shared code.
// Recursion: 4,096 steps a question, 2^26 in all; 4 levels.
static bool fits(const struct gr_types *types, gr_type_id shape_id,
		 gr_type_id type_id, unsigned int depth, unsigned int *steps)
{
	if (shape_id == GR_TYPE_NONE || type_id == GR_TYPE_NONE ||
	    shape_id == type_id || depth > MAX_SHAPE_DEPTH ||
	    ++*steps > MAX_SHAPE_STEPS)
		return true;
	const struct gr_type *shape = gr_types_get(types, shape_id);
	const struct gr_type *type = gr_types_get(types, type_id);
	if (shape->size_bytes != type->size_bytes)
		return false;
	if (is_pointer(shape->kind) && is_pointer(type->kind))
		return true;
	if (shape->kind != type->kind || shape->count != type->count)
		return false;
	if (shape->kind != GR_KIND_STRUCT)
		return fits(types, shape->elem, type->elem, depth + 1, steps) &&
		       fits(types, shape->key, type->key, depth + 1, steps);
	if (shape->nfields != type->nfields)
		return false;
	for (uint32_t i = 0; i < shape->nfields; i++) {
		const struct gr_type_field *a, *b;

		a = gr_types_field(types, shape, i);
		b = gr_types_field(types, type, i);
		if (a->off_bytes != b->off_bytes || strcmp(a->name, b->name) ||
		    !fits(types, a->type, b->type, depth + 1, steps))
			return false;
	}
	return true;
}

struct gr_error *gr_dictionary_type(struct gr_types *types,
				    const struct gr_dictionary *dict,
				    uint32_t index, gr_type_id shape,
				    gr_type_id *ret)
{
	unsigned int steps = 0;
	struct gr_error *err;
	uint64_t record;
	bool has_room;

	*ret = GR_TYPE_NONE;
	if (index >= dict->words)
		return NULL;
	err = pay(types, 1, &has_room);
	if (err || !has_room)
		return err;
	err = gr_image_read_u64(types->rt->image,
				dict->addr + index * GR_WORD_BYTES, &record);
	if (!err)
		err = gr_types_from_runtime(types, record, ret);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		gr_gap_add(types->rt->gaps, GR_GAP_UNKNOWN_TYPES, 1);
	else if (!err && *ret != GR_TYPE_NONE &&
		 !fits(types, shape, *ret, 0, &steps))
		*ret = GR_TYPE_NONE;
	return err ? err : pay(types, steps, &has_room);
}

const struct gr_dictionary *
gr_dictionary_set_at(const struct gr_dictionary_set *set, uint64_t addr)
{
	size_t i = gr_count_before(set->count, j, set->dicts[j]->addr < addr);

	return i < set->count && set->dicts[i]->addr == addr ? set->dicts[i] :
							       NULL;
}

// Return the code at [addr, addr + bytes), or NULL.
static const uint8_t *find_code(const struct gr_types *types, uint64_t addr,
				uint64_t bytes)
{
	const uint8_t *code;
	struct gr_error *err =
		gr_image_map(types->rt->image, addr, bytes, &code);

	gr_error_destroy(err);
	return err ? NULL : code;
}

const struct gr_dictionary *
gr_dictionary_set_at_call(const struct gr_types *types,
			  const struct gr_dictionary_set *set, uint64_t entry,
			  uint64_t return_pc)
{
	const struct gr_dictionary *dict;
	uint64_t start = entry;

	if (return_pc < entry || !types->dictionaries)
		return NULL;
	if (return_pc - entry > MAX_CALL_BYTES)
		start = return_pc - MAX_CALL_BYTES;
	const uint8_t *code = find_code(types, start, return_pc - start);
	// Code that is decoded at a wrong offset may yield an address, but
	// hardly one of this set.
	// Bounded by MAX_CALL_BYTES.
	for (uint64_t at = return_pc - LOAD_BYTES;
	     code && at >= start && at < return_pc; at--) {
		const uint8_t *load = code + (at - start);

		dict = gr_dictionary_set_at(
			set, types->rt->arch == &gr_arch_arm64 ?
				     gr_code_adrp_target(load, at) :
				     gr_code_rip_target(load, at, GR_OP_LEA));
		if (dict)
			return dict;
	}
	return NULL;
}

const struct gr_dictionary *
gr_dictionary_set_within(const struct gr_types *types,
			 const struct gr_dictionary_set *set,
			 const struct gr_dictionary *caller)
{
	const struct gr_dictionary *found = NULL, *dict;
	struct gr_error *err = NULL;
	uint64_t word;

	// Bounded by the words of a dictionary, which was checked.
	for (uint64_t i = 0; !err && i < caller->words; i++) {
		err = gr_image_read_u64(types->rt->image,
					caller->addr + i * GR_WORD_BYTES,
					&word);
		dict = err ? NULL : gr_dictionary_set_at(set, word);
		if (dict && found && dict != found)
			return NULL;
		if (dict)
			found = dict;
	}
	gr_error_destroy(err);
	return found;
}

const char *gr_dictionary_function_name(const struct gr_types *types,
					const struct gr_dictionary *dict,
					const char *function)
{
	const char *mark = dict->name + dict->package_bytes;
	struct generic_name of, name;

	if (!split_name(mark + strlen(DICT_MARK), &of) ||
	    !split_name(function + (mark - dict->name) + 1, &name))
		return function;
	return gr_arena_internf(types->rt->arena, "%.*s%.*s]%s",
				(int)(name.args - function), function,
				(int)of.args_bytes, of.args, name.tail);
}
