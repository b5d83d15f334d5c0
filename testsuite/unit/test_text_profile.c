// SPDX-License-Identifier: Apache-2.0
// Profiles as text: every byte of small ones; names that have what separates
// names; a graph that is cut.
#include "profile_fixture.h"

#include "base/cleanup.h"

static const char *write_text(const struct gr_profile *profile,
			      enum gr_profile_format format,
			      struct gr_profile_stats *stats)
{
	static char text[65536];
	struct gr_profile p = *profile;

	p.format = format;
	assert_null(gr_profile_write(&p, file_path("text"), stats));
	size_t n = read_bytes(file_path("text"), text, sizeof(text) - 1);
	text[n] = '\0';
	return text;
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, part)); p += strlen(part))
		n++;
	return n;
}

TEST(folded)
{
	const struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;

	assert_string_equal(write_text(&profile, GR_PROFILE_FOLDED, &stats),
			    "main.cache 100\n"
			    "main.cache;next. (*main.Node) 200\n"
			    "main.work.buf 20\n"
			    "main.work.buf;[0]. (*main.Node) 192\n");
	assert_int_equal(stats.samples, 4);
	assert_int_equal(stats.total.objects, 10);
	assert_int_equal(stats.total.bytes, 512);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The lines are those of sort(1) in the locale C.
static void check_sorted(char *text, size_t nlines)
{
	_cleanup_free_ char **lines = calloc(nlines, sizeof(*lines));
	_cleanup_free_ char **sorted = calloc(nlines, sizeof(*lines));
	char *rest = text;

	for (size_t i = 0; i < nlines; i++)
		lines[i] = sorted[i] = strsep(&rest, "\n");
	assert_string_equal(rest, "");
	qsort(sorted, nlines, sizeof(*sorted), compare_lines);
	for (size_t i = 0; i < nlines; i++)
		assert_ptr_equal(lines[i], sorted[i]);
}

/* A name is followed by a space and a number, or by a `;'. These names have
 * bytes that sort before and after these, and one is the beginning of another.
 * Pseudo-random trees of such names. */
TEST(folded_is_sorted)
{
	static const char *const names[] = {
		"a",   "a ",  "a 1",	  "a 10",      "a (b)", "a.b", "a:",
		"a;",  "a\"", "ab",	  "A",	       "a1",	"a;b", "a:b",
		"[0]", "~",   "\xc3\xa9", "a\xc3\xa9", "1",	"a 9",
	};
	enum { N = 500, NNAMES = GR_ARRAY_SIZE(names) };
	struct gr_node nodes[N];
	struct gr_root_total root = { .name = "a" };
	struct gr_profile_stats stats;
	uint32_t seed = 1;

	for (uint32_t round = 0; round < 50; round++) {
		for (uint32_t i = 0; i < N; i++) {
			seed = seed * 1103515245 + 12345;
			uint32_t r = seed >> 8;
			nodes[i] = (struct gr_node){ names[r % NNAMES],
						     i < 8 ? NONE :
							     (r >> 5) % (i / 2),
						     0, (r >> 14) % 3,
						     (r >> 14) % 3 * (r % 70) };
		}
		const struct gr_profile profile =
			make_profile(nodes, N, &root, 1);
		const char *text =
			write_text(&profile, GR_PROFILE_FOLDED, &stats);
		size_t n = count(text, "\n");
		assert_true(n > 50);
		_cleanup_free_ char *copy = strdup(text);
		check_sorted(copy, n);
	}
}

TEST(jsonl)
{
	const struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;

	assert_string_equal(
		write_text(&profile, GR_PROFILE_JSONL, &stats),
		"{\"id\": 0, \"parent\": null, \"name\": \"main.cache\", "
		"\"depth\": 1, \"objects\": 1, \"bytes\": 100, "
		"\"total_objects\": 3, \"total_bytes\": 300, "
		"\"kind\": \"global\", \"file\": \"/src/main.go\", "
		"\"line\": 7}\n"
		"{\"id\": 1, \"parent\": null, \"name\": \"main.work.buf\", "
		"\"depth\": 1, \"objects\": 0, \"bytes\": 0, "
		"\"total_objects\": 1, \"total_bytes\": 64, "
		"\"kind\": \"local\", \"goroutine_state\": \"waiting\", "
		"\"file\": \"/src/work.go\", \"line\": 12}\n"
		"{\"id\": 2, \"parent\": null, \"name\": \"main.work.buf\", "
		"\"depth\": 1, \"objects\": 2, \"bytes\": 20, "
		"\"total_objects\": 6, \"total_bytes\": 148, "
		"\"kind\": \"local\", \"goroutine_state\": \"running\", "
		"\"file\": \"/src/work.go\", \"line\": 12}\n"
		"{\"id\": 3, \"parent\": 0, "
		"\"name\": \"next. (*main.Node)\", "
		"\"depth\": 2, \"objects\": 2, \"bytes\": 200, "
		"\"total_objects\": 2, \"total_bytes\": 200}\n"
		"{\"id\": 4, \"parent\": 1, \"name\": \"[0]. (*main.Node)\", "
		"\"depth\": 2, \"objects\": 1, \"bytes\": 64, "
		"\"total_objects\": 1, \"total_bytes\": 64}\n"
		"{\"id\": 5, \"parent\": 2, \"name\": \"[0]. (*main.Node)\", "
		"\"depth\": 2, \"objects\": 4, \"bytes\": 128, "
		"\"total_objects\": 4, \"total_bytes\": 128}\n");
}

TEST(dot)
{
	const struct gr_node nodes[] = { { "main.a", NONE, 0, 1, 250 },
					 { "b", 0, 0, 1, 500 } };
	const struct gr_root_total root = { .name = "main.a" };
	const struct gr_profile profile = make_profile(nodes, 2, &root, 1);
	struct gr_profile_stats stats;

	assert_string_equal(write_text(&profile, GR_PROFILE_DOT, &stats),
			    "digraph goref {\n"
			    "  rankdir=LR;\n"
			    "  node [shape=box, style=rounded];\n"
			    "  top [label=\"reached\\n1000 B (100.0 %)\"];\n"
			    "  n0 [label=\"main.a\\n750 B (75.0 %)\"];\n"
			    "  top -> n0;\n"
			    "  n1 [label=\"b\\n500 B (50.0 %)\"];\n"
			    "  n0 -> n1;\n"
			    "}\n");
}

/* A ledger has no blocks of C, and dominators keep them: no share is more than
 * all. */
TEST(dot_of_more)
{
	const struct gr_node nodes[] = { { "main.a", NONE, 0, 1, 500 },
					 { "b", 0, 0, 1, 1500 } };
	const struct gr_root_total root = { .name = "main.a" };
	const struct gr_profile profile = make_profile(nodes, 2, &root, 1);
	struct gr_profile_stats stats;
	const char *text = write_text(&profile, GR_PROFILE_DOT, &stats);

	assert_non_null(strstr(text, "reached\\n2.0 KiB (100.0 %)"));
	assert_non_null(strstr(text, "main.a\\n2.0 KiB (100.0 %)"));
	assert_non_null(strstr(text, "b\\n1.5 KiB (75.0 %)"));
}

TEST(names_are_escaped)
{
	const struct gr_node nodes[] = { { "[\"a;b\\\"]", NONE, 0, 1, 8 },
					 { ";", 0, 0, 1, 8 } };
	const struct gr_root_total root = { .name = "r" };
	const struct gr_profile profile = make_profile(nodes, 2, &root, 1);
	struct gr_profile_stats stats;

	assert_string_equal(write_text(&profile, GR_PROFILE_FOLDED, &stats),
			    "[\"a:b\\\"] 8\n[\"a:b\\\"];: 8\n");
	assert_non_null(strstr(write_text(&profile, GR_PROFILE_JSONL, &stats),
			       "\"name\": \"[\\\"a;b\\\\\\\"]\""));
	assert_non_null(strstr(write_text(&profile, GR_PROFILE_DOT, &stats),
			       "label=\"[\\\"a;b\\\\\\\"]\\n16 B"));
}

/* A hundred roots with a node each; the largest are shown, and how many are
 * not. */
TEST(dot_is_cut)
{
	enum { N = 100 };
	struct gr_node nodes[2 * N];
	struct gr_root_total roots[N];
	char names[N][8];
	struct gr_profile_stats stats;

	for (uint32_t i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "r%u", i);
		nodes[i] = (struct gr_node){ names[i], NONE, i, 1, 1000 - i };
		nodes[N + i] = (struct gr_node){ "small", i, i, 1, 200 };
		roots[i] =
			(struct gr_root_total){ .name = names[i], .node = i };
	}
	const struct gr_profile profile = make_profile(nodes, 2 * N, roots, N);
	const char *text = write_text(&profile, GR_PROFILE_DOT, &stats);
	assert_int_equal(count(text, "  top -> n"), 60);
	assert_non_null(strstr(text, "top -> n59;"));
	assert_non_null(strstr(text, "top_rest [style=\"dashed,rounded\", "
				     "label=\"40 more\\n"));
	assert_int_equal(count(text, "label=\"1 more\\n200 B"), 60);
	assert_null(strstr(text, "not drawn"));
	assert_int_equal(stats.samples, 2 * N);
}

