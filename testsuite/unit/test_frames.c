// SPDX-License-Identifier: Apache-2.0
// The container of saved files, and the form of pages in it.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

#include "savedfile/coder.h"
#include "savedfile/frames.h"
#include "savedfile/pages.h"

static struct gr_error *append(void *ctx, const void *data, size_t bytes)
{
	struct gr_byte_vector *file = ctx;

	assert_true(gr_byte_vector_reserve(file, file->size + bytes));
	memcpy(file->data + file->size, data, bytes);
	file->size += bytes;
	return NULL;
}

static const char text[] = "what was written comes back, comes back";

/* A file of two frames. */
static struct gr_byte_vector make_file(uint64_t version)
{
	struct gr_byte_vector file = { 0 };
	struct gr_frame_writer *w;

	assert_null(gr_frame_writer_create(
		(struct gr_frame_sink){ append, &file }, version, &w));
	assert_null(gr_frame_write(w, GR_FRAME_MODULE, text, sizeof(text)));
	assert_null(gr_frame_write(w, GR_FRAME_TABLES, "x", 1));
	assert_null(gr_frame_writer_end(w));
	gr_frame_writer_destroy(w);
	return file;
}

/* Read all frames. */
static struct gr_error *read_file(const struct gr_byte_vector *file,
				  unsigned int *count)
{
	struct gr_saved_frame frame = { 0 };
	struct gr_frame_reader *r = NULL;
	struct gr_error *err =
		gr_frame_reader_create("f", file->data, file->size, &r);

	for (*count = 0; !err && frame.kind != GR_FRAME_END; ++*count)
		err = gr_frame_read(r, &frame);
	gr_frame_reader_destroy(r);
	return err;
}

/* Open a file of make_file(), and read its first frame. */
static struct gr_frame_reader *read_first(const struct gr_byte_vector *file)
{
	struct gr_frame_reader *r;
	struct gr_saved_frame frame;

	assert_null(gr_frame_reader_create("f", file->data, file->size, &r));
	assert_null(gr_frame_read(r, &frame));
	assert_int_equal(frame.kind, GR_FRAME_MODULE);
	assert_int_equal(frame.bytes, sizeof(text));
	assert_memory_equal(frame.data, text, sizeof(text));
	return r;
}

TEST(there_and_back)
{
	struct gr_byte_vector file = make_file(GR_SAVED_VERSION);
	struct gr_saved_frame frame;

	struct gr_frame_reader *r = read_first(&file);
	assert_null(gr_frame_read(r, &frame));
	assert_int_equal(frame.kind, GR_FRAME_TABLES);
	assert_null(gr_frame_read(r, &frame));
	assert_int_equal(frame.kind, GR_FRAME_END);
	gr_frame_reader_destroy(r);
	gr_byte_vector_deinit(&file);
}

/* Each changed bit and each missing end is noticed. */
TEST(damage)
{
	struct gr_byte_vector file = make_file(GR_SAVED_VERSION);
	size_t size = file.size;
	unsigned int count;

	for (size_t i = 0; i < size * 8; i++) {
		file.data[i / 8] ^= 1 << i % 8;
		assert_fails(read_file(&file, &count), GR_ERROR_FORMAT, NULL);
		file.data[i / 8] ^= 1 << i % 8;
	}
	for (file.size = 0; file.size < size; file.size++) {
		assert_fails(read_file(&file, &count), GR_ERROR_FORMAT, NULL);
	}
	assert_null(read_file(&file, &count));
	assert_int_equal(count, 3);
	gr_byte_vector_deinit(&file);
}

/* A frame is there, whatever the one behind it is: that is unpacked meanwhile,
 * whether it is wanted or not. */
TEST(frame_before_damage)
{
	struct gr_byte_vector file = make_file(GR_SAVED_VERSION);
	struct gr_saved_frame frame;

	gr_frame_reader_destroy(read_first(&file));
	// The end, whose header has 32 bytes, and the last byte before it.
	file.data[file.size - 33] ^= 1;
	struct gr_frame_reader *r = read_first(&file);
	assert_fails(gr_frame_read(r, &frame), GR_ERROR_FORMAT, NULL);
	gr_frame_reader_destroy(r);
	gr_byte_vector_deinit(&file);
}

/* Read all frames, some of which are larger than allowed. */
static void check_refused(const struct gr_byte_vector *file, const char *why)
{
	unsigned int count;
	assert_fails(read_file(file, &count), GR_ERROR_FORMAT, why);
}

/* A file unpacks to no more than in proportion to its bytes. */
TEST(more_than_fits)
{
	enum { BYTES = 1 << 20 };
	struct gr_byte_vector file = { 0 };
	uint8_t *zeros = calloc(1, BYTES);
	struct gr_frame_writer *w;
	unsigned int count;

	assert_null(gr_frame_writer_create(
		(struct gr_frame_sink){ append, &file }, GR_SAVED_VERSION, &w));
	assert_null(gr_frame_write(w, GR_FRAME_TABLES, zeros, BYTES));
	assert_null(gr_frame_writer_end(w));
	gr_frame_writer_destroy(w);
	check_refused(&file, "unpacks to more");
	file.size = 0;
	assert_null(gr_frame_writer_create(
		(struct gr_frame_sink){ append, &file }, GR_SAVED_VERSION, &w));
	// Pages do not count, and have a limit of their own.
	for (int i = 0; i < 4; i++)
		assert_null(gr_frame_write(w, GR_FRAME_PAGES, zeros, BYTES));
	assert_null(gr_frame_writer_end(w));
	gr_frame_writer_destroy(w);
	assert_null(read_file(&file, &count));
	assert_int_equal(count, 5);
	free(zeros);
	gr_byte_vector_deinit(&file);
}

