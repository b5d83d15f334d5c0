// SPDX-License-Identifier: Apache-2.0
#include "growth/mapping_holders.h"

#include "mark/edges.h"
#include "native/view.h"

enum rank { BY_VARIABLE, BY_OBJECT, BY_OTHER_ROOT, BY_C, NOT_HELD };

struct finder {
	struct gr_page_holders *holders;
	struct gr_held_mappings *list;
	struct gr_error *err; /* the first one */
};

/* The mapping at @p addr, or NULL. */
static struct gr_held_mapping *find(const struct gr_held_mappings *list,
				    uint64_t addr)
{
	size_t n = gr_count_before(list->size, i, list->data[i].end <= addr);

	return n < list->size && list->data[n].start <= addr ? &list->data[n] :
							       NULL;
}

uint32_t gr_mapping_holder_at(const struct gr_held_mappings *list,
			      uint64_t addr)
{
	const struct gr_held_mapping *m = find(list, addr);

	return m ? m->holder : UINT32_MAX;
}

static struct gr_error *take_mappings(const struct gr_mapped_pages *pages,
				      size_t npages,
				      struct gr_held_mappings *ret)
{
	uint64_t end = 0; // of the one before

	for (size_t i = 0; i < npages; i++) {
		struct gr_held_mapping m = { pages[i].map_start,
					     pages[i].map_end, UINT32_MAX,
					     NOT_HELD };

		if (m.end > end && !gr_held_mappings_append(ret, m))
			return &gr_enomem;
		end = m.end ? m.end : end;
	}
	return NULL;
}

static enum rank rank_of(const struct finder *f, const struct gr_edge *edge)
{
	const struct gr_roots *roots = &f->holders->answers->stop->roots;

	if (edge->from != GR_OBJ_NONE)
		return BY_OBJECT;
	return !edge->is_area && roots->list.data[edge->root].kind ==
					 GR_ROOT_GLOBAL ?
		       BY_VARIABLE :
		       BY_OTHER_ROOT;
}

static struct gr_error *no_edges(void *ctx, const struct gr_edge *edges,
				 size_t count)
{
	(void)ctx;
	(void)edges;
	(void)count;
	return NULL;
}

/* A pointer of Go that leads to no object. */
static void take_pointer(void *ctx, const struct gr_edge *edge)
{
	struct finder *f = ctx;
	struct gr_held_mapping *m = find(f->list, edge->value);
	uint32_t holder;

	if (!m || f->err || edge->is_doubtful)
		return;
	enum rank rank = rank_of(f, edge);
	if (rank >= m->rank)
		return;
	f->err = gr_page_holder_of_edge(f->holders, edge, &holder);
	if (f->err || holder == UINT32_MAX)
		return;
	m->holder = holder;
	m->rank = rank;
}

/* A word in data of C at @p addr. */
static struct gr_error *take_word(struct finder *f, uint64_t addr,
				  uint64_t word)
{
	struct gr_held_mapping *m = find(f->list, word);

	uint32_t holder;

	if (!m || m->rank <= BY_C)
		return NULL;
	struct gr_error *err =
		gr_page_holder_of_word(f->holders, addr, &holder);
	if (err || holder == UINT32_MAX)
		return err;
	m->holder = holder;
	m->rank = BY_C;
	return NULL;
}

static struct gr_error *take_data(struct finder *f, uint64_t start,
				  uint64_t end)
{
	struct gr_runtime *rt = &f->holders->answers->stop->program->rt;
	struct gr_view view = gr_view_of(rt);
	struct gr_error *err = NULL;
	struct gr_range piece;

	// Bounded by the data: each turn passes a part.
	for (; !err && gr_view_part(&view, start, end, &piece);
	     start = piece.end) {
		uint64_t n = (piece.end - piece.start) / GR_WORD_BYTES;

		for (uint64_t i = 0; !err && i < n; i++) {
			uint64_t off = i * GR_WORD_BYTES;

			err = take_word(f, piece.start + off,
					gr_load_u64(piece.host + off));
		}
		if (!err)
			err = gr_runtime_step(rt, n / 16 + 1);
	}
	return err;
}

struct gr_error *gr_mapping_holders_find(struct gr_page_holders *holders,
					 const struct gr_mapped_pages *pages,
					 size_t npages,
					 struct gr_held_mappings *ret)
{
	struct gr_stop *stop = holders->answers->stop;
	const struct gr_c_root_vector *roots =
		&holders->answers->graph->c_roots;
	struct finder f = { .holders = holders, .list = ret };
	struct gr_error *err = take_mappings(pages, npages, ret);

	if (err || !ret->size)
		return err;
	err = gr_for_each_edge(stop->heap, &stop->roots, NULL, no_edges,
			       take_pointer, &f);
	if (!err)
		err = f.err;
	else
		gr_error_destroy(f.err);
	for (size_t i = 0; !err && i < roots->size; i++)
		if (roots->data[i].kind == GR_C_ROOT_DATA)
			err = take_data(&f, roots->data[i].start,
					roots->data[i].end);
	return err;
}
