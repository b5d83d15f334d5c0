// SPDX-License-Identifier: Apache-2.0
#include "waste/type_owner.h"

#include "base/text.h"

/* A type without what stands before the name of its element type. */
static const char *element_of(const char *name)
{
	for (;;) {
		if (*name == '*' || *name == '(') {
			name++;
		} else if (*name == '[') {
			// Only `[]' and `[N]': names of maps begin otherwise.
			name += strcspn(name, "]");
			name += *name == ']';
		} else if (gr_has_prefix(name, "chan ")) {
			name += strlen("chan ");
		} else {
			return name;
		}
	}
}

/* The bytes of the name before `.' and the name of the type; 0: no package. */
static size_t package_bytes(const char *name)
{
	size_t end = strcspn(name, "[({ "), at = 0;

	for (size_t i = 0; i < end; i++)
		if (name[i] == '/')
			at = i;
	const char *dot = memchr(name + at, '.', end - at);
	return dot ? (size_t)(dot - name) : 0;
}

/* The character at *@p at, and step behind it. In its last element, a path has
 * %2e for a dot (cmd/internal/objabi.PathToPrefix). */
static char next_of(const char *package, size_t bytes, size_t *at)
{
	if (bytes - *at >= 3 && !memcmp(package + *at, "%2e", 3)) {
		*at += 3;
		return '.';
	}
	return package[(*at)++];
}

static bool is_below(const char *package, size_t bytes, const char *path)
{
	size_t at = 0;

	if (!*path)
		return false;
	for (; *path; path++)
		if (at >= bytes || next_of(package, bytes, &at) != *path)
			return false;
	return at == bytes || package[at] == '/';
}

static bool has_dot_in_first(const char *package, size_t bytes)
{
	for (size_t at = 0; at < bytes && package[at] != '/';)
		if (next_of(package, bytes, &at) == '.')
			return true;
	return false;
}

bool gr_type_is_of_library(const struct gr_scan_info *info, const char *name)
{
	const char *package = element_of(name);
	size_t bytes = package_bytes(package);

	if (!bytes || is_below(package, bytes, "main") ||
	    has_dot_in_first(package, bytes) ||
	    is_below(package, bytes, info->main_module) ||
	    is_below(package, bytes, info->main_path))
		return false;
	// At most as many as go_modules.c has read.
	for (const char *const *i = info->dependencies; *i; i++)
		if (is_below(package, bytes, *i))
			return false;
	return true;
}
