// SPDX-License-Identifier: Apache-2.0
/* layout_saved: the text of a layout in a saved file. */
#include "layout_rows.h"

static struct gr_bytes saved_text(const struct gr_layout *layout)
{
	char *text = gr_layout_save(layout);

	assert_non_null(text);
	return (struct gr_bytes){ (const uint8_t *)text, strlen(text) };
}

TEST_F(saved)
{
	struct gr_layout layout, restored;

	assert_null(gr_layout_resolve(d, BIAS, &layout));
	struct gr_bytes text = saved_text(&layout);
	assert_null(gr_layout_restore(text, &restored));
	assert_memory_equal(&layout, &restored, sizeof(layout));
	free((void *)text.data);
}

/* A goref that reads more of the runtime has more rows: these are left out. */
TEST_F(rows_of_others)
{
	struct gr_layout layout, restored;
	char *more;

	assert_null(gr_layout_resolve(d, BIAS, &layout));
	struct gr_bytes text = saved_text(&layout);
	assert_true(asprintf(&more,
			     "color 16\ncolor.red 8 8\nmspan.color 8 8\n"
			     "const color 8\nvar color yes\n# at color c000\n"
			     "%s",
			     (const char *)text.data) > 0);
	assert_null(gr_layout_restore((struct gr_bytes){ (const uint8_t *)more,
							 strlen(more) },
				      &restored));
	assert_memory_equal(&layout, &restored, sizeof(layout));
	free(more);
	free((void *)text.data);
}

/* A byte or an end that is changed: an error, or a layout that is safe to use. */
TEST_F(saved_damage)
{
	struct gr_layout layout, restored;
	size_t refused = 0;

	assert_null(gr_layout_resolve(d, BIAS, &layout));
	struct gr_bytes text = saved_text(&layout);
	uint8_t *bytes = (uint8_t *)text.data;
	for (size_t i = 0; i < text.size; i += 13) {
		uint8_t was = bytes[i];
		struct gr_bytes cut = { bytes, i };
		struct gr_error *err = gr_layout_restore(cut, &restored);

		assert_true(!err || err->code == GR_ERROR_LAYOUT);
		refused += err != NULL;
		gr_error_destroy(err);
		bytes[i] ^= 1 << i % 8;
		err = gr_layout_restore(text, &restored);
		refused += err != NULL;
		assert_true(!err || err->code == GR_ERROR_LAYOUT);
		if (!err)
			assert_null(gr_layout_check(&restored));
		gr_error_destroy(err);
		bytes[i] = was;
	}
	assert_true(refused > text.size / 13 / 4);
	// A text that is too long is not read.
	bytes = calloc(1, 1 << 18);
	memset(bytes, '\n', 1 << 18);
	assert_fails(gr_layout_restore((struct gr_bytes){ bytes, 1 << 18 },
				       &restored),
		     GR_ERROR_LAYOUT, NULL);
	free(bytes);
	free((void *)text.data);
}

GR_SUITE("saved layouts")
