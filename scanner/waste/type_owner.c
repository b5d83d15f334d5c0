// SPDX-License-Identifier: Apache-2.0
#include "waste/type_owner.h"

#include "base/text.h"

/* The folders of the library's sources (go/src), from Go 1.19 on. A folder that
 * a later release adds is missing: types in it then count as the program's. */
static const char *const folders[] = {
	"archive",  "arena",	 "bufio",   "builtin", "bytes",	   "cmp",
	"compress", "container", "context", "crypto",  "database", "debug",
	"embed",    "encoding",	 "errors",  "expvar",  "flag",	   "fmt",
	"go",	    "hash",	 "html",    "image",   "index",	   "internal",
	"io",	    "iter",	 "log",	    "maps",    "math",	   "mime",
	"net",	    "os",	 "path",    "plugin",  "reflect",  "regexp",
	"runtime",  "simd",	 "slices",  "sort",    "strconv",  "strings",
	"structs",  "sync",	 "syscall", "testing", "text",	   "time",
	"unicode",  "unique",	 "unsafe",  "uuid",    "vendor",   "weak",
};

static const char *skip_prefix(const char *text, const char *prefix)
{
	return gr_has_prefix(text, prefix) ? text + strlen(prefix) : text;
}

/* A type without what stands before the name of its element type. */
static const char *element_of(const char *name)
{
	name = skip_prefix(name, "begins with ");
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

/* Is the first element of the path one of the library's folders? */
static bool is_in_folder(const char *name)
{
	size_t bytes = strcspn(name, "/.");

	// The linker calls the main package of a plugin `plugin/unnamed-...'.
	if (!name[bytes] || gr_has_prefix(name, "plugin/unnamed-"))
		return false;
	for (size_t i = 0; i < GR_ARRAY_SIZE(folders); i++)
		if (strlen(folders[i]) == bytes &&
		    !memcmp(folders[i], name, bytes))
			return true;
	return false;
}

/* Is a name one of the package with this import path, or of one below it? DWARF
 * has %2e for a dot in the last element (cmd/internal/objabi.PathToPrefix). */
static bool is_below(const char *name, const char *path)
{
	if (!*path)
		return false;
	for (; *path; path++) {
		if (*path == '.' && gr_has_prefix(name, "%2e"))
			name += strlen("%2e");
		else if (*name == *path)
			name++;
		else
			return false;
	}
	return *name == '/' || *name == '.';
}

bool gr_type_is_of_library(const struct gr_scan_info *info, const char *name)
{
	const char *element = element_of(name);

	if (!is_in_folder(element) || is_below(element, info->main_module) ||
	    is_below(element, info->main_path))
		return false;
	// At most as many as go_modules.c has read.
	for (const char *const *i = info->dependencies; *i; i++)
		if (is_below(element, *i))
			return false;
	return true;
}
