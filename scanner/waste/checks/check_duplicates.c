// SPDX-License-Identifier: Apache-2.0
/*
 * Strings and byte slices with equal bytes, each in an object of its own. All
 * but the one at the lowest address could be that one. An object counts if all
 * that is reached of it is one string or one slice, so that it would be
 * garbage: a piece of it that is kept elsewhere would keep it.
 *
 * A table finds the first object of each content by a hash; bytes decide. If it
 * is full, objects whose content it does not have are left to another pass.
 * Each candidate waits in a ring while memory is prefetched for it: its slot in
 * the table, then the parent and the reach of the object in that slot, then the
 * bytes of that object.
 */
#include "waste/checks/checks.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "graph/budget.h"
#include "waste/objects/objects.h"

enum {
	CHECK = 1 << GR_WASTE_DUPLICATE_STRINGS,
	SLOTS_LEAST = 1 << 10,
	SLOTS_SHARE = 4, /* the table has one slot for so many objects, */
	LOAD_SHARE = 8,	 /* of which one in so many stays free */
	/* Different contents of one tag that are told apart. */
	MAX_CONTENTS = 8,
	STEP_BYTES = 256,	/* that are read in the time of a step */
	PIECE_BYTES = 1 << 20,	/* that are read between two polls */
	RING = 32,		/* candidates at a time */
	FIND_AFTER = RING / 4,	/* candidates from hashing to the table, */
	FETCH_AFTER = RING / 2, /* and to what is known of the object there */
	OBJ_SHIFT = 16,
	IS_USED = 1,
	IS_STRING = 2,
};

/* The first object with a content. */
struct slot {
	uint16_t tag;	 /* 14 bits of the hash, and flags; 0: free */
	uint16_t obj[2]; /* its number: the low half, and the high one */
};

/* The content of an object: bytes [off, off + bytes). */
struct range {
	uint64_t off, bytes;
};

struct candidate {
	uint32_t place; /* where its content belongs: of 2^32 */
	uint16_t tag;
	bool is_unlike; /* like is longer or shorter */
	gr_obj obj;
	gr_obj like; /* may be equal, and lies before it; or GR_OBJ_NONE */
	const struct gr_span *like_span;
	uint64_t nbytes;
	const uint8_t *bytes; /* NULL: they must be read, as below */
	const uint8_t *like_bytes;
};

struct duplicates {
	struct gr_waste_run *run;
	uint64_t *bits; /* A bit an object: it could be another one. */
	uint64_t *left; /* A bit an object: another pass decides. */
	uint64_t nleft;
	struct gr_content own, other;
	/* By span: its bytes, if they are known and lasting. */
	const uint8_t **hosts;
	struct gr_budget memory;
	struct slot *slots;
	uint64_t nslots, nused;
	struct candidate ring[RING];
	uint64_t ncandidates; /* so far in this pass */
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

// ----------------------------------------------------------------- the table

static uint64_t first_slot(const struct duplicates *d,
			   const struct candidate *c)
{
	return (uint64_t)c->place * d->nslots >> 32;
}

static uint64_t next_slot(const struct duplicates *d, uint64_t i)
{
	return i + 1 < d->nslots ? i + 1 : 0;
}

static gr_obj object_of(const struct slot *slot)
{
	return (gr_obj)slot->obj[1] << OBJ_SHIFT | slot->obj[0];
}

/* Enter a candidate in the free slot @p i, or leave it to another pass. */
static void enter(struct duplicates *d, uint64_t i, const struct candidate *c)
{
	if (d->nused >= d->nslots - d->nslots / LOAD_SHARE) {
		gr_bitmap_set(d->left, c->obj);
		d->nleft++;
		return;
	}
	d->slots[i] = (struct slot){
		.tag = c->tag,
		.obj = { (uint16_t)c->obj, (uint16_t)(c->obj >> OBJ_SHIFT) },
	};
	d->nused++;
}

// ------------------------------------------------------------------- equality

/* Are two contents equal? A long one is compared in pieces. */
static struct gr_error *compare(const struct duplicates *d, const uint8_t *a,
				const uint8_t *b, uint64_t bytes, bool *ret)
{
	struct gr_error *err = NULL;

	*ret = true;
	for (uint64_t at = 0; *ret && !err && at < bytes; at += PIECE_BYTES) {
		uint64_t n = bytes - at < PIECE_BYTES ? bytes - at :
							PIECE_BYTES;

		*ret = !memcmp(a + at, b + at, n);
		err = gr_runtime_step(d->run->heap->rt, n / STEP_BYTES);
	}
	return err;
}

/* The bytes of a candidate; those that do not last are read again. */
static const uint8_t *read_own(struct duplicates *d, const struct candidate *c)
{
	struct gr_waste_object object;
	struct range range;

	if (c->bytes)
		return c->bytes;
	gr_waste_object_get(d->run, c->obj, &object);
	return find_range(d->run, &object, &range) ?
		       gr_content_at(&d->own, d->run->heap, object.span,
				     object.addr + range.off, range.bytes) :
		       NULL;
}

/* Compare a candidate with an object of its tag. */
static struct gr_error *
is_equal(struct duplicates *d, const struct candidate *c, gr_obj obj, bool *ret)
{
	const uint8_t *own = read_own(d, c), *bytes;
	struct gr_waste_object object;
	struct range range;

	*ret = false;
	gr_waste_object_get(d->run, obj, &object);
	if (!own || !find_range(d->run, &object, &range) ||
	    range.bytes != c->nbytes)
		return NULL;
	bytes = gr_content_at(&d->other, d->run->heap, object.span,
			      object.addr + range.off, range.bytes);
	return bytes ? compare(d, own, bytes, c->nbytes, ret) : NULL;
}

/* Find a candidate's content in the table, or enter it. */
static struct gr_error *search(struct duplicates *d, const struct candidate *c)
{
	struct gr_error *err = NULL;
	bool is_known = false;
	int ncompared = 0;
	uint64_t i;

