// SPDX-License-Identifier: Apache-2.0
// The children of a path are sorted by what follows the path in the lines. A
// child stands for its own line (its name, a space, its bytes) and for the
// lines of all paths below it, which begin with its name and a `;'. As no name
// has a `;', lines of different children are never mixed.
#include "proto/stack_order.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/sort.h"

enum {
	POLL_PATHS = 4096,
	REST = 64,	// bytes, for the end of a name and what follows it
	REST_NAME = 32, // more than a space and the digits of a number
};

// A line, or all lines below a path.
struct item {
	const char *name;
	uint64_t bytes; // of the line; not used for the lines below a path
	uint32_t path;
	bool is_line;
};

struct order {
	const struct gr_paths *paths;
	struct item *items; // by parents; the roots come last
	uint32_t *begins;   // of each path's children; of the roots; the end
	struct gr_error *(*poll)(void *ctx);
	void *ctx;
};

static void order_deinit(struct order *o)
{
	free(o->items);
	free(o->begins);
}

static struct gr_error *step(const struct order *o, size_t at)
{
	return at % POLL_PATHS == 0 && o->poll ? o->poll(o->ctx) : NULL;
}

static void put_rest(char *to, const char *name, const struct item *item)
{
	if (item->is_line)
		snprintf(to, REST, "%.*s %" PRIu64, REST_NAME, name,
			 item->bytes);
	else
		snprintf(to, REST, "%.*s;", REST_NAME, name);
}

static int compare_items(const void *a, const void *b)
{
	const struct item *p = a, *q = b;
	const char *x = p->name, *y = q->name;
	char rest_of_x[REST], rest_of_y[REST];

	for (; *x && *x == *y; x++)
		y++;
	if (*x && *y)
		return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
	put_rest(rest_of_x, x, p);
	put_rest(rest_of_y, y, q);
	return strcmp(rest_of_x, rest_of_y);
}

// The place of a path's parent among those of all parents.
static size_t parent_of(const struct order *o, uint32_t path)
{
	uint32_t parent = o->paths->paths[path].parent;

	return parent == GR_PATH_NONE ? o->paths->npaths : parent;
}

// Count the items of each parent, two entries further on than where they go.
static struct gr_error *count_items(struct order *o)
{
	const struct gr_path *paths = o->paths->paths;
	size_t n = o->paths->npaths;

	o->begins = calloc(n + 3, sizeof(*o->begins));
	if (!o->begins)
		return &gr_enomem;
	// Children come after their parents.
	for (uint32_t i = (uint32_t)n; i-- > 0;) {
		bool has_below = o->begins[i + 2] > 0;

		o->begins[parent_of(o, i) + 2] +=
			(paths[i].bytes > 0) + has_below;
	}
	return NULL;
}

static void add_item(struct order *o, uint32_t path, bool is_line)
{
	const struct gr_path *p = &o->paths->paths[path];

	o->items[o->begins[parent_of(o, path) + 1]++] =
		(struct item){ o->paths->places[p->place].name, p->bytes, path,
			       is_line };
}

// Put the items of each parent together.
static struct gr_error *group_items(struct order *o)
{
	size_t n = o->paths->npaths;
	_cleanup_free_ bool *has_below = calloc(n + 1, sizeof(*has_below));
	struct gr_error *err = has_below ? count_items(o) : &gr_enomem;

	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		has_below[i] = o->begins[i + 2] > 0;
	for (size_t i = 1; i <= n + 2; i++)
		o->begins[i] += o->begins[i - 1];
	o->items = calloc(o->begins[n + 2] + 1, sizeof(*o->items));
	if (!o->items)
		return &gr_enomem;
	for (uint32_t i = 0; i < n; i++) {
		if (o->paths->paths[i].bytes)
			add_item(o, i, true);
		if (has_below[i])
			add_item(o, i, false);
	}
	return NULL;
}

static struct gr_error *sort_items(struct order *o)
{
	for (size_t i = 0; i <= o->paths->npaths; i++) {
		uint32_t begin = o->begins[i], end = o->begins[i + 1];
		struct gr_error *err = step(o, i);

		if (!err)
			err = gr_sort(o->items + begin, end - begin,
				      sizeof(*o->items), compare_items, o->poll,
				      o->ctx);
		if (err)
			return err;
	}
	return NULL;
}

// List all lines, depth first.
static size_t list_lines(const struct order *o, uint32_t *to)
{
	uint32_t next[GR_PATH_MAX_DEPTH + 1], ends[GR_PATH_MAX_DEPTH + 1];
	size_t depth = 0, n = 0, roots = o->paths->npaths;

	next[0] = o->begins[roots];
	ends[0] = o->begins[roots + 1];
	for (;;) {
		if (next[depth] == ends[depth]) {
			if (!depth--)
				return n;
			continue;
		}
		const struct item *item = &o->items[next[depth]++];
		if (item->is_line) {
			to[n++] = item->path;
			continue;
		}
		depth++; // a path has no more names
		GR_ASSERT(depth <= GR_PATH_MAX_DEPTH);
		next[depth] = o->begins[item->path];
		ends[depth] = o->begins[item->path + 1];
	}
}

struct gr_error *gr_stack_order(const struct gr_paths *paths,
				struct gr_error *(*poll)(void *ctx), void *ctx,
				uint32_t **ret, size_t *count)
{
	_cleanup_(order_deinit) struct order o = { .paths = paths,
						   .poll = poll,
						   .ctx = ctx };
	_cleanup_free_ uint32_t *list =
		malloc((paths->npaths + 1) * sizeof(*list));

	if (!list)
		return &gr_enomem;
	struct gr_error *err = group_items(&o);
	if (!err)
		err = sort_items(&o);
	if (err)
		return err;
	*count = list_lines(&o, list);
	*ret = steal_ptr(list);
	return NULL;
}
