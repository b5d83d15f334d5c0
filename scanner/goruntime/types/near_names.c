// SPDX-License-Identifier: Apache-2.0
#include "goruntime/types/near_names.h"

#include <ctype.h>

enum {
	MAX_NEAR = 3,	  /* names in an error */
	MAX_DISTANCE = 6, /* letters between a name and what was meant */
	SHOWN_BYTES = 200,
	PARTS = 64, /* of brackets around a name, `[][3]main.T` */
};

/** The nearest names so far, the nearest first. */
struct nearest {
	const char *names[MAX_NEAR];
	unsigned int distances[MAX_NEAR];
	size_t count;
};

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

// --------------------------------------------------------------------- names

/* Find the type with a name among all types, including those that were made of
 * runtime records and of closures; GR_TYPE_NONE if there is none. */
static struct gr_error *find_any(struct gr_types *types, const char *name,
				 gr_type_id *ret)
{
	struct gr_runtime *rt = gr_types_runtime(types);
	gr_type_id id = gr_types_find(types, name);
	struct gr_error *err = gr_types_take_error(types);

	for (gr_type_id i = 0;
	     !err && id == GR_TYPE_NONE && i < gr_types_count(types); i++) {
		const char *other = gr_types_get(types, i)->name;

		err = gr_runtime_step_name(rt, other);
		if (!strcmp(other, name))
			id = i;
	}
	*ret = id;
	return err;
}

/* Take the brackets of an array or a slice from the front of a name. False:
 * there are none. */
static bool skip_brackets(const char **name)
{
	const char *c = *name;

	if (*c++ != '[')
		return false;
	while (isdigit((unsigned char)*c))
		c++;
	if (*c != ']' || !c[1])
		return false;
	*name = c + 1;
	return true;
}

/* Copy a name without what naming/memory_name.c writes around types. */
static char *bare_name(const char *name)
{
	static const char begin[] = "begins with ";

	if (!strncmp(name, begin, sizeof(begin) - 1))
		name += sizeof(begin) - 1;
	return strdup(name);
}

struct gr_error *gr_types_is_name(struct gr_types *types, const char *name,
				  bool *ret)
{
	_cleanup_free_ char *bare = bare_name(name);
	const char *rest = bare;
	gr_type_id id = GR_TYPE_NONE;
	struct gr_error *err;

	if (!bare)
		return &gr_enomem;
	err = find_any(types, rest, &id);
	for (int i = 0; !err && id == GR_TYPE_NONE && i < PARTS; i++) {
		if (!skip_brackets(&rest))
			break;
		err = find_any(types, rest, &id);
	}
	*ret = !err && id != GR_TYPE_NONE;
	return err;
}

// ---------------------------------------------------------------- near names

/* The most that two names may differ: a third of the wrong one. */
static unsigned int max_distance(const char *name)
{
	size_t third = strnlen(name, GR_NEAR_BYTES + 1) / 3;

	return third < MAX_DISTANCE ? (unsigned int)third : MAX_DISTANCE;
}

static bool has_name(const struct nearest *found, const char *name)
{
	for (size_t i = 0; i < found->count; i++)
		if (!strcmp(found->names[i], name))
			return true;
	return false;
}

/* Enter a name in its order. The first of several that are equally near stays in
 * front. */
static void enter(struct nearest *found, const char *name,
		  unsigned int distance)
{
	size_t i = found->count;

	while (i && found->distances[i - 1] > distance)
		i--;
	if (i == MAX_NEAR)
		return;
	if (found->count < MAX_NEAR)
		found->count++;
	for (size_t j = found->count - 1; j > i; j--) {
		found->names[j] = found->names[j - 1];
		found->distances[j] = found->distances[j - 1];
	}
	found->names[i] = name;
	found->distances[i] = distance;
}

/* The part of a name behind the path of its package. */
static const char *last_part(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *dot = strchr(slash ? slash : name, '.');

	return dot ? dot + 1 : name;
}

/* How far a type is from the name: equal but for the package is near, because
 * nobody writes a path by heart. Nobody forgets the star of a pointer. */
static unsigned int distance_to(const char *type, const char *name,
				unsigned int max)
{
	if ((*type == '*') != (*name == '*'))
		return max + 1;
	if (strpbrk(type, "[*{( "))
		return gr_edit_distance(type, name, max);
	if (!strcmp(last_part(type), last_part(name)))
		return 1;
	return gr_edit_distance(type, name, max);
}

static struct gr_error *find_nearest(struct gr_types *types, const char *name,
				     struct nearest *ret)
{
	struct gr_runtime *rt = gr_types_runtime(types);
	unsigned int max = max_distance(name);
	struct gr_error *err = NULL;

	for (gr_type_id i = 0; !err && i < gr_types_count(types); i++) {
		const char *type = gr_types_get(types, i)->name;

		// A row of the table is a step.
		err = gr_runtime_step(rt, 1 + strnlen(type, GR_NEAR_BYTES));
		unsigned int far = distance_to(type, name, max);
		if (far <= max && !has_name(ret, type))
			enter(ret, type, far);
	}
	return err;
}

static struct gr_error *name_nearest(const struct nearest *found,
				     const char *name)
{
	const char *const *near = found->names;

	switch (found->count) {
	case 0:
		return gr_error_format(GR_ERROR_NOT_FOUND,
				       "there is no type %.*s; `goref "
				       "histogram' lists the types",
				       SHOWN_BYTES, name);
	case 1:
		return gr_error_format(GR_ERROR_NOT_FOUND,
				       "there is no type %.*s: is it %.*s?",
				       SHOWN_BYTES, name, SHOWN_BYTES, near[0]);
	case 2:
		return gr_error_format(
			GR_ERROR_NOT_FOUND,
			"there is no type %.*s: is it %.*s or %.*s?",
			SHOWN_BYTES, name, SHOWN_BYTES, near[0], SHOWN_BYTES,
			near[1]);
	}
	return gr_error_format(GR_ERROR_NOT_FOUND,
			       "there is no type %.*s: is it %.*s, %.*s or "
			       "%.*s?",
			       SHOWN_BYTES, name, SHOWN_BYTES, near[0],
			       SHOWN_BYTES, near[1], SHOWN_BYTES, near[2]);
}

struct gr_error *gr_types_no_such(struct gr_types *types, const char *name)
{
	_cleanup_free_ char *bare = bare_name(name);
	struct nearest found = { .count = 0 };
	const char *rest = bare;
	struct gr_error *err;

	if (!bare)
		return &gr_enomem;
	for (int i = 0; i < PARTS && skip_brackets(&rest); i++)
		;
	err = find_nearest(types, rest, &found);
	return err ? err : name_nearest(&found, rest);
}
