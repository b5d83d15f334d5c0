// SPDX-License-Identifier: Apache-2.0
/*
 * A saved file whose frames the input patches before they are compressed and
 * get their checksums, or whose headers it changes: opened, and asked.
 */
#include "questions.h"
#include "save/save.h"
#include "savedfile/coder.h"
#include "savedfile/frames.h"
#include "dwarf/internal.h"

#include <time.h>

enum {
	MAX_SECONDS = 8,
	/* The heads of the file and of a frame are those of savedfile/frames.c. */
	HEAD_BYTES = 56,
	HEADER_BYTES = 32,
	MEMORY_LIMIT = 1 << 29,
	/* Ranges of a kind of frame have this many bytes together. */
	SHARE_BYTES = 1 << 20,
};

/** A frame of the seed: its bytes in the base, and in the file. */
struct frame {
	uint32_t kind;
	uint64_t off, bytes;
	const uint8_t *packed;
	uint64_t packed_bytes; /* with the header */
};
GR_VECTOR(frame_vector, struct frame);

/** An input does this to a frame as a whole. */
enum change {
	CHANGE_NOTHING,
	CHANGE_DROP,
	CHANGE_TWICE,
	CHANGE_HEADER,
	CHANGE_CUT,
	CHANGE_PACKED,
	NCHANGES,
};

static struct fuzz_base seed;	 /* the file */
static struct fuzz_base content; /* of all frames, one after another */
static struct frame_vector frames;

// ------------------------------------------------------------------- files

static void put(struct gr_byte_vector *to, const void *data, size_t bytes)
{
	if (!gr_byte_vector_reserve(to, to->size + bytes))
		abort();
	if (bytes)
		memcpy(to->data + to->size, data, bytes);
	to->size += bytes;
}

static struct gr_error *sink(void *ctx, const void *data, size_t bytes)
{
	put(ctx, data, bytes);
	return NULL;
}

static void must(struct gr_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "fuzz_saved: %s\n", err->message);
	abort();
}

/* Append a frame whose content is new. */
static void pack(const struct frame *frame, struct gr_byte_vector *to)
{
	struct gr_byte_vector file = { 0 };
	struct gr_frame_writer *w;
	uint8_t *data = content.file.data + frame->off;

	// One block of tables is one frame, unless it is a large one.
	if (frame->kind == GR_FRAME_TABLES)
		gr_store_seal(data, frame->bytes);
	must(gr_frame_writer_create((struct gr_frame_sink){ sink, &file },
				    GR_SAVED_VERSION, &w));
	must(gr_frame_write(w, frame->kind, data, frame->bytes));
	gr_frame_writer_destroy(w);
	put(to, file.data + HEAD_BYTES, file.size - HEAD_BYTES);
	gr_byte_vector_deinit(&file);
}

static bool is_patched(const struct frame *frame)
{
	for (size_t i = 0; i < content.patched.size; i++)
		if (content.patched.data[i].off - frame->off < frame->bytes)
			return true;
	return false;
}

static void append(const struct frame *frame, struct gr_byte_vector *file)
{
	if (is_patched(frame))
		pack(frame, file);
	else
		put(file, frame->packed, frame->packed_bytes);
}

/* Change a frame that begins at @p start and is the file's last one so far. */
static void change_last(enum change how, struct fuzz_input *in, size_t start,
			struct gr_byte_vector *file)
{
	uint64_t place = fuzz_take(in, 1), value = fuzz_take(in, 3);
	size_t bytes = file->size - start;
	uint8_t *at = file->data + start;

	if (how == CHANGE_DROP)
		file->size = start;
	else if (how == CHANGE_HEADER)
		at[place % (HEADER_BYTES - 8)] = (uint8_t)value;
	else if (how == CHANGE_PACKED && bytes > HEADER_BYTES)
		at[HEADER_BYTES + value % (bytes - HEADER_BYTES)] = place;
	else if (how == CHANGE_CUT)
		file->size = start + value % (bytes + 1);
}

/* The file with the patches of the content and one change. */
static void make_file(struct fuzz_input *in, struct gr_byte_vector *file)
{
	struct fuzz_input head = { in->data, in->bytes < 6 ? in->bytes : 6 };
	enum change how = fuzz_take(&head, 1) % NCHANGES;
	size_t changed = fuzz_take(&head, 1) % frames.size;

	fuzz_take(in, 6);
	if (in->bytes)
		fuzz_base_patch(&content, in, NULL);
	put(file, seed.original, HEAD_BYTES);
	for (size_t i = 0, number = 0; i < frames.size; i++) {
		bool is_twice = i == changed && how == CHANGE_TWICE;

		for (int n = 0; n <= is_twice; n++) {
			size_t start = file->size;

			append(&frames.data[i], file);
			if (i == changed)
				change_last(how, &head, start, file);
			gr_frame_seal(file->data + start, file->size - start,
				      number);
			number += file->size > start;
		}
	}
}

