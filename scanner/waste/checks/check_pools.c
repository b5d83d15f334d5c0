// SPDX-License-Identifier: Apache-2.0
/*
 * pool: buffers in a sync.Pool or a free list whose arrays are far larger than
 * those of the others. One large use makes such a buffer, and the pool keeps
 * it.
 */
#include "waste/checks/check_pools.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "base/text.h"
#include "goroutines/primitive.h"
#include "graph/sets.h"
#include "mark/tree.h"
#include "naming/memory_name.h"
#include "naming/word_name.h"
#include "scan/answers.h"
#include "waste/checks/checks.h"
#include "waste/checks/free_lists.h"
#include "waste/objects/places.h"
#include "waste/checks/pool_items.h"

enum {
	MAX_SLICES = 64, /* of one buffer */
	TEXT_BYTES = 32,
};

/* The first word of a sync.Pool. */
#define LOCAL ".local"

/** The largest array of a buffer. */
struct array {
	uint64_t bytes; /* of its slot; 0: there is none */
	gr_obj obj;
};
GR_VECTOR(array_vector, struct array);

/** An array that is far larger than the others of its pool. */
struct outlier {
	struct array array;
	uint32_t pool; /* index */
};
GR_VECTOR(outlier_vector, struct outlier);

/** A pool with outliers. */
struct pool {
	uint64_t addr;
	gr_obj channel; /* GR_OBJ_NONE: it is a sync.Pool */
	uint64_t tables[2];
	uint64_t buffers, median;
};
GR_VECTOR(pool_vector, struct pool);

struct finder {
	struct gr_waste_run *run;
	struct gr_runtime *rt;
	struct gr_buffer_vector buffers; /* of the pool at hand */
	struct array_vector arrays;	 /* the same */
	struct pool_vector pools;
	struct outlier_vector outliers; /* in the end by object */
	struct gr_u32_vector labels;	/* of the outliers' arrays, rising */
	uint64_t excess; /* bytes of all outliers over the medians */
};

static void finder_deinit(struct finder *f)
{
	gr_buffer_vector_deinit(&f->buffers);
	array_vector_deinit(&f->arrays);
	pool_vector_deinit(&f->pools);
	outlier_vector_deinit(&f->outliers);
	gr_u32_vector_deinit(&f->labels);
}

// ------------------------------------------------------------------ the arrays

/* Take the array of the slice whose header lies at @p addr, if it is larger. */
static struct gr_error *take_slice(struct finder *f, uint64_t addr,
				   struct array *ret)
{
	const struct gr_span *span;
	uint64_t data = 0;
	struct gr_error *err = gr_image_read_u64(f->rt->image, addr, &data);

	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED) || err)
		return err;
	gr_obj obj = gr_heap_object_at(f->run->heap, data, &span);
	if (obj != GR_OBJ_NONE && gr_parents_has(f->run->parents, obj) &&
	    span->elem_bytes > ret->bytes)
		*ret = (struct array){ span->elem_bytes, obj };
	return NULL;
}

/* Find the largest array behind the slices of a value. */
static struct gr_error *
find_array(struct finder *f, const struct gr_buffer *buffer, struct array *ret)
{
	const struct gr_type_plan *plan =
		gr_type_plan_get(&f->run->plans, buffer->type);
	struct gr_error *err = NULL;
	int left = MAX_SLICES;

	*ret = (struct array){ 0, GR_OBJ_NONE };
	if (!plan) {
		err = steal_ptr(f->run->plans.err);
		return err ?: &gr_enomem;
	}
	for (uint32_t i = 0; !err && i < plan->nslots && left; i++)
		left -= plan->slots[i].op == GR_SLOT_SLICE;
	if (left == MAX_SLICES)
		return NULL;
	for (size_t w = 0;
	     !err &&
	     (w = gr_bitmap_next(plan->mask, w, plan->nwords)) < plan->nwords;
	     w++) {
		if (plan->slot_of_word[w]->op == GR_SLOT_SLICE)
			err = take_slice(f, buffer->addr + w * GR_WORD_BYTES,
					 ret);
		if (!err)
			err = gr_runtime_step(f->rt, 1);
	}
	return err;
}

static int by_bytes(const void *a, const void *b)
{
	const struct array *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? 1 : -1;
	return (x->obj > y->obj) - (x->obj < y->obj);
}

static struct gr_error *find_arrays(struct finder *f)
{
	struct gr_error *err = NULL;
	struct array array;

