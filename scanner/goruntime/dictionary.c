// SPDX-License-Identifier: Apache-2.0
#include "goruntime/dictionary.h"

#include "base/cleanup.h"
#include "goruntime/code.h"
#include "target/elf.h"

enum {
	MAX_DICTIONARIES = 1 << 20,
	MAX_WORDS = 1 << 12,
	MAX_CALL_BYTES = 256, // of code in front of a call
	MAX_SHAPE_DEPTH = 4,
	MAX_SHAPE_STEPS = 1 << 12,
	LOAD_BYTES = 8, // the longer of two ways to load an address
};

#define DICT_MARK "..dict."

GR_VECTOR(dictionary_vector, struct gr_dictionary);

// A file of the target, for its code.
struct file {
	struct gr_elf elf;
	uint64_t bias;
};
GR_VECTOR(file_vector, struct file);

struct gr_dictionaries {
	struct dictionary_vector list;
	struct file_vector files;
};

void gr_dictionaries_destroy(struct gr_dictionaries *dictionaries)
{
	if (!dictionaries)
		return;
	for (size_t i = 0; i < dictionaries->files.size; i++)
		gr_elf_deinit(&dictionaries->files.data[i].elf);
	file_vector_deinit(&dictionaries->files);
	dictionary_vector_deinit(&dictionaries->list);
	free(dictionaries);
}

static struct gr_error *read_symbols(struct gr_runtime *rt,
				     const struct gr_elf *elf, uint64_t bias)
{
	struct dictionary_vector *list = &rt->dictionaries->list;
	struct gr_elf_symbols at = { .off = 0 };
	struct gr_elf_symbol symbol;

	while (gr_elf_next_symbol(elf, &at, &symbol) &&
	       list->size < MAX_DICTIONARIES) {
		struct gr_dictionary dict = {
			.addr = symbol.addr + bias,
			.words = symbol.bytes / GR_WORD_BYTES,
		};

		if (symbol.type != STT_OBJECT || !dict.words ||
		    !strstr(symbol.name, DICT_MARK))
			continue;
		if (dict.words > MAX_WORDS)
			dict.words = MAX_WORDS;
		dict.name = gr_arena_intern(rt->arena, symbol.name,
					    strlen(symbol.name));
		if (!dict.name || !dictionary_vector_append(list, dict))
			return &gr_enomem;
	}
	return NULL;
}

struct gr_error *gr_dictionaries_read(struct gr_runtime *rt, const char *path,
				      const char *symbols_path, uint64_t bias)
{
	struct file file = { .bias = bias };
	struct gr_elf symbols;
	struct gr_error *err;

	if (!rt->dictionaries)
		rt->dictionaries = calloc(1, sizeof(*rt->dictionaries));
	if (!rt->dictionaries)
		return &gr_enomem;
	err = gr_elf_open(path, &file.elf);
	if (err)
		return err;
	if (!file_vector_append(&rt->dictionaries->files, file)) {
		gr_elf_deinit(&file.elf);
		return &gr_enomem;
	}
	if (!symbols_path)
		return read_symbols(rt, &file.elf, bias);
	err = gr_elf_open(symbols_path, &symbols);
	if (err)
		return err;
	err = read_symbols(rt, &symbols, bias);
	gr_elf_deinit(&symbols);
	return err;
}

// `(*Stack[go.shape.int]).wait`: head `Stack`, arguments, tail `).wait`.
struct generic_name {
	const char *head, *args, *tail;
	size_t head_bytes, args_bytes;
};

// The name behind `package.`; false if it is not that of a generic.
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

// Is it a dictionary of some instance of the function? Methods have, by
// release, one of their own or that of their type.
static bool belongs_to(const struct gr_dictionary *dict, const char *function)
{
	const char *mark = strstr(dict->name, DICT_MARK);
	size_t package_bytes = mark - dict->name;
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

struct gr_error *gr_dictionaries_find(struct gr_runtime *rt,
				      const char *function,
				      struct gr_dictionary_set *ret)
{
	const struct dictionary_vector *list =
		rt->dictionaries ? &rt->dictionaries->list : NULL;
	size_t count = 0;

	memset(ret, 0, sizeof(*ret));
	if (!list || !strchr(function, '['))
		return NULL;
	for (size_t i = 0; i < list->size; i++)
		count += belongs_to(&list->data[i], function);
	if (!count)
		return NULL;
	ret->dicts = gr_arena_alloc(rt->arena, count * sizeof(*ret->dicts));
	if (!ret->dicts)
		return &gr_enomem;
	for (size_t i = 0; i < list->size; i++)
		if (belongs_to(&list->data[i], function))
			ret->dicts[ret->count++] = &list->data[i];
	return NULL;
}

static bool is_pointer(uint8_t kind)
{
	return kind == GR_KIND_PTR || kind == GR_KIND_UNSAFE_POINTER;
}

// Could a value of this type stand where the shared code sees that shape?
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

struct gr_error *gr_dictionary_type(struct gr_runtime *rt,
				    const struct gr_dictionary *dict,
				    uint32_t index, gr_type_id shape,
				    gr_type_id *ret)
{
	unsigned int steps = 0;
	struct gr_error *err;
	uint64_t record;

	*ret = GR_TYPE_NONE;
	if (index >= dict->words)
		return NULL;
	err = gr_image_read_u64(rt->image, dict->addr + index * GR_WORD_BYTES,
				&record);
	if (!err)
		err = gr_types_from_runtime(rt, record, ret);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		gr_gap_add(rt->gaps, GR_GAP_UNKNOWN_TYPES, 1);
	else if (!err && *ret != GR_TYPE_NONE &&
		 !fits(rt->types, shape, *ret, 0, &steps))
		*ret = GR_TYPE_NONE;
	return err;
}

const struct gr_dictionary *
gr_dictionary_set_at(const struct gr_dictionary_set *set, uint64_t addr)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->dicts[i]->addr == addr)
			return set->dicts[i];
	return NULL;
}

