// SPDX-License-Identifier: Apache-2.0
/*
 * Who holds most: graph/suspects.h finds vertices, here they get names, a path,
 * and what accumulates. What only the runtime keeps alive is never a suspect.
 */
#include "retention/suspects.h"

#include "graph/merged.h"
#include "retention/suspects_internal.h"
#include "scan/enter.h"
#include "scan/residency.h"

enum {
	MAX_HOPS = 64,	      /* of a path; half of them from each end */
	MAX_CONTENTS = 20,    /* types of what accumulates */
	MAX_MERGED = 1 << 12, /* rows of merged paths */
	NEARLY_ALL_PERCENT = 90,
};

/* The state that the steps share. */
struct maker {
	struct gr_answers *answers;
	const struct gr_graph *g;
	struct gr_poll poll;
	struct gr_suspect_question question;
};

static void info_deinit(struct gr_suspect_info *info)
{
	free(info->hops);
	free(info->contents);
}

void gr_suspect_report_destroy(struct gr_suspect_report *report)
{
	for (size_t i = 0; report && i < report->count; i++)
		info_deinit(&report->suspects[i]);
	if (report)
		free(report->suspects);
	free(report);
}
GR_DEFINE_CLEANUP(report, struct gr_suspect_report, gr_suspect_report_destroy)

static enum gr_vertex_form form_of(void *ctx, gr_vertex v)
{
	const struct gr_answers *answers = ctx;
	if (v == gr_group_vertex(answers->graph, GR_GROUP_RUNTIME))
		return GR_FORM_IGNORED;
	if (v >= gr_group_vertex(answers->graph, 0))
		return GR_FORM_OPEN;
	const struct gr_type *type = gr_suspect_type(answers, v);
	if (type && type->role == GR_ROLE_SCHEDULER)
		return GR_FORM_IGNORED;
	return gr_suspect_is_container(answers, v) ? GR_FORM_CONTAINER :
						     GR_FORM_PARTS;
}

struct gr_suspect_question gr_suspects_question(struct gr_answers *answers)
{
	const struct gr_graph *g = answers->graph->graph;
	uint64_t share =
		g->retained[gr_graph_top(g)] / 100 * GR_SUSPECT_PERCENT;
	uint64_t least = answers->weight == GR_WEIGHT_BYTES ?
				 GR_SUSPECT_MIN_BYTES :
				 GR_SUSPECT_MIN_BYTES / GR_WORD_BYTES;

	return (struct gr_suspect_question){
		.min_bytes = share < least ? least : share,
		.form = form_of,
		.key = gr_suspect_key,
		.ctx = answers,
	};
}

static const char *class_name(enum gr_suspect_class class)
{
	static const char *const names[] = {
#define X(id, name) [GR_SUSPECT_##id] = name,
		GR_SUSPECT_KINDS(X)
#undef X
	};

	return names[class];
}

static enum gr_suspect_class class_of(const struct maker *m,
				      const struct gr_suspect *suspect)
{
	if (!suspect->is_group)
		return GR_SUSPECT_HOLDER;
	switch (gr_graph_kind(m->g, suspect->holder)) {
	case GR_VERTEX_OBJECT:
		return GR_SUSPECT_OBJECTS;
	case GR_VERTEX_GROUP:
		return GR_SUSPECT_GOROUTINES;
	case GR_VERTEX_ROOT:
	case GR_VERTEX_TOP:
		break;
	}
	return GR_SUSPECT_ROOTS;
}

/*
 * Find the vertex that leads to nearly all members of a group: the last one of
 * the rows of their merged paths that are so large. GR_VERTEX_NONE: nothing but
 * groups of roots does.
 */
