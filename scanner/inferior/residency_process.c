// SPDX-License-Identifier: Apache-2.0
/* The resident pages of a process, and those of one that was forked. */
#include "inferior/residency_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sort.h"
#include "inferior/image_internal.h"

enum {
	PAGEMAP_ENTRIES = 4096,
	SCAN_REGIONS = 512,
	/* Pages that the kernel moves: the nap before each new look, and the
	 * time for all of them. A busy machine oversleeps, so some looks are
	 * taken in any case. */
	MOVE_NAP_NS = 1000000,
	MOVE_WAIT_MS = 50,
	LEAST_MOVE_NAPS = 5,
};

#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_SWAPPED (UINT64_C(1) << 62)
#define PAGEMAP_FILE (UINT64_C(1) << 61) /* of a file, or shared */

/* PAGEMAP_SCAN of linux/fs.h, which older headers lack (kernel 6.7). */
#define SCAN_FILE (UINT64_C(1) << 2)
#define SCAN_PRESENT (UINT64_C(1) << 3)
#define SCAN_SWAPPED (UINT64_C(1) << 4)
#define SCAN_ZERO (UINT64_C(1) << 5)

struct scan_region {
	uint64_t start, end, categories;
};

struct scan_args {
	uint64_t size, flags, start, end, walk_end, regions, nregions;
	uint64_t max_pages, inverted, mask, any_of_mask, return_mask;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_args)

// ------------------------------------------------------------------- process

/** Which resident pages are wanted. */
enum wanted {
	ALL,
	ANONYMOUS,
	OF_FILES, /**< And those of shared memory. */
};

/** The files of /proc/PID. Each is of the memory that the process had when the
 * file was opened. */
struct process {
	const struct gr_target *target;
	int32_t pid;
	enum wanted wanted;
	/** OF_FILES: the ranges [next, end) are pages of the same mapping that
	 * are not wanted again. */
	size_t next, end;
	FILE *smaps;
	int pagemap; /**< Opened first and asked last: see check_alive(). */
	bool has_no_scan; /**< The kernel has no PAGEMAP_SCAN. */
	bool has_swapped; /**< The mapping has pages in swap. */
	bool may_move;	  /**< It has pages that may be on the move. */
	unsigned int move_naps;
	int64_t move_end_ms;
	uint64_t rss_bytes; /**< The sum of smaps. */
	uint64_t found_bytes;
};

/** The pages of a mapping, by smaps. */
struct held {
	uint64_t rss_bytes, swap_bytes;
};

static void process_deinit(struct process *p)
{
	if (p->smaps)
		fclose(p->smaps);
	if (p->pagemap >= 0)
		close(p->pagemap);
}

static struct gr_error *process_open(struct process *p)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/pagemap", p->pid);
	p->pagemap = open(name, O_RDONLY | O_CLOEXEC);
	if (p->pagemap >= 0) {
		snprintf(name, sizeof(name), "/proc/%d/smaps", p->pid);
		p->smaps = fopen(name, "re");
	}
	return p->smaps ? NULL :
			  gr_error_format(GR_ERROR_IO, "cannot open %s: %s",
					  name, strerror(errno));
}

/* The process has died, or begun another program. */
static struct gr_error *error_ended(const struct process *p)
{
	return gr_error_format(GR_ERROR_IO,
			       "process %d has ended: its pages are not there",
			       p->target->pid);
}

/* Fail if the memory for which pagemap was opened is gone. smaps then ends
 * early or fails half way, and PAGEMAP_SCAN finds no page and says that it has
 * looked at all of them. Only a read of pagemap tells (fs/proc/task_mmu.c:
 * pagemap_read). If the memory is still there, all that was read before is
 * whole. */
static struct gr_error *check_alive(const struct process *p)
{
	uint64_t entry;

	return pread(p->pagemap, &entry, sizeof(entry), 0) == sizeof(entry) ?
		       NULL :
		       error_ended(p);
}

