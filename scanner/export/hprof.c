// SPDX-License-Identifier: Apache-2.0
/* The file as a whole: its order, texts, segments. Readers want all texts,
 * classes and traces before the first segment, and the segments together. */
#include "export/hprof.h"

#include "export/hprof_internal.h"

#include <time.h>

static void hprof_deinit(struct gr_hprof *h)
{
	gr_stream_deinit(&h->segment);
	gr_keys_deinit(&h->strings);
	gr_keys_deinit(&h->class_names);
	gr_keys_deinit(&h->frames);
	gr_keys_deinit(&h->package_keys);
	gr_hprof_package_vector_deinit(&h->packages);
	gr_hprof_static_vector_deinit(&h->statics);
	gr_hprof_list_vector_deinit(&h->lists);
}

uint64_t gr_hprof_new_id(struct gr_hprof *h)
{
	uint64_t id = h->next_id;

	h->next_id += 16; // readers expect aligned objects
	return id;
}

// ------------------------------------------------------------------- records

void gr_hprof_begin(struct gr_hprof *h, enum gr_hprof_record tag,
		    uint32_t bytes)
{
	gr_stream_put_u8(h->out, tag);
	gr_stream_put_u32(h->out, 0);
	gr_stream_put_u32(h->out, bytes);
}

/* A segment's whole records go into the file. */
static struct gr_error *write_segment(void *ctx, const void *data, size_t bytes)
{
	struct gr_hprof *h = ctx;

	gr_hprof_begin(h, GR_HPROF_SEGMENT, bytes);
	gr_stream_put(h->out, data, bytes);
	return NULL;
}

struct gr_stream *gr_hprof_dump(struct gr_hprof *h, enum gr_hprof_dump tag,
				uint64_t bytes)
{
	struct gr_stream *to = &h->segment;

	// A record lies in one segment. Large ones have their own.
	if (bytes > GR_STREAM_BYTES) {
		struct gr_error *err = gr_stream_flush(&h->segment);
		if (err && !h->out->err)
			h->out->err = err;
		gr_hprof_begin(h, GR_HPROF_SEGMENT, bytes);
		to = h->out;
	} else {
		(void)gr_stream_room(&h->segment, bytes);
	}
	gr_stream_put_u8(to, tag);
	return to;
}

// --------------------------------------------------------------------- texts

uint64_t gr_hprof_string_id(const struct gr_hprof *h, const char *text)
{
	return (uint64_t)gr_keys_find(&h->strings, (uintptr_t)text, 0) + 1;
}

struct gr_error *gr_hprof_string(struct gr_hprof *h, const char *text,
				 uint64_t *ret)
{
	size_t bytes = strlen(text);

	*ret = gr_hprof_string_id(h, text);
	if (*ret <= UINT32_MAX)
		return NULL;
	if (!gr_keys_add(&h->strings, (uintptr_t)text, 0, h->nstrings))
		return &gr_enomem;
	*ret = ++h->nstrings;
	gr_hprof_begin(h, GR_HPROF_UTF8, GR_HPROF_ID_BYTES + bytes);
	gr_stream_put_u64(h->out, *ret);
	gr_stream_put(h->out, text, bytes);
	return NULL;
}

// ---------------------------------------------------------------------- file

/* Milliseconds since 1970. Readers keep what they found out about a file, and
 * tell a newer file of the same name by its time. */
static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * UINT64_C(1000) + now.tv_nsec / 1000000;
}

static void put_header(struct gr_hprof *h)
{
	static const char magic[] = "JAVA PROFILE 1.0.2";

	gr_stream_put(h->out, magic, sizeof(magic));
	gr_stream_put_u32(h->out, GR_HPROF_ID_BYTES);
	gr_stream_put_u64(h->out, now_ms());
}

static struct gr_error *put_segments(struct gr_hprof *h)
{
	struct gr_error *err;

	gr_hprof_put_classes(h);
	gr_hprof_put_thread_roots(h);
	err = gr_hprof_put_roots(h);
	if (!err)
		err = gr_hprof_put_threads(h);
	if (err)
		return err;
	gr_hprof_put_lists(h);
	err = gr_hprof_put_objects(h);
	return err ? err : gr_stream_flush(&h->segment);
}

struct gr_error *gr_export_hprof(struct gr_shapes *shapes,
				 struct gr_stream *stream,
				 struct gr_exported *ret)
{
	_cleanup_(hprof_deinit) struct gr_hprof h = {
		.shapes = shapes,
		.answers = shapes->answers,
		.done = ret,
		.out = stream,
		.next_id = GR_HPROF_FIRST_ID,
	};
	struct gr_error *err;

	h.segment_sink = (struct gr_export_sink){ write_segment, &h };
	gr_stream_init(&h.segment, &h.segment_sink);
	put_header(&h);
	err = gr_hprof_load_classes(&h);
	if (!err)
		err = gr_hprof_find_statics(&h);
	if (!err)
		err = gr_hprof_put_traces(&h);
	if (!err)
		err = put_segments(&h);
	if (err)
		return err;
	gr_hprof_begin(&h, GR_HPROF_END, 0);
	ret->threads = h.answers->graph->ngoroutines;
	return NULL;
}
