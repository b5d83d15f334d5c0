// SPDX-License-Identifier: Apache-2.0
/*
 * The scanner's view of a Go release, as text: the offsets of the runtime's
 * fields, and which of the names known to the scanner the release has. The
 * golden columns of testsuite/layouts.txt come from this.
 */
#include "scan/scan.h"

#include "goruntime/layout/names.h"
#include "goruntime/layout/pclntab.h"

#include <stdio.h>

static bool has_function(const struct gr_scan *scan, const struct gr_name *row)
{
	const struct gr_module *m = &scan->program.rt.modules[0];
	struct gr_func func;

	for (uint64_t i = 0; i + 1 < m->nftab; i++)
		if (gr_func_find(&scan->program.rt,
				 m->text + gr_load_u32(m->ftab + i * 8),
				 &func) &&
		    gr_name_matches(row, func.name))
			return true;
	return false;
}

static bool has_type(const struct gr_scan *scan, const struct gr_name *row)
{
	for (gr_type_id i = 0; i < gr_types_count(scan->program.types); i++)
		if (gr_name_matches(row,
				    gr_types_get(scan->program.types, i)->name))
			return true;
	return false;
}

static bool has_variable(const struct gr_scan *scan, const struct gr_name *row)
{
	const struct gr_dwarf *dwarf = scan->program.rt.modules[0].dwarf;

	return dwarf &&
	       gr_dwarf_find_variable(dwarf, row->text) != GR_DWARF_NONE;
}

static void print_name(const struct gr_scan *scan, const struct gr_name *row,
		       FILE *out)
{
	static bool (*const has[])(const struct gr_scan *scan,
				   const struct gr_name *row) = {
		[GR_NAME_FUNCTION] = has_function,
		[GR_NAME_TYPE] = has_type,
		[GR_NAME_VARIABLE] = has_variable,
	};

	fprintf(out, "name %s%s %s\n", row->text, row->is_prefix ? "*" : "",
		has[row->kind](scan, row) ? "yes" : "-");
}

char *gr_scan_layout_text(const struct gr_scan *scan)
{
	_cleanup_free_ char *layout = gr_layout_text(&scan->program.rt.layout);
	char *text = NULL;
	size_t bytes;
	FILE *out = layout ? open_memstream(&text, &bytes) : NULL;

	if (!out)
		return NULL;
	fputs(layout, out);
	for (size_t i = 0; i < gr_nnames; i++)
		print_name(scan, &gr_names[i], out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
