// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_pages.h"

#include "base/cleanup.h"
#include "growth/block_holders.h"
#include "growth/class_sums.h"
#include "growth/mapping_holders.h"
#include "inferior/elf.h"
#include "profiles/site_table.h"
#include "resident/c_pages.h"
#include "resident/classes.h"
#include "resident/pieces.h"
#include "retention/type_text.h"
#include "scan/enter.h"
#include "scan/graph.h"
#include "scan/residency.h"

enum {
	NO_NUMBER = UINT32_MAX,
	CHUNK_BYTES = 16, /* from a chunk of C to its block */
	/* Groups that are told apart; more have neither type nor holder. */
	MAX_GROUPS = 1 << 20,
	BY_CLASS = 0, /* keys of the first step */
};

/** An object of which the runtime knows who allocated it. */
struct sampled {
	gr_obj obj;
	uint32_t site;
};
GR_VECTOR(sampled_vector, struct sampled);

/** Facts about a piece of memory; NO_NUMBER: not known. */
struct facts {
	enum gr_rss_class class;
	uint32_t type, site, holder;
};

/** The groups, as they grow. */
struct looker {
	struct gr_answers *answers;
	const struct gr_mapped_pages *pages;
	size_t npages, next;
	struct gr_c_pages c_pages;
	struct gr_page_holders holders;
	struct gr_block_holders blocks;
	struct gr_held_mappings mappings;
	bool has_mappings; /* their holders have been looked for */
	struct gr_sites sites;
	struct sampled_vector sampled; /* by object */
	/* (stack, class) -> step; (type, step) -> step; (site, step) -> step;
	 * (holder, step) -> group */
	struct gr_keys keys[4];
	struct gr_growth_group_vector groups;
	uint32_t steps;
	uint64_t found_bytes, coarse_bytes;
	uint64_t span_bytes;  /* resident, in spans in use */
	struct gr_error *err; /* the first one */
};

GR_DEFINE_CLEANUP(growth_pages, struct gr_growth_pages, gr_growth_pages_destroy)

void gr_growth_pages_destroy(struct gr_growth_pages *pages)
{
	if (pages)
		free(pages->groups);
	free(pages);
}

static void looker_deinit(struct looker *l)
{
	gr_c_pages_deinit(&l->c_pages);
	gr_page_holders_deinit(&l->holders);
	gr_block_holders_deinit(&l->blocks);
	gr_held_mappings_deinit(&l->mappings);
	gr_sites_deinit(&l->sites);
	sampled_vector_deinit(&l->sampled);
	gr_growth_group_vector_deinit(&l->groups);
	for (size_t i = 0; i < GR_ARRAY_SIZE(l->keys); i++)
		gr_keys_deinit(&l->keys[i]);
	gr_error_destroy(l->err);
}

// -------------------------------------------------------------------- groups

/* The innermost call of a stack that the runtime has kept. */
static const char *site_name(const struct looker *l, uint32_t site)
{
	uint32_t stack = site == NO_NUMBER ? GR_NO_STACK :
					     l->sites.list.data[site].stack;
	if (stack == GR_NO_STACK)
		return NULL;
	const struct gr_stack_call *call =
		&l->sites.stacks.calls
			 .data[l->sites.stacks.stacks.data[stack].call];

	return call->nlines ? l->sites.stacks.lines.data[call->first].function :
			      NULL;
}

static const char *holder_name(const struct looker *l,
			       const struct facts *facts)
{
	return facts->holder == NO_NUMBER ?
		       NULL :
		       l->holders.names.data[facts->holder];
}

/* Take a step from a key to a number. */
static bool take_step(struct gr_keys *keys, uint64_t key, uint32_t parent,
		      uint32_t *next, uint32_t *ret)
{
	*ret = gr_keys_find(keys, key, parent);
	if (*ret != UINT32_MAX)
		return true;
	*ret = (*next)++;
	return gr_keys_add(keys, key, parent, *ret);
}

static struct gr_error *add_group(struct looker *l, uint32_t stack,
				  const struct facts *facts, uint32_t *ret)
{
	struct gr_program *program = l->answers->stop->program;
	struct gr_growth_group group = {
		.stack = stack,
		.class = gr_class_sums_name(gr_class_sums_whole(facts->class)),
		.rss_class = gr_rss_class_name(facts->class),
		.class_text = gr_rss_class_text(facts->class),
		.site = site_name(l, facts->site),
		.holder = holder_name(l, facts),
	};

	if (facts->type != NO_NUMBER) {
		group.type = gr_type_label_text(program, facts->type);
		if (!group.type)
			return &gr_enomem;
	}
	*ret = (uint32_t)l->groups.size;
	return gr_growth_group_vector_append(&l->groups, group) ? NULL :
								  &gr_enomem;
}

