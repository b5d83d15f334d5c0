// SPDX-License-Identifier: Apache-2.0
/*
 * Each object gets the number of its row; rows are found by a key, a number that
 * is cheap to make, and then by name: several labels may have one name.
 */
#include "histogram/internal.h"

#include "base/vector.h"
#include "graph/keys.h"
#include "graph/sets.h"
#include "graph/topmost.h"
#include "mark/parents.h"
#include "naming/memory_name.h"
#include "naming/type_filter.h"
#include "naming/vertex.h"
#include "naming/word_name.h"
#include "retention/billed.h"
#include "retention/field_words.h"
#include "retention/type_text.h"
#include "scan/enter.h"

#include <inttypes.h>

static void counter_deinit(struct gr_counter *c)
{
	gr_histogram_rows_deinit(&c->rows);
	gr_keys_deinit(&c->keys);
	gr_array_free(c->row_of);
	gr_array_free(c->words);
	gr_span_sizes_deinit(&c->sizes);
}

void gr_histogram_destroy(struct gr_histogram *histogram)
{
	if (histogram)
		free(histogram->rows);
	free(histogram);
}
GR_DEFINE_CLEANUP(histogram, struct gr_histogram, gr_histogram_destroy)

const char *gr_histogram_key_name(enum gr_histogram_key key)
{
	static const char *const names[] = {
#define X(id, name) [GR_BY_##id] = name,
		GR_HISTOGRAM_KEYS(X)
#undef X
	};

	return names[key];
}

// ----------------------------------------------------------------------- rows

/* The row of a name; UINT32_MAX if no memory is left. */
static uint32_t row_of_name(struct gr_counter *c, const char *name)
{
	uint64_t key = gr_counter_key(KEY_NAME, (uintptr_t)name);
	const struct gr_histogram_row row = { .key = name };
	uint32_t index = gr_keys_find(&c->keys, key, 0);

	if (index != UINT32_MAX)
		return index;
	index = c->rows.size;
	return gr_histogram_rows_append(&c->rows, row) &&
			       gr_keys_add(&c->keys, key, 0, index) ?
		       index :
		       UINT32_MAX;
}

/* Enter a key, whose name is in @p text. */
struct gr_error *gr_counter_add_key(struct gr_counter *c, uint64_t key,
				    const char *text, uint32_t *ret)
{
	const char *name = gr_arena_intern(&c->answers->stop->program->arena,
					   text, strlen(text));

	*ret = name ? row_of_name(c, name) : UINT32_MAX;
	return *ret != UINT32_MAX && gr_keys_add(&c->keys, key, 0, *ret) ?
		       NULL :
		       &gr_enomem;
}

// ---------------------------------------------------------------------- names

/* Find the row of a type, or of its package. */
struct gr_error *gr_counter_add_type(struct gr_counter *c, uint64_t key,
				     const char *type, uint32_t *ret)
{
	const char *package;
	size_t n;

	if (!*type)
		type = GR_TYPE_UNKNOWN;
	if (c->options->by == GR_BY_TYPE)
		return gr_counter_add_key(c, key, type, ret);
	n = gr_type_package(type, &package);
	const char *text =
		n ? gr_arena_intern(&c->answers->stop->program->arena, package,
				    n) :
		    "(no package)";
	return text ? gr_counter_add_key(c, key, text, ret) : &gr_enomem;
}

static struct gr_error *row_of_label(struct gr_counter *c, uint32_t label,
				     uint32_t *ret)
{
	*ret = gr_keys_find(&c->keys, label, 0);
	return *ret != UINT32_MAX ?
		       NULL :
		       gr_counter_add_type(
			       c, label,
			       gr_type_label_text(c->answers->stop->program,
						  label),
			       ret);
}

