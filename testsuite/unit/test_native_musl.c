// SPDX-License-Identifier: Apache-2.0
/* native: a heap of musl that is laid out by hand: groups that have pages, one in
 * a slot of another, a block that is mapped on its own, and one in the rest of a
 * page of data; and crafted. An arena is not checked, for the reason of the row,
 * or its blocks are the true ones; nothing takes long. */
#include "native/allocators/musl.h"

#include "inferior/elf.h"
#include "inferior/recorder.h"
#include "native/c_roots.h"
#include "native/musl_threads.h"

#include "native_builder.h"

#define PROGRAM UINT64_C(0x7ffff7e00000) /* text of the library */
#define DATA (PROGRAM + 0x100000)
#define CONTEXT (DATA + 0x100)
#define DONATED (DATA + 0x1800)
#define AREA0 UINT64_C(0x555555601000)
#define AREA1 (AREA0 + 0x1000)
#define GROUPS UINT64_C(0x7ffff6000000)
#define SMALLS GROUPS		 /* 20 slots of 288 bytes */
#define LARGES (SMALLS + 0x2000) /* two slots of 4080 bytes */
#define SINGLE (LARGES + 0x2000) /* one block */
#define MOVED (SINGLE + 0x23000) /* one slot, of more than 1 MiB */
#define NESTED (LARGES + 16 + 4080)
#define HUGE_START (UINT64_C(1) << 45)
#define STACK UINT64_C(0x7ffff4000000)
#define SECRET UINT64_C(0x1234567890abcdef)
#define PATH "/lib/ld-musl-x86_64.so.1"

/* Reasons. */
#define AREAS "its meta areas are damaged"
#define DAMAGE "its groups are damaged"
#define RINGS "its lists of groups are damaged"
#define OVERLAPS "its groups overlap"
#define COUNT_GROUPS "its count of groups differs from what was found"
#define COUNT_SLOTS "its count of slots differs from what was found"
#define HEADERS "headers of its blocks are damaged"
#define FRESH "a thread may be about to write the header of a block"
#define NO_MEMORY "its memory is missing"
#define NOT_MAPPED "its memory is not mapped"

enum {
	CLASS_SMALL = 12,
	CLASS_LARGE = 27,
	CLASS_NESTED = 0,
	CLASS_DONATED = 15,
	NSMALL = 20,
	NNESTED = 20,
	MOVED_PAGES = 0x300,
	MOVED_BY = 0x120000, /* more than a header can tell */
	MUSL_POLLS = 3000,
	META_SMALL = 0,
	META_LARGE,
	META_NESTED,
	META_SINGLE,
	META_DONATED,
	META_MOVED,
	META_FREE0,
	META_FREE1,
	NMETAS_USED,
	CALL_PAUSE = 34,
	CALL_MMAP = 9,
};

struct musl_case {
	const char *name;
	const char *reason; /* "": its blocks are true; NULL: none is found */
	void (*craft)(struct native_world *w);
};

static uint64_t meta_at(unsigned int i)
{
	return AREA0 + GR_MUSL_AREA_METAS + i * GR_MUSL_META_BYTES;
}

static uint64_t word_at(unsigned int word)
{
	return CONTEXT + word * GR_WORD_BYTES;
}

static uint64_t bits_of(unsigned int last, bool is_freeable,
			unsigned int size_class, uint64_t pages)
{
	return last | is_freeable << 5 | size_class << 6 | pages << 12;
}

/* A group, whose slots behind the last active one are free. */
static void put_group(struct native_world *w, unsigned int meta, uint64_t mem,
		      uint64_t freed, uint64_t bits)
{
	fake_words(&w->image, meta_at(meta), 0, 0, mem, freed << 32, bits);
	fake_words(&w->image, mem, meta_at(meta), bits & 31);
}

