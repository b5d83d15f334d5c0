// SPDX-License-Identifier: Apache-2.0
#include "goruntime/memory/sys_memory.h"

#include "base/chain.h"
#include "base/sort.h"
#include "goruntime/sched/buckets.h"
#include "goruntime/types/types.h"
#include "inferior/elf.h"

enum {
	BLOCK_WORDS = 4096,
	/* runtime/malloc.go: persistentChunkSize, the same in all releases. */
	PERSISTENT_CHUNK_BYTES = 256 << 10,
	MAX_LEVELS = 8, /* summaries of pageAlloc; there are 5 */
};

/* Longer ranges are damage. */
#define MAX_BYTES (UINT64_C(1) << 40)

/** A value of the runtime in memory. */
struct value {
	uint64_t addr;
	gr_type_id type; /**< GR_TYPE_NONE: there is no such value. */
};

/** The source of a reading, and its result. */
struct reader {
	struct gr_runtime *rt;
	struct gr_types *types;
	struct gr_sys_memory *sys;
};

void gr_sys_memory_deinit(struct gr_sys_memory *sys)
{
	gr_sys_vector_deinit(&sys->records);
	gr_sys_vector_deinit(&sys->chunks);
}

static struct gr_error *add(struct gr_sys_memory *sys, enum gr_sys_kind kind,
			    uint64_t start, uint64_t bytes)
{
	struct gr_sys_vector *list = kind == GR_SYS_OTHER ? &sys->chunks :
							    &sys->records;
	struct gr_sys_range *last = list->size ? &list->data[list->size - 1] :
						 NULL;

	if (!start || !bytes || bytes > MAX_BYTES ||
	    start > (uint64_t)INT64_MAX - bytes)
		return NULL;
	if (last && last->kind == kind && last->end == start) {
		last->end += bytes;
		return NULL;
	}
	return gr_sys_vector_append(list,
				    (struct gr_sys_range){ start, start + bytes,
							   kind }) ?
		       NULL :
		       &gr_enomem;
}

/* Add memory that may come from the system directly: nothing else has the rest
 * of its last page. */
static struct gr_error *add_whole_pages(struct gr_sys_memory *sys,
					enum gr_sys_kind kind, uint64_t start,
					uint64_t bytes)
{
	struct gr_error *err = add(sys, kind, start, bytes);
	uint64_t end = start + bytes;

	return err || !start || !bytes || bytes > MAX_BYTES ?
		       err :
		       add(sys, GR_SYS_OTHER, end, -end % GR_PAGE_BYTES);
}

// -------------------------------------------------------------------- values

static struct value field(const struct reader *r, struct value of,
			  const char *name)
{
	struct value none = { 0, GR_TYPE_NONE };

	if (of.type == GR_TYPE_NONE)
		return none;
	const struct gr_type_field *found =
		gr_types_field_named(r->types, of.type, name);
	return found ? (struct value){ of.addr + found->off_bytes,
				       found->type } :
		       none;
}

static struct value variable(const struct reader *r, const char *name)
{
	struct value ret = { 0, GR_TYPE_NONE };

	gr_types_variable(r->types, name, &ret.addr, &ret.type);
	return ret;
}

static uint64_t type_bytes(const struct reader *r, gr_type_id id)
{
	return id == GR_TYPE_NONE ? 0 : gr_types_get(r->types, id)->size_bytes;
}

static gr_type_id elem_of(const struct reader *r, gr_type_id id)
{
	return id == GR_TYPE_NONE ? GR_TYPE_NONE :
				    gr_types_get(r->types, id)->elem;
}

/* The word at @p addr; 0 if it cannot be read. */
static struct gr_error *word_at(const struct reader *r, uint64_t addr,
				uint64_t *ret)
{
	*ret = 0;
	struct gr_error *err =
		addr ? gr_image_read_u64(r->rt->image, addr, ret) : NULL;
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		*ret = 0;
	return err;
}

/* The array of a slice: address, length, capacity. */
static struct gr_error *slice_at(const struct reader *r, struct value slice,
				 uint64_t words[3])
{
	struct gr_error *err = NULL;

	memset(words, 0, 3 * sizeof(*words));
	for (int i = 0; !err && i < 3 && slice.type != GR_TYPE_NONE; i++)
		err = word_at(r, slice.addr + i * GR_WORD_BYTES, &words[i]);
	return err;
}

/* Add the array of a slice, with its reserve. */
static struct gr_error *add_slice(const struct reader *r, enum gr_sys_kind kind,
				  struct value slice)
{
	uint64_t words[3], elem = type_bytes(r, elem_of(r, slice.type));
	struct gr_error *err = slice_at(r, slice, words);

