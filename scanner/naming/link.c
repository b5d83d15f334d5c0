// SPDX-License-Identifier: Apache-2.0
#include "naming/link.h"

#include "scan/answers.h"
#include "scan/native.h"

#include "goruntime/heap/ptrmap.h"

#include <inttypes.h>
#include <stdio.h>

void gr_link_reader_deinit(struct gr_link_reader *reader)
{
	free(steal_ptr(reader->words));
	reader->span = NULL;
}

/* Words [first, end) of some memory, of which @map has a bit for each pointer.
 * Word i lies at addr + i * GR_WORD_BYTES, and at that offset of host. The other
 * words count, too, if they lead to blocks, where has_others says so. */
struct words {
	const uint64_t *map;
	uint64_t first, end;
	const uint8_t *host;
	uint64_t addr;	   /* 0: in no memory */
	uint64_t root_off; /* offset of the first word in its source */
	bool has_others;
};

/* A search for edges [next, end) of the graph, in their order. */
struct search {
	struct gr_answers *answers;
	const gr_vertex *next, *end;
	gr_vertex from, to;
	size_t left; /* links that are still wanted */
	gr_link_emit emit;
	void *ctx;
};

static bool is_over(const struct search *s)
{
	return s->next == s->end || !s->left;
}

static struct gr_error *add_link(struct search *s, uint64_t addr,
				 uint64_t off_bytes, bool is_conservative)
{
	gr_vertex to = *s->next++;
	const struct gr_link link = { s->from, to, addr, off_bytes,
				      is_conservative };

	if (s->to != GR_VERTEX_NONE && s->to != to)
		return NULL;
	s->left--;
	return s->emit(s->ctx, &link);
}

/* The vertex of the block that a word leads to; GR_VERTEX_NONE: to none. */
static gr_vertex block_at(const struct gr_answers *answers, uint64_t value)
{
	const struct gr_heap_graph *hg = answers->graph;
	uint32_t block = hg->native ?
				 gr_blocks_find(&hg->native->blocks, value) :
				 GR_BLOCK_NONE;

	return block == GR_BLOCK_NONE ?
		       GR_VERTEX_NONE :
		       gr_block_vertex(hg->graph->objects, block);
}

/* The vertex that a pointer leads to; GR_VERTEX_NONE: to none. */
static gr_vertex vertex_at(const struct gr_answers *answers, uint64_t value)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(answers->stop->heap, value, &span);

	return obj == GR_OBJ_NONE ?
		       block_at(answers, value) :
		       gr_object_vertex(answers->graph->graph->objects, obj);
}

/* The edges of the graph come in the order of words. A word that leads to no
 * vertex, or only to what a goroutine owns, is no edge: it is passed. */
static struct gr_error *match_words(struct search *s, const struct words *w)
{
	bool has_others = w->has_others && s->answers->graph->native;
	struct gr_error *err = NULL;

	for (uint64_t at = w->first; !err && !is_over(s) && at < w->end; at++) {
		if (!has_others)
			at = gr_bitmap_next(w->map, at, w->end);
		if (at >= w->end)
			break;
		uint64_t value = gr_load_u64(w->host + at * GR_WORD_BYTES);
		bool is_followed = !has_others ||
				   (w->map && gr_bitmap_test(w->map, at));
		gr_vertex to = GR_VERTEX_NONE;
		err = gr_runtime_step(&s->answers->stop->program->rt, 1);
		if (!err && value)
			to = is_followed ? vertex_at(s->answers, value) :
					   block_at(s->answers, value);
		if (!err && to != GR_VERTEX_NONE && to == *s->next)
			err = add_link(
				s, w->addr ? w->addr + at * GR_WORD_BYTES : 0,
				(at - w->first) * GR_WORD_BYTES + w->root_off,
				!is_followed);
	}
	return err;
}

/* Look through memory that the collector does not look at. Offsets begin at
 * @p start. */
static struct gr_error *match_memory(struct search *s, uint64_t start,
				     uint64_t end)
{
	struct gr_view view = gr_view_of(&s->answers->stop->program->rt);
	uint64_t at = start;
	struct gr_error *err = NULL;
	struct gr_range piece;

	while (!err && !is_over(s) && at < end &&
	       gr_view_piece(&view, at, end, &piece)) {
		const struct words words = {
			.end = (piece.end - piece.start) / GR_WORD_BYTES,
			.host = piece.host,
			.addr = piece.start,
			.root_off = piece.start - start,
			.has_others = true,
		};

		err = match_words(s, &words);
		at = piece.end;
	}
	return err;
}

/* The pointer bits of a span. */
static struct gr_error *need_span(struct gr_link_reader *reader,
				  const struct gr_span *span)
{
	if (reader->span == span)
		return NULL;
	gr_link_reader_deinit(reader);
	struct gr_error *err = gr_ptrmap_build_span(reader->answers->stop->heap,
						    span, &reader->words);
	if (!err)
		reader->span = span;
	return err;
}

