// SPDX-License-Identifier: Apache-2.0
/* The objects that get cards: one pass finds the largest of all types and of all
 * suspects. */
#include "retention/cards_internal.h"

#include "graph/keys.h"
#include "retention/asked_types.h"
#include "retention/suspects_internal.h"
#include "scan/answers.h"

struct chooser {
	struct gr_answers *answers;
	const struct gr_graph *g;
	struct gr_poll poll;
	struct gr_asked_types types;
	struct gr_suspects suspects;
	uint8_t *labels;	    /* by vertex: gr_suspect_label() */
	struct gr_largest *largest; /* of suspects, then of types */
	size_t nlargest;
	gr_vertex *room; /* of all of them */
	struct gr_keys chosen;
};

static void chooser_deinit(struct chooser *c)
{
	gr_asked_types_deinit(&c->types);
	gr_suspects_deinit(&c->suspects);
	gr_keys_deinit(&c->chosen);
	gr_array_free(c->labels);
	free(c->largest);
	free(c->room);
}

static bool is_before(const struct gr_graph *g, gr_vertex a, gr_vertex b)
{
	return g->retained[a] != g->retained[b] ?
		       g->retained[a] > g->retained[b] :
		       a < b;
}

void gr_largest_offer(struct gr_largest *largest, const struct gr_graph *g,
		      gr_vertex v)
{
	gr_vertex *vertices = largest->vertices;
	uint32_t i = largest->count;

	if (i == largest->max && (!i || !is_before(g, v, vertices[i - 1])))
		return;
	if (i == largest->max)
		i--;
	else
		largest->count++;
	for (; i && is_before(g, v, vertices[i - 1]); i--)
		vertices[i] = vertices[i - 1];
	vertices[i] = v;
}

/* Label what lies at the accumulation points of suspects, or below. */
static struct gr_error *label_suspects(struct chooser *c,
				       const struct gr_suspect_pages *pages)
{
	_cleanup_free_ gr_vertex *points =
		calloc((size_t)c->suspects.count + 1, sizeof(*points));

	if (!points)
		return &gr_enomem;
	for (uint32_t i = 0; i < c->suspects.count; i++)
		if (!c->suspects.suspects[i].is_group)
			points[i] = gr_suspect_whole(
				c->answers, c->suspects.suspects[i].at.at);
	return gr_suspect_label(pages, points, c->labels);
}

static struct gr_error *find_suspects(struct chooser *c)
{
	const struct gr_suspect_question question =
		gr_suspects_question(c->answers);
	const struct gr_suspect_pages pages = { c->g, &c->suspects, &question,
						&c->poll };
	struct gr_error *err =
		gr_graph_suspects(c->g, &question, &c->poll, &c->suspects);

	if (err)
		return err;
	c->labels = gr_array_calloc(c->g->budget, c->g->nvertices,
				    sizeof(*c->labels));
	return c->labels ? label_suspects(c, &pages) :
			   gr_budget_error(c->g->budget);
}

/* Make room for the largest objects of each suspect and type. */
static struct gr_error *make_room(struct chooser *c, uint32_t max)
{
	c->nlargest = (size_t)c->suspects.count + c->types.count;
	c->largest = calloc(c->nlargest + 1, sizeof(*c->largest));
	c->room = calloc(c->nlargest * max + 1, sizeof(*c->room));
	if (!c->largest || !c->room)
		return &gr_enomem;
	for (size_t i = 0; i < c->nlargest; i++)
		c->largest[i] = (struct gr_largest){
			.vertices = c->room + i * max,
			.max = max,
		};
	return NULL;
}

static struct gr_error *look_at(struct chooser *c, gr_vertex v)
{
	uint32_t label = c->labels[v], type;
	struct gr_error *err = gr_asked_type_of(&c->types, v, &type);

	if (err)
		return err;
	if (label && label <= c->suspects.count)
		gr_largest_offer(&c->largest[label - 1], c->g, v);
	if (type != UINT32_MAX)
		gr_largest_offer(&c->largest[c->suspects.count + type], c->g,
				 v);
	return NULL;
}

static struct gr_error *look_at_all(struct chooser *c)
{
	struct gr_ticker ticker = { .poll = &c->poll };
	struct gr_error *err = NULL;

	for (gr_vertex v = 0; !err && v < c->g->nobjects; v++) {
		err = gr_tick(&ticker);
		if (!err && gr_graph_is_reached(c->g, v))
			err = look_at(c, v);
	}
	return err;
}

/* Make a group of the objects that are found, as long as there may be more
 * cards. */
static struct gr_error *make_group(struct chooser *c,
				   const struct gr_largest *largest,
				   uint32_t max_cards,
				   struct gr_vertex_list *objects,
				   struct gr_card_group *ret)
{
	ret->cards = calloc((size_t)largest->count + 1, sizeof(*ret->cards));
	if (!ret->cards)
		return &gr_enomem;
	for (uint32_t i = 0; i < largest->count; i++) {
		gr_vertex v = largest->vertices[i];
		uint32_t index = gr_keys_find(&c->chosen, v, 0);

		if (index == UINT32_MAX) {
			index = objects->size;
			if (index >= max_cards)
				break;
			if (!gr_vertex_list_append(objects, v) ||
			    !gr_keys_add(&c->chosen, v, 0, index))
				return &gr_enomem;
		}
		ret->cards[ret->ncards++] = index;
	}
	return NULL;
}

static struct gr_error *make_groups(struct chooser *c, uint32_t max_cards,
				    struct gr_vertex_list *objects,
				    struct gr_cards *ret)
{
	struct gr_error *err = NULL;

	ret->suspects =
		calloc((size_t)c->suspects.count + 1, sizeof(*ret->suspects));
	ret->types = calloc((size_t)c->types.count + 1, sizeof(*ret->types));
	if (!ret->suspects || !ret->types)
		return &gr_enomem;
	ret->nsuspects = c->suspects.count;
	ret->ntypes = c->types.count;
	for (size_t i = 0; !err && i < c->nlargest; i++)
		err = make_group(c, &c->largest[i], max_cards, objects,
				 i < ret->nsuspects ?
					 &ret->suspects[i] :
					 &ret->types[i - ret->nsuspects]);
	return err;
}

struct gr_error *gr_card_objects(struct gr_answers *answers,
				 const struct gr_card_question *question,
				 struct gr_vertex_list *objects,
				 struct gr_cards *ret)
{
	_cleanup_(chooser_deinit) struct chooser c = {
		.answers = answers,
		.g = answers->graph->graph,
		.poll = gr_runtime_poller(&answers->stop->program->rt),
	};
	uint32_t max = question->max_objects < GR_CARD_MAX_OBJECTS ?
			       question->max_objects :
			       GR_CARD_MAX_OBJECTS;
	struct gr_error *err = gr_asked_types_init(
		&c.types, answers, question->types, question->ntypes);

	if (!err)
		err = find_suspects(&c);
	if (!err)
		err = make_room(&c, max);
	if (!err)
		err = look_at_all(&c);
	if (!err)
		err = make_groups(&c, question->max_cards, objects, ret);
	return err;
}