/* The same for an object that no walk reached. */
static struct gr_error *row_of_record(struct gr_counter *c,
				      const struct gr_span *span,
				      uint32_t index, uint32_t *ret)
{
	uint64_t record = span->large_type;
	const char *text, *end;

	if (span->header_bytes && span->host)
		record = gr_load_u64(span->host + index * span->elem_bytes);
	*ret = gr_keys_find(&c->keys, gr_counter_key(KEY_RECORD, record), 0);
	if (*ret != UINT32_MAX)
		return NULL;
	text = gr_memory_header_type(c->answers->stop->program, span, index);
	// Arrays of all lengths are one row.
	end = *text == '[' ? strchr(text, ']') : NULL;
	if (end)
		text = gr_arena_internf(&c->answers->stop->program->arena,
					"[%s", end);
	return text ? gr_counter_add_type(c, gr_counter_key(KEY_RECORD, record),
					  text, ret) :
		      &gr_enomem;
}

static struct gr_error *row_of_class(struct gr_counter *c,
				     const struct gr_span *span, uint32_t *ret)
{
	bool is_large = span->spanclass < 2;
	uint64_t key = gr_counter_key(KEY_SPAN_CLASS, span->spanclass);
	char text[64];

	*ret = gr_keys_find(&c->keys, key, 0);
	if (*ret != UINT32_MAX)
		return NULL;
	if (is_large)
		snprintf(text, sizeof(text), "large%s",
			 span->is_noscan ? ", no pointers" : "");
	else
		snprintf(text, sizeof(text), "%" PRIu64 " B%s",
			 span->elem_bytes,
			 span->is_noscan ? ", no pointers" : "");
	return gr_counter_add_key(c, key, text, ret);
}

// --------------------------------------------------- by span, type or package

static struct gr_error *find_row(struct gr_counter *c,
				 const struct gr_span *span, uint32_t index,
				 gr_vertex v, uint32_t *ret)
{
	if (c->options->by == GR_BY_SPAN_CLASS)
		return row_of_class(c, span, ret);
	if (v == GR_VERTEX_NONE)
		return row_of_record(c, span, index, ret);
	return row_of_label(c, c->g->objects->type[v], ret);
}

/* Count the objects of one span; *@p v is the number of the next one. */
static struct gr_error *count_span(struct gr_counter *c,
				   const struct gr_span *span, gr_vertex *v)
{
	const struct gr_heap *heap = c->answers->stop->heap;
	bool is_garbage = c->options->is_garbage;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < span->nelems; i++) {
		gr_obj obj = span->first_obj + i;
		bool is_reached = gr_bitmap_test(c->g->objects->slots, obj);
		gr_vertex own = is_reached ? (*v)++ : GR_VERTEX_NONE;
		uint32_t row;

		if (is_reached == is_garbage ||
		    !gr_heap_is_allocated(heap, obj))
			continue;
		err = find_row(c, span, i, own, &row);
		if (err)
			break;
		gr_counter_count(c, row, gr_span_size(&c->sizes, i));
		if (c->row_of && is_reached)
			c->row_of[own] = row;
	}
	return err;
}

static struct gr_error *count_spans(struct gr_counter *c)
{
	const struct gr_heap *heap = c->answers->stop->heap;
	struct gr_error *err = NULL;
	gr_vertex v = 0;

	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		err = gr_span_sizes_begin(&c->sizes, &heap->spans[i]);
		if (!err)
			err = count_span(c, &heap->spans[i], &v);
	}
	return err ? err : gr_counter_count_blocks(c);
}

// ----------------------------------------------------------- by who holds them

/* The vertex that stands for a root: its variable, or its goroutine or group.*/
static gr_vertex holder_of(const struct gr_counter *c, gr_vertex root)
{
	const struct gr_heap_graph *hg = c->answers->graph;
	gr_vertex holder = c->g->parent[root];
	gr_vertex first_static = gr_goroutine_vertex(hg, hg->ngoroutines);
	bool is_static = holder >= first_static &&
			 holder < gr_group_vertex(hg, 0);

	if (c->options->by != GR_BY_GOROUTINE)
		return is_static ? holder : root;
	return is_static ? c->g->parent[holder] : holder;
}

static struct gr_error *row_of_holder(struct gr_counter *c, gr_vertex holder,
				      uint32_t *ret)
{
	uint64_t key = gr_counter_key(KEY_VERTEX, holder);
	struct gr_vertex_info info;
	struct gr_error *err;

	*ret = gr_keys_find(&c->keys, key, 0);
	if (*ret != UINT32_MAX)
		return NULL;
	err = gr_vertex_describe(c->answers, holder, &info);
	return err ? err : gr_counter_add_key(c, key, info.name, ret);
}

