// SPDX-License-Identifier: Apache-2.0
#include "native/allocators/module_search.h"

#include "goruntime/layout/c_variable.h"
#include "inferior/elf.h"

#include <elf.h>

// ---------------------------------------------------------------------- data

/* The file whose data or bss mapping @p i has; NULL: it has none. */
static const char *path_of(const struct gr_mapping *list, size_t i)
{
	const struct gr_mapping *m = &list[i];
	const char *path = m->path;

	if (!(m->flags & PF_W))
		return NULL;
	if (!path && i && list[i - 1].end == m->start)
		path = list[i - 1].path;
	return path && *path == '/' ? path : NULL;
}

bool gr_module_data_next(const struct gr_native_reader *r,
			 struct gr_module_data *data)
{
	const struct gr_mapping_vector *list =
		&r->spec->residency->mappings.list;

	while (data->next < list->size) {
		size_t i = data->next++;

		data->mapping = list->data[i];
		data->path = path_of(list->data, i);
		if (data->path &&
		    gr_mapping_begin_at(&data->mapping, &data->end))
			return true;
	}
	return false;
}

// ------------------------------------------------------------------- symbols

static bool ends_with(const char *name, const char *end)
{
	size_t bytes = strlen(name), least = strlen(end);

	return bytes >= least && !strcmp(name + bytes - least, end);
}

/* Look in one of the file's two tables. */
static struct gr_error *find_in_table(const struct gr_native_reader *r,
				      const struct gr_elf *elf, uint64_t bias,
				      bool is_dynamic,
				      struct gr_module_symbols *ret)
{
	struct gr_elf_symbols at = { .is_dynamic = is_dynamic };
	struct gr_elf_symbol symbol;
	struct gr_error *err = NULL;

	// Bounded by the file's tables.
	while (!err && gr_elf_next_symbol(elf, &at, &symbol)) {
		for (size_t i = 0; i < ret->count; i++)
			if (symbol.type == STT_OBJECT && !ret->found[i] &&
			    ends_with(symbol.name, ret->names[i]))
				ret->found[i] = symbol.addr + bias;
		err = gr_runtime_step(r->spec->rt, 1);
	}
	return err;
}

/* A saved file has the symbols of variables that were named, and no others. */
static struct gr_error *keep_symbols(const struct gr_native_reader *r,
				     const struct gr_module_symbols *symbols)
{
	struct gr_c_variable unused;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < symbols->count; i++)
		if (symbols->found[i])
			err = gr_c_variable_find(r->spec->rt, symbols->found[i],
						 &unused);
	return err;
}

struct gr_error *gr_module_find_symbols(const struct gr_native_reader *r,
					size_t module,
					struct gr_module_symbols *ret)
{
	struct gr_runtime *rt = r->spec->rt;
	const struct gr_elf *elf = gr_image_elf(rt->image, module);
	uint64_t bias = gr_image_bias(rt->image, module);
	struct gr_error *err;

	assert(ret->count <= GR_ARRAY_SIZE(ret->found));
	memset(ret->found, 0, sizeof(ret->found));
	if (!elf || bias == UINT64_MAX)
		return NULL;
	err = find_in_table(r, elf, bias, false, ret);
	// A stripped file has this one.
	if (!err)
		err = find_in_table(r, elf, bias, true, ret);
	return err || !rt->recorder ? err : keep_symbols(r, ret);
}

// --------------------------------------------------------------------- texts

/* A text that is looked for. */
struct sought {
	const char *mark;
	size_t before;
	gr_module_match *match;
};

/* The text around the mark at @p at, in [start, end); its length, or 0. */
static size_t match_around(const struct sought *s, const char *start,
			   const char *at, const char *end, const char **text)
{
	size_t most = (size_t)(at - start) < s->before ? (size_t)(at - start) :
							 s->before;

	for (size_t back = 0; back <= most; back++) {
		size_t bytes = s->match(at - back, end - (at - back),
					at - back == start);

		*text = at - back;
		if (bytes)
			return bytes;
	}
	return 0;
}

