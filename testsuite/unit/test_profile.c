// SPDX-License-Identifier: Apache-2.0
// The profile writer, read back with protobuf-c: sums, labels, merging,
// folding, the same bytes twice.
#include "profile_fixture.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "profile_reader.h"

static Gr__Pprof__Profile *write_and_read(const struct gr_profile *profile,
					  struct gr_profile_stats *stats)
{
	assert_null(gr_profile_write(profile, file_path("p.pb.gz"), stats));
	return read_profile(file_path("p.pb.gz"));
}

// Text of a sample: "leaf;..;root kind state objects bytes".
static const char *sample_text(const Gr__Pprof__Profile *p, size_t i)
{
	static char text[4096];
	const Gr__Pprof__Sample *s = p->sample[i];
	size_t n = 0;

	for (size_t j = 0; j < s->n_location_id; j++) {
		uint64_t id = s->location_id[j];

		assert_in_range(id, 1, p->n_location);
		assert_int_equal(p->location[id - 1]->id, id);
		uint64_t f = p->location[id - 1]->line[0]->function_id;
		assert_int_equal(p->function[f - 1]->id, f);
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, "%s%s", j ? ";" : "",
			p->string_table[p->function[f - 1]->name]);
	}
	for (size_t j = 0; j < s->n_label; j++) {
		const Gr__Pprof__Label *label = s->label[j];
		char number[24];

		snprintf(number, sizeof(number), "%" PRId64, label->num);
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %s=%s",
				      p->string_table[label->key],
				      label->str ? p->string_table[label->str] :
						   number);
	}
	assert_int_equal(s->n_value, 2);
	snprintf(text + n, sizeof(text) - n, " %" PRId64 " %" PRId64,
		 s->value[0], s->value[1]);
	return text;
}

static bool has_sample(const Gr__Pprof__Profile *p, const char *want)
{
	for (size_t i = 0; i < p->n_sample; i++) {
		if (!strcmp(sample_text(p, i), want))
			return true;
	}
	return false;
}

static struct gr_total sum(const Gr__Pprof__Profile *p)
{
	struct gr_total total = { 0, 0 };

	for (size_t i = 0; i < p->n_sample; i++) {
		total.objects += (uint64_t)p->sample[i]->value[0];
		total.bytes += (uint64_t)p->sample[i]->value[1];
	}
	return total;
}

static bool has_comment(const Gr__Pprof__Profile *p, const char *part)
{
	for (size_t i = 0; i < p->n_comment; i++) {
		if (strstr(p->string_table[p->comment[i]], part))
			return true;
	}
	return false;
}

// Two goroutines run main.work: same name, one waiting and one running twice.
// The small result, asked for goroutine by goroutine.
static const struct gr_root_total goroutine_roots[] = {
	WORK("running", 7, 2, 4, 106),
	WORK("waiting", 18, 1, 1, 64),
	WORK("running", 19, 4, 2, 42),
};

TEST(header)
{
	struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;
	Gr__Pprof__Profile *p = write_and_read(&profile, &stats);

	assert_string_equal(p->string_table[0], "");
	assert_int_equal(p->n_sample_type, 2);
	assert_string_equal(p->string_table[p->sample_type[0]->type],
			    "inuse_objects");
	assert_string_equal(p->string_table[p->sample_type[0]->unit], "count");
	assert_string_equal(p->string_table[p->sample_type[1]->type],
			    "inuse_space");
	assert_string_equal(p->string_table[p->sample_type[1]->unit], "bytes");
	assert_string_equal(p->string_table[p->default_sample_type],
			    "inuse_space");
	assert_string_equal(p->string_table[p->period_type->type], "space");
	assert_int_equal(p->n_mapping, 1);
	assert_string_equal(p->string_table[p->mapping[0]->filename],
			    "/srv/app");
	assert_string_equal(p->string_table[p->mapping[0]->build_id], "c0ffee");
	assert_true(has_comment(p, "goref-gdb 1.2.3, go1.24.4"));
	assert_true(has_comment(p, "reached: 10 objects, 1000 bytes"));
	assert_true(has_comment(p, "build id c0ffee"));
	assert_false(has_comment(p, "folded"));
	gr__pprof__profile__free_unpacked(p, NULL);
}

