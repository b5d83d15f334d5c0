// SPDX-License-Identifier: Apache-2.0
/*
 * The capture plan: ranges that will be needed after the target has gone are
 * collected, sorted and merged, what is known already is taken out, and the
 * rest is read into one private area in large batches. Pages that cannot be
 * read are left out of the table of known ranges: later reads of them fault.
 */
#include <sys/mman.h>

#include "base/cleanup.h"
#include "target/image_internal.h"

enum {
	BATCH_BYTES = 8 << 20,
	BATCH_PIECES = 512,
};

/* No single planned thing is larger; longer ranges are damage. */
static const uint64_t max_range_bytes = UINT64_C(64) << 30;

GR_VECTOR(gr_pieces, struct gr_piece);
GR_DEFINE_CLEANUP(copy, struct gr_copy, gr_copy_destroy)

struct gr_error *gr_image_plan(struct gr_image *image, uint64_t start,
			       uint64_t end)
{
	struct gr_plan *plan = &image->plan;

	if (!gr_image_is_live(image) || start >= end ||
	    end - start > max_range_bytes || end > (uint64_t)INT64_MAX)
		return NULL;
	start &= ~(GR_PAGE_BYTES - 1);
	end = (end + GR_PAGE_BYTES - 1) & ~(GR_PAGE_BYTES - 1);
	struct gr_plan_range *last = plan->size ? &plan->data[plan->size - 1] :
						  NULL;
	if (last && start >= last->start && start <= last->end) {
		if (end > last->end)
			last->end = end;
		return NULL;
	}
	if (last && start < last->start)
		image->is_plan_sorted = false;
	if (!gr_plan_append(plan, (struct gr_plan_range){ start, end }))
		return &gr_enomem;
	return NULL;
}

void gr_image_keep_plan(struct gr_image *image)
{
	image->kept_ranges = image->plan.size;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct gr_plan_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

// Sorted, without overlaps, for free(); the plan itself stays as it is.
static struct gr_error *merge_plan(const struct gr_image *image,
				   struct gr_plan *ret)
{
	const struct gr_plan *plan = &image->plan;
	size_t count = 0;

	if (!gr_plan_reserve(ret, plan->size + 1))
		return &gr_enomem;
	if (plan->size)
		memcpy(ret->data, plan->data, plan->size * sizeof(*plan->data));
	if (!image->is_plan_sorted)
		qsort(ret->data, plan->size, sizeof(*ret->data),
		      compare_ranges);
	for (size_t i = 0; i < plan->size; i++) {
		struct gr_plan_range range = ret->data[i];
		struct gr_plan_range *last = count ? &ret->data[count - 1] :
						     NULL;
		if (!last || range.start > last->end)
			ret->data[count++] = range;
		else if (range.end > last->end)
			last->end = range.end;
	}
	ret->size = count;
	return NULL;
}

static bool add_piece(struct gr_pieces *out, uint64_t start, uint64_t end)
{
	return start >= end ||
	       gr_pieces_append(out, (struct gr_piece){ .addr = start,
							.bytes = end - start });
}

// Without what can be pointed at already.
static bool add_unknown(const struct gr_ranges *ranges, uint64_t start,
			uint64_t end, struct gr_pieces *out)
{
	size_t i = gr_ranges_search(ranges, start);

	for (; i < ranges->count && ranges->data[i].start < end; i++) {
		if (!add_piece(out, start, ranges->data[i].start))
			return false;
		start = ranges->data[i].end;
	}
	return add_piece(out, start, end);
}

// The maps of a process are sorted, and so is the plan: *@p hint only grows.
static bool add_mapped(const struct gr_image *image, size_t *hint,
		       struct gr_plan_range range, struct gr_pieces *out)
{
	const struct gr_mapping_vector *maps = &image->process.list;

	if (!maps->size)
		return add_unknown(&image->ranges, range.start, range.end, out);
	while (*hint < maps->size && maps->data[*hint].end <= range.start)
		++*hint;
	for (size_t i = *hint; i < maps->size; i++) {
		const struct gr_mapping *map = &maps->data[i];
		if (map->start >= range.end)
			break;
		if (!(map->flags & PF_R))
			continue;
		if (!add_unknown(
			    &image->ranges,
			    map->start > range.start ? map->start : range.start,
			    map->end < range.end ? map->end : range.end, out))
			return false;
	}
	return true;
}

// The plan as pieces to read, without buffers.
static struct gr_error *plan_pieces(const struct gr_image *image,
				    struct gr_pieces *ret)
{
	_cleanup_(gr_plan_deinit) struct gr_plan merged = { 0 };
	size_t hint = 0;

	struct gr_error *err = merge_plan(image, &merged);
	if (err)
		return err;
	for (size_t i = 0; i < merged.size; i++)
		if (!add_mapped(image, &hint, merged.data[i], ret))
			return &gr_enomem;
	return NULL;
}

// Bytes of the area: a piece lies in its page as it does in the target.
static uint64_t area_bytes(const struct gr_pieces *pieces)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < pieces->size; i++) {
		const struct gr_piece *piece = &pieces->data[i];
		sum += (piece->addr % GR_PAGE_BYTES + piece->bytes +
			GR_PAGE_BYTES - 1) &
		       ~(GR_PAGE_BYTES - 1);
	}
	return sum;
}

