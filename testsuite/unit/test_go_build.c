// SPDX-License-Identifier: Apache-2.0
/* go_build: the linker's build information in files that are made up here. */
#include "inferior/go_build.h"

#include "suite.h"

#include "base/cleanup.h"
#include "elf_builder.h"

enum { HEAD = GR_GO_BUILD_HEAD_BYTES, NOTHING = -1 };

#define MARK "0123456789abcdef"
#define LINES "path\ta.b/c\nmod\ta.b\tv1\th1:x\ndep\td.e/f\tv2\nbuild\t-x=y\n"

/** A file with these bytes behind the head. */
struct build_case {
	const char *name;
	const char *text;
	size_t text_bytes;
	int off;	   /**< The head's place in its segment, or NOTHING. */
	uint8_t flags;	   /**< In the head. */
	const char *lines; /**< NULL: there is none. */
};

#define TEXT(text) text, sizeof(text) - 1

static const struct build_case build_cases[] = {
	{ "all",
	  TEXT("\3go1"
	       "\x53" MARK LINES MARK),
	  0, 2, LINES },
	{ "behind other data",
	  TEXT("\3go1"
	       "\x53" MARK LINES MARK),
	  48, 2, LINES },
	{ "not aligned",
	  TEXT("\3go1"
	       "\x53" MARK LINES MARK),
	  8, 2, NULL },
	{ "pointers",
	  TEXT("\3go1"
	       "\x53" MARK LINES MARK),
	  0, 0, NULL },
	{ "no lines",
	  TEXT("\3go1"
	       "\x20" MARK MARK),
	  0, 2, "" },
	{ "no marks",
	  TEXT("\3go1"
	       "\4abcd"),
	  0, 2, "" },
	{ "lines end early",
	  TEXT("\3go1"
	       "\x7f" MARK LINES MARK),
	  0, 2, "" },
	{ "version ends early", TEXT("\x7fgo1"), 0, 2, NULL },
	{ "very long", TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1go1"), 0, 2,
	  NULL },
	{ "nothing", TEXT(""), 0, 2, NULL },
	{ "no head", TEXT("abc"), NOTHING, 2, NULL },
};

static void build(struct elf_builder *b, const struct build_case *c)
{
	uint8_t head[HEAD];

	gr_go_build_make_head(head);
	head[15] = c->flags;
	builder_init(b, ET_EXEC);
	Elf64_Phdr *load = builder_header(b, PT_LOAD);
	if (c->off != NOTHING) {
		memset(builder_append(b, NULL, c->off), 0xee, c->off);
		builder_append(b, head, HEAD);
	}
	builder_append(b, c->text, c->text_bytes);
	load->p_filesz = load->p_memsz = b->bytes - load->p_offset;
	builder_finish(b);
}

TEST_ROWS(find, build_cases, c)
{
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));
	struct gr_go_build found;
	struct gr_elf elf;
	size_t bytes;

	build(b, c);
	_cleanup_free_ uint8_t *exact = builder_copy(b, 0, &bytes);
	assert_null(gr_elf_parse("F", (struct gr_bytes){ exact, bytes }, &elf));
	bool is_found = gr_go_build_find(&elf, &found);
	assert_int_equal(is_found, c->lines != NULL);
	if (!c->lines)
		return;
	assert_int_equal(found.version.size, 3);
	assert_memory_equal(found.version.data, "go1", 3);
	assert_int_equal(found.lines.size, strlen(c->lines));
	if (found.lines.size)
		assert_memory_equal(found.lines.data, c->lines,
				    found.lines.size);
}

/** The words of one line. */
struct line_case {
	const char *name;
	const char *line;
	const char *kind, *path;
};

static const struct line_case line_cases[] = {
	{ "words", "mod\ta.b\tv1", "mod", "a.b" },
	{ "one path", "path\ta.b/c", "path", "a.b/c" },
	{ "no path", "mod", "mod", "" },
	{ "an empty path", "mod\t\tv1", "mod", "" },
	{ "another kind", "module\tx", "module", "x" },
	{ "nothing", "", "", "" },
};

TEST_ROWS(line, line_cases, c)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "first\tx\n%s\n", c->line);
	const struct gr_bytes lines = { (const uint8_t *)text, n };
	struct gr_go_build_line line;
	uint64_t off = 0;

	assert_true(gr_go_build_next(lines, &off, &line));
	assert_true(gr_go_build_is(&line, "first"));
	assert_true(gr_go_build_next(lines, &off, &line));
	assert_true(gr_go_build_is(&line, c->kind));
	assert_false(gr_go_build_is(&line, "first"));
	assert_int_equal(line.path.size, strlen(c->path));
	if (line.path.size)
		assert_memory_equal(line.path.data, c->path, line.path.size);
	assert_false(gr_go_build_next(lines, &off, &line));
}

GR_SUITE("go_build")