/* Count memory that one stack has touched. */
static struct gr_error *count(struct looker *l, uint32_t stack,
			      struct facts facts, uint64_t bytes)
{
	uint64_t first = (uint64_t)stack << 8 | (uint64_t)facts.class;
	uint32_t step, group;

	if (l->groups.size >= MAX_GROUPS) {
		facts.type = facts.site = facts.holder = NO_NUMBER;
		l->coarse_bytes += bytes;
	}
	if (!take_step(&l->keys[0], first, BY_CLASS, &l->steps, &step) ||
	    !take_step(&l->keys[1], facts.type, step, &l->steps, &step) ||
	    !take_step(&l->keys[2], facts.site, step, &l->steps, &step))
		return &gr_enomem;
	group = gr_keys_find(&l->keys[3], facts.holder, step);
	if (group == UINT32_MAX) {
		struct gr_error *err = add_group(l, stack, &facts, &group);

		if (err)
			return err;
		if (!gr_keys_add(&l->keys[3], facts.holder, step, group))
			return &gr_enomem;
	}
	l->groups.data[group].bytes += bytes;
	l->found_bytes += bytes;
	return NULL;
}

// -------------------------------------------------------------------- pieces

/* The site of an object; NO_NUMBER: the runtime has not sampled it. */
static uint32_t site_of(const struct looker *l, gr_obj obj)
{
	const struct sampled_vector *list = &l->sampled;
	size_t n = gr_count_before(list->size, i, list->data[i].obj < obj);

	return n < list->size && list->data[n].obj == obj ? list->data[n].site :
							    NO_NUMBER;
}

/* Find what is known of an object of Go, or of a free slot. */
static struct gr_error *look_at_slot(struct looker *l, gr_obj obj,
				     uint64_t addr, struct facts *ret)
{
	const struct gr_heap *heap = l->answers->stop->heap;
	const struct gr_objects *objects = l->answers->graph->graph->objects;

	*ret = (struct facts){ GR_RSS_FREE_SLOTS, NO_NUMBER, NO_NUMBER,
			       NO_NUMBER };
	if (!gr_heap_is_allocated(heap, obj))
		return NULL;
	gr_vertex v = gr_objects_find(objects, addr);
	ret->site = site_of(l, obj);
	ret->class = GR_RSS_GARBAGE;
	if (v == GR_VERTEX_NONE ||
	    !gr_graph_is_reached(l->answers->graph->graph, v))
		return NULL;
	ret->class = GR_RSS_LIVE;
	ret->type = objects->type[v];
	return gr_page_holder_of(&l->holders, v, &ret->holder);
}

/* Look at [start, end) of spans in use, slot by slot. */
static struct gr_error *look_at_spans(struct looker *l, uint32_t stack,
				      uint64_t start, uint64_t end)
{
	const struct gr_heap *heap = l->answers->stop->heap;
	struct gr_error *err = NULL;

	while (!err && start < end) {
		const struct gr_span *span = gr_heap_span_at(heap, start);
		struct facts facts = { GR_RSS_TAILS, NO_NUMBER, NO_NUMBER,
				       NO_NUMBER };
		uint64_t stop = (start | (GR_HEAP_PAGE_BYTES - 1)) + 1;

		if (span && start < span->limit_addr) {
			uint32_t i =
				gr_span_index(span, start - span->base_addr);
			uint64_t slot = gr_span_slot_addr(span, i);

			stop = gr_span_slot_addr(span, i + 1);
			// A slot may begin with a word that is no object's.
			err = look_at_slot(l, span->first_obj + i,
					   slot + span->header_bytes, &facts);
		}
		if (stop > end)
			stop = end;
		if (!err)
			err = count(l, stack, facts, stop - start);
		if (!err)
			err = gr_runtime_step(heap->rt, 2);
		start = stop;
	}
	return err;
}

/* Look at a piece of a block of C. */
static struct gr_error *look_at_block(struct looker *l, uint32_t stack,
				      enum gr_rss_class class, uint64_t start,
				      uint64_t bytes)
{
	const struct gr_blocks *blocks = &l->c_pages.native->blocks;
	// The last block whose chunk begins at the start or before it.
	uint32_t i = gr_blocks_from(blocks, start + CHUNK_BYTES + 1);
	struct facts facts = { class, NO_NUMBER, NO_NUMBER, NO_NUMBER };
	struct gr_error *err = NULL;

	if (i && i <= blocks->list.size) {
		struct gr_block_facts block;

		err = gr_block_holders_find(&l->blocks, i - 1, &block);
		facts.type = block.type == GR_TYPE_NONE ? NO_NUMBER :
							  block.type;
		facts.holder = block.holder;
	}
	return err ? err : count(l, stack, facts, bytes);
}