static struct gr_error *
find_common(struct maker *m, const struct gr_suspect *suspect, gr_vertex *ret)
{
	_cleanup_free_ uint64_t *bits = gr_bitmap_alloc(m->g->nvertices);
	_cleanup_(gr_merged_paths_deinit) struct gr_merged_paths merged = { 0 };
	const struct gr_merge_options options = { .max_rows = MAX_MERGED };
	struct gr_error *err;

	*ret = GR_VERTEX_NONE;
	if (!bits)
		return &gr_enomem;
	err = gr_graph_suspect_members(m->g, &m->question, suspect, &m->poll,
				       bits);
	if (!err)
		err = gr_graph_merge_paths(m->answers->graph->graph, bits,
					   &options, &m->poll, &merged);
	for (uint32_t i = 0; !err && i < merged.nrows; i++) {
		const struct gr_merged_row *row = &merged.rows[i];
		if ((uint64_t)row->targets * 100 >=
			    (uint64_t)suspect->vertices * NEARLY_ALL_PERCENT &&
		    row->example < gr_graph_first_group(m->g))
			*ret = row->example;
	}
	return err;
}

/* The vertex at which a suspect accumulates. */
static struct gr_error *find_point(struct maker *m,
				   const struct gr_suspect *suspect,
				   enum gr_suspect_class class, gr_vertex *ret)
{
	struct gr_error *err = NULL;

	gr_vertex common = GR_VERTEX_NONE;

	if (class == GR_SUSPECT_OBJECTS)
		err = find_common(m, suspect, &common);
	*ret = common != GR_VERTEX_NONE ? common :
	       suspect->is_group	? suspect->holder :
					  suspect->at.at;
	*ret = gr_suspect_whole(m->answers, *ret);
	return err;
}

/* Describe the hop to @p v of a nearest path. */
static struct gr_error *make_hop(struct maker *m, gr_vertex v,
				 struct gr_suspect_hop *ret)
{
	struct gr_error *err = gr_vertex_describe(m->answers, v, &ret->vertex);
	gr_vertex from = m->g->parent[v];

	ret->step = "";
	if (err || v >= m->g->nobjects)
		return err;
	return gr_suspect_step(m->answers, m->g->parent[from], from, v,
			       &ret->step);
}

/* The vertices of the nearest path to @p at that are no groups of roots. */
static uint64_t path_length(const struct gr_graph *g, gr_vertex at)
{
	uint64_t length = 1;

	for (; g->parent[at] < gr_graph_first_group(g); at = g->parent[at])
		length++;
	return length;
}

static struct gr_error *make_path(struct maker *m, gr_vertex at,
				  struct gr_suspect_info *info)
{
	uint64_t length = path_length(m->g, at);
	size_t n = length < MAX_HOPS ? length : MAX_HOPS;
	struct gr_error *err = NULL;

	info->hops_left_out = length - n;
	info->hops = calloc(n, sizeof(*info->hops));
	if (!info->hops)
		return &gr_enomem;
	info->nhops = n;
	// The last ones first; then those that are left out.
	for (uint64_t i = length; !err && i; i--, at = m->g->parent[at]) {
		if (i > length - n / 2)
			err = make_hop(m, at,
				       &info->hops[i - 1 - (length - n)]);
		else if (i <= n - n / 2)
			err = make_hop(m, at, &info->hops[i - 1]);
	}
	return err;
}

/* Every goroutine has records of the scheduler: they come last. */
static void sink_scheduler(const struct maker *m,
			   struct gr_child_groups *groups)
{
	uint32_t nsunk = 0;

	for (uint32_t i = 0, n = groups->count; i + nsunk < n;) {
		struct gr_child_group group = groups->groups[i];
		const struct gr_type *type =
			gr_suspect_type(m->answers, group.example);

		if (!type || type->role != GR_ROLE_SCHEDULER) {
			i++;
			continue;
		}
		memmove(&groups->groups[i], &groups->groups[i + 1],
			(n - i - 1) * sizeof(group));
		groups->groups[n - 1] = group;
		nsunk++;
	}
}

static struct gr_error *make_contents(struct maker *m,
				      const struct gr_suspect *suspect,
				      struct gr_suspect_info *info)
{
	_cleanup_(gr_child_groups_deinit) struct gr_child_groups groups = { 0 };
	struct gr_error *err = gr_graph_suspect_contents(
		m->g, &m->question, suspect, &m->poll, &groups);