static void put_ring(struct native_world *w, unsigned int meta,
		     unsigned int size_class)
{
	fake_words(&w->image, meta_at(meta), meta_at(meta), meta_at(meta));
	put(w, word_at(GR_MUSL_ACTIVE + size_class), meta_at(meta));
}

/* The header before @p at. */
static void put_header(struct native_world *w, uint64_t at, unsigned int number,
		       unsigned int reserved, unsigned int offset)
{
	fake_set(&w->image, at - 4, 0, 1);
	fake_set(&w->image, at - 3, number | reserved << 5, 1);
	fake_set(&w->image, at - 2, offset, 2);
}

/* The blocks of a group, each at the start of its slot. */
static void put_slots(struct native_world *w, uint64_t mem, unsigned int first,
		      unsigned int end, uint64_t stride)
{
	for (unsigned int i = first; i < end; i++)
		put_header(w, mem + 16 + i * stride, i, 1, i * stride / 16);
}

static void put_context(struct native_world *w)
{
	put(w, word_at(GR_MUSL_SECRET), SECRET);
	put(w, word_at(GR_MUSL_INIT_DONE), 1 | UINT64_C(40) << 32);
	put(w, word_at(GR_MUSL_FREE_META_HEAD), meta_at(META_FREE0));
	put(w, word_at(GR_MUSL_AVAIL_META),
	    AREA1 + GR_MUSL_AREA_METAS + GR_MUSL_META_BYTES);
	put(w, word_at(GR_MUSL_AVAIL_META_COUNT), GR_MUSL_NMETAS - 1);
	put(w, word_at(GR_MUSL_META_AREA_HEAD), AREA0);
	put(w, word_at(GR_MUSL_META_AREA_TAIL), AREA1);
	put(w, word_at(GR_MUSL_USAGE_BY_CLASS + CLASS_SMALL), NSMALL);
	put(w, word_at(GR_MUSL_USAGE_BY_CLASS + CLASS_LARGE), 2);
	put(w, word_at(GR_MUSL_USAGE_BY_CLASS + CLASS_NESTED), NNESTED);
	fake_words(&w->image, AREA0, SECRET, AREA1, GR_MUSL_NMETAS);
	fake_words(&w->image, AREA1, SECRET, 0, GR_MUSL_NMETAS);
}

/* The other metas of the first area, and the first one of the second area, are in
 * the ring of free ones. */
static void put_free_metas(struct native_world *w)
{
	uint64_t first = meta_at(META_FREE0), before = first;

	for (unsigned int i = META_FREE0 + 1; i < GR_MUSL_NMETAS; i++) {
		put(w, before + GR_MUSL_META_NEXT, meta_at(i));
		put(w, meta_at(i) + GR_MUSL_META_PREV, before);
		before = meta_at(i);
	}
	uint64_t last = AREA1 + GR_MUSL_AREA_METAS;
	put(w, before + GR_MUSL_META_NEXT, last);
	put(w, last + GR_MUSL_META_PREV, before);
	put(w, last + GR_MUSL_META_NEXT, first);
	put(w, first + GR_MUSL_META_PREV, last);
}

