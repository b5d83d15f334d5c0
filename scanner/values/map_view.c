// SPDX-License-Identifier: Apache-2.0
#include "values/map_view.h"

#include "expr/element.h"
#include "goruntime/sched/channel.h"
#include "scan/enter.h"

static struct gr_error *check_kind(const struct gr_program *program,
				   uint32_t type, uint8_t kind)
{
	if (type < gr_types_count(program->types) &&
	    gr_types_get(program->types, type)->kind == kind)
		return NULL;
	return gr_error_format(GR_ERROR_ARGUMENT, "type %u is no map", type);
}

/* Begin a question that reads values. */
static struct gr_error *enter(struct gr_scan *scan,
			      struct gr_sigbus_guard *guard)
{
	struct gr_answers *answers;
	struct gr_error *err = gr_scan_enter(scan, guard, &answers);

	return !err && gr_image_lacks_values(answers->stop->image) ?
		       gr_error_not_saved() :
		       err;
}

static struct gr_error *read_length(struct gr_program *program, uint32_t type,
				    uint64_t header, uint64_t *ret)
{
	struct gr_channel channel;
	struct gr_error *err;

	if (gr_types_get(program->types, type)->kind == GR_KIND_MAP)
		return gr_map_count(&program->rt, header, ret);
	err = gr_channel_read(&program->rt, header, &channel);
	*ret = channel.count;
	return err;
}

struct gr_error *gr_scan_length(struct gr_scan *scan, uint32_t type,
				uint64_t header, uint64_t *ret)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	struct gr_error *err =
		check_kind(answers->stop->program, type, GR_KIND_MAP);
	struct gr_sigbus_guard guard;

	*ret = 0;
	if (gr_error_catch(&err, GR_ERROR_ARGUMENT))
		err = check_kind(answers->stop->program, type, GR_KIND_CHAN);
	if (err || !header)
		return err;
	err = enter(scan, &guard);
	if (!err)
		err = read_length(answers->stop->program, type, header, ret);
	return gr_sigbus_guard_end(&guard, err);
}

// ------------------------------------------------------------------- entries

struct gr_error *gr_scan_map_begin(struct gr_scan *scan, uint32_t type,
				   uint64_t header, struct gr_map_cursor *ret)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	struct gr_error *err =
		check_kind(answers->stop->program, type, GR_KIND_MAP);
	struct gr_sigbus_guard guard;

	if (err)
		return err;
	err = enter(scan, &guard);
	if (!err)
		err = gr_element_map_cursor(answers->stop->heap, type, header,
					    ret);
	return gr_sigbus_guard_end(&guard, err);
}

struct gr_error *gr_scan_map_next(struct gr_scan *scan,
				  struct gr_map_cursor *cursor,
				  struct gr_map_entry *ret, size_t max,
				  size_t *count)
{
	struct gr_sigbus_guard guard;
	struct gr_error *err = enter(scan, &guard);
	bool is_end = false;

	*count = 0;
	while (!err && *count < max) {
		err = gr_map_cursor_next(cursor, &ret[*count], &is_end);
		if (err || is_end)
			break;
		++*count;
	}
	return gr_sigbus_guard_end(&guard, err);
}

struct gr_error *gr_scan_map_find(struct gr_scan *scan, uint32_t type,
				  uint64_t header, const struct gr_literal *key,
				  uint64_t *elem_addr)
{
	struct gr_answers *answers = gr_scan_answers(scan);
	struct gr_error *err =
		check_kind(answers->stop->program, type, GR_KIND_MAP);
	struct gr_sigbus_guard guard;

	*elem_addr = 0;
	if (err)
		return err;
	if (!gr_element_key_fits(answers->stop->program, type, key))
		return gr_error_format(
			GR_ERROR_ARGUMENT, "%s has keys of another kind",
			gr_types_get(answers->stop->program->types, type)->name);
	err = enter(scan, &guard);
	if (!err)
		err = gr_element_find_key(answers->stop, type, header, key,
					  elem_addr);
	return gr_sigbus_guard_end(&guard, err);
}
