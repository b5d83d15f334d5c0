// SPDX-License-Identifier: Apache-2.0
/*
 * Roots from the specials of spans (runtime/mheap.go): finalizers, cleanups and
 * the handles of weak pointers. Those of sampled objects are noted; they are no
 * roots.
 */
#include "goruntime/roots/lists_internal.h"

enum { MAX_SPECIAL_BYTES = 64, INNERMOST_BYTES = 1 << 9 };

static struct gr_error *add_finalizer(struct gr_list_reader *r,
				      const struct gr_span *span,
				      uint64_t obj_addr, uint64_t record)
{
	const typeof(r->rt->layout.special_finalizer) *f =
		&r->rt->layout.special_finalizer;
	struct gr_error *err;
	uint64_t fn, ot;

	err = gr_image_read_u64(r->rt->image, record + f->fn.off, &fn);
	if (!err)
		err = gr_image_read_u64(r->rt->image, record + f->ot.off, &ot);
	if (!err)
		err = gr_lists_add_value(r, "runtime.SetFinalizer.fn",
					 GR_ROOT_FINALIZER, GR_TIER_DEFERRED,
					 fn, true);
	if (!err)
		err = gr_lists_add_value(r, "runtime.SetFinalizer.obj",
					 GR_ROOT_FINALIZER, GR_TIER_DEFERRED,
					 obj_addr + span->header_bytes, false);
	if (err)
		return err;
	r->list->data[r->list->size - 1].form = GR_ROOT_CONTENTS;
	r->list->data[r->list->size - 1].type_addr = ot;
	return NULL;
}

struct gr_error *gr_lists_add_cleanup(struct gr_list_reader *r, uint64_t record,
				      struct gr_field call, struct gr_field fn,
				      struct gr_field arg)
{
	const struct {
		struct gr_field field;
		const char *name;
		bool is_func;
	} parts[] = {
		{ call, "runtime.AddCleanup.call", true },
		{ fn, "runtime.AddCleanup.fn", true },
		{ arg, "runtime.AddCleanup.arg", false },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(parts); i++) {
		uint64_t value;
		struct gr_error *err;

		if (!gr_field_is_present(parts[i].field))
			continue;
		err = gr_image_read_u64(r->rt->image,
					record + parts[i].field.off, &value);
		if (!err)
			err = gr_lists_add_value(r, parts[i].name,
						 GR_ROOT_CLEANUP,
						 GR_TIER_DEFERRED, value,
						 parts[i].is_func);
		if (err)
			return err;
	}
	return NULL;
}

/* Note an object of the heap profile. It may begin behind a malloc header. */
static struct gr_error *add_sampled(struct gr_list_reader *r,
				    const struct gr_span *span, uint64_t record,
				    uint64_t offset)
{
	uint64_t index = offset / span->elem_bytes;
	uint64_t rest = offset % span->elem_bytes;
	struct gr_sampled sampled = {
		.obj = span->first_obj + (gr_obj)index,
		.offset = rest < UINT32_MAX ? (uint32_t)rest : UINT32_MAX,
	};
	struct gr_error *err = gr_image_read_u64(
		r->rt->image, record + r->rt->layout.special_profile.bucket.off,
		&sampled.bucket);

	if (err)
		return err;
	return gr_sampled_vector_append(r->sampled, sampled) ? NULL :
							       &gr_enomem;
}