static void put_groups(struct native_world *w)
{
	const uint64_t moved_start = MOVED + 16;
	const uint64_t moved = moved_start + MOVED_BY;

	put_group(w, META_SMALL, SMALLS, 3,
		  bits_of(NSMALL - 1, true, CLASS_SMALL, 2));
	put_ring(w, META_SMALL, CLASS_SMALL);
	put_slots(w, SMALLS, 2, NSMALL, 288);
	fake_set(&w->image, SMALLS + 16 - 3, 0xff, 1);
	fake_set(&w->image, SMALLS + 16 + 288 - 3, 0xff, 1);
	put_group(w, META_LARGE, LARGES, 0, bits_of(1, true, CLASS_LARGE, 2));
	put_header(w, LARGES + 16, 0, 1, 0);
	put_header(w, NESTED, 1, 6, 255);
	put_group(w, META_NESTED, NESTED, 0,
		  bits_of(NNESTED - 1, true, CLASS_NESTED, 0));
	put_slots(w, NESTED, 0, NNESTED, 16);
	put_group(w, META_SINGLE, SINGLE, 0,
		  bits_of(0, true, GR_MUSL_NO_CLASS, 0x22));
	put_header(w, SINGLE + 16, 0, 5, 0);
	put_group(w, META_DONATED, DONATED, 0,
		  bits_of(0, false, CLASS_DONATED, 0));
	put_header(w, DONATED + 16, 0, 1, 0);
	put_group(w, META_MOVED, MOVED, 0,
		  bits_of(0, true, GR_MUSL_NO_CLASS, MOVED_PAGES));
	put_header(w, moved_start, 0, 7, MOVED_BY / 16 & 0xffff);
	put_header(w, moved, 0, 1, 0);
	fake_set(&w->image, moved - 4, 1, 1);
	fake_set(&w->image, moved - 8, MOVED_BY / 16, 4);
}

static struct native_world *setup(void)
{
	struct native_world *w = suite_alloc(sizeof(*w));

	native_map(w, PROGRAM, 0x1000, PF_R | PF_X, PATH);
	native_map(w, DATA, 0x2000, PF_R | PF_W, PATH);
	native_map_anonymous(w, AREA0, 0x4000);
	native_map_anonymous(w, GROUPS, MOVED + 0x1000 * MOVED_PAGES - GROUPS);
	memcpy(fake_find(&w->image, PROGRAM + 64, 64),
	       "musl libc (x86_64)\0\0"
	       "1.2.9\0",
	       27);
	put_context(w);
	put_free_metas(w);
	put_groups(w);
	w->threads[0].lwp = 100;
	w->threads[0].regs.is_in_call = true;
	w->threads[0].regs.call = CALL_PAUSE;
	w->image.threads = w->threads;
	w->image.nthreads = 1;
	w->target.nmodules = 2;
	w->go.index = GO_HEAP >> GR_ARENA_SHIFT;
	w->go_arenas = (struct gr_heap_arenas){ &w->go, 1, 1 };
	w->residency.kind = GR_RESIDENCY_EXACT;
	w->rt.image = &w->image;
	w->rt.arena = &w->arena;
	w->rt.arch = gr_arch_find(EM_X86_64);
	return w;
}

// -------------------------------------------------------------------- checks

static void check_block(const struct native_world *w, size_t *n, uint64_t addr,
			uint64_t bytes)
{
	const struct gr_block_vector *list = &w->native.blocks.list;

	assert_true(*n < list->size);
	assert_int_equal(list->data[*n].addr, addr);
	assert_int_equal(gr_block_bytes(&list->data[*n]), bytes);
	assert_int_equal(list->data[*n].header_words, 0);
	++*n;
}

/* The blocks that the program has, by address, and no others. */
static void check_true_blocks(const struct native_world *w)
{
	size_t n = 0;

	for (unsigned int i = 2; i < NSMALL; i++)
		check_block(w, &n, SMALLS + 16 + i * 288, 288);
	check_block(w, &n, LARGES + 16, 4080);
	for (unsigned int i = 0; i < NNESTED; i++)
		check_block(w, &n, NESTED + 16 + i * 16, 16);
	check_block(w, &n, SINGLE + 16, 0x22000 - 16);
	check_block(w, &n, MOVED + 16 + MOVED_BY,
		    MOVED_PAGES * 0x1000 - 16 - MOVED_BY);
	check_block(w, &n, DONATED + 16, 496);
	assert_int_equal(n, w->native.blocks.list.size);
}

static void check_found(struct native_world *w, const struct musl_case *c)
{
	check_bounds(w);
	assert_int_equal(w->native.allocators.size, c->reason != NULL);
	if (!c->reason)
		return;
	const char *reason = w->native.arenas.data[0].reason;

	assert_string_equal(reason ? reason : "", c->reason);
	assert_string_equal(w->native.allocators.data[0].name, "musl");
	if (!reason)
		check_true_blocks(w);
	else
		assert_int_equal(w->native.blocks.list.size, 0);
}

