// SPDX-License-Identifier: Apache-2.0
#include "growth/mapping_classes.h"

void gr_mapping_classes_deinit(struct gr_mapping_classes *classes)
{
	gr_mapping_class_vector_deinit(&classes->list);
}

/* The class that stands for a class and those beside it: they lie together in
 * GR_RSS_CLASSES. */
static enum gr_rss_class whole_of(enum gr_rss_class class)
{
	if (class <= GR_RSS_RUNTIME_SPANS)
		return GR_RSS_LIVE;
	if (class <= GR_RSS_RUNTIME)
		return GR_RSS_RUNTIME;
	if (class >= GR_RSS_C_HELD_BY_GO && class <= GR_RSS_C_HEAP)
		return GR_RSS_C_HEAP;
	return class;
}

static struct gr_mapping_class describe(enum gr_rss_class class)
{
	struct gr_mapping_class row = { .class = gr_rss_class_name(class),
					.class_text =
						gr_rss_class_text(class) };

	if (class == GR_RSS_LIVE) {
		row.class = "go_heap";
		row.class_text = "Go heap, with goroutine stacks";
	} else if (class == GR_RSS_RUNTIME) {
		row.class_text = "Go runtime";
	} else if (class == GR_RSS_C_HEAP) {
		row.class_text = "C heap";
	}
	return row;
}

void gr_mapping_classes_end(struct gr_mapping_classes *c)
{
	size_t most = 0;

	for (size_t i = 1; i < GR_NRSS_CLASSES; i++)
		if (c->bytes[i] > c->bytes[most])
			most = i;
	if (!c->bytes[most])
		return;
	struct gr_mapping_class row = describe(most);
	row.start = c->mappings->data[c->at].start;
	row.end = c->mappings->data[c->at].end;
	if (!gr_mapping_class_vector_append(&c->list, row))
		c->is_short_of_memory = true;
	memset(c->bytes, 0, sizeof(c->bytes));
}

void gr_mapping_classes_add(struct gr_mapping_classes *c,
			    enum gr_rss_class class, uint64_t start,
			    uint64_t end)
{
	const struct gr_mapping_vector *list = c->mappings;

	if (c->at >= list->size)
		return;
	if (list->data[c->at].end <= start) {
		gr_mapping_classes_end(c);
		// Bounded by the mappings, which are passed in order.
		while (c->at < list->size && list->data[c->at].end <= start)
			c->at++;
	}
	if (c->at < list->size)
		c->bytes[whole_of(class)] += end - start;
}
