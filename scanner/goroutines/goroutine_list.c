// SPDX-License-Identifier: Apache-2.0
/* The list of goroutines: places of each, filters, groups. */
#include "goroutines/goroutine_list.h"

#include "goroutines/call_match.h"
#include "goroutines/goroutine_bytes.h"
#include "goroutines/goroutine_info.h"
#include "goroutines/goroutine_labels.h"
#include "goroutines/stack_key.h"
#include "goroutines/wait_key.h"
#include "goruntime/sched/waits.h"
#include "graph/keys.h"
#include "scan/enter.h"

#include <inttypes.h>

GR_VECTOR(info_vector, struct gr_goroutine_info);
GR_VECTOR(group_vector, struct gr_goroutine_group);

/** A goroutine that the filters let through. */
struct member {
	struct gr_goroutine_info info;
	uint32_t group;	 /* index in groups */
	uint32_t number; /* of the goroutines before it */
};
GR_VECTOR(member_vector, struct member);

struct lister {
	struct gr_answers *answers;
	const struct gr_goroutine_query *query;
	struct gr_goroutine_describer describer;
	struct gr_call_match *matches; /* of each filter; of calls, in use */
	struct member_vector members;
	struct group_vector groups;
	struct gr_keys by_key; /* hash of a group's key, probe -> group */
	struct gr_wait_keys wait_keys;	  /* for groups by GR_BY_WAITING_ON */
	struct gr_set_member_vector sets; /* of all, for their bytes */
	uint64_t total;
	uint64_t stack_size;
};

static void lister_deinit(struct lister *l)
{
	gr_goroutine_describer_deinit(&l->describer);
	for (size_t i = 0; l->matches && i < l->query->nfilters; i++)
		gr_call_match_deinit(&l->matches[i]);
	free(l->matches);
	member_vector_deinit(&l->members);
	group_vector_deinit(&l->groups);
	gr_keys_deinit(&l->by_key);
	gr_wait_keys_deinit(&l->wait_keys);
	gr_set_member_vector_deinit(&l->sets);
}

enum gr_goroutine_field gr_goroutine_field_of(const char *name)
{
	static const char *const names[] = {
#define X(id, name) [GR_BY_##id] = name,
		GR_GOROUTINE_FIELDS(X)
#undef X
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return i;
	return GR_BY_NOTHING;
}

/* `FILE:LINE in FUNCTION`, in the arena; NULL without memory. */
static const char *place_text(struct lister *l,
			      const struct gr_source_place *at)
{
	return gr_arena_internf(&l->answers->stop->program->arena,
				"%s:%" PRIu32 " in %s",
				*at->file ? at->file : "?", at->line,
				*at->function ? at->function : "?");
}

/* The text that a field filters and groups by; NULL without memory. */
static const char *field_text(struct lister *l,
			      const struct gr_goroutine_info *info,
			      enum gr_goroutine_field field)
{
	switch (field) {
	case GR_BY_USERLOC:
		return place_text(l, &info->user);
	case GR_BY_CURLOC:
		return place_text(l, &info->current);
	case GR_BY_GOLOC:
		return place_text(l, &info->go);
	case GR_BY_STARTLOC:
		return place_text(l, &info->start);
	case GR_BY_WAITING:
		return info->wait_reason;
	case GR_BY_STATE:
		return *info->wait_reason ? info->wait_reason : info->state;
	case GR_BY_RUNNING:
		return info->thread_id ? "running" : "not running";
	case GR_BY_USER:
		return info->is_system ? "the runtime's" : "the user's";
	case GR_BY_LABEL:
		return gr_goroutine_labels_text(
			&l->answers->stop->program->arena, info,
			l->query->group_label);
	case GR_BY_CALL:
	case GR_BY_STACK:
	case GR_BY_WAIT:
	case GR_BY_WAITING_ON:
	case GR_BY_NOTHING:
		break;
	}
	return "";
}

/* Is it true of the goroutine what the filter of that number says? */
static struct gr_error *holds(struct lister *l, const struct gr_goroutine *g,
			      const struct gr_goroutine_info *info, size_t i,
			      bool *ret)
{
	const struct gr_goroutine_filter *f = &l->query->filters[i];
	const char *text = "";

	if (f->field == GR_BY_CALL)
		return gr_call_match_any(&l->matches[i], g, ret);
	if (f->field == GR_BY_RUNNING) {
		*ret = info->thread_id != 0;
	} else if (f->field == GR_BY_USER) {
		*ret = !info->is_system;
	} else if (f->field == GR_BY_LABEL) {
		*ret = gr_goroutine_has_label(info, f->text);
	} else {
		text = field_text(l, info, f->field);
		*ret = text && *text && strstr(text, f->text);
	}
	return text ? NULL : &gr_enomem;
}

static struct gr_error *is_wanted(struct lister *l,
				  const struct gr_goroutine *g,
				  const struct gr_goroutine_info *info,
				  bool *ret)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && *ret && i < l->query->nfilters; i++) {
		err = holds(l, g, info, i, ret);
		*ret = *ret != l->query->filters[i].is_negated;
	}
	return err;
}