static struct gr_error *look_at_stacks(struct looker *l, uint32_t stack,
				       uint64_t start, uint64_t end)
{
	struct facts facts = { GR_RSS_STACKS, NO_NUMBER, NO_NUMBER, NO_NUMBER };
	struct gr_error *err = NULL;
	uint64_t stop;

	// Bounded by the stacks: each turn passes one.
	for (; !err && start < end; start = stop) {
		err = gr_page_holder_of_stack(&l->holders, start, end, &stop,
					      &facts.holder);
		if (!err)
			err = count(l, stack, facts, stop - start);
	}
	return err;
}

static struct gr_error *look_at_data(struct looker *l, uint32_t stack,
				     uint64_t start, uint64_t end)
{
	struct facts facts = { GR_RSS_MODULES, NO_NUMBER, NO_NUMBER,
			       NO_NUMBER };
	struct gr_error *err = NULL;
	uint64_t stop;

	// Bounded by the pages: each turn passes one.
	for (; !err && start < end; start = stop) {
		err = gr_page_holder_of_data(&l->holders, start, end, &stop,
					     &facts.holder);
		if (!err)
			err = count(l, stack, facts, stop - start);
	}
	return err;
}

/* Look at memory that the program may have mapped itself. All of the heap is
 * read for pointers to it, but only if there is any. */
static struct gr_error *look_at_mapping(struct looker *l, uint32_t stack,
					enum gr_rss_class class, uint64_t start,
					uint64_t end)
{
	struct facts facts = { class, NO_NUMBER, NO_NUMBER, NO_NUMBER };
	struct gr_error *err = NULL;

	if (!l->has_mappings)
		err = gr_mapping_holders_find(&l->holders, l->pages, l->npages,
					      &l->mappings);
	l->has_mappings = true;
	// A range of pages is of one mapping.
	facts.holder = gr_mapping_holder_at(&l->mappings, start);
	return err ? err : count(l, stack, facts, end - start);
}

static struct gr_error *look_at(struct looker *l, uint32_t stack,
				enum gr_rss_class class, uint64_t start,
				uint64_t end)
{
	struct facts facts = { class, NO_NUMBER, NO_NUMBER, NO_NUMBER };

	if (class == GR_RSS_LIVE)
		return look_at_spans(l, stack, start, end);
	if (class == GR_RSS_STACKS)
		return look_at_stacks(l, stack, start, end);
	if (class == GR_RSS_C_HELD_BY_GO || class == GR_RSS_C_HELD_BY_C ||
	    class == GR_RSS_C_LEAKED)
		return look_at_block(l, stack, class, start, end - start);
	if (class == GR_RSS_MODULES)
		return look_at_data(l, stack, start, end);
	if (class == GR_RSS_ANONYMOUS || class == GR_RSS_OTHER ||
	    class == GR_RSS_SHARED)
		return look_at_mapping(l, stack, class, start, end);
	return count(l, stack, facts, end - start);
}

/* A piece of resident memory; they come by address. */
static void add(void *ctx, enum gr_rss_class class, uint64_t start,
		uint64_t end)
{
	struct looker *l = ctx;

	if (class == GR_RSS_LIVE)
		l->span_bytes += end - start;
	while (l->next < l->npages && l->pages[l->next].end <= start)
		l->next++;
	for (size_t i = l->next;
	     !l->err && i < l->npages && l->pages[i].start < end; i++) {
		const struct gr_mapped_pages *page = &l->pages[i];
		uint64_t from = page->start > start ? page->start : start;
		uint64_t to = page->end < end ? page->end : end;

		l->err = look_at(l, page->stack, class, from, to);
	}
}

// -------------------------------------------------------------------- answer

static struct gr_error *add_sampled(void *ctx, gr_obj obj, uint32_t site)
{
	struct looker *l = ctx;

	return sampled_vector_append(&l->sampled,
				     (struct sampled){ obj, site }) ?
		       NULL :
		       &gr_enomem;
}

/* A program that is not sampled, or does not tell, has no sites. */
static struct gr_error *read_sites(struct looker *l)
{
	struct gr_stop *stop = l->answers->stop;
	struct gr_error *err = gr_sites_read(stop, &l->sites);

	if (gr_error_catch(&err, GR_ERROR_NOT_FOUND))
		return NULL;
	return err ? err : gr_sites_visit(stop, &l->sites, add_sampled, l);
}

static struct gr_error *prepare(struct looker *l)
{
	struct gr_error *err =
		gr_answers_need_graph(l->answers, GR_PART_NEAREST);

	if (!err)
		err = gr_c_pages_read(l->answers, &l->c_pages);
	if (!err)
		err = gr_page_holders_init(&l->holders, l->answers);
	if (!err)
		err = gr_block_holders_init(&l->blocks, &l->holders);
	return err ? err : read_sites(l);
}