static void place_pieces(struct gr_pieces *pieces, uint8_t *area)
{
	for (size_t i = 0; i < pieces->size; i++) {
		struct gr_piece *piece = &pieces->data[i];
		uint64_t in_page = piece->addr % GR_PAGE_BYTES;
		piece->buf = area + in_page;
		area += (in_page + piece->bytes + GR_PAGE_BYTES - 1) &
			~(GR_PAGE_BYTES - 1);
	}
}

uint64_t gr_image_plan_bytes(const struct gr_image *image)
{
	_cleanup_(gr_pieces_deinit) struct gr_pieces pieces = { 0 };
	uint64_t sum = 0;

	struct gr_error *err = plan_pieces(image, &pieces);
	gr_error_destroy(err);
	for (size_t i = 0; i < pieces.size; i++)
		sum += pieces.data[i].bytes;
	return sum;
}

/** A capture under way. */
struct capture {
	struct gr_image *image;
	const struct gr_pieces *pieces;
	size_t index; /**< The piece that comes next ... */
	uint64_t off; /**< ... and the part of it that is done. */
	uint64_t got_bytes;
	struct gr_range_vector found;
};

static size_t next_batch(const struct capture *capture,
			 struct gr_piece batch[BATCH_PIECES])
{
	uint64_t off = capture->off, left = BATCH_BYTES;
	size_t count = 0;

	for (size_t i = capture->index;
	     i < capture->pieces->size && left && count < BATCH_PIECES; i++) {
		struct gr_piece piece = capture->pieces->data[i];
		piece.addr += off;
		piece.buf += off;
		piece.bytes -= off;
		if (piece.bytes > left)
			piece.bytes = left;
		left -= piece.bytes;
		batch[count++] = piece;
		off = 0;
	}
	return count;
}

static void advance(struct capture *capture, uint64_t bytes)
{
	capture->off += bytes;
	if (capture->off == capture->pieces->data[capture->index].bytes) {
		capture->index++;
		capture->off = 0;
	}
}

static bool note_found(struct capture *capture, uint64_t bytes)
{
	const struct gr_piece *piece = &capture->pieces->data[capture->index];
	struct gr_range_vector *found = &capture->found;
	uint64_t start = piece->addr + capture->off;
	struct gr_range *last = found->size ? &found->data[found->size - 1] :
					      NULL;

	capture->got_bytes += bytes;
	if (capture->off && last && last->end == start) {
		last->end += bytes;
		return true;
	}
	return gr_range_vector_append(
		found, (struct gr_range){ start, start + bytes,
					  piece->buf + capture->off });
}