static struct gr_error *make_matches(struct lister *l)
{
	size_t n = l->query->nfilters;

	l->matches = calloc(n + 1, sizeof(*l->matches));
	for (size_t i = 0; l->matches && i < n; i++)
		l->matches[i] = (struct gr_call_match){
			.rt = &l->answers->stop->program->rt,
			.text = l->query->filters[i].text,
		};
	return l->matches ? NULL : &gr_enomem;
}

// -------------------------------------------------------------------- groups

/* The key of a group, which is interned; and its place. */
static struct gr_error *interned_key(struct lister *l,
				     const struct gr_goroutine_info *info,
				     struct gr_goroutine_group *group)
{
	if (l->query->group != GR_BY_WAIT) {
		group->key = field_text(l, info, l->query->group);
		return group->key ? NULL : &gr_enomem;
	}
	group->at = info->user;
	group->key = gr_arena_internf(
		&l->answers->stop->program->arena, "%s at %s:%" PRIu32 " in %s",
		*info->wait_reason ? info->wait_reason : info->state,
		*group->at.file ? group->at.file : "?", group->at.line,
		*group->at.function ? group->at.function : "?");
	return group->key ? NULL : &gr_enomem;
}

/* The key of the group of a goroutine. Texts are interned, so that equal ones
 * have one address. group->key is NULL if it is to be made of the first member.
 */
static struct gr_error *group_key(struct lister *l,
				  const struct gr_goroutine *g,
				  const struct gr_goroutine_info *info,
				  struct gr_goroutine_group *group,
				  uint64_t *ret)
{
	struct gr_error *err = NULL;

	if (l->query->group == GR_BY_STACK) {
		*ret = gr_stack_key(g);
	} else if (l->query->group == GR_BY_WAITING_ON) {
		err = gr_wait_key(&l->wait_keys,
				  g - l->answers->stop->sched.goroutines, ret);
	} else {
		err = interned_key(l, info, group);
		*ret = (uintptr_t)group->key;
	}
	return err;
}

static struct gr_error *
group_text(struct lister *l, const struct gr_goroutine *g, const char **ret)
{
	return l->query->group == GR_BY_STACK ?
		       gr_stack_key_text(&l->answers->stop->program->rt, g,
					 ret) :
		       gr_wait_key_text(&l->wait_keys,
					g - l->answers->stop->sched.goroutines,
					ret);
}

