// SPDX-License-Identifier: Apache-2.0
/*
 * Each Pinner has an object of the runtime with its references, and that has a
 * finalizer: so the roots have them all. A Pinner that was unpinned has none.
 */
#include "cmemory/c_holds.h"

#include "scan/stop.h"

bool gr_c_holds_is_pinner(struct gr_types *types, const struct gr_root *root)
{
	return root->kind == GR_ROOT_FINALIZER &&
	       root->form == GR_ROOT_CONTENTS && root->type != GR_TYPE_NONE &&
	       gr_name_has(gr_types_get(types, root->type)->name,
			   GR_NAME_PINNER);
}

struct pinners {
	struct gr_stop *stop;
	struct gr_c_hold_vector *ret;
	uint64_t left; /* words of the heap: each has one reference at most */
};

/* Read the list of a Pinner's references, which lies in one object. */
static struct gr_error *read_list(struct pinners *p, uint64_t addr,
				  struct gr_go_slice *ret)
{
	const struct gr_heap *heap = p->stop->heap;
	const struct gr_span *span = NULL;
	struct gr_error *err = gr_runtime_read_slice(&p->stop->program->rt,
						     addr, p->left, ret);

	if (err || !ret->len)
		return err;
	gr_obj obj = gr_heap_object_at(heap, ret->addr, &span);
	if (obj == GR_OBJ_NONE ||
	    ret->len * GR_WORD_BYTES > gr_heap_object_addr(heap, obj) +
					       span->elem_bytes - ret->addr)
		return gr_error_format(GR_ERROR_FORMAT,
				       "the references of a Pinner do not lie "
				       "in an object");
	p->left -= ret->len;
	return NULL;
}

/* Add the references of the Pinner at @p addr. */
static struct gr_error *read_pinner(struct pinners *p, uint64_t addr,
				    const struct gr_type_field *refs)
{
	struct gr_runtime *rt = &p->stop->program->rt;
	struct gr_go_slice list;
	struct gr_error *err = read_list(p, addr + refs->off_bytes, &list);

	for (uint64_t i = 0; !err && i < list.len; i++) {
		struct gr_c_hold hold = { .at = list.addr + i * GR_WORD_BYTES,
					  .type = GR_TYPE_NONE,
					  .by = GR_BY_PINNER };
		err = gr_runtime_step(rt, 1);
		if (!err)
			err = gr_image_read_u64(rt->image, hold.at, &hold.to);
		if (!err && hold.to)
			err = gr_runtime_append(rt, gr_c_hold_vector, p->ret,
						hold);
	}
	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_FORMAT))
		gr_gap_broken_list(rt->gaps, gr_name_of(GR_NAME_PINNER));
	return err;
}

struct gr_error *gr_c_holds_read_pinners(struct gr_stop *stop,
					 struct gr_c_hold_vector *ret)
{
	struct pinners p = {
		.stop = stop,
		.ret = ret,
		.left = stop->heap->span_bytes / GR_WORD_BYTES,
	};
	struct gr_types *types = stop->program->types;
	const struct gr_root_list *roots = &stop->roots.list;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < roots->size; i++) {
		const struct gr_root *root = &roots->data[i];
		const struct gr_type_field *refs;

		err = gr_runtime_step(&stop->program->rt, 1);
		if (err || !gr_c_holds_is_pinner(types, root))
			continue;
		refs = gr_types_field_named(types, root->type, "refs");
		if (refs)
			err = read_pinner(&p, root->addr, refs);
	}
	return err;
}