static struct gr_error *add_kind(struct gr_list_reader *r,
				 const struct gr_span *span, uint64_t addr,
				 uint64_t offset, int64_t kind)
{
	const struct gr_layout *layout = &r->rt->layout;
	uint64_t index = offset / span->elem_bytes;

	if (layout->has.kind_profile && kind == layout->consts.kind_profile &&
	    layout->special_profile.size_bytes)
		return add_sampled(r, span, addr, offset);

	if (layout->has.kind_finalizer && kind == layout->consts.kind_finalizer)
		return add_finalizer(r, span, gr_span_slot_addr(span, index),
				     addr);
	if (layout->has.kind_cleanup && kind == layout->consts.kind_cleanup)
		return gr_lists_add_cleanup(r, addr,
					    layout->special_cleanup.call,
					    layout->special_cleanup.fn,
					    layout->special_cleanup.arg);
	if (layout->has.kind_weak_handle &&
	    kind == layout->consts.kind_weak_handle) {
		uint64_t handle;
		struct gr_error *err = gr_image_read_u64(
			r->rt->image,
			addr + layout->special_weak_handle.handle.off, &handle);
		return err ? err :
			     gr_lists_add_value(r, "weak.Pointer.handle",
						GR_ROOT_RUNTIME,
						GR_TIER_RUNTIME, handle, false);
	}
	return NULL;
}

/* Add the roots of a record, which belongs to the object at @p offset. */
static struct gr_error *add_special(struct gr_list_reader *r,
				    const struct gr_span *span, uint64_t addr,
				    uint64_t offset, int64_t kind)
{
	uint64_t index = offset / span->elem_bytes;
	size_t first = r->list->size;

	if (index >= span->nelems)
		return NULL;
	struct gr_error *err = add_kind(r, span, addr, offset, kind);
	for (size_t i = first; i < r->list->size; i++)
		r->list->data[i].object_addr =
			gr_span_slot_addr(span, index) + span->header_bytes;
	return err;
}

/* Read one record. *@p addr becomes the address of the next one. */
static struct gr_error *read_special(struct gr_list_reader *r,
				     const struct gr_span *span, uint64_t *addr)
{
	const typeof(r->rt->layout.special) *f = &r->rt->layout.special;
	uint8_t record[MAX_SPECIAL_BYTES];
	struct gr_error *err;

	err = gr_image_read(r->rt->image, *addr, record, f->size_bytes);
	if (!err)
		err = add_special(r, span, *addr,
				  gr_field_uint(record, f->offset),
				  gr_field_uint(record, f->kind));
	if (!err)
		*addr = gr_field_word(record, f->next);
	return err;
}

static struct gr_error *read_specials(struct gr_list_reader *r,
				      const struct gr_span *span)
{
	struct gr_owned_list list = { .all = &r->specials };
	struct gr_error *err = NULL;
	uint64_t addr = span->specials;
	bool is_ours = true;

	while (addr && !err && is_ours) {
		err = gr_owned_visit(r->rt, &list, addr, &is_ours);
		if (!err && is_ours)
			err = read_special(r, span, &addr);
	}
	if (gr_error_catch(&err, GR_ERROR_FAULT) || !is_ours)
		gr_gap_broken_list(r->rt->gaps, "specials of the heap");
	return err;
}

/* Does the word at an address point to a closure? */
static struct gr_error *has_closure(struct gr_list_reader *r, uint64_t addr,
				    uint64_t *closure, bool *ret)
{
	struct gr_func func;
	uint64_t code;
	struct gr_error *err = gr_image_read_u64(r->rt->image, addr, closure);

	if (!err)
		err = gr_image_read_u64(r->rt->image, *closure, &code);
	*ret = !err && gr_func_find(r->rt, code, &func) && func.entry == code;
	return err;
}

/* Add what a finalizer's record on no list refers to, but for the object. */
static struct gr_error *add_held_finalizer(struct gr_list_reader *r,
					   uint64_t addr)
{
	bool is_closure;
	uint64_t fn;
	struct gr_error *err =
		has_closure(r, addr + r->rt->layout.special_finalizer.fn.off,
			    &fn, &is_closure);

	return err || !is_closure ?
		       err :
		       gr_lists_add_value(r, "runtime.SetFinalizer.fn",
					  GR_ROOT_FINALIZER, GR_TIER_DEFERRED,
					  fn, true);
}

static struct gr_error *add_held_cleanup(struct gr_list_reader *r,
					 uint64_t addr)
{
	const typeof(r->rt->layout.special_cleanup) *f =
		&r->rt->layout.special_cleanup;
	bool is_closure;
	uint64_t fn;
	struct gr_error *err =
		has_closure(r, addr + f->fn.off, &fn, &is_closure);

	return err || !is_closure ?
		       err :
		       gr_lists_add_cleanup(r, addr, f->call, f->fn, f->arg);
}

