// SPDX-License-Identifier: Apache-2.0
/* Live words of a stack: scanstack, scanframeworker (runtime/mgcmark.go) and
 * getStackMap, argMapInternal (runtime/stkframe.go). */
#include "goruntime/sched/goroutine.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "goruntime/layout/names.h"
#include "goruntime/sched/stackmask.h"
#include "goruntime/sched/stackobject.h"
#include "goruntime/sched/unwind.h"
#include "inferior/recorder.h"

enum {
	/** reflect.makeFuncStub stores the method value at the start of its
	 * outgoing arguments. The flag that tells whether the results are
	 * valid lies this many bytes above it. */
	REFLECT_RET_VALID_OFF = 32,
	MAX_BITVECTOR_BYTES = 64,
	/** Limit for how often valid maps name each word of a stack: as a
	 * local, as an argument, in an object, and once more if a map is
	 * missing. */
	WORD_USES = 8,
	SPARE_USES = 4096,
	FRAME_STEPS = 1,
};

/** runtime.reflectMethodValue. Its layout has never changed. */
struct method_value {
	uint64_t fn;
	uint64_t stack;
	uint64_t arg_bytes;
};

/** runtime.stackmap, without the rows that follow. */
struct stackmap {
	int32_t n;
	int32_t nbit;
};

/** One stack being scanned. */
struct stack_scan {
	struct gr_runtime *rt;
	struct gr_goroutine *g;
	struct gr_area *area;
	struct gr_stack_objects objects;
	/** Words that may still be scanned. 0: the maps are invalid. */
	uint64_t left;
	/** The next frame, the caller, must be scanned conservatively. */
	bool is_next_conservative;
};

/** The arguments of a call made by reflect. */
struct reflect_args {
	bool is_reflect; /**< It is one of those calls. */
	bool is_broken;	 /**< Its method value is invalid. */
	uint64_t nwords;
	uint64_t mask_addr;
};

static struct gr_error *mark_conservative(struct stack_scan *s,
					  const struct gr_frame *frame,
					  uint64_t arg_bytes)
{
	gr_gap_add(s->rt->gaps, GR_GAP_CONSERVATIVE_FRAMES, 1);
	gr_area_mark_range(s->area, frame->sp, frame->varp);
	uint64_t room =
		frame->argp < s->area->end ? s->area->end - frame->argp : 0;
	if (arg_bytes > room)
		arg_bytes = room;
	if (!gr_spend(&s->left, arg_bytes / GR_WORD_BYTES + 1))
		return NULL;
	gr_area_mark_range(s->area, frame->argp, frame->argp + arg_bytes);
	return NULL;
}

static bool stack_word(const struct stack_scan *s, uint64_t addr, uint64_t *ret)
{
	const struct gr_area *area = s->area;

	if (addr < area->start || addr >= area->end ||
	    area->end - addr < GR_WORD_BYTES)
		return false;
	gr_recorder_note(s->rt->recorder, area->host + (addr - area->start),
			 GR_WORD_BYTES);
	*ret = gr_load_u64(area->host + (addr - area->start));
	return true;
}

static struct gr_error *try_method_value(struct stack_scan *s,
					 const struct gr_frame *frame,
					 struct reflect_args *args, bool *ok)
{
	const typeof(s->rt->layout.bitvector) *layout =
		&s->rt->layout.bitvector;
	uint8_t vector[MAX_BITVECTOR_BYTES];
	struct method_value mv;
	struct gr_error *err;
	uint64_t at = frame->sp + s->rt->arch->min_frame_bytes;
	uint64_t addr, ret_valid;

	*ok = false;
	if (layout->size_bytes > sizeof(vector) || !stack_word(s, at, &addr) ||
	    !stack_word(s, at + REFLECT_RET_VALID_OFF, &ret_valid))
		return NULL;
	err = gr_image_read(s->rt->image, addr, &mv, sizeof(mv));
	if (!err && mv.fn == frame->func->entry)
		err = gr_image_read(s->rt->image, mv.stack, vector,
				    layout->size_bytes);
	else if (!err)
		return NULL;
	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED) || err)
		return err;
	int32_t n = (int32_t)gr_field_uint(vector, layout->n);
	args->nwords = n < 0 ? 0 : n;
	args->mask_addr = gr_field_uint(vector, layout->bytedata);
	if (!(ret_valid & 0xff) && mv.arg_bytes / GR_WORD_BYTES < args->nwords)
		args->nwords = mv.arg_bytes / GR_WORD_BYTES;
	*ok = true;
	return NULL;
}

/* Read the method value of a call made by reflect. *ok is false if there is no
 * valid one. */
