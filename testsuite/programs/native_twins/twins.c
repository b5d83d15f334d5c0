// SPDX-License-Identifier: Apache-2.0
/* All arrays of this file have one length, which debug information of version 5
 * therefore says once for all of them (DW_FORM_implicit_const). */
#include <stdlib.h>

#include "twins.h"

struct pair {
	char *first, *second;
};

char *one_twin[TWINS], *other_twin[TWINS];
struct pair *pairs[TWINS];

void fill_twins(void)
{
	for (int i = 0; i < TWINS; i++) {
		one_twin[i] = malloc(ONE_BYTES);
		other_twin[i] = malloc(OTHER_BYTES);
		pairs[i] = malloc(sizeof(*pairs[i]));
		pairs[i]->first = malloc(ONE_BYTES);
		pairs[i]->second = NULL;
	}
}
