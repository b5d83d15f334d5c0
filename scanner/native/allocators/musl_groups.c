// SPDX-License-Identifier: Apache-2.0
#include "native/allocators/musl.h"

#include "base/chain.h"
#include "base/sort.h"

enum {
	MOST_AREAS = 1 << 24, /* they are distinct pages, without cycles */
	STATE_WORD = 1,	      /* of a group: its last active slot */
	ADDRESS_BITS = 56,    /* no machine has more for programs */
};
/* No program has as much memory. */
#define MOST_GROUP_BYTES (UINT64_C(1) << 47)

static const char areas_damaged[] = "its meta areas are damaged";
static const char groups_damaged[] = "its groups are damaged";
static const char rings_damaged[] = "its lists of groups are damaged";
static const char slots_differ[] =
	"its count of slots differs from what was found";

/* Sizes by class, in units (malloc/mallocng/malloc.c). */
static const uint16_t class_units[GR_MUSL_NCLASSES] = {
	1,    2,    3,	  4,	5,    6,    7,	  8,	9,    10,   12,	  15,
	18,   20,   25,	  31,	36,   42,   50,	  63,	72,   84,   102,  127,
	146,  170,  204,  255,	292,  340,  409,  511,	584,  682,  818,  1023,
	1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
};

// --------------------------------------------------------------------- areas

