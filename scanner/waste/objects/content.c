// SPDX-License-Identifier: Apache-2.0
#include "waste/objects/content.h"

#include "inferior/image.h"
#include "inferior/recorder.h"

#include <stdlib.h>

enum { MAX_COPY_BYTES = 1 << 20 };

void gr_content_deinit(struct gr_content *content)
{
	free(content->copy);
	*content = (struct gr_content){ 0 };
}

/* Copy bytes of a target that is held. */
static const uint8_t *copy(struct gr_content *content,
			   const struct gr_heap *heap, uint64_t addr,
			   uint64_t bytes)
{
	struct gr_error *err;

	if (bytes > MAX_COPY_BYTES)
		return NULL;
	if (content->copy_bytes < bytes) {
		free(content->copy);
		content->copy = malloc(bytes);
		content->copy_bytes = content->copy ? bytes : 0;
	}
	if (!content->copy)
		return NULL;
	gr_recorder_pause(heap->rt->recorder); // these are values
	err = gr_image_read_late(heap->rt->image, addr, content->copy, bytes);
	gr_recorder_resume(heap->rt->recorder);
	if (!err)
		return content->copy;
	gr_error_destroy(err);
	return NULL;
}

/* Get all bytes of a span, if they can be had at once. */
static void open_span(struct gr_content *content, const struct gr_heap *heap,
		      const struct gr_span *span)
{
	uint64_t bytes = span->limit_addr - span->base_addr;
	struct gr_error *err;

	content->span = span;
	content->host = span->host;
	content->is_lasting = true;
	if (content->host)
		return;
	gr_recorder_pause(heap->rt->recorder); // these are values
	err = gr_image_map(heap->rt->image, span->base_addr, bytes,
			   &content->host);
	gr_recorder_resume(heap->rt->recorder);
	if (!err)
		return;
	gr_error_destroy(err);
	content->is_lasting = false;
	content->host = copy(content, heap, span->base_addr, bytes);
	content->missing += !content->host;
}

const uint8_t *gr_content_at(struct gr_content *content,
			     const struct gr_heap *heap,
			     const struct gr_span *span, uint64_t addr,
			     uint64_t bytes)
{
	if (content->span != span)
		open_span(content, heap, span);
	return content->host ? content->host + (addr - span->base_addr) :
			       copy(content, heap, addr, bytes);
}
