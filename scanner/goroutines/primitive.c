// SPDX-License-Identifier: Apache-2.0
#include "goroutines/primitive.h"

#include "base/text.h"
#include "goroutines/part_path.h"
#include "goroutines/primitive_path.h"
#include "goruntime/layout/names.h"
#include "mark/parents.h"
#include "scan/answers.h"
#include "scan/kept_walk.h"
#include "walks/why.h"

#include <inttypes.h>

enum {
	MAX_PARTS = 64, /* fields in fields */
	MAX_PATH_BYTES = 1024,
};

/** A primitive that is to be named. */
struct namer {
	struct gr_answers *answers;
	uint64_t addr;
	const char *type;
	bool is_channel;
	struct gr_primitive_name *ret;
	/** Where the fields of ret->part_of begin in ret->field. */
	size_t inner_at;
};

static const char *keep(struct namer *n, const struct gr_text *text)
{
	const char *kept = gr_arena_intern(&n->answers->stop->program->arena,
					   text->data, text->bytes);

	return kept ? kept : "";
}

static bool is_of_sync(const char *type)
{
	return strncmp(type, "sync.", 5) == 0;
}

/* Find the primitive at byte @p off of a value of that type, and write the
 * fields that lead to it. */
static bool find_part(struct namer *n, gr_type_id id, uint64_t off,
		      struct gr_text *text)
{
	const struct gr_types *types = n->answers->stop->program->types;

	for (unsigned int i = 0; i < MAX_PARTS; i++) {
		const struct gr_type *type = gr_types_get(types, id);

		if (!off && !strcmp(type->name, n->type)) {
			n->ret->type = type->name;
			return true;
		}
		if (is_of_sync(type->name)) {
			if (!*n->ret->part_of)
				n->inner_at = text->bytes;
			n->ret->part_of = type->name;
		}
		if (!gr_part_enter(types, &id, &off, text))
			break;
	}
	n->ret->part_of = "";
	return false;
}

/* The primitive lies in a value of that type, which has the name @p path. */
static bool name_in_value(struct namer *n, const char *path, gr_type_id id,
			  uint64_t off)
{
	char data[MAX_PATH_BYTES], field[MAX_PATH_BYTES];
	struct gr_text text = gr_text_begin(data, sizeof(data));
	struct gr_text part = gr_text_begin(field, sizeof(field));

	if (!find_part(n, id, off, &part))
		return false;
	gr_text_put(&text, "%s%s", path, part.data);
	n->ret->path = *path ? keep(n, &text) : "";
	n->ret->field = keep(n, &part);
	if (part.bytes)
		n->ret->holder_type =
			gr_types_get(n->answers->stop->program->types, id)->name;
	return true;
}

// --------------------------------------------------------- package variables

static bool is_named_by(struct namer *n, const struct gr_data_variable *row)
{
	const struct gr_types *types = n->answers->stop->program->types;
	char data[MAX_PATH_BYTES];
	struct gr_text text = gr_text_begin(data, sizeof(data));
	uint64_t off = gr_data_variable_put(types, row, n->addr, &text);

	if (!n->is_channel)
		return name_in_value(n, data, row->type, off);
	if (gr_types_get(types, row->type)->kind == GR_KIND_CHAN && !off &&
	    !row->is_slice)
		n->ret->path = row->name;
	return *n->ret->path;
}

static bool try_list(struct namer *n,
		     const struct gr_data_variable_vector *list)
{
	const struct gr_data_variable *row =
		gr_data_variable_find(list, n->addr);

	for (int i = 0; i < GR_MAX_NESTED_VARIABLES && row; i++) {
		if (is_named_by(n, row))
			return true;
		row = gr_data_variable_around(list, row, n->addr);
	}
	return false;
}

/* Look for it in all package variables, and in what they point to. */
static bool try_variables(struct namer *n,
			  const struct gr_data_variables *variables)
{
	if (n->is_channel)
		return try_list(n, &variables->in_heap);
	return try_list(n, &variables->own) ||
	       try_list(n, &variables->pointed) ||
	       try_list(n, &variables->in_heap);
}

// -------------------------------------------------------------------- a walk

