// SPDX-License-Identifier: Apache-2.0
/*
 * Cards of objects that card_objects.c has chosen. One sweep over all edges
 * finds who refers to them. The vertices whose links need names are collected
 * before any is read (edge_names.c). Each vertex knows its distance from a root
 * and, near the root, the way to it, so that a path of any length costs a dozen
 * steps.
 */
#include "retention/cards.h"

#include "base/cleanup.h"
#include "graph/keys.h"
#include "naming/edge_names.h"
#include "retention/cards_internal.h"
#include "retention/suspects_internal.h"
#include "scan/enter.h"
#include "scan/residency.h"

enum {
	MAX_FIELDS = GR_CARD_MAX_FIELDS,
	MAX_HOPS = GR_CARD_MAX_HOPS,
	MAX_HOLDERS = GR_CARD_MAX_HOLDERS,
	HALF = MAX_HOPS / 2,
};

/* The references of one object to what retains most. */
struct field_finder {
	const struct gr_graph *g;
	struct gr_link links[MAX_FIELDS]; /* most first */
	uint32_t count;
	uint64_t total;
};

struct dealer {
	struct gr_answers *answers;
	const struct gr_graph *g;
	struct gr_poll poll;
	struct gr_vertex_list objects; /* by card */
	struct gr_keys card_of;	       /* by object */
	uint64_t *has_card;	       /* a bit a vertex */
	uint32_t *depth;	       /* by vertex: steps from its root */
	gr_vertex *near_root;	       /* by vertex: at most HALF steps away */
	struct gr_largest *holders;    /* by card */
	gr_vertex *room;	       /* of all holders */
	struct gr_edge_names names;
	struct gr_cards *cards;
};

static void dealer_deinit(struct dealer *d)
{
	gr_vertex_list_deinit(&d->objects);
	gr_keys_deinit(&d->card_of);
	gr_edge_names_deinit(&d->names);
	gr_array_free(d->has_card);
	gr_array_free(d->depth);
	gr_array_free(d->near_root);
	free(d->holders);
	free(d->room);
}

void gr_cards_destroy(struct gr_cards *cards)
{
	if (!cards)
		return;
	for (size_t i = 0; i < cards->ncards; i++) {
		free(cards->cards[i].fields);
		free(cards->cards[i].hops);
		free(cards->cards[i].holders);
	}
	for (size_t i = 0; i < cards->ntypes; i++)
		free(cards->types[i].cards);
	for (size_t i = 0; i < cards->nsuspects; i++)
		free(cards->suspects[i].cards);
	free(cards->cards);
	free(cards->types);
	free(cards->suspects);
	free(cards);
}
GR_DEFINE_CLEANUP(cards, struct gr_cards, gr_cards_destroy)

// --------------------------------------------------------------------- fields

static bool has_field(const struct field_finder *f, gr_vertex to)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (f->links[i].to == to)
			return true;
	return false;
}

/* Keep a link if its target is one of those that retain most, and has none yet:
 * each overflow bucket of a map is pointed to several times. */
static struct gr_error *offer_field(void *ctx, const struct gr_link *link)
{
	struct field_finder *f = ctx;
	const uint64_t *retained = f->g->retained;
	uint32_t i = f->count;

	f->total++;
	if (i == MAX_FIELDS &&
	    retained[link->to] <= retained[f->links[i - 1].to])
		return NULL;
	if (has_field(f, link->to))
		return NULL;
	if (i == MAX_FIELDS)
		i--;
	else
		f->count++;
	for (; i && retained[link->to] > retained[f->links[i - 1].to]; i--)
		f->links[i] = f->links[i - 1];
	f->links[i] = *link;
	return NULL;
}

static struct gr_error *describe_link(struct gr_answers *answers,
				      const char *name, gr_vertex v,
				      struct gr_card_link *ret)
{
	ret->name = name;
	return name ? gr_vertex_describe(answers, v, &ret->vertex) : &gr_enomem;
}