	if (err || !elem || words[2] > MAX_BYTES / elem)
		return err;
	return add_whole_pages(r->sys, kind, words[0], words[2] * elem);
}

/* Add what each of @p count words from @p addr on points to. */
static struct gr_error *add_pointees(const struct reader *r,
				     enum gr_sys_kind kind, uint64_t addr,
				     uint64_t count, uint64_t bytes)
{
	uint64_t block[BLOCK_WORDS];
	struct gr_error *err = NULL;

	// Bounded by the words that can be read.
	while (!err && addr && count) {
		uint64_t n = count < BLOCK_WORDS ? count : BLOCK_WORDS;

		err = gr_image_read(r->rt->image, addr, block,
				    n * GR_WORD_BYTES);
		if (gr_error_catch(&err, GR_ERROR_FAULT))
			return NULL;
		for (uint64_t i = 0; !err && i < n; i++)
			err = add(r->sys, kind, block[i], bytes);
		if (!err)
			err = gr_runtime_step(r->rt, n);
		addr += n * GR_WORD_BYTES;
		count -= n;
	}
	return err;
}

/* Add the records of a list, whose words at @p next_off lead on. */
static struct gr_error *add_list(const struct reader *r, enum gr_sys_kind kind,
				 uint64_t first, uint64_t next_off,
				 uint64_t bytes)
{
	struct gr_chain chain = {
		.limit = bytes ? gr_image_readable_bytes(r->rt->image) / bytes :
				 0,
	};
	struct gr_error *err = NULL;

	for (uint64_t at = first; !err && at && gr_chain_step(&chain, at);) {
		err = add(r->sys, kind, at, bytes);
		if (!err)
			err = word_at(r, at + next_off, &at);
		if (!err)
			err = gr_runtime_step(r->rt, 1);
	}
	return err;
}

// --------------------------------------------------------------------- kinds

static struct gr_error *add_spans(const struct reader *r, struct value heap)
{
	struct value all = field(r, heap, "allspans");
	uint64_t words[3];
	struct gr_error *err = slice_at(r, all, words);

	if (!err)
		err = add_slice(r, GR_SYS_OTHER, all);
	// More spans than pages that can be read are damage.
	if (err ||
	    words[1] > gr_image_readable_bytes(r->rt->image) / GR_WORD_BYTES)
		return err;
	return add_pointees(
		r, GR_SYS_SPANS, words[0], words[1],
		type_bytes(r, gr_types_find(r->types, "runtime.mspan")));
}

static struct gr_error *add_caches(const struct reader *r)
{
	uint64_t bytes =
		type_bytes(r, gr_types_find(r->types, "runtime.mcache"));
	struct value p = { 0, gr_types_find(r->types, "runtime.p") };
	struct value cache = field(r, p, "mcache");
	struct value all = variable(r, "runtime.allp");
	uint64_t words[3], addr;
	struct gr_error *err = slice_at(r, all, words);

	for (uint64_t i = 0; !err && i < words[1] && i < BLOCK_WORDS &&
			     cache.type != GR_TYPE_NONE;
	     i++) {
		err = word_at(r, words[0] + i * GR_WORD_BYTES, &addr);
		if (!err && addr)
			err = word_at(r, addr + cache.addr, &addr);
		if (!err)
			err = add(r->sys, GR_SYS_CACHES, addr, bytes);
		if (!err)
			err = gr_runtime_step(r->rt, 1);
	}
	return err;
}

/* The two levels of an index: an array of pointers to arrays. */
static struct gr_error *add_index(const struct reader *r, enum gr_sys_kind kind,
				  struct value index)
{
	uint64_t bytes = type_bytes(r, elem_of(r, elem_of(r, index.type)));
	uint64_t count = type_bytes(r, index.type) / GR_WORD_BYTES;

	return add_pointees(r, kind, index.addr, count, bytes);
}

static struct gr_error *add_page_tables(const struct reader *r,
					struct value pages)
{
	struct value summary = field(r, pages, "summary");
	struct value level = { summary.addr, elem_of(r, summary.type) };
	uint64_t each = type_bytes(r, level.type);
	uint64_t levels = each ? type_bytes(r, summary.type) / each : 0;
	struct value index = field(r, field(r, pages, "scav"), "index");
	struct gr_error *err =
		add_index(r, GR_SYS_PAGES, field(r, pages, "chunks"));

