/* SPDX-License-Identifier: Apache-2.0 */
/** text: human-readable numbers, and texts of limited length. */
#ifndef GR_TEXT_H
#define GR_TEXT_H

#include "base/base.h"

/** Does @p text begin with @p prefix? */
static inline bool gr_has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/**
 * Write "1.5 MiB" and the like into @p text.
 *
 * @return @p text.
 */
const char *gr_text_bytes(uint64_t bytes, char *text, size_t text_bytes);

/** A number with commas: "1,234,567". */
struct gr_number_text {
	char text[32];
};
struct gr_number_text gr_number_text(uint64_t n);

/**
 * A text that is put together in the caller's memory. If it gets too long, it
 * ends in "..." instead, and later additions change nothing.
 */
struct gr_text {
	char *data;	 /**< Always ends in a zero byte. */
	size_t bytes;	 /**< Without the zero byte. */
	size_t capacity; /**< Bytes of memory at data. */
	bool is_cut;
};

/** Begin an empty text in @p data, of @p capacity bytes: at least 4. */
struct gr_text gr_text_begin(char *data, size_t capacity);

/** Append a formatted text. */
void gr_text_put(struct gr_text *text, const char *fmt, ...) GR_PRINTF(2, 3);

/**
 * Length of the UTF-8 character at @p text, which has @p bytes (at least 1)
 * bytes; 0 if they begin with no character, or with one that is not printable:
 * it would control a terminal, end a line, or turn the direction of a text.
 */
size_t gr_text_character(const char *text, size_t bytes);

/** Replace each byte of what is not printable by '?'. */
void gr_text_make_printable(char *text, size_t bytes);

/**
 * Append a Go string literal with the @p bytes bytes at @p string. Control and
 * format characters, and bytes that are not UTF-8, are escaped. If @p is_more,
 * the string goes on: the literal ends in "..." before its quote.
 */
void gr_text_put_quoted(struct gr_text *text, const void *string, size_t bytes,
			bool is_more);

#endif /* GR_TEXT_H */