/* Look through the words of the object in a slot. */
static struct gr_error *match_object(struct gr_link_reader *reader,
				     struct search *s,
				     const struct gr_span *span, uint32_t index)
{
	uint64_t off = index * span->elem_bytes + span->header_bytes;

	if (!gr_span_has_edges(span))
		return match_memory(s, span->base_addr + off,
				    span->base_addr +
					    (index + 1) * span->elem_bytes);
	struct gr_error *err = need_span(reader, span);
	if (err)
		return err;
	const struct words words = {
		.map = reader->words,
		.first = off / GR_WORD_BYTES,
		.end = (index + 1) * span->elem_bytes / GR_WORD_BYTES,
		.host = span->host,
		.addr = span->base_addr,
		.has_others = true,
	};
	return match_words(s, &words);
}

static const struct gr_area *area_at(const struct gr_area_list *areas,
				     uint64_t addr)
{
	size_t n =
		gr_count_before(areas->count, i, areas->areas[i].start <= addr);

	return n && addr < areas->areas[n - 1].end ? &areas->areas[n - 1] :
						     NULL;
}

/* Look through live words of an area: @p bytes from @p addr on. */
static struct gr_error *match_area(struct search *s, uint64_t addr,
				   uint64_t bytes)
{
	const struct gr_area *area =
		area_at(&s->answers->stop->roots.areas, addr);

	if (!area || !area->host || !area->live)
		return NULL;
	uint64_t off = addr - area->start;
	if (bytes > area->end - addr)
		bytes = area->end - addr;
	const struct words words = {
		.map = area->live,
		.first = (off + GR_WORD_BYTES - 1) / GR_WORD_BYTES,
		.end = (off + bytes) / GR_WORD_BYTES,
		.host = area->host,
		.addr = area->start,
		.root_off = -off % GR_WORD_BYTES,
	};
	return match_words(s, &words);
}

/* Look through a variable that lies in registers or in pieces. */
static struct gr_error *match_pieces(struct search *s,
				     const struct gr_root *root)
{
	const struct words words = {
		.map = &root->live,
		.end = root->bytes / GR_WORD_BYTES < 64 ?
			       root->bytes / GR_WORD_BYTES :
			       64,
		.host = root->bytes_at,
	};

	return match_words(s, &words);
}

/* The links that are left are no words in memory. */
static struct gr_error *add_values(struct search *s, bool is_conservative)
{
	struct gr_error *err = NULL;

	while (!err && !is_over(s))
		err = add_link(s, 0, 0, is_conservative);
	return err;
}

static struct gr_error *match_listed(struct gr_link_reader *reader,
				     struct search *s,
				     const struct gr_root *root)
{
	const struct gr_span *span = NULL;
	gr_obj obj;

	switch ((enum gr_root_form)root->form) {
	case GR_ROOT_VALUE:
		return add_values(s, false);
	case GR_ROOT_CONTENTS:
		obj = gr_heap_object_at(reader->answers->stop->heap, root->addr,
					&span);
		return obj == GR_OBJ_NONE ? NULL :
					    match_object(reader, s, span,
							 obj - span->first_obj);
	case GR_ROOT_REGION:
		break;
	}
	return root->bytes_at ? match_pieces(s, root) :
				match_area(s, root->addr, root->bytes);
}

static struct gr_error *match_root(struct gr_link_reader *reader,
				   struct search *s)
{
	const struct gr_answers *answers = reader->answers;
	const struct gr_heap_graph *hg = answers->graph;
	const struct gr_root_vertex *root =
		&hg->roots.data[s->from - gr_graph_first_root(hg->graph)];

	switch ((enum gr_root_source)root->source) {
	case GR_FROM_SCHEDULER:
		return add_values(s, false);
	case GR_FROM_AREA:
		return match_area(s, root->addr, UINT64_MAX);
	case GR_FROM_C:
		return match_memory(s, root->addr,
				    hg->c_roots.data[root->index].end);
	case GR_FROM_C_REGISTERS:
		return add_values(s, true);
	case GR_FROM_LIST:
		break;
	}
	return match_listed(reader, s,
			    &answers->stop->roots.list.data[root->index]);
}

struct gr_error *gr_links_each(struct gr_link_reader *reader, gr_vertex from,
			       gr_vertex to, size_t max, gr_link_emit emit,
			       void *ctx)
{
	struct gr_answers *answers = reader->answers;
	const struct gr_graph *g = answers->graph->graph;
	struct search s = {
		.answers = answers,
		.next = g->to + g->first[from],
		.end = g->to + g->first[from + 1],
		.from = from,
		.to = to,
		.left = max,
		.emit = emit,
		.ctx = ctx,
	};

	if (gr_graph_kind(g, from) == GR_VERTEX_ROOT)
		return match_root(reader, &s);
	if (gr_vertex_is_block(g, from)) {
		const struct gr_block *block =
			gr_vertex_block(answers->graph, from);

		return match_memory(&s, block->addr,
				    block->addr + gr_block_usable_bytes(block));
	}
	gr_obj obj = gr_objects_slot(g->objects, from);
	const struct gr_span *span = gr_heap_span_of(answers->stop->heap, obj);
	return match_object(reader, &s, span, obj - span->first_obj);
}

