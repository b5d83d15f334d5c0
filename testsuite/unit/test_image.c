// SPDX-License-Identifier: Apache-2.0
/* image: ranges; cores and the executables that they need. */
#include "image_checks.h"
#include "inferior/image_internal.h"
#include "inferior/residency.h"

enum {
	EXE_TEXT = 0x400000,
	EXE_TEXT_BYTES = 0x2000,
	EXE_DATA = 0x403000,
	EXE_ENTRY = 0x400800,
	EXE_SALT = 0,
};

/* --- ranges ----------------------------------------------------------- */

/* Many small random ranges against an array that says who owns an address. */
TEST(ranges_random)
{
	enum { SPACE = 200, ROUNDS = 300 };
	static const uint8_t memory[1 << 16];
	const struct gr_target target = { .kind = GR_TARGET_CORE };
	unsigned int seed = 1;

	for (int round = 0; round < ROUNDS; round++) {
		_cleanup_(gr_range_vector_deinit) struct gr_range_vector in = {
			0
		};
		const uint8_t *owner[SPACE] = { NULL };
		size_t n = rand_r(&seed) % 30;
		for (size_t i = 0; i < n; i++) {
			uint64_t start = rand_r(&seed) % (SPACE - 50);
			uint64_t end = start + 1 + rand_r(&seed) % 50;
			const uint8_t *host =
				memory + rand_r(&seed) % 4 * 1000 + start;
			assert_true(gr_range_vector_append(
				&in, (struct gr_range){ start, end, host }));
			for (uint64_t at = start; at < end; at++)
				if (!owner[at])
					owner[at] = host + (at - start);
		}
		struct gr_ranges ranges;
		assert_null(gr_ranges_init(&ranges, &in, &target));
		for (uint64_t at = 0; at < SPACE; at++)
			assert_ptr_equal(gr_ranges_host(&ranges, at, 1),
					 owner[at]);
		for (size_t i = 1; i < ranges.count; i++)
			assert_true(ranges.data[i - 1].end <=
				    ranges.data[i].start);
		gr_ranges_deinit(&ranges);
	}
}

struct polls {
	uint64_t seen, last;
};

static struct gr_error *count_poll(void *ctx)
{
	struct polls *polls = ctx;

	assert_true(++polls->seen <= polls->last);
	return polls->seen == polls->last ?
		       gr_error_format(GR_ERROR_INTERRUPTED, "interrupted") :
		       NULL;
}

/* Many ranges, each inside of the one before it, out of order. */
TEST(ranges_interrupted)
{
	enum { COUNT = 1 << 18, POLLS = 1000000 };
	static const uint8_t host[1];
	_cleanup_(gr_range_vector_deinit) struct gr_range_vector in = { 0 };
	struct polls polls = { .last = POLLS };
	const struct gr_target target = { .ops = { .poll = count_poll },
					  .ctx = &polls };
	struct gr_ranges ranges;

	for (uint64_t i = COUNT; i--;)
		assert_true(gr_range_vector_append(
			&in, (struct gr_range){ i, 2 * COUNT - i, host }));
	assert_null(gr_ranges_init(&ranges, &in, &target));
	assert_in_range(polls.seen, COUNT >> 12, POLLS - 1);
	gr_ranges_deinit(&ranges);
	for (uint64_t last = 1; last <= polls.seen; last += polls.seen / 7) {
		struct polls refusing = { .last = last };
		const struct gr_target other = { .ops = { .poll = count_poll },
						 .ctx = &refusing };
		assert_fails(gr_ranges_init(&ranges, &in, &other),
			     GR_ERROR_INTERRUPTED, NULL);
		assert_int_equal(refusing.seen, last);
	}
}

/* --- a core and its executable ---------------------------------------- */

/** The file to build, and the one that is opened. */
struct fixture {
	struct elf_builder exe, core;
	char exe_path[64], core_path[64];
	struct gr_gaps gaps;
	struct gr_target_module module;
	struct gr_target target;
	struct gr_image *image;
};

