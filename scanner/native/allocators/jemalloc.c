// SPDX-License-Identifier: Apache-2.0
#include "native/allocators/jemalloc.h"

#include "native/allocators/module_search.h"

#include "base/cleanup.h"
#include "base/huge.h"

#include <ctype.h>
#include <elf.h>

enum {
	MOST_MISSES = 8, /* words of a file that look like bases and are none */
	MOST_NUMBER_BYTES = 24, /* of a version before its mark: 5.3.0-0 */
	HASH_BYTES = 40,
	/* In a bin's statistics and in those of a large size class. */
	STAT_NMALLOC = 0,
	STAT_NDALLOC = 8,
	STAT_CURREGS = 24,
	STAT_CURSLABS = 64,
};
#define VERSION_MARK "-g"
/* Builds from a tree without git have it. */
#define NO_HASH "000000missing_version_try_git_fetch_tags"

static const struct gr_jemalloc_layout layouts[] = {
	// Debian 11, and builds with 48 and 57 bits, with and without
	// statistics.
	{
		.version = "5.2.1",
		.is_52 = true,
		.base_blocks = 144,
		.base_mapped = 2024,
		.arena_base = 29480,
		.arena_bins = 29192,
		.arena_internal = 104,
		.arena_lstats = 768,
		.lstat_bytes = 48,
		.arena_descriptors = 10192,
		.arena_large = 10352,
		.arena_large_mutex = 10360,
		.arena_nactive = 10344,
		.arena_extents = { 10472, 15440, 20408 },
		.extents_npages = { 4952 },
		.bin_bytes = 280,
		.bin_slabcur = 112,
		.bin_full = 128,
		.bin_stats = 136,
		.mutex_word = 64,
		.mutex_locked = 104,
		.rtree_root = 112,
		.extent_align = 64,
		.state_bit = 16,
		.state_mask = 3,
		.szind_bit = 18,
		.nfree_bit = 26,
		.shard_bit = 36,
		.cache_descriptor = 920,
		.cache_arena = 952,
	},
	// Debian 12 (48 bits) and 13 (57 bits), builds with the options of
	// Rust's crate, with a prefix, with uaf detection.
	{
		.version = "5.3.0",
		.base_blocks = 160,
		.base_mapped = 3896,
		.arena_ind = 78928,
		.arena_base = 78936,
		.arena_bins = 78952,
		.arena_internal = 56,
		.arena_lstats = 976,
		.lstat_bytes = 48,
		.arena_descriptors = 10400,
		.arena_large = 10528,
		.arena_large_mutex = 10536,
		.arena_nactive = 10656,
		.arena_extents = { 10728, 30168, 49608 },
		.extents_npages = { 9752, 19408 },
		.bin_bytes = 224,
		.bin_slabcur = 192,
		.bin_full = 216,
		.bin_stats = 112,
		.mutex_word = 64,
		.mutex_locked = 104,
		.rtree_root = 120,
		.extent_align = 128,
		.state_bit = 17,
		.state_mask = 7,
		.szind_bit = 20,
		.nfree_bit = 28,
		.shard_bit = 38,
		.cache_descriptor = 16,
		.cache_arena = 40,
		.cache_stacks = 160,
		.cache_fast = 168,
		.last_mark = UINT64_C(0xa7a7a7a7a7a7a7a7),
	},
	// Builds with 48 and 57 bits, with and without cache_oblivious.
	{
		.version = "5.3.1",
		.has_exact_large = true,
		.base_blocks = 160,
		.base_mapped = 3928,
		.arena_ind = 80640,
		.arena_base = 80648,
		.arena_bins = 80704,
		.arena_internal = 72,
		.arena_lstats = 992,
		.lstat_bytes = 56,
		.arena_descriptors = 11984,
		.arena_large = 12112,
		.arena_large_mutex = 12120,
		.arena_nactive = 12296,
		.arena_extents = { 12352, 31792, 51232 },
		.extents_npages = { 9752, 19408 },
		.bin_bytes = 224,
		.bin_slabcur = 192,
		.bin_full = 216,
		.bin_stats = 112,
		.mutex_word = 72,
		.mutex_locked = 64,
		.rtree_root = 120,
		.extent_align = 128,
		.state_bit = 17,
		.state_mask = 7,
		.szind_bit = 20,
		.nfree_bit = 28,
		.shard_bit = 38,
		.cache_descriptor = 16,
		.cache_arena = 40,
		.cache_stacks = 224,
		.cache_fast = 232,
		.cache_nbins = 48,
		.last_mark = UINT64_C(0x7a7a7a7a7a7a7a7b),
	},
};