/* Set the bytes of all memory that were not recorded to 0. */
static void keep_recorded(struct native_world *w, struct gr_recorder *recorder)
{
	struct gr_word_set all = { 0 };

	assert_true(gr_recorder_list_words(recorder, &all));
	for (size_t i = 0; i < w->image.npieces; i++) {
		uint64_t *words = (uint64_t *)w->image.pieces[i].data;
		uint64_t at = w->image.pieces[i].addr;
		uint64_t end = at + w->image.pieces[i].bytes;

		for (; at < end; at += GR_SET_PAGE_BYTES) {
			for (size_t k = 0; k < GR_SET_PAGE_WORDS; k++)
				if (!gr_word_set_has(&all, at + 8 * k, 8))
					words[k] = 0;
			gr_recorder_clear_unread(recorder, at, words);
			words += GR_SET_PAGE_WORDS;
		}
	}
	gr_word_set_deinit(&all);
}

/* A saved file has what was recorded, and gives the same answer. */
static void check_saved(struct native_world *w, const struct musl_case *c)
{
	struct gr_recorder recorder = { 0 };

	w->rt.recorder = &recorder;
	assert_null(native_read(w, 0));
	w->rt.recorder = NULL;
	keep_recorded(w, &recorder);
	gr_recorder_deinit(&recorder);
	assert_null(native_read(w, 0));
	check_found(w, c);
}

static void check_case(const struct musl_case *c)
{
	struct native_world *w = setup();

	if (c->craft)
		c->craft(w);
	native_seal(w);
	assert_null(native_read(w, 0));
	uint64_t all = w->polls.seen;
	assert_in_range(all, 0, MUSL_POLLS);
	check_found(w, c);
	for (uint64_t last = 1; last <= all; last += all / 16 + 1)
		polls_check_ended(&w->polls, native_read(w, last));
	check_saved(w, c);
	native_destroy(w);
}

// --------------------------------------------------------------------- cases

#define CRAFT_MUSL(name) static void name(struct native_world *w)
/* One word. */
#define WORD(name, at, word)      \
	CRAFT_MUSL(name)          \
	{                         \
		put(w, at, word); \
	}

WORD(no_secret, word_at(GR_MUSL_SECRET), 0)
WORD(other_secret, word_at(GR_MUSL_SECRET), SECRET + 1)
WORD(not_begun, word_at(GR_MUSL_INIT_DONE), 0)
WORD(odd_head, word_at(GR_MUSL_META_AREA_HEAD), AREA0 + 8)
WORD(too_many_left, word_at(GR_MUSL_AVAIL_META_COUNT), UINT64_C(1) << 60)
WORD(fewer_left, word_at(GR_MUSL_AVAIL_META_COUNT), GR_MUSL_NMETAS - 2)
WORD(other_left, word_at(GR_MUSL_AVAIL_META), AREA1 + 24)
WORD(areas_loop, AREA0 + GR_MUSL_AREA_NEXT, AREA0)
WORD(areas_end, AREA0 + GR_MUSL_AREA_NEXT, 0)
WORD(areas_leave, AREA0 + GR_MUSL_AREA_NEXT, UINT64_C(0x700000000000))
WORD(area_begins, AREA1, 0)
WORD(areas_go_on, AREA1 + GR_MUSL_AREA_NEXT, AREA1 + 0x1000)
WORD(odd_tail, word_at(GR_MUSL_META_AREA_TAIL), AREA1 + 8)
WORD(free_loop, meta_at(META_FREE1) + GR_MUSL_META_NEXT, meta_at(META_FREE1))
WORD(free_in_use, meta_at(META_FREE1) + GR_MUSL_META_NEXT, meta_at(META_SMALL))
WORD(free_leaves, meta_at(META_FREE1) + GR_MUSL_META_NEXT, GROUPS)
WORD(no_free, word_at(GR_MUSL_FREE_META_HEAD), 0)
WORD(huge_pages, meta_at(META_SINGLE) + GR_MUSL_META_BITS, UINT64_MAX << 6)
WORD(far_pages, meta_at(META_SINGLE) + GR_MUSL_META_BITS,
     bits_of(0, true, GR_MUSL_NO_CLASS, UINT64_C(1) << 34))
