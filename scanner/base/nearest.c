// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include "base/text.h"

enum {
	MAX_DISTANCE = 6, /* letters between a name and what was meant */
	SWAPPED_BYTES =
		4, /* of the least name in which two letters may differ */
	SHOWN_BYTES = 200,
};

static_assert(GR_NEAREST_NAMES *(SHOWN_BYTES + 8) < GR_NEAREST_TEXT,
	      "the names and the words between them have room");

// ------------------------------------------------------------- edit distance

static unsigned int least(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Compute row @p i of the table of distances, in the band of @p max places
 * around the diagonal. The least number of the row is returned. */
static unsigned int fill_row(const char *a, const char *b, size_t i,
			     size_t bytes, unsigned int max,
			     const unsigned int *above, unsigned int *row)
{
	size_t first = i > max ? i - max : 1;
	size_t last = i + max < bytes ? i + max : bytes;
	unsigned int best = max + 1;

	row[first - 1] = first == 1 ? (unsigned int)i : max + 1;
	if (first == 1)
		best = row[0];
	for (size_t j = first; j <= last; j++) {
		row[j] = least(above[j] + 1, row[j - 1] + 1,
			       above[j - 1] + (a[i - 1] != b[j - 1]));
		best = row[j] < best ? row[j] : best;
	}
	if (last < bytes)
		row[last + 1] = max + 1;
	return best;
}

unsigned int gr_edit_distance(const char *a, const char *b, unsigned int max)
{
	unsigned int rows[2][GR_NEAR_BYTES + 2];
	size_t na = strnlen(a, GR_NEAR_BYTES + 1);
	size_t nb = strnlen(b, GR_NEAR_BYTES + 1);
	size_t apart = na > nb ? na - nb : nb - na;

	if (na > GR_NEAR_BYTES || nb > GR_NEAR_BYTES || apart > max)
		return max + 1;
	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = j <= max ? (unsigned int)j : max + 1;
	for (size_t i = 1; i <= na; i++)
		if (fill_row(a, b, i, nb, max, rows[~i & 1], rows[i & 1]) > max)
			return max + 1;
	return rows[na & 1][nb] <= max ? rows[na & 1][nb] : max + 1;
}

unsigned int gr_near_limit(const char *name)
{
	size_t bytes = strnlen(name, GR_NEAR_BYTES + 1);
	unsigned int third = (unsigned int)bytes / 3;

	// Letters that have changed places are two, in short names as well.
	if (bytes >= SWAPPED_BYTES && third < 2)
		return 2;
	return third < MAX_DISTANCE ? third : MAX_DISTANCE;
}

// --------------------------------------------------------------------- names

static bool has_name(const struct gr_nearest *nearest, const char *name)
{
	for (size_t i = 0; i < nearest->count; i++)
		if (!strcmp(nearest->names[i], name))
			return true;
	return false;
}

void gr_nearest_enter(struct gr_nearest *nearest, const char *name,
		      unsigned int distance)
{
	size_t i = nearest->count;

	while (i && nearest->distances[i - 1] > distance)
		i--;
	if (i == GR_NEAREST_NAMES || has_name(nearest, name))
		return;
	if (nearest->count < GR_NEAREST_NAMES)
		nearest->count++;
	for (size_t j = nearest->count - 1; j > i; j--) {
		nearest->names[j] = nearest->names[j - 1];
		nearest->distances[j] = nearest->distances[j - 1];
	}
	nearest->names[i] = name;
	nearest->distances[i] = distance;
}

const char *gr_nearest_text(const struct gr_nearest *nearest,
			    char text[static GR_NEAREST_TEXT])
{
	struct gr_text to = gr_text_begin(text, GR_NEAREST_TEXT);

	for (size_t i = 0; i < nearest->count; i++) {
		bool is_last = i && i + 1 == nearest->count;

		gr_text_put(&to, "%s%.*s",
			    !i	    ? "; did you mean " :
			    is_last ? " or " :
				      ", ",
			    SHOWN_BYTES, nearest->names[i]);
	}
	if (nearest->count)
		gr_text_put(&to, "?");
	// Names are the program's, and an error is one line.
	gr_text_make_printable(text, to.bytes);
	return text;
}
