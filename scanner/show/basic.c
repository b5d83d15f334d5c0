// SPDX-License-Identifier: Apache-2.0
/* Values without parts, and strings. */
#include "show/show_internal.h"

#include <inttypes.h>
#include <math.h>

enum {
	FLOAT_DIGITS = 17,	 /* enough for every float64 */
	FLOAT_BYTES = 400,	 /* the text of any float64 without exponent */
	MORE_BYTES = 32,	 /* `...+18446744073709551615 more` */
	STRING_BYTES = 1U << 20, /* of one string, whatever the limit is */
	KIND_UINT = 7,		 /* reflect.Uint */
	KIND_COMPLEX64 = 15,	 /* reflect.Complex64 */
};

// ------------------------------------------------------------------- numbers

/* The shortest decimal digits that give the same float: 1 to 17 of them, and
 * the power of ten of the first. */
static int shortest(double value, bool is_float32, char *digits)
{
	char text[32];

	for (int n = 0; n < FLOAT_DIGITS; n++) {
		snprintf(text, sizeof(text), "%.*e", n, value);
		bool is_same = is_float32 ? strtof(text, NULL) == (float)value :
					    strtod(text, NULL) == value;
		if (is_same || n == FLOAT_DIGITS - 1)
			break;
	}
	char *e = strchr(text, 'e');
	size_t length = 0;
	for (const char *c = text; c < e; c++)
		if (*c >= '0' && *c <= '9')
			digits[length++] = *c;
	digits[length] = '\0';
	return (int)strtol(e + 1, NULL, 10);
}

/* strconv.FormatFloat(value, 'f', -1, bits) */
static void put_float(struct gr_text *text, double value, bool is_float32)
{
	char digits[FLOAT_DIGITS + 1], out[FLOAT_BYTES], *at = out;

	if (isnan(value) || isinf(value)) {
		gr_text_put(text, isnan(value) ? "NaN" :
				  value > 0    ? "+Inf" :
						 "-Inf");
		return;
	}
	int exponent = shortest(fabs(value), is_float32, digits);
	int length = (int)strlen(digits);
	int whole = exponent < 0 ? 1 : exponent + 1;
	int places = length - 1 - exponent > 0 ? length - 1 - exponent : 0;
	if (signbit(value))
		*at++ = '-';
	for (int i = -places; i < whole; i++) {
		// The digit of 10 to the power of -i, from the left.
		int power = whole - 1 - (i + places);
		int digit = exponent - power;

		if (power == -1)
			*at++ = '.';
		*at++ = digit >= 0 && digit < length ? digits[digit] : '0';
	}
	*at = '\0';
	gr_text_put(text, "%s", out);
}

static double float_at(const uint8_t *bytes, bool is_float32)
{
	uint64_t word = gr_load_uint(bytes, is_float32 ? 4 : 8);
	uint32_t half = (uint32_t)word;
	double value;
	float single;

	memcpy(&value, &word, sizeof(value));
	memcpy(&single, &half, sizeof(single));
	return is_float32 ? single : value;
}

/* A number, behind the name of its constant: `Tuesday (2)`. */
static struct gr_error *put_integer(struct gr_show *s,
				    const struct gr_show_at *at, uint64_t value)
{
	const struct gr_type *type = gr_show_type(s, at);
	bool is_signed = type->kind < KIND_UINT, has_name;
	unsigned int shift = type->size_bytes < 8 ?
				     64 - 8 * (unsigned int)type->size_bytes :
				     0;
	int64_t number = is_signed ? (int64_t)(value << shift) >> shift :
				     (int64_t)value;
	struct gr_error *err = gr_show_put_constant(s, at, number, &has_name);

	if (err)
		return err;
	gr_text_put(s->text, "%s", has_name ? " (" : "");
	gr_text_put(s->text, is_signed ? "%" PRId64 : "%" PRIu64, number);
	gr_text_put(s->text, "%s", has_name ? ")" : "");
	return NULL;
}

static void put_complex(struct gr_text *text, const uint8_t *value,
			bool is_complex64)
{
	gr_text_put(text, "(");
	put_float(text, float_at(value, is_complex64), is_complex64);
	gr_text_put(text, " + ");
	put_float(text, float_at(value + (is_complex64 ? 4 : 8), is_complex64),
		  is_complex64);
	gr_text_put(text, "i)");
}

struct gr_error *gr_show_put_number(struct gr_show *s,
				    const struct gr_show_at *at)
{
	const struct gr_type *type = gr_show_type(s, at);
	uint8_t value[16] = { 0 };
	struct gr_error *err;

	if (!type->size_bytes || type->size_bytes > sizeof(value)) {
		gr_text_put(s->text, "(unknown type)");
		return NULL;
	}
	if (!at->value.host && gr_image_lacks_values(s->rt->image))
		return gr_error_not_saved();
	if (!gr_show_read(s, at, 0, value, type->size_bytes, &err))
		return err;
	if (type->kind == GR_KIND_BOOL)
		gr_text_put(s->text, *value ? "true" : "false");
	else if (type->kind <= GR_KIND_UINTPTR)
		return put_integer(s, at, gr_load_u64(value));
	else if (type->kind < KIND_COMPLEX64)
		put_float(s->text, float_at(value, type->size_bytes == 4),
			  type->size_bytes == 4);
	else
		put_complex(s->text, value, type->size_bytes == 8);
	return NULL;
}

// ------------------------------------------------------------------- strings

struct gr_error *gr_show_put_string(struct gr_show *s,
				    const struct gr_show_at *at)
{
	_cleanup_free_ char *buf = NULL;
	struct gr_error *err;
	uint64_t header[2];

	if (!gr_show_read(s, at, 0, header, sizeof(header), &err))
		return err;
	if (header[1] > INT64_MAX) {
		gr_text_put(s->text, "(unreadable invalid length: %" PRId64 ")",
			    (int64_t)header[1]);
		return NULL;
	}
	uint64_t bytes = header[1] < s->limits.max_string ?
				 header[1] :
				 s->limits.max_string;
	bytes = bytes < STRING_BYTES ? bytes : STRING_BYTES;
	buf = malloc(bytes + MORE_BYTES);
	if (!buf)
		return &gr_enomem;
	if (bytes && !gr_show_read_memory(s, header[0], buf, bytes, &err))
		return err;
	if (bytes < header[1])
		bytes += snprintf(buf + bytes, MORE_BYTES,
				  "...+%" PRIu64 " more", header[1] - bytes);
	gr_text_put_quoted(s->text, buf, bytes, false);
	return NULL;
}