WORD(in_go, meta_at(META_SINGLE) + GR_MUSL_META_MEM, GO_HEAP)
WORD(elsewhere, meta_at(META_SINGLE) + GR_MUSL_META_MEM, SMALLS)
WORD(odd_mem, meta_at(META_NESTED) + GR_MUSL_META_MEM, NESTED + 8)
WORD(not_back, NESTED, meta_at(META_SMALL))
WORD(both_masks, meta_at(META_SMALL) + GR_MUSL_META_AVAIL,
     UINT64_C(0x300000003))
WORD(wide_mask, meta_at(META_SMALL) + GR_MUSL_META_AVAIL, UINT64_C(3) << 60)
WORD(free_block, meta_at(META_SMALL) + GR_MUSL_META_AVAIL, UINT64_C(7) << 32)
WORD(bad_class, meta_at(META_LARGE) + GR_MUSL_META_BITS,
     bits_of(1, true, 50, 2))
WORD(other_class, meta_at(META_LARGE) + GR_MUSL_META_BITS,
     bits_of(1, true, CLASS_LARGE - 1, 2))
WORD(nested_too_large, meta_at(META_NESTED) + GR_MUSL_META_BITS,
     bits_of(NNESTED - 1, true, CLASS_SMALL, 0))
WORD(ring_leaves, meta_at(META_SMALL) + GR_MUSL_META_NEXT, GROUPS)
WORD(ring_of_other, word_at(GR_MUSL_ACTIVE + CLASS_LARGE), meta_at(META_SMALL))
WORD(no_ring, word_at(GR_MUSL_ACTIVE + CLASS_SMALL), 0)
WORD(other_usage, word_at(GR_MUSL_USAGE_BY_CLASS + 3), UINT64_C(1) << 60)
WORD(header_of_other, SMALLS + 16 + 5 * 288 - 8, UINT64_C(0x0004040000000000))
WORD(header_of_group, SMALLS + 16 + 5 * 288 - 8, UINT64_C(0x005ac50000000000))
WORD(too_far, MOVED + 16 - 8, UINT64_C(0x1234e00000000000))

/* A block whose header is zeros, while a thread may be in malloc(). */
CRAFT_MUSL(zero_header)
{
	put_header(w, LARGES + 16, 0, 0, 0);
	put(w, LARGES + 16, UINT64_C(0x7700000000));
	w->threads[0].regs.call = CALL_MMAP;
}

CRAFT_MUSL(zero_block)
{
	zero_header(w);
	put(w, LARGES + 16, 0);
}

/* Two groups of the same memory in one slot. */
CRAFT_MUSL(same_memory)
{
	put(w, meta_at(META_LARGE) + GR_MUSL_META_MEM, SMALLS);
}

/* A group in its own slot. */
CRAFT_MUSL(in_itself)
{
	put_header(w, NESTED + 16, 0, 6, 0);
	put(w, meta_at(META_NESTED) + GR_MUSL_META_MEM, NESTED + 16);
	put(w, NESTED + 16, meta_at(META_NESTED));
}

/* Slots that malloc() and free() are not done with; nobody is in there. */
CRAFT_MUSL(being_freed)
{
	put(w, meta_at(META_SMALL) + GR_MUSL_META_AVAIL, UINT64_C(1) << 32);
}

/* The memory of the groups is not at hand. */
CRAFT_MUSL(missing)
{
	w->image.pieces[3].bytes = 0x2000;
}

