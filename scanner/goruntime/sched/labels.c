// SPDX-License-Identifier: Apache-2.0
/*
 * Labels of goroutines. A labelMap is a map[string]string, or a struct with
 * nothing but a slice of pairs of strings.
 */
#include "goruntime/sched/labels.h"

#include "base/sort.h"
#include "base/vector.h"
#include "goruntime/types/map_shape.h"

enum {
	MAX_LABELS = 1024, /* of one set */
	MAX_TEXT_BYTES = 1024,
	MAX_STRING_BYTES = 1 << 24, /* a longer one is no string */
	MAX_LOG_BUCKETS = 8,
	MAX_BUCKET_BYTES = 1024,
	MAX_PAIR_BYTES = 64,
	MEAN_LABELS = 64, /* of all sets; more of them are left out */
	STRING_BYTES = 2 * GR_WORD_BYTES,
};

GR_VECTOR(label_vector, struct gr_label);

/** A goroutine with labels. */
struct labelled {
	uint64_t addr;
	size_t goroutine;
};

/** How the target has labels. */
struct labels {
	struct gr_runtime *rt;
	struct gr_arena *arena; /* for what is found */
	bool is_map;
	struct gr_map_shape shape;
	uint64_t pair_bytes, key_off, value_off; /* of an element of the list */
	uint64_t left; /* labels that may still be read */
	struct label_vector found;
	bool is_bad; /* the set that is being read cannot be one */
};

// --------------------------------------------------------------------- types

static bool is_string(const struct gr_types *types, gr_type_id type)
{
	return type != GR_TYPE_NONE &&
	       gr_types_get(types, type)->kind == GR_KIND_STRING;
}

/* The slice that a struct begins with, or GR_TYPE_NONE. */
static gr_type_id find_list(const struct gr_types *types, gr_type_id type)
{
	for (unsigned int depth = 0; depth < 4 && type != GR_TYPE_NONE;
	     depth++) {
		const struct gr_type *t = gr_types_get(types, type);

		if (t->kind == GR_KIND_SLICE)
			return type;
		if (t->kind != GR_KIND_STRUCT || t->nfields != 1)
			break;
		type = gr_types_field(types, t, 0)->type;
	}
	return GR_TYPE_NONE;
}

/* Learn where the strings of a list's elements are. */
static bool learn_list(struct labels *l, const struct gr_types *types,
		       gr_type_id type)
{
	gr_type_id list = find_list(types, type);

	if (list == GR_TYPE_NONE)
		return false;
	gr_type_id elem = gr_types_get(types, list)->elem;
	if (elem == GR_TYPE_NONE)
		return false;
	const struct gr_type *pair = gr_types_get(types, elem);
	if (pair->kind != GR_KIND_STRUCT || pair->nfields != 2)
		return false;
	const struct gr_type_field *key = gr_types_field(types, pair, 0);
	const struct gr_type_field *value = gr_types_field(types, pair, 1);
	l->pair_bytes = pair->size_bytes;
	l->key_off = key->off_bytes;
	l->value_off = value->off_bytes;
	return is_string(types, key->type) && is_string(types, value->type) &&
	       l->pair_bytes <= MAX_PAIR_BYTES &&
	       l->key_off + STRING_BYTES <= l->pair_bytes &&
	       l->value_off + STRING_BYTES <= l->pair_bytes;
}

static bool is_within(const struct gr_map_shape *shape,
		      const struct gr_map_part *part)
{
	return !part->is_indirect && part->stride <= MAX_BUCKET_BYTES &&
	       part->off_bytes + (GR_MAP_SLOTS - 1) * part->stride +
			       STRING_BYTES <=
		       shape->bytes;
}

static struct gr_error *learn_map(struct labels *l, struct gr_types *types,
				  const struct gr_type *map, bool *is_fine)
{
	l->is_map = true;
	// Only buckets: the releases with groups have lists of labels.
	*is_fine = is_string(types, map->key) && is_string(types, map->elem) &&
		   !l->rt->layout.swiss_map.size_bytes;
	if (!*is_fine)
		return NULL;
	struct gr_error *err =
		gr_map_find_shape(&l->rt->layout, types, map, &l->shape);
	*is_fine = !err && l->shape.bytes <= MAX_BUCKET_BYTES &&
		   is_within(&l->shape, &l->shape.key) &&
		   is_within(&l->shape, &l->shape.elem);
	return err;
}

/* *@p is_fine is false if labels cannot be of this type. */
static struct gr_error *learn(struct labels *l, struct gr_types *types,
			      gr_type_id type, bool *is_fine)
{
	*is_fine = false;
	if (type == GR_TYPE_NONE)
		return NULL;
	const struct gr_type *t = gr_types_get(types, type);
	if (t->kind == GR_KIND_MAP)
		return learn_map(l, types, t, is_fine);
	*is_fine = learn_list(l, types, type);
	return NULL;
}