/* Add the record at an address, if there is one: it may be anything. */
static struct gr_error *read_held(struct gr_list_reader *r, uint64_t addr)
{
	const struct gr_layout *layout = &r->rt->layout;
	uint8_t record[MAX_SPECIAL_BYTES];
	size_t first = r->list->size;
	struct gr_error *err;

	if (!addr || addr % GR_WORD_BYTES || gr_heap_span_at(r->heap, addr))
		return NULL;
	err = gr_image_read(r->rt->image, addr, record,
			    layout->special.size_bytes);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err ||
	    gr_field_uint(record, layout->special.offset) >= r->unswept_bytes)
		return err;
	int64_t kind = gr_field_uint(record, layout->special.kind);
	if (layout->has.kind_cleanup && kind == layout->consts.kind_cleanup)
		err = add_held_cleanup(r, addr);
	else if (layout->has.kind_finalizer &&
		 kind == layout->consts.kind_finalizer)
		err = add_held_finalizer(r, addr);
	for (size_t i = first; i < r->list->size; i++)
		r->list->data[i].is_conservative = true;
	gr_error_catch(&err, GR_ERROR_FAULT);
	return err;
}

/* Add the records that a running thread has in its registers or in the
 * innermost part of its stack. */
static struct gr_error *read_held_by(struct gr_list_reader *r,
				     const struct gr_goroutine *g)
{
	uint64_t words[INNERMOST_BYTES / GR_WORD_BYTES];
	uint64_t bytes = g->stack.end - g->stack.start;
	struct gr_error *err = gr_runtime_step(
		r->rt, r->rt->arch->nregs + GR_ARRAY_SIZE(words));

	if (bytes > sizeof(words))
		bytes = sizeof(words);
	for (size_t i = 0; i < r->rt->arch->nregs && !err; i++)
		err = read_held(r, g->regs->value[i]);
	if (!err)
		err = gr_image_read(r->rt->image, g->stack.start, words, bytes);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	for (size_t i = 0; i < bytes / GR_WORD_BYTES && !err; i++)
		err = read_held(r, words[i]);
	return err;
}

/*
 * The sweeper takes the record of a dead object off the list of the span, and
 * only then queues the cleanup or the finalizer (runtime/mgcsweep.go: sweep,
 * runtime/mheap.go: freeSpecial). In between, only the sweeping thread leads to
 * the record. A saved file does without it: the words that are searched here
 * may be values.
 */
static struct gr_error *read_all_held(struct gr_list_reader *r)
{
	struct gr_error *err = NULL;

	if (!r->rt->gaps->count[GR_GAP_SPANS_MID_SWEEP] || r->rt->recorder ||
	    gr_image_lacks_values(r->rt->image))
		return NULL;
	for (size_t i = 0; i < r->sched->ngoroutines && !err; i++) {
		err = gr_runtime_step(r->rt, 1);
		if (!err && r->sched->goroutines[i].regs)
			err = read_held_by(r, &r->sched->goroutines[i]);
	}
	return err;
}

struct gr_error *gr_lists_read_specials(struct gr_list_reader *r)
{
	const struct gr_heap *heap = r->heap;
	struct gr_error *err = NULL;

	if (r->rt->layout.special.size_bytes > MAX_SPECIAL_BYTES)
		return gr_error_format(GR_ERROR_LAYOUT,
				       "runtime.special is absurdly large");
	for (uint32_t i = 0; !err && i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		uint64_t bytes = span->limit_addr - span->base_addr;

		err = gr_runtime_step(r->rt, 1);
		if (!err && span->specials)
			err = read_specials(r, span);
		if (span->is_unswept && bytes > r->unswept_bytes)
			r->unswept_bytes = bytes;
	}
	return err ? err : read_all_held(r);
}