// Code of the target as it is in its file: [addr, addr + bytes).
static const uint8_t *find_code(const struct gr_dictionaries *dictionaries,
				uint64_t addr, uint64_t bytes)
{
	for (size_t i = 0; i < dictionaries->files.size; i++) {
		const struct file *file = &dictionaries->files.data[i];
		uint64_t at = addr - file->bias;

		for (size_t j = 0; j < file->elf.phnum; j++) {
			Elf64_Phdr header =
				gr_elf_program_header(&file->elf, j);
			struct gr_bytes code;

			if (header.p_type != PT_LOAD ||
			    !(header.p_flags & PF_X) || at < header.p_vaddr)
				continue;
			code = gr_elf_segment_bytes(&file->elf, &header);
			if (at - header.p_vaddr <= code.size &&
			    bytes <= code.size - (at - header.p_vaddr))
				return code.data + (at - header.p_vaddr);
		}
	}
	return NULL;
}

// The address that `adrp` and `add` at @code make, or 0.
static uint64_t adrp_target(const uint8_t *code, uint64_t addr)
{
	uint32_t adrp = gr_load_u32(code), add = gr_load_u32(code + 4);
	uint64_t pages = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);

	if ((adrp & 0x9f000000) != 0x90000000 ||
	    (add & 0xffc00000) != 0x91000000 || addr % 4)
		return 0;
	// Of 21 bits, with a sign.
	pages = (pages ^ UINT64_C(1) << 20) - (UINT64_C(1) << 20);
	return (addr & ~UINT64_C(0xfff)) + (pages << 12) + (add >> 10 & 0xfff);
}

const struct gr_dictionary *
gr_dictionary_set_at_call(const struct gr_runtime *rt,
			  const struct gr_dictionary_set *set, uint64_t entry,
			  uint64_t return_pc)
{
	const struct gr_dictionary *dict;
	uint64_t start = entry;

	if (return_pc < entry || !rt->dictionaries)
		return NULL;
	if (return_pc - entry > MAX_CALL_BYTES)
		start = return_pc - MAX_CALL_BYTES;
	const uint8_t *code =
		find_code(rt->dictionaries, start, return_pc - start);
	// An address by chance at an odd place of the code: not of this set.
	for (uint64_t at = return_pc - LOAD_BYTES;
	     code && at >= start && at < return_pc; at--) {
		const uint8_t *load = code + (at - start);

		dict = gr_dictionary_set_at(
			set, rt->arch == &gr_arch_arm64 ?
				     adrp_target(load, at) :
				     gr_code_rip_target(load, at, GR_OP_LEA));
		if (dict)
			return dict;
	}
	return NULL;
}

const struct gr_dictionary *
gr_dictionary_set_within(const struct gr_runtime *rt,
			 const struct gr_dictionary_set *set,
			 const struct gr_dictionary *caller)
{
	const struct gr_dictionary *found = NULL, *dict;
	struct gr_error *err = NULL;
	uint64_t word;

	for (uint64_t i = 0; !err && i < caller->words; i++) {
		err = gr_image_read_u64(
			rt->image, caller->addr + i * GR_WORD_BYTES, &word);
		dict = err ? NULL : gr_dictionary_set_at(set, word);
		if (dict && found && dict != found)
			return NULL;
		if (dict)
			found = dict;
	}
	gr_error_destroy(err);
	return found;
}

const char *gr_dictionary_function_name(struct gr_runtime *rt,
					const struct gr_dictionary *dict,
					const char *function)
{
	const char *mark = strstr(dict->name, DICT_MARK);
	struct generic_name of, name;

	if (!split_name(mark + strlen(DICT_MARK), &of) ||
	    !split_name(function + (mark - dict->name) + 1, &name))
		return function;
	return gr_arena_internf(rt->arena, "%.*s%.*s]%s",
				(int)(name.args - function), function,
				(int)of.args_bytes, of.args, name.tail);
}