static struct gr_error *walk(struct looker *l)
{
	struct gr_stop *stop = l->answers->stop;
	_cleanup_free_ uint8_t *classes = NULL;
	const struct gr_residency *residency = NULL;
	struct gr_error *err = gr_stop_residency(stop, &residency);

	if (!err)
		err = gr_sys_memory_sort(stop->heap, &stop->pages.arenas,
					 &stop->pages.sys_memory);
	if (!err)
		err = gr_rss_classify(stop, residency, &classes);
	if (err)
		return err;
	struct gr_pieces pieces = { .heap = stop->heap,
				    .arenas = &stop->pages.arenas,
				    .page_bits = &stop->pages.page_bits,
				    .c_blocks = &stop->pages.c_blocks,
				    .c_pages = &l->c_pages,
				    .sys_memory = &stop->pages.sys_memory,
				    .add = add,
				    .ctx = l };
	err = gr_pieces_walk(&pieces, residency, classes);
	return err ? err : steal_ptr(l->err);
}

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_bytes(const void *a, const void *b)
{
	const struct gr_growth_group *x = a, *y = b;
	int order = compare_texts(x->rss_class, y->rss_class);

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	if (!order)
		order = compare_texts(x->type, y->type);
	return order ? order : compare_texts(x->holder, y->holder);
}

/* Do the pages lie in their mapping, and is it the last one or behind it? */
static bool is_in_order(const struct gr_mapped_pages *pages, uint64_t last_end)
{
	if (!pages->map_end)
		return true;
	return pages->map_start <= pages->start &&
	       pages->end <= pages->map_end &&
	       (pages->map_end == last_end || pages->map_start >= last_end);
}

static struct gr_error *check_pages(const struct gr_mapped_pages *pages,
				    size_t npages)
{
	uint64_t end = 0, map_end = 0;

	for (size_t i = 0; i < npages; i++) {
		if (pages[i].start < end || pages[i].end <= pages[i].start)
			return gr_error_format(GR_ERROR_ARGUMENT,
					       "pages are not sorted");
		end = pages[i].end;
		if (!is_in_order(&pages[i], map_end))
			return gr_error_format(GR_ERROR_ARGUMENT,
					       "mappings are not sorted");
		if (pages[i].map_end)
			map_end = pages[i].map_end;
	}
	return NULL;
}

/* Pages in swap were touched. */
static uint64_t untouched_bytes(const struct looker *l)
{
	const struct gr_stop *stop = l->answers->stop;
	uint64_t used = stop->heap->allocated_bytes;

	if (stop->pages.residency.kind == GR_RESIDENCY_UNKNOWN ||
	    stop->pages.residency.swapped_bytes)
		return UINT64_MAX;
	return used > l->span_bytes ? used - l->span_bytes : 0;
}

static struct gr_error *answer(struct looker *l, size_t max_groups,
			       struct gr_growth_pages *pages)
{
	struct gr_error *err = prepare(l);

	if (!err)
		err = walk(l);
	if (err)
		return err;
	struct gr_growth_group_vector *list = &l->groups;
	if (list->size)
		qsort(list->data, list->size, sizeof(*list->data), by_bytes);
	pages->all_groups = list->size;
	pages->ngroups = list->size < max_groups ? list->size : max_groups;
	for (size_t i = pages->ngroups; i < list->size; i++)
		pages->rest_bytes += list->data[i].bytes;
	for (size_t i = 0; i < l->npages; i++)
		pages->gone_bytes += l->pages[i].end - l->pages[i].start;
	pages->gone_bytes -= l->found_bytes;
	pages->coarse_bytes = l->coarse_bytes;
	pages->untouched_bytes = untouched_bytes(l);
	pages->groups = steal_ptr(list->data);
	list->size = list->capacity = 0;
	pages->gaps = l->answers->stop->gaps;
	return NULL;
}

struct gr_error *gr_scan_growth_pages(struct gr_scan *scan,
				      const struct gr_mapped_pages *pages,
				      size_t npages, size_t max_groups,
				      struct gr_growth_pages **ret)
{
	_cleanup_(gr_cleanup_growth_pages) struct gr_growth_pages *found =
		calloc(1, sizeof(*found));
	_cleanup_(looker_deinit) struct looker l = { .pages = pages,
						     .npages = npages };
	struct gr_sigbus_guard guard;

	if (!found)
		return &gr_enomem;
	struct gr_error *err = gr_scan_enter(scan, &guard, &l.answers);
	if (!err)
		err = check_pages(pages, npages);
	if (!err)
		err = answer(&l, max_groups, found);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(found);
	return err;
}
