// SPDX-License-Identifier: Apache-2.0
/* Goroutines as threads: their calls as traces, and an object for each. */
#include "export/hprof_internal.h"

#include "base/text.h"
#include "goruntime/layout/inline.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	THREAD_IDS = 3, /* the thread, its name, the characters of the name */
	ID_STEP = 16,
	FIRST_TRACE = GR_HPROF_NO_TRACE + 1,
	FRAME_BYTES = 4 * GR_HPROF_ID_BYTES + 8,
	MAX_NAME_BYTES = 512,
	INSTANCE_BYTES = 1 + 2 * GR_HPROF_ID_BYTES + 8,
	THREAD_BYTES = 2 * GR_HPROF_ID_BYTES + 8 + 4 + 1,
	ARRAY_BYTES = 1 + GR_HPROF_ID_BYTES + 8 + 1,
};

/* The id of a goroutine as a thread. */
static uint64_t thread_id(const struct gr_hprof *h, uint32_t goroutine)
{
	return h->first_thread_id + (uint64_t)goroutine * THREAD_IDS * ID_STEP;
}

uint32_t gr_hprof_thread_serial(uint32_t goroutine)
{
	return goroutine + 1;
}

static uint32_t trace_of(uint32_t goroutine)
{
	return goroutine + FIRST_TRACE;
}

// --------------------------------------------------------------------- calls

static struct gr_error *calls_of(struct gr_hprof *h,
				 const struct gr_frame *frame,
				 struct gr_logical_frame *calls, size_t *n)
{
	return gr_inline_frames(&h->answers->stop->program->rt, frame->func,
				gr_frame_call_pc(frame), calls, n);
}

void gr_hprof_calls_deinit(struct gr_hprof_calls *calls)
{
	gr_u32_vector_deinit(&calls->first);
}

/* Note the numbers of the first call of each frame, and of one behind all. */
static struct gr_error *number_calls(struct gr_hprof_calls *calls,
				     const struct gr_goroutine *g)
{
	uint32_t next = 0;

	calls->first.size = 0;
	for (size_t i = 0; i < g->nframes; i++) {
		struct gr_logical_frame found[GR_MAX_INLINED];
		size_t n;
		struct gr_error *err =
			calls_of(calls->h, &g->frames[i], found, &n);
		if (err)
			return err;
		if (!gr_u32_vector_append(&calls->first, next))
			return &gr_enomem;
		next += n;
	}
	return gr_u32_vector_append(&calls->first, next) ? NULL : &gr_enomem;
}

/* Is it a variable of the function: `main.f.x' of `main.f'? */
static bool is_variable_of(const char *variable, const char *function)
{
	size_t bytes = strlen(function);

	return !strncmp(variable, function, bytes) && variable[bytes] == '.';
}

/* Find the call among those of a frame that has a variable; *@p ret stays as
 * it is if none has. */
static struct gr_error *find_named(struct gr_hprof_calls *calls,
				   const struct gr_goroutine *g, size_t frame,
				   const char *variable, int32_t *ret)
{
	struct gr_logical_frame found[GR_MAX_INLINED];
	size_t n;
	struct gr_error *err = calls_of(calls->h, &g->frames[frame], found, &n);

	for (size_t i = 0; !err && i < n; i++)
		if (is_variable_of(variable, found[i].function)) {
			*ret = (int32_t)(calls->first.data[frame] + i);
			break;
		}
	return err;
}

/* The call that has a word of a frame: of a variable, that of its function.
 * Arguments of the next inner frame may lie in this one. */
static struct gr_error *find_call(struct gr_hprof_calls *calls,
				  const struct gr_goroutine *g, size_t frame,
				  const char *variable, int32_t *ret)
{
	struct gr_error *err = NULL;
	int32_t found = -1;

	*ret = (int32_t)calls->first.data[frame + 1] - 1;
	if (variable)
		err = find_named(calls, g, frame, variable, &found);
	if (!err && variable && found < 0 && frame)
		err = find_named(calls, g, frame - 1, variable, &found);
	if (found >= 0)
		*ret = found;
	return err;
}

struct gr_error *gr_hprof_call_at(struct gr_hprof_calls *calls,
				  uint32_t goroutine, uint64_t addr,
				  const char *variable, int32_t *ret)
{
	const struct gr_goroutine *g =
		&calls->h->answers->stop->sched.goroutines[goroutine];
	struct gr_error *err = NULL;

	*ret = -1;
	if (!g->nframes || addr < g->frames[0].sp)
		return NULL;
	if (!calls->first.size || calls->goroutine != goroutine)
		err = number_calls(calls, g);
	if (err)
		return err;
	calls->goroutine = goroutine;
	size_t i = gr_count_before(g->nframes, k, g->frames[k].sp <= addr);
	return addr < g->frames[i - 1].fp ?
		       find_call(calls, g, i - 1, variable, ret) :
		       NULL;
}

