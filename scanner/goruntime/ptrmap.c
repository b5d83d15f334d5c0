// SPDX-License-Identifier: Apache-2.0
#include "goruntime/ptrmap.h"

#include "base/cleanup.h"

/* Newest first. */
static const struct gr_ptrmap_ops *const schemes[] = {
	&gr_ptrmap_header_ops,
	&gr_ptrmap_arena1_ops,
	&gr_ptrmap_arena2_ops,
};

struct gr_error *gr_ptrmap_prepare(struct gr_runtime *rt)
{
	for (size_t i = 0; i < GR_ARRAY_SIZE(schemes) && !rt->ptrmap; i++)
		if (schemes[i]->detect(&rt->layout))
			rt->ptrmap = schemes[i];
	if (!rt->ptrmap)
		return gr_error_format(GR_ERROR_LAYOUT,
				       "this runtime keeps its pointer maps in "
				       "a way that is not known");
	if (!rt->ptrmap->plan)
		return NULL;
	for (uint32_t i = 0; i < rt->heap->nspans; i++) {
		if (rt->heap->spans[i].is_noscan)
			continue;
		struct gr_error *err =
			rt->ptrmap->plan(rt, &rt->heap->spans[i]);
		if (err)
			return err;
	}
	return NULL;
}

struct gr_error *gr_ptrmap_build(struct gr_runtime *rt, uint64_t extra_words,
				 uint64_t **ret)
{
	struct gr_error *err;
	_cleanup_free_ uint64_t *words =
		gr_bitmap_alloc(rt->heap->nwords + extra_words);

	if (!words)
		return &gr_enomem;
	for (uint32_t i = 0; i < rt->heap->nspans; i++) {
		const struct gr_span *span = &rt->heap->spans[i];

		if (span->is_noscan || !span->host)
			continue;
		err = i % 1024 ? NULL : rt->poll(rt->poll_ctx);
		if (!err)
			err = rt->ptrmap->fill(rt, span, words);
		if (err)
			return err;
	}
	*ret = steal_ptr(words);
	return NULL;
}
