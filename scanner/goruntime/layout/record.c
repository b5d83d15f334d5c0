// SPDX-License-Identifier: Apache-2.0
#include "goruntime/layout/record.h"

struct gr_error *gr_record_read(struct gr_runtime *rt, uint64_t addr,
				const void *section, size_t section_bytes,
				uint8_t *ret)
{
	// A section is its size, and then its fields (DECLARE_STRUCT).
	const uint64_t *bytes = section;
	const struct gr_field *fields = (const struct gr_field *)(bytes + 1);
	size_t n = (section_bytes - sizeof(*bytes)) / sizeof(*fields);
	struct gr_error *err = NULL;

	memset(ret, 0, *bytes);
	for (size_t i = 0; !err && i < n; i++) {
		struct gr_field f = fields[i];

		if (gr_field_is_present(f) && f.off <= *bytes &&
		    f.bytes <= *bytes - f.off)
			err = gr_image_read(rt->image, addr + f.off,
					    ret + f.off, f.bytes);
	}
	return err;
}
