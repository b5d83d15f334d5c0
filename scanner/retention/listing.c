// SPDX-License-Identifier: Apache-2.0
/*
 * The objects of the graph, as text. By bytes, runs of slots are sorted, not
 * objects; by retained bytes, the graph sorts its vertices in linear time.
 */
#include "retention/listing.h"

#include "base/vector.h"
#include "graph/children.h"
#include "graph/keys.h"
#include "heapgraph/heapgraph.h"
#include "naming/memory_name.h"
#include "retention/type_text.h"
#include "scan/enter.h"

#include <inttypes.h>

enum {
	PIECE_BYTES = 1 << 16, /* that are written at once */
	LINE_BYTES =
		96, /* at most without the type: 0x, 16 and 3 * 20 digits */
};

/* The type of objects with one label and size. */
struct kind {
	const char *type;
	bool is_wanted;
};
GR_VECTOR(kind_vector, struct kind);

struct lister {
	struct gr_answers *answers;
	const struct gr_graph *g;
	const struct gr_listing_options *options;
	const struct gr_listing_sink *sink;
	struct gr_listed *listed;
	struct gr_keys keys; /* of kinds, by bytes and label */
	struct kind_vector kinds;
	char *text; /* of PIECE_BYTES */
	size_t bytes;
	struct gr_ticker ticker;
};

static void lister_deinit(struct lister *l)
{
	gr_keys_deinit(&l->keys);
	kind_vector_deinit(&l->kinds);
	free(l->text);
}

const char *gr_listing_order_name(enum gr_listing_order order)
{
	static const char *const names[] = {
#define X(id, name) [GR_ORDER_##id] = name,
		GR_LISTING_ORDERS(X)
#undef X
	};

	return names[order];
}

// ----------------------------------------------------------------------- text

static struct gr_error *write_piece(struct lister *l)
{
	size_t bytes = l->bytes;

	l->bytes = 0;
	return bytes ? l->sink->write(l->sink->ctx, l->text, bytes) : NULL;
}

static struct gr_error *add_line(struct lister *l, gr_vertex v, uint64_t addr,
				 uint64_t bytes, const char *type)
{
	struct gr_error *err = NULL;
	// A longer name is cut, so that a line fits in a piece.
	int room = PIECE_BYTES - LINE_BYTES;

	if (l->bytes + LINE_BYTES + strlen(type) > PIECE_BYTES)
		err = write_piece(l);
	if (err)
		return err;
	char *text = l->text + l->bytes;
	int n = snprintf(text, LINE_BYTES, "0x%" PRIx64 " %" PRIu64 " ", addr,
			 bytes);
	if (l->options->with_retained)
		n += snprintf(text + n, LINE_BYTES - n, "%" PRIu64 " ",
			      l->g->retained[v]);
	if (l->options->with_kind && l->options->with_retained)
		n += snprintf(text + n, LINE_BYTES - n, "%" PRIu64 " ",
			      gr_graph_retained_second(l->g, v));
	if (l->options->with_kind)
		n += snprintf(text + n, LINE_BYTES - n, "%s ",
			      gr_vertex_is_block(l->g, v) ? "c" : "go");
	n += snprintf(text + n, PIECE_BYTES - l->bytes - n, "%.*s\n", room - 1,
		      type);
	l->bytes += n;
	return NULL;
}

// -------------------------------------------------------------------- objects

static const char unknown[] = "?";

/* Are the objects of a kind wanted, by the name that is printed, as arrays of so
 * many values, or as blocks of C? */
static struct gr_error *ask_for_kind(struct lister *l, uint32_t label,
				     uint64_t bytes, bool is_block,
				     struct kind *kind)
{
	const struct gr_listing_options *options = l->options;
	const char *name = gr_memory_name(l->answers->stop->program, label);
	const char *other =
		is_block && label == GR_TYPE_NONE ?
			GR_BLOCK_NAME :
			gr_memory_array_name(l->answers->stop->program, label,
					     bytes);
	struct gr_error *err = options->is_wanted(
		options->ctx, *name ? name : unknown, &kind->is_wanted);

	if (err || kind->is_wanted || !*other)
		return err;
	return options->is_wanted(options->ctx, other, &kind->is_wanted);
}

/* The kind of objects of a label and a size, asked for once. */
static struct gr_error *find_kind(struct lister *l, uint32_t label,
				  uint64_t bytes, bool is_block,
				  struct kind *ret)
{
	uint64_t key = bytes | (uint64_t)is_block << 63;
	uint32_t index = gr_keys_find(&l->keys, key, label);
	struct gr_error *err = NULL;

	if (index != UINT32_MAX) {
		*ret = l->kinds.data[index];
		return NULL;
	}
	ret->type =
		l->options->with_merged_types ?
			gr_type_label_text(l->answers->stop->program, label) :
			gr_memory_name(l->answers->stop->program, label);
	ret->is_wanted = true;
	if (!*ret->type)
		ret->type = unknown;
	if (l->options->is_wanted)
		err = ask_for_kind(l, label, bytes, is_block, ret);
	if (err)
		return err;
	return gr_keys_add(&l->keys, key, label, l->kinds.size) &&
			       kind_vector_append(&l->kinds, *ret) ?
		       NULL :
		       &gr_enomem;
}