// --------------------------------------------------------------------- a set

/* Read memory; false: it is not there, or *@p err is set. */
static bool read_memory(struct labels *l, uint64_t addr, void *buf,
			uint64_t bytes, struct gr_error **err)
{
	*err = gr_image_read(l->rt->image, addr, buf, bytes);
	if (gr_error_catch(err, GR_ERROR_FAULT))
		l->is_bad = true;
	return !*err && !l->is_bad;
}

/* The text of a string header. */
static struct gr_error *read_text(struct labels *l, const uint8_t *header,
				  const char **ret)
{
	uint64_t bytes = gr_load_u64(header + GR_WORD_BYTES);
	char text[MAX_TEXT_BYTES];
	struct gr_error *err;

	*ret = "";
	l->is_bad |= bytes > MAX_STRING_BYTES;
	if (bytes > sizeof(text))
		bytes = sizeof(text);
	if (l->is_bad || !bytes)
		return NULL;
	if (!read_memory(l, gr_load_u64(header), text, bytes, &err))
		return err;
	*ret = gr_arena_intern(l->arena, text, bytes);
	return *ret ? NULL : &gr_enomem;
}

static struct gr_error *add_label(struct labels *l, const uint8_t *key,
				  const uint8_t *value)
{
	struct gr_label label = { "", "" };
	struct gr_error *err = gr_runtime_step(l->rt, 4);

	if (l->found.size >= MAX_LABELS || l->found.size >= l->left)
		l->is_bad = true;
	if (!err)
		err = read_text(l, key, &label.key);
	if (!err)
		err = read_text(l, value, &label.value);
	if (err || l->is_bad)
		return err;
	return label_vector_append(&l->found, label) ? NULL : &gr_enomem;
}

static struct gr_error *read_list(struct labels *l, uint64_t addr)
{
	struct gr_error *err;
	uint64_t slice[3];

	if (!read_memory(l, addr, slice, sizeof(slice), &err))
		return err;
	l->is_bad = slice[1] > slice[2] || slice[1] > MAX_LABELS;
	for (uint64_t i = 0; !err && !l->is_bad && i < slice[1]; i++) {
		uint8_t pair[MAX_PAIR_BYTES];

		if (read_memory(l, slice[0] + i * l->pair_bytes, pair,
				l->pair_bytes, &err))
			err = add_label(l, pair + l->key_off,
					pair + l->value_off);
	}
	return err;
}

/* The entries of a bucket and of those that overflow from it. A bucket that was
 * moved (runtime/map.go: evacuated) has no slot in use. */
static struct gr_error *read_chain(struct labels *l, uint64_t bucket,
				   uint64_t *buckets_left)
{
	const struct gr_map_shape *shape = &l->shape;
	struct gr_error *err = NULL;
	uint8_t buf[MAX_BUCKET_BYTES];

	// Bounded by *buckets_left.
	while (!err && bucket && !l->is_bad) {
		err = gr_runtime_step(l->rt, 4);
		l->is_bad = !(*buckets_left)--;
		if (err || l->is_bad ||
		    !read_memory(l, bucket, buf, shape->bytes, &err))
			return err;
		uint64_t full = gr_map_full_in_bucket(buf);
		for (unsigned int i = 0; !err && i < GR_MAP_SLOTS; i++)
			if (full >> i * 8 & 0x80)
				err = add_label(l,
						buf + shape->key.off_bytes +
							i * shape->key.stride,
						buf + shape->elem.off_bytes +
							i * shape->elem.stride);
		bucket = gr_load_u64(buf + shape->bytes - GR_WORD_BYTES);
	}
	return err;
}

/* Buckets may lead to others, but all together to no more than twice as many
 * as there are, and the labels that a set may have. */
static struct gr_error *read_buckets(struct labels *l, uint64_t addr,
				     uint64_t count)
{
	uint64_t left = 2 * count + MAX_LABELS;
	struct gr_error *err = NULL;

	// Bounded by 1 << MAX_LOG_BUCKETS.
	for (uint64_t i = 0; !err && addr && !l->is_bad && i < count; i++)
		err = read_chain(l, addr + i * l->shape.bytes, &left);
	return err;
}

/* While a map grows, an entry is in a new bucket or in an old one. */
static struct gr_error *read_map(struct labels *l, uint64_t addr)
{
	const typeof(l->rt->layout.hmap) *f = &l->rt->layout.hmap;
	uint8_t header[MAX_BUCKET_BYTES];
	struct gr_error *err;
	uint64_t map;

