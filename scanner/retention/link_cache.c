// SPDX-License-Identifier: Apache-2.0
#include "retention/link_cache.h"

#include "base/hash.h"
#include "base/sort.h"
#include "scan/answers.h"

#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION GR_UTHASH_FUNCTION
#include <uthash.h>

enum {
	SMALL_EDGES = 64,
	SMALL_BYTES = 1 << 12,	    /* of an object or a variable */
	SMALL_SPAN_BYTES = 1 << 16, /* whose pointer bits are kept */
	READERS = 1 << 12,	    /* spans whose pointer bits are kept */
};
#define MAX_KEPT_BYTES (UINT64_C(1) << 29)

/** One link: where its word lies, and where it leads to. */
struct place {
	gr_vertex to;
	uint32_t words; /* from the start of the source */
};
GR_VECTOR(place_vector, struct place);

/** The links of a large source, by target, then by offset. */
struct source {
	UT_hash_handle hh; /* in the order of their last use */
	gr_vertex from;
	struct place *places;
	size_t count;
	uint64_t base_addr; /* Byte 0; if it lies in memory. */
	uint32_t skew;	    /* Bytes that all offsets have beyond words. */
	bool has_addr;
};

struct gr_link_cache {
	struct gr_memo memo;
	struct gr_answers *answers;
	/** By the number of the span: of those with one number, the last. */
	struct gr_link_reader readers[READERS];
	struct source *sources;
	uint64_t kept_bytes; /* at most MAX_KEPT_BYTES */
};

// ----------------------------------------------------------------- lifetime

static uint64_t source_bytes(const struct source *source)
{
	return sizeof(*source) + source->count * sizeof(*source->places);
}

static void source_free(struct source *source)
{
	if (source)
		free(source->places);
	free(source);
}
GR_DEFINE_CLEANUP(source, struct source, source_free)

static void drop_source(struct gr_link_cache *cache, struct source *source)
{
	cache->kept_bytes -= source_bytes(source);
	HASH_DEL(cache->sources, source);
	source_free(source);
}

static void cache_destroy(struct gr_memo *memo)
{
	struct gr_link_cache *cache = (struct gr_link_cache *)memo;
	struct source *source, *next;

	HASH_ITER(hh, cache->sources, source, next) {
		drop_source(cache, source);
	}
	for (size_t i = 0; i < READERS; i++)
		gr_link_reader_deinit(&cache->readers[i]);
	free(cache);
}

struct gr_error *gr_link_cache_of(struct gr_answers *answers,
				  struct gr_link_cache **ret)
{
	struct gr_link_cache *cache = (struct gr_link_cache *)answers->links;

	if (!cache) {
		cache = calloc(1, sizeof(*cache));
		if (!cache)
			return &gr_enomem;
		cache->memo.destroy = cache_destroy;
		cache->answers = answers;
		for (size_t i = 0; i < READERS; i++)
			cache->readers[i].answers = answers;
		answers->links = &cache->memo;
	}
	*ret = cache;
	return NULL;
}

// ------------------------------------------------------------ small sources

static const struct gr_span *span_of(const struct gr_answers *answers,
				     gr_vertex from)
{
	const struct gr_objects *objects = answers->graph->graph->objects;

	return gr_heap_span_of(answers->stop->heap,
			       gr_objects_slot(objects, from));
}

static bool is_small_root(const struct gr_answers *answers, gr_vertex from)
{
	const struct gr_root_vertex *vertex =
		&answers->graph->roots
			 .data[from -
			       gr_graph_first_root(answers->graph->graph)];

	// A region without a length is one word.
	if (vertex->source == GR_FROM_C)
		return false;
	return vertex->source != GR_FROM_LIST ||
	       (answers->stop->roots.list.data[vertex->index].form ==
			GR_ROOT_REGION &&
		answers->stop->roots.list.data[vertex->index].bytes <=
			SMALL_BYTES);
}

/* Is the source small, so that reading it is as cheap as finding it? */
static bool is_small(const struct gr_answers *answers, gr_vertex from)
{
	const struct gr_graph *g = answers->graph->graph;

	if (g->first[from + 1] - g->first[from] > SMALL_EDGES)
		return false;
	if (gr_graph_kind(g, from) == GR_VERTEX_ROOT)
		return is_small_root(answers, from);
	if (gr_vertex_is_block(g, from))
		return gr_objects_bytes(g->objects, from) <= SMALL_BYTES;

	const struct gr_span *span = span_of(answers, from);
	return span->elem_bytes <= SMALL_BYTES &&
	       span->limit_addr - span->base_addr <= SMALL_SPAN_BYTES;
}

