// SPDX-License-Identifier: Apache-2.0
// A Profile message is written in pieces: messages of one type that follow
// each other on the wire merge into one, repeated fields append. So only one
// sample at a time is ever in memory.
#include "proto/profile_writer.h"

#include <inttypes.h>
#include <stdarg.h>

#include "base/cleanup.h"
#include "profile.pb-c.h"
#include "proto/output.h"
#include "proto/paths.h"
#include "proto/table.h"

enum {
	POLL_SAMPLES = 4096,
	MAX_COMMENTS = 10 + GR_NGAPS,
};

// Strings of fixed meaning come first in the table, in this order.
#define FIXED_STRINGS(X)                      \
	X(EMPTY, "")                          \
	X(INUSE_OBJECTS, "inuse_objects")     \
	X(COUNT, "count")                     \
	X(INUSE_SPACE, "inuse_space")         \
	X(BYTES, "bytes")                     \
	X(SPACE, "space")                     \
	X(ROOT_KIND, "root_kind")             \
	X(GOROUTINE_STATE, "goroutine_state") \
	X(GOROUTINE_ID, "goroutine_id")

enum fixed_string {
#define X(id, text) STRING_##id,
	FIXED_STRINGS(X)
#undef X
		NFIXED_STRINGS,
};

static const char *const fixed_strings[] = {
#define X(id, text) text,
	FIXED_STRINGS(X)
#undef X
};

// A profile being written.
struct writer {
	const struct gr_profile *profile;
	struct gr_paths paths;
	struct gr_output out;
	struct gr_strings strings;
	bool has_failed; // a string found no memory; see write_all()
	char *comments[MAX_COMMENTS];
	size_t ncomments;
	uint32_t *location_of; // place -> location id, 0: not yet used
	uint32_t *places;      // location id - 1 -> place
	size_t nlocations;
	int64_t *label_strings; // label -> index of its strings, two each
	uint8_t *buffer;
	size_t buffer_bytes;
};

static void writer_deinit(struct writer *w)
{
	gr_output_deinit(&w->out);
	gr_paths_deinit(&w->paths);
	for (size_t i = 0; i < w->ncomments; i++)
		free(w->comments[i]);
	gr_strings_deinit(&w->strings);
	free(w->location_of);
	free(w->places);
	free(w->label_strings);
	free(w->buffer);
}

// The index of a string in the profile's table.
static int64_t add_string(struct writer *w, const char *text)
{
	int64_t index = gr_strings_add(&w->strings, text);

	if (index >= 0)
		return index;
	w->has_failed = true;
	return STRING_EMPTY;
}

static struct gr_error *writer_alloc(struct writer *w)
{
	const struct gr_paths *paths = &w->paths;
	size_t nplaces = paths->nplaces, nlabels = paths->nlabels;

	w->location_of = calloc(nplaces + 1, sizeof(*w->location_of));
	w->places = calloc(nplaces + 1, sizeof(*w->places));
	w->label_strings = calloc(2 * nlabels + 1, sizeof(*w->label_strings));
	if (!w->location_of || !w->places || !w->label_strings)
		return &gr_enomem;
	for (size_t i = 0; i < NFIXED_STRINGS; i++)
		add_string(w, fixed_strings[i]);
	for (size_t i = 0; i < nlabels; i++) {
		const struct gr_path_label *label = &paths->labels[i];

		w->label_strings[2 * i] = add_string(w, label->root_kind);
		w->label_strings[2 * i + 1] =
			add_string(w, label->goroutine_state);
	}
	return NULL;
}

// ---------------------------------------------------------------- protobuf

static uint8_t *put_varint(uint8_t *p, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*p++ = (uint8_t)value | 0x80;
	*p++ = (uint8_t)value;
	return p;
}

// Write one element of a repeated message field of Profile.
static struct gr_error *put_message(struct writer *w, uint32_t field,
				    const ProtobufCMessage *message)
{
	size_t bytes = protobuf_c_message_get_packed_size(message);
	size_t need = bytes + 20;

	if (need > w->buffer_bytes) {
		uint8_t *buffer = realloc(w->buffer, need * 2);

		if (!buffer)
			return &gr_enomem;
		w->buffer = buffer;
		w->buffer_bytes = need * 2;
	}
	uint8_t *p = put_varint(w->buffer, field << 3 | 2);
	p = put_varint(p, bytes);
	p += protobuf_c_message_pack(message, p);
	return gr_output_write(&w->out, w->buffer, (size_t)(p - w->buffer));
}

// protobuf-c's sink into our file; it cannot fail there, so it remembers.
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
static struct gr_error *put_profile(struct writer *w,
				    const Gr__Pprof__Profile *part)
{
	struct sink sink = { .base = { sink_append }, .out = &w->out };

	gr__pprof__profile__pack_to_buffer(part, &sink.base);
	return sink.err;
}

// ------------------------------------------------------------------- parts