/* `a / jobs. (chan main.Job)' is `.a.jobs', a pointer that the walk followed. */
static void put_hop(struct gr_text *text, const char *name)
{
	const char *type = strstr(name, ". (");
	const char *end = type ? type : name + strlen(name);

	if (text->bytes && *name != '[')
		gr_text_put(text, ".");
	while (name < end) {
		const char *slash = strstr(name, " / ");
		const char *stop = slash && slash < end ? slash : end;

		gr_text_put(text, "%.*s%s", (int)(stop - name), name,
			    stop < end && stop[3] != '[' ? "." : "");
		name = stop < end ? stop + 3 : end;
	}
}

static void put_path(struct gr_text *text, const struct gr_why *why)
{
	for (size_t i = 0; i < why->nhops; i++)
		put_hop(text, why->hops[i].name);
}

/* The type of one value at the start of the object, or GR_TYPE_NONE. */
static gr_type_id type_of_object(const struct gr_answers *answers, gr_obj obj)
{
	uint32_t label = gr_parents_label(answers->kept_walk->m.parents, obj);

	if (label == GR_TYPE_NONE || label & GR_LABEL_DATA)
		return GR_TYPE_NONE;
	return label & ~(uint32_t)GR_LABEL_FLAGS;
}

/* A type or a local variable of package sync or of the runtime, which does not
 * say whose the primitive is. */
static bool is_internal(const char *name)
{
	return is_of_sync(name) || !strncmp(name, "internal/sync.", 14) ||
	       !strncmp(name, "runtime.", 8);
}

/* Is the chain a name: short, and the program's from end to end, without words
 * that have no variable or no type? The last hop is the object itself. */
static bool is_name(const struct gr_why *why, const char *text)
{
	bool is_variable = why->root_kind == GR_ROOT_GLOBAL ||
			   why->root_kind == GR_ROOT_LOCAL;

	if (!is_variable || why->nhops > GR_MAX_NAME_STEPS + 1 ||
	    strstr(text, "$sub_objects$"))
		return false;
	for (size_t i = 0; i + 1 < why->nhops; i++)
		if (gr_name_is_in_runtime(why->hops[i].type) ||
		    gr_name_has(why->hops[i].type, GR_NAME_TIME_TIMER))
			return false;
	return true;
}

static void name_by_chain(struct namer *n, const struct gr_why *why)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(n->answers->stop->heap, n->addr, &span);
	char data[MAX_PATH_BYTES];
	struct gr_text text = gr_text_begin(data, sizeof(data));

	if (!why->is_reachable || obj == GR_OBJ_NONE)
		return;
	put_path(&text, why);
	if (is_internal(data) || !is_name(why, data))
		text = gr_text_begin(data, sizeof(data));
	gr_type_id id = type_of_object(n->answers, obj);
	if (n->is_channel && !why->offset) {
		n->ret->path = keep(n, &text);
		return;
	}
	if (id != GR_TYPE_NONE && name_in_value(n, data, id, why->offset))
		return;
	// The name is that of another value, which shares a block with it.
	if (gr_span_may_be_tiny(span))
		return;
	if (why->offset && text.bytes)
		gr_text_put(&text, "+0x%" PRIx64, why->offset);
	n->ret->path = keep(n, &text);
	if (!is_internal(why->type))
		n->ret->holder_type = why->type;
}

GR_DEFINE_CLEANUP(why, struct gr_why, gr_why_destroy)

static struct gr_error *try_walk(struct namer *n)
{
	_cleanup_(gr_cleanup_why) struct gr_why *why = NULL;
	const struct gr_walk_options options = {
		.attribution = GR_ATTRIBUTION_NEAREST
	};
	struct gr_error *err = gr_why_find(n->answers, &options, n->addr, &why);

	// It has no name then, which is better than no answer.
	if (gr_error_catch(&err, GR_ERROR_MEMORY_LIMIT) || err)
		return err;
	if (why->is_object)
		name_by_chain(n, why);
	else if (why->description)
		n->ret->holder_type = why->description;
	return NULL;
}

// --------------------------------------------------------------------- paths

