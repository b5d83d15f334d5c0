// SPDX-License-Identifier: Apache-2.0
#include "goruntime/types/near_names.h"

#include "base/nearest.h"

#include <ctype.h>

enum {
	SHOWN_BYTES = 200,
	PARTS = 64, /* of brackets around a name, `[][3]main.T` */
};

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
				     struct gr_nearest *ret)
{
	struct gr_runtime *rt = gr_types_runtime(types);
	unsigned int max = gr_near_limit(name);
	struct gr_error *err = NULL;

	for (gr_type_id i = 0; !err && i < gr_types_count(types); i++) {
		const char *type = gr_types_get(types, i)->name;

		// A row of the table is a step.
		err = gr_runtime_step(rt, 1 + strnlen(type, GR_NEAR_BYTES));
		unsigned int far = distance_to(type, name, max);
		if (far <= max)
			gr_nearest_enter(ret, type, far);
	}
	return err;
}

static struct gr_error *name_nearest(const struct gr_nearest *found,
				     const char *name)
{
	char near[GR_NEAREST_TEXT];

	return gr_error_format(GR_ERROR_NOT_FOUND, "there is no type %.*s%s",
			       SHOWN_BYTES, name,
			       found->count ? gr_nearest_text(found, near) :
					      "; `goref histogram' lists the "
					      "types");
}

struct gr_error *gr_types_no_such(struct gr_types *types, const char *name)
{
	_cleanup_free_ char *bare = bare_name(name);
	struct gr_nearest found = { .count = 0 };
	const char *rest = bare;
	struct gr_error *err;

	if (!bare)
		return &gr_enomem;
	for (int i = 0; i < PARTS && skip_brackets(&rest); i++)
		;
	err = find_nearest(types, rest, &found);
	return err ? err : name_nearest(&found, rest);
}
