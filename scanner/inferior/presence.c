// SPDX-License-Identifier: Apache-2.0
#include "inferior/presence.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "inferior/elf.h"
#include "inferior/mapped_file.h"

enum { WINDOW_PAGES = GR_PRESENCE_PAGES };

/* Entries of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst). */
#define PAGEMAP_IN_MEMORY (UINT64_C(1) << 63)
#define PAGEMAP_IN_SWAP (UINT64_C(1) << 62)

/** The entries of the pages from `page` on, as far as they were read. */
struct window {
	uint64_t page, count;
	uint64_t entries[WINDOW_PAGES];
};

/* Read entries from @p addr on. They reach to the end of the last of @p pieces
 * that lies in the window, because the next look is for these. */
static bool window_read(struct window *w, const struct gr_source *source,
			uint64_t addr, const struct gr_piece *pieces,
			size_t npieces)
{
	uint64_t first = addr / GR_PAGE_BYTES, last = first;

	for (size_t i = 0; i < npieces; i++) {
		uint64_t page =
			(pieces[i].addr + pieces[i].bytes - 1) / GR_PAGE_BYTES;

		if (page < last || page - first >= WINDOW_PAGES) {
			if (page >= first)
				last = first + WINDOW_PAGES - 1;
			break;
		}
		last = page;
	}
	ssize_t got = pread(source->pagemap_fd, w->entries,
			    (last - first + 1) * sizeof(*w->entries),
			    (off_t)(first * sizeof(*w->entries)));
	w->page = first;
	w->count = got > 0 ? got / sizeof(*w->entries) : 0;
	return w->count;
}

static const struct gr_mapping *find_mapping(const struct gr_source *source,
					     uint64_t addr)
{
	const struct gr_mapping_vector *list = &source->maps->list;
	size_t n = gr_count_before(list->size, i, list->data[i].end <= addr);

	return n < list->size && list->data[n].start <= addr ? &list->data[n] :
							       NULL;
}

static bool is_held(uint64_t entry)
{
	return entry & (PAGEMAP_IN_MEMORY | PAGEMAP_IN_SWAP);
}

/* How the bytes of a page of @p mapping (may be NULL) are had. */
static enum gr_run_kind kind_of(uint64_t entry,
				const struct gr_mapping *mapping)
{
	if (is_held(entry))
		return GR_RUN_PRESENT;
	// The process itself tells what cannot be read, or is new.
	if (!mapping || !(mapping->flags & PF_R))
		return GR_RUN_PRESENT;
	if (mapping->inode)
		return GR_RUN_FILE;
	if (gr_mapping_is_anonymous(mapping) ||
	    !strcmp(mapping->path, "[heap]") ||
	    !strncmp(mapping->path, "[stack", 6))
		return GR_RUN_ZEROS;
	return GR_RUN_MISSING; // [vdso] and the like
}

/* The run at the start of a piece. Its window has its first page. */
static struct gr_run first_run(const struct gr_source *source,
			       const struct window *w, struct gr_piece piece)
{
	const struct gr_mapping *mapping = find_mapping(source, piece.addr);
	uint64_t page = piece.addr / GR_PAGE_BYTES;
	uint64_t end_page = w->page + w->count;
	struct gr_run run = {
		.kind = kind_of(w->entries[page - w->page], mapping),
	};

	if (mapping && mapping->end / GR_PAGE_BYTES < end_page)
		end_page = mapping->end / GR_PAGE_BYTES;
	do {
		page++;
	} while (page < end_page &&
		 kind_of(w->entries[page - w->page], mapping) == run.kind);
	if (page * GR_PAGE_BYTES - piece.addr < piece.bytes)
		piece.bytes = page * GR_PAGE_BYTES - piece.addr;
	run.piece = piece;
	run.mapping = run.kind == GR_RUN_PRESENT ? NULL : mapping;
	return run;
}