// -------------------------------------------------------------------- traces

static struct gr_error *
put_frame(struct gr_hprof *h, const struct gr_logical_frame *call, uint64_t id)
{
	struct gr_arena *arena = &h->answers->stop->program->arena;
	uint64_t method_id, empty_id, file_id;
	uint32_t package;
	const char *method;
	struct gr_error *err =
		gr_hprof_package_of(h, call->function, &package, &method);
	const char *file =
		gr_arena_intern(arena, call->file, strlen(call->file));

	if (!file)
		return &gr_enomem;
	if (!err)
		err = gr_hprof_string(h, method, &method_id);
	if (!err)
		err = gr_hprof_string(h, "", &empty_id);
	if (!err)
		err = gr_hprof_string(h, file, &file_id);
	if (err)
		return err;
	gr_hprof_begin(h, GR_HPROF_FRAME, FRAME_BYTES);
	gr_stream_put_u64(h->out, id);
	gr_stream_put_u64(h->out, method_id);
	gr_stream_put_u64(h->out, empty_id);
	gr_stream_put_u64(h->out, file_id);
	gr_stream_put_u32(h->out, h->packages.data[package].serial);
	gr_stream_put_u32(h->out, call->line ?: UINT32_MAX);
	return NULL;
}

/* Append the numbers of the calls of a frame, which are written once. */
static struct gr_error *add_calls(struct gr_hprof *h,
				  const struct gr_frame *frame,
				  struct gr_u32_vector *ids)
{
	struct gr_logical_frame calls[GR_MAX_INLINED];
	uint64_t pc = gr_frame_call_pc(frame);
	size_t n;
	struct gr_error *err = calls_of(h, frame, calls, &n);

	for (size_t i = 0; !err && i < n; i++) {
		uint32_t id = gr_keys_find(&h->frames, pc, i);
		if (id == UINT32_MAX) {
			id = ++h->nframes;
			if (!gr_keys_add(&h->frames, pc, i, id))
				return &gr_enomem;
			err = put_frame(h, &calls[i], id);
		}
		if (!err && !gr_u32_vector_append(ids, id))
			err = &gr_enomem;
	}
	return err;
}

static void put_trace(struct gr_hprof *h, uint32_t trace, uint32_t thread,
		      const struct gr_u32_vector *ids)
{
	gr_hprof_begin(h, GR_HPROF_TRACE, 12 + ids->size * GR_HPROF_ID_BYTES);
	gr_stream_put_u32(h->out, trace);
	gr_stream_put_u32(h->out, thread);
	gr_stream_put_u32(h->out, ids->size);
	for (size_t i = 0; i < ids->size; i++)
		gr_stream_put_u64(h->out, ids->data[i]);
}

struct gr_error *gr_hprof_put_traces(struct gr_hprof *h)
{
	const struct gr_sched *sched = &h->answers->stop->sched;
	_cleanup_(gr_u32_vector_deinit) struct gr_u32_vector ids = { 0 };
	struct gr_error *err = NULL;

	h->first_thread_id = h->next_id;
	h->next_id += (uint64_t)sched->ngoroutines * THREAD_IDS * ID_STEP;
	put_trace(h, GR_HPROF_NO_TRACE, 0, &ids);
	for (uint32_t i = 0; !err && i < sched->ngoroutines; i++) {
		const struct gr_goroutine *g = &sched->goroutines[i];
		ids.size = 0;
		err = gr_runtime_step(&h->answers->stop->program->rt,
				      1 + g->nframes);
		for (size_t k = 0; !err && k < g->nframes; k++)
			err = add_calls(h, &g->frames[k], &ids);
		if (!err)
			put_trace(h, trace_of(i), gr_hprof_thread_serial(i),
				  &ids);
	}
	return err;
}

// ------------------------------------------------------------------- threads

void gr_hprof_put_thread_roots(struct gr_hprof *h)
{
	for (uint32_t i = 0; i < h->answers->stop->sched.ngoroutines; i++) {
		struct gr_stream *to = gr_hprof_dump(h, GR_HPROF_ROOT_THREAD,
						     1 + GR_HPROF_ID_BYTES + 8);
		gr_stream_put_u64(to, thread_id(h, i));
		gr_stream_put_u32(to, gr_hprof_thread_serial(i));
		gr_stream_put_u32(to, trace_of(i));
	}
}