	for (uint64_t i = 0; !err && i < levels && i < MAX_LEVELS; i++) {
		err = add_slice(r, GR_SYS_PAGES, level);
		level.addr += each;
	}
	return err ? err :
		     add_slice(r, GR_SYS_PAGES, field(r, index, "chunks"));
}

static struct gr_error *add_gc_bits(const struct reader *r)
{
	static const char *const lists[] = { "free", "next", "current",
					     "previous" };
	struct value all = variable(r, "runtime.gcBitsArenas");
	struct value arena = { 0,
			       gr_types_find(r->types, "runtime.gcBitsArena") };
	struct value next = field(r, arena, "next");
	struct gr_error *err = NULL;
	uint64_t first;

	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(lists); i++) {
		struct value head = field(r, all, lists[i]);

		if (head.type == GR_TYPE_NONE || next.type == GR_TYPE_NONE)
			continue;
		err = word_at(r, head.addr, &first);
		if (!err)
			err = add_list(r, GR_SYS_GC_BITS, first, next.addr,
				       type_bytes(r, arena.type));
	}
	return err;
}

/* A bucket is followed by its stack and by what was counted. */
static struct gr_error *add_buckets(const struct reader *r,
				    enum gr_bucket_kind kind, const char *name)
{
	const struct gr_layout *layout = &r->rt->layout;
	gr_type_id type = gr_types_find(r->types, "runtime.bucket");
	struct gr_chain chain = {
		.limit = gr_image_readable_bytes(r->rt->image) / GR_WORD_BYTES,
	};
	struct gr_error *err = NULL;
	uint64_t at, npcs;

	if (type == GR_TYPE_NONE || !gr_buckets_are_known(r->rt, kind))
		return NULL;
	uint64_t bytes =
		type_bytes(r, type) + gr_bucket_record_bytes(r->rt, kind);
	err = word_at(r, variable(r, name).addr, &at);
	while (!err && at && gr_chain_step(&chain, at)) {
		err = word_at(r, at + layout->bucket.nstk.off, &npcs);
		if (!err && npcs <= GR_MAX_BUCKET_PCS)
			err = add(r->sys, GR_SYS_PROFILE, at,
				  bytes + npcs * GR_WORD_BYTES);
		if (!err)
			err = word_at(r, at + layout->bucket.allnext.off, &at);
		if (!err)
			err = gr_runtime_step(r->rt, 1);
	}
	return err;
}

static struct gr_error *add_profiles(const struct reader *r)
{
	static const char *const lists[GR_NBUCKET_KINDS] = {
		[GR_BUCKETS_MEMORY] = "runtime.mbuckets",
		[GR_BUCKETS_BLOCK] = "runtime.bbuckets",
		[GR_BUCKETS_MUTEX] = "runtime.xbuckets",
	};
	struct gr_error *err = NULL;
	uint64_t table;

	for (int i = 0; !err && i < GR_NBUCKET_KINDS; i++)
		err = add_buckets(r, i, lists[i]);
	if (!err)
		err = word_at(r, variable(r, "runtime.buckhash").addr, &table);
	return err ? err :
		     add_whole_pages(
			     r->sys, GR_SYS_PROFILE, table,
			     type_bytes(r, gr_types_find(
						   r->types,
						   "runtime.buckhashArray")));
}

/* The rings of the collector's queues of spans (runtime/mgcmark_greenteagc.go:
 * newSpanSPMC). All are in a list, of which each record has its node. */
static struct gr_error *add_span_queues(const struct reader *r)
{
	struct value list = field(
		r, field(r, variable(r, "runtime.work"), "spanSPMCs"), "list");
	struct value queue = { 0, gr_types_find(r->types, "runtime.spanSPMC") };
	struct value next = field(r, field(r, queue, "allnode"), "next");
	struct value ring = field(r, queue, "ring");
	struct value capacity = field(r, queue, "cap");
	struct gr_chain chain = {
		.limit = gr_image_readable_bytes(r->rt->image) / GR_PAGE_BYTES,
	};
	uint64_t at = 0, start, entries;
	struct gr_error *err = NULL;

	if (next.type == GR_TYPE_NONE || ring.type == GR_TYPE_NONE ||
	    capacity.type == GR_TYPE_NONE)
		return NULL;
	err = word_at(r, field(r, list, "obj").addr, &at);
	while (!err && at && gr_chain_step(&chain, at)) {
		err = word_at(r, at + ring.addr, &start);
		if (!err)
			err = word_at(r, at + capacity.addr, &entries);
		if (!err) // the capacity has 32 bits
			err = add_whole_pages(r->sys, GR_SYS_OTHER, start,
					      (uint32_t)entries *
						      (uint64_t)GR_WORD_BYTES);
		if (!err)
			err = word_at(r, at + next.addr, &at);
		if (!err)
			err = gr_runtime_step(r->rt, 1);
	}
	return err;
}

