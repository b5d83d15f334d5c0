/* SPDX-License-Identifier: Apache-2.0 */
/** literal: a constant of Go's basic types, as a person writes an index. */
#ifndef GR_LITERAL_H
#define GR_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gr_literal_kind {
	GR_LITERAL_NUMBER,
	GR_LITERAL_STRING,
	GR_LITERAL_BOOL,
};

struct gr_literal {
	enum gr_literal_kind kind;
	bool truth;	    /**< The value of a bool. */
	bool is_negative;   /**< The number is below 0. */
	uint64_t magnitude; /**< The absolute value of a number. */
	char *text;	    /**< A string's bytes; no zero ends them. */
	size_t text_bytes;
};

enum gr_literal_result {
	GR_LITERAL_FINE,
	GR_LITERAL_MALFORMED,
	GR_LITERAL_TOO_LARGE, /**< A number of more than 64 bits. */
	GR_LITERAL_NO_MEMORY,
};

/**
 * Read an integer (12, -1, 0x1f, 0o17, 0b11, 1_000, 'a'), a string ("a\n" or
 * `a`), true or false at @p text, blanks around it included.
 *
 * @param end receives what stands behind it.
 * The text of *@p ret belongs to the caller: gr_literal_deinit(), also after a
 * failure.
 */
enum gr_literal_result gr_literal_parse(const char *text, const char **end,
					struct gr_literal *ret);
void gr_literal_deinit(struct gr_literal *literal);

/**
 * True if the literal equals the @p bytes bytes at @p value, a signed or
 * unsigned little-endian integer. @p bytes is 1..8.
 */
bool gr_literal_is_integer(const struct gr_literal *literal,
			   const uint8_t *value, unsigned int bytes,
			   bool is_signed);

#endif /* GR_LITERAL_H */
