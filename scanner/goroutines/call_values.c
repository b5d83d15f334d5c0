// SPDX-License-Identifier: Apache-2.0
#include "goroutines/call_values.h"
#include "inferior/recorder.h"

enum {
	MAX_PIECED_BYTES = 1 << 12,
	MAX_VARIABLES = 1 << 12, /* of one call */
};

struct gr_error *gr_call_values_init(struct gr_program *program,
				     const struct gr_goroutine *g,
				     struct gr_call_values *ret)
{
	*ret = (struct gr_call_values){
		.program = program,
		.g = g,
		.locals = { .types = program->types, .with_lost = true },
	};
	return gr_frame_locals_find(&ret->locals, g);
}

void gr_call_values_deinit(struct gr_call_values *values)
{
	gr_frame_locals_deinit(&values->locals);
}

// -------------------------------------------------------------------- places

/* Collect the pieces of a variable. False: not all of them are there. */
static bool gather(const struct gr_call_values *v, const struct gr_frame *frame,
		   const struct gr_local *local, uint8_t *buf)
{
	uint64_t size, at, next = 0;

	for (uint32_t i = 0; i < local->npieces; i++) {
		const struct gr_location_piece *piece = &local->pieces[i];
		const uint8_t *host = gr_frame_piece(&v->program->rt, v->g,
						     frame, piece, local->bytes,
						     &size, &at);

		if (!host || piece->off_bytes > next)
			return false;
		memcpy(buf + piece->off_bytes, host, size);
		next = piece->off_bytes + size;
	}
	return next >= local->bytes;
}

/* Where the value of a variable is. False: it is optimised out. */
static bool locate(const struct gr_call_values *v, const struct gr_frame *frame,
		   const struct gr_local *local, uint8_t *buf,
		   struct gr_shown *ret)
{
	if (local->is_plain) {
		ret->addr = frame->fp + local->offset;
		return true;
	}
	if (!local->npieces || local->bytes > MAX_PIECED_BYTES ||
	    !gather(v, frame, local, buf))
		return false;
	ret->host = buf;
	ret->host_bytes = local->bytes;
	return true;
}

/* A variable that was moved to the heap: go from the pointer to it. */
static bool follow(const struct gr_call_values *v, struct gr_shown *value)
{
	uint64_t addr;

	if (value->host) {
		addr = gr_load_u64(value->host);
	} else {
		gr_recorder_pause(v->program->rt.recorder);
		struct gr_error *err = gr_image_read_late(
			v->program->rt.image, value->addr, &addr, sizeof(addr));
		gr_recorder_resume(v->program->rt.recorder);
		gr_error_destroy(err);
		if (err)
			return false;
	}
	*value = (struct gr_shown){
		.type = gr_types_get(v->program->types, value->type)->elem,
		.addr = addr,
	};
	return addr && value->type != GR_TYPE_NONE;
}

/* The type of a variable, with its type arguments if it is generic. */
static struct gr_error *find_type(struct gr_call_values *v,
				  const struct gr_frame *frame,
				  const struct gr_local *local, gr_type_id *ret)
{
	const char *function;

	*ret = local->type;
	if (!gr_local_is_generic(&v->locals, local))
		return NULL;
	return gr_frame_instance(&v->locals, v->g, frame, local, ret,
				 &function);
}

static struct gr_error *emit_local(struct gr_call_values *v,
				   const struct gr_frame *frame,
				   const struct gr_local *local,
				   gr_call_value_emit emit, void *ctx)
{
	uint8_t buf[MAX_PIECED_BYTES + GR_WORD_BYTES] = { 0 };
	struct gr_call_value value = {
		.name = local->variable,
		.is_argument = local->is_param,
		.line = local->line,
	};
	struct gr_error *err = find_type(v, frame, local, &value.shown.type);

	if (err)
		return err;
	value.type = value.shown.type;
	if (local->is_escaped && value.type != GR_TYPE_NONE)
		value.type = gr_types_get(v->program->types, value.type)->elem;
	if (!locate(v, frame, local, buf, &value.shown))
		value.state = GR_CALL_VALUE_OPTIMIZED_OUT;
	else if (local->is_escaped &&
		 (value.shown.type == GR_TYPE_NONE || !follow(v, &value.shown)))
		value.state = GR_CALL_VALUE_NO_POINTER;
	return emit(ctx, &value);
}

// --------------------------------------------------------------------- scope

/* The compiler's own variables: `.dict`, `~r0`; and parts of others, `x.len`,
 * that are lost. */
static bool is_hidden(const struct gr_local *local)
{
	const char *name = local->variable;

	return *name == '.' || *name == '~' || !strcmp(name, "_") ||
	       (strchr(name, '.') && !local->npieces && !local->is_plain);
}

static bool is_in_scope(const struct gr_local *local,
			const struct gr_backtrace_call *call)
{
	return local->depth == call->depth && !is_hidden(local) &&
	       (local->is_param || local->line <= call->at.line);
}

static int by_place(const void *a, const void *b)
{
	const struct gr_local *const *x = a, *const *y = b;

	if ((*x)->is_param != (*y)->is_param)
		return (*x)->is_param ? -1 : 1;
	if (!(*x)->is_param && (*x)->line != (*y)->line)
		return (*x)->line < (*y)->line ? -1 : 1;
	return *x < *y ? -1 : *x > *y; // as the debug information has them
}

struct gr_error *gr_call_values_each(struct gr_call_values *values,
				     const struct gr_backtrace_call *call,
				     gr_call_value_emit emit, void *ctx)
{
	const struct gr_pc_locals *at =
		gr_frame_locals_at(&values->locals, call->frame);
	const struct gr_frame *frame = &values->g->frames[call->frame];
	_cleanup_free_ const struct gr_local **found =
		calloc(at->count + 1, sizeof(*found));
	struct gr_error *err = NULL;
	size_t n = 0;

	if (!found)
		return &gr_enomem;
	for (size_t i = 0; i < at->count && n < MAX_VARIABLES; i++)
		if (is_in_scope(&at->locals[i], call))
			found[n++] = &at->locals[i];
	qsort(found, n, sizeof(*found), by_place);
	for (size_t i = 0; !err && i < n; i++) {
		err = gr_runtime_step(&values->program->rt, 4);
		if (!err)
			err = emit_local(values, frame, found[i], emit, ctx);
	}
	return err;
}