/* The bytes of each mapping in memory and in swap, from smaps. */
static struct gr_error *read_smaps(struct process *p, struct gr_residency *r,
				   struct held *held)
{
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0, at = 0;
	uint64_t start, end, kb;
	struct gr_error *err = NULL;

	while (!err && getline(&line, &capacity, p->smaps) > 0) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) ==
		    2) {
			while (at < r->mappings.list.size &&
			       r->mappings.list.data[at].start < start)
				at++;
			err = gr_source_poll(p->target);
		} else if (sscanf(line, "Rss: %" SCNu64 " kB", &kb) == 1 &&
			   at < r->mappings.list.size) {
			held[at].rss_bytes = kb * 1024;
			p->rss_bytes += kb * 1024;
		} else if (sscanf(line, "Swap: %" SCNu64 " kB", &kb) == 1) {
			r->swapped_bytes += kb * 1024;
			if (at < r->mappings.list.size)
				held[at].swap_bytes = kb * 1024;
		}
	}
	return err || !ferror(p->smaps) ? err : error_ended(p);
}

/* Add pages of a file, but for those that are there already. */
static struct gr_error *add_others(struct process *p, struct gr_residency *r,
				   struct gr_resident range)
{
	uint64_t end = range.end;
	struct gr_error *err = NULL;

	// Bounded by the ranges: each turn passes one.
	while (!err && range.start < end) {
		while (p->next < p->end &&
		       r->ranges.data[p->next].end <= range.start)
			p->next++;
		uint64_t stop = end, after = end;
		if (p->next < p->end && r->ranges.data[p->next].start < end) {
			stop = r->ranges.data[p->next].start;
			after = r->ranges.data[p->next].end;
		}
		range.end = stop;
		if (range.start < stop)
			err = gr_residency_add(p->target, r, range);
		range.start = after;
	}
	return err;
}

/* Add resident pages, if they are wanted. */
static struct gr_error *add(struct process *p, struct gr_residency *r,
			    struct gr_resident range)
{
	p->found_bytes += range.end - range.start;
	if (p->wanted == ALL || (p->wanted == ANONYMOUS && range.is_anonymous))
		return gr_residency_add(p->target, r, range);
	return p->wanted == OF_FILES && !range.is_anonymous ?
		       add_others(p, r, range) :
		       NULL;
}

/* Add pages in swap. Guard pages look like them, but smaps does not count these:
 * only a mapping that has pages in swap is looked at. */
static struct gr_error *add_swapped(struct process *p, struct gr_residency *r,
				    struct gr_resident range)
{
	p->may_move = true;
	return p->has_swapped ? gr_residency_add_swapped(p->target, r, range) :
				NULL;
}

/* Add the resident pages of a mapping: newer kernels tell them by ranges, and
 * leave out those of zeros, which do not count. What an older kernel answers, it
 * answers to the first question. */
static struct gr_error *scan_mapping(struct process *p, uint32_t mapping,
				     uint64_t start, uint64_t end,
				     struct gr_residency *r)
{
	struct scan_region regions[SCAN_REGIONS];
	struct gr_error *err = NULL;

	while (!err && start < end) {
		struct scan_args args = {
			.size = sizeof(args),
			.start = start,
			.end = end,
			.regions = (uintptr_t)regions,
			.nregions = SCAN_REGIONS,
			.inverted = SCAN_ZERO,
			.mask = SCAN_ZERO,
			.any_of_mask = SCAN_PRESENT | SCAN_SWAPPED,
			.return_mask = SCAN_FILE | SCAN_PRESENT,
		};
		int n = ioctl(p->pagemap, SCAN_IOCTL, &args);

		if (n < 0 && !p->found_bytes) {
			p->has_no_scan = true;
			return NULL;
		}
		if (n < 0 || args.walk_end <= start)
			return error_ended(p);
		for (int i = 0; !err && i < n; i++) {
			uint64_t is = regions[i].categories;
			struct gr_resident range = {
				.start = regions[i].start,
				.end = regions[i].end,
				.mapping = mapping,
				.is_anonymous = !(is & SCAN_FILE),
			};

			err = is & SCAN_PRESENT ? add(p, r, range) :
						  add_swapped(p, r, range);
		}
		start = args.walk_end;
		if (!err)
			err = gr_source_poll(p->target);
	}
	return err;
}