/* Two groups that have pages in common. */
CRAFT_MUSL(same_pages)
{
	put(w, meta_at(META_SINGLE) + GR_MUSL_META_BITS,
	    bits_of(0, true, GR_MUSL_NO_CLASS, 0x24));
}

/* A huge group, whose block was moved nobody knows how far. */
CRAFT_MUSL(far_steps)
{
	const struct gr_mapping huge = { .start = HUGE_START,
					 .end = 2 * HUGE_START,
					 .flags = PF_R | PF_W };

	assert_true(
		gr_mapping_vector_append(&w->residency.mappings.list, huge));
	fake_add(&w->image, HUGE_START, 0x1000);
	put_group(w, META_MOVED, HUGE_START, 0,
		  bits_of(0, true, GR_MUSL_NO_CLASS, HUGE_START / 0x1000));
	put(w, HUGE_START + 8, UINT64_C(0x1234e00000000000));
}

static const struct musl_case cases[] = {
	{ "healthy", "", NULL },
	{ "no secret", NULL, no_secret },
	{ "another secret", NULL, other_secret },
	{ "no block so far", NULL, not_begun },
	{ "an odd list of areas", NULL, odd_head },
	{ "too many metas left", NULL, too_many_left },
	{ "fewer metas left", COUNT_GROUPS, fewer_left },
	{ "other metas left", COUNT_GROUPS, other_left },
	{ "areas in a loop", AREAS, areas_loop },
	{ "areas end early", AREAS, areas_end },
	{ "areas lead elsewhere", AREAS, areas_leave },
	{ "the last area has no secret so far", AREAS, area_begins },
	{ "an area is about to be the last one", AREAS, areas_go_on },
	{ "an odd last area", NULL, odd_tail },
	{ "free metas in a loop", RINGS, free_loop },
	{ "a free meta is in use", RINGS, free_in_use },
	{ "free metas lead elsewhere", RINGS, free_leaves },
	{ "no free metas", COUNT_GROUPS, no_free },
	{ "too many pages", DAMAGE, huge_pages },
	{ "pages that are not there", NOT_MAPPED, far_pages },
	{ "a group in Go's heap", NO_MEMORY, in_go },
	{ "a group elsewhere", DAMAGE, elsewhere },
	{ "a group at an odd place", DAMAGE, odd_mem },
	{ "a group does not lead back", DAMAGE, not_back },
	{ "free twice", DAMAGE, both_masks },
	{ "slots that are not there", DAMAGE, wide_mask },
	{ "a free slot has a block", DAMAGE, free_block },
	{ "a class that is none", DAMAGE, bad_class },
	{ "another class", COUNT_SLOTS, other_class },
	{ "a group is larger than its slot", COUNT_SLOTS, nested_too_large },
	{ "a ring leads elsewhere", RINGS, ring_leaves },
	{ "a ring has another class", RINGS, ring_of_other },
	{ "a group is in no ring", RINGS, no_ring },
	{ "a counter", COUNT_SLOTS, other_usage },
	{ "a header of another slot", HEADERS, header_of_other },
	{ "a header of a group", DAMAGE, header_of_group },
	{ "a block beyond its slot", HEADERS, too_far },
	{ "a header of zeros", "", zero_header },
	{ "a header and a block of zeros", FRESH, zero_block },
	{ "two groups of one memory", DAMAGE, same_memory },
	{ "a group in itself", DAMAGE, in_itself },
	{ "a block that is being freed", "", being_freed },
	{ "memory that is missing", NO_MEMORY, missing },
	{ "two groups of the same pages", OVERLAPS, same_pages },
	{ "a block that was moved far", NO_MEMORY, far_steps },
};

TEST_ROWS(heap, cases, c)
{
	check_case(c);
}

