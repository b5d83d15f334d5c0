// SPDX-License-Identifier: Apache-2.0
// Rows: the ledger of a walk.
#include "gdbext.h"

static const struct gr_py_field total_fields[] = {
	GR_PY_FIELD(gr_total, objects),
	GR_PY_FIELD(gr_total, bytes),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_total_row = { "Total", total_fields, NULL };

PyObject *gr_py_from_total(const void *value)
{
	return gr_py_row_new(&gr_py_total_row, value);
}

static const struct gr_py_field gaps_fields[] = {
#define X(id, name) \
	{ name, offsetof(struct gr_gaps, count[GR_GAP_##id]), gr_py_from_u64 },
	GR_GAPS(X)
#undef X
		{ NULL, 0, NULL },
};

struct gr_py_row gr_py_gaps_row = { "Gaps", gaps_fields, NULL };

PyObject *gr_py_from_gaps(const void *value)
{
	return gr_py_row_new(&gr_py_gaps_row, value);
}

static const struct gr_py_field phases_fields[] = {
#define X(name) { #name, GR_PHASE_##name * sizeof(uint64_t), gr_py_from_u64 },
	GR_PHASES(X)
#undef X
		{ NULL, 0, NULL },
};

struct gr_py_row gr_py_phases_row = { "Phases", phases_fields, NULL };

static PyObject *from_phases(const void *value)
{
	return gr_py_row_new(&gr_py_phases_row, value);
}

static const struct gr_py_field ledger_fields[] = {
	GR_PY_FIELD(gr_ledger, allocated),
	GR_PY_FIELD(gr_ledger, reached),
	GR_PY_FIELD(gr_ledger, typed),
	GR_PY_FIELD(gr_ledger, runtime_type),
	GR_PY_FIELD(gr_ledger, header),
	GR_PY_FIELD(gr_ledger, masked),
	GR_PY_FIELD(gr_ledger, unreached),
	GR_PY_FIELD(gr_ledger, folded),
	GR_PY_FIELD(gr_ledger, gaps),
	GR_PY_FIELD_AS(gr_ledger, phases_us, from_phases),
	GR_PY_FIELD(gr_ledger, peak_private_bytes),
	GR_PY_FIELD(gr_ledger, is_partial),
	GR_PY_FIELD(gr_ledger, end_reason),
	{ NULL, 0, NULL },
};

struct gr_py_row gr_py_ledger_row = { "Ledger", ledger_fields, NULL };
