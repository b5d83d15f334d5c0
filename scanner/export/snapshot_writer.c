// SPDX-License-Identifier: Apache-2.0
#include "export/snapshot_writer.h"

enum { NODE_FIELDS = 7 };

static const char meta[] =
	"{\"snapshot\":{\"meta\":{"
	"\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\","
	"\"edge_count\",\"trace_node_id\",\"detachedness\"],"
	"\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\","
	"\"closure\",\"regexp\",\"number\",\"native\",\"synthetic\","
	"\"concatenated string\",\"sliced string\",\"symbol\",\"bigint\","
	"\"object shape\"],\"string\",\"number\",\"number\",\"number\","
	"\"number\",\"number\"],"
	"\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],"
	"\"edge_types\":[[\"context\",\"element\",\"property\",\"internal\","
	"\"hidden\",\"shortcut\",\"weak\"],\"string_or_number\",\"node\"],"
	"\"trace_function_info_fields\":[\"function_id\",\"name\","
	"\"script_name\",\"script_id\",\"line\",\"column\"],"
	"\"trace_node_fields\":[\"id\",\"function_info_index\",\"count\","
	"\"size\",\"children\"],"
	"\"sample_fields\":[\"timestamp_us\",\"last_assigned_id\"],"
	"\"location_fields\":[\"object_index\",\"script_id\",\"line\","
	"\"column\"]},\"node_count\":";

void gr_snapshot_writer_deinit(struct gr_snapshot_writer *writer)
{
	gr_keys_deinit(&writer->keys);
	gr_snapshot_text_vector_deinit(&writer->texts);
}

struct gr_error *gr_snapshot_text(struct gr_snapshot_writer *writer,
				  const char *text, uint32_t *ret)
{
	uint64_t key = (uintptr_t)text;

	*ret = gr_keys_find(&writer->keys, key, 0);
	if (*ret != UINT32_MAX)
		return NULL;
	*ret = writer->texts.size;
	return gr_keys_add(&writer->keys, key, 0, *ret) &&
			       gr_snapshot_text_vector_append(&writer->texts,
							      text) ?
		       NULL :
		       &gr_enomem;
}

static void begin_row(struct gr_snapshot_writer *writer)
{
	if (writer->has_row)
		gr_stream_put(writer->out, ",\n", 2);
	writer->has_row = true;
}

static void put_first(struct gr_snapshot_writer *writer, uint64_t value)
{
	begin_row(writer);
	gr_stream_put_decimal(writer->out, value);
}

static void put_next(struct gr_snapshot_writer *writer, uint64_t value)
{
	gr_stream_put_u8(writer->out, ',');
	gr_stream_put_decimal(writer->out, value);
}

void gr_snapshot_begin(struct gr_snapshot_writer *writer, uint32_t nnodes,
		       uint64_t nedges)
{
	gr_stream_put_text(writer->out, meta);
	gr_stream_put_decimal(writer->out, nnodes);
	gr_stream_put_text(writer->out, ",\"edge_count\":");
	gr_stream_put_decimal(writer->out, nedges);
	gr_stream_put_text(writer->out, ",\"trace_function_count\":0},\n"
					"\"nodes\":[");
}

void gr_snapshot_put_node(struct gr_snapshot_writer *writer, unsigned int type,
			  uint32_t name, uint64_t bytes, uint32_t nedges)
{
	put_first(writer, type);
	put_next(writer, name);
	// Numbers of V8's own objects are odd.
	put_next(writer, 2 * (uint64_t)writer->nnodes++ + 1);
	put_next(writer, bytes);
	put_next(writer, nedges);
	put_next(writer, 0);
	put_next(writer, 0);
}

void gr_snapshot_begin_edges(struct gr_snapshot_writer *writer)
{
	gr_stream_put_text(writer->out, "],\n\"edges\":[");
	writer->has_row = false;
}

void gr_snapshot_put_edge(struct gr_snapshot_writer *writer, unsigned int type,
			  uint32_t name_or_index, uint32_t to)
{
	put_first(writer, type);
	put_next(writer, name_or_index);
	put_next(writer, (uint64_t)to * NODE_FIELDS);
}

void gr_snapshot_end(struct gr_snapshot_writer *writer)
{
	gr_stream_put_text(writer->out, "],\n\"trace_function_infos\":[],\n"
					"\"trace_tree\":[],\n\"samples\":[],\n"
					"\"locations\":[],\n\"strings\":[");
	writer->has_row = false;
	for (size_t i = 0; i < writer->texts.size; i++) {
		begin_row(writer);
		gr_stream_put_json(writer->out, writer->texts.data[i]);
	}
	gr_stream_put_text(writer->out, "]}\n");
}
