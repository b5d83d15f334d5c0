// SPDX-License-Identifier: Apache-2.0
/*
 * A ring of slots. The caller fills slot number n % size with the addresses of
 * pages; a thread that is free packs the next slot that is filled; the caller
 * writes the frame of the oldest slot before it fills it again. There is one
 * slot more than threads, so that none waits while the caller writes.
 */
#include "savedfile/batches.h"

#include <pthread.h>

#include "base/cleanup.h"
#include "base/thread.h"

/* A batch, its planes, and what they are packed into. */
#define SLOT_BYTES (UINT64_C(28) * GR_BATCH_PAGES * GR_SET_PAGE_WORDS)

enum slot_state { SLOT_FREE, SLOT_FILLED, SLOT_TAKEN, SLOT_PACKED };

struct slot {
	enum slot_state state; /* under the lock */
	uint32_t npages;
	uint64_t addr[GR_BATCH_PAGES];
	const uint64_t *present[GR_BATCH_PAGES];
	struct gr_page_words page;
	struct gr_batch_writer *batch;
	struct gr_frame_packer *packer;
	struct gr_packed_frame frame; /* packed; no bytes: nothing is left */
	struct gr_error *err;
};

struct gr_batches {
	struct gr_batches_spec spec;
	struct slot *slots[GR_BATCH_THREADS + 1];
	uint64_t nslots;
	uint64_t filled, written; /* slots so far; the caller's */
	pthread_mutex_t lock;
	pthread_cond_t is_filled, is_packed;
	uint64_t taken; /* by threads; under the lock */
	bool is_over;	/* under the lock */
	pthread_t threads[GR_BATCH_THREADS];
	unsigned int nthreads;
};

// ------------------------------------------------------------------- packing

static void slot_destroy(struct slot *slot)
{
	if (!slot)
		return;
	gr_batch_writer_destroy(slot->batch);
	gr_frame_packer_destroy(slot->packer);
	gr_error_destroy(slot->err);
	free(slot);
}

static struct slot *slot_create(void)
{
	struct slot *slot = calloc(1, sizeof(*slot));

	if (!slot)
		return NULL;
	slot->batch = gr_batch_writer_create();
	slot->packer = gr_frame_packer_create();
	if (slot->batch && slot->packer)
		return slot;
	slot_destroy(slot);
	return NULL;
}

static void pack(const struct gr_batches_spec *spec, struct slot *slot)
{
	struct gr_page_words *page = &slot->page;

	slot->frame = (struct gr_packed_frame){ 0 };
	for (uint32_t i = 0; i < slot->npages; i++) {
		page->addr = slot->addr[i];
		memcpy(page->present, slot->present[i], sizeof(page->present));
		if (spec->read(spec->ctx, page))
			gr_batch_add(slot->batch, page);
	}
	slot->npages = 0;
	if (!gr_batch_pages(slot->batch))
		return;
	struct gr_bytes bytes = gr_batch_take(slot->batch);
	slot->err = gr_frame_pack(slot->packer, GR_FRAME_PAGES, bytes.data,
				  bytes.size, &slot->frame);
}

/* Wait for a slot to pack; NULL: there will be none. */
static struct slot *take_slot(struct gr_batches *b)
{
	struct slot *slot = NULL;

	pthread_mutex_lock(&b->lock);
	for (; !slot && !b->is_over;) {
		slot = b->slots[b->taken % b->nslots];
		if (slot->state == SLOT_FILLED) {
			slot->state = SLOT_TAKEN;
			b->taken++;
		} else {
			slot = NULL;
			pthread_cond_wait(&b->is_filled, &b->lock);
		}
	}
	pthread_mutex_unlock(&b->lock);
	return slot;
}

/* Set a state, and wake who waits for it; NULL: nobody does. */
static void set_state(struct gr_batches *b, struct slot *slot,
		      enum slot_state state, pthread_cond_t *changed)
{
	pthread_mutex_lock(&b->lock);
	slot->state = state;
	if (changed)
		pthread_cond_signal(changed);
	pthread_mutex_unlock(&b->lock);
}

static void *run(void *arg)
{
	struct gr_batches *b = arg;

	// Bounded by the batches; is_over ends it.
	for (struct slot *slot; (slot = take_slot(b));) {
		pack(&b->spec, slot);
		set_state(b, slot, SLOT_PACKED, &b->is_packed);
	}
	return NULL;
}

// ------------------------------------------------------------------- writing

/* Wait until a slot is packed, or until the next poll. @return false: it is not
 * packed. */
