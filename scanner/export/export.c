// SPDX-License-Identifier: Apache-2.0
#include "export/export.h"

#include "export/heapsnapshot.h"
#include "export/hprof.h"
#include "export/jsonl.h"
#include "scan/enter.h"

/* A format: the parts that it needs, and its writer. */
struct format {
	const char *name;
	unsigned int parts; /* of the graph */
	struct gr_error *(*write)(struct gr_shapes *shapes,
				  struct gr_stream *stream,
				  struct gr_exported *ret);
};

static const struct format formats[] = {
	[GR_EXPORT_HPROF] = { "hprof", GR_PART_NEAREST, gr_export_hprof },
	[GR_EXPORT_HEAPSNAPSHOT] = { "heapsnapshot", GR_PART_NEAREST,
				     gr_export_heapsnapshot },
	[GR_EXPORT_JSONL] = { "jsonl", GR_PART_DOMINATORS, gr_export_jsonl },
};
_Static_assert(GR_ARRAY_SIZE(formats) == GR_NEXPORT_FORMATS,
	       "each format has a row");

const char *gr_export_format_name(enum gr_export_format format)
{
	return formats[format].name;
}

static struct gr_error *answer(struct gr_answers *answers,
			       const struct format *format,
			       const struct gr_export_sink *sink,
			       struct gr_exported *ret)
{
	_cleanup_(gr_shapes_deinit) struct gr_shapes shapes = { 0 };
	_cleanup_(gr_stream_deinit) struct gr_stream stream = { 0 };
	struct gr_error *err = gr_answers_need_graph(answers, format->parts);

	if (!err)
		err = gr_shapes_make(&shapes, answers);
	if (err)
		return err;
	gr_stream_init(&stream, sink);
	ret->classes = shapes.shapes.size;
	err = format->write(&shapes, &stream, ret);
	ret->file_bytes = stream.bytes;
	gr_costs_note_memory(answers->costs);
	return err ? err : gr_stream_flush(&stream);
}

struct gr_error *gr_scan_export(struct gr_scan *scan,
				enum gr_export_format format,
				const struct gr_export_sink *sink,
				struct gr_exported *ret)
{
	struct gr_answers *answers;
	struct gr_sigbus_guard guard;
	struct gr_error *err = gr_scan_enter(scan, &guard, &answers);

	memset(ret, 0, sizeof(*ret));
	if (!err)
		err = answer(answers, &formats[format], sink, ret);
	return gr_sigbus_guard_end(&guard, err);
}
