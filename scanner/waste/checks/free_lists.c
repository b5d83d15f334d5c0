// SPDX-License-Identifier: Apache-2.0
/*
 * A channel of slices or buffers is a queue or a free list. If each element is
 * empty, none of them carries data.
 */
#include "waste/checks/free_lists.h"

#include "goruntime/sched/channel.h"

void gr_free_lists_deinit(struct gr_free_lists *lists)
{
	free(lists->form);
}

/* The form of the elements of a channel type. */
static enum gr_buffer_form form_of(const struct gr_types *types,
				   const struct gr_type *chan,
				   gr_type_id buffer)
{
	if (chan->kind != GR_KIND_CHAN || chan->elem == GR_TYPE_NONE)
		return GR_BUFFER_NONE;
	const struct gr_type *elem = gr_types_get(types, chan->elem);
	if (elem->kind == GR_KIND_SLICE)
		return GR_BUFFER_SLICE;
	if (elem->kind != GR_KIND_PTR || elem->elem == GR_TYPE_NONE)
		return GR_BUFFER_NONE;
	if (elem->elem == buffer)
		return GR_BUFFER_BYTES;
	return gr_types_get(types, elem->elem)->kind == GR_KIND_SLICE ?
		       GR_BUFFER_SLICE_POINTER :
		       GR_BUFFER_NONE;
}

struct gr_error *gr_free_lists_init(struct gr_waste_run *run,
				    struct gr_free_lists *ret)
{
	struct gr_types *types = run->types;
	gr_type_id buffer = gr_types_find(types, "bytes.Buffer");
	const struct gr_type_field *buf =
		gr_types_field_named(types, buffer, "buf");
	const struct gr_type_field *off =
		gr_types_field_named(types, buffer, "off");
	struct gr_error *err = gr_types_take_error(types);

	*ret = (struct gr_free_lists){
		.run = run,
		.ntypes = gr_types_count(types),
		.buf_off = buf ? buf->off_bytes : 0,
		.off_off = off ? off->off_bytes : 0,
		.left = run->heap->nwords,
	};
	ret->form = calloc(ret->ntypes + 1, 1);
	if (!ret->form)
		return &gr_enomem;
	for (gr_type_id id = 0; !err && id < ret->ntypes; id++) {
		ret->form[id] = form_of(types, gr_types_get(types, id),
					buf && off ? buffer : GR_TYPE_NONE);
		ret->has_any |= ret->form[id] != GR_BUFFER_NONE;
		err = gr_runtime_step(run->heap->rt, 1);
	}
	return err;
}

/* Read a word of the target; 0 if it is not there. */
static struct gr_error *read_word(struct gr_free_lists *lists, uint64_t addr,
				  uint64_t *ret)
{
	struct gr_error *err =
		gr_image_read_u64(lists->run->heap->rt->image, addr, ret);

	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED))
		*ret = 0;
	return err;
}

/* Does the header make sense, and is it one of a channel of that type? */
static struct gr_error *is_channel(struct gr_free_lists *lists,
				   const struct gr_type *type,
				   const struct gr_channel *c, bool *ret)
{
	const struct gr_heap *heap = lists->run->heap;
	uint64_t elem_bytes =
		gr_types_get(lists->run->types, type->elem)->size_bytes;
	const struct gr_span *span;
	gr_type_id elem = GR_TYPE_NONE;
	struct gr_error *err = NULL;

	*ret = false;
	if (!c->capacity || c->count > c->capacity || c->is_closed ||
	    c->recvx >= c->capacity || c->elem_bytes != elem_bytes ||
	    !elem_bytes || !c->elem_type_addr)
		return NULL;
	gr_obj obj = gr_heap_object_at(heap, c->buf, &span);
	if (obj == GR_OBJ_NONE)
		return NULL;
	uint64_t end = gr_span_slot_addr(span, obj - span->first_obj) +
		       span->elem_bytes;
	if ((end - c->buf) / elem_bytes < c->capacity)
		return NULL;
	err = gr_types_from_runtime(lists->run->types, c->elem_type_addr,
				    &elem);
	*ret = !err && elem == type->elem;
	return err;
}

/* Append the buffer of an element. @p is_empty: it has no data. */
static struct gr_error *add_element(struct gr_free_lists *lists,
				    const struct gr_type *type,
				    enum gr_buffer_form form, uint64_t addr,
				    struct gr_buffer_vector *ret,
				    bool *is_empty)
{
	const struct gr_type *elem =
		gr_types_get(lists->run->types, type->elem);
	struct gr_buffer buffer = { type->elem, addr };
	uint64_t bytes = 0, off = 0;
	struct gr_error *err = NULL;

	if (form != GR_BUFFER_SLICE) {
		buffer.type = elem->elem;
		err = read_word(lists, addr, &buffer.addr);
	}
	*is_empty = true;
	if (err || !buffer.addr)
		return err;
	addr = buffer.addr + (form == GR_BUFFER_BYTES ? lists->buf_off : 0);
	err = read_word(lists, addr + GR_WORD_BYTES, &bytes);
	if (!err && form == GR_BUFFER_BYTES)
		err = read_word(lists, buffer.addr + lists->off_off, &off);
	*is_empty = bytes == off;
	return err ? err :
		     gr_runtime_append(lists->run->heap->rt, gr_buffer_vector,
				       ret, buffer);
}

struct gr_error *gr_free_list_read(struct gr_free_lists *lists, uint32_t label,
				   uint64_t addr, struct gr_buffer_vector *ret)
{
	struct gr_runtime *rt = lists->run->heap->rt;
	gr_type_id id = label & ~(uint32_t)GR_LABEL_FLAGS;
	const struct gr_type type = *gr_types_get(lists->run->types, id);
	size_t before = ret->size;
	struct gr_channel c;
	bool is_one = false, is_empty = true;
	struct gr_error *err = gr_channel_read(rt, addr, &c);

	if (!err)
		err = is_channel(lists, &type, &c, &is_one);
	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED) || err || !is_one)
		return err;
	for (uint64_t i = 0; !err && is_empty && i < c.count && lists->left;
	     i++) {
		lists->left--;
		err = add_element(lists, &type, lists->form[id],
				  c.buf + (c.recvx + i) % c.capacity *
						  c.elem_bytes,
				  ret, &is_empty);
		if (!err)
			err = gr_runtime_step(rt, 3);
	}
	if (!is_empty)
		ret->size = before;
	return err;
}
