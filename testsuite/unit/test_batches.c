// SPDX-License-Identifier: Apache-2.0
// Pages that several threads pack: the same file, and an end at any time.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

#include "savedfile/batches.h"
#include "savedfile/coder.h"

enum { PAGES = 9 * GR_BATCH_PAGES + 100, LEFT_OUT = 7 };

static const uint64_t base = UINT64_C(0xc000000000);
static uint64_t all[GR_SET_PAGE_BITMAP];

/* Every seventh page is left out. Words depend on their addresses. */
static bool fill_page(void *ctx, struct gr_page_words *page)
{
	uint64_t i = (page->addr - base) / GR_SET_PAGE_BYTES;

	(void)ctx;
	page->stride = 1 + i % 5;
	page->column = 0;
	for (uint64_t w = 0; w < GR_SET_PAGE_WORDS; w++)
		page->words[w] = (i * w) % 3 ? page->addr + w * w : 0;
	return i % LEFT_OUT;
}

/* A file being written; calls that are left before one fails. */
struct file {
	struct gr_byte_vector bytes;
	uint64_t wants_left, polls_left;
};

static struct gr_error *append(void *ctx, const void *data, size_t bytes)
{
	struct file *file = ctx;

	assert_true(
		gr_byte_vector_reserve(&file->bytes, file->bytes.size + bytes));
	memcpy(file->bytes.data + file->bytes.size, data, bytes);
	file->bytes.size += bytes;
	return NULL;
}

static struct gr_error *want(void *ctx, uint64_t bytes)
{
	struct file *file = ctx;

	assert_true(bytes);
	return file->wants_left-- ? NULL :
				    gr_error_format(GR_ERROR_LIMIT, "memory");
}

static struct gr_error *poll(void *ctx)
{
	struct file *file = ctx;

	return file->polls_left-- ?
		       NULL :
		       gr_error_format(GR_ERROR_INTERRUPTED, "over");
}

static struct gr_error *add_pages(struct gr_batches *b)
{
	struct gr_error *err = NULL;

	for (uint64_t i = 0; !err && i < PAGES; i++)
		err = gr_batches_add(b, base + i * GR_SET_PAGE_BYTES, all);
	return err ? err : gr_batches_end(b);
}

static struct gr_error *write_file(struct file *file, unsigned int nthreads)
{
	struct gr_batches_spec spec = {
		.read = fill_page,
		.want = want,
		.poll = poll,
		.want_ctx = file,
		.poll_ctx = file,
		.nthreads = nthreads,
	};
	struct gr_batches *b = NULL;

	assert_null(
		gr_frame_writer_create((struct gr_frame_sink){ append, file },
				       GR_SAVED_VERSION, &spec.frames));
	struct gr_error *err = gr_batches_create(&spec, &b);
	if (!err)
		err = add_pages(b);
	gr_batches_destroy(b);
	if (!err)
		err = gr_frame_writer_end(spec.frames);
	gr_frame_writer_destroy(spec.frames);
	return err;
}

static struct file new_file(void)
{
	return (struct file){ .wants_left = UINT64_MAX,
			      .polls_left = UINT64_MAX };
}

static void setup(void)
{
	memset(all, 0xff, sizeof(all));
}

/* Hold a page against what was written. */
static struct gr_error *check_page(void *ctx, const struct gr_page_words *page)
{
	struct gr_page_words expected = { .addr = page->addr };
	uint64_t *i = ctx;

	while (*i % LEFT_OUT == 0)
		++*i;
	assert_int_equal(page->addr, base + *i * GR_SET_PAGE_BYTES);
	assert_true(fill_page(NULL, &expected));
	assert_memory_equal(page->words, expected.words,
			    sizeof(expected.words));
	++*i;
	return NULL;
}

TEST(all_pages_come_back)
{
	struct file file = new_file();
	struct gr_frame_reader *r;
	struct gr_saved_frame frame;
	struct gr_page_words page;
	uint64_t i = 0;
	bool is_fine;

	setup();
	assert_null(write_file(&file, 3));
	assert_null(gr_frame_reader_create("f", file.bytes.data,
					   file.bytes.size, &r));
	assert_null(gr_frame_read(r, &frame));
	for (; frame.kind == GR_FRAME_PAGES;) {
		const struct gr_bytes batch = { frame.data, frame.bytes };

		assert_null(
			gr_batch_read(batch, &page, check_page, &i, &is_fine));
		assert_true(is_fine);
		assert_null(gr_frame_read(r, &frame));
	}
	assert_int_equal(frame.kind, GR_FRAME_END);
	while (i < PAGES && i % LEFT_OUT == 0)
		i++;
	assert_int_equal(i, PAGES);
	gr_frame_reader_destroy(r);
	gr_byte_vector_deinit(&file.bytes);
}

TEST(number_of_threads)
{
	static const unsigned int counts[] = { 2, 3, 5, GR_BATCH_THREADS };
	struct file one = new_file();

	setup();
	assert_null(write_file(&one, 1));
	for (size_t i = 0; i < GR_ARRAY_SIZE(counts); i++) {
		struct file file = new_file();

		assert_null(write_file(&file, counts[i]));
		assert_int_equal(file.bytes.size, one.bytes.size);
		assert_memory_equal(file.bytes.data, one.bytes.data,
				    one.bytes.size);
		gr_byte_vector_deinit(&file.bytes);
	}
	gr_byte_vector_deinit(&one.bytes);
}

/* With less memory there are fewer threads; without any, there is no file. */
TEST(little_memory)
{
	struct file one = new_file();

	setup();
	assert_null(write_file(&one, 1));
	for (uint64_t wants = 0; wants < 4; wants++) {
		struct file file = new_file();

		file.wants_left = wants;
		struct gr_error *err = write_file(&file, 4);
		assert_int_equal(err != NULL, wants == 0);
		if (err)
			assert_error_code(err, GR_ERROR_LIMIT);
		else
			assert_memory_equal(file.bytes.data, one.bytes.data,
					    one.bytes.size);
		gr_error_destroy(err);
		gr_byte_vector_deinit(&file.bytes);
	}
	gr_byte_vector_deinit(&one.bytes);
}

/* Whenever poll refuses, this is the error, and no thread is left. */
TEST(poll)
{
	setup();
	for (unsigned int nthreads = 1; nthreads < 4; nthreads++)
		for (uint64_t polls = 0; polls < 9; polls++) {
			struct file file = new_file();

			file.polls_left = polls;
			assert_fails(write_file(&file, nthreads),
				     GR_ERROR_INTERRUPTED, NULL);
			gr_byte_vector_deinit(&file.bytes);
		}
}

GR_SUITE("batches")
