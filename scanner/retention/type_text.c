// SPDX-License-Identifier: Apache-2.0
#include "retention/type_text.h"

#include "mark/parents.h"
#include "naming/memory_name.h"
#include "scan/program.h"

size_t gr_type_package(const char *type, const char **start)
{
	size_t n;

	for (;; type += n) {
		// Nothing but brackets, stars and words before the type.
		if (*type == '*' || *type == '<' || *type == '-' ||
		    *type == ' ')
			n = 1;
		else if (*type == '[')
			n = strcspn(type, "]") + (strchr(type, ']') != NULL);
		else if (!strncmp(type, "map[", 4))
			n = 3;
		else if (!strncmp(type, "chan ", 5))
			n = 5;
		else
			break;
	}
	size_t whole = strcspn(type, "[({ ");
	size_t slash = 0;
	for (size_t i = 0; i < whole; i++)
		if (type[i] == '/')
			slash = i;
	n = slash + strcspn(type + slash, ".[({ ");
	*start = type;
	return n < whole && type[n] == '.' ? n : 0;
}

const char *gr_type_label_text(struct gr_program *program, uint32_t label)
{
	return label == GR_TYPE_NONE ? GR_TYPE_UNKNOWN :
				       gr_memory_row_name(program, label);
}