static int compare_addrs(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

bool gr_musl_is_area(struct gr_view *view, uint64_t addr, uint64_t secret)
{
	uint64_t nslots;

	return addr && addr % GR_MUSL_AREA_BYTES == 0 &&
	       gr_view_has(view, addr + GR_MUSL_AREA_CHECK, secret) &&
	       gr_view_word(view, addr + GR_MUSL_AREA_NSLOTS, &nslots) &&
	       (uint32_t)nslots == GR_MUSL_NMETAS;
}

static struct gr_error *read_areas(struct gr_musl *m)
{
	struct gr_runtime *rt = m->r->spec->rt;
	struct gr_chain chain = { .limit = MOST_AREAS };
	uint64_t at = m->context[GR_MUSL_META_AREA_HEAD], last = 0;
	struct gr_error *err = NULL;

	while (!err && at) {
		if (!gr_chain_step(&chain, at) ||
		    !gr_musl_is_area(&m->quiet, at,
				     m->context[GR_MUSL_SECRET])) {
			gr_arena_fail(gr_musl_arena(m), areas_damaged);
			break;
		}
		if (rt->recorder)
			gr_recorder_add(rt->recorder, at, GR_MUSL_AREA_BYTES);
		last = at;
		err = gr_runtime_append(rt, gr_addr_vector, &m->areas, at);
		if (!err &&
		    !gr_view_word(&m->quiet, at + GR_MUSL_AREA_NEXT, &at))
			at = 0;
		if (!err)
			err = gr_runtime_step(rt, 8);
	}
	if (last != m->context[GR_MUSL_META_AREA_TAIL])
		gr_arena_fail(gr_musl_arena(m), areas_damaged);
	return err ? err :
		     gr_sort(m->areas.data, m->areas.size,
			     sizeof(*m->areas.data), compare_addrs, rt->poll,
			     rt->poll_ctx);
}

/* Is there a meta at @p addr? */
static bool is_meta(const struct gr_musl *m, uint64_t addr)
{
	uint64_t at = addr % GR_MUSL_AREA_BYTES, area = addr - at;
	size_t n = gr_count_before(m->areas.size, i, m->areas.data[i] < area);

	return n < m->areas.size && m->areas.data[n] == area &&
	       at >= GR_MUSL_AREA_METAS &&
	       (at - GR_MUSL_AREA_METAS) % GR_MUSL_META_BYTES == 0 &&
	       (at - GR_MUSL_AREA_METAS) / GR_MUSL_META_BYTES < GR_MUSL_NMETAS;
}

// -------------------------------------------------------------------- groups

/* How the words of a meta say where its group is; false: it cannot be so. */
static bool decode(const uint64_t *meta, struct gr_musl_group *ret)
{
	uint64_t bits = meta[GR_MUSL_META_BITS / GR_WORD_BYTES];
	uint64_t masks = meta[GR_MUSL_META_AVAIL / GR_WORD_BYTES];
	uint32_t avail = masks, freed = masks >> 32;
	uint64_t pages = bits >> 12;
	bool is_freeable = bits >> 5 & 1;

	ret->next = meta[GR_MUSL_META_NEXT / GR_WORD_BYTES];
	ret->mem = meta[GR_MUSL_META_MEM / GR_WORD_BYTES];
	ret->nslots = (bits & 31) + 1;
	ret->size_class = bits >> 6 & 63;
	ret->free = avail | freed;
	ret->kind = pages	? GR_MUSL_MAPPED :
		    is_freeable ? GR_MUSL_NESTED :
				  GR_MUSL_DONATED;
	if (ret->mem % GR_MUSL_UNIT || ret->mem >> ADDRESS_BITS ||
	    (avail & freed) || ret->free >> (ret->nslots - 1) > 1 ||
	    pages > MOST_GROUP_BYTES / GR_MUSL_AREA_BYTES)
		return false;
	if (ret->size_class >= GR_MUSL_NCLASSES &&
	    (ret->size_class != GR_MUSL_NO_CLASS || ret->nslots > 1 || !pages ||
	     ret->free))
		return false;
	if (ret->kind == GR_MUSL_DONATED && ret->nslots > 1)
		return false;
	ret->stride =
		ret->nslots == 1 && pages ?
			pages * GR_MUSL_AREA_BYTES - GR_MUSL_GROUP_BYTES :
			class_units[ret->size_class] * (uint64_t)GR_MUSL_UNIT;
	ret->end = ret->mem + GR_MUSL_GROUP_BYTES + ret->nslots * ret->stride;
	ret->memory_end = pages ? ret->mem + pages * GR_MUSL_AREA_BYTES :
				  ret->end;
	return ret->end <= ret->memory_end &&
	       (!pages || ret->mem % GR_MUSL_AREA_BYTES == 0);
}

/* Does the header of the group agree? */
static void check_header(struct gr_musl *m, uint32_t avail,
			 struct gr_musl_group *group)
{
	struct gr_native_arena *arena = gr_musl_arena(m);
	uint64_t meta, state;

	if (!gr_view_word(&m->view, group->mem, &meta) ||
	    !gr_view_word(&m->view, group->mem + STATE_WORD * GR_WORD_BYTES,
			  &state)) {
		gr_arena_miss(arena);
		return;
	}
	group->last_active = state & 31;
	if (meta != group->meta)
		gr_arena_fail(arena, groups_damaged);
	// Memory that was donated keeps what it had.
	if (group->kind != GR_MUSL_DONATED &&
	    group->size_class < GR_MUSL_NCLASSES &&
	    (group->last_active >= group->nslots ||
	     (uint64_t)avail >> group->last_active > 1))
		gr_arena_fail(arena, groups_damaged);
}

/* Append the groups of an area that are in use. */
static struct gr_error *read_metas(struct gr_musl *m, uint64_t area)
{
	uint64_t words[GR_MUSL_AREA_BYTES / GR_WORD_BYTES];
	struct gr_error *err = NULL;

	if (!gr_view_copy(&m->quiet, area, words, sizeof(words))) {
		gr_arena_miss(gr_musl_arena(m));
		return NULL;
	}
	for (unsigned int i = 0; !err && i < GR_MUSL_NMETAS; i++) {
		uint64_t at = GR_MUSL_AREA_METAS + i * GR_MUSL_META_BYTES;
		const uint64_t *meta = words + at / GR_WORD_BYTES;
		struct gr_musl_group group = { .meta = area + at };

		if (!meta[GR_MUSL_META_MEM / GR_WORD_BYTES])
			continue;
		if (!decode(meta, &group)) {
			gr_arena_fail(gr_musl_arena(m), groups_damaged);
			continue;
		}
		check_header(m, meta[GR_MUSL_META_AVAIL / GR_WORD_BYTES],
			     &group);
		err = gr_runtime_append(m->r->spec->rt, gr_musl_group_vector,
					&m->groups, group);
	}
	return err ? err : gr_runtime_step(m->r->spec->rt, GR_MUSL_NMETAS);
}

// ---------------------------------------------------------------- free metas

/* Count the ring of metas that were used and are free. */
static struct gr_error *count_free_metas(struct gr_musl *m, uint64_t *ret)
{
	uint64_t head = m->context[GR_MUSL_FREE_META_HEAD], at = head;
	struct gr_chain chain = { .limit = m->areas.size * GR_MUSL_NMETAS };
	struct gr_error *err = NULL;

	*ret = 0;
	while (!err && at) {
		if (!gr_chain_step(&chain, at) || !is_meta(m, at) ||
		    !gr_view_has(&m->quiet, at + GR_MUSL_META_MEM, 0)) {
			gr_arena_fail(gr_musl_arena(m), rings_damaged);
			break;
		}
		++*ret;
		if (!gr_view_word(&m->quiet, at + GR_MUSL_META_NEXT, &at) ||
		    at == head)
			break;
		err = gr_runtime_step(m->r->spec->rt, 4);
	}
	return err;
}

/* All metas are in use, in the ring of free ones, or the last ones of the last
 * area. */
static struct gr_error *check_metas(struct gr_musl *m)
{
	uint64_t left = m->context[GR_MUSL_AVAIL_META_COUNT];
	uint64_t end = m->context[GR_MUSL_META_AREA_TAIL] + GR_MUSL_AREA_METAS +
		       GR_MUSL_NMETAS * GR_MUSL_META_BYTES;
	uint64_t nfree;
	struct gr_error *err = count_free_metas(m, &nfree);

	if (!err &&
	    (m->context[GR_MUSL_AVAIL_META] !=
		     end - left * GR_MUSL_META_BYTES ||
	     m->groups.size + nfree + left != m->areas.size * GR_MUSL_NMETAS))
		gr_arena_fail(
			gr_musl_arena(m),
			"its count of groups differs from what was found");
	return err;
}

// --------------------------------------------------------------------- rings

static struct gr_musl_group *group_of(struct gr_musl *m, uint64_t meta)
{
	const struct gr_musl_group_vector *list = &m->groups;
	size_t n = gr_count_before(list->size, i, list->data[i].meta < meta);

	return n < list->size && list->data[n].meta == meta ? &list->data[n] :
							      NULL;
}

/* Follow the ring of the groups of one class that have free slots. */
static struct gr_error *read_ring(struct gr_musl *m, unsigned int size_class)
{
	uint64_t head = m->context[GR_MUSL_ACTIVE + size_class], at = head;
	struct gr_error *err = NULL;

	// Bounded by the groups: each is in one ring.
	while (!err && at) {
		struct gr_musl_group *group = group_of(m, at);

		if (!group || group->is_in_ring ||
		    group->size_class != size_class ||
		    !gr_view_has(&m->quiet, group->next + GR_MUSL_META_PREV,
				 at)) {
			gr_arena_fail(gr_musl_arena(m), rings_damaged);
			break;
		}
		group->is_in_ring = true;
		at = group->next;
		err = gr_runtime_step(m->r->spec->rt, 8);
		if (at == head)
			break;
	}
	return err;
}

/* Check that the groups that have free slots are in the rings, and no others say
 * that they are in one. */
static struct gr_error *check_rings(struct gr_musl *m)
{
	struct gr_error *err = NULL;

	for (unsigned int i = 0; !err && i < GR_MUSL_NCLASSES; i++)
		err = read_ring(m, i);
	for (size_t i = 0; !err && i < m->groups.size; i++) {
		const struct gr_musl_group *group = &m->groups.data[i];

		if ((group->free && !group->is_in_ring) ||
		    (group->next && !group->is_in_ring))
			gr_arena_fail(gr_musl_arena(m), rings_damaged);
		err = gr_runtime_step(m->r->spec->rt, 1);
	}
	return err;
}

// ------------------------------------------------------------------ counters

/* Compare the slots of each class with the allocator's counters. Those of
 * donated memory are in none. */
static struct gr_error *check_usage(struct gr_musl *m)
{
	const uint64_t *usage = m->context + GR_MUSL_USAGE_BY_CLASS;
	struct gr_native_arena *arena = gr_musl_arena(m);
	uint64_t found[GR_MUSL_NCLASSES] = { 0 };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < m->groups.size; i++) {
		const struct gr_musl_group *group = &m->groups.data[i];

		if (group->size_class < GR_MUSL_NCLASSES &&
		    group->kind != GR_MUSL_DONATED)
			found[group->size_class] += group->nslots;
		err = gr_runtime_step(m->r->spec->rt, 1);
	}
	arena->blocks_counter = "usage_by_class";
	arena->counted_blocks = 0;
	for (unsigned int i = 0; i < GR_MUSL_NCLASSES; i++) {
		arena->counted_blocks += usage[i];
		arena->found_blocks += found[i];
		if (usage[i] != found[i])
			gr_arena_fail(arena, slots_differ);
	}
	return err;
}

struct gr_error *gr_musl_read_groups(struct gr_musl *m)
{
	struct gr_error *err = read_areas(m);

	for (size_t i = 0; !err && i < m->areas.size; i++)
		err = read_metas(m, m->areas.data[i]);
	if (!err)
		err = check_metas(m);
	if (!err)
		err = check_rings(m);
	return err ? err : check_usage(m);
}
