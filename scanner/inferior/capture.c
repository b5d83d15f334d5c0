// SPDX-License-Identifier: Apache-2.0
/*
 * The capture plan collects the ranges that will be needed after the target has
 * gone. A capture sorts and merges them, removes the ranges that are already
 * known, and reads the rest into one private area in large batches. Several
 * threads read a process: each takes the next batch until none is left. Pages
 * that cannot be read are left out of the table of known ranges, so later reads
 * of them fault.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/sort.h"
#include "base/thread.h"
#include "inferior/image_internal.h"
#include "inferior/presence.h"

enum {
	/* Bytes read between two polls: the process is stopped meanwhile. */
	BATCH_BYTES = 2 << 20,
	BATCH_PIECES = 512,
	/* One more thread is started for each so many bytes. */
	THREAD_BYTES = 8 << 20,
	/* Pages without access that are looked at for one plan: 1 GB. */
	MAX_SEALED_PAGES = 1 << 18,
};

/* No single planned range is larger; longer ranges are damage. */
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

// Copy the plan to @p ret, sorted and without overlaps. The caller frees the
// copy; the plan itself does not change.
static struct gr_error *merge_plan(const struct gr_image *image,
				   struct gr_plan *ret)
{
	const struct gr_plan *plan = &image->plan;
	struct gr_error *err = NULL;
	size_t count = 0;

	if (!gr_plan_reserve(ret, plan->size + 1))
		return &gr_enomem;
	if (plan->size)
		memcpy(ret->data, plan->data, plan->size * sizeof(*plan->data));
	if (!image->is_plan_sorted)
		err = gr_sort(ret->data, plan->size, sizeof(*ret->data),
			      compare_ranges, image->target->ops.poll,
			      image->target->ctx);
	if (err)
		return err;
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

// Add the parts of [start, end) that no known range holds.
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

// Add the unknown parts of [start, end), which may not be read by the process
// itself: the pages that are there. The rest is reserved.
static bool add_sealed(const struct gr_image *image, uint64_t start,
		       uint64_t end, uint64_t *pages_left,
		       struct gr_pieces *out)
{
	for (uint64_t stop;
	     gr_presence_find(&image->source, &start, end, pages_left, &stop);
	     start = stop)
		if (!add_unknown(&image->ranges, start, stop, out))
			return false;
	return true;
}

// Add the unknown parts of a range that are mapped. The mappings of a process and
// the plan are both sorted, so *@p hint only grows.
static bool add_mapped(const struct gr_image *image, size_t *hint,
		       struct gr_plan_range range, uint64_t *pages_left,
		       struct gr_pieces *out)
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
		uint64_t start = map->start > range.start ? map->start :
							    range.start;
		uint64_t end = map->end < range.end ? map->end : range.end;
		bool is_added =
			map->flags & PF_R ?
				add_unknown(&image->ranges, start, end, out) :
				map->inode || add_sealed(image, start, end,
							 pages_left, out);
		if (!is_added)
			return false;
	}
	return true;
}

// Convert the plan to pieces to read, without buffers yet.
static struct gr_error *plan_pieces(const struct gr_image *image,
				    struct gr_pieces *ret)
{
	_cleanup_(gr_plan_deinit) struct gr_plan merged = { 0 };
	uint64_t pages_left = MAX_SEALED_PAGES;
	size_t hint = 0;

	struct gr_error *err = merge_plan(image, &merged);
	if (err)
		return err;
	for (size_t i = 0; i < merged.size; i++)
		if (!add_mapped(image, &hint, merged.data[i], &pages_left, ret))
			return &gr_enomem;
	return NULL;
}

// Return the size of the area. A piece has the same offset in its page as in
// the target.
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
	const struct gr_pieces *pieces;
	pthread_mutex_t lock; /**< Protects the three members below. */
	size_t index;	      /**< The next piece. */
	uint64_t off;	      /**< Bytes of it that are already taken. */
	bool is_over;	      /**< A thread failed. */
};

/** One thread's part of a capture. The first copier is our own thread. */
struct copier {
	struct capture *capture;
	struct gr_source source; /**< A copy: its state is not shared. */
	bool may_poll;		 /**< True on the caller's thread. */
	pthread_t thread;
	uint64_t got_bytes;
	struct gr_range_vector found;
	struct gr_error *err;
};

// Take the next pieces of the capture; return 0 if none is left.
static size_t take_batch(struct capture *capture,
			 struct gr_piece batch[BATCH_PIECES])
{
	uint64_t left = BATCH_BYTES;
	size_t count = 0;

	pthread_mutex_lock(&capture->lock);
	while (!capture->is_over && capture->index < capture->pieces->size &&
	       left && count < BATCH_PIECES) {
		struct gr_piece piece = capture->pieces->data[capture->index];
		piece.addr += capture->off;
		piece.buf += capture->off;
		piece.bytes -= capture->off;
		if (piece.bytes > left) {
			piece.bytes = left;
			capture->off += left;
		} else {
			capture->off = 0;
			capture->index++;
		}
		left -= piece.bytes;
		batch[count++] = piece;
	}
	pthread_mutex_unlock(&capture->lock);
	return count;
}

static bool note_found(struct copier *copier, const struct gr_piece *piece,
		       uint64_t bytes)
{
	struct gr_range_vector *found = &copier->found;
	struct gr_range *last = found->size ? &found->data[found->size - 1] :
					      NULL;

	copier->got_bytes += bytes;
	if (last && last->end == piece->addr &&
	    last->host + (last->end - last->start) == piece->buf) {
		last->end += bytes;
		return true;
	}
	return gr_range_vector_append(
		found, (struct gr_range){ piece->addr, piece->addr + bytes,
					  piece->buf });
}