static struct gr_error *read_pagemap(struct process *p, uint32_t mapping,
				     uint64_t start, uint64_t end,
				     struct gr_residency *r)
{
	_cleanup_free_ uint64_t *entries = calloc(PAGEMAP_ENTRIES, 8);
	struct gr_error *err = NULL;

	if (!entries)
		return &gr_enomem;
	while (!err && start < end) {
		uint64_t n = (end - start) / GR_PAGE_BYTES;

		if (n > PAGEMAP_ENTRIES)
			n = PAGEMAP_ENTRIES;
		ssize_t got = pread(p->pagemap, entries, n * 8,
				    start / GR_PAGE_BYTES * 8);
		if (got < 8)
			return error_ended(p);
		n = got / 8;
		for (uint64_t i = 0; !err && i < n; i++) {
			uint64_t page = start + i * GR_PAGE_BYTES;

			struct gr_resident range = {
				.start = page,
				.end = page + GR_PAGE_BYTES,
				.mapping = mapping,
				.is_anonymous = !(entries[i] & PAGEMAP_FILE),
			};

			if (entries[i] & PAGEMAP_PRESENT)
				err = add(p, r, range);
			else if (entries[i] & PAGEMAP_SWAPPED)
				err = add_swapped(p, r, range);
		}
		start += n * GR_PAGE_BYTES;
		if (!err)
			err = gr_source_poll(p->target);
	}
	return err;
}

/* Add the pages of a mapping that are in memory, and those that are in swap. */
static struct gr_error *read_once(struct process *p, struct gr_residency *r,
				  uint32_t mapping)
{
	const struct gr_mapping *m = &r->mappings.list.data[mapping];
	struct gr_error *err = NULL;

	if (!p->has_no_scan)
		err = scan_mapping(p, mapping, m->start, m->end, r);
	if (!err && p->has_no_scan)
		err = read_pagemap(p, mapping, m->start, m->end, r);
	return err;
}

/* Wait a moment for pages that the kernel moves. Return false when the time is
 * over. */
static bool wait_for_move(struct process *p)
{
	const struct timespec moment = { 0, MOVE_NAP_NS };
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t now_ms = now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
	if (!p->move_naps)
		p->move_end_ms = now_ms + MOVE_WAIT_MS;
	if (now_ms >= p->move_end_ms && p->move_naps >= LEAST_MOVE_NAPS)
		return false;
	p->move_naps++;
	nanosleep(&moment, NULL);
	return true;
}

/* Read a mapping. smaps counts a page that the kernel moves to another place of
 * memory (Documentation/mm/page_migration.rst), but pagemap tells it as one in
 * swap meanwhile. If there are such pages, and fewer others than smaps has
 * counted, all are read again. */
static struct gr_error *read_mapping(struct process *p, struct gr_residency *r,
				     uint32_t mapping, const struct held *held)
{
	size_t nranges = r->ranges.size, nswapped = r->swapped.size;
	uint64_t before = p->found_bytes;
	struct gr_error *err;

	p->has_swapped = held->swap_bytes;
	// Bounded by the time that wait_for_move() has.
	do {
		r->ranges.size = nranges;
		r->swapped.size = nswapped;
		p->found_bytes = before;
		p->may_move = false;
		err = read_once(p, r, mapping);
	} while (!err && p->may_move &&
		 p->found_bytes - before < held->rss_bytes && wait_for_move(p));
	return err;
}

