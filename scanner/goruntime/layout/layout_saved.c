// SPDX-License-Identifier: Apache-2.0
/* The layout of a program without debug information in a saved file: the text
 * of the table (layout_text.c), and a line with the address of each variable
 * that the search has found. Rows may come and go without a new version of the
 * format: a reader leaves out what it has no row for. */
#include "goruntime/layout/layout.h"
#include "goruntime/layout/layout_internal.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "var " is the text's own word for whether a variable is there. */
static const char address[] = "# at ";

/* Ten times the text of the table. */
enum { MAX_TEXT_BYTES = 1 << 17, MAX_ID_BYTES = 64 };

char *gr_layout_save(const struct gr_layout *layout)
{
	_cleanup_free_ char *table = gr_layout_text(layout);
	char *text = NULL;
	size_t bytes;
	FILE *out = table ? open_memstream(&text, &bytes) : NULL;

	if (!out)
		return NULL;
	fputs(table, out);
	for (size_t i = 0; i < gr_layout_nvariables; i++) {
		uint64_t addr = gr_load_u64((const uint8_t *)layout +
					    gr_layout_variables[i].off);
		if (addr)
			fprintf(out, "%s%s %" PRIx64 "\n", address,
				gr_layout_variables[i].id, addr);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static void set_variable(struct gr_layout *layout, const char *id,
			 uint64_t addr)
{
	for (size_t i = 0; i < gr_layout_nvariables; i++)
		if (!strcmp(gr_layout_variables[i].id, id))
			memcpy((uint8_t *)layout + gr_layout_variables[i].off,
			       &addr, sizeof(addr));
}

/* Variables that the search has not found stay absent. */
static void read_variables(const char *text, struct gr_layout *layout)
{
	for (const char *at = text; (at = strstr(at, address)); at++) {
		char id[MAX_ID_BYTES];
		uint64_t addr;

		if (sscanf(at + sizeof(address) - 1, "%63s %" SCNx64, id,
			   &addr) == 2)
			set_variable(layout, id, addr);
	}
}

struct gr_error *gr_layout_restore(struct gr_bytes saved, struct gr_layout *ret)
{
	if (!saved.size || saved.size > MAX_TEXT_BYTES)
		return gr_error_format(GR_ERROR_LAYOUT, "no layout");
	_cleanup_free_ char *text =
		strndup((const char *)saved.data, saved.size);
	if (!text)
		return &gr_enomem;
	struct gr_error *err = gr_layout_parse(text, ret);
	if (!err)
		read_variables(text, ret);
	return err;
}