TEST(merge)
{
	struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;

	profile.has_root_labels = true;
	Gr__Pprof__Profile *p = write_and_read(&profile, &stats);

	assert_int_equal(p->n_sample, 5);
	assert_int_equal(stats.samples, 5);
	assert_true(has_sample(p, "main.cache root_kind=global 1 100"));
	assert_true(has_sample(p, "next. (*main.Node);main.cache "
				  "root_kind=global 2 200"));
	assert_true(has_sample(p, "main.work.buf root_kind=local "
				  "goroutine_state=running 2 20"));
	assert_true(has_sample(p, "[0]. (*main.Node);main.work.buf "
				  "root_kind=local "
				  "goroutine_state=running 4 128"));
	assert_true(has_sample(p, "[0]. (*main.Node);main.work.buf "
				  "root_kind=local "
				  "goroutine_state=waiting 1 64"));
	assert_int_equal(sum(p).objects, 10);
	assert_int_equal(sum(p).bytes, 512);
	assert_int_equal(stats.total.bytes, 512);
	// One function a name and place.
	assert_int_equal(p->n_function, 4);
	gr__pprof__profile__free_unpacked(p, NULL);
}

// `go tool pprof' draws a box for each label that is a text, so there are none
// unless they are asked for; a comment says how much is below which kind.
TEST(no_labels)
{
	struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;
	Gr__Pprof__Profile *p = write_and_read(&profile, &stats);

	assert_int_equal(p->n_sample, 4);
	assert_int_equal(stats.samples, 4);
	assert_true(has_sample(p, "main.cache 1 100"));
	assert_true(has_sample(p, "next. (*main.Node);main.cache 2 200"));
	assert_true(has_sample(p, "main.work.buf 2 20"));
	assert_true(has_sample(p, "[0]. (*main.Node);main.work.buf 5 192"));
	assert_int_equal(sum(p).objects, 10);
	assert_int_equal(sum(p).bytes, 512);
	assert_true(has_comment(p, "below global roots: "
				   "3 objects, 300 bytes"));
	assert_true(has_comment(p, "below local roots: "
				   "7 objects, 212 bytes"));
	assert_false(has_comment(p, "kind stack"));
	gr__pprof__profile__free_unpacked(p, NULL);
}

TEST(root_place)
{
	struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;
	Gr__Pprof__Profile *p = write_and_read(&profile, &stats);
	bool found = false;

	for (size_t i = 0; i < p->n_function; i++) {
		const Gr__Pprof__Function *f = p->function[i];

		if (strcmp(p->string_table[f->name], "main.work.buf"))
			continue;
		found = true;
		assert_string_equal(p->string_table[f->filename],
				    "/src/work.go");
		assert_int_equal(p->location[i]->line[0]->line, 12);
		assert_int_equal(p->location[i]->mapping_id, 1);
	}
	assert_true(found);
	gr__pprof__profile__free_unpacked(p, NULL);
}

TEST(goroutine_ids)
{
	struct gr_profile profile =
		make_profile(small_nodes, GR_ARRAY_SIZE(small_nodes),
			     goroutine_roots, GR_ARRAY_SIZE(goroutine_roots));
	struct gr_profile_stats stats;
	Gr__Pprof__Profile *p = write_and_read(&profile, &stats);

	// The id is a number, for which `go tool pprof' draws no box.
	assert_int_equal(p->n_sample, 7);
	assert_true(has_sample(p, "main.work.buf goroutine_id=7 1 10"));
	gr__pprof__profile__free_unpacked(p, NULL);
	profile.has_root_labels = true;
	p = write_and_read(&profile, &stats);
	// The two that run are no longer one.
	assert_int_equal(p->n_sample, 7);
	assert_true(has_sample(p, "main.work.buf root_kind=local "
				  "goroutine_state=running goroutine_id=7 "
				  "1 10"));
	assert_true(has_sample(p, "[0]. (*main.Node);main.work.buf "
				  "root_kind=local goroutine_state=running "
				  "goroutine_id=19 1 32"));
	assert_true(has_sample(p, "[0]. (*main.Node);main.work.buf "
				  "root_kind=local goroutine_state=waiting "
				  "goroutine_id=18 1 64"));
	assert_int_equal(sum(p).bytes, 512);
	gr__pprof__profile__free_unpacked(p, NULL);
}

// As many goroutines as a server has: labels are found without a search.
enum { GOROUTINES = 200000 };