static struct gr_error *make_fields(struct dealer *d,
				    struct gr_link_reader *reader, gr_vertex v,
				    struct gr_card *card)
{
	struct field_finder f = { .g = d->g };
	struct gr_error *err = gr_links_each(reader, v, GR_VERTEX_NONE,
					     SIZE_MAX, offer_field, &f);

	if (err)
		return err;
	card->references = f.total;
	card->fields = calloc(f.count + 1, sizeof(*card->fields));
	if (!card->fields)
		return &gr_enomem;
	card->nfields = f.count;
	for (uint32_t i = 0; !err && i < f.count; i++) {
		struct gr_word_name word;

		err = gr_link_name(d->answers, &f.links[i], d->g->parent[v],
				   &word);
		if (!err)
			err = describe_link(
				d->answers,
				gr_arena_intern(
					&d->answers->stop->program->arena,
					word.text, strlen(word.text)),
				f.links[i].to, &card->fields[i]);
	}
	return err;
}

// -------------------------------------------------------------------- holders

/* The card of the target of an edge; UINT32_MAX: it has none. */
static uint32_t card_at(const struct dealer *d, gr_vertex to)
{
	return gr_bitmap_test(d->has_card, to) ?
		       gr_keys_find(&d->card_of, to, 0) :
		       UINT32_MAX;
}

/* Sweep the edges of one vertex. @p last: by card, the last one that refers to
 * it; a vertex may do so several times. */
static struct gr_error *sweep_vertex(struct dealer *d, gr_vertex from,
				     gr_vertex *last, struct gr_ticker *ticker)
{
	struct gr_error *err = NULL;

	for (uint32_t e = d->g->first[from]; !err && e < d->g->first[from + 1];
	     e++) {
		uint32_t card = card_at(d, d->g->to[e]);

		err = gr_tick(ticker);
		if (card == UINT32_MAX || last[card] == from ||
		    d->g->to[e] == from)
			continue;
		last[card] = from;
		d->cards->cards[card].referrers++;
		gr_largest_offer(&d->holders[card], d->g, from);
	}
	return err;
}

/* Find who refers to the objects with cards. */
static struct gr_error *find_holders(struct dealer *d)
{
	size_t n = d->objects.size;
	struct gr_ticker ticker = { .poll = &d->poll };
	_cleanup_free_ gr_vertex *last = malloc((n + 1) * sizeof(*last));
	struct gr_error *err = NULL;

	d->holders = calloc(n + 1, sizeof(*d->holders));
	d->room = calloc(n * MAX_HOLDERS + 1, sizeof(*d->room));
	if (!last || !d->holders || !d->room)
		return &gr_enomem;
	for (size_t i = 0; i < n; i++) {
		last[i] = GR_VERTEX_NONE;
		d->holders[i].vertices = d->room + i * MAX_HOLDERS;
		d->holders[i].max = MAX_HOLDERS;
	}
	for (gr_vertex v = 0; !err && v < gr_graph_first_group(d->g); v++)
		if (gr_graph_is_reached(d->g, v))
			err = sweep_vertex(d, v, last, &ticker);
	return err;
}

static struct gr_error *make_holders(struct dealer *d, size_t i)
{
	const struct gr_largest *found = &d->holders[i];
	struct gr_card *card = &d->cards->cards[i];
	struct gr_error *err = NULL;

	card->holders = calloc(found->count + 1, sizeof(*card->holders));
	if (!card->holders)
		return &gr_enomem;
	card->nholders = found->count;
	for (uint32_t k = 0; !err && k < found->count; k++)
		err = describe_link(d->answers,
				    gr_edge_names_get(&d->names,
						      found->vertices[k],
						      d->objects.data[i]),
				    found->vertices[k], &card->holders[k]);
	return err;
}

// ---------------------------------------------------------------------- paths

/* Find how far each vertex is from its root, and a vertex near that. A parent
 * comes before its children. */