// -------------------------------------------------------------------- seed

/* So many bytes of each kind of frame, that none is seldom patched. */
static void add_share(uint64_t off, uint64_t bytes)
{
	for (uint64_t sum = 0; bytes && sum < SHARE_BYTES; sum += bytes)
		fuzz_base_add(&content, off, bytes);
}

static void add_ranges(const struct frame *frame)
{
	const uint64_t key = 3 * sizeof(uint64_t);

	add_share(frame->off, frame->bytes);
	// Where sections, pages and counts are is worth more than values.
	if (frame->kind == GR_FRAME_TABLES && frame->bytes > key + 512)
		add_share(frame->off + key, 512);
	if (frame->kind == GR_FRAME_PAGES && frame->bytes > 4096)
		add_share(frame->off, 4096);
}

static void read_frames(struct gr_byte_vector *all)
{
	struct gr_saved_frame frame = { 0 };
	struct gr_frame_reader *r;
	const uint8_t *at = seed.original + HEAD_BYTES;
	static const uint8_t zeros[8];

	must(gr_frame_reader_create("seed", seed.original, seed.file.bytes,
				    &r));
	while (frame.kind != GR_FRAME_END) {
		must(gr_frame_read(r, &frame));
		uint64_t packed = gr_load_u64(at + 16) + HEADER_BYTES;
		if (!frame_vector_append(
			    &frames, (struct frame){ frame.kind, all->size,
						     frame.bytes, at, packed }))
			abort();
		put(all, frame.data, frame.bytes);
		// Tables are read where they lie.
		put(all, zeros, -all->size % sizeof(zeros));
		at += packed;
	}
	gr_frame_reader_destroy(r);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct gr_byte_vector all = { 0 };

	(void)argc;
	(void)argv;
	fuzz_base_init(&seed, "GOREF_FUZZ_SAVED");
	read_frames(&all);
	fuzz_base_set(&content, all.data, all.size);
	for (size_t i = 0; i < frames.size; i++)
		add_ranges(&frames.data[i]);
	return 0;
}

// --------------------------------------------------------------- questions

static uint64_t cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec;
}

static struct gr_error *poll(void *ctx)
{
	return cpu_seconds() < *(uint64_t *)ctx ?
		       NULL :
		       gr_error_format(GR_ERROR_INTERRUPTED, "too long");
}

static struct gr_error *drop(void *ctx, const void *data, size_t bytes)
{
	(void)data;
	*(uint64_t *)ctx += bytes;
	return NULL;
}

/* All questions that there are, and the file once more. */
static struct gr_error *save_again(struct gr_scan *scan)
{
	uint64_t bytes = 0;
	const struct gr_save_options options = { .write = drop, .ctx = &bytes };

	return gr_scan_save(scan, &options);
}

/* @p how Its first two bits are the question, the others are part of it. */
static struct gr_error *ask(const char *path, struct fuzz_input how)
{
	unsigned int bits = fuzz_take(&how, 1), question = bits & 3;
	uint64_t end = cpu_seconds() + MAX_SECONDS;
	const struct gr_target target = {
		.kind = GR_TARGET_SAVED,
		.saved_path = path,
		.memory_limit_bytes = MEMORY_LIMIT,
		.ops = { .poll = poll },
		.ctx = &end,
	};
	struct gr_scan *scan;
	static const enum gr_scan_extent extents[] = { GR_EXTENT_HEAP,
						       GR_EXTENT_GOROUTINES,
						       GR_EXTENT_SAVE,
						       GR_EXTENT_NATIVE };
	struct gr_error *err =
		gr_scan_create(&target, extents[question], &scan);

	if (err)
		return err;
	uint64_t addr = fuzz_take(&how, 4);
	err = question == 0 ? fuzz_ask_heap(scan, &how, addr) :
	      question == 1 ? fuzz_ask_goroutines(scan, bits >> 2) :
	      question == 2 ? save_again(scan) :
			      fuzz_ask_native(scan, addr);
	gr_scan_destroy(scan);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = { data, bytes }, how = in;
	struct gr_byte_vector file = { 0 };
	struct fuzz_file made;

	fuzz_take(&in, 1);
	make_file(&in, &file);
	fuzz_file_init(&made, file.data, file.size);
	struct gr_error *err = ask(made.path, how);
	fuzz_check_error(err);
	fuzz_file_deinit(&made);
	gr_byte_vector_deinit(&file);
	fuzz_base_restore(&content);
	return 0;
}
