// SPDX-License-Identifier: Apache-2.0
/*
 * The walk of both map designs. Source: runtime/map.go (hmap, bmap,
 * evacuated), internal/runtime/maps (Map, table, groupReference).
 */
#include "mark/container.h"

enum {
	SLOTS = GR_MAP_SLOTS,
	MAX_B = 48,
	MAX_OVERFLOW = 1 << 20,
};

/* The shape of this map type; the last shape is cached. False: the walk has
 * ended. */
static bool find_shape(struct gr_container *c, struct gr_map_shape *ret)
{
	struct gr_walk *w = c->w;
	struct gr_error *err;

	if (w->err)
		return false;
	if (!w->map_shape.bytes || w->map_shape_type != c->type) {
		err = gr_map_find_shape(&w->rt->layout, w->types, c->info,
					&w->map_shape);
		w->map_shape_type = c->type;
		if (err) {
			w->map_shape.bytes = 0;
			gr_walk_fail(w, err);
			return false;
		}
	}
	*ret = w->map_shape;
	return true;
}

/* Open the names of keys (part 0) or elements (1), if they hold pointers. */
static void open_part(struct gr_container *c, const struct gr_map_shape *shape,
		      const struct gr_map_part *at, gr_type_id type,
		      uint32_t part)
{
	struct gr_scope *scope = &c->values[part];

	if (type == GR_TYPE_NONE)
		return;
	gr_container_scope(c, type, part);
	uint64_t bytes = at->is_indirect ? GR_WORD_BYTES :
					   scope->plan->size_bytes;
	if ((!at->is_indirect && gr_type_plan_is_empty(scope->plan)) ||
	    at->off_bytes > shape->bytes ||
	    (SLOTS - 1) * at->stride + bytes > shape->bytes - at->off_bytes)
		scope->plan = NULL;
}

/* Run the slots of a bucket or group whose bytes in @p full are 0x80. */
static void run_entries(struct gr_container *c,
			const struct gr_map_shape *shape,
			const struct gr_container_part *piece, uint64_t full)
{
	gr_walk_run_entries(c->w, c->origin, shape, &c->values[0],
			    &c->values[1], full, piece->host, piece->word);
	gr_container_drop_done(c, piece, shape->bytes / GR_WORD_BYTES);
}

/* Run a bucket and its overflow chain. */
static void run_chain(struct gr_container *c, const struct gr_map_shape *shape,
		      struct gr_container_part bucket)
{
	for (uint32_t n = 0; bucket.host && n < MAX_OVERFLOW; n++) {
		gr_walk_note_read(c->w, bucket.host, GR_MAP_SLOTS);
		run_entries(c, shape, &bucket,
			    gr_map_full_in_bucket(bucket.host));
		bucket = gr_container_follow(c, &bucket,
					     shape->bytes - GR_WORD_BYTES);
		if (bucket.bytes < shape->bytes)
			break;
	}
}

/*
 * Run an array of buckets. The overflow buckets that were made with the array
 * lie behind it. Most of them are in a chain that was run already, but growing
 * unlinks some that still lead to others (runtime/map.go, evacuate).
 */
static void run_bucket_array(struct gr_container *c,
			     const struct gr_map_shape *shape,
			     const struct gr_container_part *array,
			     uint64_t count)
{
	if (!array->host)
		return;
	if (count > array->bytes / shape->bytes) {
		gr_gap_add(c->w->rt->gaps, GR_GAP_BROKEN_CONTAINERS, 1);
		count = array->bytes / shape->bytes;
	}
	uint64_t all = array->bytes / shape->bytes;
	// Bounded by the bytes of the array.
	for (uint64_t i = 0; i < all && !c->w->err; i++) {
		struct gr_container_part bucket = {
			array->host + i * shape->bytes,
			array->word + i * shape->bytes / GR_WORD_BYTES,
			shape->bytes,
		};
		run_chain(c, shape, bucket);
	}
}

/* Follow a list in hmap.extra, which keeps alive overflow buckets without
 * pointers. */
static void run_overflow_list(struct gr_container *c,
			      const struct gr_container_part *extra,
			      uint64_t off)
{
	struct gr_container_part slice = gr_container_follow(c, extra, off);

	if (!slice.host || slice.bytes < 3 * GR_WORD_BYTES)
		return;
	gr_walk_note_read(c->w, slice.host, 3 * GR_WORD_BYTES);
	uint64_t count = gr_load_u64(slice.host + GR_WORD_BYTES);
	struct gr_container_part list = gr_container_follow(c, &slice, 0);
	// Bounded by the bytes of the list.
	for (uint64_t i = 0;
	     list.host && i < count && (i + 1) * GR_WORD_BYTES <= list.bytes;
	     i++)
		gr_container_take(c, &list, i * GR_WORD_BYTES);
}