static void jemalloc_deinit(struct gr_jemalloc *j)
{
	gr_jemalloc_arena_vector_deinit(&j->arenas);
	gr_native_range_vector_deinit(&j->bases);
	gr_jemalloc_extent_vector_deinit(&j->extents);
	gr_addr_vector_deinit(&j->caches);
	gr_blocks_deinit(&j->blocks);
	free(j->counts);
}

// ------------------------------------------------------------------- version

/* Bytes of the number in the text of a version, `5.3.0-0`: three numbers with
 * points, and how many commits behind it was built; 0: it is none. */
static size_t match_number(const char *text, size_t bytes)
{
	static const char separators[] = "..-";
	unsigned int part = 0;
	size_t n = 0;

	if (!bytes || !isdigit((unsigned char)text[0]))
		return 0;
	for (; n < bytes && n < MOST_NUMBER_BYTES; n++) {
		if (isdigit((unsigned char)text[n]))
			continue;
		if (part == strlen(separators))
			break;
		if (text[n] != separators[part++] ||
		    !isdigit((unsigned char)text[n - 1]))
			return 0;
	}
	return part == strlen(separators) &&
			       isdigit((unsigned char)text[n - 1]) ?
		       n :
		       0;
}

/* Bytes of the hash of a commit, as jemalloc's build has it. */
static size_t match_hash(const char *text, size_t bytes)
{
	size_t n = 0, none = strlen(NO_HASH);

	if (bytes > none && !memcmp(text, NO_HASH, none))
		return none;
	while (n < bytes && n < HASH_BYTES && isxdigit((unsigned char)text[n]))
		n++;
	return n == HASH_BYTES ? n : 0;
}

/* The text of a version: `5.3.0-0-g54eaed1d8b5...`. */
static size_t match_version(const char *text, size_t bytes, bool is_first)
{
	size_t mark = strlen(VERSION_MARK), n, hash;

	if (!is_first && (isalnum((unsigned char)text[-1]) || text[-1] == '.' ||
			  text[-1] == '-'))
		return 0;
	n = match_number(text, bytes);
	if (!n || bytes - n <= mark || memcmp(text + n, VERSION_MARK, mark))
		return 0;
	n += mark;
	hash = match_hash(text + n, bytes - n);
	n += hash;
	return hash && n < bytes && !text[n] ? n : 0;
}

/* Where a version has its fields; NULL: not known. One commit behind 5.3.0 is
 * what Rust's crate has. */
static const struct gr_jemalloc_layout *layout_of(const char *text)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(layouts); i++) {
		const char *version = layouts[i].version;
		size_t n = strlen(version);

		if (!strncmp(text, version, n) &&
		    (!strncmp(text + n, "-0-", 3) ||
		     (!strncmp(text + n, "-1-", 3) &&
		      !strcmp(version, "5.3.0"))))
			return &layouts[i];
	}
	return NULL;
}

/* A version as it is shown: the text without its hash, `5.3.0-147`. */
static struct gr_error *show_version(struct gr_runtime *rt, const char *text,
				     const char **ret)
{
	size_t n = match_number(text, strlen(text));

	if (n > 2 && !strncmp(text + n - 2, "-0", 2))
		n -= 2;
	*ret = gr_arena_internf(rt->arena, "%.*s", (int)n, text);
	return *ret ? NULL : &gr_enomem;
}

// ------------------------------------------------------------------ counters

/* Is the page at @p addr anonymous memory that a process has never touched? */
static bool is_untouched(const struct gr_jemalloc *j, uint64_t addr)
{
	const struct gr_residency *residency = j->r->spec->residency;
	const struct gr_mapping *m = gr_native_mapping_at(residency, addr);
	uint64_t page = addr & ~(GR_PAGE_BYTES - 1);
	const struct gr_resident_vector *swapped = &residency->swapped;
	size_t n =
		gr_count_before(swapped->size, i, swapped->data[i].end <= page);

	return residency->kind == GR_RESIDENCY_EXACT && m && m->flags & PF_W &&
	       (gr_mapping_is_anonymous(m) || !strcmp(m->path, "[heap]")) &&
	       !gr_native_resident_bytes(residency, page,
					 page + GR_PAGE_BYTES) &&
	       (n == swapped->size || swapped->data[n].start > page);
}