	f->arrays.size = 0;
	for (size_t i = 0; !err && i < f->buffers.size; i++) {
		err = find_array(f, &f->buffers.data[i], &array);
		if (!err)
			err = gr_runtime_append(f->rt, array_vector, &f->arrays,
						array);
	}
	return err ? err :
		     gr_sort(f->arrays.data, f->arrays.size,
			     sizeof(*f->arrays.data), by_bytes, f->rt->poll,
			     f->rt->poll_ctx);
}

/* Note the outliers of the pool whose buffers are at hand. */
static struct gr_error *judge(struct finder *f, struct pool pool)
{
	struct gr_error *err = find_arrays(f);
	size_t n = f->arrays.size;
	size_t first = f->outliers.size;

	if (err || n < 2)
		return err;
	pool.buffers = n;
	pool.median = f->arrays.data[gr_median_index(n)].bytes;
	for (size_t i = n; !err && i > 0; i--) {
		const struct array *array = &f->arrays.data[i - 1];
		const struct outlier outlier = { *array, f->pools.size };

		if (!gr_is_outlier(array->bytes, pool.median))
			break;
		// Two buffers may share an array.
		if (i < n && array[1].obj == array->obj)
			continue;
		f->excess += array->bytes - pool.median;
		err = gr_runtime_append(f->rt, outlier_vector, &f->outliers,
					outlier);
	}
	return err || f->outliers.size == first ?
		       err :
		       gr_runtime_append(f->rt, pool_vector, &f->pools, pool);
}

// ------------------------------------------------------------------- the pools

/* The value that an item points to, or that was boxed for the interface. */
static struct gr_error *add_item(struct finder *f,
				 const struct gr_pool_item *item)
{
	struct gr_types *types = f->run->types;
	struct gr_buffer buffer = { GR_TYPE_NONE, item->data };
	struct gr_error *err =
		gr_types_from_runtime(types, item->type_addr, &buffer.type);

	if (err || buffer.type == GR_TYPE_NONE)
		return err;
	const struct gr_type *type = gr_types_get(types, buffer.type);
	if (type->kind == GR_KIND_PTR)
		buffer.type = type->elem;
	else if (gr_types_is_direct(types, buffer.type))
		return NULL;
	return buffer.type == GR_TYPE_NONE ?
		       NULL :
		       gr_runtime_append(f->rt, gr_buffer_vector, &f->buffers,
					 buffer);
}

static struct gr_error *judge_pool(struct finder *f, const struct gr_pool *pool,
				   const struct gr_pool_item_vector *items)
{
	struct gr_error *err = NULL;

	f->buffers.size = 0;
	for (size_t i = 0; !err && i < items->size; i++) {
		err = add_item(f, &items->data[i]);
		if (!err)
			err = gr_runtime_step(f->rt, 2);
	}
	return err ? err :
		     judge(f, (struct pool){ .addr = pool->addr,
					     .channel = GR_OBJ_NONE,
					     .tables = { pool->tables[0],
							 pool->tables[1] } });
}

static struct gr_error *judge_pools(struct finder *f)
{
	_cleanup_(gr_pool_vector_deinit) struct gr_pool_vector pools = { 0 };
	_cleanup_(
		gr_pool_item_vector_deinit) struct gr_pool_item_vector items = {
		0
	};
	uint64_t left = f->run->heap->nwords;
	struct gr_pool_layout layout;
	bool is_known;
	struct gr_error *err =
		gr_pool_layout_find(f->run->types, &layout, &is_known);

	if (!err && is_known)
		err = gr_pools_read(f->run->answers->stop, &pools, &is_known);
	for (size_t i = 0; !err && is_known && i < pools.size; i++) {
		items.size = 0;
		err = gr_pool_items_read(f->run->heap, &layout, &pools.data[i],
					 &left, &items);
		if (!err)
			err = judge_pool(f, &pools.data[i], &items);
	}
	return err;
}

// ---------------------------------------------------------------- the channels

static struct gr_error *judge_channel(struct finder *f,
				      struct gr_free_lists *lists, gr_obj obj,
				      uint64_t addr)
{
	f->buffers.size = 0;
	struct gr_error *err =
		gr_free_list_read(lists, gr_parents_label(f->run->parents, obj),
				  addr, &f->buffers);

	return err ? err :
		     judge(f, (struct pool){ .addr = addr, .channel = obj });
}

static struct gr_error *judge_span(struct finder *f,
				   struct gr_free_lists *lists,
				   const struct gr_span *span)
{
	struct gr_error *err = NULL;

	for (uint32_t k = 0; !err && k < span->nelems; k++) {
		gr_obj obj = span->first_obj + k;
		uint32_t label = gr_parents_label(f->run->parents, obj);

		if (GR_UNLIKELY(gr_free_lists_may_be(lists, label)))
			err = judge_channel(f, lists, obj,
					    gr_span_slot_addr(span, k) +
						    span->header_bytes);
	}
	return err ? err : gr_runtime_step(f->rt, span->nelems / 8 + 1);
}