static struct gr_error *read_method_value(struct stack_scan *s,
					  const struct gr_frame *frame,
					  struct reflect_args *args, bool *ok)
{
	size_t mark = gr_recorder_search(s->rt->recorder);
	struct gr_error *err = try_method_value(s, frame, args, ok);

	gr_recorder_end_search(s->rt->recorder, mark, *ok);
	return err;
}

/* Find the argument map of a function whose arguments are not in its tables:
 * one through which reflect makes its calls. */
static struct gr_error *reflect_args(struct stack_scan *s,
				     const struct gr_frame *frame,
				     struct reflect_args *ret)
{
	bool ok;

	memset(ret, 0, sizeof(*ret));
	if (frame->func->args_bytes != GR_FUNC_ARGS_UNKNOWN ||
	    !gr_name_has(frame->func->name, GR_NAME_REFLECT_CALL))
		return NULL;
	/* At its entry the function needs no map of arguments or locals. */
	if (frame->varp <= frame->sp)
		return NULL;
	ret->is_reflect = true;
	struct gr_error *err = read_method_value(s, frame, ret, &ok);
	ret->is_broken = !err && !ok;
	return err;
}

/* Return the row of the function's stack maps at the frame's continpc. */
static int32_t stackmap_index(const struct stack_scan *s,
			      const struct gr_frame *frame)
{
	int32_t index = frame->map_index;

	if (index != GR_MAP_INDEX_UNKNOWN)
		return index == -1 ? 0 : index;
	index = -1;
	if (frame->continpc != frame->func->entry)
		index = gr_func_pcdata(s->rt, frame->func,
				       GR_PCDATA_STACK_MAP_INDEX,
				       frame->continpc - 1);
	/* In the prologue, the entry's map applies. */
	return index == -1 ? 0 : index;
}

/**
 * Mark words by one row of a stackmap. If @p end is not 0, the row's words end
 * there (locals); otherwise they begin at @p start (arguments). *@p ok is
 * false if there is no valid row.
 */
static struct gr_error *mark_row(struct stack_scan *s,
				 const struct gr_frame *frame, uint32_t which,
				 int32_t index, uint64_t start, uint64_t end,
				 bool *ok)
{
	struct stackmap map;

	*ok = false;
	uint64_t addr = gr_func_funcdata(s->rt, frame->func, which);
	if (!addr)
		return NULL;
	struct gr_error *err =
		gr_image_read(s->rt->image, addr, &map, sizeof(map));
	if (gr_error_catch(&err, GR_ERROR_FAULT) || (!err && map.n <= 0))
		return NULL;
	if (err)
		return err;
	if (map.nbit <= 0) {
		*ok = true;
		return NULL;
	}
	uint64_t bytes = (uint64_t)map.nbit * GR_WORD_BYTES;
	if (index < 0 || index >= map.n || (end && bytes > end - frame->sp))
		return NULL;
	*ok = true;
	if (!gr_spend(&s->left, map.nbit))
		return NULL;
	return gr_area_mark_mask(
		s->rt, s->area, end ? end - bytes : start, map.nbit,
		addr + sizeof(map) +
			(uint64_t)index * (((uint64_t)map.nbit + 7) / 8),
		false);
}

/* Mark the arguments of a call made by reflect. Their map is a heap object
 * without pointers, and such objects are not captured from a live process.
 * The arguments are scanned word by word then. This is rare, and no live word
 * is lost. */
static struct gr_error *mark_reflect_args(struct stack_scan *s,
					  const struct gr_frame *frame,
					  const struct reflect_args *args)
{
	uint64_t first, nwords = args->nwords;

	if (frame->argp >= s->area->end)
		return NULL;
	if (nwords > (s->area->end - frame->argp) / GR_WORD_BYTES)
		nwords = (s->area->end - frame->argp) / GR_WORD_BYTES;
	if (!nwords || !gr_spend(&s->left, nwords))
		return NULL;
	struct gr_error *err =
		gr_image_read_uint(s->rt->image, args->mask_addr, 1, &first);
	if (gr_error_catch(&err, GR_ERROR_FAULT)) {
		gr_gap_add(s->rt->gaps, GR_GAP_CONSERVATIVE_FRAMES, 1);
		gr_area_mark_range(s->area, frame->argp,
				   frame->argp + nwords * GR_WORD_BYTES);
		return NULL;
	}
	if (err)
		return err;
	return gr_area_mark_mask(s->rt, s->area, frame->argp, nwords,
				 args->mask_addr, false);
}