/* Read a counter. An arena has pages of them that nobody has written to. */
static bool read_counter(const struct gr_jemalloc *j, uint64_t at,
			 uint64_t *ret)
{
	struct gr_recorder *recorder = j->r->spec->rt->recorder;

	if (gr_view_word(&j->r->view, at, ret))
		return true;
	*ret = 0;
	if (!is_untouched(j, at))
		return false;
	if (recorder)
		gr_recorder_add_blank(recorder, at);
	return true;
}

/* Has any bin of an arena counted anything? */
static bool has_counted(const struct gr_jemalloc *j,
			const struct gr_jemalloc_arena *arena)
{
	for (unsigned int i = 0; i < GR_JE_NBINS; i++)
		for (unsigned int k = 0; k < j->bins[i].nshards; k++) {
			uint64_t bin = gr_jemalloc_bin_at(j, arena->addr, i, k);
			uint64_t count;

			if (bin &&
			    gr_view_word(&j->r->view,
					 bin + j->layout->bin_stats +
						 STAT_NMALLOC,
					 &count) &&
			    count)
				return true;
		}
	return false;
}

/* Find out whether there are statistics: without them all counters are 0. */
static struct gr_error *find_stats(struct gr_jemalloc *j)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && !j->has_stats && i < j->arenas.size; i++) {
		j->has_stats = has_counted(j, &j->arenas.data[i]);
		err = gr_runtime_step(j->r->spec->rt, j->nbins);
	}
	return err;
}

/* Compare a counter with what was found. */
static void compare(const struct gr_jemalloc *j, size_t arena, uint64_t at,
		    uint64_t found, const char *reason)
{
	struct gr_native_arena *native = gr_jemalloc_native(j, arena);
	uint64_t count;

	if (!read_counter(j, at, &count))
		gr_arena_miss(native);
	else if (count != found)
		gr_arena_fail(native, reason);
}

/* Compare the number of blocks that were allocated and not freed. */
static void compare_blocks(const struct gr_jemalloc *j, size_t arena,
			   uint64_t stats, uint64_t found)
{
	struct gr_native_arena *native = gr_jemalloc_native(j, arena);
	uint64_t nmalloc, ndalloc;

	native->found_blocks += found;
	if (!read_counter(j, stats + STAT_NMALLOC, &nmalloc) ||
	    !read_counter(j, stats + STAT_NDALLOC, &ndalloc)) {
		gr_arena_miss(native);
		return;
	}
	native->counted_blocks += nmalloc - ndalloc;
	if (nmalloc - ndalloc != found)
		gr_arena_fail(
			native,
			"its count of blocks differs from what was found");
}

static bool is_locked(const struct gr_jemalloc *j, uint64_t mutex)
{
	uint64_t word;

	return (read_counter(j, mutex + j->layout->mutex_word, &word) &&
		(uint32_t)word) ||
	       (read_counter(j, mutex + j->layout->mutex_locked, &word) &&
		(uint8_t)word);
}

/* Check one bin of an arena. */
static void check_bin(const struct gr_jemalloc *j, size_t arena,
		      unsigned int bin, unsigned int shard)
{
	static const char reason[] =
		"its count of regions or slabs differs from what was found";
	const struct gr_jemalloc_arena *a = &j->arenas.data[arena];
	struct gr_native_arena *native = gr_jemalloc_native(j, arena);
	uint64_t at = gr_jemalloc_bin_at(j, a->addr, bin, shard);
	uint64_t stats = at + j->layout->bin_stats;
	uint32_t number = j->bins[bin].first + shard;
	uint64_t full;

	if (!at) {
		gr_arena_miss(native);
		return;
	}
	// Only arenas that a program has made keep lists of full slabs.
	if (read_counter(j, at + j->layout->bin_full, &full) && full)
		native->kind = "manual";
	native->is_locked |= is_locked(j, at);
	if (!j->has_stats)
		return;
	compare(j, arena, stats + STAT_CURREGS, a->regions[number], reason);
	compare(j, arena, stats + STAT_CURSLABS, a->slabs[number], reason);
	compare_blocks(j, arena, stats, a->regions[number]);
}