/* List an object, unless it is not wanted or beyond the limit. */
static struct gr_error *list_object(struct lister *l, gr_vertex v,
				    uint64_t addr, uint64_t bytes)
{
	struct gr_total *total = &l->listed->total;
	struct gr_error *err = gr_tick(&l->ticker);
	struct kind kind;

	// A block of C that nothing holds is not reached.
	if (!err &&
	    (bytes < l->options->min_bytes || !gr_graph_is_reached(l->g, v)))
		return NULL;
	if (!err)
		err = find_kind(l, l->g->objects->type[v], bytes,
				gr_vertex_is_block(l->g, v), &kind);
	if (err || !kind.is_wanted)
		return err;
	if (l->options->limit && total->objects == l->options->limit) {
		l->listed->left++;
		return NULL;
	}
	total->objects++;
	total->bytes += bytes;
	return add_line(l, v, addr, bytes, kind.type);
}

static int compare_runs(const void *a, const void *b)
{
	const struct gr_slot_run *x = *(const struct gr_slot_run *const *)a;
	const struct gr_slot_run *y = *(const struct gr_slot_run *const *)b;
	uint64_t x_bytes = x->elem_bytes - x->head_bytes;
	uint64_t y_bytes = y->elem_bytes - y->head_bytes;

	if (x_bytes != y_bytes)
		return x_bytes < y_bytes ? 1 : -1;
	return x->base < y->base ? -1 : x->base > y->base;
}

/* List the objects that an iterator finds. */
static struct gr_error *list_objects(struct lister *l,
				     struct gr_object_iterator c)
{
	struct gr_error *err = NULL;

	while (!err && gr_objects_next(&c))
		err = list_object(l, c.vertex, c.addr, c.bytes);
	return err;
}

/* List the runs with the largest slots first. */
static struct gr_error *list_by_bytes(struct lister *l)
{
	const struct gr_objects *objects = l->g->objects;
	_cleanup_free_ const struct gr_slot_run **runs =
		calloc((size_t)objects->nruns + 1, sizeof(*runs));
	struct gr_error *err = NULL;

	if (!runs)
		return &gr_enomem;
	for (uint32_t i = 0; i < objects->nruns; i++)
		runs[i] = &objects->runs[i];
	qsort(runs, objects->nruns, sizeof(*runs), compare_runs);
	for (uint32_t i = 0; !err && i < objects->nruns; i++) {
		uint32_t run = runs[i] - objects->runs;
		err = list_objects(l,
				   gr_objects_between(objects, run, run + 1));
	}
	return err;
}

static struct gr_error *list_by_retained(struct lister *l)
{
	_cleanup_array_ gr_vertex *sorted = NULL;
	uint32_t count;
	struct gr_error *err = gr_graph_by_retained(
		l->answers->graph->graph, l->ticker.poll, &sorted, &count);

	for (uint32_t i = 0; !err && i < count; i++) {
		gr_vertex v = sorted[i];
		if (v >= l->g->nobjects)
			continue;
		const struct gr_slot_run *run =
			gr_objects_run(l->g->objects, v);
		err = list_object(l, v, gr_objects_addr(l->g->objects, v),
				  run->elem_bytes - run->head_bytes);
	}
	return err;
}

static struct gr_error *answer(struct gr_answers *answers,
			       const struct gr_listing_options *options,
			       const struct gr_listing_sink *sink,
			       struct gr_listed *ret)
{
	bool is_retained = options->with_retained ||
			   options->order == GR_ORDER_RETAINED;
	const struct gr_poll poll =
		gr_runtime_poller(&answers->stop->program->rt);
	struct gr_error *err = gr_answers_need_graph(
		answers, is_retained ? GR_PART_DOMINATORS : GR_PART_NEAREST);

	if (err)
		return err;
	_cleanup_(lister_deinit) struct lister l = {
		.answers = answers,
		.g = answers->graph->graph,
		.options = options,
		.sink = sink,
		.listed = ret,
		.text = malloc(PIECE_BYTES),
		.ticker = { .poll = &poll },
	};
	if (!l.text)
		return &gr_enomem;
	if (options->order == GR_ORDER_RETAINED)
		err = list_by_retained(&l);
	else if (options->order == GR_ORDER_BYTES)
		err = list_by_bytes(&l);
	else
		err = list_objects(&l, gr_objects_begin(l.g->objects));
	return err ? err : write_piece(&l);
}

struct gr_error *gr_scan_list_objects(struct gr_scan *scan,
				      const struct gr_listing_options *options,
				      const struct gr_listing_sink *sink,
				      struct gr_listed *ret)
{
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	memset(ret, 0, sizeof(*ret));
	if (!err)
		err = answer(answers, options, sink, ret);
	return gr_sigbus_guard_end(&guard, err);
}
