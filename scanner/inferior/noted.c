// SPDX-License-Identifier: Apache-2.0
/*
 * Notes which pages of a process were fetched, so that exactly these can be
 * copied while it stands still, and be read again from the copy.
 */
#include "base/cleanup.h"
#include "base/number_set.h"
#include "inferior/image_internal.h"

enum {
	/* A larger read is no part of a search. */
	MAX_NOTE_BYTES = 1 << 20,
	MAX_PAGES = 1 << 18,
};

struct gr_noted {
	struct gr_number_set pages; /**< Their numbers. */
	uint64_t last;		    /**< The one noted last, plus 1. */
	bool is_over;
};

void gr_noted_destroy(struct gr_noted *noted)
{
	if (!noted)
		return;
	gr_number_set_deinit(&noted->pages);
	free(noted);
}

struct gr_error *gr_noted_add(struct gr_noted *noted, uint64_t addr,
			      uint64_t bytes)
{
	uint64_t page = addr / GR_PAGE_BYTES;
	bool is_new;

	if (!noted || noted->is_over || !bytes || bytes > MAX_NOTE_BYTES)
		return NULL;
	// Bounded by MAX_NOTE_BYTES.
	for (; page <= (addr + bytes - 1) / GR_PAGE_BYTES; page++) {
		if (noted->pages.count >= MAX_PAGES || page + 1 == noted->last)
			continue;
		if (!gr_number_set_add(&noted->pages, page, &is_new))
			return &gr_enomem;
		noted->last = page + 1;
	}
	return NULL;
}

struct gr_error *gr_image_note_fetches(struct gr_image *image, bool is_noting)
{
	if (is_noting && !image->noted)
		image->noted = calloc(1, sizeof(*image->noted));
	if (image->noted)
		image->noted->is_over = !is_noting;
	return image->noted || !is_noting ? NULL : &gr_enomem;
}

uint64_t gr_image_noted_pages(const struct gr_image *image)
{
	return image->noted ? image->noted->pages.count : 0;
}

struct gr_error *gr_image_plan_noted(struct gr_image *image)
{
	const struct gr_number_set *pages =
		image->noted ? &image->noted->pages : NULL;
	struct gr_error *err = NULL;

	image->plan.size = image->kept_ranges = 0;
	for (size_t i = 0; pages && !err && i < pages->nslots; i++) {
		uint64_t page = (pages->slots[i] - 1) * GR_PAGE_BYTES;

		if (pages->slots[i])
			err = gr_image_plan(image, page, page + GR_PAGE_BYTES);
	}
	return err;
}

void gr_image_enter_copy(struct gr_image *image)
{
	image->is_sealed = true;
}

struct gr_error *gr_image_leave_copy(struct gr_image *image)
{
	if (!image->is_sealed)
		return NULL;
	image->known.size = image->file_ranges;
	image->is_sealed = false;
	return gr_image_update_ranges(image);
}