/* Check the pages of an arena: these are counted without statistics, too. */
static void check_pages(const struct gr_jemalloc *j, size_t arena)
{
	static const char reason[] =
		"its count of pages differs from what was found";
	const struct gr_jemalloc_layout *layout = j->layout;
	const struct gr_jemalloc_arena *a = &j->arenas.data[arena];
	struct gr_native_arena *native = gr_jemalloc_native(j, arena);
	uint64_t count, guarded;

	for (unsigned int i = 0; i < GR_ARRAY_SIZE(layout->arena_extents);
	     i++) {
		uint64_t at = a->addr + layout->arena_extents[i];

		native->is_locked |= is_locked(j, at);
		guarded = 0;
		if (!read_counter(j, at + layout->extents_npages[0], &count) ||
		    (layout->extents_npages[1] &&
		     !read_counter(j, at + layout->extents_npages[1],
				   &guarded)))
			gr_arena_miss(native);
		else if (count + guarded != a->pages[GR_JE_DIRTY + i])
			gr_arena_fail(native, reason);
	}
	compare(j, arena, a->addr + layout->arena_nactive,
		a->pages[GR_JE_ACTIVE], reason);
	native->bytes_counter = "nactive (in bytes)";
	native->found_bytes = a->pages[GR_JE_ACTIVE] * GR_PAGE_BYTES;
	if (read_counter(j, a->addr + layout->arena_nactive, &count))
		native->counted_bytes = count * GR_PAGE_BYTES;
}

static void check_arena(const struct gr_jemalloc *j, size_t arena)
{
	const struct gr_jemalloc_layout *layout = j->layout;
	const struct gr_jemalloc_arena *a = &j->arenas.data[arena];
	struct gr_native_arena *native = gr_jemalloc_native(j, arena);
	uint64_t large;

	check_pages(j, arena);
	if (j->has_stats) {
		native->blocks_counter = "nmalloc - ndalloc";
		native->counted_blocks = 0;
	}
	for (unsigned int i = 0; i < GR_JE_NBINS; i++)
		for (unsigned int k = 0; k < j->bins[i].nshards; k++)
			check_bin(j, arena, i, k);
	native->is_locked |= is_locked(j, a->addr + layout->arena_large_mutex);
	if (read_counter(j, a->addr + layout->arena_large, &large) && large)
		native->kind = "manual";
	if (!j->has_stats)
		return;
	for (unsigned int i = 0; i < GR_JE_NLARGE; i++)
		compare_blocks(j, arena,
			       a->addr + layout->arena_lstats +
				       (uint64_t)i * layout->lstat_bytes,
			       a->large[i]);
	compare(j, arena, a->base + layout->base_mapped, a->base_bytes,
		"its count of base memory differs from what was found");
}

static struct gr_error *check_arenas(struct gr_jemalloc *j)
{
	struct gr_error *err = NULL;

	j->r->view.is_recording = true;
	for (size_t i = 0; !err && i < j->arenas.size; i++) {
		check_arena(j, i);
		err = gr_runtime_step(j->r->spec->rt,
				      4 * j->nbins + 2 * GR_JE_NLARGE);
	}
	j->r->view.is_recording = false;
	return err;
}

// -------------------------------------------------------------------- arenas

/* Append the arenas, and make room for what is counted of each. */
static struct gr_error *begin_arenas(struct gr_jemalloc *j)
{
	size_t stride = 2 * (size_t)j->nbins + GR_JE_NLARGE;
	size_t total = stride * j->arenas.size;
	struct gr_error *err = gr_image_want(j->r->spec->rt->image,
					     total * sizeof(*j->counts));

	if (err)
		return err;
	j->counts = gr_huge_calloc(total, sizeof(*j->counts));
	if (!j->counts)
		return &gr_enomem;
	for (size_t i = 0; !err && i < j->arenas.size; i++) {
		struct gr_jemalloc_arena *arena = &j->arenas.data[i];

		arena->regions = j->counts + i * stride;
		arena->slabs = arena->regions + j->nbins;
		arena->large = arena->slabs + j->nbins;
		err = gr_reader_add_arena(j->r, arena->addr, "automatic");
	}
	return err;
}

