// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <stdarg.h>

const char *gr_text_bytes(uint64_t bytes, char *text, size_t text_bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 1023.95 && unit + 1 < GR_ARRAY_SIZE(units); unit++)
		value /= 1024;
	snprintf(text, text_bytes, unit ? "%.1f %s" : "%.0f %s", value,
		 units[unit]);
	return text;
}

struct gr_number_text gr_number_text(uint64_t n)
{
	struct gr_number_text ret;
	size_t at = sizeof(ret.text) - 1;
	unsigned int digits = 0;

	ret.text[at] = '\0';
	// Bounded by the digits of a number.
	do {
		if (digits && !(digits % 3))
			ret.text[--at] = ',';
		ret.text[--at] = (char)('0' + n % 10);
		digits++;
		n /= 10;
	} while (n);
	memmove(ret.text, ret.text + at, sizeof(ret.text) - at);
	return ret;
}

struct gr_text gr_text_begin(char *data, size_t capacity)
{
	GR_ASSERT(capacity >= sizeof("..."));
	*data = '\0';
	return (struct gr_text){ .data = data, .capacity = capacity };
}

/* Is this a byte of a UTF-8 character other than its first one? */
static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* End a text that is too long. No character of it is cut in two. */
static void cut(struct gr_text *text)
{
	size_t end = text->capacity - sizeof("...");

	while (end && is_continuation(text->data[end]))
		end--;
	memcpy(text->data + end, "...", sizeof("..."));
	text->bytes = end + strlen("...");
	text->is_cut = true;
}

void gr_text_put(struct gr_text *text, const char *fmt, ...)
{
	size_t room = text->capacity - text->bytes;
	va_list ap;

	if (text->is_cut)
		return;
	va_start(ap, fmt);
	int n = vsnprintf(text->data + text->bytes, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room)
		cut(text);
	else
		text->bytes += (size_t)n;
}

/* The length of the UTF-8 character at @p s, of which @p bytes are there; 0:
 * these bytes are none. */
static size_t read_character(const unsigned char *s, size_t bytes,
			     uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = *s < 0x80 ? 1 :
		   *s < 0xc0 ? 0 :
		   *s < 0xe0 ? 2 :
		   *s < 0xf0 ? 3 :
		   *s < 0xf8 ? 4 :
			       0;

	if (!n || n > bytes)
		return 0;
	*ret = n == 1 ? *s : *s & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if (!is_continuation((char)s[i]))
			return 0;
		*ret = *ret << 6 | (s[i] & 0x3f);
	}
	bool is_surrogate = *ret >= 0xd800 && *ret < 0xe000;
	return *ret < least[n] || *ret > 0x10ffff || is_surrogate ? 0 : n;
}

/* From the first to the last one. */
struct characters {
	uint32_t first, last;
};

static bool is_among(uint32_t c, const struct characters *set, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c >= set[i].first && c <= set[i].last)
			return true;
	return false;
}

/* Characters that control a terminal, end a line, or change the direction of
 * the text around them. */
static bool is_control(uint32_t c)
{
	static const struct characters set[] = {
		{ 0, 0x1f },	      { 0x7f, 0x9f },	  { 0x61c, 0x61c },
		{ 0x200e, 0x200f },   { 0x2028, 0x202e }, { 0x2066, 0x2069 },
		{ 0xe0000, 0xe007f },
	};

	return is_among(c, set, GR_ARRAY_SIZE(set));
}

/* The same, and characters that are invisible or belong to nobody. */
static bool is_special(uint32_t c)
{
	static const struct characters set[] = {
		{ 0xad, 0xad },	    { 0x180e, 0x180e }, { 0x200b, 0x200d },
		{ 0x2060, 0x206f }, { 0xe000, 0xf8ff }, { 0xfeff, 0xfeff },
		{ 0xfff0, 0xfffb }, { 0xfffe, 0xffff }, { 0xe0000, 0x10ffff },
	};

	return is_control(c) || is_among(c, set, GR_ARRAY_SIZE(set));
}

size_t gr_text_character(const char *text, size_t bytes)
{
	uint32_t c = (unsigned char)*text;

	if (c < 0x80)
		return c >= 0x20 && c != 0x7f;
	size_t n = read_character((const unsigned char *)text, bytes, &c);
	return n && !is_control(c) ? n : 0;
}

void gr_text_make_printable(char *text, size_t bytes)
{
	for (size_t i = 0, n; i < bytes; i += n) {
		n = gr_text_character(text + i, bytes - i);
		if (!n) {
			text[i] = '?';
			n = 1;
		}
	}
}

/* The letter of Go's escape sequence of a character; 0: there is none. */
static char escape_letter(uint32_t c)
{
	switch (c) {
	case '\a':
		return 'a';
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	case '\v':
		return 'v';
	case '\\':
	case '"':
		return (char)c;
	default:
		return '\0';
	}
}

static void put_character(struct gr_text *text, const char *s, size_t bytes,
			  uint32_t c)
{
	char letter = escape_letter(c);

	if (letter)
		gr_text_put(text, "\\%c", letter);
	else if (!is_special(c))
		gr_text_put(text, "%.*s", (int)bytes, s);
	else if (c < 0x80)
		gr_text_put(text, "\\x%02x", c);
	else
		gr_text_put(text, c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

void gr_text_put_quoted(struct gr_text *text, const void *string, size_t bytes,
			bool is_more)
{
	const char *s = string;
	uint32_t c;

	gr_text_put(text, "\"");
	for (size_t i = 0, n; i < bytes && !text->is_cut; i += n) {
		n = read_character((const unsigned char *)s + i, bytes - i, &c);
		if (n)
			put_character(text, s + i, n, c);
		else
			gr_text_put(text, "\\x%02x", (unsigned char)s[i]);
		n += !n;
	}
	gr_text_put(text, is_more ? "...\"" : "\"");
}
