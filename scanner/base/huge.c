// SPDX-License-Identifier: Apache-2.0
#include "base/huge.h"

#include <sys/mman.h>

void gr_huge_advise(void *data, size_t bytes)
{
	uintptr_t start = (uintptr_t)data + GR_HUGE_BYTES - 1;
	uintptr_t end = (uintptr_t)data + bytes;

	start -= start % GR_HUGE_BYTES;
	end -= end % GR_HUGE_BYTES;
	if (start < end)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
}

void *gr_huge_calloc(size_t count, size_t elem_bytes)
{
	void *data = calloc(count, elem_bytes);

	if (data)
		gr_huge_advise(data, count * elem_bytes);
	return data;
}