/* arm64 maps memory below 2^48 first. */
TEST(high_addresses)
{
	const uint64_t high = UINT64_C(0xffffa0000000);
	struct native_world *w = setup();

	native_map_anonymous(w, high, 0x22000);
	put_group(w, META_SINGLE, high, 0,
		  bits_of(0, true, GR_MUSL_NO_CLASS, 0x22));
	put_header(w, high + 16, 0, 5, 0);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(w->native.arenas.data[0].is_checked);
	const struct gr_block_vector *list = &w->native.blocks.list;
	assert_int_equal(list->data[list->size - 1].addr, high + 16);
	native_destroy(w);
}

/* Is all of [start, end) a root of C? */
static bool is_root(const struct native_world *w,
		    const struct gr_c_threads *threads, uint64_t start,
		    uint64_t end)
{
	const struct gr_sys_memory sys_memory = { 0 };
	const struct gr_c_roots_spec spec = { .rt = (struct gr_runtime *)&w->rt,
					      .residency = &w->residency,
					      .go_arenas = &w->go_arenas,
					      .sys_memory = &sys_memory,
					      .native = &w->native,
					      .threads = threads };
	struct gr_c_root_vector roots = { 0 };
	bool ret = false;

	assert_null(gr_c_roots_find(&spec, &roots));
	for (size_t i = 0; i < roots.size; i++)
		ret |= roots.data[i].start <= start && end <= roots.data[i].end;
	gr_c_root_vector_deinit(&roots);
	return ret;
}

/* While a thread may be in malloc(), a slot without a header may be a block: it
 * holds what it leads to. */
TEST(no_header)
{
	const struct gr_c_threads threads = { 0 };
	const uint64_t slot = SMALLS + 16 + 5 * 288;
	struct native_world *w = setup();

	header_of_other(w);
	w->threads[0].regs.call = CALL_MMAP;
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_true(w->native.arenas.data[0].is_checked);
	assert_false(gr_native_is_free(&w->native, slot + 64));
	assert_true(is_root(w, &threads, slot, slot + 288));
	assert_false(is_root(w, &threads, slot - 8, slot));
	assert_false(is_root(w, &threads, slot + 288, slot + 296));
	native_destroy(w);
}

// ---------------------------------------------------------------- old malloc

TEST(old_malloc)
{
	struct native_world *w = setup();

	not_begun(w);
	memcpy(fake_find(&w->image, PROGRAM + 256, 60),
	       " !\"#$$%%&&''(((())))****++++"
	       ",,,,,,,,--------........////////",
	       60);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_int_equal(w->native.allocators.size, 1);
	const struct gr_native_allocator *of = w->native.allocators.data;
	assert_string_equal(of->name, "musl");
	assert_string_equal(of->version, "1.2.9");
	assert_non_null(of->refusal);
	assert_int_equal(of->narenas, 0);
	native_destroy(w);
}

// ------------------------------------------------------------------- threads

enum { MAP_BYTES = 0x6000, GUARD_BYTES = 0x2000, STACK_BYTES = 0x3000 };

struct thread_case {
	const char *name;
	uint64_t fields[5]; /* from map_base on */
	bool is_thread;
};

static const struct thread_case thread_cases[] = {
	{ "a thread",
	  { STACK - GUARD_BYTES, MAP_BYTES, STACK + STACK_BYTES, STACK_BYTES,
	    GUARD_BYTES },
	  true },
	{ "without a guard",
	  { STACK, MAP_BYTES, STACK + STACK_BYTES, STACK_BYTES, 0 },
	  true },
	{ "no mapping", { 0, 0, 0, 0, 0 }, false },
	{ "a stack of the program",
	  { STACK - GUARD_BYTES, MAP_BYTES, STACK - 0x10000, STACK_BYTES,
	    GUARD_BYTES },
	  false },
	{ "a stack above the struct",
	  { STACK, MAP_BYTES, STACK + 0x3f00, 0x3f00, 0 },
	  false },
	{ "a mapping that ends below",
	  { STACK - GUARD_BYTES, MAP_BYTES / 2, STACK + STACK_BYTES,
	    STACK_BYTES, GUARD_BYTES },
	  false },
	{ "a mapping without an end",
	  { STACK - GUARD_BYTES, -(uint64_t)0x1000, STACK + STACK_BYTES,
	    STACK_BYTES, GUARD_BYTES },
	  false },
	{ "an odd mapping",
	  { STACK - 8, MAP_BYTES, STACK + STACK_BYTES, STACK_BYTES, 8 },
	  false },
};