static struct gr_error *append(void *ctx, const struct gr_link *link)
{
	return gr_link_vector_append(ctx, *link) ? NULL : &gr_enomem;
}

struct gr_error *gr_links_read(struct gr_link_reader *reader, gr_vertex from,
			       gr_vertex to, size_t max,
			       struct gr_link_vector *ret)
{
	return gr_links_each(reader, from, to, max, append, ret);
}

static struct gr_error *name_in_object(struct gr_answers *answers,
				       const struct gr_link *link,
				       gr_vertex holder,
				       struct gr_word_name *ret)
{
	const struct gr_objects *objects = answers->graph->graph->objects;
	gr_obj obj = gr_objects_slot(objects, link->from);
	uint32_t label = objects->type[link->from];

	if (holder == GR_VERTEX_NONE || holder >= gr_objects_second(objects))
		return gr_word_find_name(answers->stop, obj, label,
					 link->off_bytes, ret);
	return gr_word_find_held_name(answers->stop,
				      gr_objects_slot(objects, holder), obj,
				      label, link->off_bytes, ret);
}

/* Name the word at byte @p off of the variable of C at @p addr. */
static struct gr_error *name_in_c_variable(struct gr_answers *answers,
					   uint64_t addr, uint64_t off,
					   struct gr_word_name *ret)
{
	struct gr_c_typed variable;
	struct gr_error *err =
		gr_stop_c_variable(answers->stop, addr, &variable);
	bool is_typed = !err && variable.type != GR_TYPE_NONE &&
			variable.addr == addr;

	*ret = (struct gr_word_name){ .type = GR_TYPE_NONE,
				      .kind = GR_WORD_NAMELESS };
	if (err || (!is_typed && !off))
		return err;
	return gr_word_find_block_name(answers->stop->program->types,
				       is_typed ? variable.type : GR_TYPE_NONE,
				       off, ret);
}

struct gr_error *gr_link_name(struct gr_answers *answers,
			      const struct gr_link *link, gr_vertex holder,
			      struct gr_word_name *ret)
{
	const struct gr_heap_graph *hg = answers->graph;
	gr_vertex first_root = gr_graph_first_root(hg->graph);

	if (gr_vertex_is_block(hg->graph, link->from))
		return gr_word_find_block_name(
			answers->stop->program->types,
			hg->graph->objects->type[link->from], link->off_bytes,
			ret);
	if (link->from < first_root)
		return name_in_object(answers, link, holder, ret);
	const struct gr_root_vertex *root =
		&hg->roots.data[link->from - first_root];
	if (root->source == GR_FROM_LIST)
		return gr_word_find_root_name(
			answers->stop->heap,
			&answers->stop->roots.list.data[root->index],
			link->off_bytes, ret);
	if (root->source == GR_FROM_C && root->bytes)
		return name_in_c_variable(answers, root->addr, link->off_bytes,
					  ret);
	*ret = (struct gr_word_name){ .type = GR_TYPE_NONE,
				      .kind = GR_WORD_NAMELESS };
	if (link->off_bytes && root->source != GR_FROM_C)
		snprintf(ret->text, sizeof(ret->text), "+0x%" PRIx64,
			 link->off_bytes);
	return NULL;
}

struct gr_error *gr_link_find(struct gr_link_reader *reader, gr_vertex holder,
			      gr_vertex from, gr_vertex to,
			      struct gr_link *link, struct gr_word_name *name)
{
	_cleanup_(gr_link_vector_deinit) struct gr_link_vector links = { 0 };
	struct gr_error *err = gr_links_read(reader, from, to, 1, &links);

	*link = (struct gr_link){ .from = from, .to = to };
	*name = (struct gr_word_name){ .type = GR_TYPE_NONE,
				       .kind = GR_WORD_NAMELESS };
	if (err || !links.size)
		return err;
	*link = links.data[0];
	return gr_link_name(reader->answers, link, holder, name);
}

// The element of a map whose key is not known, or cannot be written.
static const char nameless_element[] = "$mapval";

void gr_link_name_merge(char *name)
{
	const size_t nameless = sizeof(nameless_element) - 1;
	bool is_inside = false, is_quoted = false;
	char *ret = name;

	if (*name == '+') {
		memcpy(name, "+...", sizeof("+..."));
		return;
	}
	for (const char *c = name; *c; c++) {
		if (is_quoted && *c == '\\' && c[1]) {
			c++;
			continue;
		}
		if (!is_inside && !strncmp(c, nameless_element, nameless)) {
			ret = stpcpy(ret, "[]");
			c += nameless - 1;
			continue;
		}
		if (is_inside && *c == '"')
			is_quoted = !is_quoted;
		if (is_inside && !is_quoted && *c == ']')
			is_inside = false;
		if (!is_inside)
			*ret++ = *c;
		if (*c == '[')
			is_inside = true;
	}
	*ret = 0;
}