TEST(too_large)
{
	static const struct {
		uint32_t kind;
		uint64_t bytes;
		const char *why;
	} rows[] = {
		{ GR_FRAME_PAGES, GR_BATCH_MAX_BYTES + 1, "too large" },
		{ GR_FRAME_TABLES, GR_FRAME_MAX_BYTES + 1, "too large" },
		{ GR_FRAME_END, 1, "its end has data" },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(rows); i++) {
		struct gr_byte_vector file = make_file(GR_SAVED_VERSION);
		uint8_t *frame = file.data + 56;

		memcpy(frame, &rows[i].kind, 4);
		memcpy(frame + 8, &rows[i].bytes, 8);
		gr_frame_seal(frame, file.size - 56, 0);
		check_refused(&file, rows[i].why);
		gr_byte_vector_deinit(&file);
	}
}

static struct gr_error *refuse(void *ctx, uint64_t bytes)
{
	*(uint64_t *)ctx = bytes;
	return gr_error_format(GR_ERROR_MEMORY_LIMIT, "no");
}

/* Memory is asked for before it is taken. */
TEST(asked)
{
	struct gr_byte_vector file = make_file(GR_SAVED_VERSION);
	struct gr_saved_frame frame;
	struct gr_frame_reader *r;
	uint64_t asked = 0;

	assert_null(gr_frame_reader_create("f", file.data, file.size, &r));
	gr_frame_reader_ask(r, refuse, &asked);
	assert_fails(gr_frame_read(r, &frame), GR_ERROR_MEMORY_LIMIT, NULL);
	assert_int_equal(asked, sizeof(text));
	gr_frame_reader_destroy(r);
	gr_byte_vector_deinit(&file);
}

/* Files of other versions say which goref reads them. */
TEST(other_versions)
{
	static const uint64_t versions[] = { 0, 1, GR_SAVED_VERSION - 1,
					     GR_SAVED_VERSION + 1, UINT64_MAX };

	for (size_t i = 0; i < GR_ARRAY_SIZE(versions); i++) {
		struct gr_byte_vector file = make_file(versions[i]);
		unsigned int count;
		struct gr_error *err = read_file(&file, &count);

		assert_error_code(err, GR_ERROR_FORMAT);
		assert_non_null(strstr(err->message,
				       "open it with the goref that "
				       "wrote it (" PACKAGE_VERSION ")"));
		assert_int_equal(!strstr(err->message, "or a newer one"),
				 versions[i] < GR_SAVED_VERSION);
		gr_error_destroy(err);
		gr_byte_vector_deinit(&file);
	}
}

// ------------------------------------------------------------------- pages

enum { PAGES = 40 };

/* A page of a list: words that are pointers, numbers, 0 or not there. */
static void make_page(unsigned int i, struct gr_page_words *page)
{
	memset(page, 0, sizeof(*page));
	page->addr = 0xc000000000 + (uint64_t)i * i * GR_SET_PAGE_BYTES;
	page->stride = 1 + i % 7;
	page->column = i % page->stride;
	for (int w = 0; w < GR_SET_PAGE_WORDS; w++) {
		if ((w * 7 + i) % 5 == 0 && i % 9)
			continue;
		page->present[w / 64] |= UINT64_C(1) << w % 64;
		page->words[w] = w % 3 == 0 ? 0 :
				 w % 3 == 1 ? page->addr + w * 64 :
					      UINT64_MAX - w * i;
	}
}

static struct gr_error *compare(void *ctx, const struct gr_page_words *page)
{
	unsigned int *i = ctx;
	struct gr_page_words expected;

	make_page((*i)++, &expected);
	assert_memory_equal(page, &expected, sizeof(expected));
	return NULL;
}

static struct gr_error *accept(void *ctx, const struct gr_page_words *page)
{
	*(uint64_t *)ctx += page->addr % GR_SET_PAGE_BYTES;
	return NULL;
}

TEST(pages)
{
	struct gr_batch_writer *w = gr_batch_writer_create();
	struct gr_page_words *page = calloc(1, sizeof(*page));

	// The second batch does not depend on the first one.
	for (int round = 0; round < 2; round++) {
		unsigned int count = 0;
		uint64_t sum = 0;
		bool is_fine;

		for (unsigned int i = 0; i < PAGES; i++) {
			make_page(i, page);
			gr_batch_add(w, page);
		}
		struct gr_bytes batch = gr_batch_take(w);
		assert_null(
			gr_batch_read(batch, page, compare, &count, &is_fine));
		assert_true(is_fine);
		assert_int_equal(count, PAGES);
		// Numbers at the start that make no sense are noticed or
		// harmless.
		uint8_t *bytes = malloc(batch.size);
		for (size_t i = 0; i < 512 && i < batch.size; i++) {
			memcpy(bytes, batch.data, batch.size);
			bytes[i] ^= 0xff;
			assert_null(gr_batch_read(
				(struct gr_bytes){ bytes, batch.size }, page,
				accept, &sum, &is_fine));
		}
		assert_null(gr_batch_read((struct gr_bytes){ bytes,
							     batch.size - 1 },
					  page, accept, &sum, &is_fine));
		assert_false(is_fine);
		assert_int_equal(sum, 0);
		free(bytes);
	}
	free(page);
	gr_batch_writer_destroy(w);
}

GR_SUITE("frames")
