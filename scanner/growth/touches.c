// SPDX-License-Identifier: Apache-2.0
#include "growth/touches.h"

#include "base/bytes.h"
#include "base/sort.h"
#include "inferior/elf.h"

void gr_touches_deinit(struct gr_touches *touches)
{
	gr_fault_vector_deinit(&touches->faults);
	gr_remap_vector_deinit(&touches->mapped);
	gr_remap_vector_deinit(&touches->given_back);
}

static void lose(struct gr_touches *touches)
{
	touches->lost++;
	touches->has_gaps = true;
}

void gr_touches_clear(struct gr_touches *touches)
{
	touches->faults.size = touches->sorted = 0;
	touches->mapped.size = touches->given_back.size = 0;
	touches->flat[0] = touches->flat[1] = 0;
	touches->order = 0;
	touches->has_gaps = false;
}

size_t gr_touches_from(const struct gr_touches *touches, uint64_t addr)
{
	return gr_count_before(touches->faults.size, i,
			       touches->faults.data[i].page < addr);
}

// -------------------------------------------------------------------- faults

static int by_page(const void *a, const void *b)
{
	const struct gr_fault *x = a, *y = b;

	return x->page < y->page ? -1 : x->page > y->page;
}

/* Sort the faults; of each page, the last one stays. */
static struct gr_error *sort_faults(struct gr_touches *touches,
				    const struct gr_poll *poll)
{
	struct gr_fault_vector *list = &touches->faults;
	struct gr_error *err = gr_sort(list->data, list->size,
				       sizeof(*list->data), by_page, poll->poll,
				       poll->ctx);
	size_t kept = 0;

	// The sort is stable.
	for (size_t i = 0; !err && i < list->size; i++) {
		if (kept && list->data[kept - 1].page == list->data[i].page)
			kept--;
		list->data[kept++] = list->data[i];
	}
	if (!err)
		list->size = touches->sorted = kept;
	return err;
}

static struct gr_error *add_fault(struct gr_touches *touches,
				  struct gr_fault fault,
				  const struct gr_poll *poll)
{
	struct gr_fault_vector *list = &touches->faults;
	struct gr_error *err = NULL;

	// Not again until a quarter is new.
	if (list->size == GR_MAX_FAULTS &&
	    touches->sorted <= GR_MAX_FAULTS / 4 * 3)
		err = sort_faults(touches, poll);
	if (err)
		return err;
	if (list->size == GR_MAX_FAULTS) {
		lose(touches);
		return NULL;
	}
	return gr_fault_vector_append(list, fault) ? NULL : &gr_enomem;
}

// ------------------------------------------------------------------ mappings

