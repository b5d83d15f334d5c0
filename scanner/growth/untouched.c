// SPDX-License-Identifier: Apache-2.0
#include "growth/untouched.h"

#include "inferior/elf.h"

enum {
	POLL_STEPS = 1 << 16,
	ALWAYS = UINT32_MAX, /* the order of what counts for every mapping */
};

/** A part of memory that is cut out of mappings that came before. */
struct cut {
	uint64_t start, end;
	uint32_t order;
};

/** Cuts by address, without overlaps. */
struct cuts {
	size_t size;
	struct cut (*get)(const void *ctx, size_t i);
	const void *ctx;
};

void gr_untouched_deinit(struct gr_untouched *untouched)
{
	gr_remap_vector_deinit(&untouched->list);
}

// ---------------------------------------------------------------------- cuts

static struct cut remap_cut(const void *ctx, size_t i)
{
	const struct gr_remap *remap =
		&((const struct gr_remap_vector *)ctx)->data[i];

	return (struct cut){ remap->start, remap->end, remap->order };
}

/* Mappings that replace others. */
static struct cut replaced_cut(const void *ctx, size_t i)
{
	struct cut cut = remap_cut(ctx, i);

	cut.order = ALWAYS;
	return cut;
}

static struct cut resident_cut(const void *ctx, size_t i)
{
	const struct gr_resident *range =
		&((const struct gr_resident_vector *)ctx)->data[i];

	return (struct cut){ range->start, range->end, ALWAYS };
}

static struct cut fault_cut(const void *ctx, size_t i)
{
	const struct gr_fault *fault =
		&((const struct gr_fault_vector *)ctx)->data[i];

	return (struct cut){ fault->page, fault->page + GR_PAGE_BYTES,
			     fault->order };
}

static bool is_memory(const struct gr_mapping *m)
{
	return !m->inode || (m->path && !strncmp(m->path, "/dev/zero", 9));
}

/* All that no mapping of memory has: the addresses between the end of mapping
 * i - 1 and the start of mapping i, and mapping i itself if it is of a file. */
static struct cut unmapped_cut(const void *ctx, size_t i)
{
	const struct gr_mapping_vector *list = ctx;
	uint64_t start = i ? list->data[i - 1].end : 0;

	if (i == list->size)
		return (struct cut){ start, UINT64_MAX, ALWAYS };
	const struct gr_mapping *m = &list->data[i];
	return (struct cut){ start, is_memory(m) ? m->start : m->end, ALWAYS };
}

// ---------------------------------------------------------------------- lists

/** Lists that are made of each other. */
struct update {
	struct gr_remap_vector list;
	const struct gr_poll *poll;
};

static bool append(struct gr_remap_vector *list, struct gr_remap piece)
{
	return piece.start >= piece.end || gr_remap_vector_append(list, piece);
}

/* Append what is left of a piece. */
static bool append_uncut(struct gr_remap_vector *list, struct gr_remap piece,
			 const struct cuts *cuts)
{
	size_t i = gr_count_before(cuts->size, k,
				   cuts->get(cuts->ctx, k).end <= piece.start);

	// Bounded by the cuts: each turn passes one.
	for (; i < cuts->size; i++) {
		struct cut cut = cuts->get(cuts->ctx, i);
		struct gr_remap left = piece;

		if (cut.start >= piece.end)
			break;
		// A piece of an earlier tick has order 0, and loses in any case.
		if (cut.order < piece.order || cut.end <= piece.start ||
		    cut.start == cut.end)
			continue;
		left.end = cut.start;
		if (!append(list, left))
			return false;
		piece.start = cut.end;
	}
	return append(list, piece);
}

/* Cut parts out of the list. */
static struct gr_error *cut_out(struct update *u, struct cuts cuts)
{
	struct gr_remap_vector left = { 0 };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < u->list.size; i++) {
		if (!append_uncut(&left, u->list.data[i], &cuts))
			err = &gr_enomem;
		if (!err && i % POLL_STEPS == 0)
			err = gr_poll_ask(u->poll);
	}
	if (err) {
		gr_remap_vector_deinit(&left);
		return err;
	}
	gr_remap_vector_deinit(&u->list);
	u->list = left;
	return NULL;
}