static struct gr_error *mark_locals_and_args(struct stack_scan *s,
					     const struct gr_frame *frame,
					     const struct reflect_args *args,
					     bool *ok)
{
	struct gr_error *err = NULL;
	int32_t index = stackmap_index(s, frame);

	*ok = true;
	if (frame->varp > frame->sp &&
	    frame->varp - frame->sp > s->rt->arch->min_locals_bytes)
		err = mark_row(s, frame, GR_FUNCDATA_LOCALS_POINTER_MAPS, index,
			       0, frame->varp, ok);
	if (err || !*ok)
		return err;
	if (args->is_reflect)
		return mark_reflect_args(s, frame, args);
	if (frame->func->args_bytes != GR_FUNC_ARGS_UNKNOWN &&
	    frame->func->args_bytes >= GR_WORD_BYTES)
		err = mark_row(s, frame, GR_FUNCDATA_ARGS_POINTER_MAPS, index,
			       frame->argp, 0, ok);
	return err;
}

static struct gr_error *mark_precise(struct stack_scan *s,
				     const struct gr_frame *frame,
				     const struct reflect_args *args)
{
	struct gr_error *err;
	bool ok = !args->is_broken;

	if (ok) {
		err = mark_locals_and_args(s, frame, args, &ok);
		if (err)
			return err;
	}
	if (args->is_reflect && ok)
		err = gr_stack_objects_add_reflect(s->rt, frame, &s->objects,
						   &ok);
	else
		err = gr_stack_objects_add(s->rt, s->g, frame, &s->objects,
					   &s->left);
	if (err || ok)
		return err;
	/* The collector would crash the program here. A conservative scan
	 * loses no live word. */
	s->is_next_conservative = true;
	return mark_conservative(s, frame, 0);
}

static struct gr_error *scan_frame(struct stack_scan *s,
				   const struct gr_frame *frame)
{
	struct gr_error *err;
	struct reflect_args args;
	uint64_t arg_bytes = frame->func->args_bytes;

	bool conservative = frame->is_conservative || s->g->is_copied ||
			    s->is_next_conservative;
	s->is_next_conservative = false;
	if (!conservative && !frame->continpc)
		return NULL;
	err = reflect_args(s, frame, &args);
	if (err)
		return err;
	if (!conservative)
		return mark_precise(s, frame, &args);
	if (arg_bytes == GR_FUNC_ARGS_UNKNOWN)
		arg_bytes = args.nwords * GR_WORD_BYTES;
	s->is_next_conservative = args.is_broken;
	return mark_conservative(s, frame, arg_bytes);
}

static struct gr_error *scan_frames(struct stack_scan *s)
{
	struct gr_error *err = NULL;
	struct gr_unwinder u;

	if (!s->g->is_cut) {
		for (size_t i = 0; !err && i < s->g->nframes && s->left; i++) {
			err = gr_runtime_step(s->rt, FRAME_STEPS);
			if (!err)
				err = scan_frame(s, &s->g->frames[i]);
		}
		return err;
	}
	/* Not all frames of this deep stack were kept: walk it once more. */
	_cleanup_free_ struct gr_pc_cache *cache = calloc(1, sizeof(*cache));
	if (!cache)
		return &gr_enomem;
	bool more = gr_unwind_start(&u, s->rt, s->g, cache);
	for (uint64_t i = 1; more && !err && s->left; i++) {
		err = gr_runtime_step(s->rt, FRAME_STEPS);
		if (!err)
			err = scan_frame(s, &u.frame);
		more = gr_unwind_next(&u);
	}
	return !err && u.is_out_of_memory ? &gr_enomem : err;
}

struct gr_error *gr_stack_mark_live(struct gr_runtime *rt,
				    struct gr_goroutine *g)
{
	struct gr_area *area = &g->stack;
	size_t nwords = (area->end - area->start) / GR_WORD_BYTES;
	struct stack_scan s = {
		.rt = rt,
		.g = g,
		.area = area,
		.left = (uint64_t)nwords * WORD_USES + SPARE_USES,
	};

	free(area->live);
	free(area->conservative);
	area->live = area->conservative = NULL;
	if (!area->host)
		return NULL;
	area->live = gr_bitmap_alloc(nwords);
	area->conservative = gr_bitmap_alloc(nwords);
	if (!area->live || !area->conservative)
		return &gr_enomem;
	struct gr_error *err = scan_frames(&s);
	gr_area_mark_range(area, g->unknown_start, g->stack_hi);
	if (!err)
		err = gr_stack_objects_mark(rt, g, &s.objects, &s.left);
	if (!s.left) {
		// The maps are invalid: mark everything, so that no live word
		// is lost.
		gr_gap_add(rt->gaps, GR_GAP_CONSERVATIVE_FRAMES, g->nframes);
		gr_area_mark_range(area, area->start, area->end);
	}
	gr_stack_objects_deinit(&s.objects);
	return err;
}