	if (!read_memory(l, addr, &map, sizeof(map), &err) || !map)
		return err;
	l->is_bad = f->size_bytes > sizeof(header);
	if (l->is_bad || !read_memory(l, map, header, f->size_bytes, &err))
		return err;
	uint64_t count = gr_field_uint(header, f->count);
	uint64_t log = gr_field_uint(header, f->b);
	l->is_bad = count > MAX_LABELS || log > MAX_LOG_BUCKETS;
	if (!l->is_bad)
		err = read_buckets(l, gr_field_uint(header, f->buckets),
				   UINT64_C(1) << log);
	// There are as many old ones, or half of them.
	uint64_t old = gr_field_uint(header, f->oldbuckets);
	uint64_t flags = gr_field_uint(header, f->flags);
	if (!err && !l->is_bad && log && old &&
	    !(flags & GR_MAP_SAME_SIZE_GROW))
		log--;
	if (!err && !l->is_bad)
		err = read_buckets(l, old, UINT64_C(1) << log);
	l->is_bad |= l->found.size != count;
	return err;
}

static int by_key(const void *a, const void *b)
{
	const struct gr_label *x = a, *y = b;

	return strcmp(x->key, y->key);
}

/* The set at @p addr; NULL if there is none. */
static struct gr_error *read_set(struct labels *l, uint64_t addr,
				 const struct gr_label_set **ret)
{
	struct gr_label_set *set;
	struct gr_error *err;

	*ret = NULL;
	l->found.size = 0;
	l->is_bad = false;
	err = l->is_map ? read_map(l, addr) : read_list(l, addr);
	l->left -= l->found.size;
	if (err || l->is_bad || !l->found.size)
		return err;
	qsort(l->found.data, l->found.size, sizeof(*l->found.data), by_key);
	set = gr_arena_alloc(
		l->arena, sizeof(*set) + l->found.size * sizeof(*set->labels));
	if (!set)
		return &gr_enomem;
	set->nlabels = l->found.size;
	memcpy(set->labels, l->found.data,
	       l->found.size * sizeof(*set->labels));
	*ret = set;
	return NULL;
}

// ---------------------------------------------------------------- goroutines

static int by_addr(const void *a, const void *b)
{
	const struct labelled *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->goroutine > y->goroutine) - (x->goroutine < y->goroutine);
}

static struct gr_error *read_sets(struct labels *l, struct gr_sched *sched,
				  struct labelled *gs, size_t n)
{
	const struct gr_label_set *set = NULL;
	struct gr_error *err;

	err = gr_sort(gs, n, sizeof(*gs), by_addr, l->rt->poll,
		      l->rt->poll_ctx);
	for (size_t i = 0; !err && i < n; i++) {
		err = gr_runtime_step(l->rt, 1);
		if (!err && (!i || gs[i].addr != gs[i - 1].addr))
			err = read_set(l, gs[i].addr, &set);
		sched->goroutines[gs[i].goroutine].labels = set;
	}
	return err;
}

struct gr_error *gr_labels_read_at(struct gr_types *types, gr_type_id type,
				   uint64_t addr, struct gr_arena *arena,
				   const struct gr_label_set **ret)
{
	struct labels l = {
		.rt = gr_types_runtime(types),
		.arena = arena,
		.left = MAX_LABELS,
	};
	bool is_fine;
	struct gr_error *err = learn(&l, types, type, &is_fine);

	*ret = NULL;
	if (!err && is_fine)
		err = read_set(&l, addr, ret);
	label_vector_deinit(&l.found);
	return err;
}

bool gr_labels_are_there(const struct gr_sched *sched)
{
	for (size_t i = 0; i < sched->ngoroutines; i++)
		if (sched->goroutines[i].labels_addr)
			return true;
	return false;
}

struct gr_error *gr_labels_read(struct gr_types *types, gr_type_id type,
				struct gr_sched *sched)
{
	struct labels l = {
		.rt = sched->rt,
		.arena = sched->rt->arena,
		.left = MAX_LABELS + (uint64_t)sched->ngoroutines * MEAN_LABELS,
	};
	_cleanup_free_ struct labelled *gs =
		calloc(sched->ngoroutines + 1, sizeof(*gs));
	struct gr_error *err = NULL;
	bool is_fine = false;
	size_t n = 0;

	if (!gs)
		return &gr_enomem;
	for (size_t i = 0; i < sched->ngoroutines; i++)
		if (sched->goroutines[i].labels_addr)
			gs[n++] = (struct labelled){
				sched->goroutines[i].labels_addr, i
			};
	if (n)
		err = learn(&l, types, type, &is_fine);
	if (!err && is_fine)
		err = read_sets(&l, sched, gs, n);
	label_vector_deinit(&l.found);
	return err;
}
