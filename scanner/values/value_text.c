// SPDX-License-Identifier: Apache-2.0
#include "values/value_text.h"

#include "scan/enter.h"

enum { MAX_TEXT_BYTES = 1 << 20 };

struct gr_error *gr_scan_show(struct gr_scan *scan,
			      const struct gr_shown *value,
			      const struct gr_show_limits *limits, char **ret)
{
	struct gr_stop *stop = gr_scan_answers(scan)->stop;
	_cleanup_free_ char *data = malloc(MAX_TEXT_BYTES);
	struct gr_sigbus_guard guard;
	struct gr_text text;

	if (!data)
		return &gr_enomem;
	if (value->type >= gr_types_count(stop->program->types))
		return gr_error_format(GR_ERROR_ARGUMENT,
				       "no type has the number %u",
				       value->type);
	text = gr_text_begin(data, MAX_TEXT_BYTES);
	struct gr_error *err = gr_scan_enter_goroutines(scan, &guard, &stop);
	if (!err && gr_image_lacks_values(stop->image))
		err = gr_error_not_saved();
	if (!err)
		err = gr_show_value(stop->program->types, limits, value, &text);
	err = gr_sigbus_guard_end(&guard, err);
	if (err)
		return err;
	*ret = strdup(text.data);
	return *ret ? NULL : &gr_enomem;
}