struct gr_error *gr_counter_root_row(struct gr_counter *c, gr_vertex root,
				     uint32_t *ret)
{
	return row_of_holder(c, holder_of(c, root), ret);
}

/* The row of the root that an object is billed to, or of its goroutine. */
static struct gr_error *
row_of_root(void *ctx, const struct gr_billed_root *root, uint32_t *ret)
{
	struct gr_counter *c = ctx;
	const struct gr_heap_graph *hg = c->answers->graph;
	uint64_t key = gr_counter_key(KEY_ROOT, (uintptr_t)root->root);

	if (c->options->by == GR_BY_GOROUTINE)
		return row_of_holder(
			c,
			root->goroutine < hg->ngoroutines ?
				gr_goroutine_vertex(hg, root->goroutine) :
				gr_group_vertex(
					hg, gr_root_group_of(root->root->kind)),
			ret);
	*ret = gr_keys_find(&c->keys, key, 0);
	return *ret != UINT32_MAX ?
		       NULL :
		       gr_counter_add_key(c, key, root->root->name, ret);
}

/* An object is counted where a scan bills it. */
static struct gr_error *count_held(struct gr_counter *c)
{
	_cleanup_(gr_billed_deinit) struct gr_billed billed = { 0 };
	struct gr_ticker ticker = { .poll = &c->poll };
	struct gr_error *err = gr_billed_init(&billed, c->answers, c->row_of);

	if (!err)
		err = gr_billed_number(&billed, row_of_root, c);
	for (gr_vertex v = 0; !err && v < gr_objects_second(c->g->objects);
	     v++) {
		gr_counter_count(c, c->row_of[v], gr_graph_own_bytes(c->g, v));
		err = gr_tick(&ticker);
	}
	return err ? err : gr_counter_count_held_blocks(c);
}

/* Add what a root or a goroutine keeps alive to the row of its name. Several
 * may have one name; they do not overlap. */
static struct gr_error *add_kept(struct gr_counter *c, gr_vertex holder)
{
	uint64_t key = gr_counter_key(KEY_KEPT, holder);
	struct gr_vertex_info info;
	struct gr_error *err;
	const char *name;

	if (gr_keys_find(&c->keys, key, 0) != UINT32_MAX)
		return NULL;
	err = gr_vertex_describe(c->answers, holder, &info);
	if (err)
		return err;
	name = gr_arena_intern(&c->answers->stop->program->arena, info.name,
			       strlen(info.name));
	if (!name || !gr_keys_add(&c->keys, key, 0, 0))
		return &gr_enomem;
	uint32_t row = gr_keys_find(
		&c->keys, gr_counter_key(KEY_NAME, (uintptr_t)name), 0);
	if (row == UINT32_MAX)
		return NULL;
	c->rows.data[row].retained_bytes += info.retained_bytes;
	c->rows.data[row].retained_c_bytes += info.retained_c_bytes;
	return NULL;
}

static struct gr_error *add_all_kept(struct gr_counter *c)
{
	struct gr_ticker ticker = { .poll = &c->poll };
	struct gr_error *err = NULL;

	for (gr_vertex v = gr_graph_first_root(c->g);
	     !err && v < gr_graph_first_group(c->g); v++) {
		err = add_kept(c, holder_of(c, v));
		if (!err)
			err = gr_tick(&ticker);
	}
	return err;
}

// ------------------------------------------------------------------- by field