static struct gr_error *write_header(struct writer *w)
{
	Gr__Pprof__ValueType objects = GR__PPROF__VALUE_TYPE__INIT;
	Gr__Pprof__ValueType bytes = GR__PPROF__VALUE_TYPE__INIT;
	Gr__Pprof__ValueType period = GR__PPROF__VALUE_TYPE__INIT;
	Gr__Pprof__Mapping mapping = GR__PPROF__MAPPING__INIT;
	Gr__Pprof__Profile head = GR__PPROF__PROFILE__INIT;
	Gr__Pprof__ValueType *types[] = { &objects, &bytes };
	Gr__Pprof__Mapping *mappings[] = { &mapping };

	objects.type = STRING_INUSE_OBJECTS;
	objects.unit = STRING_COUNT;
	bytes.type = STRING_INUSE_SPACE;
	bytes.unit = STRING_BYTES;
	period.type = STRING_SPACE;
	period.unit = STRING_BYTES;
	mapping.id = 1;
	mapping.filename = add_string(w, w->profile->exe_path);
	mapping.build_id = add_string(w, w->profile->build_id);
	mapping.has_functions = true;
	mapping.has_filenames = true;
	mapping.has_line_numbers = true;
	mapping.has_inline_frames = true;
	head.n_sample_type = GR_ARRAY_SIZE(types);
	head.sample_type = types;
	head.n_mapping = GR_ARRAY_SIZE(mappings);
	head.mapping = mappings;
	head.period_type = &period;
	head.period = 1;
	head.default_sample_type = STRING_INUSE_SPACE;
	return put_profile(w, &head);
}

// The locations of a path, its end first.
static size_t path_locations(struct writer *w, uint32_t path, uint64_t *ret)
{
	size_t n = 0;

	while (path != GR_PATH_NONE && n < GR_PATH_MAX_DEPTH) {
		const struct gr_path *p = &w->paths.paths[path];

		if (!w->location_of[p->place]) {
			w->places[w->nlocations++] = p->place;
			w->location_of[p->place] = (uint32_t)w->nlocations;
		}
		ret[n++] = w->location_of[p->place];
		path = p->parent;
	}
	return n;
}

static struct gr_error *write_sample(struct writer *w, uint32_t path,
				     uint64_t *locations)
{
	const struct gr_path *p = &w->paths.paths[path];
	const int64_t *strings = &w->label_strings[2 * p->label];
	Gr__Pprof__Label kind = GR__PPROF__LABEL__INIT;
	Gr__Pprof__Label state = GR__PPROF__LABEL__INIT;
	Gr__Pprof__Label id = GR__PPROF__LABEL__INIT;
	Gr__Pprof__Sample sample = GR__PPROF__SAMPLE__INIT;
	Gr__Pprof__Label *labels[3];
	int64_t values[] = { (int64_t)p->objects, (int64_t)p->bytes };

	kind.key = STRING_ROOT_KIND;
	kind.str = strings[0];
	state.key = STRING_GOROUTINE_STATE;
	state.str = strings[1];
	id.key = STRING_GOROUTINE_ID;
	id.num = (int64_t)w->paths.labels[p->label].goroutine_id;
	sample.label = labels;
	if (kind.str)
		labels[sample.n_label++] = &kind;
	if (state.str)
		labels[sample.n_label++] = &state;
	if (id.num)
		labels[sample.n_label++] = &id;
	sample.n_location_id = path_locations(w, path, locations);
	sample.location_id = locations;
	sample.n_value = GR_ARRAY_SIZE(values);
	sample.value = values;
	return put_message(w, 2, &sample.base);
}

static struct gr_error *write_samples(struct writer *w,
				      struct gr_profile_stats *stats)
{
	const struct gr_profile *profile = w->profile;
	uint64_t locations[GR_PATH_MAX_DEPTH];
	struct gr_error *err = NULL;

	for (uint32_t i = 0; i < w->paths.npaths && !err; i++) {
		const struct gr_path *path = &w->paths.paths[i];

		if (i % POLL_SAMPLES == 0 && profile->poll)
			err = profile->poll(profile->ctx);
		if (err || !path->objects)
			continue;
		err = write_sample(w, i, locations);
		stats->samples++;
		stats->total.objects += path->objects;
		stats->total.bytes += path->bytes;
	}
	return err;
}

// A location and its function have the same number.
static struct gr_error *write_location(struct writer *w, size_t index)
{
	const struct gr_path_place *place = &w->paths.places[w->places[index]];
	Gr__Pprof__Function function = GR__PPROF__FUNCTION__INIT;
	Gr__Pprof__Line line = GR__PPROF__LINE__INIT;
	Gr__Pprof__Location location = GR__PPROF__LOCATION__INIT;
	Gr__Pprof__Line *lines[] = { &line };

