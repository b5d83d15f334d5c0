// SPDX-License-Identifier: Apache-2.0
#include "growth/thread_stacks.h"

#include "process/status.h"

void gr_thread_stacks_deinit(struct gr_thread_stacks *stacks)
{
	gr_stack_places_deinit(&stacks->places);
	gr_stack_threads_deinit(&stacks->threads);
}

static bool is_known(const struct gr_thread_stacks *stacks, uint64_t sp)
{
	const struct gr_stack_places *list = &stacks->places;
	size_t n = gr_count_before(list->size, i, list->data[i].end <= sp);

	// The places that were looked at come first, by address.
	return n < list->size && list->data[n].start <= sp &&
	       sp < list->data[n].end;
}

struct gr_error *gr_thread_stacks_add(struct gr_thread_stacks *stacks,
				      uint64_t sp)
{
	if (!sp || is_known(stacks, sp))
		return NULL;
	if (stacks->places.size == GR_MAX_STACK_PLACES) {
		stacks->is_full = true;
		return NULL;
	}
	// One that was not looked at is behind all that were.
	return gr_stack_places_append(&stacks->places,
				      (struct gr_stack_place){ sp, UINT64_MAX,
							       UINT64_MAX }) ?
		       NULL :
		       &gr_enomem;
}

struct gr_error *gr_thread_stacks_read(struct gr_thread_stacks *stacks,
				       int32_t pid, uint8_t sp_register)
{
	_cleanup_closedir_ DIR *dir = gr_tasks_open(pid);
	struct gr_error *err = NULL;
	size_t nthreads = 0;
	pid_t tid;

	for (; !err && dir && (tid = gr_tasks_next(dir)); nthreads++) {
		if (nthreads == GR_MAX_STACK_PLACES) {
			stacks->is_full = true;
			break;
		}
		struct gr_task_place place = gr_task_place(pid, tid);

		if (place.is_known)
			err = gr_thread_stacks_add(stacks, place.sp);
	}
	stacks->threads.size = 0;
	for (size_t i = 0; !err && i < stacks->places.size; i++) {
		struct gr_target_thread *thread =
			gr_stack_threads_append_entry(&stacks->threads);

		if (!thread)
			return &gr_enomem;
		memset(thread, 0, sizeof(*thread));
		thread->regs.is_partial = true;
		thread->regs.value[sp_register] = stacks->places.data[i].sp;
	}
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct gr_stack_place *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Keep one place of each mapping, by address. */
static void sort_places(struct gr_stack_places *list)
{
	size_t kept = 0;

	if (list->size)
		qsort(list->data, list->size, sizeof(*list->data), by_start);
	for (size_t i = 0; i < list->size; i++)
		if (!kept || list->data[kept - 1].start != list->data[i].start)
			list->data[kept++] = list->data[i];
	list->size = kept;
}

void gr_thread_stacks_check(struct gr_thread_stacks *stacks,
			    const struct gr_mappings *mappings,
			    uint8_t sp_register)
{
	struct gr_stack_places *list = &stacks->places;
	size_t kept = 0;

	for (size_t i = 0; i < list->size; i++) {
		struct gr_stack_place place = list->data[i];
		const struct gr_mapping *m =
			gr_mappings_find(mappings, place.sp);
		bool is_new = place.start == UINT64_MAX;

		if (!m || (!is_new &&
			   (m->start != place.start || m->end != place.end))) {
			stacks->threads.data[i].regs.value[sp_register] = 0;
			continue;
		}
		list->data[kept++] =
			(struct gr_stack_place){ place.sp, m->start, m->end };
	}
	list->size = kept;
	sort_places(list);
}
