// SPDX-License-Identifier: Apache-2.0
/* Roots of a goroutine that are not words of its stack. */
#include "goruntime/sched/goroutine.h"

#include "base/chain.h"
#include "base/cleanup.h"
#include "base/vector.h"
#include "goruntime/layout/record.h"
#include "inferior/recorder.h"

enum {
	MAX_DEFER_BYTES = 256,
	DEFER_STEPS = 1,
	MAX_XREGS_BYTES = 1 << 16,
};

GR_VECTOR(value_vector, struct gr_value_root);

static bool is_on_stack(const struct gr_goroutine *g, uint64_t addr)
{
	return addr >= g->stack_lo && addr < g->stack_hi;
}

/* Most register words are not pointers. Only those that may point to the stack
 * or the heap become roots. */
static bool may_point(const struct gr_sched *sched,
		      const struct gr_goroutine *g, uint64_t value)
{
	return is_on_stack(g, value) || !sched->is_heap ||
	       sched->is_heap(sched->is_heap_ctx, value);
}

static struct gr_error *add_registers(const struct gr_sched *sched,
				      const struct gr_goroutine *g,
				      struct value_vector *values)
{
	struct gr_runtime *rt = sched->rt;

	if (!g->regs || g->regs->is_partial)
		return NULL;
	for (size_t i = 0; i < rt->arch->nregs; i++) {
		struct gr_value_root root = {
			.value = g->regs->value[i],
			.kind = GR_VALUE_REGISTER,
			.conservative = true,
		};
		if (i == rt->arch->sp || i == rt->arch->pc ||
		    !may_point(sched, g, root.value))
			continue;
		root.name_suffix = gr_arena_internf(
			rt->arena, "$%s", gr_arch_reg_name(rt->arch, i));
		if (!root.name_suffix || !value_vector_append(values, root))
			return &gr_enomem;
	}
	return NULL;
}

/* Add the registers that asynchronous preemption saved outside the stack
 * (runtime.xRegScan). */
static struct gr_error *add_xregs(const struct gr_sched *sched,
				  const struct gr_goroutine *g,
				  struct value_vector *values)
{
	struct gr_runtime *rt = sched->rt;
	uint32_t bytes = rt->layout.xreg_state.regs.bytes;

	if (!g->xregs_addr || bytes > MAX_XREGS_BYTES)
		return NULL;
	// Registers that are no pointers may have values.
	const uint8_t *regs;
	gr_recorder_pause(rt->recorder);
	struct gr_error *err =
		gr_image_map(rt->image, g->xregs_addr, bytes, &regs);
	gr_recorder_resume(rt->recorder);
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
		if (!may_point(sched, g, root.value))
			continue;
		gr_recorder_note(rt->recorder, regs + i * GR_WORD_BYTES,
				 GR_WORD_BYTES);
		if (!value_vector_append(values, root))
			return &gr_enomem;
	}
	return NULL;
}

/* Return the frame that executed the defer statement at stack pointer sp, or
 * @last if there is no such frame. */
static uint32_t frame_of_sp(const struct gr_goroutine *g, uint64_t sp,
			    uint32_t last)
{
	size_t n = gr_count_before(g->nframes, i, g->frames[i].sp <= sp);

	return n && sp < g->frames[n - 1].fp ? n - 1 : last;
}

static bool add_defer_value(struct value_vector *values, uint64_t value,
			    uint32_t frame)
{
	/* A link and the record that it points to are one root. */
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

static struct gr_error *add_defer(struct gr_runtime *rt,
				  const struct gr_goroutine *g, uint64_t addr,
				  const uint8_t *record, uint32_t *frame,
				  struct value_vector *values)
{
	const typeof(rt->layout.defer) *layout = &rt->layout.defer;

	*frame = frame_of_sp(g, gr_field_uint(record, layout->sp), *frame);
	if (gr_field_uint(record, layout->heap) &&
	    !add_defer_value(values, addr, *frame))
		return &gr_enomem;
	if (!add_defer_value(values, gr_field_uint(record, layout->fn),
			     *frame) ||
	    !add_defer_value(values, gr_field_uint(record, layout->link),
			     *frame))
		return &gr_enomem;
	return NULL;
}

/* Add the deferred functions. Their records lie in the frames or in the heap
 * (runtime/panic.go: newdefer). */
static struct gr_error *add_defers(struct gr_runtime *rt,
				   const struct gr_goroutine *g,
				   struct value_vector *values, uint64_t *left)
{
	const typeof(rt->layout.defer) *layout = &rt->layout.defer;
	struct gr_chain chain = { .limit = *left };
	uint8_t record[MAX_DEFER_BYTES];
	struct gr_error *err = NULL;
	uint32_t frame = 0;

	if (layout->size_bytes > sizeof(record))
		return NULL;
	for (uint64_t addr = g->defer_addr; !err && addr;
	     addr = gr_field_uint(record, layout->link)) {
		err = gr_runtime_step(rt, DEFER_STEPS);
		if (!err && !gr_chain_step(&chain, addr))
			err = gr_error_fault(addr, layout->size_bytes);
		if (!err)
			err = gr_record_read(rt, addr, layout, sizeof(*layout),
					     record);
		if (!err)
			err = add_defer(rt, g, addr, record, &frame, values);
	}
	GR_ASSERT(chain.seen <= *left && frame <= g->nframes);
	*left -= chain.seen;
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		gr_gap_broken_list(rt->gaps,
				   "the deferred calls of a goroutine");
	return err;
}

struct gr_error *gr_goroutine_collect_values(const struct gr_sched *sched,
					     struct gr_goroutine *g,
					     uint64_t *defers_left)
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
		err = add_registers(sched, g, &values);
	if (!err)
		err = add_xregs(sched, g, &values);
	if (!err)
		err = add_defers(sched->rt, g, &values, defers_left);
	if (err) {
		value_vector_deinit(&values);
		return err;
	}
	free(g->values);
	g->values = values.data;
	g->nvalues = values.size;
	return NULL;
}