static struct gr_error *judge_channels(struct finder *f)
{
	const struct gr_heap *heap = f->run->heap;
	_cleanup_(gr_free_lists_deinit) struct gr_free_lists lists;
	struct gr_error *err = gr_free_lists_init(f->run, &lists);

	// Headers and buffers with pointers are no objects without.
	for (uint32_t i = 0; !err && lists.has_any && i < heap->nspans; i++)
		if (!heap->spans[i].is_noscan)
			err = judge_span(f, &lists, &heap->spans[i]);
	return err;
}

// -------------------------------------------------------------------- the rows

/* Mark the objects that only pools hold: a bit a vertex. */
static struct gr_error *find_kept(struct finder *f, uint64_t *kept)
{
	struct gr_graph *g = f->run->answers->graph->graph;
	const struct gr_poll poll = gr_runtime_poller(f->rt);
	_cleanup_(gr_u32_vector_deinit) struct gr_u32_vector holders = { 0 };
	struct gr_error *err = NULL;
	struct gr_kept sum;

	for (size_t i = 0; !err && i < f->pools.size; i++) {
		const struct pool *pool = &f->pools.data[i];
		uint64_t addrs[] = { pool->tables[0], pool->tables[1],
				     pool->channel == GR_OBJ_NONE ?
					     0 :
					     pool->addr };

		for (size_t k = 0; !err && k < GR_ARRAY_SIZE(addrs); k++) {
			gr_vertex v = gr_objects_find(g->objects, addrs[k]);
			if (v != GR_VERTEX_NONE)
				err = gr_runtime_append(f->rt, gr_u32_vector,
							&holders, v);
		}
	}
	return err ? err :
		     gr_graph_keeps(g, holders.data, holders.size, &poll, kept,
				    &sum);
}

static int by_object(const void *a, const void *b)
{
	const struct outlier *x = a, *y = b;

	return (x->array.obj > y->array.obj) - (x->array.obj < y->array.obj);
}

/* Keep the outliers that only pools hold, and sort them. */
static struct gr_error *keep_held(struct finder *f)
{
	const struct gr_graph *g = f->run->answers->graph->graph;
	_cleanup_array_ uint64_t *kept = gr_array_calloc(
		g->budget, gr_bitmap_words(g->nvertices) + 1, sizeof(*kept));
	size_t n = 0;

	if (!kept)
		return gr_budget_error(g->budget);
	struct gr_error *err = find_kept(f, kept);
	for (size_t i = 0; !err && i < f->outliers.size; i++) {
		gr_vertex v = gr_object_vertex(g->objects,
					       f->outliers.data[i].array.obj);

		if (v != GR_VERTEX_NONE && gr_bitmap_test(kept, v))
			f->outliers.data[n++] = f->outliers.data[i];
		err = gr_runtime_step(f->rt, 1);
	}
	f->outliers.size = n;
	return err ? err :
		     gr_sort(f->outliers.data, n, sizeof(*f->outliers.data),
			     by_object, f->rt->poll, f->rt->poll_ctx);
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* List the labels of the arrays: there are few, of many arrays. */
static struct gr_error *list_labels(struct finder *f)
{
	struct gr_u32_vector *labels = &f->labels;
	struct gr_error *err = NULL;
	size_t n = 0;

	for (size_t i = 0; !err && i < f->outliers.size; i++) {
		gr_obj obj = f->outliers.data[i].array.obj;

		err = gr_runtime_append(f->rt, gr_u32_vector, labels,
					gr_parents_label(f->run->parents, obj));
		if (!err)
			err = gr_runtime_step(f->rt, 2);
	}
	if (!err)
		err = gr_sort(labels->data, labels->size, sizeof(*labels->data),
			      by_number, f->rt->poll, f->rt->poll_ctx);
	for (size_t i = 0; !err && i < labels->size; i++)
		if (!n || labels->data[n - 1] != labels->data[i])
			labels->data[n++] = labels->data[i];
	labels->size = n;
	return err;
}

static struct gr_error *begin(struct gr_waste_run *run)
{
	struct finder *f = calloc(1, sizeof(*f));

