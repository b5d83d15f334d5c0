// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * By default, uthash exits the process when memory is short; our process may
 * be a script of the user, or gdb.
 */
#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION GR_UTHASH_FUNCTION
#include <uthash.h>

enum { BLOCK_BYTES = 256 << 10 };

struct gr_arena_block {
	struct gr_arena_block *next;
	size_t used_bytes;
	size_t capacity_bytes;
	_Alignas(16) unsigned char data[];
};

struct gr_string_entry {
	UT_hash_handle hh;
	size_t bytes;
	char text[];
};

void gr_arena_deinit(struct gr_arena *arena)
{
	HASH_CLEAR(hh, arena->strings);
	while (arena->blocks) {
		struct gr_arena_block *next = arena->blocks->next;
		free(arena->blocks);
		arena->blocks = next;
	}
}

static struct gr_arena_block *block_add(struct gr_arena *arena, size_t bytes)
{
	size_t capacity = bytes > BLOCK_BYTES / 4 ? bytes : BLOCK_BYTES;
	struct gr_arena_block *block = calloc(1, sizeof(*block) + capacity);
	if (!block)
		return NULL;
	block->capacity_bytes = capacity;
	if (arena->blocks && capacity != BLOCK_BYTES) {
		/* A block of its own: keep filling the current one. */
		block->next = arena->blocks->next;
		arena->blocks->next = block;
	} else {
		block->next = arena->blocks;
		arena->blocks = block;
	}
	return block;
}

void *gr_arena_alloc(struct gr_arena *arena, size_t bytes)
{
	if (bytes > PTRDIFF_MAX / 2)
		return NULL;
	bytes = (bytes + 7) & ~(size_t)7;
	struct gr_arena_block *block = arena->blocks;
	if (!block || block->capacity_bytes - block->used_bytes < bytes) {
		block = block_add(arena, bytes);
		if (!block)
			return NULL;
	}
	void *p = block->data + block->used_bytes;
	block->used_bytes += bytes;
	return p;
}

const char *gr_arena_intern(struct gr_arena *arena, const char *text,
			    size_t bytes)
{
	struct gr_string_entry *entry;
	_cleanup_free_ char *copy = malloc(bytes + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, bytes);
	gr_text_make_printable(copy, bytes);
	HASH_FIND(hh, arena->strings, copy, bytes, entry);
	if (entry)
		return entry->text;
	entry = gr_arena_alloc(arena, sizeof(*entry) + bytes + 1);
	if (!entry)
		return NULL;
	entry->bytes = bytes;
	memcpy(entry->text, copy, bytes);
	HASH_ADD_KEYPTR(hh, arena->strings, entry->text, bytes, entry);
	if (!entry->hh.tbl)
		return NULL;
	return entry->text;
}

const char *gr_arena_internf(struct gr_arena *arena, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		text = NULL;
		return NULL;
	}
	return gr_arena_intern(arena, text, n);
}