static void build_exe(struct elf_builder *b, const char *gnu_id,
		      const char *go_id)
{
	builder_init(b, ET_EXEC);
	b->header.e_entry = EXE_ENTRY;
	if (gnu_id || go_id) {
		Elf64_Phdr *notes = builder_header(b, PT_NOTE);
		notes->p_vaddr = EXE_TEXT + notes->p_offset;
		if (gnu_id)
			builder_note(b, notes, "GNU", NT_GNU_BUILD_ID, gnu_id,
				     strlen(gnu_id));
		if (go_id)
			builder_note(b, notes, "Go", 4, go_id, strlen(go_id));
	}
	// The text segment begins with the headers, as linkers do it.
	size_t used = b->bytes;
	Elf64_Phdr *text = builder_header(b, PT_LOAD);
	text->p_offset = 0;
	text->p_vaddr = EXE_TEXT;
	text->p_filesz = text->p_memsz = EXE_TEXT_BYTES;
	text->p_flags = PF_R | PF_X;
	uint8_t *p = builder_append(b, NULL, EXE_TEXT_BYTES - used);
	for (uint64_t i = used; i < EXE_TEXT_BYTES; i++)
		p[i - used] = builder_byte(EXE_TEXT + i, EXE_SALT);
	builder_load(b, EXE_DATA, PAGE, PF_R | PF_W, EXE_SALT)->p_memsz += PAGE;
	builder_finish(b);
}

static void add_core_notes(struct elf_builder *b)
{
	uint64_t auxv[] = { AT_ENTRY,	   EXE_ENTRY, AT_PHDR,
			    EXE_TEXT + 64, AT_NULL,   0 };
	uint64_t prstatus[42] = { 0 };
	Elf64_Phdr *notes = builder_header(b, PT_NOTE);

	((uint32_t *)prstatus)[8] = 5;
	builder_note(b, notes, "CORE", NT_PRSTATUS, prstatus, sizeof(prstatus));
	((uint32_t *)prstatus)[8] = 6;
	builder_note(b, notes, "", NT_PRSTATUS, prstatus, sizeof(prstatus));
	builder_note(b, notes, "CORE", NT_AUXV, auxv, sizeof(auxv));
}

// Header page of the executable, two heap segments that adjoin in memory and
// file, one that adjoins in memory only, one behind a hole.
static void build_core(struct elf_builder *b, const struct elf_builder *exe)
{
	builder_init(b, ET_CORE);
	add_core_notes(b);
	if (exe) {
		Elf64_Phdr *header = builder_header(b, PT_LOAD);
		header->p_vaddr = EXE_TEXT;
		header->p_filesz = PAGE;
		header->p_memsz = EXE_TEXT_BYTES;
		header->p_flags = PF_R | PF_X;
		builder_append(b, exe->file, PAGE);
	}
	builder_load(b, HEAP, 2 * PAGE, PF_R | PF_W, CORE_SALT);
	builder_load(b, HEAP + 2 * PAGE, PAGE, PF_R | PF_W, CORE_SALT);
	builder_append(b, "padding", 7);
	builder_load(b, HEAP + 3 * PAGE, PAGE, PF_R | PF_W, CORE_SALT);
	builder_load(b, HEAP + 6 * PAGE, PAGE, PF_R | PF_W, CORE_SALT)
		->p_memsz += PAGE;
	builder_finish(b);
}

static struct gr_error *fixture_open(struct fixture *f, size_t core_bytes)
{
	builder_write(&f->exe, f->exe.bytes, f->exe_path);
	builder_write(&f->core, core_bytes, f->core_path);
	f->module = (struct gr_target_module){ .path = f->exe_path,
					       .bias = UINT64_MAX };
	f->target = (struct gr_target){ .kind = GR_TARGET_CORE,
					.core_path = f->core_path,
					.modules = &f->module,
					.nmodules = 1 };
	return gr_image_create(&f->target, &f->gaps, &f->image);
}

static void fixture_destroy(struct fixture *f)
{
	gr_image_destroy(f->image);
	if (*f->exe_path)
		unlink(f->exe_path);
	if (*f->core_path)
		unlink(f->core_path);
	free(f);
}

GR_DEFINE_CLEANUP(fixture, struct fixture, fixture_destroy)

static struct fixture *core_setup(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	build_exe(&f->exe, NULL, "go-id");
	build_core(&f->core, &f->exe);
	assert_null(fixture_open(f, f->core.bytes));
	return f;
}

#define FIXTURE struct fixture *f, core_setup, fixture_destroy

/** One range, asked for by read, map and map_torn. */
struct range_case {
	const char *name;
	uint64_t addr, bytes;
	bool is_whole, is_zero_copy;
	uint64_t missing_pages;
	bool is_absent; /**< map_torn gives NULL. */
	uint8_t salt;
};