static struct gr_error *find_in_piece(struct gr_native_reader *r,
				      const struct sought *s,
				      struct gr_range piece, const char **ret)
{
	struct gr_runtime *rt = r->spec->rt;
	const char *start = (const char *)piece.host;
	const char *end = start + (piece.end - piece.start);
	const char *at = start, *text;
	struct gr_error *err = NULL;
	size_t bytes = 0;

	// Bounded by the piece: each step passes a mark.
	while (!err && !bytes &&
	       (at = memmem(at, end - at, s->mark, strlen(s->mark)))) {
		bytes = match_around(s, start, at, end, &text);
		at += 1;
		err = gr_runtime_step(rt, s->before + 1);
	}
	if (err || !bytes)
		return err;
	if (rt->recorder) {
		// With the byte before it and the one behind it.
		const char *from = text > start ? text - 1 : text;
		const char *to = text + bytes < end ? text + bytes + 1 : end;

		gr_recorder_add(rt->recorder, piece.start + (from - start),
				to - from);
	}
	*ret = gr_arena_internf(rt->arena, "%.*s", (int)bytes, text);
	return *ret ? NULL : &gr_enomem;
}

/* Search a mapping, as far as it is at hand. */
static struct gr_error *find_in_mapping(struct gr_native_reader *r,
					const struct sought *s,
					const struct gr_mapping *m,
					const char **ret)
{
	uint64_t at = m->start;
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && !*ret && gr_view_piece(&r->view, at, m->end, &piece)) {
		err = find_in_piece(r, s, piece, ret);
		if (!err)
			err = gr_runtime_step(r->spec->rt,
					      (piece.end - piece.start) / 128);
		at = piece.end;
	}
	return err;
}

/* Search the constants of the file that is loaded at @p data, if the target tells
 * no mappings of them, as a core of gdb. They are at hand if the file is. */
static struct gr_error *find_in_file(struct gr_native_reader *r,
				     const struct sought *s, uint64_t data,
				     const char **ret)
{
	struct gr_image *image = r->spec->rt->image;
	size_t module = gr_image_module_at(image, data);
	const struct gr_elf *elf =
		module == SIZE_MAX ? NULL : gr_image_elf(image, module);
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && !*ret && elf && i < elf->phnum; i++) {
		const Elf64_Phdr header = gr_elf_program_header(elf, i);
		const struct gr_mapping m = {
			.start = gr_image_bias(image, module) + header.p_vaddr,
			.end = gr_image_bias(image, module) + header.p_vaddr +
			       header.p_memsz,
		};

		// In a saved file, segments have no bytes of the file.
		if (header.p_type == PT_LOAD && !(header.p_flags & PF_W))
			err = find_in_mapping(r, s, &m, ret);
		if (!err)
			err = gr_runtime_step(r->spec->rt, 1);
	}
	return err;
}

struct gr_error *gr_module_find_text(struct gr_native_reader *r,
				     const char *path, uint64_t data,
				     const char *mark, size_t before,
				     gr_module_match *match, const char **ret)
{
	const struct gr_mapping_vector *list =
		&r->spec->residency->mappings.list;
	const struct sought s = { mark, before, match };
	struct gr_error *err = NULL;
	uint64_t end = 0;

	*ret = NULL;
	for (size_t i = 0; !err && !*ret && path && i < list->size; i++) {
		struct gr_mapping m = list->data[i];

		if (m.path && !(m.flags & PF_W) && !strcmp(m.path, path) &&
		    gr_mapping_begin_at(&m, &end))
			err = find_in_mapping(r, &s, &m, ret);
		if (!err)
			err = gr_runtime_step(r->spec->rt, 1);
	}
	return err || *ret ? err : find_in_file(r, &s, data, ret);
}