	if (err || !groups.count)
		return err;
	size_t n = groups.count < MAX_CONTENTS ? groups.count : MAX_CONTENTS;
	info->contents = calloc(n, sizeof(*info->contents));
	if (!info->contents)
		return &gr_enomem;
	sink_scheduler(m, &groups);
	for (size_t i = 0; !err && i < n; i++) {
		const struct gr_child_group *group = &groups.groups[i];
		struct gr_suspect_content *content = &info->contents[i];

		content->objects = group->vertices;
		content->bytes = group->retained_bytes;
		content->c_bytes = group->retained_second;
		err = group->vertices == 1 ?
			      gr_suspect_text(m->answers, group->example,
					      &content->type) :
			      gr_suspect_many_text(m->answers, group->example,
						   &content->type);
		info->ncontents = i + 1;
	}
	return err;
}

/* Names of one holder. */
static struct gr_error *name_holder(struct maker *m,
				    const struct gr_suspect *suspect,
				    gr_vertex at, struct gr_suspect_info *info)
{
	gr_vertex v = gr_suspect_namer(m->answers, suspect->holder, at);
	struct gr_error *err = gr_suspect_text(m->answers, v, &info->name);

	return err ? err :
		     gr_suspect_point_text(m->answers, at,
					   &info->accumulation_point);
}

/* Names of goroutines that run one function. */
static struct gr_error *name_goroutines(struct maker *m,
					const struct gr_suspect *suspect,
					struct gr_suspect_info *info)
{
	struct gr_stop *stop = m->answers->stop;
	gr_vertex index = suspect->holder - gr_graph_first_group(m->g);
	const struct gr_goroutine *g = &stop->sched.goroutines[index];
	struct gr_func func;

	info->name = gr_suspect_start(&stop->sched, g->startpc);
	if (g->gopc && gr_func_find(&stop->program->rt, g->gopc - 1, &func))
		info->created_by = func.name;
	info->accumulation_point = gr_arena_internf(
		&stop->program->arena, "goroutines of %s", info->name);
	return info->accumulation_point ? NULL : &gr_enomem;
}

static struct gr_error *make_names(struct maker *m,
				   const struct gr_suspect *suspect,
				   gr_vertex at, struct gr_suspect_info *info)
{
	struct gr_error *err;

	switch (info->class) {
	case GR_SUSPECT_HOLDER:
		return name_holder(m, suspect, at, info);
	case GR_SUSPECT_GOROUTINES:
		return name_goroutines(m, suspect, info);
	case GR_SUSPECT_OBJECTS:
	case GR_SUSPECT_ROOTS:
		break;
	}
	err = gr_suspect_many_text(m->answers, suspect->holder, &info->name);
	if (err || at == suspect->holder) {
		info->accumulation_point = info->name;
		return err;
	}
	return gr_suspect_point_text(m->answers, at, &info->accumulation_point);
}

/* How much of each suspect is resident, if the target tells. It is no reason to
 * fail if there is no memory for it. */
static struct gr_error *find_pages(struct maker *m,
				   const struct gr_suspects *found,
				   struct gr_suspect_report *report,
				   uint64_t *ret)
{
	const struct gr_suspect_pages pages = { m->g, found, &m->question,
						&m->poll };
	const struct gr_residency *residency;
	// Pages have bytes.
	bool is_known = m->answers->weight == GR_WEIGHT_BYTES;
	struct gr_error *err =
		gr_stop_known_pages(m->answers->stop, &residency);

	for (uint32_t i = 0; i < found->count; i++)
		ret[i] = UINT64_MAX;
	report->residency = gr_residency_name(GR_RESIDENCY_UNKNOWN);
	if (err || !residency || !found->count || !is_known)
		return err;
	err = gr_suspect_pages(&pages, residency, ret);
	if (!err)
		report->residency = gr_residency_name(residency->kind);
	if (gr_error_catch(&err, GR_ERROR_NO_MEMORY))
		for (uint32_t i = 0; i < found->count; i++)
			ret[i] = UINT64_MAX;
	return err;
}