	// Bounded by the table, in which slots are free.
	for (i = first_slot(d, c); d->slots[i].tag; i = next_slot(d, i)) {
		if (d->slots[i].tag != c->tag)
			continue;
		if (ncompared++ == MAX_CONTENTS)
			return NULL;
		err = is_equal(d, c, object_of(&d->slots[i]), &is_known);
		if (is_known)
			gr_bitmap_set(d->bits, c->obj);
		if (is_known || err)
			return err;
	}
	enter(d, i, c);
	return NULL;
}

// ------------------------------------------------------------------- the ring

/* Find an object that may be equal, or enter the candidate. */
static void find_like(struct duplicates *d, struct candidate *c)
{
	uint64_t i = first_slot(d, c);

	// Bounded by the table, in which slots are free.
	while (d->slots[i].tag && d->slots[i].tag != c->tag)
		i = next_slot(d, i);
	if (!d->slots[i].tag) {
		enter(d, i, c);
		return;
	}
	c->like = object_of(&d->slots[i]);
	c->like_span = gr_waste_span_of(d->run, c->like);
	gr_prefetch(c->like_span);
	gr_prefetch(gr_parents_entry(d->run->parents, c->like));
	gr_prefetch(&d->run->reach.slots[c->like]);
}

/* Fetch the bytes of the object that may be equal. */
static void fetch_like(struct duplicates *d, struct candidate *c)
{
	struct gr_waste_object object;
	const uint8_t *host;
	struct range range;

	if (c->like == GR_OBJ_NONE)
		return;
	host = d->hosts[c->like_span - d->run->heap->spans];
	gr_waste_object_in(d->run, c->like_span, c->like, &object);
	if (!host || !find_range(d->run, &object, &range))
		return;
	c->is_unlike = range.bytes != c->nbytes;
	c->like_bytes =
		host + (object.addr - object.span->base_addr) + range.off;
	gr_prefetch(c->like_bytes);
}

static struct gr_error *settle(struct duplicates *d, const struct candidate *c)
{
	struct gr_error *err = NULL;
	bool is_known = false;

	if (c->like == GR_OBJ_NONE)
		return NULL;
	if (!c->like_bytes)
		return search(d, c);
	if (!c->is_unlike)
		err = compare(d, c->bytes, c->like_bytes, c->nbytes, &is_known);
	if (is_known)
		gr_bitmap_set(d->bits, c->obj);
	return err || is_known ? err : search(d, c);
}

static struct candidate *candidate_at(struct duplicates *d, uint64_t number)
{
	return &d->ring[number % RING];
}

/* Move the candidates on, as far as there are any: @p now is the number of the
 * next one. */
static struct gr_error *advance(struct duplicates *d, uint64_t now)
{
	uint64_t n = d->ncandidates;
	struct gr_error *err = NULL;

	if (now >= FIND_AFTER && now - FIND_AFTER < n)
		find_like(d, candidate_at(d, now - FIND_AFTER));
	if (now >= FETCH_AFTER && now - FETCH_AFTER < n)
		fetch_like(d, candidate_at(d, now - FETCH_AFTER));
	if (now >= RING && now - RING < n)
		err = settle(d, candidate_at(d, now - RING));
	return err;
}

/* Settle all candidates. */
static struct gr_error *drain(struct duplicates *d)
{
	struct gr_error *err = NULL;