/* Append a run. Present memory that goes on is one run. */
static size_t append(struct gr_run *runs, size_t nruns, struct gr_run run)
{
	struct gr_run *last = nruns ? &runs[nruns - 1] : NULL;

	if (last && last->kind == GR_RUN_PRESENT && run.kind == last->kind &&
	    last->piece.addr + last->piece.bytes == run.piece.addr &&
	    last->piece.buf + last->piece.bytes == run.piece.buf) {
		last->piece.bytes += run.piece.bytes;
		return nruns;
	}
	runs[nruns] = run;
	return nruns + 1;
}

size_t gr_presence_cut(const struct gr_source *source,
		       const struct gr_piece *pieces, size_t npieces,
		       struct gr_run *runs, size_t max_runs)
{
	struct window w; // Large: only what is read is set.
	size_t nruns = 0;

	w.page = w.count = 0;
	for (size_t i = 0; i < npieces && nruns < max_runs; i++) {
		struct gr_piece left = pieces[i];

		// Bounded by the piece: each run has a page, and max_runs.
		while (left.bytes && nruns < max_runs) {
			struct gr_run run = { left, GR_RUN_PRESENT, NULL };
			bool is_told = source->pagemap_fd >= 0 &&
				       !source->reads_absent;

			if (is_told &&
			    left.addr / GR_PAGE_BYTES - w.page >= w.count)
				is_told = window_read(&w, source, left.addr,
						      pieces + i, npieces - i);
			if (is_told)
				run = first_run(source, &w, left);
			nruns = append(runs, nruns, run);
			left.addr += run.piece.bytes;
			left.buf += run.piece.bytes;
			left.bytes -= run.piece.bytes;
		}
	}
	return nruns;
}

/* The entries of the window from @p i on that are held, or not. */
static uint64_t count_same(const struct window *w, uint64_t i)
{
	uint64_t first = i;

	while (i < w->count &&
	       is_held(w->entries[i]) == is_held(w->entries[first]))
		i++;
	return i - first;
}

bool gr_presence_find(const struct gr_source *source, uint64_t *start,
		      uint64_t end, uint64_t *pages_left, uint64_t *ret_end)
{
	struct window w; // Large: only what is read is set.

	while (source->pagemap_fd >= 0 && *start < end && *pages_left) {
		const struct gr_piece piece = { .addr = *start,
						.bytes = end - *start };
		if (!window_read(&w, source, *start, &piece, 1))
			return false;
		bool is_here = is_held(w.entries[0]);
		uint64_t before = is_here ? 0 : count_same(&w, 0);
		uint64_t looked = before < w.count ?
					  before + count_same(&w, before) :
					  before;

		*pages_left -= looked < *pages_left ? looked : *pages_left;
		if (!is_here)
			*start = (w.page + before) * GR_PAGE_BYTES;
		*ret_end = (w.page + looked) * GR_PAGE_BYTES;
		*ret_end = *ret_end < end ? *ret_end : end;
		if (looked > before)
			return *start < end;
	}
	return false;
}

/* Behind the end of a file, the rest of its last page is zeros. */
static int64_t fill_from_file(const struct gr_source *source,
			      const struct gr_run *run)
{
	const struct gr_piece *piece = &run->piece;
	uint64_t off =
		run->mapping->file_off + (piece->addr - run->mapping->start);
	_cleanup_close_ int fd = gr_mapping_open_file(
		gr_target_memory_pid(source->target), run->mapping);
	ssize_t got = fd < 0 ? -1 : pread(fd, piece->buf, piece->bytes, off);

	if (got <= 0)
		return got;
	uint64_t end = (off + got + GR_PAGE_BYTES - 1) & ~(GR_PAGE_BYTES - 1);
	uint64_t bytes = end - off < piece->bytes ? end - off : piece->bytes;
	memset(piece->buf + got, 0, bytes - got);
	return bytes;
}

int64_t gr_presence_fill(const struct gr_source *source,
			 const struct gr_run *run)
{
	switch (run->kind) {
	case GR_RUN_ZEROS:
		memset(run->piece.buf, 0, run->piece.bytes);
		return run->piece.bytes;
	case GR_RUN_FILE:
		return fill_from_file(source, run);
	case GR_RUN_PRESENT:
	case GR_RUN_MISSING:
		break;
	}
	return 0;
}
