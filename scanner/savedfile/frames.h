/* SPDX-License-Identifier: Apache-2.0 */
/**
 * frames: the container of a saved file.
 *
 * After a head comes a sequence of frames, each with a header and bytes that
 * zstd has compressed. The last frame has no bytes and says that the file is
 * whole. A header has a checksum of itself, of its number and of the bytes
 * behind it. All numbers are little-endian.
 *
 * The head has a magic number, the version of the format, and which goref wrote
 * the file. It is the same in all versions from 2 on, so that a goref can tell
 * which one reads a file that it does not read itself.
 */
#ifndef GR_FRAMES_H
#define GR_FRAMES_H

#include "base/base.h"
#include "base/error.h"

enum {
	/** The format: this container, what the frames have, and its meaning.
	 * Every change raises it, unless it is one of the tables, which have a
	 * version of their own (GR_DWARF_TABLES_VERSION). Files of another
	 * version are refused; test_saved_format notices a change. */
	GR_SAVED_VERSION = 4,
	/** The most bytes of the text that names the goref, with its NUL. */
	GR_SAVED_WRITER_BYTES = 32,
	/** The most bytes of a frame, before it is compressed. */
	GR_FRAME_MAX_BYTES = 64 << 20,
	/**
	 * All frames except those of pages may together have this many bytes
	 * for each byte of the file. Files of the tests have 4 at most. A single
	 * frame may have more, tables up to 31 for each packed byte and a very
	 * regular list of mappings a thousand: the rest of the file is larger.
	 */
	GR_FRAME_EXPANSION = 256,
};

/** Kinds of frames. Values are part of the format. */
enum gr_frame_kind {
	GR_FRAME_END = 1,
	GR_FRAME_DESCRIPTION = 2, /**< The target: description.c. */
	GR_FRAME_MODULE = 3,	  /**< A module's file: skeleton.c. */
	GR_FRAME_TABLES = 4,	  /**< A module's tables: dwarf/store.c. */
	GR_FRAME_PAGES = 5,	  /**< Words of some pages: pages.c. */
	GR_FRAME_LAYOUT = 6, /**< The runtime's layout, if found by search. */
};

/** Where a file is written to: the bytes in their order. */
struct gr_frame_sink {
	struct gr_error *(*write)(void *ctx, const void *data, size_t bytes);
	void *ctx;
};

/** Compresses the data of frames. Each thread has its own. */
struct gr_frame_packer;

/** The data of a frame, compressed. It belongs to the packer. */
struct gr_packed_frame {
	uint32_t kind; /**< enum gr_frame_kind */
	size_t bytes;  /**< Before it was compressed. */
	const uint8_t *packed;
	size_t packed_bytes;
};

/** NULL: no memory. */
struct gr_frame_packer *gr_frame_packer_create(void);
void gr_frame_packer_destroy(struct gr_frame_packer *packer);

/** Compress data, GR_FRAME_MAX_BYTES at most. @p ret is valid until the next
 * call. */
struct gr_error *gr_frame_pack(struct gr_frame_packer *packer,
			       enum gr_frame_kind kind, const void *data,
			       size_t bytes,
			       struct gr_packed_frame *ret) GR_MUST_CHECK;

struct gr_frame_writer;

/** Begin a file. @p version is GR_SAVED_VERSION, but for tests. */
struct gr_error *
gr_frame_writer_create(struct gr_frame_sink sink, uint64_t version,
		       struct gr_frame_writer **ret) GR_MUST_CHECK;
void gr_frame_writer_destroy(struct gr_frame_writer *writer);

/** Write data as frames, each of which has GR_FRAME_MAX_BYTES at most. */
struct gr_error *gr_frame_write(struct gr_frame_writer *writer,
				enum gr_frame_kind kind, const void *data,
				size_t bytes) GR_MUST_CHECK;

/** Write a frame that some packer has packed. */
struct gr_error *
gr_frame_write_packed(struct gr_frame_writer *writer,
		      const struct gr_packed_frame *frame) GR_MUST_CHECK;

/** Write the last frame. */
struct gr_error *
gr_frame_writer_end(struct gr_frame_writer *writer) GR_MUST_CHECK;

/** A frame of the file, as it was before it was compressed. */
struct gr_saved_frame {
	uint32_t kind; /**< enum gr_frame_kind, or another number. */
	const uint8_t *data;
	size_t bytes;
};

struct gr_frame_reader;

/**
 * Open a file. @p file is mapped by the caller and outlives the reader; @p path
 * is for messages. GR_ERROR_FORMAT if it is no saved file or of another
 * version.
 */
struct gr_error *
gr_frame_reader_create(const char *path, const uint8_t *file, uint64_t bytes,
		       struct gr_frame_reader **ret) GR_MUST_CHECK;
void gr_frame_reader_destroy(struct gr_frame_reader *reader);

/** Have @p want asked before memory is taken. */
void gr_frame_reader_ask(struct gr_frame_reader *reader,
			 struct gr_error *(*want)(void *ctx, uint64_t bytes),
			 void *ctx);

/** The most bytes that the file may have in all frames but those of pages. */
uint64_t gr_frame_reader_most(const struct gr_frame_reader *reader);

/**
 * Read the next frame; its data is valid until the next call. After the last
 * one, its kind is GR_FRAME_END. GR_ERROR_FORMAT if the file is damaged.
 */
struct gr_error *gr_frame_read(struct gr_frame_reader *reader,
			       struct gr_saved_frame *ret) GR_MUST_CHECK;

/**
 * Set the checksum of the frame @p number (0 is the first one of a file), which
 * begins at @p frame; for tests that change it. A header that tells more than
 * @p bytes bytes stays as it is.
 */
void gr_frame_seal(uint8_t *frame, uint64_t bytes, uint64_t number);

/** Which goref wrote the file: "0.1.0". It lives as long as the reader. */
const char *gr_frame_reader_goref(const struct gr_frame_reader *reader);

/** GR_ERROR_FORMAT: the file, or its part @p what, is of another version. */
struct gr_error *gr_saved_other_version(const char *path, const char *what,
					uint64_t version, uint64_t ours,
					const char *goref)
	__attribute__((__returns_nonnull__)) GR_MUST_CHECK;

/** GR_ERROR_FORMAT: the file is damaged. */
struct gr_error *gr_frame_damage(const struct gr_frame_reader *reader,
				 const char *what)
	__attribute__((__returns_nonnull__)) GR_MUST_CHECK;

#endif /* GR_FRAMES_H */
