// SPDX-License-Identifier: Apache-2.0
/* Source: the Go specification, "Lexical elements". */
#include "expr/literal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Text of a string or rune as it is read; the buffer is large enough. */
struct reader {
	const char *next;
	char *out;
	size_t n;
};

static unsigned int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 : 99;
}

/* Exactly @count digits of that base. */
static bool read_digits(struct reader *r, unsigned int base, int count,
			uint32_t *ret)
{
	*ret = 0;
	while (count--) {
		unsigned int digit = digit_value(*r->next);
		if (digit >= base)
			return false;
		*ret = *ret * base + digit;
		r->next++;
	}
	return true;
}

static void put_byte(struct reader *r, uint32_t byte)
{
	r->out[r->n++] = (char)byte;
}

static bool put_rune(struct reader *r, uint32_t rune)
{
	if (rune > 0x10ffff || (rune >= 0xd800 && rune < 0xe000))
		return false;
	if (rune < 0x80) {
		put_byte(r, rune);
		return true;
	}
	if (rune < 0x800) {
		put_byte(r, 0xc0 | rune >> 6);
	} else if (rune < 0x10000) {
		put_byte(r, 0xe0 | rune >> 12);
		put_byte(r, 0x80 | (rune >> 6 & 0x3f));
	} else {
		put_byte(r, 0xf0 | rune >> 18);
		put_byte(r, 0x80 | (rune >> 12 & 0x3f));
		put_byte(r, 0x80 | (rune >> 6 & 0x3f));
	}
	put_byte(r, 0x80 | (rune & 0x3f));
	return true;
}

/* Read the rest of an escape sequence, behind its backslash. */
static bool read_escape(struct reader *r)
{
	static const char names[] = "abfnrtv\\'\"";
	static const char values[] = "\a\b\f\n\r\t\v\\'\"";
	char c = *r->next++;
	const char *name = c ? strchr(names, c) : NULL;
	uint32_t value;

	if (name) {
		put_byte(r, (uint8_t)values[name - names]);
		return true;
	}
	switch (c) {
	case 'x':
		if (!read_digits(r, 16, 2, &value))
			return false;
		put_byte(r, value);
		return true;
	case 'u':
		return read_digits(r, 16, 4, &value) && put_rune(r, value);
	case 'U':
		return read_digits(r, 16, 8, &value) && put_rune(r, value);
	default:
		r->next--;
		if (!read_digits(r, 8, 3, &value) || value > 0xff)
			return false;
		put_byte(r, value);
		return true;
	}
}

/* From behind the first quote to behind the last one. An escape is never
 * shorter than what it stands for. */
static bool read_quoted(struct reader *r, char quote)
{
	while (*r->next != quote) {
		if (!*r->next)
			return false;
		if (*r->next == '\\' && quote != '`') {
			r->next++;
			if (!read_escape(r))
				return false;
		} else {
			put_byte(r, (uint8_t)*r->next++);
		}
	}
	r->next++;
	return true;
}

/* The one character of some UTF-8 text. */
static bool decode_rune(const char *text, size_t bytes, uint64_t *ret)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t need = !bytes	   ? 0 :
		      s[0] < 0x80  ? 1 :
		      s[0] >= 0xf0 ? 4 :
		      s[0] >= 0xe0 ? 3 :
				     2;

	if (!need || need != bytes)
		return false;
	*ret = need == 1 ? s[0] : s[0] & (0x7fu >> need);
	for (size_t i = 1; i < need; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return false;
		*ret = *ret << 6 | (s[i] & 0x3f);
	}
	return true;
}

static enum gr_literal_result read_text(struct reader *r,
					struct gr_literal *ret)
{
	char quote = *r->next++;

	r->out = malloc(strlen(r->next) + 1);
	if (!r->out)
		return GR_LITERAL_NO_MEMORY;
	ret->text = r->out;
	if (!read_quoted(r, quote))
		return GR_LITERAL_MALFORMED;
	ret->text_bytes = r->n;
	if (quote != '\'') {
		ret->kind = GR_LITERAL_STRING;
		return GR_LITERAL_FINE;
	}
	ret->kind = GR_LITERAL_NUMBER;
	// '\xff' is a number, and no text.
	if (r->n == 1) {
		ret->magnitude = (uint8_t)r->out[0];
		return GR_LITERAL_FINE;
	}
	return decode_rune(r->out, r->n, &ret->magnitude) ?
		       GR_LITERAL_FINE :
		       GR_LITERAL_MALFORMED;
}

static unsigned int read_base(struct reader *r)
{
	if (r->next[0] != '0' || !r->next[1])
		return 10;
	switch (r->next[1] | 0x20) {
	case 'x':
		r->next += 2;
		return 16;
	case 'o':
		r->next += 2;
		return 8;
	case 'b':
		r->next += 2;
		return 2;
	default:
		return isdigit((unsigned char)r->next[1]) ? 8 : 10;
	}
}

static enum gr_literal_result read_number(struct reader *r,
					  struct gr_literal *ret)
{
	bool has_digit = false, is_large = false;

	ret->kind = GR_LITERAL_NUMBER;
	ret->is_negative = *r->next == '-';
	r->next += *r->next == '-' || *r->next == '+';
	unsigned int base = read_base(r);
	for (;; r->next++) {
		unsigned int digit = digit_value(*r->next);

		if (*r->next == '_' && digit_value(r->next[1]) < base)
			continue;
		if (digit >= base)
			break;
		has_digit = true;
		is_large |= __builtin_mul_overflow(ret->magnitude, base,
						   &ret->magnitude);
		is_large |= __builtin_add_overflow(ret->magnitude, digit,
						   &ret->magnitude);
	}
	ret->is_negative = ret->is_negative && ret->magnitude;
	if (!has_digit || isalnum((unsigned char)*r->next))
		return GR_LITERAL_MALFORMED;
	return is_large ? GR_LITERAL_TOO_LARGE : GR_LITERAL_FINE;
}

static const char *skip_blanks(const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

/* True if @text begins with that word and does not go on. */
static bool is_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	return !strncmp(text, word, len) &&
	       !isalnum((unsigned char)text[len]) && text[len] != '_';
}

enum gr_literal_result gr_literal_parse(const char *text, const char **end,
					struct gr_literal *ret)
{
	struct reader r = { .next = skip_blanks(text) };
	enum gr_literal_result result = GR_LITERAL_FINE;

	memset(ret, 0, sizeof(*ret));
	if (is_word(r.next, "true") || is_word(r.next, "false")) {
		ret->kind = GR_LITERAL_BOOL;
		ret->truth = *r.next == 't';
		r.next += ret->truth ? 4 : 5;
	} else if (*r.next && strchr("\"`'", *r.next)) {
		result = read_text(&r, ret);
	} else {
		result = read_number(&r, ret);
	}
	*end = skip_blanks(r.next);
	return result;
}

void gr_literal_deinit(struct gr_literal *literal)
{
	free(literal->text);
	literal->text = NULL;
}

bool gr_literal_is_integer(const struct gr_literal *literal,
			   const uint8_t *value, unsigned int bytes,
			   bool is_signed)
{
	uint64_t number = 0, sign = UINT64_C(1) << (8 * bytes - 1);

	for (unsigned int i = bytes; i-- > 0;)
		number = number << 8 | value[i];
	if (!is_signed || !(number & sign))
		return !literal->is_negative && literal->magnitude == number;
	// Two's complement: of the lowest number, too.
	return literal->is_negative &&
	       literal->magnitude == (sign - (number & (sign - 1)));
}