static bool wait_packed(struct gr_batches *b, const struct slot *slot)
{
	const struct timespec until = gr_thread_soon();

	pthread_mutex_lock(&b->lock);
	if (slot->state != SLOT_PACKED)
		pthread_cond_timedwait(&b->is_packed, &b->lock, &until);
	bool is_packed = slot->state == SLOT_PACKED;
	pthread_mutex_unlock(&b->lock);
	return is_packed;
}

static struct gr_error *poll(const struct gr_batches *b)
{
	return b->spec.poll ? b->spec.poll(b->spec.poll_ctx) : NULL;
}

/* Write the frame of the oldest slot, and free it. */
static struct gr_error *write_oldest(struct gr_batches *b)
{
	struct slot *slot = b->slots[b->written % b->nslots];
	struct gr_error *err = poll(b);

	while (!err && !wait_packed(b, slot))
		err = poll(b);
	if (err)
		return err;
	b->written++;
	set_state(b, slot, SLOT_FREE, NULL);
	err = steal_ptr(slot->err);
	return err || !slot->frame.bytes ?
		       err :
		       gr_frame_write_packed(b->spec.frames, &slot->frame);
}

/* The slot that is being filled has its pages: have it packed. */
static struct gr_error *hand_over(struct gr_batches *b)
{
	struct slot *slot = b->slots[b->filled++ % b->nslots];

	if (b->nthreads) {
		set_state(b, slot, SLOT_FILLED, &b->is_filled);
	} else {
		pack(&b->spec, slot);
		set_state(b, slot, SLOT_PACKED, NULL);
	}
	return b->filled - b->written < b->nslots ? NULL : write_oldest(b);
}

struct gr_error *gr_batches_add(struct gr_batches *b, uint64_t addr,
				const uint64_t *present)
{
	struct slot *slot = b->slots[b->filled % b->nslots];

	slot->addr[slot->npages] = addr;
	slot->present[slot->npages++] = present;
	return slot->npages == GR_BATCH_PAGES ? hand_over(b) : NULL;
}

struct gr_error *gr_batches_end(struct gr_batches *b)
{
	struct slot *slot = b->slots[b->filled % b->nslots];
	struct gr_error *err = slot->npages ? hand_over(b) : NULL;

	while (!err && b->written < b->filled)
		err = write_oldest(b);
	return err;
}

// ----------------------------------------------------------- begin and end

void gr_batches_destroy(struct gr_batches *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->is_over = true;
	pthread_cond_broadcast(&b->is_filled);
	pthread_mutex_unlock(&b->lock);
	for (unsigned int i = 0; i < b->nthreads; i++)
		pthread_join(b->threads[i], NULL);
	for (size_t i = 0; i < GR_ARRAY_SIZE(b->slots); i++)
		slot_destroy(b->slots[i]);
	pthread_cond_destroy(&b->is_filled);
	pthread_cond_destroy(&b->is_packed);
	pthread_mutex_destroy(&b->lock);
	free(b);
}
GR_DEFINE_CLEANUP(batches, struct gr_batches, gr_batches_destroy)

/* Take memory for a slot more than threads, or for fewer. The caller's thread
 * needs one slot. */
static struct gr_error *make_slots(struct gr_batches *b, unsigned int nthreads)
{
	uint64_t n = nthreads > 1 ? nthreads + 1 : 1;
	struct gr_error *err = NULL;

	while (!err && b->nslots < n) {
		if (b->spec.want)
			err = b->spec.want(b->spec.want_ctx,
					   (b->nslots + 1) * SLOT_BYTES);
		if (!err && !(b->slots[b->nslots] = slot_create()))
			err = &gr_enomem;
		if (!err)
			b->nslots++;
	}
	if (!b->nslots)
		return err;
	gr_error_destroy(err);
	return NULL;
}

static void start_threads(struct gr_batches *b)
{
	while (b->nthreads + 1 < b->nslots &&
	       gr_thread_start(&b->threads[b->nthreads], run, b))
		b->nthreads++;
}

struct gr_error *gr_batches_create(const struct gr_batches_spec *spec,
				   struct gr_batches **ret)
{
	_cleanup_(gr_cleanup_batches) struct gr_batches *b =
		calloc(1, sizeof(*b));

	GR_ASSERT(spec->nthreads && spec->nthreads <= GR_BATCH_THREADS);
	if (!b)
		return &gr_enomem;
	b->spec = *spec;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->is_filled, NULL);
	pthread_cond_init(&b->is_packed, NULL);
	struct gr_error *err = make_slots(b, spec->nthreads);
	if (err)
		return err;
	start_threads(b);
	*ret = steal_ptr(b);
	return NULL;
}
