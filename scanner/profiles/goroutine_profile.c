// SPDX-License-Identifier: Apache-2.0
#include "profiles/goroutine_profile.h"

#include "goroutines/leak_rule.h"
#include "scan/enter.h"

GR_DEFINE_CLEANUP(goroutine_profile, struct gr_goroutine_profile,
		  gr_goroutine_profile_destroy)
GR_DEFINE_CLEANUP(goroutine_list, struct gr_goroutine_list,
		  gr_goroutine_list_destroy)

void gr_goroutine_profile_destroy(struct gr_goroutine_profile *profile)
{
	if (!profile)
		return;
	gr_stacks_deinit(&profile->stacks);
	free(profile->rows);
	free(profile->samples);
	free(profile);
}

/* The leak states of all goroutines, for free(). */
static struct gr_error *find_leaked(struct gr_answers *answers,
				    struct gr_goroutine_profile *profile,
				    uint8_t **ret)
{
	_cleanup_free_ uint8_t *states =
		calloc(answers->stop->sched.ngoroutines + 1, sizeof(*states));
	struct gr_error *err = gr_answers_need_graph(answers, GR_PART_NEAREST);

	if (!err && !states)
		err = &gr_enomem;
	if (!err)
		err = gr_leak_rule_apply(answers, states);
	if (err)
		return err;
	profile->gaps = answers->graph_gaps;
	*ret = steal_ptr(states);
	return NULL;
}

/* Index of each goroutine by its id. */
static struct gr_error *number(const struct gr_sched *sched,
			       struct gr_keys *by_id)
{
	for (size_t i = 0; i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];

		if (g->is_g0 || gr_keys_find(by_id, g->goid, 0) != UINT32_MAX)
			continue;
		if (!gr_keys_add(by_id, g->goid, 0, (uint32_t)i))
			return &gr_enomem;
	}
	return NULL;
}

static struct gr_error *add_row(struct gr_runtime *rt,
				const struct gr_goroutine *g,
				const struct gr_goroutine_info *info,
				struct gr_goroutine_profile *profile)
{
	struct gr_goroutine_stack row = {
		.goroutine = *info,
		.stack_space = g->stack_hi - g->stack_lo,
		.is_cut = g->is_cut || g->unknown_start < g->stack_hi,
	};
	struct gr_error *err =
		gr_stacks_add_frames(&profile->stacks, rt, g, &row.stack);

	if (!err)
		profile->rows[profile->nrows++] = row;
	return err;
}

/* @p states: of goroutines, to have those that have leaked; NULL: to have all. */
static struct gr_error *add_rows(struct gr_sched *sched, const uint8_t *states,
				 const struct gr_goroutine_list *list,
				 struct gr_goroutine_profile *profile)
{
	_cleanup_(gr_keys_deinit) struct gr_keys by_id = { 0 };
	struct gr_error *err = number(sched, &by_id);

	for (size_t i = 0; !err && i < list->nrows; i++) {
		const struct gr_goroutine_info *info = &list->rows[i];
		uint32_t index = gr_keys_find(&by_id, info->id, 0);

		GR_ASSERT(index != UINT32_MAX);
		const struct gr_goroutine *g = &sched->goroutines[index];
		uint8_t state = states ? states[index] : GR_LEAK_LEAKED;
		profile->unproven += state > GR_LEAK_LEAKED;
		if (state == GR_LEAK_LEAKED)
			err = add_row(sched->rt, g, info, profile);
	}
	return err;
}

/** Samples by what their goroutines have in common. */
struct sampler {
	struct gr_goroutine_profile *profile;
	struct gr_keys labels; /* (text, the labels before) -> labels */
	uint32_t nlabels;
	struct gr_keys samples; /* (stack, labels) -> sample */
};

static void sampler_deinit(struct sampler *s)
{
	gr_keys_deinit(&s->labels);
	gr_keys_deinit(&s->samples);
}

/* Add a key or a value to labels. Texts are interned: equal ones have one
 * address. */
