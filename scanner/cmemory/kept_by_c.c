// SPDX-License-Identifier: Apache-2.0
#include "cmemory/kept_by_c.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "cmemory/c_holds.h"
#include "graph/exclusive.h"
#include "graph/keys.h"
#include "retention/type_text.h"
#include "scan/enter.h"

enum { MAX_GROUPS = 1000 };

/** An object that a reference of a group leads to. */
struct member {
	gr_vertex v;
	uint32_t group;
};

GR_VECTOR(group_vector, struct gr_kept_by_c_group);
GR_VECTOR(member_vector, struct member);

struct finder {
	struct gr_answers *answers;
	struct gr_runtime *rt;
	const struct gr_graph *g;
	struct gr_poll poll;
	struct gr_ticker ticker;
	struct gr_kept_by_c *ret;
	struct gr_c_hold_vector holds;
	struct group_vector groups;
	struct gr_keys by_type; /* (type, holder) -> group */
	struct member_vector members;
	struct gr_u32_vector vertices, sets; /* the members, each once */
	struct gr_u32_vector holders;
};

static void finder_deinit(struct finder *f)
{
	gr_c_hold_vector_deinit(&f->holds);
	group_vector_deinit(&f->groups);
	gr_keys_deinit(&f->by_type);
	member_vector_deinit(&f->members);
	gr_u32_vector_deinit(&f->vertices);
	gr_u32_vector_deinit(&f->sets);
	gr_u32_vector_deinit(&f->holders);
}

void gr_kept_by_c_destroy(struct gr_kept_by_c *kept)
{
	if (kept)
		free(kept->groups);
	free(kept);
}
GR_DEFINE_CLEANUP(kept_by_c, struct gr_kept_by_c, gr_kept_by_c_destroy)

// -------------------------------------------------------------------- groups

static const char *type_text(struct finder *f, const struct gr_c_hold *hold,
			     gr_vertex v)
{
	struct gr_program *program = f->answers->stop->program;
	const char *text = "";

	if (hold->type != GR_TYPE_NONE)
		text = gr_types_get(program->types, hold->type)->name;
	else if (hold->by == GR_BY_PINNER && v != GR_VERTEX_NONE)
		text = gr_type_label_text(program, f->g->objects->type[v]);
	return *text ? text : GR_TYPE_UNKNOWN;
}

/* The group of a reference to @p v, which is made if it is new. */
static struct gr_error *find_group(struct finder *f,
				   const struct gr_c_hold *hold, gr_vertex v,
				   uint32_t *ret)
{
	uint64_t key = hold->type;

	if (hold->by == GR_BY_PINNER)
		key = v == GR_VERTEX_NONE ? GR_TYPE_NONE :
					    f->g->objects->type[v];
	*ret = gr_keys_find(&f->by_type, key, hold->by);
	if (*ret != UINT32_MAX)
		return NULL;
	*ret = f->groups.size;
	const struct gr_kept_by_c_group group = {
		.by = hold->by == GR_BY_HANDLE ? "cgo.Handle" :
						 "runtime.Pinner",
		.type = type_text(f, hold, v),
	};
	return group_vector_append(&f->groups, group) &&
			       gr_keys_add(&f->by_type, key, hold->by, *ret) ?
		       NULL :
		       &gr_enomem;
}

/* Put a reference into its group. */
static struct gr_error *add_hold(struct finder *f, const struct gr_c_hold *hold)
{
	struct member member = { gr_objects_find(f->g->objects, hold->to), 0 };
	struct gr_error *err = find_group(f, hold, member.v, &member.group);

	if (err)
		return err;
	f->ret->references++;
	f->groups.data[member.group].references++;
	return member.v == GR_VERTEX_NONE ?
		       NULL :
		       gr_runtime_append(f->rt, member_vector, &f->members,
					 member);
}

// ------------------------------------------------------------------- holders

static struct gr_error *add_holder(struct finder *f, gr_vertex holder)
{
	struct gr_error *err = gr_tick(&f->ticker);

	return err || holder == GR_VERTEX_NONE ?
		       err :
		       gr_runtime_append(f->rt, gr_u32_vector, &f->holders,
					 holder);
}

/* A Pinner has room for a few references, in which old ones stay once they are
 * in a list of their own. */
static struct gr_error *add_pinners(struct finder *f)
{
	struct gr_stop *stop = f->answers->stop;
	const struct gr_root_list *list = &stop->roots.list;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < list->size; i++) {
		gr_vertex v = GR_VERTEX_NONE;

		if (gr_c_holds_is_pinner(stop->program->types, &list->data[i]))
			v = gr_objects_find(f->g->objects, list->data[i].addr);
		err = add_holder(f, v);
	}
	return err;
}

/* The finalizer of a Pinner leads to what the Pinner refers to. */
static struct gr_error *add_finalizers(struct finder *f)
{
	struct gr_stop *stop = f->answers->stop;
	const struct gr_root_list *list = &stop->roots.list;
	const struct gr_root_vertex_vector *roots = &f->answers->graph->roots;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < roots->size; i++) {
		gr_vertex v = GR_VERTEX_NONE;

		if (roots->data[i].source == GR_FROM_LIST &&
		    gr_c_holds_is_pinner(stop->program->types,
					 &list->data[roots->data[i].index]))
			v = gr_graph_first_root(f->g) + i;
		err = add_holder(f, v);
	}
	return err;
}

// --------------------------------------------------------------------- bytes

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->v != y->v)
		return x->v < y->v ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