// Skip the first bytes of a piece; return the piece that comes next.
static struct gr_piece *skip(struct gr_piece *piece, uint64_t bytes)
{
	piece->addr += bytes;
	piece->buf += bytes;
	piece->bytes -= bytes;
	return piece->bytes ? piece : piece + 1;
}

// Read the readable parts of the pieces. After a read that returns no bytes,
// the first page is missing and is skipped.
static struct gr_error *read_batch(struct copier *copier,
				   struct gr_piece *piece,
				   const struct gr_piece *end)
{
	struct gr_source *source = &copier->source;
	struct gr_error *err = NULL;
	uint64_t got;

	while (piece < end && !err) {
		err = source->ops->read(source, piece, end - piece, &got);
		if (!err && !got) {
			uint64_t page =
				GR_PAGE_BYTES - piece->addr % GR_PAGE_BYTES;
			piece = skip(piece,
				     page < piece->bytes ? page : piece->bytes);
		}
		// Bounded by the bytes that were read.
		while (!err && got) {
			uint64_t step = got < piece->bytes ? got : piece->bytes;
			if (!note_found(copier, piece, step))
				return &gr_enomem;
			piece = skip(piece, step);
			got -= step;
		}
		if (!err && copier->may_poll)
			err = gr_source_poll(source->target);
	}
	return err;
}

static void *copier_run(void *arg)
{
	struct copier *copier = arg;
	struct capture *capture = copier->capture;
	struct gr_piece batch[BATCH_PIECES];
	size_t count;

	while (!copier->err && (count = take_batch(capture, batch)))
		copier->err = read_batch(copier, batch, batch + count);
	if (copier->err) {
		pthread_mutex_lock(&capture->lock);
		capture->is_over = true;
		pthread_mutex_unlock(&capture->lock);
	}
	return NULL;
}

// Return the number of threads to use. It is one if the source does not support
// more, or if there is little to read.
static size_t count_copiers(const struct gr_image *image, uint64_t bytes)
{
	size_t count = image->target->copy_threads;

	if (image->target->kind != GR_TARGET_NATIVE ||
	    image->source.is_only_file || !count)
		return 1;
	if (count > GR_MAX_COPY_THREADS)
		count = GR_MAX_COPY_THREADS;
	return count > bytes / THREAD_BYTES + 1 ? bytes / THREAD_BYTES + 1 :
						  count;
}

// Start the other threads. Return the number of copiers that run, including our
// own; it is smaller than @p count if a thread cannot be created.
static size_t start_copiers(struct copier *copiers, size_t count)
{
	size_t i = 1;

	while (i < count &&
	       gr_thread_start(&copiers[i].thread, copier_run, &copiers[i]))
		i++;
	return i;
}

// Add the ranges that all threads found. No range was found twice, and the
// table of ranges sorts them, so their order does not matter.
static struct gr_error *merge_found(struct gr_image *image,
				    const struct copier *copiers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < copiers[i].found.size; k++)
			if (!gr_range_vector_append(&image->known,
						    copiers[i].found.data[k]))
				return &gr_enomem;
	return gr_image_update_ranges(image);
}

static struct gr_error *capture_finish(struct gr_image *image,
				       const struct copier *copiers,
				       size_t count, struct gr_copy **area)
{
	size_t known = image->known.size;

	struct gr_error *err = merge_found(image, copiers, count);
	if (err) {
		image->known.size = known;
		return err;
	}
	gr_image_keep(image, steal_ptr(*area));
	for (size_t i = 0; i < count; i++)
		image->private_bytes += copiers[i].got_bytes;
	image->plan.size = 0;
	image->is_plan_sorted = true;
	return NULL;
}

// Read all pieces into @p area. Their buffers already point into the area.
static struct gr_error *capture_run(struct gr_image *image,
				    const struct gr_pieces *pieces,
				    struct gr_copy **area)
{
	struct copier copiers[GR_MAX_COPY_THREADS] = { 0 };
	struct capture capture = { .pieces = pieces,
				   .lock = PTHREAD_MUTEX_INITIALIZER };
	size_t count = count_copiers(image, (*area)->mapped_bytes);
	struct gr_error *err = NULL;

	for (size_t i = 0; i < count; i++)
		copiers[i] = (struct copier){ .capture = &capture,
					      .source = image->source,
					      .may_poll = i == 0 };
	count = start_copiers(copiers, count);
	copier_run(&copiers[0]);
	for (size_t i = 1; i < count; i++)
		pthread_join(copiers[i].thread, NULL);
	for (size_t i = 0; i < count; i++) {
		if (!err)
			err = copiers[i].err;
		else
			gr_error_destroy(copiers[i].err);
	}
	// The other threads may have read everything, so that this one never
	// polled.
	if (!err && count > 1)
		err = gr_source_poll(image->target);
	if (!err)
		err = capture_finish(image, copiers, count, area);
	for (size_t i = 0; i < count; i++)
		gr_range_vector_deinit(&copiers[i].found);
	return err;
}

// Allocate memory from the kernel, in huge pages if available. A fork of our own
// process has it, too: a script may ask the copy in a child.
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

// Take the reserved area if it is large enough and unmap the rest of it;
// otherwise allocate a new area.
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
	if (!image->reserve) {
		err = gr_source_want(image->target, area_bytes(&pieces));
		if (err)
			return err;
	}
	_cleanup_(gr_cleanup_copy) struct gr_copy *area =
		take_area(image, area_bytes(&pieces));
	if (!area)
		return &gr_enomem;
	place_pieces(&pieces, area->mapped);
	return capture_run(image, &pieces, &area);
}
