// SPDX-License-Identifier: Apache-2.0
#include "mark/weight.h"

#include "base/cleanup.h"
#include "goruntime/heap/ptrmap.h"

void gr_span_sizes_deinit(struct gr_span_sizes *sizes)
{
	free(steal_ptr(sizes->map));
}

struct gr_error *gr_span_sizes_begin(struct gr_span_sizes *sizes,
				     const struct gr_span *span)
{
	struct gr_error *err =
		gr_runtime_step(sizes->heap->rt, 1 + span->nelems);

	gr_span_sizes_deinit(sizes);
	sizes->span = span;
	if (err || sizes->weight == GR_WEIGHT_BYTES || span->is_noscan ||
	    !span->host)
		return err;
	return gr_ptrmap_build_span(sizes->heap, span, &sizes->map);
}

struct gr_error *gr_allocated_size(const struct gr_heap *heap,
				   enum gr_weight weight, uint64_t *ret)
{
	_cleanup_(gr_span_sizes_deinit) struct gr_span_sizes sizes = {
		.heap = heap, .weight = weight
	};
	struct gr_error *err = NULL;

	*ret = heap->allocated_bytes;
	if (weight == GR_WEIGHT_BYTES)
		return NULL;
	*ret = 0;
	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];

		if (span->is_noscan)
			continue;
		err = gr_span_sizes_begin(&sizes, span);
		for (uint32_t k = 0; !err && k < span->nelems; k++)
			if (gr_heap_is_allocated(heap, span->first_obj + k))
				*ret += gr_span_size(&sizes, k);
	}
	return err;
}
