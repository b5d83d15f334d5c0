// SPDX-License-Identifier: Apache-2.0
#include "call_variables.h"

#include "goruntime/roots/frame_locals.h"

enum {
	MAX_VALUE_BYTES = 1 << 20, /* text of one value */
	MAX_TEXT_BYTES = 1 << 26,  /* of all values of a backtrace */
	MAX_PIECED_BYTES = 1 << 12,
	MAX_VARIABLES = 1 << 12, /* of one call */
};

/** The variables of one goroutine. */
struct query {
	struct gr_scan *scan;
	const struct gr_goroutine *g;
	const struct gr_show_limits *limits;
	struct gr_frame_locals locals;
	char *text;	   /* MAX_VALUE_BYTES */
	size_t text_bytes; /* of all values so far */
};

static void query_deinit(struct query *q)
{
	gr_frame_locals_deinit(&q->locals);
	free(q->text);
}

void gr_call_variables_free(struct gr_backtrace_call *call)
{
	for (size_t i = 0; i < call->nvariables; i++)
		free(call->variables[i].value);
	free(call->variables);
}

// -------------------------------------------------------------------- values

/* Collect the pieces of a variable. False: not all of them are there. */
static bool gather(const struct query *q, const struct gr_frame *frame,
		   const struct gr_local *local, uint8_t *buf)
{
	uint64_t size, at, next = 0;

	for (uint32_t i = 0; i < local->npieces; i++) {
		const struct gr_location_piece *piece = &local->pieces[i];
		const uint8_t *host = gr_frame_piece(&q->scan->rt, q->g, frame,
						     piece, local->bytes, &size,
						     &at);

		if (!host || piece->off_bytes > next)
			return false;
		memcpy(buf + piece->off_bytes, host, size);
		next = piece->off_bytes + size;
	}
	return next >= local->bytes;
}

/* Where the value of a variable is. False: it is optimised out. */
static bool locate(const struct query *q, const struct gr_frame *frame,
		   const struct gr_local *local, uint8_t *buf,
		   struct gr_shown *ret)
{
	if (local->is_plain) {
		ret->addr = frame->fp + local->offset;
		return true;
	}
	if (!local->npieces || local->bytes > MAX_PIECED_BYTES ||
	    !gather(q, frame, local, buf))
		return false;
	ret->host = buf;
	ret->host_bytes = local->bytes;
	return true;
}

/* A variable that was moved to the heap: go from the pointer to it. */
static bool follow(const struct query *q, struct gr_shown *value)
{
	uint64_t addr;

	if (value->host) {
		addr = gr_load_u64(value->host);
	} else {
		gr_recorder_pause(q->scan->rt.recorder);
		struct gr_error *err = gr_image_read_late(
			q->scan->image, value->addr, &addr, sizeof(addr));
		gr_recorder_resume(q->scan->rt.recorder);
		gr_error_destroy(err);
		if (err)
			return false;
	}
	*value = (struct gr_shown){
		.type = gr_types_get(q->scan->types, value->type)->elem,
		.addr = addr,
	};
	return addr && value->type != GR_TYPE_NONE;
}

static struct gr_error *put_value(struct query *q, const struct gr_frame *frame,
				  const struct gr_local *local,
				  struct gr_shown *value, struct gr_text *text)
{
	uint8_t buf[MAX_PIECED_BYTES + GR_WORD_BYTES] = { 0 };

	if (!locate(q, frame, local, buf, value)) {
		gr_text_put(text, "(optimized out)");
		return NULL;
	}
	if (local->is_escaped && !follow(q, value)) {
		gr_text_put(text, "(unreadable pointer to the variable)");
		return NULL;
	}
	return gr_show_value(q->scan->types, q->limits, value, text);
}

/* The type of a variable, with its type arguments if it is generic. */
static struct gr_error *find_type(struct query *q, const struct gr_frame *frame,
				  const struct gr_local *local, gr_type_id *ret)
{
	const char *function;

	*ret = local->type;
	if (!gr_local_is_generic(&q->locals, local))
		return NULL;
	return gr_frame_instance(&q->locals, q->g, frame, local, ret,
				 &function);
}

static struct gr_error *fill(struct query *q, const struct gr_frame *frame,
			     const struct gr_local *local,
			     struct gr_call_variable *ret)
{
	size_t left = MAX_TEXT_BYTES - q->text_bytes;
	struct gr_text text = gr_text_begin(
		q->text, left < MAX_VALUE_BYTES ? left + 4 : MAX_VALUE_BYTES);
	struct gr_shown value = { .addr = 0 };
	struct gr_error *err = find_type(q, frame, local, &value.type);
	gr_type_id type = value.type;

	if (!err)
		err = put_value(q, frame, local, &value, &text);
	if (err)
		return err;
	if (local->is_escaped)
		type = gr_types_get(q->scan->types, type)->elem;
	*ret = (struct gr_call_variable){
		.name = local->variable,
		.type = type == GR_TYPE_NONE ?
				"" :
				gr_types_get(q->scan->types, type)->name,
		.value = strdup(text.data),
		.is_argument = local->is_param,
		.line = local->line,
	};
	q->text_bytes += text.bytes;
	return ret->value ? NULL : &gr_enomem;
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

static struct gr_error *add_variables(struct query *q,
				      struct gr_backtrace_call *call)
{
	const struct gr_pc_locals *at =
		gr_frame_locals_at(&q->locals, call->frame);
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
	call->variables = calloc(n + 1, sizeof(*call->variables));
	if (!call->variables)
		return &gr_enomem;
	for (size_t i = 0; !err && i < n; i++) {
		err = gr_runtime_step(&q->scan->rt, 4);
		if (!err)
			err = fill(q, &q->g->frames[call->frame], found[i],
				   &call->variables[i]);
		if (!err)
			call->nvariables++;
	}
	return err;
}

struct gr_error *gr_call_variables_add(struct gr_scan *scan,
				       const struct gr_goroutine *g,
				       const struct gr_backtrace_query *query,
				       struct gr_backtrace *backtrace)
{
	_cleanup_(query_deinit) struct query q = {
		.scan = scan,
		.g = g,
		.limits = &query->limits,
		.locals = { .types = scan->types, .with_lost = true },
		.text = malloc(MAX_VALUE_BYTES),
	};
	size_t end = query->ncalls ? (size_t)query->first_call + query->ncalls :
				     SIZE_MAX;
	struct gr_error *err;

	if (!q.text)
		return &gr_enomem;
	err = gr_frame_locals_find(&q.locals, g);
	for (size_t i = query->first_call;
	     !err && i < backtrace->ncalls && i < end; i++)
		err = add_variables(&q, &backtrace->calls[i]);
	return err;
}
