/* SPDX-License-Identifier: Apache-2.0 */
/**
 * fake_image: inferior/image.h over a few made-up pieces of memory.
 *
 * Included by the one C file of a test, which then is linked without the real
 * image.c. An access is good when one piece holds it whole.
 */
#pragma once

#include "inferior/image.h"
#include "inferior/ranges.h"

enum { FAKE_PIECES = 16 };

/** A range of the target's memory. */
struct gr_image {
	struct {
		uint64_t addr, bytes;
		uint8_t *data;
	} pieces[FAKE_PIECES];
	size_t npieces;
	uint64_t planned_bytes;
	uint64_t mapped_bytes; /* 0: not known */
	uint64_t limit_bytes;  /* of what may be wanted at once; 0: none */
	const struct gr_target_thread *threads;
	size_t nthreads;
	const struct gr_ranges *ranges; /* NULL: none */
	const struct gr_elf *elf; /* the only module, at its addresses; NULL */
};

/** Zeroed memory at [addr, addr + bytes); its host bytes. */
static inline uint8_t *fake_add(struct gr_image *image, uint64_t addr,
				uint64_t bytes)
{
	uint8_t *data = calloc(1, bytes);

	if (!data || image->npieces == FAKE_PIECES)
		abort();
	image->pieces[image->npieces].addr = addr;
	image->pieces[image->npieces].bytes = bytes;
	image->pieces[image->npieces++].data = data;
	return data;
}

/** Host bytes of [addr, addr + bytes), or NULL. */
static inline uint8_t *fake_find(const struct gr_image *image, uint64_t addr,
				 uint64_t bytes)
{
	for (size_t i = 0; i < image->npieces; i++) {
		uint64_t off = addr - image->pieces[i].addr;

		if (addr >= image->pieces[i].addr &&
		    off <= image->pieces[i].bytes &&
		    bytes <= image->pieces[i].bytes - off)
			return image->pieces[i].data + off;
	}
	return NULL;
}

/** Set the little-endian integer at @p addr, which must be there. */
static inline void fake_set(struct gr_image *image, uint64_t addr,
			    uint64_t value, size_t bytes)
{
	uint8_t *host = fake_find(image, addr, bytes);

	if (!host)
		abort();
	memcpy(host, &value, bytes);
}

/** Put words at @p addr, one behind the other. */
#define fake_words(image, addr, ...)                             \
	fake_put_words(image, addr, (uint64_t[]){ __VA_ARGS__ }, \
		       GR_ARRAY_SIZE(((uint64_t[]){ __VA_ARGS__ })))
static inline void fake_put_words(struct gr_image *image, uint64_t addr,
				  const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fake_set(image, addr + i * 8, words[i], 8);
}

static inline void fake_deinit(struct gr_image *image)
{
	for (size_t i = 0; i < image->npieces; i++)
		free(image->pieces[i].data);
	image->npieces = 0;
}

struct gr_error *gr_image_read(struct gr_image *image, uint64_t addr, void *buf,
			       uint64_t bytes)
{
	const uint8_t *host = fake_find(image, addr, bytes);

	if (!host)
		return gr_error_fault(addr, bytes);
	memcpy(buf, host, bytes);
	return NULL;
}

struct gr_error *gr_image_read_late(struct gr_image *image, uint64_t addr,
				    void *buf, uint64_t bytes)
{
	return gr_image_read(image, addr, buf, bytes);
}

struct gr_error *gr_image_read_uint(struct gr_image *image, uint64_t addr,
				    unsigned int bytes, uint64_t *ret)
{
	*ret = 0;
	return gr_image_read(image, addr, ret, bytes);
}

struct gr_error *gr_image_map(struct gr_image *image, uint64_t addr,
			      uint64_t bytes, const uint8_t **ret)
{
	*ret = fake_find(image, addr, bytes);
	return *ret ? NULL : gr_error_fault(addr, bytes);
}

struct gr_error *gr_image_map_torn(struct gr_image *image, uint64_t addr,
				   uint64_t bytes, const uint8_t **ret)
{
	*ret = fake_find(image, addr, bytes);
	return NULL;
}

/* A test with mappings of its own defines FAKE_HAS_MAPPINGS. */
#ifndef FAKE_HAS_MAPPINGS
bool gr_image_mapping(struct gr_image *image, uint64_t addr,
		      struct gr_mapping_info *ret)
{
	*ret = (struct gr_mapping_info){ 0 };
	return fake_find(image, addr, 1);
}
#endif

struct gr_error *gr_image_plan(struct gr_image *image, uint64_t start,
			       uint64_t end)
{
	image->planned_bytes += end - start;
	return NULL;
}

bool gr_image_is_mapped_core(const struct gr_image *image)
{
	(void)image;
	return false;
}

bool gr_image_lacks_values(const struct gr_image *image)
{
	(void)image;
	return false;
}

uint64_t gr_image_mapped_bytes(const struct gr_image *image)
{
	return image->mapped_bytes ? image->mapped_bytes : UINT64_MAX;
}

struct gr_error *gr_image_want(const struct gr_image *image, uint64_t bytes)
{
	if (!image->limit_bytes || bytes <= image->limit_bytes)
		return NULL;
	return gr_error_format(GR_ERROR_MEMORY_LIMIT, "too much");
}

const struct gr_target_thread *gr_image_threads(const struct gr_image *image,
						size_t *count)
{
	*count = image->nthreads;
	return image->threads;
}

/* No files, and no memory of C; a test may define its own. */
#define FAKE_WEAK __attribute__((weak))

FAKE_WEAK const struct gr_ranges *gr_image_ranges(const struct gr_image *image)
{
	static const struct gr_ranges none;

	return image->ranges ? image->ranges : &none;
}

FAKE_WEAK const struct gr_elf *gr_image_elf(const struct gr_image *image,
					    size_t module)
{
	(void)module;
	return image->elf;
}

FAKE_WEAK uint64_t gr_image_bias(const struct gr_image *image, size_t module)
{
	(void)module;
	return image->elf ? 0 : UINT64_MAX;
}

FAKE_WEAK bool gr_image_is_constant(const struct gr_image *image, uint64_t addr)
{
	(void)image;
	(void)addr;
	return false;
}

FAKE_WEAK size_t gr_image_module_at(const struct gr_image *image, uint64_t addr)
{
	(void)addr;
	return image->elf ? 0 : SIZE_MAX;
}

FAKE_WEAK uint64_t gr_image_segment_end(const struct gr_image *image,
					uint64_t addr)
{
	(void)image;
	(void)addr;
	return 0;
}

FAKE_WEAK const char *gr_image_module_name(const struct gr_image *image,
					   size_t module)
{
	(void)image;
	(void)module;
	return "";
}

FAKE_WEAK uint64_t gr_image_readable_bytes(const struct gr_image *image)
{
	(void)image;
	return UINT64_MAX;
}
