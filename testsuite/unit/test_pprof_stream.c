// SPDX-License-Identifier: Apache-2.0
// The stream of a profile, read back with protobuf-c: inlined calls, functions
// that locations share, stacks with a common beginning, labels, times.
#include "profile_reader.h"

#include "proto/pprof_stream.h"

static const struct gr_pprof_header header = {
	.types = { { "contentions", "count" }, { "delay", "nanoseconds" } },
	.ntypes = 2,
	.period_type = { "contentions", "count" },
	.period = 100,
	.default_type = "delay",
	.stamp = { .time_ns = 1700000000123456789 },
	.duration_ns = 42,
	.exe_path = "/srv/app",
	.build_id = "c0ffee",
};

static const struct gr_pprof_line inlined[] = {
	{ "main.inner", "a.go", 3, 1 },
	{ "main.middle", "a.go", 7, 6 },
	{ "main.outer", "b.go", 12, 10 },
};

static const struct gr_pprof_line start[] = { { "main.main", "b.go", 30, 0 } };

static struct gr_pprof_label label_of(struct gr_pprof_stream *stream,
				      const char *key, const char *text,
				      int64_t number)
{
	return (struct gr_pprof_label){ gr_pprof_string(stream, key),
					gr_pprof_string(stream, text), number };
}

// Two samples with a common root, one of them with labels.
static void write_samples(struct gr_pprof_stream *stream)
{
	struct gr_pprof_stack stack;
	const struct gr_pprof_label labels[] = {
		label_of(stream, "user", "ann", 0),
		label_of(stream, "empty", "", 0),
		label_of(stream, "size", NULL, 64),
	};
	const int64_t first[] = { 5, 1234567890123 }, second[] = { 0, -1 };

	assert_null(gr_pprof_stack_init(&stack, 3));
	gr_pprof_stack_push(&stack, 0,
			    gr_pprof_location(stream, 0x400100, start, 1));
	gr_pprof_stack_push(&stack, 1,
			    gr_pprof_location(stream, 0x400200, inlined, 3));
	assert_null(gr_pprof_sample(stream, &stack, 2, first, labels, 3));
	gr_pprof_stack_push(&stack, 1,
			    gr_pprof_location(stream, 0x400300, inlined, 1));
	assert_null(gr_pprof_sample(stream, &stack, 2, second, NULL, 0));
	assert_null(gr_pprof_sample(stream, &stack, 0, second, NULL, 0));
	gr_pprof_stack_deinit(&stack);
}

static Gr__Pprof__Profile *
write_and_read_with(const struct gr_pprof_header *head)
{
	struct gr_pprof_stream stream;

	gr_pprof_init(&stream, head);
	assert_null(gr_pprof_open(&stream, file_path("p.pb.gz")));
	write_samples(&stream);
	gr_pprof_comment(&stream, "a comment of %d", 1);
	assert_null(gr_pprof_commit(&stream));
	gr_pprof_deinit(&stream);
	return read_profile(file_path("p.pb.gz"));
}

static Gr__Pprof__Profile *write_and_read(void)
{
	return write_and_read_with(&header);
}

static const char *text_of(const Gr__Pprof__Profile *p, int64_t index)
{
	assert_in_range(index, 0, p->n_string_table - 1);
	return p->string_table[index];
}

TEST(header)
{
	Gr__Pprof__Profile *p = write_and_read();

	assert_int_equal(p->n_sample_type, 2);
	assert_string_equal(text_of(p, p->sample_type[0]->type), "contentions");
	assert_string_equal(text_of(p, p->sample_type[1]->unit), "nanoseconds");
	assert_string_equal(text_of(p, p->period_type->unit), "count");
	assert_string_equal(text_of(p, p->default_sample_type), "delay");
	assert_int_equal(p->period, 100);
	assert_int_equal(p->time_nanos, 1700000000123456789);
	assert_int_equal(p->duration_nanos, 42);
	assert_string_equal(text_of(p, p->mapping[0]->filename), "/srv/app");
	assert_string_equal(text_of(p, p->comment[0]), "a comment of 1");
	gr__pprof__profile__free_unpacked(p, NULL);
}

