// SPDX-License-Identifier: Apache-2.0
#include "goroutines/wait_class.h"

#include "base/text.h"
#include "goroutines/wait_table.h"
#include "scan/answers.h"
#include "walks/why.h"

enum { MAX_CLASS_BYTES = 1024 };

GR_DEFINE_CLEANUP(why, struct gr_why, gr_why_destroy)

static const char *keep(struct gr_runtime *rt, const struct gr_text *text)
{
	return gr_arena_intern(rt->arena, text->data, text->bytes);
}

/* Append fields, each index as `[...]'. */
static void put_fields(struct gr_text *text, const char *fields)
{
	while (*fields) {
		size_t n = strcspn(fields, "[");

		gr_text_put(text, "%.*s", (int)n, fields);
		fields += n;
		if (!*fields)
			break;
		gr_text_put(text, "[...]");
		fields += strcspn(fields, "]");
		fields += *fields == ']';
	}
}

/* A lock lies in a field of an object or of a variable. */
static struct gr_error *class_of_lock(struct gr_runtime *rt,
				      const struct gr_primitive_name *name,
				      const char **ret)
{
	char data[MAX_CLASS_BYTES];
	struct gr_text text = gr_text_begin(data, sizeof(data));

	if (!*name->holder_type)
		return NULL;
	if (*name->field) {
		gr_text_put(&text, "%s", name->holder_type);
		put_fields(&text, name->field);
	} else {
		gr_text_put(&text, "in %s", name->holder_type);
	}
	*ret = keep(rt, &text);
	return *ret ? NULL : &gr_enomem;
}

// ------------------------------------------------------------------- channels

/* An object that has the channel on behalf of another: a context, a timer. */
static bool is_between(const char *type)
{
	static const char *const packages[] = {
		"context.", "internal/", "runtime.", "sync.", "sync/", "time.",
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(packages); i++)
		if (gr_has_prefix(type, packages[i]))
			return true;
	return !*type || gr_has_prefix(type, "begins with ");
}

/* `a / jobs. (chan main.Job)' is the field `a.jobs', whose type follows. */
static void put_hop(struct gr_text *text, const char *name)
{
	const char *type = strstr(name, ". (");
	const char *end = type ? type : name + strlen(name);

	while (name < end) {
		const char *slash = strstr(name, " / ");
		const char *stop = slash && slash < end ? slash : end;

		gr_text_put(text, "%.*s%s", (int)(stop - name), name,
			    stop < end ? "." : "");
		name = stop < end ? stop + 3 : end;
	}
}

/* The innermost object on the way to the channel that tells whose it is, and the
 * field there; or the root. */
static void put_holder(const struct gr_why *why, struct gr_text *text)
{
	const char *suffix = "";
	size_t i = why->nhops - 1;

	for (; i > 0; i--) {
		const char *type = why->hops[i - 1].type;

		type += *type == '*';
		if (why->hops[i - 1].is_container) {
			suffix = "[...]";
		} else if (!is_between(type)) {
			gr_text_put(text, "%s.", type);
			break;
		}
	}
	put_hop(text, why->hops[i].name);
	gr_text_put(text, "%s", suffix);
}

static struct gr_error *class_of_channel(struct gr_answers *answers,
					 uint64_t addr, const char **ret)
{
	_cleanup_(gr_cleanup_why) struct gr_why *why = NULL;
	const struct gr_walk_options options = {
		.attribution = GR_ATTRIBUTION_NEAREST
	};
	char data[MAX_CLASS_BYTES];
	struct gr_text text = gr_text_begin(data, sizeof(data));
	struct gr_error *err = gr_why_find(answers, &options, addr, &why);

	// Without memory for the walk, the type of the channel has to do.
	if (gr_error_catch(&err, GR_ERROR_MEMORY_LIMIT) || err)
		return err;
	if (!why->is_object || !why->is_reachable || !why->nhops)
		return NULL;
	put_holder(why, &text);
	*ret = keep(&answers->stop->program->rt, &text);
	return *ret ? NULL : &gr_enomem;
}

struct gr_error *gr_wait_class(struct gr_answers *answers,
			       const struct gr_wait *wait,
			       const struct gr_primitive_name *name,
			       const char **ret)
{
	*ret = "";
	return gr_wait_kind_is_channel(wait->kind) ?
		       class_of_channel(answers, wait->object, ret) :
		       class_of_lock(&answers->stop->program->rt, name, ret);
}