	function.id = index + 1;
	function.name = add_string(w, place->name);
	// No system name: pprof takes equal ones for C++ and cuts off what
	// stands in brackets.
	function.filename = add_string(w, place->file);
	function.start_line = place->line;
	line.function_id = function.id;
	line.line = place->line;
	location.id = function.id;
	location.mapping_id = 1;
	location.n_line = GR_ARRAY_SIZE(lines);
	location.line = lines;
	struct gr_error *err = put_message(w, 4, &location.base);
	return err ? err : put_message(w, 5, &function.base);
}

static struct gr_error *write_locations(struct writer *w)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; i < w->nlocations && !err; i++)
		err = write_location(w, i);
	return err;
}

static struct gr_error *add_comment(struct writer *w, const char *fmt, ...)
	GR_PRINTF(2, 3);

static struct gr_error *add_comment(struct writer *w, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return &gr_enomem;
	w->comments[w->ncomments++] = text;
	return NULL;
}

static struct gr_error *add_total(struct writer *w, const char *what,
				  const struct gr_total *total)
{
	return add_comment(w, "%s: %" PRIu64 " objects, %" PRIu64 " bytes",
			   what, total->objects, total->bytes);
}

// Nothing that differs between two scans of one core: no times, no memory.
static struct gr_error *add_comments(struct writer *w)
{
	const struct gr_profile *profile = w->profile;
	const struct gr_ledger *ledger = profile->ledger;
	struct gr_error *err;

	err = add_comment(w, "goref-gdb %s, %s, build id %s",
			  profile->tool_version, profile->go_version,
			  profile->build_id && *profile->build_id ?
				  profile->build_id :
				  "none");
	if (!err && profile->partial)
		err = add_comment(w, "PARTIAL: %s: sizes are lower bounds",
				  profile->partial);
	if (!err)
		err = add_total(w, "allocated", &ledger->allocated);
	if (!err)
		err = add_total(w, "reached", &ledger->reached);
	if (!err)
		err = add_total(w, "reached by type", &ledger->typed);
	if (!err)
		err = add_total(w, "reached by runtime type",
				&ledger->runtime_type);
	if (!err)
		err = add_total(w, "reached by header", &ledger->header);
	if (!err)
		err = add_total(w, "reached by mask", &ledger->masked);
	if (!err)
		err = add_total(w, "not reached", &ledger->unreached);
	for (size_t i = 0; i < GR_NGAPS && !err; i++) {
		if (ledger->gaps.count[i])
			err = add_comment(w, "gap %s: %" PRIu64,
					  gr_gap_name((enum gr_gap)i),
					  ledger->gaps.count[i]);
	}
	if (!err && (w->paths.folded || w->paths.shortened))
		err = add_comment(w,
				  "folded: %" PRIu64 " small paths and %" PRIu64
				  " too deep ones are counted on their parents",
				  w->paths.folded, w->paths.shortened);
	return err;
}

// Last: comments and the string table, now that all strings are known.
static struct gr_error *write_strings(struct writer *w)
{
	Gr__Pprof__Profile tail = GR__PPROF__PROFILE__INIT;
	int64_t comments[MAX_COMMENTS];
	struct gr_error *err = add_comments(w);

	if (err)
		return err;
	for (size_t i = 0; i < w->ncomments; i++)
		comments[i] = add_string(w, w->comments[i]);
	tail.n_comment = w->ncomments;
	tail.comment = comments;
	tail.n_string_table = w->strings.count;
	tail.string_table = (char **)w->strings.strings;
	return put_profile(w, &tail);
}

static struct gr_error *write_all(struct writer *w, const char *path,
				  struct gr_profile_stats *stats)
{
	const struct gr_profile *profile = w->profile;
	struct gr_error *err;

	err = gr_paths_init(&w->paths, profile->nodes, profile->nnodes,
			    profile->roots, profile->nroots);
	if (!err && profile->max_samples)
		err = gr_paths_fold(&w->paths, profile->max_samples);
	if (!err)
		err = writer_alloc(w);
	if (!err)
		err = gr_output_init(&w->out, path, GR_OUTPUT_GZIP);
	if (!err)
		err = write_header(w);
	if (!err)
		err = write_samples(w, stats);
	if (!err)
		err = write_locations(w);
	if (!err)
		err = write_strings(w);
	if (!err && w->has_failed)
		err = &gr_enomem;
	if (!err)
		err = gr_output_commit(&w->out);
	stats->folded = w->paths.folded;
	return err;
}

struct gr_error *gr_profile_check_writable(const char *path)
{
	return gr_output_check(path);
}

struct gr_error *gr_profile_write(const struct gr_profile *profile,
				  const char *path,
				  struct gr_profile_stats *ret)
{
	struct writer w = { .profile = profile, .out = { .fd = -1 } };

	memset(ret, 0, sizeof(*ret));
	struct gr_error *err = write_all(&w, path, ret);
	writer_deinit(&w);
	return err;
}