void gr_map_run_buckets(struct gr_container *c,
			const struct gr_container_part *header)
{
	const struct gr_layout *layout = &c->w->rt->layout;
	const typeof(layout->hmap) *f = &layout->hmap;
	uint64_t b = gr_field_uint(header->host, f->b);
	uint64_t flags = gr_field_uint(header->host, f->flags);
	struct gr_map_shape shape;

	gr_walk_note_read(c->w, header->host, layout->hmap.size_bytes);
	if (b > MAX_B) {
		gr_gap_add(c->w->rt->gaps, GR_GAP_BROKEN_CONTAINERS, 1);
		return;
	}
	if (!find_shape(c, &shape))
		return;
	open_part(c, &shape, &shape.key, c->info->key, 0);
	open_part(c, &shape, &shape.elem, c->info->elem, 1);
	uint64_t count = UINT64_C(1) << b;
	uint64_t old = b && !(flags & GR_MAP_SAME_SIZE_GROW) ? count / 2 :
							       count;
	struct gr_container_part array =
		gr_container_follow(c, header, f->buckets.off);
	run_bucket_array(c, &shape, &array, count);
	array = gr_container_follow(c, header, f->oldbuckets.off);
	run_bucket_array(c, &shape, &array, old);
	struct gr_container_part extra =
		gr_container_follow(c, header, f->extra.off);
	if (!extra.host || extra.bytes < layout->mapextra.size_bytes)
		return;
	run_overflow_list(c, &extra, layout->mapextra.overflow.off);
	run_overflow_list(c, &extra, layout->mapextra.oldoverflow.off);
	gr_container_take(c, &extra, layout->mapextra.next_overflow.off);
}

static void run_groups(struct gr_container *c, const struct gr_map_shape *shape,
		       const struct gr_container_part *groups, uint64_t count)
{
	if (!groups->host || !shape->bytes)
		return;
	if (count > groups->bytes / shape->bytes) {
		gr_gap_add(c->w->rt->gaps, GR_GAP_BROKEN_CONTAINERS, 1);
		count = groups->bytes / shape->bytes;
	}
	// Bounded by the bytes of the groups.
	for (uint64_t g = 0; g < count && !c->w->err; g++) {
		struct gr_container_part group = {
			groups->host + g * shape->bytes,
			groups->word + g * shape->bytes / GR_WORD_BYTES,
			shape->bytes,
		};
		gr_walk_note_read(c->w, group.host, GR_MAP_SLOTS);
		run_entries(c, shape, &group, gr_map_full_in_group(group.host));
	}
}

static void run_table(struct gr_container *c, const struct gr_map_shape *shape,
		      const struct gr_container_part *table)
{
	const typeof(c->w->rt->layout.swiss_table) *f =
		&c->w->rt->layout.swiss_table;

	if (!table->host || table->bytes < f->size_bytes)
		return;
	gr_walk_note_read(c->w, table->host, f->size_bytes);
	uint64_t mask = gr_field_uint(table->host, f->groups_mask);
	struct gr_container_part groups =
		gr_container_follow(c, table, f->groups_data.off);
	run_groups(c, shape, &groups, mask < UINT64_MAX ? mask + 1 : mask);
}

void gr_map_run_groups(struct gr_container *c,
		       const struct gr_container_part *header)
{
	const typeof(c->w->rt->layout.swiss_map) *f =
		&c->w->rt->layout.swiss_map;
	uint64_t dir_len = gr_field_uint(header->host, f->dir_len);
	struct gr_container_part dir =
		gr_container_follow(c, header, f->dir_ptr.off);
	struct gr_map_shape shape;

	gr_walk_note_read(c->w, header->host, f->size_bytes);
	if (!dir.host)
		return;
	if (!find_shape(c, &shape))
		return;
	open_part(c, &shape, &shape.key, c->info->key, 0);
	open_part(c, &shape, &shape.elem, c->info->elem, 1);
	if (!dir_len) {
		// A small map points directly to its only group.
		run_groups(c, &shape, &dir, 1);
		gr_container_finish(c, &dir);
		return;
	}
	if (dir_len > dir.bytes / GR_WORD_BYTES) {
		gr_gap_add(c->w->rt->gaps, GR_GAP_BROKEN_CONTAINERS, 1);
		dir_len = dir.bytes / GR_WORD_BYTES;
	}
	// Bounded by the bytes of the directory.
	for (uint64_t i = 0; i < dir_len && !c->w->err; i++) {
		// Several neighbouring entries may point to one table; the
		// first of them takes its words.
		struct gr_container_part table =
			gr_container_follow(c, &dir, i * GR_WORD_BYTES);
		run_table(c, &shape, &table);
	}
}
