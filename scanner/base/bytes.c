// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

bool gr_bytes_uvarint(struct gr_bytes b, uint64_t *off, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		if (*off >= b.size)
			return false;
		uint8_t byte = b.data[(*off)++];
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

const char *gr_bytes_string(struct gr_bytes b, uint64_t off)
{
	if (off >= b.size || !memchr(b.data + off, '\0', b.size - off))
		return NULL;
	return (const char *)b.data + off;
}

const char *gr_bytes_name(struct gr_bytes b, uint64_t off)
{
	if (off < b.size && b.size - off > GR_NAME_MAX_BYTES + 1)
		b.size = off + GR_NAME_MAX_BYTES + 1;
	return gr_bytes_string(b, off);
}
