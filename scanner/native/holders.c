// SPDX-License-Identifier: Apache-2.0
/* The memory in which C may keep pointers to blocks: that which is copied of a
 * process, and that which a target lacks. */
#include "native/native.h"

#include "inferior/saved_target.h"

#include <elf.h>

/* Shared memory of a process that is copied with pages which the process does not
 * have in its page table. */
static const uint64_t max_shared_bytes = UINT64_C(256) << 20;

// ------------------------------------------------------------------ mappings

bool gr_native_is_shared_memory(const char *path)
{
	static const char *const begins[] = { "[anon_shmem:", "/dev/zero",
					      "/memfd:", "/SYSV" };

	for (size_t i = 0; i < GR_ARRAY_SIZE(begins); i++)
		if (!strncmp(path, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* Is it shared memory of a process that is in no file? */
static bool is_shared_memory(const struct gr_mapping *m)
{
	return m->flags & GR_MAPPING_SHARED && m->path &&
	       gr_native_is_shared_memory(m->path);
}

bool gr_native_may_hold(const struct gr_mapping *m)
{
	return m->flags & PF_W || gr_mapping_is_anonymous(m) ||
	       !strcmp(m->path, "[heap]") || is_shared_memory(m);
}

bool gr_native_may_differ(const struct gr_mapping *m)
{
	const uint32_t others = PF_W | PF_X | GR_MAPPING_SHARED;

	return m->path && *m->path == '/' && !(m->flags & others);
}

/* May nobody read or write a mapping? Most are reserved only. */
static bool is_sealed(const struct gr_mapping *m)
{
	return !(m->flags & (PF_R | PF_W));
}

/* Do the pages of a range count? */
static bool may_hold_range(const struct gr_mapping *m,
			   const struct gr_resident *range)
{
	return gr_native_may_hold(m) ||
	       (range->is_anonymous && gr_native_may_differ(m));
}

// ------------------------------------------------------------------- capture

/* Plan what Go's heap does not have of [start, end). A mapping may have both. */
static struct gr_error *plan_outside(struct gr_runtime *rt,
				     const struct gr_heap_arenas *go_arenas,
				     uint64_t start, uint64_t end)
{
	struct gr_error *err = NULL;
	uint64_t stop, next;

	// Bounded by the arenas of Go.
	for (; !err && start < end; start = next) {
		gr_heap_arenas_before(go_arenas, start, end, &stop, &next);
		err = gr_image_plan(rt->image, start, stop);
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	return err;
}

/* Plan pages of mappings that may hold pointers. */
static struct gr_error *plan_pages(struct gr_runtime *rt,
				   const struct gr_residency *residency,
				   const struct gr_resident_vector *list,
				   const struct gr_heap_arenas *go_arenas)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < list->size; i++) {
		const struct gr_resident *range = &list->data[i];
		const struct gr_mapping *m =
			&residency->mappings.list.data[range->mapping];

		if (may_hold_range(m, range))
			err = plan_outside(rt, go_arenas, range->start,
					   range->end);
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	return err;
}

/* May another process write to a mapping that C keeps pointers in? */
static bool is_shared(const struct gr_mapping *m)
{
	return m->flags & GR_MAPPING_SHARED && gr_native_may_hold(m) &&
	       !is_sealed(m);
}

static struct gr_error *plan_shared(struct gr_runtime *rt,
				    const struct gr_mappings *mappings)
{
	struct gr_error *err = NULL;
	uint64_t left = max_shared_bytes;

	for (size_t i = 0; !err && i < mappings->list.size; i++) {
		const struct gr_mapping *m = &mappings->list.data[i];

		if (is_shared(m) && m->end - m->start <= left) {
			left -= m->end - m->start;
			err = gr_image_plan(rt->image, m->start, m->end);
		}
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	return err;
}

struct gr_error *gr_native_plan(struct gr_runtime *rt,
				const struct gr_residency *residency,
				const struct gr_heap_arenas *go_arenas)
{
	struct gr_error *err;

	if (!gr_mappings_may_have_c(&residency->mappings))
		return NULL;
	err = plan_pages(rt, residency, &residency->ranges, go_arenas);
	if (!err)
		err = plan_pages(rt, residency, &residency->swapped, go_arenas);
	return err ? err : plan_shared(rt, &residency->mappings);
}

// ------------------------------------------------------------------- missing

struct counter {
	const struct gr_native_spec *spec;
	const struct gr_ranges *ranges; /* memory that is at hand */
	uint64_t bytes;
};

/* Count what is not at hand of [start, end), which is not the Go heap's. */
static struct gr_error *count_part(struct counter *c, uint64_t start,
				   uint64_t end)
{
	const struct gr_ranges *ranges = c->ranges;
	struct gr_error *err = NULL;

	for (size_t i = gr_ranges_search(ranges, start);
	     !err && i < ranges->count && ranges->data[i].start < end; i++) {
		if (ranges->data[i].start > start)
			c->bytes += ranges->data[i].start - start;
		start = ranges->data[i].end;
		err = gr_runtime_step(c->spec->rt, 1);
	}
	if (start < end)
		c->bytes += end - start;
	return err;
}

/* Count what is not at hand of [start, end). */
static struct gr_error *count_range(struct counter *c, uint64_t start,
				    uint64_t end)
{
	struct gr_error *err = NULL;
	uint64_t stop, next;

	// Bounded by the arenas of Go.
	for (; !err && start < end; start = next) {
		gr_heap_arenas_before(c->spec->go_arenas, start, end, &stop,
				      &next);
		err = count_part(c, start, stop);
		if (!err)
			err = gr_runtime_step(c->spec->rt, 1);
	}
	return err;
}

/* Is all memory of the target in a core? A core does not say which memory the
 * process had never touched; the kernel writes all of a mapping that has a page,
 * with holes. */
static bool is_of_core(const struct gr_target *target)
{
	return target->kind == GR_TARGET_CORE ||
	       (target->kind == GR_TARGET_SAVED &&
		target->saved->origin_kind == GR_TARGET_CORE);
}

static struct gr_error *count_mappings(struct counter *c)
{
	const struct gr_mapping_vector *list =
		&c->spec->residency->mappings.list;
	bool is_core = is_of_core(c->spec->target);
	struct gr_error *err = NULL;
	uint64_t end = 0;

	for (size_t i = 0; !err && i < list->size; i++) {
		struct gr_mapping m = list->data[i];

		if (!gr_mapping_begin_at(&m, &end))
			continue;
		if (is_core ? gr_native_may_hold(&m) && !is_sealed(&m) :
			      is_shared(&m))
			err = count_range(c, m.start, m.end);
		if (!err)
			err = gr_runtime_step(c->spec->rt, 1);
	}
	return err;
}

/* Count pages in swap that could not be read. Those of shared memory are counted
 * already. */
static struct gr_error *count_swapped(struct counter *c)
{
	const struct gr_residency *r = c->spec->residency;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < r->swapped.size; i++) {
		const struct gr_resident *range = &r->swapped.data[i];
		const struct gr_mapping *m =
			&r->mappings.list.data[range->mapping];

		if (may_hold_range(m, range) && !is_shared(m))
			err = count_range(c, range->start, range->end);
		if (!err)
			err = gr_runtime_step(c->spec->rt, 1);
	}
	return err;
}

/* Count resident pages without access that could not be read. */
static struct gr_error *count_sealed(struct counter *c)
{
	const struct gr_residency *r = c->spec->residency;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < r->ranges.size; i++) {
		const struct gr_resident *range = &r->ranges.data[i];
		const struct gr_mapping *m =
			&r->mappings.list.data[range->mapping];

		if (is_sealed(m) && may_hold_range(m, range))
			err = count_range(c, range->start, range->end);
		if (!err)
			err = gr_runtime_step(c->spec->rt, 1);
	}
	return err;
}

struct gr_error *gr_native_find_missing(const struct gr_native_spec *spec,
					uint64_t *ret)
{
	struct counter c = { .spec = spec,
			     .ranges = gr_image_ranges(spec->rt->image) };
	struct gr_error *err = count_mappings(&c);

	if (!err)
		err = count_swapped(&c);
	if (!err)
		err = count_sealed(&c);
	*ret = c.bytes;
	return err;
}