static struct gr_error *describe(struct maker *m,
				 const struct gr_suspect *suspect,
				 struct gr_suspect_info *info)
{
	gr_vertex at;
	struct gr_error *err;

	info->class = class_of(m, suspect);
	info->kind = class_name(info->class);
	info->created_by = "";
	info->objects = suspect->vertices;
	info->retained_bytes = suspect->retained.bytes;
	info->retained_c_bytes = suspect->retained.second;
	info->is_chain = !suspect->is_group &&
			 suspect->at.kind == GR_ACCUMULATION_CHAIN;
	err = find_point(m, suspect, info->class, &at);
	if (!err)
		err = make_names(m, suspect, at, info);
	if (!err)
		err = gr_vertex_describe(m->answers, at, &info->at);
	if (!err)
		err = gr_vertex_describe(m->answers, suspect->holder,
					 &info->holder);
	if (!err)
		err = make_path(m, at, info);
	return err ? err : make_contents(m, suspect, info);
}

/* Name the vertex that retains most, suspect or not. */
static struct gr_error *name_largest(struct maker *m,
				     const struct gr_suspect *largest,
				     struct gr_suspect_report *report)
{
	report->largest_name = "";
	report->largest_bytes = largest->retained.bytes;
	report->largest_c_bytes = largest->retained.second;
	if (!largest->retained.bytes)
		return NULL;
	return gr_suspect_text(m->answers, largest->holder,
			       &report->largest_name);
}

static struct gr_error *fill(struct maker *m, struct gr_suspect_report *report)
{
	_cleanup_(gr_suspects_deinit) struct gr_suspects found = { 0 };
	struct gr_error *err =
		gr_graph_suspects(m->g, &m->question, &m->poll, &found);

	if (err)
		return err;
	err = name_largest(m, &found.largest, report);
	report->suspects = calloc(found.count + 1, sizeof(*report->suspects));
	if (!report->suspects)
		return &gr_enomem;
	report->count = found.count;
	_cleanup_free_ uint64_t *resident =
		calloc(found.count + 1, sizeof(*resident));
	if (!resident)
		return &gr_enomem;
	if (!err)
		err = find_pages(m, &found, report, resident);
	for (uint32_t i = 0; !err && i < found.count; i++) {
		report->suspects[i].resident_bytes = resident[i];
		err = describe(m, &found.suspects[i], &report->suspects[i]);
	}
	return err;
}

static struct gr_error *answer(struct gr_answers *answers,
			       struct gr_suspect_report **ret)
{
	_cleanup_(gr_cleanup_report) struct gr_suspect_report *report =
		calloc(1, sizeof(*report));
	struct gr_error *err = gr_answers_need_graph(
		answers, GR_PART_NEAREST | GR_PART_CHILDREN);

	if (err)
		return err;
	if (!report)
		return &gr_enomem;
	const struct gr_graph *g = answers->graph->graph;
	report->gaps = answers->graph_gaps;
	const struct gr_sizes reached = gr_graph_retained(g, gr_graph_top(g)),
			      runtime = gr_graph_retained(
				      g, gr_group_vertex(answers->graph,
							 GR_GROUP_RUNTIME));
	report->reached_bytes = reached.bytes;
	report->reached_c_bytes = reached.second;
	report->runtime_bytes = runtime.bytes;
	report->runtime_c_bytes = runtime.second;
	struct maker m = {
		.answers = answers,
		.g = g,
		.poll = gr_runtime_poller(&answers->stop->program->rt),
		.question = gr_suspects_question(answers),
	};
	report->min_bytes = m.question.min_bytes;

	err = fill(&m, report);
	if (!err)
		*ret = steal_ptr(report);
	return err;
}

struct gr_error *gr_scan_suspects(struct gr_scan *scan, enum gr_weight weight,
				  struct gr_suspect_report **ret)
{
	struct gr_answers *answers;
	_cleanup_(gr_cleanup_report) struct gr_suspect_report *report = NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err =
		gr_scan_enter_weighing(scan, weight, &guard, &answers);

	if (!err)
		err = answer(answers, &report);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(report);
	return err;
}
