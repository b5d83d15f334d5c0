// SPDX-License-Identifier: Apache-2.0
/*
 * Strings and byte slices with equal bytes, each in an object of its own. All
 * but the one at the lowest address could be that one. An object counts if all
 * that is reached of it is one string or one slice, so that it would be
 * garbage: a piece of it that is kept elsewhere would keep it.
 *
 * Equal objects are found by sorting hashes, in parts of the range of hashes,
 * so that the table stays small. Equal hashes are only candidates: bytes
 * decide.
 */
#include "waste/checks/checks.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "waste/objects/objects.h"

enum {
	CHECK = 1 << GR_WASTE_DUPLICATE_STRINGS,
	TABLE_SHARE = 5, /* one object in so many has a row at a time */
	TABLE_LEAST = 1 << 16,
	MAX_PARTS = 64,
	/* Different contents of one hash that are told apart. */
	MAX_CONTENTS = 8,
	STEP_BYTES = 256, /* that are hashed in the time of a step */
};

/* A candidate, by its hash. */
struct row {
	uint32_t hash;
	gr_obj obj;
};

struct duplicates {
	struct gr_waste_run *run;
	uint64_t *bits; /* A bit an object: it could be another one. */
	struct gr_content contents[2];
	const uint8_t *bytes[2]; /* of the objects that are compared */
	gr_obj read;		 /* whose bytes are the first of them */
	struct row *rows, *spare;
	size_t nrows, capacity;
	bool is_full; /* almost all rows have different contents */
	unsigned int part, nparts;
};

/* The content of an object: bytes [off, off + bytes). */
struct range {
	uint64_t off, bytes;
};

static bool is_bytes(const struct gr_types *types, gr_type_id id)
{
	return id != GR_TYPE_NONE &&
	       gr_types_get(types, id)->kind == GR_KIND_UINT8;
}

static bool applies(struct gr_waste_run *run, const struct gr_waste_kind *kind)
{
	if (kind->form == GR_FORM_STRING)
		return true;
	// An array of a fixed length is no slice: it may be written to.
	return kind->form == GR_FORM_ARRAY && kind->label & GR_LABEL_DATA &&
	       is_bytes(run->types, kind->type);
}

/* Would the object be garbage without one string or slice? Then get its
 * bytes. */
static bool find_range(const struct gr_waste_run *run,
		       const struct gr_waste_object *object, struct range *ret)
{
	const struct gr_interval *list;
	struct gr_interval one;

	if (!object->span->is_noscan ||
	    !gr_reach_is_one_view(&run->reach, object->obj) ||
	    gr_reach_get(&run->reach, object->obj, &one, &list) != 1)
		return false;
	*ret = (struct range){ list->lo, list->used - list->lo };
	if (!ret->bytes)
		return false;
	if (gr_span_may_be_tiny(object->span))
		return list->used == list->hi;
	return !ret->off && gr_slot_of(&run->classes, ret->bytes, true) ==
				    object->slot_bytes;
}

static const uint8_t *content(struct duplicates *d, int which,
			      const struct gr_waste_object *object,
			      const struct range *range)
{
	return gr_content_at(&d->contents[which], d->run->heap, object->span,
			     object->addr + range->off, range->bytes);
}

// ----------------------------------------------------------------- the table

/* Count a candidate. */
static struct gr_error *count(struct gr_waste_run *run,
			      const struct gr_waste_object *object, void *ctx)
{
	struct duplicates *d = ctx;
	struct range range;

	d->nrows += find_range(run, object, &range);
	return NULL;
}

/* Sort the rows by their hashes; those of one hash stay in the order of
 * addresses. */
static void sort_rows(struct duplicates *d)
{
	enum { DIGIT = 11, DIGITS = 3, BUCKETS = 1 << DIGIT };

	for (int digit = 0; digit < DIGITS; digit++) {
		unsigned int shift = digit * DIGIT;
		size_t starts[BUCKETS + 1] = { 0 };
		struct row *rows = d->rows;

		for (size_t i = 0; i < d->nrows; i++)
			starts[(rows[i].hash >> shift & (BUCKETS - 1)) + 1]++;
		for (size_t i = 0; i < BUCKETS; i++)
			starts[i + 1] += starts[i];
		for (size_t i = 0; i < d->nrows; i++)
			d->spare[starts[rows[i].hash >> shift &
					(BUCKETS - 1)]++] = rows[i];
		d->rows = d->spare;
		d->spare = rows;
	}
}

// ------------------------------------------------------------------- equality

/* A content that was found, by the first object that has it. */
struct known {
	gr_obj obj;
	enum gr_form form;
	struct range range;
};

/* Has an object the content that was read last? */
static bool is_equal(const struct duplicates *d, const struct known *a,
		     const struct known *b)
{
	return a->form == b->form && a->range.bytes == b->range.bytes &&
	       d->bytes[0] && d->bytes[1] &&
	       !memcmp(d->bytes[0], d->bytes[1], a->range.bytes);
}

/* Get the bytes of an object as content number @p which. */
static void read_content(struct duplicates *d, int which, gr_obj obj,
			 struct known *ret)
{
	struct gr_waste_object object;

	if (which == 0 && d->read == obj)
		return;
	gr_waste_object_get(d->run, obj, &object);
	*ret = (struct known){ .obj = obj, .form = object.kind->form };
	d->bytes[which] = find_range(d->run, &object, &ret->range) ?
				  content(d, which, &object, &ret->range) :
				  NULL;
	if (which == 0)
		d->read = obj;
}