static struct gr_error *add_text(struct sampler *s, const char *text,
				 uint32_t *labels)
{
	uint32_t before = *labels;

	*labels = gr_keys_find(&s->labels, (uintptr_t)text, before);
	if (*labels != UINT32_MAX)
		return NULL;
	*labels = s->nlabels++;
	return gr_keys_add(&s->labels, (uintptr_t)text, before, *labels) ?
		       NULL :
		       &gr_enomem;
}

/* A number for the labels of a goroutine, UINT32_MAX if it has none. */
static struct gr_error *number_labels(struct sampler *s,
				      const struct gr_goroutine_info *info,
				      uint32_t *ret)
{
	struct gr_error *err = NULL;

	*ret = UINT32_MAX;
	for (size_t i = 0; !err && i < info->nlabels; i++) {
		err = add_text(s, info->labels[i].key, ret);
		if (!err)
			err = add_text(s, info->labels[i].value, ret);
	}
	return err;
}

/* Find the sample of a goroutine; it is made if it is new. */
static struct gr_error *find_sample(struct sampler *s,
				    struct gr_goroutine_stack *row)
{
	struct gr_goroutine_profile *profile = s->profile;
	uint32_t labels;
	struct gr_error *err = number_labels(s, &row->goroutine, &labels);

	if (err)
		return err;
	row->sample = gr_keys_find(&s->samples, row->stack, labels);
	if (row->sample != UINT32_MAX)
		return NULL;
	row->sample = (uint32_t)profile->nsamples++;
	profile->samples[row->sample] = (struct gr_goroutine_sample){
		.stack = row->stack,
		.labels = row->goroutine.labels,
		.nlabels = row->goroutine.nlabels,
	};
	return gr_keys_add(&s->samples, row->stack, labels, row->sample) ?
		       NULL :
		       &gr_enomem;
}

/* Count the goroutines of each stack. */
static struct gr_error *add_samples(struct gr_goroutine_profile *profile)
{
	_cleanup_(sampler_deinit) struct sampler s = { .profile = profile };
	struct gr_error *err = NULL;

	profile->samples =
		calloc(profile->nrows + 1, sizeof(*profile->samples));
	if (!profile->samples)
		return &gr_enomem;
	for (size_t i = 0; !err && i < profile->nrows; i++) {
		struct gr_goroutine_stack *row = &profile->rows[i];

		err = find_sample(&s, row);
		if (err)
			break;
		profile->samples[row->sample].goroutines++;
		profile->samples[row->sample].stack_space += row->stack_space;
	}
	return err;
}

static struct gr_error *answer(struct gr_answers *answers,
			       enum gr_goroutine_selection selection,
			       struct gr_goroutine_profile *profile)
{
	static const struct gr_goroutine_query all = { .group = GR_BY_NOTHING };
	_cleanup_(gr_cleanup_goroutine_list) struct gr_goroutine_list *list =
		NULL;
	_cleanup_free_ uint8_t *states = NULL;
	struct gr_error *err = gr_goroutine_list_make(answers, &all, &list);

	if (!err && selection == GR_GOROUTINES_LEAKED)
		err = find_leaked(answers, profile, &states);
	if (err)
		return err;
	profile->rows = calloc(list->nrows + 1, sizeof(*profile->rows));
	if (!profile->rows)
		return &gr_enomem;
	err = add_rows(&answers->stop->sched, states, list, profile);
	return err ? err : add_samples(profile);
}

struct gr_error *
gr_scan_goroutine_profile(struct gr_scan *scan,
			  enum gr_goroutine_selection selection,
			  struct gr_goroutine_profile **ret)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	struct gr_stop *stop;
	_cleanup_(gr_cleanup_goroutine_profile) struct gr_goroutine_profile
		*profile = calloc(1, sizeof(*profile));
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	if (!profile)
		return &gr_enomem;
	err = selection == GR_GOROUTINES_LEAKED ?
		      gr_scan_enter(scan, &guard, &answers) :
		      gr_scan_enter_goroutines(scan, &guard, &stop);
	if (!err)
		err = answer(answers, selection, profile);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(profile);
	return err;
}
