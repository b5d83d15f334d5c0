// SPDX-License-Identifier: Apache-2.0
#include "goroutines/wait_key.h"

#include "base/text.h"
#include "goroutines/goroutine_wait.h"
#include "goroutines/wait_table.h"
#include "goruntime/sched/waits.h"
#include "scan.h"

#include <inttypes.h>

enum {
	MAX_TEXT_BYTES = 4096,
	MAX_CASES = 16, /* of a select that are written */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* A goroutine that has been woken waits for nothing, and is about to run. */
static bool is_woken(const struct gr_waits *waits, size_t index)
{
	uint32_t first = waits->first[index];

	return first < waits->first[index + 1] && waits->rows[first].is_woken;
}

uint64_t gr_wait_key(const struct gr_scan *scan, size_t index)
{
	const struct gr_waits *waits = scan->sched.waits;
	uint64_t hash = 0;

	if (is_woken(waits, index))
		return mix(hash, UINT64_MAX);

	for (uint32_t i = waits->first[index]; i < waits->first[index + 1];
	     i++) {
		const struct gr_wait *wait = &waits->rows[i];

		hash = mix(hash, wait->kind + 1);
		hash = mix(hash, wait->object ? wait->object : wait->key);
	}
	return hash;
}

bool gr_awaits_channel(const struct gr_scan *scan, size_t index, uint64_t chan)
{
	const struct gr_waits *waits = scan->sched.waits;

	for (uint32_t i = waits->first[index]; i < waits->first[index + 1]; i++)
		if (waits->rows[i].object == chan && !waits->rows[i].is_woken &&
		    gr_wait_kind_is_channel(waits->rows[i].kind))
			return true;
	return false;
}

static struct gr_error *put(struct gr_scan *scan, const struct gr_wait *wait,
			    struct gr_text *text)
{
	struct gr_primitive_name name = { "", "", "", "", "" };
	struct gr_error *err = NULL;

	gr_text_put(text, "%s", gr_wait_kind_name(wait->kind));
	if (wait->object)
		err = gr_scan_name_awaited(scan, wait, true, &name);
	if (!err && *name.path)
		gr_text_put(text, " %s", name.path);
	else if (!err && *name.holder_type)
		gr_text_put(text, " in %s", name.holder_type);
	if (!err && (wait->object || wait->key))
		gr_text_put(text, " at 0x%" PRIx64,
			    wait->object ? wait->object : wait->key);
	return err;
}

struct gr_error *gr_wait_key_text(struct gr_scan *scan, size_t index,
				  const char **ret)
{
	const struct gr_waits *waits = scan->sched.waits;
	uint32_t first = waits->first[index];
	uint32_t n = waits->first[index + 1] - first;
	char data[MAX_TEXT_BYTES];
	struct gr_text text = gr_text_begin(data, sizeof(data));
	struct gr_error *err = NULL;

	if (is_woken(waits, index)) {
		gr_text_put(&text, "nothing any more: woken, and about to run");
		n = 0;
	} else if (!n) {
		gr_text_put(&text, "nothing");
	}
	for (uint32_t i = 0; !err && i < n && i < MAX_CASES; i++) {
		gr_text_put(&text, "%s", i ? "; " : "");
		err = put(scan, &waits->rows[first + i], &text);
	}
	if (n > MAX_CASES)
		gr_text_put(&text, "; and %" PRIu32 " more", n - MAX_CASES);
	if (err)
		return err;
	*ret = gr_arena_intern(&scan->arena, data, text.bytes);
	return *ret ? NULL : &gr_enomem;
}
