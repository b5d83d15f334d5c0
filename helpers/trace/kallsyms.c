// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/kallsyms.h"

#include "base/cleanup.h"
#include "base/vector.h"

enum {
	NAME_MAX_BYTES = 600, // KSYM_NAME_LEN is 512, and the module has 56
	MAX_FUNCTIONS = 1 << 22,
};

/** A function. name is where it begins in the text. */
struct function {
	uint64_t addr;
	uint32_t name;
};

GR_VECTOR(function_vector, struct function);
GR_VECTOR(text_vector, char);

struct gr_kallsyms {
	struct function_vector functions; // by address
	struct text_vector text;
};

static int by_address(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/** Add what a line says, as `ffffffff81000000 T _text' or, of a module, with
 * `[name]' behind a tab. Data is left out. False if no memory is left. */
static bool add_line(struct gr_kallsyms *names, char *line)
{
	char *end;
	uint64_t addr = strtoull(line, &end, 16);

	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !addr ||
	    !strchr("tTwW", end[1]))
		return true;
	char *name = end + 3;
	name[strcspn(name, "\n")] = '\0';
	char *module = strchr(name, '\t');
	if (module)
		*module = ' ';
	struct function function = { addr, (uint32_t)names->text.size };
	for (const char *p = name; *p; p++)
		if (!text_vector_append(&names->text, *p))
			return false;
	return text_vector_append(&names->text, '\0') &&
	       function_vector_append(&names->functions, function);
}

struct gr_error *gr_kallsyms_read(FILE *file, struct gr_kallsyms **ret)
{
	struct gr_kallsyms *names = calloc(1, sizeof(*names));
	char line[NAME_MAX_BYTES];

	*ret = names;
	if (!names)
		return &gr_enomem;
	while (names->functions.size < MAX_FUNCTIONS &&
	       fgets(line, sizeof(line), file))
		if (!add_line(names, line))
			return &gr_enomem;
	if (names->functions.size)
		qsort(names->functions.data, names->functions.size,
		      sizeof(struct function), by_address);
	return NULL;
}

void gr_kallsyms_destroy(struct gr_kallsyms *names)
{
	if (!names)
		return;
	function_vector_deinit(&names->functions);
	text_vector_deinit(&names->text);
	free(names);
}

size_t gr_kallsyms_count(const struct gr_kallsyms *names)
{
	return names->functions.size;
}

const char *gr_kallsyms_find(const struct gr_kallsyms *names, uint64_t addr)
{
	size_t low = 0, high = names->functions.size;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (names->functions.data[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? names->text.data + names->functions.data[low - 1].name :
		     NULL;
}
