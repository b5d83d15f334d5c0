// SPDX-License-Identifier: Apache-2.0
#include "waste/objects/findings.h"

void gr_findings_deinit(struct gr_findings *findings)
{
	gr_finding_vector_deinit(&findings->rows);
	gr_cut_vector_deinit(&findings->cuts);
	for (size_t i = 0; i < GR_NWASTE_CHECKS; i++)
		gr_keys_deinit(&findings->keys[i]);
}

struct gr_finding *gr_findings_find(const struct gr_findings *findings,
				    enum gr_waste_check check, uint64_t key)
{
	uint32_t last = findings->last[check];
	uint32_t index;

	// The rows of find() have no key.
	if (last < findings->rows.size &&
	    findings->rows.data[last].check == check &&
	    findings->rows.data[last].key == key &&
	    !findings->rows.data[last].type)
		return &findings->rows.data[last];
	index = gr_keys_find(&findings->keys[check], key, 0);
	return index == UINT32_MAX ? NULL : &findings->rows.data[index];
}

bool gr_findings_count(struct gr_findings *findings, enum gr_waste_check check,
		       uint64_t key, uint64_t bytes, uint64_t example)
{
	struct gr_finding *row = gr_findings_find(findings, check, key);
	uint32_t index = findings->rows.size;

	if (!row) {
		const struct gr_finding new = { .check = check,
						.key = key,
						.row = index,
						.example = example };

		if (!gr_finding_vector_append(&findings->rows, new) ||
		    !gr_keys_add(&findings->keys[check], key, 0, index))
			return false;
		row = &findings->rows.data[index];
	}
	findings->last[check] = row - findings->rows.data;
	row->bytes += bytes;
	row->count++;
	if (example < row->example)
		row->example = example;
	return true;
}

struct gr_error *gr_findings_add(struct gr_findings *findings,
				 const struct gr_finding *row)
{
	struct gr_finding copy = *row;

	GR_ASSERT(row->type && row->field);
	copy.row = findings->rows.size;
	return gr_finding_vector_append(&findings->rows, copy) ? NULL :
								 &gr_enomem;
}
