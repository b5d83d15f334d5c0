// SPDX-License-Identifier: Apache-2.0
/* The search for the file with the debug information of another file. */
#include "facts/debug_file.h"

#include "base/cleanup.h"
#include "elf_builder.h"
#include "suite.h"

#include <sys/stat.h>
#include <zlib.h>

enum { PATH_BYTES = 160 };

static const char gnu_id[] = "12345678", other_id[] = "1234567x";

/** The parts that a file has. */
struct content {
	const char *gnu, *go; /**< Build ids, or NULL. */
	const char *link;     /**< .gnu_debuglink, or NULL. */
	uint32_t crc;
	const char *section; /**< Another section, or NULL. */
};

static void fill_file(struct elf_builder *b, const struct content *c)
{
	static const char names[] = "\0.gnu_debuglink\0.debug_info";
	uint8_t link[64] = { 0 };

	builder_init(b, ET_EXEC);
	Elf64_Phdr *notes = builder_header(b, PT_NOTE);
	if (c->gnu)
		builder_note(b, notes, "GNU", NT_GNU_BUILD_ID, c->gnu, 8);
	if (c->go)
		builder_note(b, notes, "Go", 4, c->go, strlen(c->go));
	size_t names_off = b->bytes, nlink = 0;
	builder_append(b, names, sizeof(names));
	if (c->link) {
		nlink = (strlen(c->link) + 4) & ~(size_t)3;
		memcpy(link, c->link, strlen(c->link));
		memcpy(link + nlink, &c->crc, sizeof(c->crc));
		nlink += sizeof(c->crc);
	}
	size_t link_off = b->bytes;
	builder_append(b, link, nlink);
	const Elf64_Shdr sections[] = {
		{ 0 },
		{ .sh_type = SHT_STRTAB,
		  .sh_offset = names_off,
		  .sh_size = sizeof(names) },
		{ .sh_name = c->link ? 1 : 0,
		  .sh_type = SHT_PROGBITS,
		  .sh_offset = link_off,
		  .sh_size = nlink },
		{ .sh_name = c->section ? 16 : 0, .sh_type = SHT_PROGBITS },
	};
	builder_sections(b, sections, 4, 1);
	builder_finish(b);
}

static void put_file(const char *path, const struct content *c)
{
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));

	fill_file(b, c);
	_cleanup_fclose_ FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(b->file, b->bytes, 1, file), 1);
}

static uint32_t sum_of(const struct content *c)
{
	_cleanup_free_ struct elf_builder *b = malloc(sizeof(*b));

	fill_file(b, c);
	return crc32(0, b->file, b->bytes);
}

/** A file, and one that lies where its debug file is looked for. */
struct search_case {
	const char *name;
	struct content file, debug;
	const char *place; /**< Below the folder. */
	bool has_right_sum;
	bool is_found;
};

#define BY_ID                             \
	"debug/.build-id/31/323334353637" \
	"38.debug"

static const struct search_case search_cases[] = {
	{ "by build id",
	  { .gnu = gnu_id },
	  { .gnu = gnu_id },
	  BY_ID,
	  false,
	  true },
	{ "another build id",
	  { .gnu = gnu_id },
	  { .gnu = other_id },
	  BY_ID,
	  false,
	  false },
	{ "without a build id",
	  { .gnu = gnu_id },
	  { .go = "x" },
	  BY_ID,
	  false,
	  false },
	{ "the file has debug information",
	  { .gnu = gnu_id, .section = ".debug_info" },
	  { .gnu = gnu_id },
	  BY_ID,
	  false,
	  false },
	{ "beside the file",
	  { .link = "d" },
	  { .go = "x" },
	  "bin/d",
	  true,
	  true },
	{ "in .debug",
	  { .link = "d" },
	  { .go = "x" },
	  "bin/.debug/d",
	  true,
	  true },
	{ "wrong checksum",
	  { .link = "d" },
	  { .go = "x" },
	  "bin/d",
	  false,
	  false },
	{ "right checksum, another build id",
	  { .link = "d", .gnu = gnu_id },
	  { .gnu = other_id },
	  "bin/d",
	  true,
	  false },
	{ "wrong checksum, same build id",
	  { .link = "d", .gnu = gnu_id },
	  { .gnu = gnu_id },
	  "bin/d",
	  false,
	  true },
	{ "Go's build id",
	  { .link = "d", .go = "a/b" },
	  { .go = "a/b" },
	  "bin/d",
	  false,
	  true },
	{ "another build id of Go",
	  { .link = "d", .go = "a/b" },
	  { .go = "a/c" },
	  "bin/d",
	  true,
	  false },
	{ "a name with a folder",
	  { .link = "../d" },
	  { .go = "x" },
	  "d",
	  true,
	  false },
	{ "the name of the folder",
	  { .link = "." },
	  { .go = "x" },
	  "d",
	  true,
	  false },
	{ "an empty name", { .link = "" }, { .go = "x" }, "d", true, false },
	{ "no link", { .go = "x" }, { .go = "x" }, "bin/d", true, false },
};

static const char *const folders[] = {
	"",
	"/bin",
	"/bin/.debug",
	"/debug",
	"/debug/.build-id",
	"/debug/.build-id/31",
};

static void make_folders(char folder[PATH_BYTES])
{
	char path[PATH_BYTES + 32];

	snprintf(folder, PATH_BYTES, "/tmp/goref-unit-XXXXXX");
	assert_non_null(mkdtemp(folder));
	for (size_t i = 1; i < GR_ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s%s", folder, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
}

static void remove_folders(const char *folder)
{
	char path[PATH_BYTES + 32];

	for (size_t i = GR_ARRAY_SIZE(folders); i--;) {
		snprintf(path, sizeof(path), "%s%s", folder, folders[i]);
		assert_int_equal(rmdir(path), 0);
	}
}

static void check_search(const char *exe, const char *folder,
			 const char *wanted)
{
	_cleanup_free_ char *found = NULL;

	assert_null(gr_debug_file_find(exe, folder, &found));
	if (!wanted) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, wanted);
}

TEST_ROWS(search, search_cases, c)
{
	char folder[PATH_BYTES], exe[PATH_BYTES + 32];
	char debug_folder[PATH_BYTES + 32], debug[PATH_BYTES + 64];
	struct content file = c->file;

	make_folders(folder);
	snprintf(exe, sizeof(exe), "%s/bin/exe", folder);
	snprintf(debug, sizeof(debug), "%s/%s", folder, c->place);
	snprintf(debug_folder, sizeof(debug_folder), "%s/debug", folder);
	file.crc = sum_of(&c->debug) + !c->has_right_sum;
	put_file(exe, &file);
	put_file(debug, &c->debug);
	check_search(exe, debug_folder, c->is_found ? debug : NULL);
	// Nobody writes into the pipe: an open() that waits never returns.
	unlink(debug);
	assert_int_equal(mkfifo(debug, 0600), 0);
	check_search(exe, debug_folder, NULL);
	unlink(debug);
	check_search(exe, debug_folder, NULL);
	// The file itself is no debug file of its own.
	assert_int_equal(link(exe, debug), 0);
	check_search(exe, debug_folder, NULL);
	unlink(debug);
	unlink(exe);
	remove_folders(folder);
}

TEST(no_elf_file)
{
	check_search("/", GR_DEBUG_FOLDER, NULL);
	check_search("/dev/null", GR_DEBUG_FOLDER, NULL);
	check_search("/is/not/here", GR_DEBUG_FOLDER, NULL);
}

GR_SUITE("debug file")
