// SPDX-License-Identifier: Apache-2.0
// A Profile message is written in pieces: messages of one type that follow each
// other on the wire merge into one, and repeated fields append. So only one
// sample is in memory at a time.
#include "proto/pprof_stream.h"

#include <assert.h>
#include <stdarg.h>

#include "base/cleanup.h"
#include "proto/profile.pb-c.h"

// Tags (field number and wire type) of the fields that are written without
// protobuf-c (profile.proto).
enum {
	PUT_PROFILE_SAMPLE = 2 << 3 | 2,
	PUT_PROFILE_LOCATION = 4 << 3 | 2,
	PUT_PROFILE_FUNCTION = 5 << 3 | 2,
	PUT_SAMPLE_LOCATION = 1 << 3 | 2,
	PUT_SAMPLE_VALUE = 2 << 3 | 2,
	PUT_SAMPLE_LABEL = 3 << 3 | 2,
	PUT_LABEL_KEY = 1 << 3,
	PUT_LABEL_STR = 2 << 3,
	PUT_LABEL_NUM = 3 << 3,
	PUT_LOCATION_ID = 1 << 3,
	PUT_LOCATION_MAPPING = 2 << 3,
	PUT_LOCATION_ADDRESS = 3 << 3,
	PUT_LOCATION_LINE = 4 << 3 | 2,
	PUT_LINE_FUNCTION = 1 << 3,
	PUT_LINE_LINE = 2 << 3,
	PUT_FUNCTION_ID = 1 << 3,
	PUT_FUNCTION_NAME = 2 << 3,
	PUT_FUNCTION_FILE = 4 << 3,
	PUT_FUNCTION_START_LINE = 5 << 3,
};

enum {
	MAX_VARINT = 10,  // bytes of a number
	MAX_LOCATION = 5, // of one below 2^32
	MAX_VALUES = GR_PPROF_MAX_VALUES * MAX_VARINT + 2,
	MAX_LABEL = 2 * (1 + MAX_VARINT) + 2,
	MAX_LINE = 2 * (1 + MAX_LOCATION) + 2,
	MAX_FUNCTION = 4 * (1 + MAX_VARINT) + 2,
	MAPPING = 1, // the only one
};

static_assert(MAX_VALUES < 130 && MAX_FUNCTION < 130,
	      "a length fits in one byte");

static void fail(struct gr_pprof_stream *stream)
{
	stream->has_failed = true;
}

static uint8_t *put_varint(uint8_t *p, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*p++ = (uint8_t)value | 0x80;
	*p++ = (uint8_t)value;
	return p;
}

static uint8_t *put_field(uint8_t *p, uint8_t tag, uint64_t value)
{
	*p++ = tag;
	return put_varint(p, value);
}

// Write a field unless its value is 0, the default.
static uint8_t *put_optional(uint8_t *p, uint8_t tag, uint64_t value)
{
	return value ? put_field(p, tag, value) : p;
}

static uint8_t *put_bytes(uint8_t *p, const void *data, size_t bytes)
{
	memcpy(p, data, bytes);
	return p + bytes;
}

// Begin a message of less than 128 bytes; end_short() sets its length.
static uint8_t *begin_short(uint8_t *p, uint8_t tag)
{
	*p = tag;
	return p + 2;
}

static void end_short(uint8_t *start, const uint8_t *end)
{
	start[1] = (uint8_t)(end - start - 2);
}

static uint8_t *put_label(uint8_t *start, const struct gr_pprof_label *label)
{
	uint8_t *p = begin_short(start, PUT_SAMPLE_LABEL);

	p = put_field(p, PUT_LABEL_KEY, (uint64_t)label->key);
	p = put_optional(p, PUT_LABEL_STR, (uint64_t)label->text);
	p = put_optional(p, PUT_LABEL_NUM, (uint64_t)label->number);
	end_short(start, p);
	return p;
}

// ------------------------------------------------------------------- whole

int64_t gr_pprof_string(struct gr_pprof_stream *stream, const char *text)
{
	int64_t index = gr_strings_add(&stream->strings, text);

	if (index >= 0)
		return index;
	fail(stream);
	return 0;
}

// Encode the labels that all samples have.
static void encode_tags(struct gr_pprof_stream *stream)
{
	const struct gr_profile_stamp *stamp = &stream->header.stamp;
	struct gr_pprof_bytes *to = &stream->tags;

	if (!gr_pprof_bytes_reserve(to, stamp->ntags * MAX_LABEL)) {
		fail(stream);
		return;
	}
	for (size_t i = 0; i < stamp->ntags; i++) {
		const struct gr_pprof_label label = {
			gr_pprof_string(stream, stamp->tags[i].key),
			gr_pprof_string(stream, stamp->tags[i].value),
			0,
		};

		to->size = (size_t)(put_label(to->data + to->size, &label) -
				    to->data);
	}
}