static void begin_instance(struct gr_stream *to, uint64_t id, uint64_t class_id,
			   uint32_t bytes)
{
	gr_stream_put_u64(to, id);
	gr_stream_put_u32(to, GR_HPROF_NO_TRACE);
	gr_stream_put_u64(to, class_id);
	gr_stream_put_u32(to, bytes);
}

/* `goroutine 7 [chan receive]: main.serve' */
static void name_thread(struct gr_hprof *h, const struct gr_goroutine *g,
			char *name, size_t bytes)
{
	const char *state = *g->wait_reason ? g->wait_reason : g->state;
	struct gr_func start;

	if (g->is_g0)
		snprintf(name, bytes, "system stack of a thread");
	else if (gr_func_find(&h->answers->stop->program->rt, g->startpc,
			      &start))
		snprintf(name, bytes, "goroutine %" PRIu64 " [%s]: %s", g->goid,
			 state, start.name);
	else
		snprintf(name, bytes, "goroutine %" PRIu64 " [%s]", g->goid,
			 state);
}

/* The next character of UTF-8 text as UTF-16 of one unit, or `?'. */
static uint16_t next_unit(const char **text)
{
	size_t bytes = gr_text_character(*text, strlen(*text));
	const uint8_t *at = (const uint8_t *)*text;

	*text += bytes ?: 1;
	if (bytes == 1)
		return at[0];
	if (bytes == 2)
		return (at[0] & 0x1f) << 6 | (at[1] & 0x3f);
	if (bytes == 3)
		return (at[0] & 0xf) << 12 | (at[1] & 0x3f) << 6 |
		       (at[2] & 0x3f);
	return '?';
}

static void put_characters(struct gr_hprof *h, uint64_t id, const char *name)
{
	uint16_t units[MAX_NAME_BYTES];
	uint32_t n = 0;

	while (*name && n < GR_ARRAY_SIZE(units))
		units[n++] = next_unit(&name);
	struct gr_stream *to =
		gr_hprof_dump(h, GR_HPROF_PRIMITIVES, ARRAY_BYTES + 2 * n);
	gr_stream_put_u64(to, id);
	gr_stream_put_u32(to, GR_HPROF_NO_TRACE);
	gr_stream_put_u32(to, n);
	gr_stream_put_u8(to, GR_HPROF_CHAR);
	for (uint32_t i = 0; i < n; i++)
		gr_stream_put_u16(to, units[i]);
}

static void put_thread(struct gr_hprof *h, uint32_t index)
{
	const struct gr_goroutine *g =
		&h->answers->stop->sched.goroutines[index];
	const struct gr_objects *objects = h->answers->graph->graph->objects;
	gr_vertex v = gr_objects_find(objects, g->addr);
	uint64_t id = thread_id(h, index);
	char name[MAX_NAME_BYTES];
	struct gr_stream *to;

	name_thread(h, g, name, sizeof(name));
	to = gr_hprof_dump(h, GR_HPROF_INSTANCE, INSTANCE_BYTES + THREAD_BYTES);
	begin_instance(to, id, h->java[GR_JAVA_THREAD], THREAD_BYTES);
	gr_stream_put_u64(to, id + ID_STEP);
	gr_stream_put_u64(
		to, v == GR_VERTEX_NONE ? 0 : gr_objects_addr(objects, v));
	gr_stream_put_u64(to, g->goid);
	gr_stream_put_u32(to, 0);
	gr_stream_put_u8(to, g->is_system || g->is_g0);
	to = gr_hprof_dump(h, GR_HPROF_INSTANCE,
			   INSTANCE_BYTES + GR_HPROF_ID_BYTES);
	begin_instance(to, id + ID_STEP, h->java[GR_JAVA_STRING],
		       GR_HPROF_ID_BYTES);
	gr_stream_put_u64(to, id + 2 * ID_STEP);
	put_characters(h, id + 2 * ID_STEP, name);
}

struct gr_error *gr_hprof_put_threads(struct gr_hprof *h)
{
	struct gr_error *err = NULL;

	for (uint32_t i = 0; !err && i < h->answers->stop->sched.ngoroutines;
	     i++) {
		err = gr_runtime_step(&h->answers->stop->program->rt, 1);
		put_thread(h, i);
	}
	return err;
}
