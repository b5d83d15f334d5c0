// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include "base/cleanup.h"
#include "inferior/image_internal.h"
#include "inferior/presence.h"

/* Lengths come from the target; longer ones are invalid. */
static const uint64_t max_read_bytes = UINT64_C(1) << 30;
static const uint64_t max_torn_bytes = UINT64_C(64) << 30;

enum { COPY_BYTES = 4 << 20, AROUND_BYTES = 32 << 10 };

GR_DEFINE_CLEANUP(copy, struct gr_copy, gr_copy_destroy)

struct gr_copy *gr_copy_map(uint64_t bytes)
{
	struct gr_copy *copy = calloc(1, sizeof(*copy));
	if (!copy)
		return NULL;
	copy->mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy->mapped == MAP_FAILED) {
		free(copy);
		return NULL;
	}
	copy->mapped_bytes = bytes;
	return copy;
}

void gr_copy_destroy(struct gr_copy *copy)
{
	if (!copy)
		return;
	if (copy->mapped_bytes)
		munmap(copy->mapped, copy->mapped_bytes);
	free(copy);
}

void gr_image_keep(struct gr_image *image, struct gr_copy *copy)
{
	copy->next = __atomic_load_n(&image->copies, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&image->copies, &copy->next, copy,
					    true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

/** A stretch [addr, end) that is known completely or not at all. */
struct stretch {
	uint64_t end;
	const uint8_t *host; /**< Host address of addr; NULL: not known. */
};

static struct stretch stretch_at(const struct gr_ranges *ranges, uint64_t addr,
				 uint64_t end)
{
	size_t i = gr_ranges_search(ranges, addr);
	struct stretch ret = { end, NULL };
	uint64_t stop = end;

	if (i < ranges->count) {
		const struct gr_range *range = &ranges->data[i];
		stop = addr < range->start ? range->start : range->end;
		if (addr >= range->start)
			ret.host = range->host + (addr - range->start);
	}
	if (stop < end)
		ret.end = stop;
	return ret;
}

// Return true if all of [addr, end) is known without a source.
static bool is_known(const struct gr_ranges *ranges, uint64_t addr,
		     uint64_t end)
{
	// Bounded by the range: each stretch has bytes.
	while (addr < end) {
		struct stretch stretch = stretch_at(ranges, addr, end);
		if (!stretch.host)
			return false;
		addr = stretch.end;
	}
	return true;
}

// Copy from host memory in steps. The caller may be interrupted between two
// steps.
static struct gr_error *copy_host(const struct gr_image *image, uint8_t *to,
				  const uint8_t *from, uint64_t bytes)
{
	while (bytes > COPY_BYTES) {
		struct gr_error *err = gr_source_poll(image->target);

		if (err)
			return err;
		memcpy(to, from, COPY_BYTES);
		to += COPY_BYTES;
		from += COPY_BYTES;
		bytes -= COPY_BYTES;
	}
	memcpy(to, from, bytes);
	return NULL;
}

// Note what a process has but its copy lacks, and what lies around it: new
// records lie beside each other.
static struct gr_error *note_missing(struct gr_image *image, uint64_t addr,
				     uint64_t bytes)
{
	const struct gr_mapping_vector *maps = &image->process.list;
	size_t i = gr_count_before(maps->size, j, maps->data[j].end <= addr);

	if (!image->noted || i == maps->size || addr < maps->data[i].start ||
	    bytes > maps->data[i].end - addr || !(maps->data[i].flags & PF_R))
		return NULL;
	addr &= ~(uint64_t)(AROUND_BYTES - 1);
	return gr_noted_add(image->noted, addr, bytes + AROUND_BYTES);
}

// Read bytes that several mappings or the source hold. The caller has checked
// the length, and says whether the source may be asked.
static struct gr_error *read_pieces(struct gr_image *image, uint64_t addr,
				    uint8_t *buf, uint64_t bytes,
				    bool may_fetch)
{
	uint64_t end = addr + bytes, got;

	if (!may_fetch && !is_known(&image->ranges, addr, end)) {
		struct gr_error *err = note_missing(image, addr, bytes);

		return err ? err : gr_error_fault(addr, bytes);
	}
	for (uint64_t at = addr; at < end;) {
		struct stretch stretch = stretch_at(&image->ranges, at, end);
		uint64_t step = stretch.end - at;
		struct gr_error *err;
		if (stretch.host) {
			err = copy_host(image, buf + (at - addr), stretch.host,
					step);
			if (err)
				return err;
		} else {
			err = gr_source_read(&image->source, at,
					     buf + (at - addr), step, &got);
			if (err)
				return err;
			if (got < step)
				return gr_error_fault(addr, bytes);
			err = gr_noted_add(image->noted, at, step);
			if (err)
				return err;
		}
		at = stretch.end;
	}
	return NULL;
}

static bool is_sane(uint64_t addr, uint64_t bytes, uint64_t max_bytes)
{
	return bytes <= max_bytes && bytes <= UINT64_MAX - addr;
}

// Are reads recorded, or is the memory that of a file without values?
static bool is_watched(const struct gr_image *image)
{
	return image->recorder || image->words;
}

// A read that succeeded: record it, or check that the file has the words.
// @p host: NULL if no one range has the bytes, which are at @p buf.
static struct gr_error *watch_read(struct gr_image *image, uint64_t addr,
				   const void *buf, uint64_t bytes,
				   const uint8_t *host)
{
	if (image->words && !gr_word_set_has(image->words, addr, bytes))
		return gr_error_not_saved();
	if (image->recorder && host)
		gr_recorder_add(image->recorder, addr, bytes);
	else if (image->recorder)
		gr_recorder_add_data(image->recorder, addr, buf, bytes);
	return NULL;
}

static struct gr_error *read_bytes(struct gr_image *image, uint64_t addr,
				   void *buf, uint64_t bytes, bool may_fetch)
{
	if (!bytes)
		return NULL;
	if (!is_sane(addr, bytes, max_read_bytes))
		return gr_error_fault(addr, bytes);
	const uint8_t *host = gr_ranges_host(&image->ranges, addr, bytes);
	if (!host) {
		struct gr_error *err =
			read_pieces(image, addr, buf, bytes, may_fetch);
		if (err)
			return err;
	} else {
		memcpy(buf, host, bytes);
	}
	return GR_UNLIKELY(is_watched(image)) ?
		       watch_read(image, addr, buf, bytes, host) :
		       NULL;
}

struct gr_error *gr_image_read(struct gr_image *image, uint64_t addr, void *buf,
			       uint64_t bytes)
{
	return read_bytes(image, addr, buf, bytes, gr_image_is_live(image));
}

struct gr_error *gr_image_read_late(struct gr_image *image, uint64_t addr,
				    void *buf, uint64_t bytes)
{
	return read_bytes(image, addr, buf, bytes, image->source.ops);
}

struct gr_error *gr_image_read_uint(struct gr_image *image, uint64_t addr,
				    unsigned int bytes, uint64_t *ret)
{
	uint64_t value = 0;

	if (!bytes || bytes > sizeof(value))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "an integer of %u bytes", bytes);
	const uint8_t *host =
		is_watched(image) ? NULL :
				    gr_ranges_host(&image->ranges, addr, bytes);
	if (GR_LIKELY(host && bytes == sizeof(value))) {
		*ret = gr_load_u64(host);
		return NULL;
	}
	if (host) {
		memcpy(&value, host, bytes);
	} else {
		struct gr_error *err =
			gr_image_read(image, addr, &value, bytes);
		if (err)
			return err;
	}
	*ret = value;
	return NULL;
}

static void note_host(struct gr_image *image, uint64_t addr,
		      const uint8_t *host, uint64_t bytes)
{
	if (image->recorder)
		gr_recorder_add_host(image->recorder,
				     (struct gr_range){ addr, addr + bytes,
							host });
}

struct gr_error *gr_image_map(struct gr_image *image, uint64_t addr,
			      uint64_t bytes, const uint8_t **ret)
{
	static const uint8_t nothing[1];

	if (!bytes) {
		*ret = nothing;
		return NULL;
	}
	*ret = gr_ranges_host(&image->ranges, addr, bytes);
	if (*ret) {
		if (image->recorder)
			gr_recorder_add(image->recorder, addr, bytes);
		return NULL;
	}
	if (!is_sane(addr, bytes, max_read_bytes) ||
	    (!gr_image_is_live(image) &&
	     !is_known(&image->ranges, addr, addr + bytes)))
		return gr_error_fault(addr, bytes);
	struct gr_error *err = gr_source_want(image->target, bytes);
	if (err)
		return err;
	_cleanup_(gr_cleanup_copy) struct gr_copy *copy =
		malloc(sizeof(*copy) + bytes);
	if (!copy)
		return &gr_enomem;
	memset(copy, 0, sizeof(*copy));
	err = read_pieces(image, addr, copy->data, bytes,
			  gr_image_is_live(image));
	if (err)
		return err;
	*ret = copy->data;
	if (image->recorder)
		gr_recorder_add_data(image->recorder, addr, copy->data, bytes);
	note_host(image, addr, copy->data, bytes);
	gr_image_keep(image, steal_ptr(copy));
	return NULL;
}

/** A torn copy being filled. */
struct torn {
	struct gr_image *image;
	uint64_t addr;
	uint8_t *buf;
	uint64_t present_bytes;
	uint64_t missing_pages;
	uint64_t next_page; /**< Pages below are already counted. */
};

static void torn_count(struct torn *torn, uint64_t start, uint64_t end)
{
	uint64_t first = start / GR_PAGE_BYTES;
	uint64_t last = (end - 1) / GR_PAGE_BYTES + 1;

	if (first < torn->next_page)
		first = torn->next_page;
	if (first < last) {
		torn->missing_pages += last - first;
		torn->next_page = last;
	}
}

// Return the start of the bytes from @p at on that a mapping has: its start, or
// in memory without access the first page that is there, as far as one look
// tells.
static uint64_t mapped_from(const struct gr_image *image,
			    const struct gr_mapping *mapping, uint64_t at,
			    uint64_t end)
{
	uint64_t pages = GR_PRESENCE_PAGES, stop;

	if (mapping->start > at)
		at = mapping->start;
	if (mapping->flags & PF_R)
		return at;
	if (mapping->end < end)
		end = mapping->end;
	uint64_t start = at;
	bool is_found =
		gr_presence_find(&image->source, &start, end, &pages, &stop);
	return is_found || start > at ? start : end;
}

// Return the end of the unmapped range at @p at, according to the maps of the
// process. One look-up replaces a failed read for each page.
static uint64_t unmapped_end(const struct gr_image *image, uint64_t at,
			     uint64_t end)
{
	uint64_t stop = end;

	if (!image->process.list.size)
		return at;
	for (size_t i = 0; i < image->process.list.size; i++) {
		const struct gr_mapping *mapping = &image->process.list.data[i];
		if (mapping->end <= at || mapping->start >= stop ||
		    (!(mapping->flags & PF_R) && mapping->inode))
			continue;
		uint64_t start = mapped_from(image, mapping, at, end);
		if (start < stop)
			stop = start;
	}
	return stop;
}

// Fetch the readable bytes of [at, end), which no known range holds.
static struct gr_error *torn_fetch(struct torn *torn, uint64_t at, uint64_t end)
{
	struct gr_image *image = torn->image;
	uint64_t got;

	while (at < end) {
		uint64_t stop = gr_image_is_live(image) ?
					unmapped_end(image, at, end) :
					end;
		if (stop > at) {
			torn_count(torn, at, stop);
			at = stop;
			continue;
		}
		struct gr_error *err = gr_source_read(
			&image->source, at, torn->buf + (at - torn->addr),
			end - at, &got);
		if (err)
			return err;
		torn->present_bytes += got;
		at += got;
		if (at == end)
			break;
		stop = (at | (GR_PAGE_BYTES - 1)) + 1;
		if (stop > end || !stop)
			stop = end;
		torn_count(torn, at, stop);
		at = stop;
	}
	return NULL;
}

static struct gr_error *torn_fill(struct torn *torn, uint64_t end)
{
	for (uint64_t at = torn->addr; at < end;) {
		struct stretch stretch =
			stretch_at(&torn->image->ranges, at, end);
		struct gr_error *err;
		if (stretch.host) {
			err = copy_host(torn->image,
					torn->buf + (at - torn->addr),
					stretch.host, stretch.end - at);
			torn->present_bytes += stretch.end - at;
		} else {
			err = torn_fetch(torn, at, stretch.end);
		}
		if (err)
			return err;
		at = stretch.end;
	}
	return NULL;
}

// Return the number of pages of a range that is missing completely. An absurd
// length counts as one gap, not as millions.
static uint64_t page_count(uint64_t addr, uint64_t bytes)
{
	if (!is_sane(addr, bytes, max_torn_bytes))
		return 1;
	return (addr + bytes - 1) / GR_PAGE_BYTES - addr / GR_PAGE_BYTES + 1;
}

struct gr_error *gr_image_map_torn(struct gr_image *image, uint64_t addr,
				   uint64_t bytes, const uint8_t **ret)
{
	static const uint8_t nothing[1];

	*ret = bytes ? gr_ranges_host(&image->ranges, addr, bytes) : nothing;
	if (*ret)
		return NULL;
	if (!is_sane(addr, bytes, max_torn_bytes) ||
	    (!gr_image_is_live(image) &&
	     stretch_at(&image->ranges, addr, addr + bytes).end ==
		     addr + bytes)) {
		// The range is one unknown stretch: all of it is missing.
		gr_gap_add(image->gaps, GR_GAP_UNREADABLE_PAGES,
			   page_count(addr, bytes));
		return NULL;
	}
	_cleanup_(gr_cleanup_copy) struct gr_copy *copy = gr_copy_map(bytes);
	if (!copy)
		return &gr_enomem;
	struct torn torn = { .image = image,
			     .addr = addr,
			     .buf = copy->mapped };
	struct gr_error *err = torn_fill(&torn, addr + bytes);
	if (err)
		return err;
	gr_gap_add(image->gaps, GR_GAP_UNREADABLE_PAGES, torn.missing_pages);
	if (!torn.present_bytes)
		return NULL;
	*ret = copy->mapped;
	note_host(image, addr, *ret, bytes);
	gr_image_keep(image, steal_ptr(copy));
	return NULL;
}

const char *gr_image_module_name(const struct gr_image *image, size_t module)
{
	return gr_target_module_name(&image->target->modules[module]);
}