	if (!f)
		return &gr_enomem;
	*f = (struct finder){ .run = run, .rt = run->heap->rt };
	run->state[GR_WASTE_POOL] = f;
	struct gr_error *err = judge_pools(f);
	if (!err)
		err = judge_channels(f);
	if (err)
		return err;
	// Few outliers do not need the object graph.
	if (!f->excess || f->excess < gr_waste_min_bytes(run)) {
		f->outliers.size = 0;
		return NULL;
	}
	err = gr_answers_need_graph(run->answers, GR_PART_NEAREST);
	if (!err)
		err = keep_held(f);
	return err ? err : list_labels(f);
}

static void end(struct gr_waste_run *run)
{
	struct finder *f = run->state[GR_WASTE_POOL];

	finder_deinit(f);
	free(f);
}

// ------------------------------------------------------------------- the check

static bool applies(struct gr_waste_run *run, const struct gr_waste_kind *kind)
{
	const struct finder *f = run->state[GR_WASTE_POOL];

	size_t i = gr_count_before(f->labels.size, k,
				   f->labels.data[k] < kind->label);

	return i < f->labels.size && f->labels.data[i] == kind->label;
}

/* Saves the slot less one of the size of the median. */
static void judge_object(struct gr_waste_run *run,
			 const struct gr_waste_object *object,
			 struct gr_saving *ret)
{
	const struct finder *f = run->state[GR_WASTE_POOL];
	const struct outlier *outliers = f->outliers.data;

	if (object->slot_bytes <= GR_OUTLIER_BYTES)
		return;
	size_t i = gr_count_before(f->outliers.size, k,
				   outliers[k].array.obj < object->obj);
	if (i == f->outliers.size || outliers[i].array.obj != object->obj)
		return;
	ret->key = outliers[i].pool;
	ret->bytes = object->slot_bytes - f->pools.data[ret->key].median;
}

/* Name the field of an object that is a pool: `.pool` by the name of the pool's
 * first word, `.pool.local`. If it ends otherwise, the word is not
 * the first one of a pool. */
static struct gr_error *name_field(struct finder *f, const struct pool *pool,
				   gr_obj obj, const char **ret)
{
	struct gr_answers *answers = f->run->answers;
	uint64_t off = pool->addr - gr_heap_object_addr(f->run->heap, obj);
	struct gr_word_name word;
	struct gr_error *err = gr_word_find_name(
		answers->stop, obj, gr_parents_label(f->run->parents, obj), off,
		&word);

	if (err)
		return err;
	size_t n = strlen(word.text), tail = strlen(LOCAL);
	if (n <= tail || strcmp(word.text + n - tail, LOCAL) != 0)
		return NULL;
	*ret = gr_arena_intern(&answers->stop->program->arena, word.text,
			       n - tail);
	return *ret ? NULL : &gr_enomem;
}

/* Name a pool: the variable, or the struct that it lies in and its field. */
static struct gr_error *name_pool(struct finder *f, const struct pool *pool,
				  const char **type, const char **field)
{
	struct gr_answers *answers = f->run->answers;
	struct gr_primitive_name name;
	const struct gr_span *span;

	if (pool->channel != GR_OBJ_NONE)
		return gr_waste_place_name(f->run, pool->channel, type, field);
	struct gr_error *err = gr_primitive_find_name(
		answers, pool->addr, "sync.Pool", false, false, &name);
	if (err)
		return err;
	*type = name.path;
	gr_obj obj = gr_heap_object_at(f->run->heap, pool->addr, &span);
	if (!**type && obj != GR_OBJ_NONE) {
		*type = gr_memory_name(answers->stop->program,
				       gr_parents_label(f->run->parents, obj));
		if (**type)
			err = name_field(f, pool, obj, field);
	}
	if (!**type)
		*type = "sync.Pool";
	return err;
}

static struct gr_error *name(struct gr_waste_run *run, uint64_t key,
			     uint64_t example, const char **type,
			     const char **field, const char **advice)
{
	struct finder *f = run->state[GR_WASTE_POOL];
	const struct pool *pool = &f->pools.data[key];
	const struct gr_finding *row =
		gr_findings_find(&run->findings, GR_WASTE_POOL, key);
	struct gr_error *err = name_pool(f, pool, type, field);
	char text[TEXT_BYTES];

	(void)example;
	if (err || !row)
		return err;
	*advice = gr_arena_internf(
		&run->answers->stop->program->arena,
		"Do not put buffers back that have grown large: the arrays of "
		"%s of %s are more than %d times as large as "
		"the median, %s.",
		gr_number_text(row->count).text,
		gr_number_text(pool->buffers).text, GR_OUTLIER_TIMES,
		gr_text_bytes(pool->median, text, sizeof(text)));
	return *advice ? NULL : &gr_enomem;
}

const struct gr_check gr_check_pools = {
	.id = GR_WASTE_POOL,
	.advice = "Do not put buffers back that have grown large.",
	.begin = begin,
	.end = end,
	.applies = applies,
	.judge = judge_object,
	.name = name,
};
