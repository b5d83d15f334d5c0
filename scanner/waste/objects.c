// SPDX-License-Identifier: Apache-2.0
#include "waste/objects.h"

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

struct gr_error *gr_waste_each(struct gr_waste_run *run, gr_waste_visit *visit,
			       void *ctx)
{
	const struct gr_heap *heap = run->heap;
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		const struct gr_parent *of = run->parents->of + span->first_obj;

		err = gr_runtime_step(heap->rt, span->nelems);
		for (uint32_t k = 0; !err && k < span->nelems; k++) {
			struct gr_waste_object object;

			if (!of[k].node)
				continue;
			fill(span, k,
			     gr_waste_kind_known(&run->kinds, of[k].label),
			     &object);
			if (object.kind->checks)
				err = visit(run, &object, ctx);
		}
	}
	return err;
}

struct gr_error *gr_waste_find_kinds(struct gr_waste_run *run)
{
	const struct gr_heap *heap = run->heap;
	struct gr_error *err = NULL;
	uint32_t last = GR_TYPE_NONE - 1;

	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		const struct gr_parent *of = run->parents->of + span->first_obj;

		err = gr_runtime_step(heap->rt, span->nelems / 8 + 1);
		for (uint32_t k = 0; !err && k < span->nelems; k++) {
			const struct gr_waste_kind *kind;

			if (!of[k].node || of[k].label == last)
				continue;
			last = of[k].label;
			err = gr_waste_kind_find(run, last, &kind);
		}
	}
	return err;
}

void gr_waste_object_get(struct gr_waste_run *run, gr_obj obj,
			 struct gr_waste_object *ret)
{
	const struct gr_span *span = run->last_span;

	if (!span || obj - span->first_obj >= span->nelems)
		span = gr_heap_span_of(run->heap, obj);
	run->last_span = span;
	fill(span, obj - span->first_obj,
	     gr_waste_kind_known(&run->kinds, run->parents->of[obj].label),
	     ret);
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
