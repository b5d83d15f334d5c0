// SPDX-License-Identifier: Apache-2.0
#include "waste/objects/objects.h"

static void fill(const struct gr_span *span, uint32_t index,
		 const struct gr_waste_kind *kind, struct gr_waste_object *ret)
{
	uint64_t off = (uint64_t)index * span->elem_bytes + span->header_bytes;

	*ret = (struct gr_waste_object){
		.obj = span->first_obj + index,
		.span = span,
		.kind = kind,
		.addr = span->base_addr + off,
		.bytes = span->elem_bytes - span->header_bytes,
		.slot_bytes = span->elem_bytes,
		.host = span->host ? span->host + off : NULL,
	};
}

struct gr_error *gr_waste_each(struct gr_waste_run *run, uint32_t checks,
			       gr_waste_visit *visit, void *ctx)
{
	const uint32_t *checks_of_way = run->kinds.checks_of_way;
	const struct gr_heap *heap = run->heap;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];

		err = gr_runtime_step(heap->rt, span->nelems);
		for (uint32_t k = 0; !err && k < span->nelems; k++) {
			struct gr_waste_object object;
			uint32_t way = gr_parents_index(run->parents,
							span->first_obj + k);

			if (!(checks_of_way[way] & checks))
				continue;
			fill(span, k, run->kinds.of_way[way], &object);
			err = visit(run, &object, ctx);
		}
	}
	return err;
}

struct gr_error *gr_waste_find_spans(struct gr_waste_run *run)
{
	const struct gr_heap *heap = run->heap;
	size_t n = (heap->nobjs >> GR_SPAN_OF_SHIFT) + 2, at = 0;

	run->span_of = calloc(n, sizeof(*run->span_of));
	if (!run->span_of)
		return &gr_enomem;
	for (uint32_t i = 0; i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		uint64_t end = (uint64_t)span->first_obj + span->nelems;

		while (at < n && (uint64_t)at << GR_SPAN_OF_SHIFT < end)
			run->span_of[at++] = i;
	}
	while (at < n)
		run->span_of[at++] = heap->nspans - 1;
	return NULL;
}

const struct gr_span *gr_waste_span_of(const struct gr_waste_run *run,
				       gr_obj obj)
{
	const struct gr_span *spans = run->heap->spans;
	uint32_t first = run->span_of[obj >> GR_SPAN_OF_SHIFT];
	uint32_t end = run->span_of[(obj >> GR_SPAN_OF_SHIFT) + 1] + 1;
	size_t n = gr_count_before(end - first, k,
				   spans[first + k].first_obj <= obj);

	// Spans without objects share the number of the next one.
	return &spans[first + n - 1];
}

void gr_waste_object_get(struct gr_waste_run *run, gr_obj obj,
			 struct gr_waste_object *ret)
{
	gr_waste_object_in(run, gr_waste_span_of(run, obj), obj, ret);
}

void gr_waste_object_in(struct gr_waste_run *run, const struct gr_span *span,
			gr_obj obj, struct gr_waste_object *ret)
{
	fill(span, obj - span->first_obj,
	     run->kinds.of_way[gr_parents_index(run->parents, obj)], ret);
}

const uint8_t *gr_waste_content(struct gr_waste_run *run,
				const struct gr_waste_object *object,
				uint64_t off, uint64_t bytes)
{
	if (off > object->bytes || bytes > object->bytes - off)
		return NULL;
	if (object->host)
		return object->host + off;
	return gr_content_at(&run->content, run->heap, object->span,
			     object->addr + off, bytes);
}
