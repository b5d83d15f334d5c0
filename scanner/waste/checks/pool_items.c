// SPDX-License-Identifier: Apache-2.0
/*
 * A table of a pool is an array of poolLocal, one for each P: a private item
 * and a chain of rings. The tail of the chain is its oldest ring, and leads to
 * the newer ones.
 */
#include "waste/checks/pool_items.h"

#include "base/cleanup.h"

enum {
	MAX_RINGS = 64, /* of a chain: each has twice as many places */
	ITEM_WORDS = 2,
	PIECE_WORDS = 512,
};

struct reader {
	const struct gr_heap *heap;
	struct gr_runtime *rt;
	const struct gr_pool_layout *layout;
	uint64_t *left;
	struct gr_pool_item_vector *ret;
};

/* Is memory missing, or left out of a damaged saved file? */
static bool catch_missing(struct gr_error **errp)
{
	return gr_error_catch(errp, GR_ERROR_FAULT) ||
	       gr_error_catch(errp, GR_ERROR_NOT_SAVED);
}

static const struct gr_type_field *named(const struct gr_types *types,
					 const struct gr_type_field *outer,
					 const char *name)
{
	return outer ? gr_types_field_named(types, outer->type, name) : NULL;
}

struct gr_error *gr_pool_layout_find(struct gr_types *types,
				     struct gr_pool_layout *ret, bool *is_known)
{
	gr_type_id local = gr_types_known(types, GR_NAME_POOL_LOCAL);
	gr_type_id ring = gr_types_find(types, "sync.poolChainElt");
	const struct gr_type_field *inner =
		gr_types_field_named(types, local, "poolLocalInternal");
	const struct gr_type_field *private = named(types, inner, "private");
	const struct gr_type_field *shared = named(types, inner, "shared");
	const struct gr_type_field *tail = named(types, shared, "tail");
	const struct gr_type_field *queue =
		gr_types_field_named(types, ring, "poolDequeue");
	const struct gr_type_field *vals = named(types, queue, "vals");
	const struct gr_type_field *next =
		gr_types_field_named(types, ring, "next");
	struct gr_error *err = gr_types_take_error(types);

	*is_known = !err && private && tail && vals && next &&
		    gr_types_get(types, local)->size_bytes;
	if (!*is_known)
		return err;
	*ret = (struct gr_pool_layout){
		.local_bytes = gr_types_get(types, local)->size_bytes,
		.private_off = inner->off_bytes + private->off_bytes,
		.tail_off =
			inner->off_bytes + shared->off_bytes + tail->off_bytes,
		.vals_off = queue->off_bytes + vals->off_bytes,
		.next_off = next->off_bytes,
	};
	return NULL;
}

/* Bytes from @p addr to the end of its object; 0: it lies in none. */
static uint64_t bytes_from(const struct gr_heap *heap, uint64_t addr)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(heap, addr, &span);

	return obj == GR_OBJ_NONE ?
		       0 :
		       gr_span_slot_addr(span, obj - span->first_obj) +
			       span->elem_bytes - addr;
}

static struct gr_error *add_item(struct reader *r, uint64_t type_addr,
				 uint64_t data)
{
	const struct gr_pool_item item = { type_addr, data };

	// An item is put in the order data, type; an empty place has no type.
	return type_addr && data ? gr_runtime_append(r->rt, gr_pool_item_vector,
						     r->ret, item) :
				   NULL;
}

/* Read the items in @p n places from @p addr on. */
static struct gr_error *read_places(struct reader *r, uint64_t addr, uint64_t n)
{
	uint64_t words[PIECE_WORDS];
	struct gr_error *err = NULL;

	for (uint64_t done = 0, count; !err && done < n; done += count) {
		count = n - done < PIECE_WORDS / ITEM_WORDS ?
				n - done :
				PIECE_WORDS / ITEM_WORDS;
		err = gr_image_read(r->rt->image,
				    addr + done * ITEM_WORDS * GR_WORD_BYTES,
				    words, count * ITEM_WORDS * GR_WORD_BYTES);
		for (uint64_t i = 0; !err && i < count; i++)
			err = add_item(r, words[i * ITEM_WORDS],
				       words[i * ITEM_WORDS + 1]);
		if (!err)
			err = gr_runtime_step(r->rt, count / 4 + 1);
	}
	catch_missing(&err);
	return err;
}

/* Take at most @p n from what is left. */
static uint64_t take(struct reader *r, uint64_t n)
{
	n = n < *r->left ? n : *r->left;
	*r->left -= n;
	return n;
}

static struct gr_error *read_ring(struct reader *r, uint64_t ring)
{
	struct gr_go_slice vals;
	struct gr_error *err = gr_runtime_read_slice(
		r->rt, ring + r->layout->vals_off, r->heap->nwords, &vals);

	if (catch_missing(&err) || gr_error_catch(&err, GR_ERROR_FORMAT) || err)
		return err;
	uint64_t most =
		bytes_from(r->heap, vals.addr) / (ITEM_WORDS * GR_WORD_BYTES);
	return read_places(r, vals.addr,
			   take(r, vals.len < most ? vals.len : most));
}

static struct gr_error *read_chain(struct reader *r, uint64_t ring)
{
	struct gr_error *err = NULL;

	for (int i = 0; !err && i < MAX_RINGS && bytes_from(r->heap, ring);
	     i++) {
		err = read_ring(r, ring);
		if (!err)
			err = gr_image_read_u64(r->rt->image,
						ring + r->layout->next_off,
						&ring);
	}
	catch_missing(&err);
	return err;
}

static struct gr_error *read_local(struct reader *r, uint64_t local)
{
	uint64_t ring;
	struct gr_error *err =
		read_places(r, local + r->layout->private_off, 1);

	if (!err)
		err = gr_image_read_u64(r->rt->image,
					local + r->layout->tail_off, &ring);
	if (catch_missing(&err) || err)
		return err;
	return read_chain(r, ring);
}

struct gr_error *gr_pool_items_read(const struct gr_heap *heap,
				    const struct gr_pool_layout *layout,
				    const struct gr_pool *pool, uint64_t *left,
				    struct gr_pool_item_vector *ret)
{
	struct reader r = { .heap = heap,
			    .rt = heap->rt,
			    .layout = layout,
			    .left = left,
			    .ret = ret };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(pool->tables); i++) {
		uint64_t table = pool->tables[i];
		uint64_t n =
			take(&r, bytes_from(heap, table) / layout->local_bytes);

		for (uint64_t k = 0; !err && k < n; k++) {
			err = read_local(&r, table + k * layout->local_bytes);
			if (!err)
				err = gr_runtime_step(r.rt, 4);
		}
	}
	return err;
}
