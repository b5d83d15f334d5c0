// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/stackobject.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "goruntime/sched/stackmask.h"

enum { MAX_RECORD_BYTES = 64, OBJECT_STEPS = 4 };

/* Add one stackObjectRecord. Negative offsets count from the locals' end, the
 * others from the start of the arguments. */
static struct gr_error *add_record(struct gr_runtime *rt,
				   const struct gr_frame *frame,
				   const struct gr_module *module,
				   const uint8_t *record,
				   struct gr_stack_objects *objects)
{
	const typeof(rt->layout.stack_object) *layout =
		&rt->layout.stack_object;
	int32_t off = (int32_t)gr_field_uint(record, layout->off);
	int32_t bytes = (int32_t)gr_field_uint(record, layout->size);
	int32_t ptr_bytes = (int32_t)gr_field_uint(record, layout->ptr_bytes);
	uint64_t base = off < 0 ? frame->varp : frame->argp;
	struct gr_stack_object object = {
		.addr = base + (int64_t)off,
		.bytes = bytes,
		/* A negative number means that a GC program makes the mask. */
		.ptr_bytes = ptr_bytes < 0 ? -(uint32_t)ptr_bytes :
					     (uint32_t)ptr_bytes,
		.mask_addr = module->rodata +
			     gr_field_uint(record, layout->gcdataoff),
		.is_program = ptr_bytes < 0,
	};

	/* An object below sp is not yet allocated in the frame. */
	if (bytes <= 0 || object.addr < frame->sp)
		return NULL;
	return gr_stack_objects_append(objects, object) ? NULL : &gr_enomem;
}

struct gr_error *gr_stack_objects_add(struct gr_runtime *rt,
				      const struct gr_goroutine *g,
				      const struct gr_frame *frame,
				      struct gr_stack_objects *objects,
				      uint64_t *left)
{
	uint64_t record_bytes = rt->layout.stack_object.size_bytes;
	uint8_t record[MAX_RECORD_BYTES];
	struct gr_error *err;
	uint64_t count;

	uint64_t addr =
		gr_func_funcdata(rt, frame->func, GR_FUNCDATA_STACK_OBJECTS);
	if (!addr || record_bytes > sizeof(record))
		return NULL;
	err = gr_image_read_u64(rt->image, addr, &count);
	addr += sizeof(count);
	/* Objects with pointers do not overlap and have a word at least. */
	uint64_t room = (g->stack_hi - frame->sp) / GR_WORD_BYTES;
	for (uint64_t i = 0; !err && i < count && i < room; i++) {
		if (!gr_spend(left, 1))
			return NULL;
		err = gr_image_read(rt->image, addr + i * record_bytes, record,
				    record_bytes);
		if (!err)
			err = add_record(rt, frame, frame->func->module, record,
					 objects);
	}
	if (gr_error_catch(&err, GR_ERROR_FAULT)) {
		gr_gap_add(rt->gaps, GR_GAP_UNREADABLE_PAGES, 1);
		return NULL;
	}
	return err;
}

struct gr_error *gr_stack_objects_add_reflect(struct gr_runtime *rt,
					      const struct gr_frame *frame,
					      struct gr_stack_objects *objects,
					      bool *found)
{
	uint64_t record_bytes = rt->layout.stack_object.size_bytes;
	uint64_t addr = rt->layout.vars.method_value_objs;
	const struct gr_module *module = frame->func->module;
	uint8_t record[MAX_RECORD_BYTES];

	*found = false;
	if (!addr || record_bytes > sizeof(record))
		return NULL;
	struct gr_error *err =
		gr_image_read(rt->image, addr, record, record_bytes);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return NULL;
	if (err)
		return err;
	for (size_t i = 0; i < rt->nmodules; i++)
		if (addr >= rt->modules[i].noptrbss &&
		    addr < rt->modules[i].enoptrbss)
			module = &rt->modules[i];
	*found = true;
	return add_record(rt, frame, module, record, objects);
}