void gr_pprof_init(struct gr_pprof_stream *stream,
		   const struct gr_pprof_header *header)
{
	*stream = (struct gr_pprof_stream){ .header = *header,
					    .out = { .fd = -1 } };
	assert(header->ntypes <= GR_PPROF_MAX_VALUES);
	gr_pprof_string(stream, "");
	for (size_t i = 0; i < header->ntypes; i++) {
		gr_pprof_string(stream, header->types[i].type);
		gr_pprof_string(stream, header->types[i].unit);
	}
	gr_pprof_string(stream, header->period_type.type);
	gr_pprof_string(stream, header->period_type.unit);
	encode_tags(stream);
}

void gr_pprof_deinit(struct gr_pprof_stream *stream)
{
	gr_output_deinit(&stream->out);
	for (size_t i = 0; i < stream->comments.size; i++)
		free(stream->comments.data[i]);
	gr_pprof_texts_deinit(&stream->comments);
	gr_strings_deinit(&stream->strings);
	gr_pprof_functions_deinit(&stream->functions);
	gr_table_deinit(&stream->by_function);
	gr_pprof_bytes_deinit(&stream->locations);
	gr_pprof_bytes_deinit(&stream->sample);
	gr_pprof_bytes_deinit(&stream->tags);
}

// protobuf-c's sink into our file. It cannot return errors, so it keeps them.
struct sink {
	ProtobufCBuffer base;
	struct gr_output *out;
	struct gr_error *err;
};

static void sink_append(ProtobufCBuffer *base, size_t bytes,
			const uint8_t *data)
{
	struct sink *sink = (struct sink *)base;

	if (!sink->err)
		sink->err = gr_output_write(sink->out, data, bytes);
}

// Write a Profile message that holds a part of the fields.
static struct gr_error *put_profile(struct gr_pprof_stream *stream,
				    const Gr__Pprof__Profile *part)
{
	struct sink sink = { .base = { sink_append }, .out = &stream->out };

	gr__pprof__profile__pack_to_buffer(part, &sink.base);
	return sink.err;
}

static Gr__Pprof__ValueType value_type(struct gr_pprof_stream *stream,
				       const struct gr_pprof_type *type)
{
	Gr__Pprof__ValueType ret = GR__PPROF__VALUE_TYPE__INIT;

	ret.type = gr_pprof_string(stream, type->type);
	ret.unit = gr_pprof_string(stream, type->unit);
	return ret;
}

static Gr__Pprof__Mapping executable(struct gr_pprof_stream *stream)
{
	Gr__Pprof__Mapping ret = GR__PPROF__MAPPING__INIT;

	ret.id = MAPPING;
	ret.filename = gr_pprof_string(stream, stream->header.exe_path);
	ret.build_id = gr_pprof_string(stream, stream->header.build_id);
	ret.has_functions = true;
	ret.has_filenames = true;
	ret.has_line_numbers = true;
	ret.has_inline_frames = true;
	return ret;
}

static struct gr_error *write_header(struct gr_pprof_stream *stream)
{
	const struct gr_pprof_header *header = &stream->header;
	Gr__Pprof__ValueType types[GR_PPROF_MAX_VALUES];
	Gr__Pprof__ValueType *sample_types[GR_PPROF_MAX_VALUES];
	Gr__Pprof__ValueType period = value_type(stream, &header->period_type);
	Gr__Pprof__Mapping mapping = executable(stream), *mappings = &mapping;
	Gr__Pprof__Profile head = GR__PPROF__PROFILE__INIT;

	for (size_t i = 0; i < header->ntypes; i++) {
		types[i] = value_type(stream, &header->types[i]);
		sample_types[i] = &types[i];
	}
	head.n_sample_type = header->ntypes;
	head.sample_type = sample_types;
	head.n_mapping = 1;
	head.mapping = &mappings;
	head.period_type = header->period_type.type ? &period : NULL;
	head.period = header->period;
	head.time_nanos = header->stamp.time_ns;
	head.duration_nanos = header->duration_ns;
	head.default_sample_type =
		gr_pprof_string(stream, header->default_type);
	return put_profile(stream, &head);
}