/* The field of objects of a type; of containers only the container. */
struct gr_error *gr_counter_field_row(struct gr_counter *c, gr_vertex from,
				      uint64_t word, uint32_t *ret)
{
	struct gr_stop *stop = c->answers->stop;
	const struct gr_objects *objects = c->g->objects;
	uint32_t label = objects->type[from];
	bool is_field = label != GR_TYPE_NONE && !(label & GR_LABEL_DATA) &&
			word < (UINT64_C(1) << FIELD_WORD_BITS) - 1;
	uint64_t at = is_field ? word + 1 : 0;
	uint64_t type = label & ~(uint32_t)GR_LABEL_FLAGS;
	uint64_t key = gr_counter_key(KEY_FIELD, type << FIELD_WORD_BITS | at);
	struct gr_word_name name = { .type = GR_TYPE_NONE };
	struct gr_error *err = NULL;

	*ret = gr_keys_find(&c->keys, key, 0);
	if (*ret != UINT32_MAX)
		return NULL;
	if (is_field && gr_vertex_is_block(c->g, from))
		err = gr_word_find_block_name(stop->program->types, label,
					      word * GR_WORD_BYTES, &name);
	else if (is_field)
		err = gr_word_find_name(stop, gr_objects_slot(objects, from),
					label, word * GR_WORD_BYTES, &name);
	if (err)
		return err;
	const char *text = gr_arena_internf(
		&stop->program->arena, "%s%s%s", is_field ? "" : "in ",
		gr_type_label_text(stop->program, label), name.text);
	return text ? gr_counter_add_key(c, key, text, ret) : &gr_enomem;
}

/* An object is counted for the field or the variable that leads to it. */
static struct gr_error *count_fields(struct gr_counter *c)
{
	struct gr_ticker ticker = { .poll = &c->poll };
	struct gr_budget *budget = c->g->budget;
	struct gr_error *err;

	c->words = gr_array_alloc(budget, (uint64_t)c->g->nobjects + 1,
				  sizeof(*c->words));
	if (!c->words)
		return gr_budget_error(budget);
	err = gr_field_words_find(c->answers, c->words);
	for (gr_vertex v = 0; !err && v < c->g->nobjects; v++) {
		gr_vertex parent = c->g->parent[v];
		uint32_t row;

		if (parent == GR_VERTEX_NONE)
			continue;
		if (parent < c->g->nobjects)
			err = gr_counter_field_row(c, parent, c->words[v],
						   &row);
		else
			err = row_of_holder(c, holder_of(c, parent), &row);
		if (err)
			break;
		if (gr_vertex_is_block(c->g, v))
			gr_counter_count_block(c, row, v);
		else
			gr_counter_count(c, row, gr_graph_own_bytes(c->g, v));
		if (c->row_of)
			c->row_of[v] = row;
		err = gr_tick(&ticker);
	}
	return err;
}

// ------------------------------------------------------------------- retained

static struct gr_error *add_topmost(struct gr_counter *c)
{
	_cleanup_free_ struct gr_sizes *sizes =
		calloc(c->rows.size + 1, sizeof(*sizes));
	struct gr_error *err;

	if (!sizes)
		return &gr_enomem;
	err = gr_graph_topmost(c->g, c->row_of, c->rows.size, &c->poll, sizes);
	for (size_t i = 0; !err && i < c->rows.size; i++) {
		c->rows.data[i].retained_bytes = sizes[i].bytes;
		c->rows.data[i].retained_c_bytes = sizes[i].second;
	}
	return err;
}

/* Count what all objects of the type keep alive together. */
static struct gr_error *find_exact(struct gr_counter *c, struct gr_histogram *h)
{
	_cleanup_(gr_type_filter_deinit) struct gr_type_filter filter = {
		.name = c->options->exact
	};
	_cleanup_free_ uint64_t *set = gr_bitmap_alloc(c->g->nvertices);
	struct gr_ticker ticker = { .poll = &c->poll };
	struct gr_error *err = NULL;
	struct gr_kept kept = { 0 };
	bool is_one;

	if (!set)
		return &gr_enomem;
	for (gr_vertex v = 0; !err && v < c->g->nobjects; v++) {
		err = gr_type_filter_check(c->answers, &filter, v, &is_one);
		if (err || !is_one || !gr_graph_is_reached(c->g, v))
			continue;
		gr_bitmap_set(set, v);
		err = gr_tick(&ticker);
	}
	if (!err)
		err = gr_graph_set_keeps(c->answers->graph->graph, set,
					 &c->poll, NULL, &kept);
	if (!err && !kept.objects)
		err = gr_type_filter_no_object(c->answers->stop->program,
					       filter.name);
	if (!err && !kept.objects)
		return gr_error_format(GR_ERROR_NOT_FOUND,
				       "no reached object has the type \"%s\"; "
				       "`goref histogram' lists the types",
				       filter.name);
	h->exact_objects = kept.objects;
	h->exact_bytes = kept.bytes;
	h->exact_c_bytes = kept.second_bytes;
	return err;
}

