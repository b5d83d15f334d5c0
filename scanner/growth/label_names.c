// SPDX-License-Identifier: Apache-2.0
#include "growth/label_names.h"

#include "mark/parents.h"
#include "naming/memory_name.h"
#include "scan/program.h"

void gr_label_names_deinit(struct gr_label_names *names)
{
	gr_keys_deinit(&names->by_label);
	gr_label_name_vector_deinit(&names->names);
}

struct gr_error *gr_label_name(struct gr_label_names *names,
			       struct gr_program *program, uint32_t label,
			       const char **ret)
{
	uint32_t i = gr_keys_find(&names->by_label, label, 0);

	*ret = NULL;
	if (label == GR_TYPE_NONE)
		return NULL;
	if (i == UINT32_MAX) {
		const char *name = gr_memory_row_name(program, label);

		i = (uint32_t)names->names.size;
		if (!gr_label_name_vector_append(&names->names,
						 *name ? name : NULL) ||
		    !gr_keys_add(&names->by_label, label, 0, i))
			return &gr_enomem;
	}
	*ret = names->names.data[i];
	return NULL;
}
