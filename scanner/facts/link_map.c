// SPDX-License-Identifier: Apache-2.0
#include "facts/link_map.h"

#include <elf.h>
#include <string.h>

#include "base/chain.h"

enum {
	MAX_FILES = 1 << 14,
	MAX_NAMESPACES = 64,
	MAX_DYNAMIC_ENTRIES = 1 << 12,
	MAX_NAME_BYTES = 4096,
	/** The first version of r_debug that has a list of namespaces. */
	VERSION_WITH_NEXT = 2,
};

/* The words of struct r_debug (glibc's r_debug_extended) and struct link_map. */
enum {
	DEBUG_VERSION,
	DEBUG_MAP,
	DEBUG_NEXT = 5,
	DEBUG_WORDS,
};
enum { MAP_ADDR, MAP_NAME, MAP_DYNAMIC, MAP_NEXT, MAP_WORDS };

/** The memory to read, and the files found so far. */
struct reader {
	const struct gr_memory *memory;
	struct gr_arena *arena;
	struct gr_loaded_file_vector *found;
	struct gr_chain files; /**< The files of all namespaces. */
};

/* Read words; false unless all of them can be read. */
static bool read_words(const struct reader *r, uint64_t addr, uint64_t *words,
		       size_t count)
{
	uint64_t bytes = count * sizeof(*words);

	return addr &&
	       r->memory->read(r->memory->ctx, addr, words, bytes) == bytes;
}

/* The address of r_debug, which the loader writes into the executable's dynamic
 * section; 0 if there is none. */
static uint64_t find_debug(const struct reader *r, const struct gr_elf *exe,
			   uint64_t bias)
{
	uint64_t pair[2];

	for (size_t i = 0; i < exe->phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(exe, i);
		uint64_t count = header.p_memsz / sizeof(pair);

		if (header.p_type != PT_DYNAMIC)
			continue;
		for (uint64_t k = 0; k < count && k < MAX_DYNAMIC_ENTRIES;
		     k++) {
			uint64_t addr =
				bias + header.p_vaddr + k * sizeof(pair);

			if (!read_words(r, addr, pair, 2) || pair[0] == DT_NULL)
				return 0;
			if (pair[0] == DT_DEBUG)
				return pair[1];
		}
		return 0;
	}
	return 0;
}

static struct gr_error *add_file(struct reader *r, const uint64_t *map)
{
	char name[MAX_NAME_BYTES + 1];
	uint64_t bytes = map[MAP_NAME] ?
				 r->memory->read(r->memory->ctx, map[MAP_NAME],
						 name, MAX_NAME_BYTES) :
				 0;

	name[bytes] = '\0';
	// A name whose end is missing is not used: it would name another file.
	if (strlen(name) == bytes)
		*name = '\0';
	const char *own = gr_arena_intern(r->arena, name, strlen(name));
	if (!own)
		return &gr_enomem;
	return gr_loaded_file_vector_append(
		       r->found,
		       (struct gr_loaded_file){ .bias = map[MAP_ADDR],
						.dynamic = map[MAP_DYNAMIC],
						.name = own }) ?
		       NULL :
		       &gr_enomem;
}

/* Follow the list of one namespace. The first file of the first one is the
 * executable. */
static struct gr_error *read_maps(struct reader *r, uint64_t addr, bool is_main)
{
	uint64_t map[MAP_WORDS];
	struct gr_error *err = NULL;

	while (!err && addr && gr_chain_step(&r->files, addr) &&
	       read_words(r, addr, map, MAP_WORDS)) {
		if (!is_main)
			err = add_file(r, map);
		is_main = false;
		addr = map[MAP_NEXT];
	}
	return err;
}

struct gr_error *gr_link_map_read(const struct gr_memory *memory,
				  const struct gr_elf *exe, uint64_t bias,
				  struct gr_arena *arena,
				  struct gr_loaded_file_vector *ret)
{
	struct reader r = { memory, arena, ret, { .limit = MAX_FILES } };
	struct gr_chain namespaces = { .limit = MAX_NAMESPACES };
	uint64_t addr = find_debug(&r, exe, bias);
	uint64_t debug[DEBUG_WORDS];
	struct gr_error *err = NULL;
	bool is_main = true;

	while (!err && addr && gr_chain_step(&namespaces, addr)) {
		size_t known = is_main ? DEBUG_MAP + 1 : DEBUG_WORDS;

		// Older loaders have no list of namespaces behind it.
		if (!read_words(&r, addr, debug, known))
			break;
		err = read_maps(&r, debug[DEBUG_MAP], is_main);
		is_main = false;
		if ((uint32_t)debug[DEBUG_VERSION] < VERSION_WITH_NEXT ||
		    !read_words(&r, addr, debug, DEBUG_WORDS))
			break;
		addr = debug[DEBUG_NEXT];
	}
	return err;
}