// --------------------------------------------------------------------- answer

static int compare_rows(const void *a, const void *b)
{
	const struct gr_histogram_row *x = a, *y = b;

	if (x->retained_bytes != y->retained_bytes)
		return x->retained_bytes < y->retained_bytes ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return strcmp(x->key, y->key);
}

static bool is_by_holder(const struct gr_histogram_options *options)
{
	return options->by == GR_BY_ROOT || options->by == GR_BY_GOROUTINE;
}

static struct gr_error *check(const struct gr_histogram_options *options)
{
	if (options->is_garbage &&
	    (is_by_holder(options) || options->by == GR_BY_FIELD ||
	     options->by == GR_BY_HOLDER || options->exact ||
	     options->with_retained))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "garbage has no roots and no retained "
				       "sizes");
	if (options->by == GR_BY_HOLDER &&
	    (options->exact || options->with_retained))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "what holds C memory has no retained "
				       "size here");
	if (options->by == GR_BY_HOLDER && options->weight != GR_WEIGHT_BYTES)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "the collector does not scan C memory");
	if (options->exact && options->by != GR_BY_TYPE)
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "an exact size is that of a type");
	return NULL;
}

static struct gr_error *make(struct gr_counter *c, struct gr_histogram *h)
{
	const struct gr_histogram_options *options = c->options;
	bool is_held = is_by_holder(options);
	struct gr_budget *budget = c->g->budget;
	struct gr_error *err;

	if (is_held || options->with_retained) {
		c->row_of = gr_array_alloc(budget, (uint64_t)c->g->nobjects + 1,
					   sizeof(*c->row_of));
		if (!c->row_of)
			return gr_budget_error(budget);
	}
	if (options->by == GR_BY_FIELD)
		err = count_fields(c);
	else if (options->by == GR_BY_HOLDER)
		err = gr_counter_count_holders(c);
	else
		err = is_held ? count_held(c) : count_spans(c);
	if (!err && options->with_retained)
		err = is_held ? add_all_kept(c) : add_topmost(c);
	if (!err && options->exact)
		err = find_exact(c, h);
	return err;
}

static struct gr_error *answer(struct gr_answers *answers,
			       const struct gr_histogram_options *options,
			       struct gr_histogram **ret)
{
	_cleanup_(gr_cleanup_histogram) struct gr_histogram *h =
		calloc(1, sizeof(*h));
	struct gr_error *err = check(options);

	if (!err)
		err = gr_answers_need_graph(answers, options->with_retained ?
							     GR_PART_CHILDREN :
							     GR_PART_NEAREST);
	if (err || !h)
		return err ? err : &gr_enomem;
	_cleanup_(counter_deinit) struct gr_counter c = {
		.answers = answers,
		.options = options,
		.g = answers->graph->graph,
		.poll = gr_runtime_poller(&answers->stop->program->rt),
		.sizes = { .heap = answers->stop->heap,
			   .weight = options->weight },
	};
	err = make(&c, h);
	if (err)
		return err;
	if (c.rows.size)
		qsort(c.rows.data, c.rows.size, sizeof(*c.rows.data),
		      compare_rows);
	h->gaps = answers->graph_gaps;
	h->nrows = c.rows.size;
	h->rows = steal_ptr(c.rows.data);
	for (size_t i = 0; i < h->nrows; i++) {
		h->objects += h->rows[i].objects;
		h->bytes += h->rows[i].bytes;
		h->c_objects += h->rows[i].c_objects;
		h->c_bytes += h->rows[i].c_bytes;
	}
	*ret = steal_ptr(h);
	return NULL;
}

struct gr_error *gr_scan_histogram(struct gr_scan *scan,
				   const struct gr_histogram_options *options,
				   struct gr_histogram **ret)
{
	struct gr_answers *answers;
	_cleanup_(gr_cleanup_histogram) struct gr_histogram *h = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err =
		gr_scan_enter_weighing(scan, options->weight, &guard, &answers);

	if (!err)
		err = answer(answers, options, &h);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(h);
	return err;
}