static int compare_addr(const void *a, const void *b)
{
	const struct gr_stack_object *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Sort the objects by address. They usually are sorted already, because frames
 * are walked towards higher addresses. */
static void sort_objects(struct gr_stack_objects *objects)
{
	for (size_t i = 1; i < objects->size; i++)
		if (objects->data[i].addr < objects->data[i - 1].addr) {
			qsort(objects->data, objects->size,
			      sizeof(*objects->data), compare_addr);
			return;
		}
}

/** Objects to scan. Each object enters each queue once at most. */
struct queues {
	struct gr_runtime *rt;
	struct gr_goroutine *g;
	struct gr_stack_objects *objects;
	uint32_t *precise, *conservative;
	size_t nprecise, nconservative;
	uint64_t *left; /* words that may still be scanned */
};

static struct gr_stack_object *find_object(struct gr_stack_objects *objects,
					   uint64_t addr)
{
	size_t n = gr_count_before(objects->size, i,
				   objects->data[i].addr <= addr);

	if (!n)
		return NULL;
	struct gr_stack_object *object = &objects->data[n - 1];
	return addr - object->addr < object->bytes ? object : NULL;
}

/* Queue the object that a found pointer points into (stackScanState.putPtr and
 * findObject). */
static void reach(struct queues *q, uint64_t addr, bool conservative)
{
	if (addr < q->g->stack_lo || addr >= q->g->stack_hi)
		return;
	struct gr_stack_object *object = find_object(q->objects, addr);
	if (!object || object->is_scanned)
		return;
	uint32_t index = object - q->objects->data;
	GR_ASSERT(q->nprecise + q->nconservative < 2 * q->objects->size);
	if (!conservative && !object->is_reached_precisely)
		q->precise[q->nprecise++] = index;
	else if (conservative && !object->is_reached)
		q->conservative[q->nconservative++] = index;
	if (conservative)
		object->is_reached = true;
	else
		object->is_reached_precisely = true;
}

static void reach_from_words(struct queues *q, uint64_t start, uint64_t end,
			     bool only_conservative)
{
	const struct gr_area *area = &q->g->stack;
	size_t last = (end - area->start) / GR_WORD_BYTES;

	for (size_t i = (start - area->start) / GR_WORD_BYTES;
	     (i = gr_bitmap_next(area->live, i, last)) < last; i++) {
		bool conservative = only_conservative ||
				    gr_bitmap_test(area->conservative, i);
		reach(q, gr_load_u64(area->host + i * GR_WORD_BYTES),
		      conservative);
	}
}

static struct gr_error *
scan_object(struct queues *q, struct gr_stack_object *object, bool conservative)
{
	struct gr_area *area = &q->g->stack;
	uint64_t nwords = object->ptr_bytes / GR_WORD_BYTES;
	struct gr_error *err;

	if (object->is_scanned)
		return NULL;
	object->is_scanned = true;
	if (object->addr % GR_WORD_BYTES || object->addr >= area->end)
		return NULL;
	if (nwords > object->bytes / GR_WORD_BYTES)
		nwords = object->bytes / GR_WORD_BYTES;
	if (!gr_spend(q->left, nwords))
		return NULL;
	if (object->is_program)
		err = gr_area_mark_program(q->rt, area, object->addr, nwords,
					   object->mask_addr, conservative);
	else
		err = gr_area_mark_mask(q->rt, area, object->addr, nwords,
					object->mask_addr, conservative);
	if (err)
		return err;
	uint64_t end = object->addr + nwords * GR_WORD_BYTES;
	reach_from_words(q, object->addr, end < area->end ? end : area->end,
			 conservative);
	return NULL;
}

struct gr_error *gr_stack_objects_mark(struct gr_runtime *rt,
				       struct gr_goroutine *g,
				       struct gr_stack_objects *objects,
				       uint64_t *left)
{
	struct gr_error *err = NULL;

	if (!objects->size || objects->size > UINT32_MAX)
		return NULL;
	_cleanup_free_ uint32_t *precise =
		calloc(objects->size, sizeof(*precise));
	_cleanup_free_ uint32_t *conservative =
		calloc(objects->size, sizeof(*conservative));
	if (!precise || !conservative)
		return &gr_enomem;
	struct queues q = {
		rt, g, objects, precise, conservative, 0, 0, left,
	};
	sort_objects(objects);
	reach_from_words(&q, g->stack.start, g->stack.end, false);
	for (size_t i = 0; i < g->nvalues; i++)
		reach(&q, g->values[i].value, g->values[i].conservative);
	/* Precise pointers come first, so that an object that is reached both
	 * ways is scanned precisely. */
	for (uint64_t n = 1; !err && (q.nprecise || q.nconservative); n++) {
		bool is_precise = q.nprecise;
		uint32_t index = is_precise ? precise[--q.nprecise] :
					      conservative[--q.nconservative];
		err = gr_runtime_step(rt, OBJECT_STEPS);
		if (!err)
			err = scan_object(&q, &objects->data[index],
					  !is_precise);
	}
	return err;
}
