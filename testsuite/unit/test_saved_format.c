// SPDX-License-Identifier: Apache-2.0
// The bytes of a saved file stay as they are, or its version is raised.
#include "format_digest.h"

#include "inferior/target.h"
#include "savedfile/description.h"
#include "savedfile/frames.h"
#include "savedfile/pages.h"

static void fill_lists(struct gr_saved *saved, struct gr_mapping *mapping,
		       struct gr_resident *resident, struct gr_range *range)
{
	*mapping = (struct gr_mapping){ .start = 0x1000,
					.end = 0x3000,
					.file_off = 0x4000,
					.flags = 5,
					.path = "/bin/p" };
	saved->segments.list.data = mapping;
	saved->segments.list.size = 1;
	saved->files.list = saved->segments.list;
	*resident = (struct gr_resident){ 0x1000, 0x2000, 0, true, true };
	saved->has_residency = true;
	saved->residency = (struct gr_residency){
		.kind = GR_RESIDENCY_EXACT,
		.swapped_bytes = 0x7000,
		.mappings.list = saved->segments.list,
		.ranges = { .data = resident, .size = 1 },
	};
	*range = (struct gr_range){ 0x1000, 0x5000, NULL };
	saved->memory.data = range;
	saved->memory.size = 1;
}

static void fill_modules(struct gr_saved *saved,
			 struct gr_target_module *module,
			 struct gr_saved_tables *tables)
{
	*module = (struct gr_target_module){ .path = "/bin/p",
					     .image.size = 17,
					     .bias = 0x400000 };
	*tables = (struct gr_saved_tables){ .bytes = 18 };
	saved->modules = module;
	saved->tables = tables;
	saved->nmodules = 1;
}

static void fill_thread(struct gr_target_thread *thread)
{
	*thread = (struct gr_target_thread){ .lwp = 19 };
	for (size_t i = 0; i < GR_REGS_MAX; i++)
		thread->regs.value[i] = 300 + i;
	thread->regs.fs_base = 20;
	thread->regs.call = 21;
	thread->regs.is_in_call = true;
	thread->regs.is_partial = true;
}

/* A description whose members are all different. */
TEST(description)
{
	static const struct format_digest digests[] = {
		{ 2, 0xf474c7221c1b6c8d },
		{ 3, 0x7f19be36bfc31243 },
		{ 4, 0x98c79fa2ec2d4fec },
	};
	struct gr_saved saved = {
		.tables_version = 1,
		.origin = "core /tmp/core",
		.origin_kind = GR_TARGET_SNAPSHOT,
		.stop = "why",
		.identity = "who",
		.warning = "torn",
		.time_s = -11,
		.pid = 12,
		.has_values = true,
		.mapped_bytes = 13,
		.readable_bytes = 14,
		.missing_bytes = 15,
		.bad_headers = 16,
	};
	struct gr_coder coder = { .is_reading = false };
	struct gr_saved_tables tables;
	struct gr_target_thread thread;
	struct gr_target_module module;
	struct gr_resident resident;
	struct gr_mapping mapping;
	struct gr_range range;

	fill_thread(&thread);
	saved.threads.data = &thread;
	saved.threads.size = 1;
	fill_modules(&saved, &module, &tables);
	fill_lists(&saved, &mapping, &resident, &range);
	gr_code_description(&coder, &saved);
	format_check(digests, GR_ARRAY_SIZE(digests), GR_SAVED_VERSION,
		     coder.out.data, coder.out.size);
	gr_byte_vector_deinit(&coder.out);
}

/* Anonymous, and not of zeros. */
#define RANGE(start, end, mapping)               \
	{                                        \
		start, end, mapping, true, false \
	}

