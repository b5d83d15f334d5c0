// SPDX-License-Identifier: Apache-2.0
#include "retention/named_links.h"

#include "naming/vertex.h"
#include "retention/link_cache.h"
#include "scan/enter.h"

enum { MAX_LINKS = 1 << 16 };

void gr_named_links_deinit(struct gr_named_links *links)
{
	for (size_t i = 0; i < links->count; i++)
		free(links->links[i].name);
	free(links->links);
	memset(links, 0, sizeof(*links));
}

static struct gr_error *name_links(struct gr_answers *answers,
				   const struct gr_link_vector *links,
				   struct gr_named_links *ret)
{
	struct gr_error *err = NULL;
	struct gr_word_name name;

	ret->links = calloc(links->size + 1, sizeof(*ret->links));
	if (!ret->links)
		return &gr_enomem;
	for (size_t i = 0; !err && i < links->size; i++) {
		const struct gr_link *link = &links->data[i];

		err = gr_link_name(answers, link, GR_VERTEX_NONE, &name);
		if (err)
			break;
		ret->links[i] = (struct gr_named_link){
			.name = strdup(name.text),
			.addr = link->addr,
			.off_bytes = link->off_bytes,
		};
		if (!ret->links[i].name)
			err = &gr_enomem;
		ret->count = i + 1;
	}
	return err;
}

/* Make the graph if there is none. gr_answers_need_graph() is not called
 * otherwise: its check of the memory takes longer than naming a link. */
static struct gr_error *need_graph(struct gr_answers *answers)
{
	return answers->graph ? NULL :
				gr_answers_need_graph(answers, GR_PART_NEAREST);
}

static struct gr_error *find_links(struct gr_answers *answers, uint32_t from,
				   uint32_t to, uint32_t max,
				   struct gr_named_links *ret)
{
	_cleanup_(gr_link_vector_deinit) struct gr_link_vector links = { 0 };
	struct gr_link_cache *cache;
	struct gr_error *err = need_graph(answers);

	if (!err)
		err = gr_vertex_check(answers, from);
	if (!err)
		err = gr_vertex_check(answers, to);
	if (!err && from >= gr_graph_first_group(answers->graph->graph))
		return NULL;
	if (!err)
		err = gr_link_cache_of(answers, &cache);
	if (!err)
		err = gr_link_cache_read(
			cache, from, to,
			max && max < MAX_LINKS ? max : MAX_LINKS, &links);
	return err ? err : name_links(answers, &links, ret);
}

struct gr_error *gr_scan_named_links(struct gr_scan *scan, uint32_t from,
				     uint32_t to, uint32_t max,
				     struct gr_named_links *ret)
{
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	memset(ret, 0, sizeof(*ret));
	err = gr_scan_enter(scan, &guard, &answers);
	if (!err)
		err = find_links(answers, from, to, max, ret);
	err = gr_sigbus_guard_end(&guard, err);
	if (err)
		gr_named_links_deinit(ret);
	return err;
}