struct gr_error *gr_residency_read_process(const struct gr_image *image,
					   struct gr_residency *r)
{
	_cleanup_(process_deinit) struct process p = {
		.target = image->target,
		.pid = gr_target_memory_pid(image->target),
		.pagemap = -1,
	};
	struct gr_error *err = process_open(&p);

	if (!err)
		err = gr_mappings_add_process(&r->mappings, p.pid);
	if (err)
		return err;
	size_t n = r->mappings.list.size;
	_cleanup_free_ struct held *held = calloc(n + 1, sizeof(*held));
	if (!held)
		return &gr_enomem;
	err = read_smaps(&p, r, held);
	// Most of the address space is reserved only.
	for (size_t i = 0; !err && i < n; i++)
		if (held[i].rss_bytes || held[i].swap_bytes)
			err = read_mapping(&p, r, i, &held[i]);
	if (!err)
		err = check_alive(&p);
	// A mapping that grows while smaps is read may be there twice.
	for (size_t i = 0; i < n; i++)
		r->rss_bytes += held[i].rss_bytes;
	// Older kernels do not tell the pages of zeros.
	r->kind = p.found_bytes == r->rss_bytes ? GR_RESIDENCY_EXACT :
						  GR_RESIDENCY_ANONYMOUS;
	return err;
}

// ------------------------------------------------------------------- snapshot

static int compare_ranges(const void *a, const void *b)
{
	const struct gr_resident *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Has a mapping pages that fork() does not copy? A reservation of anonymous
 * memory, which may be large, has none. */
static bool has_files(const struct gr_mapping *m)
{
	return m->inode || (m->path && !strcmp(m->path, "[vdso]"));
}

/* Add the pages of a mapping: what the fork has, then what the process has of
 * files. */
static struct gr_error *read_forked(struct process *fork, struct process *of,
				    struct gr_residency *r, uint32_t mapping,
				    const struct held *held)
{
	const struct gr_mapping *m = &r->mappings.list.data[mapping];
	const struct held unknown = { 0 };
	struct gr_error *err = NULL;
	size_t first = r->ranges.size;

	// Most of the address space is reserved only.
	if (held->rss_bytes || held->swap_bytes)
		err = read_mapping(fork, r, mapping, held);
	of->next = first;
	of->end = r->ranges.size;
	if (err || !has_files(m))
		return err;
	err = read_mapping(of, r, mapping, &unknown);
	if (err || first == of->end || of->end == r->ranges.size)
		return err;
	return gr_sort(r->ranges.data + first, r->ranges.size - first,
		       sizeof(*r->ranges.data), compare_ranges,
		       fork->target->ops.poll, fork->target->ctx);
}

struct gr_error *gr_residency_read_snapshot(const struct gr_image *image,
					    struct gr_residency *r)
{
	const struct gr_target *target = image->target;
	_cleanup_(process_deinit) struct process fork = {
		.target = target,
		.pid = target->copy_pid,
		.wanted = ANONYMOUS,
		.pagemap = -1,
	};
	_cleanup_(process_deinit) struct process of = {
		.target = target,
		.pid = target->reader ? target->reader : target->pid,
		.wanted = OF_FILES,
		.pagemap = -1,
	};
	struct gr_error *err = process_open(&fork);

	if (!err)
		err = process_open(&of);
	if (!err)
		err = gr_mappings_add_process(&r->mappings, fork.pid);
	if (err)
		return err;
	size_t n = r->mappings.list.size;
	_cleanup_free_ struct held *held = calloc(n + 1, sizeof(*held));
	if (!held)
		return &gr_enomem;
	err = read_smaps(&fork, r, held);
	for (size_t i = 0; !err && i < n; i++)
		err = read_forked(&fork, &of, r, i, &held[i]);
	if (!err)
		err = check_alive(&of);
	if (!err)
		err = check_alive(&fork);
	r->kind = fork.found_bytes == fork.rss_bytes ? GR_RESIDENCY_EXACT :
						       GR_RESIDENCY_ANONYMOUS;
	return err;
}