/* A range lies in its mapping, and they rise. */
TEST(resident_ranges)
{
	static const struct {
		const char *name;
		struct gr_resident ranges[2];
		bool is_bad;
	} rows[] = {
		{ "apart",
		  { RANGE(0x1000, 0x2000, 0), RANGE(0x2000, 0x3000, 0) },
		  false },
		{ "of two",
		  { RANGE(0x2000, 0x3000, 0), RANGE(0x4000, 0x5000, 1) },
		  false },
		{ "behind",
		  { RANGE(0x1000, 0x2000, 0), RANGE(0x2000, 0x4000, 0) },
		  true },
		{ "before",
		  { RANGE(0x0000, 0x2000, 0), RANGE(0x2000, 0x3000, 0) },
		  true },
		{ "overlap",
		  { RANGE(0x1000, 0x2800, 0), RANGE(0x2000, 0x3000, 0) },
		  true },
		{ "back",
		  { RANGE(0x2000, 0x3000, 0), RANGE(0x1000, 0x2000, 0) },
		  true },
		{ "another first",
		  { RANGE(0x4000, 0x5000, 1), RANGE(0x1000, 0x2000, 0) },
		  true },
		{ "no mapping",
		  { RANGE(0x1000, 0x2000, 0), RANGE(0x4000, 0x5000, 2) },
		  true },
	};
	struct gr_mapping mappings[] = {
		{ .start = 0x1000, .end = 0x3000, .path = "/bin/p" },
		{ .start = 0x4000, .end = 0x5000, .path = "/bin/q" },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(rows); i++) {
		struct gr_target_module module;
		struct gr_saved_tables tables;
		struct gr_resident ranges[2];
		struct gr_coder coder = { .is_reading = false };
		struct gr_saved saved = { .origin = "core c",
					  .has_residency = true };

		memcpy(ranges, rows[i].ranges, sizeof(ranges));
		fill_modules(&saved, &module, &tables);
		saved.residency.mappings.list.data = mappings;
		saved.residency.mappings.list.size = 2;
		saved.residency.ranges.data = ranges;
		saved.residency.ranges.size = 2;
		gr_code_description(&coder, &saved);
		if (coder.is_bad != rows[i].is_bad)
			fail_msg("%s", rows[i].name);
		gr_byte_vector_deinit(&coder.out);
	}
}

/** The reader asks these while it reads a description. */
struct asked {
	uint64_t wanted, polls, last_poll;
	uint64_t most; /* more than this at once is refused */
};

static struct gr_error *want(void *ctx, uint64_t bytes)
{
	struct asked *asked = ctx;

	asked->wanted += bytes;
	return bytes > asked->most ?
		       gr_error_format(GR_ERROR_MEMORY_LIMIT, "no memory") :
		       NULL;
}

static struct gr_error *poll(void *ctx)
{
	struct asked *asked = ctx;

	return ++asked->polls == asked->last_poll ?
		       gr_error_format(GR_ERROR_INTERRUPTED, "interrupted") :
		       NULL;
}

/* Read a description of many ranges; the caller gets the error. */
static struct gr_error *read_ranges(struct gr_bytes bytes, struct asked *asked,
				    size_t *nranges)
{
	struct gr_saved saved = { 0 };
	struct gr_coder coder = { .is_reading = true,
				  .in = bytes,
				  .arena = &saved.arena,
				  .want = want,
				  .poll = poll,
				  .ctx = asked };

	gr_code_description(&coder, &saved);
	*nranges = saved.memory.size;
	assert_int_equal(gr_coder_is_done(&coder), !coder.err);
	assert_false(coder.is_bad);
	gr_mappings_deinit(&saved.segments);
	gr_mappings_deinit(&saved.files);
	gr_thread_vector_deinit(&saved.threads);
	gr_residency_deinit(&saved.residency);
	gr_range_vector_deinit(&saved.memory);
	gr_arena_deinit(&saved.arena);
	return coder.err;
}

/* Rows are asked for before they get memory, and polled for while they are
 * read. */
