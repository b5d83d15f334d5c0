/* SPDX-License-Identifier: Apache-2.0 */
/**
 * native_crafted: rows of crafted structures of an allocator, and what must come
 * of each. An arena is either not checked, for the reason of the row, or its
 * blocks are the true ones; nothing takes long, and a poll that refuses ends it.
 */
#pragma once

#include "native_builder.h"

/* Why an arena is not checked. */
#define LIST "a list of its free chunks is damaged"
#define CHUNKS "its chunks are damaged"
#define FREE "a free chunk of it is damaged"
#define TO_TOP "its chunks do not lead to its top"
#define COUNTS "it counts other memory than was found"
#define MISSING "its memory is missing"
#define HEAPS "its list of heaps is damaged"
#define NO_HEAPS "its heaps were not found"
#define OVERLAP "its memory overlaps another arena's"
#define IN_GO "its memory overlaps the Go heap"
#define NOT_COUNTED "nothing tells how many blocks it has"
#define OTHERS "malloc counts other blocks than were found"
#define THREADS "the cache of a thread could not be read"

/* Which arenas are not checked: main, the thread's, and the blocks that are
 * mapped one by one. */
#define EACH(...) .reasons = { __VA_ARGS__ }
#define ALL(reason) EACH(reason, reason, reason)
#define MAIN(reason) EACH(reason, NULL, NULL)
#define THREAD(reason) EACH(NULL, reason, NULL)
#define MAPPED(reason) EACH(NULL, NULL, reason)
#define NONE EACH(NULL, NULL, NULL)
#define GONE .is_gone = true

/* The crafted part: a word, a link of a list, a header of a chunk, or more. */
#define PUT(at_, word_) .at = at_, .word = word_
#define LINK(at_, to_) .at = at_ + GR_CHUNK_USER, .word = to_, .is_link = true
#define HEAD(chunk_, word_) .at = chunk_ + GR_CHUNK_SIZE, .word = word_
#define CALL(craft_) .craft = craft_
#define CRAFT(name) static void name(struct native_world *w)

struct crafted_case {
	const char *name;
	uint64_t at, word;
	bool is_link;
	void (*craft)(struct native_world *w);
	const char *reasons[NARENAS];
	bool is_gone;  /* no allocator is found */
	bool is_other; /* blocks cannot be told from the true ones */
};

/** The word of a bin that leads to its first chunk, or its address as a chunk. */
#define BIN_WORD(arena, bin) ((arena) + GR_GLIBC_BINS + 16 * (bin))
#define BIN_CHUNK(arena, bin) (BIN_WORD(arena, bin) - GR_CHUNK_USER)

enum {
	/* A poll is at most so many steps, each of about 100 bytes. */
	CRAFTED_MOST_POLLS = 2000,
	CRAFTED_INTERRUPTS = 16,
};

static inline struct native_world *crafted_create(const struct crafted_case *c,
						  bool is_mangled)
{
	struct native_world *w = native_create(is_mangled);

	if (c->is_link)
		put_link(w, c->at, c->word);
	else if (c->at)
		put(w, c->at, c->word);
	if (c->craft)
		c->craft(w);
	native_seal(w);
	return w;
}

/* The index of the arena of the program with that structure. */
static inline unsigned int crafted_find(const struct native_world *w,
					unsigned int i)
{
	static const uint64_t addrs[NARENAS] = { MAIN_ARENA, ARENA1, 0 };
	const struct gr_native_arena_vector *list = &w->native.arenas;
	unsigned int k = 0;

	while (k < list->size && list->data[k].addr != addrs[i])
		k++;
	return k;
}

static inline void crafted_check_arena(struct native_world *w, unsigned int i,
				       const struct crafted_case *c)
{
	unsigned int index = crafted_find(w, i);
	const char *reason = c->reasons[i] ? c->reasons[i] : "";

	// A ring may not lead to it: nothing of it is a block.
	if (index == w->native.arenas.size) {
		assert_string_equal(reason, "");
		assert_true(c->is_other);
		return;
	}
	const struct gr_native_arena *arena = &w->native.arenas.data[index];
	assert_string_equal(arena->reason ? arena->reason : "", reason);
	if (!c->is_other)
		check_blocks(w, i, index, arena->is_checked);
}

/** Each poll, or some of many, may end it. */
static inline void crafted_interrupt(struct native_world *w)
{
	uint64_t all = w->polls.seen, step = all / CRAFTED_INTERRUPTS + 1;

	for (uint64_t last = 1; last <= all; last += step)
		polls_check_ended(&w->polls, native_read(w, last));
}

/** Craft it, with both kinds of links, and check what comes of it. */
static inline void crafted_check(const struct crafted_case *c)
{
	for (int is_mangled = 0; is_mangled < 2; is_mangled++) {
		struct native_world *w = crafted_create(c, is_mangled);

		assert_null(native_read(w, 0));
		check_bounds(w);
		assert_in_range(w->polls.seen, 0, CRAFTED_MOST_POLLS);
		assert_int_equal(w->native.allocators.size, !c->is_gone);
		for (unsigned int i = 0; !c->is_gone && i < NARENAS; i++)
			crafted_check_arena(w, i, c);
		crafted_interrupt(w);
		native_destroy(w);
	}
}