/* Each of the layouts that musl has had. */
TEST_ROWS(thread, thread_cases, c)
{
	static const uint64_t layouts[] = { 72, 80, 56 };
	const uint64_t td = STACK + 0x3b00;

	for (size_t i = 0; i < GR_ARRAY_SIZE(layouts); i++) {
		struct native_world *w = setup();
		struct gr_musl_thread thread;

		native_map_anonymous(w, STACK, 0x4000);
		put(w, td, td);
		fake_put_words(&w->image, td + layouts[i], c->fields, 5);
		native_seal(w);
		struct gr_view view = gr_view_of(&w->rt);
		assert_int_equal(gr_musl_thread_at(&view, td, &thread),
				 c->is_thread);
		if (c->is_thread) {
			assert_int_equal(thread.start, STACK);
			assert_int_equal(thread.end, c->fields[0] + MAP_BYTES);
		}
		put(w, td, td + 8);
		assert_false(gr_musl_thread_at(&view, td, &thread));
		native_destroy(w);
	}
}

/* A stack may be in use unless threads say where their struct pthread is. */
TEST(stack)
{
	const uint64_t td = STACK + 0x3b00;

	for (unsigned int are_known = 0; are_known < 2; are_known++) {
		const struct gr_thread_base other = { TLS, 100 };
		struct gr_c_threads threads = { 0 };
		struct native_world *w = setup();

		native_map_anonymous(w, STACK, 0x4000);
		put(w, td, td);
		fake_put_words(&w->image, td + 56, thread_cases[0].fields, 5);
		native_seal(w);
		assert_null(native_read(w, 0));
		if (are_known)
			assert_true(gr_thread_base_vector_append(&threads.bases,
								 other));
		assert_true(is_root(w, &threads, td, STACK + 0x4000));
		assert_int_equal(is_root(w, &threads, STACK, STACK + 0x4000),
				 !are_known);
		gr_c_threads_deinit(&threads);
		native_destroy(w);
	}
}

// -------------------------------------------------------------------- motion

/* A thread in Go's handler of a signal was in malloc(), or waited. */
TEST(interrupted)
{
	static const struct gr_elf file;
	const uint64_t context = STACK + 0x800;
	struct native_world *w = setup();

	zero_block(w);
	w->threads[0].regs.call = CALL_PAUSE;
	w->threads[0].regs.value[GR_REG_RSP] = STACK + 0x400;
	w->image.elf = &file;
	native_map_anonymous(w, STACK, 0x1000);
	w->rt.layout.vars.allm = STACK;
	w->rt.layout.m.alllink.off = 8;
	w->rt.layout.g.stack_hi.off = 8;
	fake_words(&w->image, STACK, STACK + 16, 0, STACK + 32, 0);
	fake_words(&w->image, STACK + 32, STACK, STACK + 0x1000);
	fake_words(&w->image, context + 16, STACK, 0, 0x1000);
	// rip, eflags, cs
	fake_words(&w->image, context + 168, PROGRAM + 8, 2, 0x33);
	native_seal(w);
	assert_null(native_read(w, 0));
	assert_string_equal(w->native.arenas.data[0].reason, FRESH);
	fake_set(&w->image, PROGRAM + 6, 0x050f, 2);
	assert_null(native_read(w, 0));
	assert_null(w->native.arenas.data[0].reason);
	native_destroy(w);
}

GR_SUITE_WITH("musl", polls_set_alarm, NULL)