static const struct range_case range_cases[] = {
	{ "inside one segment", HEAP + 8, 100, true, true, 0, false,
	  CORE_SALT },
	{ "segments that adjoin in the file", HEAP, 3 * PAGE, true, true, 0,
	  false, CORE_SALT },
	{ "segments that adjoin in memory only", HEAP + 3 * PAGE - 4, 8, true,
	  false, 0, false, CORE_SALT },
	{ "ends at the border of a hole", HEAP + 4 * PAGE - 8, 8, true, true, 0,
	  false, CORE_SALT },
	{ "one byte into a hole", HEAP + 4 * PAGE - 8, 9, false, false, 1,
	  false, CORE_SALT },
	{ "across a hole", HEAP + 4 * PAGE - 8, 2 * PAGE + 16, false, false, 2,
	  false, CORE_SALT },
	{ "in a hole", HEAP + 4 * PAGE + 1, 8, false, false, 1, true, 0 },
	{ "memsz past filesz is no zeros", HEAP + 7 * PAGE, 8, false, false, 1,
	  true, 0 },
	{ "text that the core left out", EXE_TEXT + PAGE, PAGE, true, true, 0,
	  false, EXE_SALT },
	{ "text from core and executable", EXE_TEXT + PAGE - 4, 8, true, false,
	  0, false, EXE_SALT },
	{ "writable data is never the file's", EXE_DATA, 8, false, false, 1,
	  true, 0 },
	{ "address 0", 0, 8, false, false, 1, true, 0 },
	{ "past the last address", UINT64_MAX - 3, 8, false, false, 1, true,
	  0 },
	{ "absurd length", HEAP, UINT64_MAX, false, false, 1, true, 0 },
	{ "length over 1 GiB", HEAP, (1 << 30) + 1, false, false,
	  (1 << 18) + 1 - 5, false, CORE_SALT },
};

// Present bytes are right, absent ones zero.
static void check_torn(const struct range_case *c, const uint8_t *p)
{
	uint64_t check = c->bytes < 8 * PAGE ? c->bytes : 8 * PAGE;

	for (uint64_t i = 0; i < check; i++) {
		uint64_t page = (c->addr + i - HEAP) / PAGE;
		bool is_hole = c->addr >= HEAP &&
			       (page == 4 || page == 5 || page > 6);
		assert_int_equal(
			p[i], is_hole ? 0 : builder_byte(c->addr + i, c->salt));
	}
}

TEST_F_ROWS(core_range, range_cases, c)
{
	uint8_t buf[4 * PAGE];
	const uint8_t *p;

	struct gr_error *err = gr_image_read(f->image, c->addr, buf, c->bytes);
	if (c->is_whole) {
		assert_null(err);
		assert_bytes(buf, c->addr, c->bytes, c->salt);
	} else {
		assert_fails(err, GR_ERROR_FAULT, NULL);
	}
	err = gr_image_map(f->image, c->addr, c->bytes, &p);
	if (c->is_whole) {
		assert_null(err);
		assert_bytes(p, c->addr, c->bytes, c->salt);
		assert_int_equal(!f->image->copies, c->is_zero_copy);
	} else {
		assert_fails(err, GR_ERROR_FAULT, NULL);
	}
	assert_null(gr_image_map_torn(f->image, c->addr, c->bytes, &p));
	assert_int_equal(f->gaps.count[GR_GAP_UNREADABLE_PAGES],
			 c->missing_pages);
	assert_int_equal(!p, c->is_absent);
	if (p)
		check_torn(c, p);
}

TEST_F(core_uint)
{
	uint64_t value, expected;

	for (unsigned int bytes = 1; bytes <= 8; bytes++) {
		uint64_t addr = HEAP + 3 * PAGE - 3; // Across a border.
		uint8_t raw[8] = { 0 };
		for (unsigned int i = 0; i < bytes; i++)
			raw[i] = builder_byte(addr + i, CORE_SALT);
		memcpy(&expected, raw, 8);
		assert_null(gr_image_read_uint(f->image, addr, bytes, &value));
		assert_int_equal(value, expected);
	}
	assert_fails(gr_image_read_u64(f->image, HEAP + 4 * PAGE - 7, &value),
		     GR_ERROR_FAULT, "0x10003ff9");
}

TEST_F(core_facts)
{
	struct gr_mapping_info info;
	size_t nthreads;

	const struct gr_target_thread *threads =
		gr_image_threads(f->image, &nthreads);
	assert_int_equal(nthreads, 2);
	assert_int_equal(threads[0].lwp, 5);
	assert_int_equal(threads[1].lwp, 6);
	assert_int_equal(gr_image_bias(f->image, 0), 0);
	assert_int_equal(gr_image_missing_bytes(f->image), 0);
	assert_null(gr_image_warning(f->image));
	assert_true(gr_image_mapping(f->image, EXE_TEXT + PAGE, &info));
	assert_string_equal(info.path, f->exe_path);
	assert_true(info.executable && !info.writable);
	assert_int_equal(info.end, EXE_TEXT + EXE_TEXT_BYTES);
	assert_true(gr_image_mapping(f->image, HEAP + 7 * PAGE, &info));
	assert_true(info.writable && !info.path);
	assert_false(gr_image_mapping(f->image, HEAP + 5 * PAGE, &info));
	assert_null(gr_image_plan(f->image, HEAP, HEAP + PAGE));
	assert_int_equal(gr_image_plan_bytes(f->image), 0);
	assert_null(gr_image_capture(f->image));
	gr_image_seal(f->image);
	assert_true(gr_image_mapping(f->image, HEAP, &info));
}

