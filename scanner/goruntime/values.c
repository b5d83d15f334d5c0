// SPDX-License-Identifier: Apache-2.0
/* Roots of a goroutine that are no words of its stack. */
#include "goruntime/goroutine.h"

#include "base/cleanup.h"
#include "base/vector.h"
#include "goruntime/heap.h"

enum {
	MAX_DEFERS = 1 << 24,
	MAX_DEFER_BYTES = 256,
	MAX_XREGS_BYTES = 1 << 16,
};

GR_VECTOR(value_vector, struct gr_value_root);

static bool is_on_stack(const struct gr_goroutine *g, uint64_t addr)
{
	return addr >= g->stack_lo && addr < g->stack_hi;
}

/* Most register words are no pointers at all: leave those out. */
static bool may_point(const struct gr_runtime *rt, const struct gr_goroutine *g,
		      uint64_t value)
{
	return is_on_stack(g, value) || !rt->heap ||
	       gr_heap_span_at(rt->heap, value);
}

static struct gr_error *add_registers(struct gr_runtime *rt,
				      const struct gr_goroutine *g,
				      struct value_vector *values)
{
	if (!g->has_regs)
		return NULL;
	for (size_t i = 0; i < rt->arch->nregs; i++) {
		struct gr_value_root root = {
			.value = g->regs.value[i],
			.kind = GR_VALUE_REGISTER,
			.conservative = true,
		};
		if (i == rt->arch->sp || i == rt->arch->pc ||
		    !may_point(rt, g, root.value))
			continue;
		root.name_suffix = gr_arena_internf(
			rt->arena, "$%s", gr_arch_reg_name(rt->arch, i));
		if (!root.name_suffix || !value_vector_append(values, root))
			return &gr_enomem;
	}
	return NULL;
}

/* The registers that asynchronous preemption saved outside the stack
 * (runtime.xRegScan). */
static struct gr_error *add_xregs(struct gr_runtime *rt,
				  const struct gr_goroutine *g,
				  struct value_vector *values)
{
	uint32_t bytes = rt->layout.xreg_state.regs.bytes;

	if (!g->xregs_addr || bytes > MAX_XREGS_BYTES)
		return NULL;
	_cleanup_free_ uint8_t *regs = malloc(bytes);
	if (!regs)
		return &gr_enomem;
	struct gr_error *err =
		gr_image_read(rt->image, g->xregs_addr, regs, bytes);
	if (gr_error_catch(&err, GR_ERROR_FAULT)) {
		gr_gap_add(rt->gaps, GR_GAP_UNREADABLE_PAGES, 1);
		return NULL;
	}
	if (err)
		return err;
	for (uint32_t i = 0; i < bytes / GR_WORD_BYTES; i++) {
		struct gr_value_root root = {
			.value = gr_load_u64(regs + i * GR_WORD_BYTES),
			.name_suffix = "$xregs",
			.kind = GR_VALUE_REGISTER,
			.conservative = true,
		};
		if (may_point(rt, g, root.value) &&
		    !value_vector_append(values, root))
			return &gr_enomem;
	}
	return NULL;
}

/* The frame that deferred at stack pointer sp: defers come in the order of
 * the frames, so the search goes on from the last one. */
static uint32_t frame_of_sp(const struct gr_goroutine *g, uint64_t sp,
			    uint32_t from)
{
	for (size_t i = from; i < g->nframes; i++)
		if (sp >= g->frames[i].sp && sp < g->frames[i].fp)
			return i;
	return from;
}

static bool add_defer_value(struct value_vector *values, uint64_t value,
			    uint32_t frame)
{
	/* A link and the record that it leads to are one root. */
	if (!value ||
	    (values->size && values->data[values->size - 1].value == value))
		return true;
	return value_vector_append(values, (struct gr_value_root){
						   .value = value,
						   .name_suffix = "$defer",
						   .kind = GR_VALUE_DEFER,
						   .frame = frame,
					   });
}

static struct gr_error *add_defers(struct gr_runtime *rt,
				   const struct gr_goroutine *g,
				   struct value_vector *values)
{
	const typeof(rt->layout.defer) *layout = &rt->layout.defer;
	uint8_t record[MAX_DEFER_BYTES];
	uint64_t addr = g->defer_addr, mark = 0, next_mark = 1;
	uint32_t frame = 0;

	for (uint64_t n = 0; addr && layout->size_bytes <= sizeof(record);
	     n++) {
		struct gr_error *err = NULL;
		if (addr != mark && n < MAX_DEFERS)
			err = gr_image_read(rt->image, addr, record,
					    layout->size_bytes);
		else
			err = gr_error_fault(addr, layout->size_bytes);
		if (gr_error_catch(&err, GR_ERROR_FAULT)) {
			gr_gap_broken_list(rt->gaps,
					   "the deferred calls of a goroutine");
			return NULL;
		}
		if (err)
			return err;
		if (n == next_mark) {
			mark = addr;
			next_mark *= 2;
		}
		frame = frame_of_sp(g, gr_field_uint(record, layout->sp),
				    frame);
		if (gr_field_uint(record, layout->heap) &&
		    !add_defer_value(values, addr, frame))
			return &gr_enomem;
		if (!add_defer_value(values, gr_field_uint(record, layout->fn),
				     frame))
			return &gr_enomem;
		addr = gr_field_uint(record, layout->link);
		if (!add_defer_value(values, addr, frame))
			return &gr_enomem;
	}
	return NULL;
}

struct gr_error *gr_goroutine_collect_values(struct gr_runtime *rt,
					     struct gr_goroutine *g)
{
	struct value_vector values = { 0 };
	struct gr_error *err = NULL;
	const struct gr_value_root ctxt = {
		.value = g->ctxt,
		.name_suffix = "$ctxt",
		.kind = GR_VALUE_CTXT,
	};
	const struct gr_value_root panic = {
		.value = g->panic_addr,
		.name_suffix = "$panic",
		.kind = GR_VALUE_PANIC,
	};

	if ((ctxt.value && !value_vector_append(&values, ctxt)) ||
	    (is_on_stack(g, panic.value) &&
	     !value_vector_append(&values, panic)))
		err = &gr_enomem;
	if (!err)
		err = add_registers(rt, g, &values);
	if (!err)
		err = add_xregs(rt, g, &values);
	if (!err)
		err = add_defers(rt, g, &values);
	if (err) {
		value_vector_deinit(&values);
		return err;
	}
	free(g->values);
	g->values = values.data;
	g->nvalues = values.size;
	return NULL;
}