TEST(many_goroutines)
{
	_cleanup_free_ struct gr_node *nodes =
		calloc(GOROUTINES, sizeof(*nodes));
	_cleanup_free_ struct gr_root_total *roots =
		calloc(GOROUTINES, sizeof(*roots));
	struct gr_profile_stats stats;

	for (uint32_t i = 0; i < GOROUTINES; i++) {
		nodes[i] = (struct gr_node){ "main.work.buf", NONE, i, 1, 8 };
		roots[i] =
			(struct gr_root_total)WORK("waiting", i + 1, i, 1, 8);
	}
	struct gr_profile profile =
		make_profile(nodes, GOROUTINES, roots, GOROUTINES);
	profile.max_samples = 0;
	assert_null(gr_profile_write(&profile, file_path("many"), &stats));
	assert_int_equal(stats.samples, GOROUTINES);
	assert_int_equal(stats.total.bytes, 8 * GOROUTINES);
	unlink(file_path("many"));
}

// Leaf sizes 1..6 under two parents; root "b" has nothing itself.
static const struct gr_node fold_nodes[] = {
	{ "a", NONE, 0, 1, 50 }, { "b", NONE, 1, 0, 0 }, { "a1", 0, 0, 1, 10 },
	{ "a2", 0, 0, 1, 20 },	 { "b1", 1, 1, 1, 30 },	 { "b2", 1, 1, 1, 30 },
	{ "b2x", 5, 1, 1, 5 },
};
static const struct gr_root_total fold_roots[] = {
	{ .name = "a", .kind = GR_ROOT_GLOBAL, .node = 0, .total = { 3, 80 } },
	{ .name = "b", .kind = GR_ROOT_GLOBAL, .node = 1, .total = { 3, 65 } },
};

struct fold_case {
	const char *name;
	uint64_t max_samples;
	uint64_t samples;
	const char *expected[4];
};

static const struct fold_case fold_cases[] = {
	{ "no limit", 0, 6, { "b2x;b2;b 1 5" } },
	{ "just enough", 6, 6, { "b2x;b2;b 1 5" } },
	{ "one leaf", 5, 5, { "b2;b 2 35" } },
	{ "equal parents", 3, 3, { "a 3 80", "b1;b 1 30", "b2;b 2 35" } },
	{ "only roots", 2, 2, { "a 3 80", "b 3 65" } },
	{ "fewer than roots", 1, 1, { "$other_roots$ 6 145" } },
};

TEST_ROWS(fold, fold_cases, c)
{
	struct gr_profile profile =
		make_profile(fold_nodes, GR_ARRAY_SIZE(fold_nodes), fold_roots,
			     GR_ARRAY_SIZE(fold_roots));
	struct gr_profile_stats stats;

	profile.max_samples = c->max_samples;
	Gr__Pprof__Profile *p = write_and_read(&profile, &stats);
	assert_int_equal(p->n_sample, c->samples);
	assert_int_equal(stats.samples, c->samples);
	assert_int_equal(sum(p).objects, 6);
	assert_int_equal(sum(p).bytes, 145);
	for (size_t i = 0; i < 4 && c->expected[i]; i++) {
		if (!has_sample(p, c->expected[i]))
			fail_msg("no sample \"%s\"", c->expected[i]);
	}
	assert_int_equal(has_comment(p, "folded"), c->samples < 6);
	gr__pprof__profile__free_unpacked(p, NULL);
}

// A comb: a chain far deeper than a path may be, with a leaf at each level.
enum { DEEP = 3000 };

TEST(deep)
{
	_cleanup_free_ struct gr_node *nodes = calloc(2 * DEEP, sizeof(*nodes));
	struct gr_root_total root = { .name = "r", .node = 0 };
	struct gr_profile_stats stats;

	for (uint32_t i = 0; i < DEEP; i++) {
		nodes[2 * i] = (struct gr_node){ "next", i ? 2 * i - 2 : NONE,
						 0, 1, 16 };
		nodes[2 * i + 1] = (struct gr_node){ "leaf", 2 * i, 0, 1, 8 };
	}
	nodes[0].name = "r";
	struct gr_profile profile = make_profile(nodes, 2 * DEEP, &root, 1);
	Gr__Pprof__Profile *p = write_and_read(&profile, &stats);
	assert_int_equal(sum(p).objects, 2 * DEEP);
	assert_int_equal(sum(p).bytes, 24 * DEEP);
	for (size_t i = 0; i < p->n_sample; i++)
		assert_true(p->sample[i]->n_location_id <= 1024);
	assert_true(has_comment(p, "too deep"));
	gr__pprof__profile__free_unpacked(p, NULL);
}

// The longest sample: a path as deep as there can be, whose locations have
// large numbers, with all labels and the largest values.
enum { WIDE = 20000, LONGEST = 1024 };