/* Find the objects of one hash that are equal to one before them. */
static struct gr_error *compare_rows(struct duplicates *d, size_t first,
				     size_t end)
{
	struct known contents[MAX_CONTENTS], own;
	struct gr_error *err = NULL;
	size_t n = 0;

	for (size_t i = first; !err && i < end; i++) {
		bool is_known = false;

		err = gr_runtime_step(d->run->heap->rt, n + 1);
		read_content(d, 1, d->rows[i].obj, &own);
		for (size_t k = 0; !is_known && k < n; k++) {
			read_content(d, 0, contents[k].obj, &contents[k]);
			is_known = is_equal(d, &contents[k], &own);
		}
		if (is_known)
			gr_bitmap_set(d->bits, own.obj);
		else if (n < MAX_CONTENTS)
			contents[n++] = own;
	}
	return err;
}

/* Find equal objects among the rows. */
static struct gr_error *compare_all(struct duplicates *d)
{
	struct gr_error *err = NULL;

	d->read = GR_OBJ_NONE; // add_row() reads, too
	sort_rows(d);
	for (size_t i = 0, end; !err && i < d->nrows; i = end) {
		for (end = i + 1;
		     end < d->nrows && d->rows[end].hash == d->rows[i].hash;)
			end++;
		if (end > i + 1)
			err = compare_rows(d, i, end);
	}
	return err;
}

/* Make room in a full table: rows that are equal to one before them need no
 * more comparisons. The first ones of a hash stay before later ones. */
static struct gr_error *make_room(struct duplicates *d)
{
	struct gr_error *err = compare_all(d);
	size_t n = 0;

	for (size_t i = 0; i < d->nrows; i++)
		if (!gr_bitmap_test(d->bits, d->rows[i].obj))
			d->rows[n++] = d->rows[i];
	d->nrows = n;
	d->is_full = n > d->capacity / 8 * 7;
	return err;
}

/* Add a candidate to the table if its hash lies in the part at hand. */
static struct gr_error *add_row(struct gr_waste_run *run,
				const struct gr_waste_object *object, void *ctx)
{
	struct duplicates *d = ctx;
	struct gr_error *err;
	const uint8_t *bytes;
	struct range range;
	uint32_t hash;

	if (!find_range(run, object, &range))
		return NULL;
	bytes = content(d, 0, object, &range);
	if (!bytes)
		return NULL;
	hash = gr_hash_bytes(bytes, range.bytes) +
	       (object->kind->form == GR_FORM_STRING);
	err = gr_runtime_step(run->heap->rt, range.bytes / STEP_BYTES);
	if (err || (uint64_t)hash * d->nparts >> 32 != d->part)
		return err;
	if (d->nrows == d->capacity && !d->is_full)
		err = make_room(d);
	if (d->nrows < d->capacity)
		d->rows[d->nrows++] = (struct row){ hash, object->obj };
	return err;
}

/* Find equal objects in the part of the hashes at hand. */
static struct gr_error *find_in_part(struct duplicates *d)
{
	struct gr_error *err;

	d->nrows = 0;
	d->is_full = false;
	err = gr_waste_each(d->run, CHECK, add_row, d);
	return err ? err : compare_all(d);
}

/* Make the table: a few rows more than its share, as hashes are not even. */
static struct gr_error *find_all(struct duplicates *d)
{
	uint64_t most = d->run->heap->nobjs / TABLE_SHARE + TABLE_LEAST;
	struct gr_error *err = gr_waste_each(d->run, CHECK, count, d);
	uint64_t nparts = d->nrows / most + 1;

	if (err)
		return err;
	d->nparts = nparts < MAX_PARTS ? nparts : MAX_PARTS;
	d->capacity = d->nrows / d->nparts + d->nrows / d->nparts / 8 + 4096;
	d->rows = malloc(d->capacity * sizeof(*d->rows));
	d->spare = malloc(d->capacity * sizeof(*d->spare));
	if (!d->rows || !d->spare)
		err = &gr_enomem;
	for (d->part = 0; !err && d->part < d->nparts; d->part++)
		err = find_in_part(d);
	free(steal_ptr(d->rows));
	free(steal_ptr(d->spare));
	return err;
}

// ----------------------------------------------------------------- the check

static void end(struct gr_waste_run *run)
{
	struct duplicates *d = run->state[GR_WASTE_DUPLICATE_STRINGS];

	if (!d)
		return;
	gr_content_deinit(&d->contents[0]);
	gr_content_deinit(&d->contents[1]);
	free(d->bits);
	free(d);
}

static struct gr_error *reached(struct gr_waste_run *run)
{
	struct duplicates *d = calloc(1, sizeof(*d));

	if (!d)
		return &gr_enomem;
	run->state[GR_WASTE_DUPLICATE_STRINGS] = d;
	d->run = run;
	d->bits = gr_bitmap_alloc(run->heap->nobjs);
	return d->bits ? find_all(d) : &gr_enomem;
}

static void judge(struct gr_waste_run *run,
		  const struct gr_waste_object *object, struct gr_saving *ret)
{
	struct duplicates *d = run->state[GR_WASTE_DUPLICATE_STRINGS];

	if (!gr_bitmap_test(d->bits, object->obj))
		return;
	ret->bytes = object->slot_bytes;
	ret->key = gr_waste_place(run, object->obj);
}

const struct gr_check gr_check_duplicates = {
	.id = GR_WASTE_DUPLICATE_STRINGS,
	.advice = "Intern these values, so that only one of equal ones is kept "
		  "(package unique, or a map of known values).",
	.is_by_place = true,
	.reached = reached,
	.end = end,
	.applies = applies,
	.judge = judge,
};