/* The reader that keeps the pointer bits of the source's span. */
static struct gr_link_reader *reader_of(struct gr_link_cache *cache,
					gr_vertex from)
{
	const struct gr_answers *answers = cache->answers;

	if (gr_graph_kind(answers->graph->graph, from) == GR_VERTEX_ROOT ||
	    gr_vertex_is_block(answers->graph->graph, from))
		return &cache->readers[0];
	return &cache->readers[(span_of(answers, from) -
				answers->stop->heap->spans) %
			       READERS];
}

// ------------------------------------------------------------ large sources

/* A source while its links are read. */
struct reading {
	struct source *source;
	struct place_vector places;
};

static struct gr_error *add_place(void *ctx, const struct gr_link *link)
{
	struct reading *r = ctx;
	const struct place place = {
		.to = link->to,
		.words = (uint32_t)(link->off_bytes / GR_WORD_BYTES),
	};

	if (!r->places.size) {
		r->source->base_addr = link->addr - link->off_bytes;
		r->source->skew = link->off_bytes % GR_WORD_BYTES;
		r->source->has_addr = link->addr;
	}
	return place_vector_append(&r->places, place) ? NULL : &gr_enomem;
}

static int by_target(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->words < y->words ? -1 : x->words > y->words;
}

static struct gr_error *read_places(struct gr_link_cache *cache,
				    struct source *source)
{
	_cleanup_(gr_link_reader_deinit) struct gr_link_reader reader = {
		.answers = cache->answers
	};
	struct reading r = { .source = source };
	struct gr_error *err = gr_links_each(
		&reader, source->from, GR_VERTEX_NONE, SIZE_MAX, add_place, &r);

	source->places = r.places.data;
	source->count = r.places.size;
	if (!err && source->count)
		err = gr_sort(source->places, source->count,
			      sizeof(*source->places), by_target,
			      cache->answers->stop->program->rt.poll,
			      cache->answers->stop->program->rt.poll_ctx);
	return err;
}

/* Make room for @p bytes: drop the sources that were not used for the longest
 * time. */
static void make_room(struct gr_link_cache *cache, uint64_t bytes)
{
	// uthash lists entries in the order in which they were entered.
	while (cache->sources && cache->kept_bytes + bytes > MAX_KEPT_BYTES)
		drop_source(cache, cache->sources);
}

static struct gr_error *add_source(struct gr_link_cache *cache, gr_vertex from,
				   struct source **ret)
{
	const struct gr_graph *g = cache->answers->graph->graph;
	uint64_t edges = g->first[from + 1] - g->first[from];
	_cleanup_(gr_cleanup_source) struct source *source = NULL;

	make_room(cache, sizeof(*source) + edges * sizeof(*source->places));
	struct gr_error *err = gr_image_want(cache->answers->stop->image,
					     edges * sizeof(*source->places));
	if (err)
		return err;
	source = calloc(1, sizeof(*source));
	if (!source)
		return &gr_enomem;
	source->from = from;
	err = read_places(cache, source);
	if (err)
		return err;
	HASH_ADD(hh, cache->sources, from, sizeof(from), source);
	if (!source->hh.tbl)
		return &gr_enomem;
	cache->kept_bytes += source_bytes(source);
	*ret = steal_ptr(source);
	return NULL;
}

/* Find a source in the cache, or read it, and note that it was used last. */
static struct gr_error *need_source(struct gr_link_cache *cache, gr_vertex from,
				    struct source **ret)
{
	struct source *source;

	HASH_FIND(hh, cache->sources, &from, sizeof(from), source);
	if (!source)
		return add_source(cache, from, ret);
	if (source->hh.next) {
		HASH_DEL(cache->sources, source);
		HASH_ADD(hh, cache->sources, from, sizeof(from), source);
		if (!source->hh.tbl) {
			cache->kept_bytes -= source_bytes(source);
			source_free(source);
			return &gr_enomem;
		}
	}
	*ret = source;
	return NULL;
}

static struct gr_error *find_links(const struct source *source, gr_vertex to,
				   size_t max, struct gr_link_vector *ret)
{
	size_t i = gr_count_before(source->count, k, source->places[k].to < to);
	struct gr_error *err = NULL;

	for (; !err && max-- && i < source->count && source->places[i].to == to;
	     i++) {
		uint64_t off =
			source->places[i].words * (uint64_t)GR_WORD_BYTES +
			source->skew;
		struct gr_link link = {
			.from = source->from,
			.to = to,
			.addr = source->has_addr ? source->base_addr + off : 0,
			.off_bytes = off,
		};
		if (!gr_link_vector_append(ret, link))
			err = &gr_enomem;
	}
	return err;
}

struct gr_error *gr_link_cache_read(struct gr_link_cache *cache, gr_vertex from,
				    gr_vertex to, size_t max,
				    struct gr_link_vector *ret)
{
	struct source *source = NULL;

	if (is_small(cache->answers, from))
		return gr_links_read(reader_of(cache, from), from, to, max,
				     ret);
	struct gr_error *err = need_source(cache, from, &source);
	return err ? err : find_links(source, to, max, ret);
}