static struct gr_error *measure_paths(struct dealer *d)
{
	const struct gr_graph *g = d->g;
	struct gr_ticker ticker = { .poll = &d->poll };
	struct gr_error *err = NULL;

	d->depth = gr_array_alloc(g->budget, g->nvertices, sizeof(*d->depth));
	d->near_root =
		gr_array_alloc(g->budget, g->nvertices, sizeof(*d->near_root));
	if (!d->depth || !d->near_root)
		return gr_budget_error(g->budget);
	for (gr_vertex i = 0; !err && i < g->nreached; i++) {
		gr_vertex v = g->order[i], parent = g->parent[v];
		bool is_root = parent >= gr_graph_first_group(g);

		d->depth[v] = is_root ? 0 : d->depth[parent] + 1;
		d->near_root[v] = d->depth[v] < HALF ? v : d->near_root[parent];
		err = gr_tick(&ticker);
	}
	return err;
}

/* The vertices of the path to @p v that are shown, the root first. */
static uint32_t find_path(const struct dealer *d, gr_vertex v,
			  gr_vertex path[MAX_HOPS])
{
	uint64_t length = (uint64_t)d->depth[v] + 1;
	uint32_t n = length < MAX_HOPS ? length : MAX_HOPS;
	gr_vertex near_root = d->near_root[v];

	// The last ones first; then those that are near the root.
	for (uint32_t i = n; i; i--) {
		if (length > MAX_HOPS && i == HALF)
			v = near_root;
		path[i - 1] = v;
		v = d->g->parent[v];
	}
	return n;
}

/* Want the names of the links of a card's path and of its holders. */
static struct gr_error *want_names(struct dealer *d, size_t i)
{
	const struct gr_largest *holders = &d->holders[i];
	gr_vertex path[MAX_HOPS];
	uint32_t n = find_path(d, d->objects.data[i], path);
	bool ok = true;

	for (uint32_t k = 0; ok && k < n; k++) {
		const struct gr_edge_name link = { d->g->parent[path[k]],
						   path[k], NULL };
		if (path[k] < d->g->nobjects)
			ok = gr_edge_names_append(&d->names, link);
	}
	for (uint32_t k = 0; ok && k < holders->count; k++) {
		const struct gr_edge_name link = { holders->vertices[k],
						   d->objects.data[i], NULL };
		ok = gr_edge_names_append(&d->names, link);
	}
	return ok ? NULL : &gr_enomem;
}

static struct gr_error *make_path(struct dealer *d, gr_vertex v,
				  struct gr_card *card)
{
	gr_vertex path[MAX_HOPS];
	uint32_t n = find_path(d, v, path);
	struct gr_error *err = NULL;

	card->hops = calloc(n, sizeof(*card->hops));
	if (!card->hops)
		return &gr_enomem;
	card->nhops = n;
	card->hops_left_out = (uint64_t)d->depth[v] + 1 - n;
	for (uint32_t i = 0; !err && i < n; i++) {
		card->hops[i].step = gr_edge_names_get(
			&d->names, d->g->parent[path[i]], path[i]);
		err = gr_vertex_describe(d->answers, path[i],
					 &card->hops[i].vertex);
	}
	return err;
}

// ------------------------------------------------------------------- resident

static int compare_addrs(const void *a, const void *b)
{
	const struct gr_card *x = *(const struct gr_card *const *)a;
	const struct gr_card *y = *(const struct gr_card *const *)b;

	return x->vertex.addr < y->vertex.addr ?
		       -1 :
		       x->vertex.addr > y->vertex.addr;
}

static struct gr_error *find_resident(struct dealer *d)
{
	struct gr_cards *cards = d->cards;
	const struct gr_residency *residency;
	_cleanup_free_ struct gr_card **sorted =
		calloc(cards->ncards + 1, sizeof(*sorted));
	struct gr_error *err =
		gr_stop_known_pages(d->answers->stop, &residency);
	size_t at = 0;