TEST(inlined)
{
	Gr__Pprof__Profile *p = write_and_read();
	const Gr__Pprof__Location *at = p->location[1];

	assert_int_equal(p->n_location, 3);
	assert_int_equal(at->address, 0x400200);
	assert_int_equal(at->n_line, 3);
	for (size_t i = 0; i < 3; i++) {
		const Gr__Pprof__Function *f =
			p->function[at->line[i]->function_id - 1];

		assert_int_equal(f->id, at->line[i]->function_id);
		assert_string_equal(text_of(p, f->name), inlined[i].function);
		assert_string_equal(text_of(p, f->filename), inlined[i].file);
		assert_int_equal(f->start_line, inlined[i].start_line);
		assert_int_equal(at->line[i]->line, inlined[i].line);
	}
	gr__pprof__profile__free_unpacked(p, NULL);
}

// main.inner is in two locations and is one function.
TEST(functions_are_shared)
{
	Gr__Pprof__Profile *p = write_and_read();

	assert_int_equal(p->n_function, 4);
	assert_int_equal(p->location[2]->line[0]->function_id,
			 p->location[1]->line[0]->function_id);
	gr__pprof__profile__free_unpacked(p, NULL);
}

TEST(samples)
{
	Gr__Pprof__Profile *p = write_and_read();

	assert_int_equal(p->n_sample, 3);
	assert_int_equal(p->sample[0]->n_location_id, 2);
	assert_int_equal(p->sample[0]->location_id[0], 2);
	assert_int_equal(p->sample[0]->location_id[1], 1);
	assert_int_equal(p->sample[0]->value[1], 1234567890123);
	assert_int_equal(p->sample[1]->location_id[0], 3);
	assert_int_equal(p->sample[1]->location_id[1], 1);
	assert_int_equal(p->sample[1]->value[1], -1);
	assert_int_equal(p->sample[2]->n_location_id, 0);
	gr__pprof__profile__free_unpacked(p, NULL);
}

TEST(labels)
{
	Gr__Pprof__Profile *p = write_and_read();
	Gr__Pprof__Label *const *labels = p->sample[0]->label;

	assert_int_equal(p->sample[0]->n_label, 3);
	assert_string_equal(text_of(p, labels[0]->key), "user");
	assert_string_equal(text_of(p, labels[0]->str), "ann");
	assert_string_equal(text_of(p, labels[1]->key), "empty");
	assert_int_equal(labels[1]->str, 0);
	assert_int_equal(labels[2]->num, 64);
	assert_int_equal(p->sample[1]->n_label, 0);
	gr__pprof__profile__free_unpacked(p, NULL);
}

// Labels of the profile come behind those of each sample.
TEST(stamp)
{
	const struct gr_profile_tag tags[] = { { "env", "staging" },
					       { "user", "\u00e9" } };
	struct gr_pprof_header stamped = header;

	stamped.stamp = (struct gr_profile_stamp){ tags, 2, 5 };
	Gr__Pprof__Profile *p = write_and_read_with(&stamped);
	assert_int_equal(p->time_nanos, 5);
	assert_int_equal(p->sample[0]->n_label, 5);
	for (size_t i = 0; i < p->n_sample; i++) {
		const Gr__Pprof__Sample *sample = p->sample[i];
		Gr__Pprof__Label **last = sample->label + sample->n_label - 2;

		for (size_t j = 0; j < 2; j++) {
			assert_string_equal(text_of(p, last[j]->key),
					    tags[j].key);
			assert_string_equal(text_of(p, last[j]->str),
					    tags[j].value);
		}
	}
	assert_int_equal(p->sample[2]->n_label, 2);
	gr__pprof__profile__free_unpacked(p, NULL);
}

GR_SUITE_WITH("pprof stream", make_dir, remove_dir)