	for (uint64_t i = 0; !err && d->ncandidates && i < RING; i++)
		err = advance(d, d->ncandidates + i);
	d->ncandidates = 0;
	return err;
}

/* Hash a content of @p bytes. A long one is hashed in pieces. */
static struct gr_error *hash(struct duplicates *d, const uint8_t *bytes,
			     bool is_string, struct candidate *c)
{
	uint64_t nbytes = c->nbytes;
	struct gr_error *err = NULL;
	uint64_t hash = 0;

	for (uint64_t at = 0; !err && at < nbytes; at += PIECE_BYTES) {
		uint64_t n = nbytes - at < PIECE_BYTES ? nbytes - at :
							 PIECE_BYTES;

		hash = gr_hash_content(hash, bytes + at, n);
		err = gr_runtime_step(d->run->heap->rt, n / STEP_BYTES);
	}
	c->place = hash >> 32;
	c->tag = hash & ~(uint64_t)(IS_USED | IS_STRING);
	c->tag |= IS_USED | (is_string ? IS_STRING : 0);
	return err;
}

/* Take a candidate in. */
static struct gr_error *add(struct duplicates *d,
			    const struct gr_waste_object *object,
			    const struct range *range)
{
	const uint8_t *bytes =
		gr_content_at(&d->own, d->run->heap, object->span,
			      object->addr + range->off, range->bytes);
	struct candidate c = { .obj = object->obj,
			       .like = GR_OBJ_NONE,
			       .nbytes = range->bytes };
	bool is_lasting = d->own.host && d->own.is_lasting;
	struct gr_error *err;

	if (!bytes)
		return NULL;
	err = hash(d, bytes, object->kind->form == GR_FORM_STRING, &c);
	if (err)
		return err;
	if (!is_lasting) {
		err = drain(d);
		return err ? err : search(d, &c);
	}
	d->hosts[object->span - d->run->heap->spans] = d->own.host;
	c.bytes = bytes;
	err = advance(d, d->ncandidates);
	gr_prefetch(&d->slots[first_slot(d, &c)]);
	*candidate_at(d, d->ncandidates++) = c;
	return err;
}

// ----------------------------------------------------------------- the check

static struct gr_error *look(struct gr_waste_run *run,
			     const struct gr_waste_object *object)
{
	struct range range;

	return find_range(run, object, &range) ?
		       add(run->state[GR_WASTE_DUPLICATE_STRINGS], object,
			   &range) :
		       NULL;
}

static struct gr_error *look_again(struct gr_waste_run *run,
				   const struct gr_waste_object *object,
				   void *ctx)
{
	struct duplicates *d = ctx;

	if (!gr_bitmap_test(d->left, object->obj))
		return NULL;
	gr_bitmap_clear(d->left, object->obj);
	return look(run, object);
}

static void empty_table(struct duplicates *d)
{
	d->nused = d->nleft = 0;
	memset(d->slots, 0, d->nslots * sizeof(*d->slots));
}

/* Decide about the objects that the first pass has left. */
static struct gr_error *looked(struct gr_waste_run *run)
{
	struct duplicates *d = run->state[GR_WASTE_DUPLICATE_STRINGS];
	struct gr_error *err = drain(d);

	// Bounded: each pass fills the table.
	while (!err && d->nleft) {
		empty_table(d);
		err = gr_waste_each(run, CHECK, look_again, d);
		if (!err)
			err = drain(d);
	}
	gr_array_free(steal_ptr(d->slots));
	free(steal_ptr(d->left));
	free(steal_ptr(d->hosts));
	return err;
}

static void end(struct gr_waste_run *run)
{
	struct duplicates *d = run->state[GR_WASTE_DUPLICATE_STRINGS];

	if (!d)
		return;
	gr_content_deinit(&d->own);
	gr_content_deinit(&d->other);
	free(d->bits);
	free(d->left);
	gr_array_free(d->slots);
	free(d->hosts);
	free(d);
}

static struct gr_error *begin(struct gr_waste_run *run)
{
	struct duplicates *d = calloc(1, sizeof(*d));

	if (!d)
		return &gr_enomem;
	run->state[GR_WASTE_DUPLICATE_STRINGS] = d;
	d->run = run;
	d->nslots = run->heap->nobjs / SLOTS_SHARE + SLOTS_LEAST;
	d->slots = gr_array_calloc(&d->memory, d->nslots, sizeof(*d->slots));
	d->bits = gr_bitmap_alloc(run->heap->nobjs);
	d->left = gr_bitmap_alloc(run->heap->nobjs);
	d->hosts = calloc((size_t)run->heap->nspans + 1, sizeof(*d->hosts));
	return d->slots && d->bits && d->left && d->hosts ? NULL : &gr_enomem;
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
	.begin = begin,
	.end = end,
	.applies = applies,
	.look = look,
	.looked = looked,
	.judge = judge,
};