/* A path of less than a thousandth has no box and no edge. Several that have
 * more together share a box. */
TEST(dot_drops_what_is_too_small)
{
	const struct gr_node nodes[] = {
		{ "main.a", NONE, 0, 1, 9980 },
		{ "b", 0, 0, 1, 11 },
		{ "c", 0, 0, 1, 9 },
		{ "main.d", NONE, 1, 1, 0 },
		{ "e", 3, 1, 1, 7 },
		{ "f", 4, 1, 1, 2 },
		{ "g", 0, 0, 1, 3 },
	};
	const struct gr_root_total roots[] = {
		{ .name = "main.a", .node = 0 },
		{ .name = "main.d", .node = 3 },
	};
	const struct gr_ledger reached = { .reached = { 7, 10012 } };
	struct gr_profile profile = make_profile(nodes, 7, roots, 2);
	struct gr_profile_stats stats;

	profile.ledger = &reached;
	assert_string_equal(write_text(&profile, GR_PROFILE_DOT, &stats),
			    "digraph goref {\n"
			    "  rankdir=LR;\n"
			    "  node [shape=box, style=rounded];\n"
			    "  top [label=\"reached\\n9.8 KiB (100.0 %)\"];\n"
			    "  n0 [label=\"main.a\\n9.8 KiB (99.9 %)\"];\n"
			    "  top -> n0;\n"
			    "  n0_rest [style=\"dashed,rounded\", "
			    "label=\"2 more\\n12 B (0.1 %)\"];\n"
			    "  n0 -> n0_rest [style=dashed];\n"
			    "  n1 [label=\"b\\n11 B (0.1 %)\"];\n"
			    "  n0 -> n1;\n"
			    "  label=\"not drawn: 1 of less than 0.1 %, "
			    "9 B together\";\n"
			    "}\n");
}

/* All formats have the same paths, also when small ones are folded. */
TEST(small_paths_fold)
{
	struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;

	profile.max_samples = 2;
	const char *text = write_text(&profile, GR_PROFILE_FOLDED, &stats);
	assert_int_equal(count(text, "\n"), 2);
	assert_int_equal(stats.samples, 2);
	assert_int_equal(stats.total.bytes, 512);
	write_text(&profile, GR_PROFILE_JSONL, &stats);
	assert_int_equal(stats.total.bytes, 512);
}

TEST(interrupted)
{
	struct gr_profile profile = small_profile();
	struct gr_profile_stats stats;

	profile.poll = suite_refuse;
	for (int format = GR_PROFILE_FOLDED; format <= GR_PROFILE_JSONL;
	     format++) {
		profile.format = format;
		struct gr_error *err =
			gr_profile_write(&profile, file_path("a"), &stats);
		assert_error_code(err, GR_ERROR_INTERRUPTED);
		gr_error_destroy(err);
		assert_int_equal(access(file_path("a"), F_OK), -1);
	}
}

GR_SUITE_WITH("text profile", make_dir, remove_dir)
