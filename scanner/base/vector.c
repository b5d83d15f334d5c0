// SPDX-License-Identifier: Apache-2.0
#include "base/vector.h"

bool gr_vector_grow(void **data, size_t *capacity, size_t need,
		    size_t elem_bytes)
{
	size_t grown = *capacity + *capacity / 2 + 8;
	if (grown < need)
		grown = need;
	if (grown > PTRDIFF_MAX / elem_bytes)
		return false;
	void *moved = realloc(*data, grown * elem_bytes);
	if (!moved)
		return false;
	*data = moved;
	*capacity = grown;
	return true;
}
