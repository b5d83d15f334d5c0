// SPDX-License-Identifier: Apache-2.0
#include "goroutines/deferred.h"

#include "base/chain.h"
#include "base/cleanup.h"
#include "goruntime/layout/record.h"
#include "goruntime/sched/goroutine.h"
#include "inferior/recorder.h"

enum {
	MAX_RECORD_BYTES = 256,
	MAX_OPEN_CODED = 8, /* defers of one frame: bits of a byte */
	MAX_INFO_BYTES = 64,
};

/** A deferred function. */
struct deferred {
	uint64_t sp, entry;
};
GR_VECTOR(deferred_vector, struct deferred);

/** The information that the compiler writes on a frame's defers. */
struct info {
	uint8_t bytes[MAX_INFO_BYTES];
	size_t at;
};

/* Read a word; 0 if it is not there. */
static struct gr_error *read_word(struct gr_runtime *rt, uint64_t addr,
				  uint64_t *ret)
{
	struct gr_error *err = gr_image_read_u64(rt->image, addr, ret);

	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED))
		*ret = 0;
	return err;
}

struct gr_error *gr_closure_read(struct gr_runtime *rt, uint64_t addr,
				 struct gr_func *ret, bool *found)
{
	size_t mark = gr_recorder_search(rt->recorder);
	uint64_t pc = 0;
	struct gr_error *err = addr ? read_word(rt, addr, &pc) : NULL;

	*found = !err && pc && gr_func_find(rt, pc, ret) && ret->entry == pc;
	gr_recorder_end_search(rt->recorder, mark, *found);
	return err;
}

/* The entry of the function that a closure at @p addr has; 0: none. */
static struct gr_error *read_entry(struct gr_runtime *rt, uint64_t addr,
				   uint64_t *ret)
{
	struct gr_func func;
	bool found;
	struct gr_error *err = gr_closure_read(rt, addr, &func, &found);

	*ret = found ? func.entry : 0;
	return err;
}

// ------------------------------------------------------------------- records

static struct gr_error *add_record(struct gr_runtime *rt, const uint8_t *record,
				   struct deferred_vector *ret)
{
	const typeof(rt->layout.defer) *f = &rt->layout.defer;
	struct deferred deferred = { .sp = gr_field_uint(record, f->sp) };
	struct gr_error *err =
		read_entry(rt, gr_field_uint(record, f->fn), &deferred.entry);

	if (err || !deferred.entry || gr_field_uint(record, f->started))
		return err;
	return deferred_vector_append(ret, deferred) ? NULL : &gr_enomem;
}

/* Records lie in frames or in the heap, and do not overlap. */
static struct gr_error *read_records(struct gr_sched *sched,
				     const struct gr_goroutine *g,
				     struct deferred_vector *ret)
{
	const typeof(sched->rt->layout.defer) *f = &sched->rt->layout.defer;
	struct gr_chain chain = {
		.limit = sched->readable_bytes / (f->size_bytes + 1),
	};
	uint8_t record[MAX_RECORD_BYTES];
	struct gr_error *err = NULL;
	uint64_t addr = g->defer_addr;

	if (f->size_bytes > sizeof(record))
		return NULL;
	while (!err && addr && gr_chain_step(&chain, addr)) {
		err = gr_runtime_step(sched->rt, 4);
		if (!err)
			err = gr_record_read(sched->rt, addr, f, sizeof(*f),
					     record);
		if (!err)
			err = add_record(sched->rt, record, ret);
		addr = gr_field_uint(record, f->link);
	}
	gr_error_catch(&err, GR_ERROR_FAULT);
	return err;
}

// -------------------------------------------------------------------- frames