/* The group of a goroutine; it is made if it is new. */
static struct gr_error *find_group(struct lister *l,
				   const struct gr_goroutine *g,
				   const struct gr_goroutine_info *info,
				   uint32_t *ret)
{
	struct gr_goroutine_group group = { .at = { 0, "", "", 0 } };
	uint64_t key;
	struct gr_error *err = group_key(l, g, info, &group, &key);

	if (err)
		return err;
	*ret = gr_keys_find(&l->by_key, key, 0);
	if (*ret != UINT32_MAX)
		return NULL;
	err = group.key ? NULL : group_text(l, g, &group.key);
	if (err)
		return err;
	*ret = l->groups.size;
	if (!group_vector_append(&l->groups, group) ||
	    !gr_keys_add(&l->by_key, key, 0, *ret))
		return &gr_enomem;
	return NULL;
}

/* Count a goroutine, and keep it unless there are enough. */
static struct gr_error *add_member(struct lister *l,
				   const struct gr_goroutine *g,
				   const struct gr_goroutine_info *info)
{
	uint32_t max = l->query->max_rows;
	struct member member = { .info = *info, .number = l->total };
	uint64_t before = l->total++;

	if (l->query->group != GR_BY_NOTHING) {
		struct gr_error *err = find_group(l, g, info, &member.group);
		if (!err && l->query->group == GR_BY_WAITING_ON)
			err = gr_wait_key_count(
				&l->wait_keys,
				g - l->answers->stop->sched.goroutines,
				member.group,
				&l->groups.data[member.group].awaited);
		if (err)
			return err;
		before = l->groups.data[member.group].goroutines++;
		l->groups.data[member.group].stack_size += info->stack_size;
	}
	l->stack_size += info->stack_size;
	if (l->query->with_bytes &&
	    !gr_set_member_vector_append(
		    &l->sets,
		    (struct gr_set_member){
			    g - l->answers->stop->sched.goroutines,
			    l->query->group == GR_BY_NOTHING ? member.number :
							       member.group }))
		return &gr_enomem;
	if (max && before >= max)
		return NULL;
	return member_vector_append(&l->members, member) ? NULL : &gr_enomem;
}

static struct gr_error *add_goroutine(struct lister *l,
				      const struct gr_goroutine *g)
{
	struct gr_goroutine_info info;
	bool wanted = true;
	struct gr_error *err = gr_goroutine_describe(&l->describer, g, &info);

	if (!err)
		err = is_wanted(l, g, &info, &wanted);
	return err || !wanted ? err : add_member(l, g, &info);
}

// -------------------------------------------------------------------- answer

void gr_goroutine_list_destroy(struct gr_goroutine_list *list)
{
	if (!list)
		return;
	free(list->rows);
	free(list->groups);
	free(list);
}
GR_DEFINE_CLEANUP(goroutine_list, struct gr_goroutine_list,
		  gr_goroutine_list_destroy)

/* By group, then by id. */
static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->info.id != y->info.id)
		return x->info.id < y->info.id ? -1 : 1;
	return 0;
}

static int compare_groups(const void *a, const void *b)
{
	const struct gr_goroutine_group *x = a, *y = b;

	if (x->goroutines != y->goroutines)
		return x->goroutines > y->goroutines ? -1 : 1;
	return strcmp(x->key, y->key);
}

/* Weigh what each group, or each goroutine, keeps alive. */
static struct gr_error *weigh(struct lister *l, struct gr_goroutine_list *list)
{
	bool has_groups = l->query->group != GR_BY_NOTHING;
	uint32_t nsets = has_groups ? l->groups.size : l->total;
	_cleanup_free_ struct gr_kept *kept = calloc(nsets + 1, sizeof(*kept));
	struct gr_kept together;

	if (!kept)
		return &gr_enomem;
	struct gr_error *err = gr_goroutines_weigh(l->answers, &l->sets, nsets,
						   kept, &together);
	if (err)
		return err;
	for (uint32_t i = 0; i < nsets; i++) {
		list->exclusive_bytes += kept[i].bytes;
		list->exclusive_c_bytes += kept[i].second_bytes;
		if (!has_groups)
			continue;
		l->groups.data[i].exclusive_bytes = kept[i].bytes;
		l->groups.data[i].exclusive_c_bytes = kept[i].second_bytes;
	}
	list->shared_bytes = together.bytes - list->exclusive_bytes;
	list->knows_c = l->answers->stop->has_native;
	list->shared_c_bytes = together.second_bytes - list->exclusive_c_bytes;
	for (size_t i = 0; !has_groups && i < l->members.size; i++) {
		struct member *member = &l->members.data[i];

		member->info.exclusive_bytes = kept[member->number].bytes;
		member->info.exclusive_c_bytes =
			kept[member->number].second_bytes;
	}
	return NULL;
}