struct gr_error *gr_pprof_open(struct gr_pprof_stream *stream, const char *path)
{
	struct gr_error *err =
		gr_output_init(&stream->out, path, GR_OUTPUT_GZIP);

	return err ? err : write_header(stream);
}

void gr_pprof_comment(struct gr_pprof_stream *stream, const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	int n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n < 0) {
		fail(stream);
	} else if (!gr_pprof_texts_append(&stream->comments, text)) {
		free(text);
		fail(stream);
	}
}

// Write the comments and the string table last, when all strings are known.
static struct gr_error *write_strings(struct gr_pprof_stream *stream)
{
	size_t n = stream->comments.size;
	_cleanup_free_ int64_t *comments = calloc(n + 1, sizeof(*comments));
	Gr__Pprof__Profile tail = GR__PPROF__PROFILE__INIT;

	if (!comments)
		return &gr_enomem;
	for (size_t i = 0; i < n; i++)
		comments[i] = gr_pprof_string(stream, stream->comments.data[i]);
	tail.n_comment = n;
	tail.comment = comments;
	tail.n_string_table = stream->strings.count;
	tail.string_table = (char **)stream->strings.strings;
	return put_profile(stream, &tail);
}

struct gr_error *gr_pprof_commit(struct gr_pprof_stream *stream)
{
	struct gr_error *err = gr_output_write(
		&stream->out, stream->locations.data, stream->locations.size);

	if (!err)
		err = write_strings(stream);
	if (!err && stream->has_failed)
		err = &gr_enomem;
	return err ? err : gr_output_commit(&stream->out);
}

// --------------------------------------------------------------- locations

// Return the index of a function; *@is_new if it was not there.
static uint32_t find_function(struct gr_pprof_stream *stream,
			      const struct gr_pprof_function *function,
			      bool *is_new)
{
	uint64_t mixed =
		gr_hash_mix((uint64_t)function->name, (uint64_t)function->file);
	uint32_t hash = (uint32_t)gr_hash_mix(mixed, function->start_line);
	size_t pos = hash;
	uint32_t i;

	*is_new = false;
	if (!gr_table_reserve(&stream->by_function, 1)) {
		fail(stream);
		return 0;
	}
	while ((i = gr_table_next(&stream->by_function, hash, &pos)) !=
	       GR_TABLE_NONE) {
		const struct gr_pprof_function *f = &stream->functions.data[i];

		if (f->name == function->name && f->file == function->file &&
		    f->start_line == function->start_line)
			return i;
	}
	i = (uint32_t)stream->functions.size;
	if (!gr_pprof_functions_append(&stream->functions, *function)) {
		fail(stream);
		return 0;
	}
	gr_table_add(&stream->by_function, hash, i);
	*is_new = true;
	return i;
}

// There is no system name: if it equals the name, pprof takes the name for C++
// and cuts off the part in brackets.
static void write_function(struct gr_pprof_stream *stream, uint32_t index)
{
	const struct gr_pprof_function *function =
		&stream->functions.data[index];
	struct gr_pprof_bytes *to = &stream->locations;

	if (!gr_pprof_bytes_reserve(to, to->size + MAX_FUNCTION)) {
		fail(stream);
		return;
	}
	uint8_t *start = to->data + to->size;
	uint8_t *p = begin_short(start, PUT_PROFILE_FUNCTION);
	p = put_field(p, PUT_FUNCTION_ID, index + 1);
	p = put_optional(p, PUT_FUNCTION_NAME, (uint64_t)function->name);
	p = put_optional(p, PUT_FUNCTION_FILE, (uint64_t)function->file);
	p = put_optional(p, PUT_FUNCTION_START_LINE, function->start_line);
	end_short(start, p);
	to->size = (size_t)(p - to->data);
}

static uint8_t *put_line(uint8_t *start, uint32_t function, uint32_t line)
{
	uint8_t *p = begin_short(start, PUT_LOCATION_LINE);

	p = put_field(p, PUT_LINE_FUNCTION, function + 1);
	p = put_optional(p, PUT_LINE_LINE, line);
	end_short(start, p);
	return p;
}