/** A core that is damaged in one way. */
struct damage_case {
	const char *name;
	void (*damage)(struct elf_builder *core);
	size_t cut_bytes;    /**< From its end. */
	int code;	     /**< enum gr_error_code, or -1 for success. */
	const char *message; /**< The error or warning; NULL: none. */
	uint64_t missing_bytes;
	/** Salt of the byte at HEAP, or -1 for a fault. */
	int salt;
};

static void damage_type(struct elf_builder *core)
{
	core->header.e_type = ET_EXEC;
}

static void damage_no_headers(struct elf_builder *core)
{
	core->header.e_phoff = UINT64_MAX / 2;
}

static void damage_overflow(struct elf_builder *core)
{
	core->headers[2].p_vaddr = UINT64_MAX - 100;
}

static void damage_huge(struct elf_builder *core)
{
	Elf64_Phdr *header = builder_header(core, PT_LOAD);
	header->p_vaddr = 0x100;
	header->p_filesz = header->p_memsz = UINT64_C(1) << 62;
	header->p_offset = 0;
}

// A later segment says otherwise about the heap's first page.
static void damage_overlap(struct elf_builder *core)
{
	builder_load(core, HEAP - PAGE, 2 * PAGE, PF_R, CORE_SALT + 1);
}

static void damage_notes(struct elf_builder *core)
{
	core->headers[0].p_filesz = 8;
}

static const struct damage_case damage_cases[] = {
	{ "last page is cut off", NULL, PAGE, -1,
	  "core file is truncated: 4.0 KiB of 24.8 KiB are missing", PAGE,
	  CORE_SALT },
	{ "heap is cut off", NULL, 5 * PAGE + 7, -1, "truncated", 5 * PAGE,
	  -1 },
	{ "no core", damage_type, 0, GR_ERROR_FORMAT,
	  "is not a core file but an executable", 0, 0 },
	{ "no program headers", damage_no_headers, 0, GR_ERROR_FORMAT,
	  "no program headers", 0, 0 },
	{ "a segment past the last address", damage_overflow, 0, -1,
	  "1 program header of the core is lost or makes no sense", 0, -1 },
	{ "a segment of 4 EB behind the others", damage_huge, 0, -1,
	  "1 program header of the core is lost or makes no sense", 0,
	  CORE_SALT },
	{ "overlapping segments: the first in the file wins", damage_overlap, 0,
	  -1, NULL, 0, CORE_SALT },
	{ "notes are cut off", damage_notes, 0, -1,
	  "the core has no thread registers", 0, CORE_SALT },
};

TEST_ROWS(damage, damage_cases, c)
{
	_cleanup_(gr_cleanup_fixture) struct fixture *f = calloc(1, sizeof(*f));
	uint8_t byte;

	build_exe(&f->exe, NULL, NULL);
	build_core(&f->core, &f->exe);
	if (c->damage)
		c->damage(&f->core);
	builder_finish(&f->core);
	struct gr_error *err = fixture_open(f, f->core.bytes - c->cut_bytes);
	if (c->code >= 0) {
		assert_fails(err, c->code, c->message);
		return;
	}
	assert_null(err);
	const char *warning = gr_image_warning(f->image);
	if (c->message && (!warning || !strstr(warning, c->message)))
		fail_msg("warning is %s", warning ? warning : "absent");
	if (!c->message)
		assert_null(warning);
	assert_int_equal(gr_image_missing_bytes(f->image), c->missing_bytes);
	err = gr_image_read(f->image, HEAP, &byte, 1);
	if (c->salt < 0)
		assert_fails(err, GR_ERROR_FAULT, NULL);
	else
		assert_int_equal(byte, builder_byte(HEAP, c->salt));
}

/** Two executables: the one that ran, the one that we are given. */
struct identity_case {
	const char *name;
	const char *ran_gnu, *ran_go;
	const char *given_gnu, *given_go;
	bool has_header_page;
	uint64_t given_entry;
	const char *message; /**< NULL: they belong together. */
	uint16_t given_type;
};