struct gr_error *gr_sys_memory_read(struct gr_types *types,
				    struct gr_sys_memory *ret)
{
	struct reader r = { gr_types_runtime(types), types, ret };
	struct value heap = variable(&r, "runtime.mheap_");
	uint64_t first = 0;

	*ret = (struct gr_sys_memory){ 0 };
	if (heap.type == GR_TYPE_NONE)
		return NULL;
	ret->is_known = true;
	struct gr_error *err = add_spans(&r, heap);
	if (!err)
		err = add_caches(&r);
	if (!err)
		err = add_index(&r, GR_SYS_ARENAS, field(&r, heap, "arenas"));
	if (!err)
		err = add_page_tables(&r, field(&r, heap, "pages"));
	if (!err)
		err = add_gc_bits(&r);
	if (!err)
		err = add_profiles(&r);
	if (!err)
		err = add_span_queues(&r);
	if (!err)
		err = word_at(&r, variable(&r, "runtime.persistentChunks").addr,
			      &first);
	return err ? err :
		     add_list(&r, GR_SYS_OTHER, first, 0,
			      PERSISTENT_CHUNK_BYTES);
}

// -------------------------------------------------------------------- answer

static int compare(const void *a, const void *b)
{
	const struct gr_sys_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sort, and cut off what the range before has. */
static struct gr_error *sort(const struct gr_runtime *rt,
			     struct gr_sys_vector *list)
{
	size_t count = 0;
	uint64_t end = 0;
	struct gr_error *err = gr_sort(list->data, list->size,
				       sizeof(*list->data), compare, rt->poll,
				       rt->poll_ctx);

	for (size_t i = 0; !err && i < list->size; i++) {
		struct gr_sys_range range = list->data[i];

		if (range.start < end)
			range.start = end;
		if (range.start >= range.end)
			continue;
		end = range.end;
		list->data[count++] = range;
	}
	if (!err)
		list->size = count;
	return err;
}

/* Add the records of the heap's arenas, which have pages in memory or spans in
 * use. */
static struct gr_error *add_arenas(const struct reader *r,
				   const struct gr_heap *heap,
				   const struct gr_heap_arenas *arenas)
{
	uint64_t bytes =
		type_bytes(r, gr_types_find(r->types, "runtime.heapArena"));
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < arenas->size; i++) {
		err = add_whole_pages(r->sys, GR_SYS_ARENAS,
				      arenas->data[i].record, bytes);
		if (!err)
			err = gr_runtime_step(r->rt, 1);
	}
	for (uint64_t i = 0; !err && i < heap->nchunks; i++) {
		err = add_whole_pages(r->sys, GR_SYS_ARENAS,
				      heap->chunks[i]->arena, bytes);
		if (!err)
			err = gr_runtime_step(r->rt, 1);
	}
	return err;
}

struct gr_error *gr_sys_memory_sort(const struct gr_heap *heap,
				    const struct gr_heap_arenas *arenas,
				    struct gr_sys_memory *sys)
{
	struct reader r = { heap->rt, heap->types, sys };
	struct gr_error *err = NULL;

	if (sys->is_known)
		err = add_arenas(&r, heap, arenas);
	if (!err)
		err = sort(heap->rt, &sys->records);
	return err ? err : sort(heap->rt, &sys->chunks);
}

/* The first range that ends behind @p addr; NULL: there is none. */
static const struct gr_sys_range *find(const struct gr_sys_vector *list,
				       uint64_t addr)
{
	size_t n = gr_count_before(list->size, i, list->data[i].end <= addr);

	return n < list->size ? &list->data[n] : NULL;
}

enum gr_sys_kind gr_sys_memory_at(const struct gr_sys_memory *sys,
				  uint64_t addr, uint64_t end, uint64_t *stop)
{
	const struct gr_sys_vector *lists[] = { &sys->records, &sys->chunks };

	*stop = end;
	for (size_t i = 0; i < GR_ARRAY_SIZE(lists); i++) {
		const struct gr_sys_range *range = find(lists[i], addr);

		if (!range)
			continue;
		if (range->start <= addr) {
			if (range->end < *stop)
				*stop = range->end;
			return range->kind;
		}
		if (range->start < *stop)
			*stop = range->start;
	}
	return GR_SYS_NONE;
}
