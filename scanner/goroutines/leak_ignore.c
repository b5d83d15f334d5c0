// SPDX-License-Identifier: Apache-2.0
#include "goroutines/leak_ignore.h"

enum gr_ignore_field gr_ignore_field_of(const char *name)
{
	static const char *const names[] = {
#define X(id, name) [GR_IGNORE_##id] = name,
		GR_IGNORE_FIELDS(X)
#undef X
	};
	size_t i = 0;

	while (i < GR_ARRAY_SIZE(names) && strcmp(names[i], name) != 0)
		i++;
	return i;
}

struct gr_error *gr_ignores_make(struct gr_runtime *rt,
				 const struct gr_ignore_pattern *patterns,
				 size_t npatterns, struct gr_ignores *ret)
{
	*ret = (struct gr_ignores){
		.patterns = patterns,
		.npatterns = npatterns,
		.matches = calloc(npatterns + 1, sizeof(*ret->matches)),
	};
	for (size_t i = 0; ret->matches && i < npatterns; i++)
		ret->matches[i] = (struct gr_call_match){
			.rt = rt,
			.text = patterns[i].text,
			.is_whole = true,
		};
	return ret->matches ? NULL : &gr_enomem;
}

void gr_ignores_deinit(struct gr_ignores *ignores)
{
	for (size_t i = 0; ignores->matches && i < ignores->npatterns; i++)
		gr_call_match_deinit(&ignores->matches[i]);
	free(ignores->matches);
}

static struct gr_error *takes(struct gr_ignores *ignores, size_t i,
			      const struct gr_goroutine *g, bool *ret)
{
	struct gr_call_match *match = &ignores->matches[i];

	switch (ignores->patterns[i].field) {
	case GR_IGNORE_TOP:
		return gr_call_match_top(match, g, ret);
	case GR_IGNORE_ANY:
		return gr_call_match_any(match, g, ret);
	default:
		return gr_call_match_pc(match, g->gopc, ret);
	}
}

struct gr_error *gr_ignores_find(struct gr_ignores *ignores,
				 const struct gr_goroutine *g, size_t *ret)
{
	struct gr_error *err = NULL;
	bool is_taken = false;

	for (*ret = 0; *ret < ignores->npatterns; ++*ret) {
		err = takes(ignores, *ret, g, &is_taken);
		if (err || is_taken)
			break;
	}
	return err;
}