	if (err || !residency)
		return err;
	if (!sorted)
		return &gr_enomem;
	for (size_t i = 0; i < cards->ncards; i++)
		sorted[i] = &cards->cards[i];
	qsort(sorted, cards->ncards, sizeof(*sorted), compare_addrs);
	for (size_t i = 0; i < cards->ncards; i++) {
		const struct gr_vertex_info *v = &sorted[i]->vertex;

		sorted[i]->resident_bytes = gr_resident_bytes(
			&residency->ranges, &at, v->addr, v->addr + v->bytes);
	}
	return NULL;
}

// ---------------------------------------------------------------------- cards

static struct gr_error *make_card(struct dealer *d,
				  struct gr_link_reader *reader, size_t i)
{
	gr_vertex v = d->objects.data[i];
	struct gr_card *card = &d->cards->cards[i];
	struct gr_error *err = make_path(d, v, card);

	if (!err)
		err = make_fields(d, reader, v, card);
	return err ? err : make_holders(d, i);
}

static struct gr_error *make_cards(struct dealer *d)
{
	_cleanup_(gr_link_reader_deinit) struct gr_link_reader reader = {
		.answers = d->answers
	};
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < d->objects.size; i++)
		err = want_names(d, i);
	if (!err)
		err = gr_edge_names_find(d->answers, &d->names);
	for (size_t i = 0; !err && i < d->objects.size; i++)
		err = make_card(d, &reader, i);
	return err ? err : find_resident(d);
}

/* Begin the cards of the objects. */
static struct gr_error *begin_cards(struct dealer *d)
{
	size_t n = d->objects.size;
	struct gr_error *err = NULL;

	d->has_card = gr_array_calloc(d->g->budget,
				      gr_bitmap_words(d->g->nvertices),
				      sizeof(*d->has_card));
	if (!d->has_card)
		return gr_budget_error(d->g->budget);
	d->cards->cards = calloc(n + 1, sizeof(*d->cards->cards));
	if (!d->cards->cards)
		return &gr_enomem;
	d->cards->ncards = n;
	for (size_t i = 0; !err && i < n; i++) {
		gr_vertex v = d->objects.data[i];

		gr_bitmap_set(d->has_card, v);
		d->cards->cards[i].resident_bytes = UINT64_MAX;
		err = gr_vertex_describe(d->answers, v,
					 &d->cards->cards[i].vertex);
		if (!err && !gr_keys_add(&d->card_of, v, 0, i))
			err = &gr_enomem;
	}
	return err;
}

static struct gr_error *answer(struct gr_answers *answers,
			       const struct gr_card_question *question,
			       struct gr_cards **ret)
{
	_cleanup_(gr_cleanup_cards) struct gr_cards *cards =
		calloc(1, sizeof(*cards));
	struct gr_error *err = gr_answers_need_graph(
		answers, GR_PART_NEAREST | GR_PART_CHILDREN);

	if (err || !cards)
		return err ? err : &gr_enomem;
	_cleanup_(dealer_deinit) struct dealer d = {
		.answers = answers,
		.g = answers->graph->graph,
		.poll = gr_runtime_poller(&answers->stop->program->rt),
		.cards = cards,
	};
	cards->gaps = answers->graph_gaps;
	err = gr_card_objects(answers, question, &d.objects, cards);
	if (!err)
		err = begin_cards(&d);
	if (!err)
		err = find_holders(&d);
	if (!err)
		err = measure_paths(&d);
	if (!err)
		err = make_cards(&d);
	if (!err)
		*ret = steal_ptr(cards);
	return err;
}

struct gr_error *gr_scan_cards(struct gr_scan *scan,
			       const struct gr_card_question *question,
			       struct gr_cards **ret)
{
	struct gr_answers *answers;
	_cleanup_(gr_cleanup_cards) struct gr_cards *cards = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = answer(answers, question, &cards);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(cards);
	return err;
}
