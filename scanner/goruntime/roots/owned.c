// SPDX-License-Identifier: Apache-2.0
#include "goruntime/roots/owned.h"

/* Records between two marks. A list that leads into another one is noticed
 * after at most this many steps. */
enum { MARK_STEPS = 64 };

void gr_owned_deinit(struct gr_owned *all)
{
	gr_number_set_deinit(&all->marks);
}

/* Detect a loop that is too short to contain a mark. */
static bool is_short_loop(struct gr_owned_list *list, uint64_t addr)
{
	if (list->len && addr == list->mark)
		return true;
	if (list->len == list->next_mark) {
		list->mark = addr;
		list->next_mark = list->next_mark * 2 + 1;
	}
	return false;
}

struct gr_error *gr_owned_visit(struct gr_runtime *rt,
				struct gr_owned_list *list, uint64_t addr,
				bool *ret)
{
	struct gr_error *err = gr_runtime_step(rt, 1);

	if (err)
		return err;
	*ret = !is_short_loop(list, addr) &&
	       !gr_number_set_has(&list->all->marks, addr);
	if (!*ret)
		return NULL;
	if (++list->len % MARK_STEPS == 0 &&
	    !gr_number_set_add(&list->all->marks, addr, ret))
		return &gr_enomem;
	return NULL;
}
