// SPDX-License-Identifier: Apache-2.0
// A struct that other files only declare.
#include "types.h"

#include <stdlib.h>

struct part {
	long weight;
};

struct opaque {
	long number;
	struct part *part;
};

struct opaque *opaque_create(void)
{
	struct opaque *opaque = calloc(1, sizeof(*opaque));

	opaque->part = calloc(1, sizeof(*opaque->part));
	note("part", opaque->part, "struct part");
	return opaque;
}
