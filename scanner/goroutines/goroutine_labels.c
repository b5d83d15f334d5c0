// SPDX-License-Identifier: Apache-2.0
#include "goroutines/goroutine_labels.h"

#include "base/text.h"

enum { MAX_LABELS_BYTES = 4096 };

bool gr_goroutine_has_label(const struct gr_goroutine_info *info,
			    const char *text)
{
	for (size_t i = 0; i < info->nlabels; i++) {
		const struct gr_label *label = &info->labels[i];
		size_t key = strlen(label->key);

		if (!strncmp(text, label->key, key) &&
		    (!text[key] || (text[key] == '=' &&
				    !strcmp(text + key + 1, label->value))))
			return true;
	}
	return false;
}

const char *gr_goroutine_labels_text(struct gr_arena *arena,
				     const struct gr_goroutine_info *info,
				     const char *key)
{
	char buf[MAX_LABELS_BYTES];
	struct gr_text text = gr_text_begin(buf, sizeof(buf));

	for (size_t i = 0; i < info->nlabels && !text.is_cut; i++) {
		const struct gr_label *label = &info->labels[i];

		if (!key || !strcmp(key, label->key))
			gr_text_put(&text, "%s%s=%s", text.bytes ? ", " : "",
				    label->key, label->value);
	}
	if (!text.bytes && key)
		gr_text_put(&text, "no label %s", key);
	else if (!text.bytes)
		gr_text_put(&text, "no labels");
	return gr_arena_intern(arena, text.data, text.bytes);
}
