// SPDX-License-Identifier: Apache-2.0
#include "expr/near_variable.h"

#include "base/nearest.h"
#include "goruntime/layout/symbols.h"

enum {
	SHOWN_BYTES = 200,
	OTHER_PACKAGE = 1, // as far as one letter
};

// A wrong name. A distance counts double, so that a name in another package is a
// half letter further away.
struct wrong {
	struct gr_runtime *rt;
	const char *name;	      // with all that is behind it
	char head[GR_NEAR_BYTES + 1]; // of a package variable; cut if too long
	const char *last;	      // of the head, without its package
	size_t package_bytes;	      // with the dot; 0: no package is named
	struct gr_nearest found;
};

// The part of a name behind the path of its package.
static const char *last_part(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *dot = strchr(slash ? slash : name, '.');

	return dot ? dot + 1 : name;
}

static void begin(struct wrong *w, const char *name)
{
	size_t package = (size_t)(last_part(name) - name);
	size_t bytes = package + strcspn(name + package, ".[");

	if (bytes > GR_NEAR_BYTES)
		bytes = GR_NEAR_BYTES;
	w->name = name;
	memcpy(w->head, name, bytes);
	w->head[bytes] = '\0';
	w->package_bytes = package < bytes ? package : 0;
	w->last = w->head + w->package_bytes;
}

// The name as users of its package write it, without the path: `http.Client'.
static const char *short_name(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

// Is the name in the package that is written, with its path or without? If none
// is written, main is meant.
static bool is_in_package(const struct wrong *w, const char *name,
			  const char *last)
{
	const char *head = w->package_bytes ? w->head : "main.";
	size_t bytes = w->package_bytes ? w->package_bytes : strlen(head);
	const char *begin = strchr(head, '/') ? name : short_name(name);

	return (size_t)(last - begin) == bytes && !memcmp(begin, head, bytes);
}

// Compare a package variable with the head of the name.
static struct gr_error *compare(struct wrong *w, const char *name)
{
	const char *last = last_part(name);
	unsigned int max = gr_near_limit(w->last);
	unsigned int far = gr_edit_distance(name, w->head, max);
	struct gr_error *err =
		gr_runtime_step(w->rt, 1 + strnlen(name, GR_NEAR_BYTES));

	if (err)
		return err;
	if (far > max && (!w->package_bytes || is_in_package(w, name, last)))
		far = gr_edit_distance(last, w->last, max);
	// Nobody writes the path of a package by heart.
	bool is_elsewhere = !strcmp(last, w->last);
	if (is_elsewhere)
		far = OTHER_PACKAGE;
	if (far <= max || is_elsewhere)
		gr_nearest_enter(&w->found, name,
				 2 * far + !is_in_package(w, name, last));
	return NULL;
}

static struct gr_error *compare_variables(struct wrong *w)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; i < w->rt->nmodules; i++) {
		const struct gr_dwarf *dwarf = w->rt->modules[i].dwarf;
		size_t count = 0;
		const struct gr_dwarf_variable *table =
			dwarf ? gr_dwarf_variables(dwarf, &count) : NULL;

		for (size_t j = 0; !err && j < count; j++)
			err = compare(w, table[j].name);
	}
	for (size_t i = 0; !err && i < w->rt->nsymbols; i++)
		err = compare(w, w->rt->symbols[i].name);
	return err;
}

// Compare the names of roots with the whole name. Goroutines of one function
// have the same ones.
static struct gr_error *compare_roots(struct wrong *w, struct gr_stop *stop)
{
	unsigned int max = gr_near_limit(last_part(w->name));
	const char *before = NULL;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < stop->roots.list.size; i++) {
		const char *name = stop->roots.list.data[i].name;
		unsigned int far;

		err = gr_runtime_step(w->rt, 1);
		if (err || !name || name == before || strchr(name, '$') ||
		    !strcmp(name, w->name))
			continue;
		before = name;
		err = gr_runtime_step(w->rt, strnlen(name, GR_NEAR_BYTES));
		far = gr_edit_distance(name, w->name, max);
		if (!err && far <= max)
			gr_nearest_enter(&w->found, name, 2 * far);
	}
	return err;
}

struct gr_error *gr_place_no_variable(struct gr_stop *stop, const char *name)
{
	struct wrong w = { .rt = &stop->program->rt };
	char near[GR_NEAREST_TEXT];
	struct gr_error *err = NULL;

	begin(&w, name);
	// A text with a star is no name; the next parser reports the error.
	if (*name != '*')
		err = compare_variables(&w);
	if (!err && *name != '*' && w.package_bytes)
		err = compare_roots(&w, stop);
	if (err)
		return err;
	return gr_error_format(GR_ERROR_NOT_FOUND,
			       "no package variable%s is called \"%.*s\"%s",
			       w.found.count ? "" : " or local variable in use",
			       SHOWN_BYTES, name,
			       gr_nearest_text(&w.found, near));
}