// Account for @p got bytes of what next_batch() gave; the page after them is
// missing if there are none.
static struct gr_error *capture_account(struct capture *capture, uint64_t got)
{
	if (!got) {
		const struct gr_piece *piece =
			&capture->pieces->data[capture->index];
		uint64_t left = piece->bytes - capture->off;
		uint64_t page = GR_PAGE_BYTES -
				(piece->addr + capture->off) % GR_PAGE_BYTES;
		advance(capture, page < left ? page : left);
	}
	while (got) {
		uint64_t left = capture->pieces->data[capture->index].bytes -
				capture->off;
		uint64_t step = got < left ? got : left;
		if (!note_found(capture, step))
			return &gr_enomem;
		advance(capture, step);
		got -= step;
	}
	return NULL;
}

static struct gr_error *capture_run(struct capture *capture)
{
	struct gr_source *source = &capture->image->source;
	struct gr_piece batch[BATCH_PIECES];
	uint64_t got;

	while (capture->index < capture->pieces->size) {
		size_t count = next_batch(capture, batch);
		struct gr_error *err =
			source->ops->read(source, batch, count, &got);
		if (!err)
			err = capture_account(capture, got);
		if (!err)
			err = gr_source_poll(capture->image->target);
		if (err)
			return err;
	}
	return NULL;
}

static struct gr_error *capture_finish(struct capture *capture,
				       struct gr_copy **area)
{
	struct gr_image *image = capture->image;
	size_t known = image->known.size;

	for (size_t i = 0; i < capture->found.size; i++)
		if (!gr_range_vector_append(&image->known,
					    capture->found.data[i])) {
			image->known.size = known;
			return &gr_enomem;
		}
	struct gr_error *err = gr_image_update_ranges(image);
	if (err) {
		image->known.size = known;
		return err;
	}
	gr_image_keep(image, steal_ptr(*area));
	image->private_bytes += capture->got_bytes;
	image->plan.size = 0;
	image->is_plan_sorted = true;
	return NULL;
}

// Memory from the kernel, in large pages if it has some.
static struct gr_copy *new_area(uint64_t bytes)
{
	struct gr_copy *area = gr_copy_map(bytes);

	if (area)
		madvise(area->mapped, area->mapped_bytes, MADV_HUGEPAGE);
	return area;
}

struct gr_error *gr_image_reserve(struct gr_image *image, uint64_t bytes)
{
	if (!gr_image_is_live(image) || !bytes)
		return NULL;
	_cleanup_(gr_cleanup_copy) struct gr_copy *area = new_area(bytes);
	if (!area)
		return &gr_enomem;
	for (uint64_t off = 0; off < bytes; off += GR_PAGE_BYTES) {
		struct gr_error *err = NULL;

		((volatile uint8_t *)area->mapped)[off] = 0;
		if (off % BATCH_BYTES == 0)
			err = gr_source_poll(image->target);
		if (err)
			return err;
	}
	gr_copy_destroy(image->reserve);
	image->reserve = steal_ptr(area);
	return NULL;
}

// What was set aside if it is enough; what is too much of it goes back.
static struct gr_copy *take_area(struct gr_image *image, uint64_t bytes)
{
	struct gr_copy *area = steal_ptr(image->reserve);

	if (!area || area->mapped_bytes < bytes) {
		gr_copy_destroy(area);
		return new_area(bytes);
	}
	uint64_t rest = area->mapped_bytes - bytes;
	if (rest && !munmap((uint8_t *)area->mapped + bytes, rest))
		area->mapped_bytes = bytes;
	return area;
}

struct gr_error *gr_image_capture(struct gr_image *image)
{
	_cleanup_(gr_pieces_deinit) struct gr_pieces pieces = { 0 };

	if (!gr_image_is_live(image) || !image->plan.size)
		return NULL;
	struct gr_error *err = plan_pieces(image, &pieces);
	if (err || !pieces.size)
		return err;
	_cleanup_(gr_cleanup_copy) struct gr_copy *area =
		take_area(image, area_bytes(&pieces));
	if (!area)
		return &gr_enomem;
	place_pieces(&pieces, area->mapped);
	struct capture capture = { .image = image, .pieces = &pieces };
	err = capture_run(&capture);
	if (!err)
		err = capture_finish(&capture, &area);
	gr_range_vector_deinit(&capture.found);
	return err;
}
