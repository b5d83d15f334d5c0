/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Bounds-checked reading of little-endian bytes that we do not trust: ELF
 * files, notes, pclntab, type records.
 */
#ifndef GR_BYTES_H
#define GR_BYTES_H

#include "base/base.h"

#include <string.h>

/** A view of @p size bytes; owns nothing. */
struct gr_bytes {
	const uint8_t *data;
	uint64_t size;
};

/** True if [off, off + bytes) lies inside the view. */
static inline bool gr_bytes_has(struct gr_bytes b, uint64_t off, uint64_t bytes)
{
	return off <= b.size && bytes <= b.size - off;
}

/** The part [off, off + bytes), or an empty view if it is not all inside. */
static inline struct gr_bytes gr_bytes_slice(struct gr_bytes b, uint64_t off,
					     uint64_t bytes)
{
	if (!gr_bytes_has(b, off, bytes))
		return (struct gr_bytes){ NULL, 0 };
	return (struct gr_bytes){ b.data + off, bytes };
}

/** Copy [off, off + bytes) to @p ret; false if it is not all inside. */
static inline bool gr_bytes_get(struct gr_bytes b, uint64_t off, void *ret,
				size_t bytes)
{
	if (!gr_bytes_has(b, off, bytes))
		return false;
	memcpy(ret, b.data + off, bytes);
	return true;
}

/** Unchecked little-endian loads. */
static inline uint16_t gr_load_u16(const void *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t gr_load_u32(const void *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t gr_load_u64(const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/** A little-endian unsigned integer of 1, 2, 4 or 8 bytes; 0 for others. */
static inline uint64_t gr_load_uint(const void *p, unsigned int bytes)
{
	switch (bytes) {
	case 1:
		return *(const uint8_t *)p;
	case 2:
		return gr_load_u16(p);
	case 4:
		return gr_load_u32(p);
	case 8:
		return gr_load_u64(p);
	default:
		return 0;
	}
}

/**
 * Read an unsigned LEB128 number at *@p off and move *@p off behind it.
 *
 * @return false at the end of the view or past 64 bits.
 */
bool gr_bytes_uvarint(struct gr_bytes b, uint64_t *off, uint64_t *ret);

/** The NUL-terminated string at @p off, or NULL if it does not end inside. */
const char *gr_bytes_string(struct gr_bytes b, uint64_t off);

/**
 * The longest name that is read from the target, its NUL not counted. Rows may
 * share one name, and each row hashes, compares or copies all of it: without
 * this limit, a small file may take any time.
 */
#define GR_NAME_MAX_BYTES (16 << 10)

static inline bool gr_name_is_too_long(const char *name)
{
	return strnlen(name, GR_NAME_MAX_BYTES + 1) > GR_NAME_MAX_BYTES;
}

/** gr_bytes_string() of a name; NULL also if it is too long. */
const char *gr_bytes_name(struct gr_bytes b, uint64_t off);

#endif /* GR_BYTES_H */
