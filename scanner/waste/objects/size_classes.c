// SPDX-License-Identifier: Apache-2.0
#include "waste/objects/size_classes.h"

#include "inferior/image.h"

enum { CLASS_BYTES = 2 }; /* []uint16 */

/* The classes of Go's own table, for programs without symbols. */
static const uint16_t usual[] = {
	0,     8,     16,    24,    32,	   48,	  64,	 80,	96,    112,
	128,   144,   160,   176,   192,   208,	  224,	 240,	256,   288,
	320,   352,   384,   416,   448,   480,	  512,	 576,	640,   704,
	768,   896,   1024,  1152,  1280,  1408,  1536,	 1792,	2048,  2304,
	2688,  3072,  3200,  3456,  4096,  4864,  5376,	 6144,	6528,  6784,
	6912,  8192,  9472,  9728,  10240, 10880, 12288, 13568, 14336, 16384,
	18432, 19072, 20480, 21760, 24576, 27264, 28672, 32768,
};

/* Do the classes rise from 0 to the largest small object? */
static bool are_sane(const struct gr_size_classes *classes)
{
	for (uint32_t i = 1; i < classes->count; i++)
		if (classes->bytes[i] <= classes->bytes[i - 1] ||
		    classes->bytes[i] % GR_WORD_BYTES)
			return false;
	return classes->count > 1 && !classes->bytes[0] &&
	       classes->bytes[classes->count - 1] == GR_SMALL_OBJECT_BYTES;
}

/* Read the array until it has had the largest class. */
static struct gr_error *read_table(const struct gr_heap *heap,
				   struct gr_size_classes *ret)
{
	struct gr_image *image = heap->rt->image;
	uint64_t addr = heap->rt->layout.vars.class_to_size;
	struct gr_error *err = NULL;
	uint64_t bytes = 0;

	while (addr && !err && ret->count < GR_MAX_SIZE_CLASSES &&
	       bytes != GR_SMALL_OBJECT_BYTES) {
		err = gr_image_read_uint(image, addr + ret->count * CLASS_BYTES,
					 CLASS_BYTES, &bytes);
		if (!err)
			ret->bytes[ret->count++] = bytes;
	}
	return gr_error_catch(&err, GR_ERROR_FAULT) ||
			       gr_error_catch(&err, GR_ERROR_NOT_SAVED) ?
		       NULL :
		       err;
}

/* Take the usual classes if all spans of the heap are of them. */
static bool take_usual(const struct gr_heap *heap, struct gr_size_classes *ret)
{
	ret->count = GR_ARRAY_SIZE(usual);
	for (uint32_t i = 0; i < ret->count; i++)
		ret->bytes[i] = usual[i];
	// Bounded by the spans.
	for (uint32_t i = 0; i < heap->nspans; i++) {
		const struct gr_span *span = &heap->spans[i];
		uint32_t class = span->spanclass >> 1;

		if (class >= ret->count ||
		    (class && span->elem_bytes != usual[class]))
			return false;
	}
	return true;
}

void gr_size_classes_finish(struct gr_size_classes *classes)
{
	for (uint32_t i = 0; i < GR_ARRAY_SIZE(classes->slot_of_words); i++)
		classes->slot_of_words[i] = classes->bytes[gr_count_before(
			classes->count, k,
			classes->bytes[k] < i * GR_WORD_BYTES)];
}

struct gr_error *gr_size_classes_read(const struct gr_heap *heap,
				      struct gr_size_classes *ret)
{
	const struct gr_layout *layout = &heap->rt->layout;
	struct gr_error *err;

	*ret = (struct gr_size_classes){
		.header_above =
			layout->has.min_size_for_header ?
				(uint64_t)layout->consts.min_size_for_header :
				UINT64_MAX,
	};
	err = read_table(heap, ret);
	if (!err && (are_sane(ret) || take_usual(heap, ret))) {
		gr_size_classes_finish(ret);
		return NULL;
	}
	if (err)
		return err;
	return gr_error_format(
		GR_ERROR_LAYOUT,
		"the size classes of the allocator are not known: "
		"runtime.class_to_size is missing or makes no sense");
}

uint64_t gr_slot_of(const struct gr_size_classes *classes, uint64_t bytes,
		    bool is_noscan)
{
	bool is_small = bytes <= GR_SMALL_OBJECT_BYTES - GR_WORD_BYTES ||
			(is_noscan && bytes <= GR_SMALL_OBJECT_BYTES);

	if (!bytes)
		return 0;
	if (!is_noscan && bytes > classes->header_above && is_small)
		bytes += GR_WORD_BYTES;
	if (GR_LIKELY(bytes <= GR_SLOT_TABLE_BYTES))
		return classes->slot_of_words[(bytes + GR_WORD_BYTES - 1) /
					      GR_WORD_BYTES];
	if (bytes <= GR_SMALL_OBJECT_BYTES && is_small)
		return classes->bytes[gr_count_before(
			classes->count, k, classes->bytes[k] < bytes)];
	return (bytes + GR_HEAP_PAGE_BYTES - 1) / GR_HEAP_PAGE_BYTES *
	       GR_HEAP_PAGE_BYTES;
}