// Write a location whose lines are encoded.
static void write_location(struct gr_pprof_stream *stream, uint64_t address,
			   const uint8_t *lines, size_t bytes)
{
	struct gr_pprof_bytes *to = &stream->locations;
	uint8_t head[3 * (1 + MAX_VARINT)], *p = head;

	p = put_field(p, PUT_LOCATION_ID, stream->nlocations);
	p = put_field(p, PUT_LOCATION_MAPPING, MAPPING);
	p = put_optional(p, PUT_LOCATION_ADDRESS, address);
	size_t nhead = (size_t)(p - head);
	if (!gr_pprof_bytes_reserve(to, to->size + 1 + MAX_VARINT + nhead +
						bytes)) {
		fail(stream);
		return;
	}
	p = to->data + to->size;
	p = put_field(p, PUT_PROFILE_LOCATION, nhead + bytes);
	p = put_bytes(p, head, nhead);
	p = put_bytes(p, lines, bytes);
	to->size = (size_t)(p - to->data);
}

uint32_t gr_pprof_location(struct gr_pprof_stream *stream, uint64_t address,
			   const struct gr_pprof_line *lines, size_t nlines)
{
	uint8_t encoded[GR_PPROF_MAX_LINES * MAX_LINE], *p = encoded;
	uint32_t first_new = (uint32_t)stream->functions.size;
	bool is_new;

	assert(nlines <= GR_PPROF_MAX_LINES);
	stream->nlocations++;
	for (size_t i = 0; i < nlines; i++) {
		const struct gr_pprof_function function = {
			gr_pprof_string(stream, lines[i].function),
			gr_pprof_string(stream, lines[i].file),
			lines[i].start_line,
		};

		p = put_line(p, find_function(stream, &function, &is_new),
			     lines[i].line);
	}
	write_location(stream, address, encoded, (size_t)(p - encoded));
	for (uint32_t i = first_new; i < stream->functions.size; i++)
		write_function(stream, i);
	return stream->nlocations;
}

// ----------------------------------------------------------------- samples

struct gr_error *gr_pprof_stack_init(struct gr_pprof_stack *stack,
				     size_t max_depth)
{
	stack->capacity = max_depth * MAX_LOCATION;
	stack->bytes = malloc(stack->capacity + 1);
	stack->begins = malloc((max_depth + 1) * sizeof(*stack->begins));
	if (!stack->bytes || !stack->begins)
		return &gr_enomem;
	stack->begins[0] = stack->capacity;
	return NULL;
}

void gr_pprof_stack_deinit(struct gr_pprof_stack *stack)
{
	free(stack->bytes);
	free(stack->begins);
	memset(stack, 0, sizeof(*stack));
}

void gr_pprof_stack_push(struct gr_pprof_stack *stack, size_t depth,
			 uint32_t location)
{
	uint8_t encoded[MAX_VARINT];
	size_t bytes = (size_t)(put_varint(encoded, location) - encoded);
	size_t begin = stack->begins[depth] - bytes;

	memcpy(&stack->bytes[begin], encoded, bytes);
	stack->begins[depth + 1] = begin;
}

static uint8_t *put_values(uint8_t *start, const int64_t *values, size_t n)
{
	uint8_t *p = begin_short(start, PUT_SAMPLE_VALUE);

	for (size_t i = 0; i < n; i++)
		p = put_varint(p, (uint64_t)values[i]);
	end_short(start, p);
	return p;
}

struct gr_error *gr_pprof_sample(struct gr_pprof_stream *stream,
				 const struct gr_pprof_stack *stack,
				 size_t depth, const int64_t *values,
				 const struct gr_pprof_label *labels,
				 size_t nlabels)
{
	size_t begin = stack->begins[depth];
	size_t nlocations = stack->capacity - begin;
	// The tag and the length of the sample come first, when they are known.
	size_t room = 2 * (1 + MAX_VARINT) + nlocations + MAX_VALUES +
		      nlabels * MAX_LABEL + stream->tags.size;

	if (!gr_pprof_bytes_reserve(&stream->sample, room))
		return &gr_enomem;
	uint8_t *start = stream->sample.data + 1 + MAX_VARINT;
	uint8_t *p = put_field(start, PUT_SAMPLE_LOCATION, nlocations);
	p = put_bytes(p, &stack->bytes[begin], nlocations);
	p = put_values(p, values, stream->header.ntypes);
	for (size_t i = 0; i < nlabels; i++)
		p = put_label(p, &labels[i]);
	if (stream->tags.size)
		p = put_bytes(p, stream->tags.data, stream->tags.size);
	size_t bytes = (size_t)(p - start);
	uint8_t head[1 + MAX_VARINT];
	size_t nhead =
		(size_t)(put_field(head, PUT_PROFILE_SAMPLE, bytes) - head);
	memcpy(start - nhead, head, nhead);
	return gr_output_write(&stream->out, start - nhead, nhead + bytes);
}