static struct gr_error *make_list(struct lister *l,
				  struct gr_goroutine_list *list)
{
	size_t n = l->members.size;

	list->rows = calloc(n + 1, sizeof(*list->rows));
	if (!list->rows)
		return &gr_enomem;
	if (n)
		qsort(l->members.data, n, sizeof(*l->members.data),
		      compare_members);
	for (size_t i = 0; i < n; i++) {
		const struct member *member = &l->members.data[i];

		list->rows[i] = member->info;
		if (l->query->group == GR_BY_NOTHING)
			continue;
		struct gr_goroutine_group *group =
			&l->groups.data[member->group];
		if (!group->nrows++)
			group->first = i;
	}
	list->nrows = n;
	list->total = l->total;
	list->stack_size = l->stack_size;
	list->ngroups = l->groups.size;
	list->groups = l->groups.data;
	memset(&l->groups, 0, sizeof(l->groups));
	if (list->ngroups)
		qsort(list->groups, list->ngroups, sizeof(*list->groups),
		      compare_groups);
	return NULL;
}

static bool is_listed(const struct lister *l, size_t index)
{
	const struct gr_goroutine *g =
		&l->answers->stop->sched.goroutines[index];

	return !g->is_g0 && (!g->is_system || l->query->with_system) &&
	       (!l->query->channel ||
		gr_awaits_channel(&l->answers->stop->sched, index,
				  l->query->channel));
}

static struct gr_error *answer(struct lister *l, struct gr_goroutine_list *list)
{
	const struct gr_sched *sched = &l->answers->stop->sched;
	struct gr_error *err = make_matches(l);

	if (!err && l->query->group == GR_BY_WAITING_ON)
		err = gr_wait_keys_make(l->answers, &l->wait_keys);
	for (size_t i = 0; !err && i < sched->ngoroutines; i++) {
		err = gr_runtime_step(&l->answers->stop->program->rt, 8);
		if (!err && is_listed(l, i))
			err = add_goroutine(l, &sched->goroutines[i]);
	}
	if (!err && l->query->with_bytes)
		err = weigh(l, list);
	return err ? err : make_list(l, list);
}

struct gr_error *gr_goroutine_list_make(struct gr_answers *answers,
					const struct gr_goroutine_query *query,
					struct gr_goroutine_list **ret)
{
	_cleanup_(gr_cleanup_goroutine_list) struct gr_goroutine_list *list =
		calloc(1, sizeof(*list));
	_cleanup_(lister_deinit) struct lister l = {
		.answers = answers,
		.query = query,
		.describer = { .stop = answers->stop },
	};

	if (!list)
		return &gr_enomem;
	struct gr_error *err = answer(&l, list);
	if (!err)
		*ret = steal_ptr(list);
	return err;
}

struct gr_error *gr_scan_list_goroutines(struct gr_scan *scan,
					 const struct gr_goroutine_query *query,
					 struct gr_goroutine_list **ret)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	struct gr_stop *stop;
	_cleanup_(gr_cleanup_goroutine_list) struct gr_goroutine_list *list =
		NULL;
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	err = query->channel || query->with_bytes ||
			      query->group == GR_BY_WAITING_ON ?
		      gr_scan_enter(scan, &guard, &answers) :
		      gr_scan_enter_goroutines(scan, &guard, &stop);
	if (!err)
		err = gr_goroutine_list_make(answers, query, &list);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(list);
	return err;
}
