// SPDX-License-Identifier: Apache-2.0
#include "goruntime/layout/inline.h"

enum { MAX_RECORD_BYTES = 64 };

/* Name, kind and call site of entry @p index of a function's tree; false if
 * there is no such entry. */
static bool read_entry(struct gr_runtime *rt, const struct gr_func *func,
		       int32_t index, struct gr_logical_frame *frame,
		       uint64_t *parent_pc)
{
	const typeof(rt->layout.inlined_call) *f = &rt->layout.inlined_call;
	uint64_t tree = gr_func_funcdata(rt, func, GR_FUNCDATA_INL_TREE);
	uint8_t record[MAX_RECORD_BYTES];

	if (!tree || !f->size_bytes || f->size_bytes > sizeof(record))
		return false;
	struct gr_error *err =
		gr_image_read(rt->image, tree + (uint64_t)index * f->size_bytes,
			      record, f->size_bytes);
	if (err) {
		gr_error_destroy(err);
		return false;
	}
	frame->function = gr_bytes_name(func->module->funcnametab,
					gr_field_uint(record, f->nameoff));
	frame->func_id = (uint8_t)gr_field_uint(record, f->func_id);
	uint64_t off = gr_field_uint(record, f->parent_pc);
	*parent_pc = func->entry + off;
	return frame->function && off < func->end - func->entry;
}

const char *gr_inline_name(struct gr_runtime *rt, const struct gr_func *func,
			   int32_t index)
{
	struct gr_logical_frame frame = { 0 };
	uint64_t parent_pc;

	return index >= 0 && read_entry(rt, func, index, &frame, &parent_pc) ?
		       frame.function :
		       NULL;
}

static void set_place(const struct gr_func *func, uint64_t pc,
		      struct gr_logical_frame *frame)
{
	frame->pc = pc;
	if (!gr_func_line(func, pc, &frame->file, &frame->line)) {
		frame->file = "";
		frame->line = 0;
	}
}

struct gr_error *gr_inline_frames(struct gr_runtime *rt,
				  const struct gr_func *func, uint64_t pc,
				  struct gr_logical_frame *frames,
				  size_t *count)
{
	uint64_t parent_pc;
	size_t n = 0;

	while (n + 1 < GR_MAX_INLINED) {
		struct gr_logical_frame frame = { .is_inlined = true };
		int32_t index =
			gr_func_pcdata(rt, func, GR_PCDATA_INL_TREE_INDEX, pc);

		if (index < 0 ||
		    !read_entry(rt, func, index, &frame, &parent_pc))
			break;
		set_place(func, pc, &frame);
		frames[n++] = frame;
		pc = parent_pc;
	}
	frames[n] = (struct gr_logical_frame){ .function = func->name,
					       .func_id = func->func_id };
	set_place(func, pc, &frames[n++]);
	*count = n;
	// Each entry costs a few tables of the function.
	return gr_runtime_step(rt, n * 16);
}