/* Add new mappings, which the list has no part of. */
static struct gr_error *merge(struct update *u,
			      const struct gr_remap_vector *added)
{
	struct gr_remap_vector both = { 0 };
	const struct gr_remap_vector *old = &u->list;
	size_t i = 0, k = 0;

	if (!gr_remap_vector_reserve(&both, old->size + added->size + 1))
		return &gr_enomem;
	while (i < old->size || k < added->size) {
		bool is_old = k == added->size ||
			      (i < old->size &&
			       old->data[i].start < added->data[k].start);

		both.data[both.size++] = is_old ? old->data[i++] :
						  added->data[k++];
	}
	gr_remap_vector_deinit(&u->list);
	u->list = both;
	return NULL;
}

/* Join neighbours of one stack. Events are numbered anew after each tick. */
static void join(struct gr_remap_vector *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->size; i++) {
		struct gr_remap piece = list->data[i];
		struct gr_remap *last = kept ? &list->data[kept - 1] : NULL;

		piece.order = 0;
		if (last && last->end == piece.start &&
		    last->stack == piece.stack)
			last->end = piece.end;
		else
			list->data[kept++] = piece;
	}
	list->size = kept;
}

/* Leave out the smallest ranges, if there are too many. Each turn doubles the
 * least size. */
static uint64_t leave_out(struct gr_remap_vector *list)
{
	uint64_t bytes = 0;

	for (uint64_t least = 2 * GR_PAGE_BYTES;
	     list->size > GR_MAX_UNTOUCHED && least; least *= 2) {
		size_t kept = 0;

		for (size_t i = 0; i < list->size; i++) {
			struct gr_remap piece = list->data[i];

			if (piece.end - piece.start >= least)
				list->data[kept++] = piece;
			else
				bytes += piece.end - piece.start;
		}
		list->size = kept;
	}
	return bytes;
}

// --------------------------------------------------------------------- update

/* Begin with the old list, and take what was mapped since then, as far as it is
 * memory now. */
static struct gr_error *take_mappings(struct update *u,
				      const struct gr_remap_vector *old,
				      const struct gr_residency *now,
				      const struct gr_touches *touches)
{
	const struct gr_remap_vector *mapped = &touches->mapped;
	struct gr_error *err;

	if (!gr_remap_vector_reserve(&u->list, old->size + 1))
		return &gr_enomem;
	if (old->size)
		memcpy(u->list.data, old->data, old->size * sizeof(*old->data));
	u->list.size = old->size;
	err = cut_out(u, (struct cuts){ mapped->size, replaced_cut, mapped });
	if (!err)
		err = merge(u, mapped);
	return err ? err :
		     cut_out(u, (struct cuts){ now->mappings.list.size + 1,
					       unmapped_cut,
					       &now->mappings.list });
}

static struct cuts given_back_cuts(const struct gr_touches *touches)
{
	const struct gr_remap_vector *back = &touches->given_back;

	return (struct cuts){ back->size, remap_cut, back };
}

/* Leave out what was in use. */
static struct gr_error *drop_touched(struct update *u,
				     const struct gr_residency *now,
				     const struct gr_touches *touches)
{
	struct gr_error *err = cut_out(u, given_back_cuts(touches));

	if (!err)
		err = cut_out(u, (struct cuts){ now->ranges.size, resident_cut,
						&now->ranges });
	if (!err)
		err = cut_out(u, (struct cuts){ now->swapped.size, resident_cut,
						&now->swapped });
	return err ? err :
		     cut_out(u, (struct cuts){ touches->faults.size, fault_cut,
					       &touches->faults });
}

struct gr_error *gr_untouched_update(struct gr_untouched *untouched,
				     const struct gr_residency *now,
				     const struct gr_touches *touches,
				     const struct gr_poll *poll)
{
	struct update u = { .poll = poll };
	const struct gr_remap_vector *old = &untouched->list;

	if (!old->size && !touches->mapped.size)
		return NULL;
	struct gr_error *err = take_mappings(&u, old, now, touches);
	if (!err)
		err = drop_touched(&u, now, touches);
	if (err) {
		gr_remap_vector_deinit(&u.list);
		return err;
	}
	join(&u.list);
	untouched->left_out_bytes += leave_out(&u.list);
	gr_remap_vector_deinit(&untouched->list);
	untouched->list = u.list;
	return NULL;
}