/* The sources of all names of a stop. */
struct names {
	struct gr_memo memo;
	struct gr_data_variables variables;
	struct gr_awaited_path_vector paths;
	bool has_paths;
	uint64_t limit_bytes; /**< The memory limit when paths were made. */
};

static void destroy_names(struct gr_memo *memo)
{
	struct names *names = (struct names *)memo;

	gr_data_variables_deinit(&names->variables);
	gr_awaited_path_vector_deinit(&names->paths);
	free(names);
}

static struct gr_error *need_names(struct gr_answers *answers,
				   struct names **ret)
{
	if (!answers->primitive_names) {
		struct names *names = calloc(1, sizeof(*names));
		if (!names)
			return &gr_enomem;
		struct gr_error *err = gr_data_variables_make(
			answers->stop->heap, &names->variables);
		names->memo.destroy = destroy_names;
		if (err) {
			destroy_names(&names->memo);
			return err;
		}
		answers->primitive_names = &names->memo;
	}
	*ret = (struct names *)answers->primitive_names;
	return NULL;
}

/* Why there are no paths, which is better than no name. */
static bool catch_no_graph(struct gr_error **errp)
{
	return gr_error_catch(errp, GR_ERROR_NO_MEMORY) ||
	       gr_error_catch(errp, GR_ERROR_MEMORY_LIMIT) ||
	       gr_error_catch(errp, GR_ERROR_LIMIT) ||
	       gr_error_catch(errp, GR_ERROR_NOT_SAVED);
}

/* Without memory for the graph there are no paths, until the limit changes. */
static struct gr_error *need_paths(struct gr_answers *answers,
				   struct names *names)
{
	uint64_t limit = answers->costs->meter.limit_bytes;

	if (names->has_paths &&
	    (names->paths.size || names->limit_bytes == limit))
		return NULL;
	struct gr_error *err = gr_awaited_paths_make(answers, &names->paths);
	if (err)
		gr_awaited_path_vector_deinit(&names->paths);
	names->has_paths = !err || catch_no_graph(&err);
	names->limit_bytes = limit;
	return err;
}

/* Append the field of the RWMutex or the Once that is the lock. */
static const char *with_inner(struct namer *n, const char *path)
{
	char data[MAX_PATH_BYTES];
	struct gr_text text = gr_text_begin(data, sizeof(data));

	if (!*n->ret->part_of)
		return path;
	gr_text_put(&text, "%s%s", path, n->ret->field + n->inner_at);
	return keep(n, &text);
}

/* The path from a package variable, if there is one, says more than the root
 * that is nearest: that is most often the stack of the one who waits. */
static void take_path(struct namer *n, const struct gr_awaited_name *name)
{
	struct gr_primitive_name *ret = n->ret;

	if (name->is_of_variable || !*ret->path)
		ret->path = with_inner(n, name->path);
	if (!n->is_channel && !*ret->holder_type && !is_internal(name->type))
		ret->holder_type = name->type;
}

static struct gr_error *try_paths(struct namer *n, struct names *names)
{
	struct gr_error *err = need_paths(n->answers, names);
	const struct gr_awaited_path_vector *paths = &names->paths;

	if (err)
		return err;
	size_t i = gr_count_before(paths->size, k,
				   paths->data[k].object < n->addr);
	if (i < paths->size && paths->data[i].object == n->addr)
		take_path(n, &paths->data[i].name);
	return NULL;
}

static bool is_in_object(const struct gr_heap *heap, uint64_t addr)
{
	const struct gr_span *span;

	return gr_heap_object_at(heap, addr, &span) != GR_OBJ_NONE;
}

struct gr_error *gr_primitive_find_name(struct gr_answers *answers,
					uint64_t addr, const char *type,
					bool is_channel, bool may_walk,
					struct gr_primitive_name *ret)
{
	struct namer n = { answers, addr, type, is_channel, ret, 0 };
	struct names *names;
	struct gr_error *err = need_names(answers, &names);

	*ret = (struct gr_primitive_name){ type, "", "", "", "" };
	if (err || try_variables(&n, &names->variables) || !may_walk)
		return err;
	err = try_walk(&n);
	return err || !is_in_object(answers->stop->heap, addr) ?
		       err :
		       try_paths(&n, names);
}