static int by_start(const void *a, const void *b)
{
	const struct gr_remap *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/** Those that reach to the place that is looked at: a heap, the latest first. */
struct open_remaps {
	const struct gr_remap **list;
	size_t size;
};

static void swap(struct open_remaps *open, size_t a, size_t b)
{
	const struct gr_remap *kept = open->list[a];

	open->list[a] = open->list[b];
	open->list[b] = kept;
}

static void open_push(struct open_remaps *open, const struct gr_remap *remap)
{
	size_t i = open->size++;

	open->list[i] = remap;
	// Each turn halves i.
	for (; i && open->list[(i - 1) / 2]->order < open->list[i]->order;
	     i = (i - 1) / 2)
		swap(open, i, (i - 1) / 2);
}

static void open_pop(struct open_remaps *open)
{
	open->list[0] = open->list[--open->size];
	// Each turn doubles i.
	for (size_t i = 0, child; (child = 2 * i + 1) < open->size; i = child) {
		if (child + 1 < open->size &&
		    open->list[child]->order < open->list[child + 1]->order)
			child++;
		if (open->list[i]->order >= open->list[child]->order)
			break;
		swap(open, i, child);
	}
}

static bool append_joined(struct gr_remap_vector *list, struct gr_remap remap)
{
	struct gr_remap *last = list->size ? &list->data[list->size - 1] : NULL;

	if (last && last->end == remap.start && last->order == remap.order) {
		last->end = remap.end;
		return true;
	}
	return gr_remap_vector_append(list, remap);
}

/* Go from one end of a mapping to the next: the latest one that is open there
 * has the place. */
static struct gr_error *sweep(const struct gr_remap_vector *from,
			      struct open_remaps *open,
			      struct gr_remap_vector *to)
{
	uint64_t at = 0;

	for (size_t i = 0; i < from->size || open->size;) {
		if (!open->size && at < from->data[i].start)
			at = from->data[i].start;
		for (; i < from->size && from->data[i].start <= at; i++)
			open_push(open, &from->data[i]);
		// Each is popped once.
		while (open->size && open->list[0]->end <= at)
			open_pop(open);
		if (!open->size)
			continue;
		struct gr_remap piece = *open->list[0];
		piece.start = at;
		if (i < from->size && from->data[i].start < piece.end)
			piece.end = from->data[i].start;
		if (!append_joined(to, piece))
			return &gr_enomem;
		at = piece.end;
	}
	return NULL;
}

static struct gr_error *flatten(struct gr_remap_vector *list,
				const struct gr_poll *poll)
{
	struct gr_remap_vector flat = { 0 };
	struct open_remaps open = { 0 };
	struct gr_error *err = gr_sort(list->data, list->size,
				       sizeof(*list->data), by_start,
				       poll->poll, poll->ctx);

	if (err || !list->size)
		return err;
	open.list = calloc(list->size, sizeof(struct gr_remap *));
	err = open.list ? sweep(list, &open, &flat) : &gr_enomem;
	free(open.list);
	if (err) {
		gr_remap_vector_deinit(&flat);
		return err;
	}
	gr_remap_vector_deinit(list);
	*list = flat;
	return NULL;
}

/* A program may map and unmap the same addresses all the time. */
static struct gr_error *add_remap(struct gr_touches *touches, size_t which,
				  struct gr_remap remap,
				  const struct gr_poll *poll)
{
	struct gr_remap_vector *list = which ? &touches->given_back :
					       &touches->mapped;
	size_t *flat = &touches->flat[which];
	struct gr_error *err = NULL;

	if (remap.end <= remap.start)
		return NULL;
	// Not again until a quarter is new.
	if (list->size >= GR_MAX_MAPPINGS && *flat <= GR_MAX_MAPPINGS / 4 * 3) {
		err = flatten(list, poll);
		*flat = err ? *flat : list->size;
	}
	if (err)
		return err;
	if (list->size >= GR_MAX_MAPPINGS) {
		lose(touches);
		return NULL;
	}
	return gr_remap_vector_append(list, remap) ? NULL : &gr_enomem;
}

// -------------------------------------------------------------------- events

static struct gr_error *add_event(struct gr_touches *touches,
				  const uint8_t *event,
				  const struct gr_poll *poll)
{
	uint64_t addr = gr_load_u64(event), bytes = gr_load_u64(event + 16);
	uint32_t flags = gr_load_u32(event + 12);
	uint32_t stack = flags & GR_TOUCH_BRIEF ? 0 : gr_load_u32(event + 8);
	uint64_t start = addr & ~(GR_PAGE_BYTES - 1);
	uint64_t end = bytes > UINT64_MAX - addr - GR_PAGE_BYTES ?
			       UINT64_MAX & ~(GR_PAGE_BYTES - 1) :
			       (addr + bytes + GR_PAGE_BYTES - 1) &
				       ~(GR_PAGE_BYTES - 1);
	struct gr_remap remap = { start, end, stack, touches->order };
	struct gr_fault fault = { start, stack, touches->order };

	if (touches->order == UINT32_MAX) {
		lose(touches);
		return NULL;
	}
	touches->order++;
	if (flags & GR_TOUCH_GIVEN_BACK)
		return add_remap(touches, 1, remap, poll);
	if (flags & GR_TOUCH_MAPPED)
		return add_remap(touches, 0, remap, poll);
	return add_fault(touches, fault, poll);
}

struct gr_error *gr_touches_add(struct gr_touches *touches, const uint8_t *data,
				size_t count, const struct gr_poll *poll)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++) {
		err = add_event(touches, data + i * GR_TOUCH_EVENT_BYTES, poll);
		if (!err && i % GR_MAX_MAPPINGS == 0)
			err = gr_poll_ask(poll);
	}
	return err;
}

struct gr_error *gr_touches_settle(struct gr_touches *touches,
				   const struct gr_poll *poll)
{
	struct gr_error *err = sort_faults(touches, poll);

	if (!err)
		err = flatten(&touches->mapped, poll);
	return err ? err : flatten(&touches->given_back, poll);
}