/* A number of the information: 7 bits a byte, the lowest first. */
static uint64_t next_number(struct info *info)
{
	uint64_t value = 0;

	for (unsigned int shift = 0;
	     shift < 35 && info->at < sizeof(info->bytes); shift += 7) {
		uint8_t byte = info->bytes[info->at++];

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

/* Places of the closures, one for each bit; before Go 1.22 each has its own
 * offset, and the last comes first. */
static void find_slots(const struct gr_runtime *rt, struct info *info,
		       uint64_t varp, uint64_t *slots)
{
	bool is_array = gr_field_is_present(rt->layout.panic.slots);
	uint64_t number = next_number(info);

	for (uint64_t i = 0; is_array && i < MAX_OPEN_CODED; i++)
		slots[i] = varp - number + i * GR_WORD_BYTES;
	for (uint64_t i = number; !is_array && i-- > 0 && i < MAX_OPEN_CODED;)
		slots[i] = varp - next_number(info);
}

/* Read the closure in a slot. A slot without a closure is not recorded. */
static struct gr_error *read_slot(struct gr_runtime *rt, uint64_t slot,
				  uint64_t *ret)
{
	size_t mark = gr_recorder_search(rt->recorder);
	uint64_t closure;
	struct gr_error *err = read_word(rt, slot, &closure);

	*ret = 0;
	if (!err)
		err = read_entry(rt, closure, ret);
	gr_recorder_end_search(rt->recorder, mark, *ret);
	return err;
}

/* Defers of one frame that have no record. Before the frame has set its bits and
 * its closures, their slots have what was there before. */
static struct gr_error *read_open_coded(struct gr_runtime *rt,
					const struct gr_frame *frame,
					struct deferred_vector *ret)
{
	uint64_t slots[MAX_OPEN_CODED] = { 0 }, bits;
	uint64_t addr = gr_func_funcdata(rt, frame->func,
					 GR_FUNCDATA_OPEN_CODED_DEFER_INFO);
	struct info info = { .at = 0 };
	struct gr_error *err;

	if (!addr)
		return NULL;
	err = gr_image_read(rt->image, addr, info.bytes, sizeof(info.bytes));
	if (!err)
		err = gr_image_read_uint(
			rt->image, frame->varp - next_number(&info), 1, &bits);
	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED) || err || !bits)
		return err;
	find_slots(rt, &info, frame->varp, slots);
	for (unsigned int i = MAX_OPEN_CODED; !err && i-- > 0;) {
		struct deferred deferred = { .sp = frame->sp };

		if (!(bits >> i & 1) || !slots[i])
			continue;
		err = read_slot(rt, slots[i], &deferred.entry);
		if (!err && deferred.entry &&
		    !deferred_vector_append(ret, deferred))
			err = &gr_enomem;
	}
	return err;
}

static struct gr_error *add_open_coded(struct gr_runtime *rt,
				       const struct gr_frame *frame,
				       struct deferred_vector *ret)
{
	size_t mark = gr_recorder_search(rt->recorder);
	size_t before = ret->size;
	struct gr_error *err = read_open_coded(rt, frame, ret);

	gr_recorder_end_search(rt->recorder, mark, ret->size > before);
	return err;
}

/* Merge records, which are in the order of frames, with those of the frames. */
static bool merge(const struct deferred_vector *records,
		  const struct deferred_vector *open_coded,
		  struct gr_u64_vector *ret)
{
	size_t i = 0, j = 0;
	bool ok = true;

	while (ok && (i < records->size || j < open_coded->size)) {
		bool is_record =
			j == open_coded->size ||
			(i < records->size &&
			 records->data[i].sp <= open_coded->data[j].sp);

		ok = gr_u64_vector_append(
			ret, is_record ? records->data[i++].entry :
					 open_coded->data[j++].entry);
	}
	return ok;
}

struct gr_error *gr_deferred_find(struct gr_sched *sched,
				  const struct gr_goroutine *g,
				  struct gr_u64_vector *ret)
{
	_cleanup_(
		deferred_vector_deinit) struct deferred_vector records = { 0 };
	_cleanup_(deferred_vector_deinit) struct deferred_vector open_coded = {
		0
	};
	struct gr_error *err = read_records(sched, g, &records);

	for (size_t i = 0; !err && i < g->nframes; i++) {
		err = gr_runtime_step(sched->rt, 4);
		if (!err)
			err = add_open_coded(sched->rt, &g->frames[i],
					     &open_coded);
	}
	if (err)
		return err;
	return merge(&records, &open_coded, ret) ? NULL : &gr_enomem;
}
