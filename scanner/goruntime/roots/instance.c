// SPDX-License-Identifier: Apache-2.0
#include "goruntime/roots/instance.h"
#include "inferior/recorder.h"

// Closures are `hold[go.shape.int].func1`, `.gowrap1`, `.deferwrap1`.
static bool is_closure(const char *function)
{
	const char *tail = strrchr(function, ']');

	return tail && (strstr(tail, ".func") || strstr(tail, "wrap"));
}

struct gr_error *gr_generics_add(struct gr_types *types, const char *function,
				 struct gr_generic_vector *list, uint32_t *ret)
{
	struct gr_generic generic = {
		.function = function,
		.is_closure = is_closure(function),
	};
	struct gr_error *err =
		gr_runtime_step(gr_types_runtime(types), list->size / 16 + 1);

	// Most functions are not generic.
	*ret = GR_GENERIC_NONE;
	if (err || !strchr(function, '['))
		return err;
	for (size_t i = 0; i < list->size; i++) {
		if (strcmp(list->data[i].function, function))
			continue;
		*ret = i;
		return NULL;
	}
	err = gr_dictionaries_find(types, function, &generic.dicts);
	if (err || !generic.dicts.count)
		return err;
	*ret = list->size;
	return gr_generic_vector_append(list, generic) ? NULL : &gr_enomem;
}

struct gr_error *gr_generic_fit(struct gr_types *types,
				struct gr_generic *generic, uint32_t index,
				gr_type_id shape)
{
	struct gr_dictionary_set *set = &generic->dicts;
	size_t kept = 0;
	gr_type_id type;

	for (size_t i = 0; i < set->count; i++) {
		struct gr_error *err = gr_dictionary_type(types, set->dicts[i],
							  index, shape, &type);
		if (err)
			return err;
		if (type != GR_TYPE_NONE)
			set->dicts[kept++] = set->dicts[i];
	}
	set->count = kept;
	return NULL;
}

static const struct gr_dictionary *of_slot(struct gr_recorder *recorder,
					   const struct gr_generic *generic,
					   const struct gr_goroutine *g,
					   const struct gr_frame *frame)
{
	uint64_t at = frame->fp + generic->dict_off;

	if (!generic->has_dict_off || !g->stack.host || at < g->stack.start ||
	    at >= g->stack.end || g->stack.end - at < GR_WORD_BYTES)
		return NULL;
	const uint8_t *host = g->stack.host + (at - g->stack.start);
	const struct gr_dictionary *dict =
		gr_dictionary_set_at(&generic->dicts, gr_load_u64(host));
	// Anything else in the slot may be a value.
	if (dict)
		gr_recorder_note(recorder, host, GR_WORD_BYTES);
	return dict;
}

// A caller that is not generic loads the address of the dictionary in its
// code. For the wrapper of `go f(x)`, the code of the go statement loads it.
static const struct gr_dictionary *of_code(const struct gr_types *types,
					   const struct gr_generic *generic,
					   const struct gr_goroutine *g,
					   const struct gr_frame *caller)
{
	const struct gr_dictionary_set *set = &generic->dicts;
	const struct gr_dictionary *dict;
	struct gr_func creator;

	dict = gr_dictionary_set_at_call(types, set, caller->func->entry,
					 caller->pc);
	if (dict || caller->func->entry != g->startpc ||
	    !gr_func_find(gr_types_runtime(types), g->gopc, &creator))
		return dict;
	return gr_dictionary_set_at_call(types, set, creator.entry, g->gopc);
}

const struct gr_dictionary *gr_generic_choose(
	const struct gr_types *types, const struct gr_generic *generic,
	const struct gr_goroutine *g, const struct gr_frame *frame,
	const struct gr_frame *caller, const struct gr_dictionary *caller_dict)
{
	const struct gr_dictionary_set *set = &generic->dicts;
	const struct gr_dictionary *dict = NULL;

	if (set->count == 1)
		return set->dicts[0];
	if (caller && caller_dict && !generic->is_closure)
		dict = gr_dictionary_set_within(types, set, caller_dict);
	else if (caller && !generic->is_closure)
		dict = of_code(types, generic, g, caller);
	// The slot comes last: in optimised code it may be overwritten.
	return dict ? dict :
		      of_slot(gr_types_runtime(types)->recorder, generic, g,
			      frame);
}