static const struct identity_case identity_cases[] = {
	{ "same GNU build id", "AB", NULL, "AB", NULL, true, EXE_ENTRY, NULL,
	  ET_EXEC },
	{ "other GNU build id", "AB", NULL, "AC", NULL, true, EXE_ENTRY,
	  "(build ids 4143, 4142)", ET_EXEC },
	{ "GNU comes before Go", "AB", "x", "AB", "y", true, EXE_ENTRY, NULL,
	  ET_EXEC },
	{ "same Go build id", NULL, "a/b", NULL, "a/b", true, EXE_ENTRY, NULL,
	  ET_EXEC },
	{ "other Go build id", NULL, "a/b", NULL, "a/c", true, EXE_ENTRY,
	  "(build ids a/c, a/b)", ET_EXEC },
	{ "one has no build id: not comparable", NULL, "a/b", NULL, NULL, true,
	  EXE_ENTRY, NULL, ET_EXEC },
	{ "no build ids, same entry", NULL, NULL, NULL, NULL, true, EXE_ENTRY,
	  NULL, ET_EXEC },
	{ "no build ids, other entry", NULL, NULL, NULL, NULL, true,
	  EXE_ENTRY + 16, "(entry points 0x400810, 0x400800)", ET_EXEC },
	{ "no header page, other build id: not comparable", NULL, "a/b", NULL,
	  "a/c", false, EXE_ENTRY, NULL, ET_EXEC },
	{ "no header page, other entry", NULL, "a/b", NULL, "a/c", false,
	  EXE_ENTRY + 16, "(entry points 0x400810, 0x400800)", ET_EXEC },
	{ "a library", "AB", NULL, "AC", NULL, true, EXE_ENTRY,
	  "is a shared library, and not the program of", ET_DYN },
};

TEST_ROWS(identity, identity_cases, c)
{
	_cleanup_(gr_cleanup_fixture) struct fixture *f = calloc(1, sizeof(*f));

	build_exe(&f->exe, c->ran_gnu, c->ran_go);
	build_core(&f->core, c->has_header_page ? &f->exe : NULL);
	build_exe(&f->exe, c->given_gnu, c->given_go);
	f->exe.header.e_entry = c->given_entry;
	f->exe.header.e_type = c->given_type;
	builder_finish(&f->exe);
	struct gr_error *err = fixture_open(f, f->core.bytes);
	if (c->message)
		assert_fails(err, GR_ERROR_MISMATCH, c->message);
	else if (err)
		fail_msg("%s", err->message);
}

/* --- what a core tells of residency ----------------------------------- */

/* A page, two of zeros, and one with a last byte that is not. */
static void build_core_with_zeros(struct elf_builder *b)
{
	builder_init(b, ET_CORE);
	add_core_notes(b);
	Elf64_Phdr *header =
		builder_load(b, HEAP, 4 * PAGE, PF_R | PF_W, CORE_SALT);
	uint8_t *pages = b->file + header->p_offset;

	memset(pages + PAGE, 0, 3 * PAGE);
	pages[4 * PAGE - 1] = 1;
	builder_finish(b);
}

/* A core without holes does not tell what was resident. Its pages of zeros may
 * be ones that the process never had. */
TEST(zeros)
{
	static const struct gr_resident ranges[] = {
		{ HEAP, HEAP + PAGE, 0, true, false },
		{ HEAP + PAGE, HEAP + 3 * PAGE, 0, true, true },
		{ HEAP + 3 * PAGE, HEAP + 4 * PAGE, 0, true, false },
	};
	_cleanup_(gr_cleanup_fixture) struct fixture *f = calloc(1, sizeof(*f));
	struct gr_residency r = { 0 };

	build_exe(&f->exe, NULL, "go-id");
	build_core_with_zeros(&f->core);
	assert_null(fixture_open(f, f->core.bytes));
	assert_null(gr_residency_read(f->image, &r));
	assert_int_equal(r.kind, GR_RESIDENCY_UNKNOWN);
	assert_int_equal(r.ranges.size, GR_ARRAY_SIZE(ranges));
	for (size_t i = 0; i < GR_ARRAY_SIZE(ranges); i++) {
		assert_int_equal(r.ranges.data[i].start, ranges[i].start);
		assert_int_equal(r.ranges.data[i].end, ranges[i].end);
		assert_int_equal(r.ranges.data[i].is_zeros, ranges[i].is_zeros);
	}
	gr_residency_deinit(&r);
}

GR_SUITE("image")
