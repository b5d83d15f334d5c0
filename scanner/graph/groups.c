// SPDX-License-Identifier: Apache-2.0
#include "graph/groups.h"

static int compare(const void *a, const void *b)
{
	const struct gr_child_group *x = a, *y = b;

	if (x->retained_bytes != y->retained_bytes)
		return x->retained_bytes < y->retained_bytes ? 1 : -1;
	return x->example < y->example ? -1 : x->example > y->example;
}

/* The index of the group of @p key, found or made; UINT32_MAX if no memory is
 * left. */
static uint32_t group_of(struct gr_groups *groups, uint64_t key)
{
	struct gr_group_vector *all = &groups->groups;
	uint32_t index = gr_keys_find(&groups->keys, key, 0);

	if (index != UINT32_MAX)
		return index;
	index = all->size;
	const struct gr_child_group group = { .key = key,
					      .example = GR_VERTEX_NONE,
					      .first = index };
	return gr_keys_add(&groups->keys, key, 0, index) &&
			       gr_group_vector_append(all, group) ?
		       index :
		       UINT32_MAX;
}

uint32_t gr_groups_enter(struct gr_groups *groups, const struct gr_graph *g,
			 uint64_t key, gr_vertex v, struct gr_sizes retained)
{
	uint32_t index = group_of(groups, key);

	if (index == UINT32_MAX)
		return index;
	struct gr_child_group *group = &groups->groups.data[index];
	gr_vertex best = group->example;
	if (best == GR_VERTEX_NONE || g->retained[v] > g->retained[best])
		group->example = v;
	group->vertices++;
	group->own_bytes += gr_graph_own_bytes(g, v);
	group->retained_bytes += retained.bytes;
	group->retained_second += retained.second;
	return index;
}

void gr_groups_finish(struct gr_groups *groups, struct gr_child_groups *ret)
{
	struct gr_group_vector *all = &groups->groups;

	if (all->size)
		qsort(all->data, all->size, sizeof(*all->data), compare);
	ret->count = all->size;
	ret->groups = steal_ptr(all->data);
	gr_groups_deinit(groups);
}

void gr_groups_deinit(struct gr_groups *groups)
{
	gr_group_vector_deinit(&groups->groups);
	gr_keys_deinit(&groups->keys);
}