/* Note the structures in data of the file. They have no addresses of blocks. */
static struct gr_error *add_structures(struct gr_jemalloc *j)
{
	uint64_t tree = j->root - j->layout->rtree_root;
	struct gr_error *err = gr_reader_add_structure(
		j->r, j->arenas_at,
		j->arenas_at + GR_JE_MOST_ARENAS * GR_WORD_BYTES);

	return err ? err :
		     gr_reader_add_structure(j->r, tree,
					     j->root + (GR_WORD_BYTES
							<< j->shape->bits));
}

static struct gr_error *read_instance(struct gr_jemalloc *j,
				      const char *version)
{
	struct gr_error *err = begin_arenas(j);

	if (!err)
		err = add_structures(j);
	if (!err)
		err = find_stats(j);
	if (!err)
		err = gr_jemalloc_read_extents(j);
	if (!err)
		err = gr_jemalloc_drop_cached(j);
	if (!err)
		err = check_arenas(j);
	return err ? err :
		     gr_reader_add_allocator(j->r, "jemalloc", version,
					     j->first_arena);
}

// ----------------------------------------------------------------- instances

/* Find the arenas by the layout of the version first, and else by all: several
 * may be in one file, and a target may lack the text. */
static struct gr_error *find_instance(struct gr_jemalloc *j,
				      const struct gr_jemalloc_layout *layout)
{
	struct gr_error *err = NULL;

	if (layout) {
		j->layout = layout;
		err = gr_jemalloc_find_arenas(j);
	}
	for (size_t i = 0;
	     !err && !j->arenas.size && i < GR_ARRAY_SIZE(layouts); i++) {
		j->layout = &layouts[i];
		if (j->layout != layout)
			err = gr_jemalloc_find_arenas(j);
	}
	return err || !j->arenas.size ? err : gr_jemalloc_find_tree(j);
}

/* Read the jemalloc that a base belongs to. A word in data that only looks like
 * one of a base is a miss, unless the file has the text of a version: then it is
 * the last one. */
static struct gr_error *read_base(struct gr_native_reader *r,
				  const struct gr_jemalloc_base *base,
				  unsigned int *misses)
{
	_cleanup_(jemalloc_deinit) struct gr_jemalloc j = {
		.r = r,
		.path = base->path,
		.base = base->addr,
		.base_at = base->at,
		.first_arena = r->native->arenas.size,
		.first_memory = r->native->memory.size,
	};
	const struct gr_jemalloc_layout *layout = NULL;
	const char *text, *version = "", *refusal = NULL;
	struct gr_error *err =
		gr_module_find_text(r, base->path, base->at, VERSION_MARK,
				    MOST_NUMBER_BYTES, match_version, &text);

	if (!err && text) {
		layout = layout_of(text);
		err = show_version(r->spec->rt, text, &version);
	}
	if (!err && text && !layout)
		refusal = "is not supported (goref reads 5.2.1, 5.3.0 and "
			  "5.3.1)";
	else if (!err)
		err = find_instance(&j, layout);
	if (!err && text && layout && !j.root && !gr_jemalloc_is_unused(&j))
		refusal = "could not be read: its arenas or its rtree were not "
			  "found";
	*misses = refusal ? MOST_MISSES : *misses + !j.root;
	if (refusal) {
		gr_jemalloc_record_base(r, base);
		return gr_reader_refuse(r, "jemalloc", version, refusal);
	}
	if (err || !j.root)
		return err;
	return read_instance(&j,
			     layout == j.layout ? version : j.layout->version);
}

static void deinit_bases(struct gr_jemalloc_base_vector *bases)
{
	gr_jemalloc_base_vector_deinit(bases);
}

static struct gr_error *read_jemalloc(struct gr_native_reader *r)
{
	_cleanup_(deinit_bases) struct gr_jemalloc_base_vector bases = { 0 };
	struct gr_error *err = gr_jemalloc_find_bases(r, &bases);
	const char *path = "";
	unsigned int misses = 0;

	for (size_t i = 0; !err && i < bases.size; i++) {
		if (strcmp(path, bases.data[i].path) != 0)
			misses = 0;
		path = bases.data[i].path;
		// One line for each file.
		if (misses < MOST_MISSES)
			err = read_base(r, &bases.data[i], &misses);
	}
	return err;
}

const struct gr_allocator gr_allocator_jemalloc = { "jemalloc", read_jemalloc };
