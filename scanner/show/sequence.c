// SPDX-License-Identifier: Apache-2.0
/* Arrays and slices. */
#include "show/show_internal.h"

#include <inttypes.h>

static uint64_t size_of(const struct gr_show *s, gr_type_id type)
{
	return type == GR_TYPE_NONE ? 0 :
				      gr_types_get(s->types, type)->size_bytes;
}

struct gr_error *gr_show_put_elements(struct gr_show *s,
				      const struct gr_show_at *first,
				      const struct gr_show_ring *ring)
{
	uint64_t stride = size_of(s, first->value.type), count = ring->count;
	uint64_t shown =
		count < s->limits.max_elements ? count : s->limits.max_elements;
	uint64_t before_end = ring->capacity - ring->first;
	struct gr_error *err = NULL;

	gr_text_put(s->text, "[");
	for (uint64_t i = 0; !err && i < shown && !s->text->is_cut; i++) {
		uint64_t at = i < before_end ? ring->first + i : i - before_end;
		struct gr_show_at element =
			gr_show_part(first, first->value.type, at * stride);

		if (i)
			gr_text_put(s->text, ",");
		err = gr_show_put(s, &element);
	}
	if (shown < count && shown)
		gr_text_put(s->text, ",...+%" PRIu64 " more", count - shown);
	else if (shown < count)
		gr_text_put(s->text, "...");
	gr_text_put(s->text, "]");
	return err;
}

struct gr_error *gr_show_put_array(struct gr_show *s,
				   const struct gr_show_at *at)
{
	const struct gr_type *type = gr_show_type(s, at);
	const struct gr_show_ring all = { 0, type->count, type->count };
	struct gr_show_at first = gr_show_part(at, type->elem, 0);

	first.flags = 0;
	first.level++;
	if (at->flags & GR_SHOW_TYPE)
		gr_text_put(s->text, "%s ", type->name);
	return gr_show_put_elements(s, &first, &all);
}

struct gr_error *gr_show_put_slice(struct gr_show *s,
				   const struct gr_show_at *at)
{
	const struct gr_type *type = gr_show_type(s, at);
	struct gr_error *err;
	uint64_t header[3];

	if (!gr_show_read(s, at, 0, header, sizeof(header), &err))
		return err;
	if (header[1] > header[2] || header[2] > INT64_MAX ||
	    (!header[0] && header[1])) {
		gr_text_put(s->text,
			    "(unreadable invalid slice: 0x%" PRIx64
			    " len: %" PRId64 ", cap: %" PRId64 ")",
			    header[0], (int64_t)header[1], (int64_t)header[2]);
		return NULL;
	}
	if (at->flags & GR_SHOW_TYPE)
		gr_text_put(s->text, "%s len: %" PRIu64 ", cap: %" PRIu64 ", ",
			    type->name, header[1], header[2]);
	if (!header[0]) {
		gr_text_put(s->text, "nil");
		return NULL;
	}
	struct gr_show_at first = {
		.value = { .type = type->elem, .addr = header[0] },
		.level = at->level + 1,
	};
	const struct gr_show_ring all = { 0, header[1], header[1] };
	return gr_show_put_elements(s, &first, &all);
}