struct gr_error *gr_mapped_update(struct gr_remap_vector *mapped,
				  const struct gr_residency *now,
				  const struct gr_touches *touches,
				  const struct gr_poll *poll,
				  uint64_t *left_out_bytes)
{
	struct update u = { .poll = poll };

	if (!mapped->size && !touches->mapped.size)
		return NULL;
	struct gr_error *err = take_mappings(&u, mapped, now, touches);
	if (!err && touches->has_gaps)
		err = cut_out(&u, given_back_cuts(touches));
	if (err) {
		gr_remap_vector_deinit(&u.list);
		return err;
	}
	for (size_t i = 0; i < u.list.size; i++)
		u.list.data[i].order = 0;
	*left_out_bytes += leave_out(&u.list);
	gr_remap_vector_deinit(mapped);
	*mapped = u.list;
	return NULL;
}

/* Append a range of pages, part by part: each part lies in one mapping of the
 * list, or in none. */
static bool append_parts(struct gr_mapped_vector *ret,
			 struct gr_owned_pages range,
			 const struct gr_remap_vector *mapped)
{
	size_t i = gr_count_before(mapped->size, k,
				   mapped->data[k].end <= range.start);

	// Bounded by the mappings that the range lies in.
	while (range.start < range.end) {
		const struct gr_remap *m = i < mapped->size ? &mapped->data[i] :
							      NULL;
		bool is_inside = m && m->start <= range.start;
		uint64_t stop = !m ? range.end : is_inside ? m->end : m->start;
		struct gr_mapped_pages part = {
			.start = range.start,
			.end = stop < range.end ? stop : range.end,
			.map_start = is_inside ? m->start : 0,
			.map_end = is_inside ? m->end : 0,
			.stack = range.stack,
		};

		if (!gr_mapped_vector_append(ret, part))
			return false;
		range.start = part.end;
		i += is_inside;
	}
	return true;
}

struct gr_error *gr_mapped_extents(const struct gr_remap_vector *mapped,
				   const struct gr_owned_vector *owned,
				   struct gr_mapped_vector *ret)
{
	for (size_t i = 0; i < owned->size; i++)
		if (!append_parts(ret, owned->data[i], mapped))
			return &gr_enomem;
	return NULL;
}

// ------------------------------------------------------------------- writable

static bool add_writable(const struct gr_remap *piece, uint32_t mapping,
			 const struct gr_mapping *m,
			 struct gr_owned_vector *owned,
			 struct gr_resident_vector *pages)
{
	uint64_t start = piece->start > m->start ? piece->start : m->start;
	uint64_t end = piece->end < m->end ? piece->end : m->end;

	return gr_owned_vector_append(
		       owned, (struct gr_owned_pages){ start, end, piece->stack,
						       false }) &&
	       gr_resident_vector_append(
		       pages, (struct gr_resident){ .start = start,
						    .end = end,
						    .mapping = mapping,
						    .is_anonymous = true });
}

struct gr_error *gr_untouched_writable(const struct gr_untouched *untouched,
				       const struct gr_residency *now,
				       struct gr_owned_vector *owned,
				       struct gr_resident_vector *pages)
{
	const struct gr_mapping_vector *maps = &now->mappings.list;

	for (size_t i = 0; i < untouched->list.size; i++) {
		const struct gr_remap *piece = &untouched->list.data[i];
		size_t k = gr_count_before(maps->size, j,
					   maps->data[j].end <= piece->start);

		// Bounded by the mappings that the piece lies in.
		for (; k < maps->size && maps->data[k].start < piece->end; k++)
			if (maps->data[k].flags & PF_W &&
			    !add_writable(piece, (uint32_t)k, &maps->data[k],
					  owned, pages))
				return &gr_enomem;
	}
	return NULL;
}