/* Count an object in a group. One of Go comes first and is the example. */
static void count(struct finder *f, const struct member *m, bool is_first)
{
	struct gr_kept_by_c_group *group = &f->groups.data[m->group];
	uint64_t bytes = gr_objects_bytes(f->g->objects, m->v);

	if (!group->example)
		group->example = gr_objects_addr(f->g->objects, m->v);
	if (gr_vertex_is_block(f->g, m->v))
		return;
	group->objects++;
	group->bytes += bytes;
	if (is_first) {
		f->ret->objects++;
		f->ret->bytes += bytes;
	}
}

/* Count each member of a group once. */
static struct gr_error *count_members(struct finder *f)
{
	const struct member *data = f->members.data;
	struct gr_error *err = gr_sort(f->members.data, f->members.size,
				       sizeof(*data), compare_members,
				       f->poll.poll, f->poll.ctx);

	for (size_t i = 0; !err && i < f->members.size; i++) {
		err = gr_tick(&f->ticker);
		if (err || (i && !compare_members(&data[i - 1], &data[i])))
			continue;
		count(f, &data[i], !i || data[i - 1].v != data[i].v);
		err = gr_runtime_append(f->rt, gr_u32_vector, &f->vertices,
					data[i].v);
		if (!err)
			err = gr_runtime_append(f->rt, gr_u32_vector, &f->sets,
						data[i].group);
	}
	return err;
}

static int compare_groups(const void *a, const void *b)
{
	const struct gr_kept_by_c_group *x = a, *y = b;

	if (x->retained_bytes != y->retained_bytes)
		return x->retained_bytes > y->retained_bytes ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	int order = strcmp(x->by, y->by);
	return order ? order : strcmp(x->type, y->type);
}

/* Find what each group and all together keep alive. */
static struct gr_error *weigh(struct finder *f)
{
	const struct gr_root_sets sets = {
		.vertices = f->vertices.data,
		.set = f->sets.data,
		.count = f->vertices.size,
		.nsets = f->groups.size,
		.holders = f->holders.data,
		.nholders = f->holders.size,
	};
	_cleanup_free_ struct gr_kept *kept =
		calloc(f->groups.size + 1, sizeof(*kept));
	struct gr_kept together;

	if (!kept)
		return &gr_enomem;
	struct gr_error *err =
		gr_graph_exclusive(f->g, &sets, &f->poll, kept, &together);
	if (err)
		return err;
	f->ret->retained_bytes = together.bytes;
	f->ret->retained_c_bytes = together.second_bytes;
	for (size_t i = 0; i < f->groups.size; i++) {
		f->groups.data[i].retained_bytes = kept[i].bytes;
		f->groups.data[i].retained_c_bytes = kept[i].second_bytes;
	}
	return gr_sort(f->groups.data, f->groups.size, sizeof(*f->groups.data),
		       compare_groups, f->poll.poll, f->poll.ctx);
}

// ------------------------------------------------------------------- the answer

static struct gr_error *find(struct finder *f)
{
	struct gr_error *err = gr_answers_need_graph(f->answers, 0);

	if (err)
		return err;
	f->g = f->answers->graph->graph;
	for (size_t i = 0; !err && i < f->holds.size; i++) {
		const struct gr_c_hold *hold = &f->holds.data[i];

		err = add_hold(f, hold);
		if (!err)
			err = add_holder(f, gr_objects_find(f->g->objects,
							    hold->at));
	}
	if (!err)
		err = add_pinners(f);
	if (!err)
		err = add_finalizers(f);
	if (!err)
		err = count_members(f);
	if (!err)
		err = weigh(f);
	if (err)
		return err;
	f->ret->all_groups = f->groups.size;
	f->ret->ngroups = f->groups.size < MAX_GROUPS ? f->groups.size :
							MAX_GROUPS;
	f->ret->groups = steal_ptr(f->groups.data);
	return NULL;
}

/* Read the references, and the damage that only they have. */
static struct gr_error *read_holds(struct finder *f)
{
	struct gr_stop *stop = f->answers->stop;
	struct gr_gaps *gaps = stop->program->rt.gaps;
	const struct gr_gaps before = *gaps;
	struct gr_error *err =
		gr_c_holds_read_handles(stop, &f->holds, &f->ret->is_known);

	if (!err)
		err = gr_c_holds_read_pinners(stop, &f->holds);
	f->ret->gaps = *gaps;
	gr_gaps_end_walk(gaps, &before);
	return err;
}

/* Add the damage of the graph to that of the references. */
static void add_gaps(struct finder *f)
{
	struct gr_gaps *gaps = &f->ret->gaps;
	uint64_t here = gaps->count[GR_GAP_BROKEN_LISTS] -
			f->answers->stop->gaps.count[GR_GAP_BROKEN_LISTS];
	const char *name = gaps->broken_list;

	*gaps = f->answers->graph_gaps;
	if (here)
		gr_gap_broken_list(gaps, name);
}

static struct gr_error *answer(struct gr_answers *answers,
			       struct gr_kept_by_c *ret)
{
	_cleanup_(finder_deinit) struct finder f = {
		.answers = answers,
		.rt = &answers->stop->program->rt,
		.poll = gr_runtime_poller(&answers->stop->program->rt),
		.ret = ret,
	};
	f.ticker.poll = &f.poll;
	struct gr_error *err = read_holds(&f);

	if (!err && f.holds.size)
		err = find(&f);
	if (!err && f.holds.size)
		add_gaps(&f);
	return err;
}

struct gr_error *gr_scan_kept_by_c(struct gr_scan *scan,
				   struct gr_kept_by_c **ret)
{
	_cleanup_(gr_cleanup_kept_by_c) struct gr_kept_by_c *kept =
		calloc(1, sizeof(*kept));
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	if (!err)
		err = kept ? answer(answers, kept) : &gr_enomem;
	if (!err)
		*ret = steal_ptr(kept);
	return gr_sigbus_guard_end(&guard, err);
}