TEST(rows_are_asked_for)
{
	enum { NRANGES = 100000, BYTES = NRANGES * sizeof(struct gr_range) };
	struct gr_saved saved = { .origin = "core c" };
	struct gr_coder coder = { .is_reading = false };
	struct gr_saved_tables tables;
	struct gr_target_module module;
	struct asked asked;
	size_t n;

	fill_modules(&saved, &module, &tables);
	for (uint64_t i = 0; i < NRANGES; i++)
		assert_true(gr_range_vector_append(
			&saved.memory,
			(struct gr_range){ 2 * i, 2 * i + 1, NULL }));
	gr_code_description(&coder, &saved);
	struct gr_bytes bytes = { coder.out.data, coder.out.size };
	asked = (struct asked){ .most = BYTES };
	assert_null(read_ranges(bytes, &asked, &n));
	assert_int_equal(n, NRANGES);
	assert_true(asked.wanted >= BYTES && asked.polls > NRANGES / 10000);
	uint64_t polls = asked.polls;
	asked = (struct asked){ .most = BYTES - 1 };
	assert_fails(read_ranges(bytes, &asked, &n), GR_ERROR_MEMORY_LIMIT,
		     NULL);
	assert_int_equal(n, 0);
	asked = (struct asked){ .most = BYTES, .last_poll = polls - 1 };
	assert_fails(read_ranges(bytes, &asked, &n), GR_ERROR_INTERRUPTED,
		     NULL);
	assert_int_equal(asked.polls, polls - 1);
	assert_true(n < NRANGES);
	gr_range_vector_deinit(&saved.memory);
	gr_byte_vector_deinit(&coder.out);
}

/* Three pages: all words, some of them, and a column of records. */
TEST(pages)
{
	static const struct format_digest digests[] = {
		{ 2, 0x4d7511a370d5a9b5 },
		{ 3, 0x4d7511a370d5a9b5 },
		{ 4, 0x4d7511a370d5a9b5 },
	};
	struct gr_batch_writer *w = gr_batch_writer_create();
	struct gr_page_words *page = suite_alloc(sizeof(*page));

	assert_non_null(w);
	for (unsigned int i = 0; i < 3; i++) {
		page->addr = 0xc000000000 + i * GR_SET_PAGE_BYTES * 3;
		page->stride = 1 + 4 * (i == 2);
		page->column = 3 * (i == 2);
		for (unsigned int k = 0; k < GR_SET_PAGE_WORDS; k++) {
			bool is_there = i != 1 || k % 3;

			page->present[k / 64] &= ~(UINT64_C(1) << k % 64);
			page->present[k / 64] |= (uint64_t)is_there << k % 64;
			page->words[k] = is_there ? k % 5 * (page->addr + k) :
						    0;
		}
		gr_batch_add(w, page);
	}
	struct gr_bytes batch = gr_batch_take(w);
	format_check(digests, GR_ARRAY_SIZE(digests), GR_SAVED_VERSION,
		     batch.data, batch.size);
	free(page);
	gr_batch_writer_destroy(w);
}

static struct gr_error *take(void *ctx, const void *data, size_t bytes)
{
	struct gr_byte_vector *file = ctx;

	assert_true(gr_byte_vector_reserve(file, file->size + bytes));
	memcpy(file->data + file->size, data, bytes);
	file->size += bytes;
	return NULL;
}

/* The head, the last frame, and the numbers of the kinds between them. What
 * zstd makes of bytes is its own affair. */
TEST(container)
{
	static const struct format_digest digests[] = {
		{ 2, 0x5a6bca0813b7dfb1 },
		{ 3, 0xda759866aebe9c68 },
		{ 4, 0xd08c03e486b6d08f },
	};
	const uint8_t kinds[] = { GR_FRAME_END,	   GR_FRAME_DESCRIPTION,
				  GR_FRAME_MODULE, GR_FRAME_TABLES,
				  GR_FRAME_PAGES,  GR_FRAME_LAYOUT };
	struct gr_byte_vector file = { 0 };
	struct gr_frame_writer *w;

	assert_null(gr_frame_writer_create(
		(struct gr_frame_sink){ take, &file }, GR_SAVED_VERSION, &w));
	assert_null(gr_frame_writer_end(w));
	gr_frame_writer_destroy(w);
	// Neither the version of goref nor the checksum of that counts.
	memset(file.data + 16, 0, GR_SAVED_WRITER_BYTES + 8);
	assert_null(take(&file, kinds, sizeof(kinds)));
	format_check(digests, GR_ARRAY_SIZE(digests), GR_SAVED_VERSION,
		     file.data, file.size);
	gr_byte_vector_deinit(&file);
}

GR_SUITE("saved format")
