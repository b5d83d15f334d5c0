// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/channel.h"

enum {
	MAX_HEADER_BYTES = 512,
	SUDOG_STEPS = 4,
};

struct gr_error *gr_channel_read(struct gr_runtime *rt, uint64_t addr,
				 struct gr_channel *ret)
{
	const typeof(rt->layout.hchan) *f = &rt->layout.hchan;
	uint8_t header[MAX_HEADER_BYTES];

	if (f->size_bytes > sizeof(header))
		return gr_error_fault(addr, f->size_bytes);
	struct gr_error *err =
		gr_image_read(rt->image, addr, header, f->size_bytes);
	if (err)
		return err;
	*ret = (struct gr_channel){
		.addr = addr,
		.count = gr_field_uint(header, f->qcount),
		.capacity = gr_field_uint(header, f->dataqsiz),
		.elem_bytes = gr_field_uint(header, f->elemsize),
		.is_closed = gr_field_uint(header, f->closed),
		.elem_type_addr = gr_field_word(header, f->elemtype),
		.recvx = gr_field_uint(header, f->recvx),
		.sendx = gr_field_uint(header, f->sendx),
		.buf = gr_field_word(header, f->buf),
		.timer = gr_field_word(header, f->timer),
		.recvq = gr_field_word(header, f->recvq_first),
		.sendq = gr_field_word(header, f->sendq_first),
	};
	return NULL;
}

struct gr_error *gr_channel_plan(struct gr_runtime *rt, uint64_t addr)
{
	uint64_t end = addr + rt->layout.hchan.size_bytes;

	return addr < end ? gr_image_plan(rt->image, addr, end) : NULL;
}

struct gr_error *gr_channel_walk(
	struct gr_runtime *rt, uint64_t chan, uint64_t first, uint64_t *left,
	struct gr_error *(*visit)(void *ctx, const struct gr_sudog *sudog),
	void *ctx)
{
	struct gr_chain chain = { .limit = *left };
	struct gr_error *err = NULL;
	struct gr_sudog sudog;

	for (uint64_t addr = first; !err && addr; addr = sudog.next) {
		err = gr_runtime_step(rt, SUDOG_STEPS);
		if (err)
			return err;
		bool goes_on = gr_chain_step(&chain, addr);
		if (goes_on)
			err = gr_sudog_read(rt, addr, &sudog);
		bool is_torn = gr_error_catch(&err, GR_ERROR_FAULT);
		if (!goes_on || is_torn || (!err && sudog.chan != chan)) {
			gr_gap_broken_list(rt->gaps, "the queue of a channel");
			break;
		}
		if (!err)
			err = visit(ctx, &sudog);
	}
	*left -= chain.seen;
	return err;
}