TEST(longest)
{
	enum { COUNT = WIDE + LONGEST };
	_cleanup_free_ struct gr_node *nodes = calloc(COUNT, sizeof(*nodes));
	static char names[COUNT][16];
	struct gr_root_total root = WORK("waiting", INT64_MAX, 0, 0, 0);
	struct gr_profile_stats stats;

	for (uint32_t i = 0; i < COUNT; i++) {
		bool is_wide = i && i <= WIDE;
		uint32_t parent = is_wide || i == WIDE + 1 ? 0 : i - 1;

		snprintf(names[i], sizeof(names[i]), "n%u", i);
		nodes[i] = (struct gr_node){ names[i], i ? parent : NONE, 0,
					     is_wide, is_wide * 8 };
	}
	nodes[COUNT - 1].objects = UINT64_C(1) << 61;
	nodes[COUNT - 1].bytes = INT64_MAX - WIDE * 8;
	struct gr_profile profile = make_profile(nodes, COUNT, &root, 1);

	profile.has_root_labels = true;
	Gr__Pprof__Profile *p = write_and_read(&profile, &stats);
	assert_int_equal(p->n_sample, WIDE + 1);
	assert_string_equal(sample_text(p, 0),
			    "n1;n0 root_kind=local goroutine_state=waiting "
			    "goroutine_id=9223372036854775807 1 8");
	const Gr__Pprof__Sample *last = p->sample[WIDE];
	assert_int_equal(last->n_location_id, LONGEST);
	for (uint32_t i = 0; i < LONGEST; i++) {
		uint32_t node = i < LONGEST - 1 ? COUNT - 1 - i : 0;
		uint64_t id = last->location_id[i];

		assert_string_equal(p->string_table[p->function[id - 1]->name],
				    names[node]);
	}
	assert_true(last->location_id[0] > 1 << 14);
	assert_int_equal(last->n_label, 3);
	assert_int_equal(last->value[0], UINT64_C(1) << 61);
	assert_int_equal(last->value[1], INT64_MAX - WIDE * 8);
	assert_int_equal(stats.total.bytes, INT64_MAX);
	gr__pprof__profile__free_unpacked(p, NULL);
}

// Many nodes of pseudo-random sizes, names and parents, folded to a tenth.
enum { MANY = 50000 };

TEST(many)
{
	_cleanup_free_ struct gr_node *nodes = calloc(MANY, sizeof(*nodes));
	static char names[997][16];
	struct gr_root_total root = { .name = "r", .node = 0 };
	struct gr_profile_stats stats;
	struct gr_total want = { 0, 0 };
	uint32_t seed = 1;

	for (uint32_t i = 0; i < MANY; i++) {
		seed = seed * 1103515245 + 12345;
		char *name = names[(seed >> 8) % 997];
		snprintf(name, sizeof(names[0]), "n%u", (seed >> 8) % 997);
		nodes[i] = (struct gr_node){
			name, i ? (seed >> 4) % i : NONE, 0, seed >> 30,
			(seed >> 30) * (16 + (seed >> 12) % 4096)
		};
		want.objects += nodes[i].objects;
		want.bytes += nodes[i].bytes;
	}
	struct gr_profile profile = make_profile(nodes, MANY, &root, 1);
	profile.max_samples = MANY / 10;
	Gr__Pprof__Profile *p = write_and_read(&profile, &stats);
	assert_int_equal(p->n_sample, MANY / 10);
	assert_int_equal(sum(p).objects, want.objects);
	assert_int_equal(sum(p).bytes, want.bytes);
	gr__pprof__profile__free_unpacked(p, NULL);
}

TEST(same_bytes)
{
	struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;
	static char a[65536], b[65536];

	assert_null(gr_profile_write(&profile, file_path("a"), &stats));
	size_t na = read_bytes(file_path("a"), a, sizeof(a));
	assert_null(gr_profile_write(&profile, file_path("b"), &stats));
	size_t nb = read_bytes(file_path("b"), b, sizeof(b));
	assert_int_equal(na, nb);
	assert_memory_equal(a, b, na);
	// gzip's header: no flags (no name), no time.
	assert_memory_equal(a + 3, "\0\0\0\0\0", 5);
}

TEST(empty)
{
	struct gr_profile profile = make_profile(NULL, 0, NULL, 0);
	struct gr_profile_stats stats;
	Gr__Pprof__Profile *p = write_and_read(&profile, &stats);

	assert_int_equal(p->n_sample, 0);
	gr__pprof__profile__free_unpacked(p, NULL);
}

GR_SUITE_WITH("profile", make_dir, remove_dir)
