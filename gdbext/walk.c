// SPDX-License-Identifier: Apache-2.0
// Scan.walk().
#include "gdbext/gdbext.h"

#include "walks/result.h"

GR_DEFINE_CLEANUP(result, struct gr_result, gr_result_destroy)

bool gr_py_parse_attribution(const char *text, enum gr_attribution *ret)
{
	if (!strcmp(text, "nearest")) {
		*ret = GR_ATTRIBUTION_NEAREST;
	} else if (!strcmp(text, "first")) {
		*ret = GR_ATTRIBUTION_FIRST;
	} else {
		PyErr_Format(gr_py_argument_error, "no attribution: %s", text);
		return false;
	}
	return true;
}

bool gr_py_parse_weight(const char *text, enum gr_weight *ret)
{
	static const char *const names[] = {
#define X(id, name) [GR_WEIGHT_##id] = name,
		GR_WEIGHTS(X)
#undef X
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++) {
		if (strcmp(text, names[i]))
			continue;
		*ret = i;
		return true;
	}
	PyErr_Format(gr_py_argument_error, "no weight: %s", text);
	return false;
}

// If the result is kept, a KeyboardInterrupt that ended the walk is cleared.
static bool is_kept(const struct gr_result *result)
{
	if (!gr_result_ledger(result)->is_partial)
		return true;
	if (!PyErr_Occurred())
		return true;
	if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
		return false;
	PyErr_Clear();
	return true;
}

static PyObject *walk(struct gr_py_scan *self, PyObject *sequence,
		      struct gr_walk_options *options)
{
	_cleanup_(gr_cleanup_result) struct gr_result *result = NULL;
	_cleanup_free_ struct gr_place *places =
		gr_py_parse_places(self->scan, sequence, &options->nplaces);

	if (!places)
		return NULL;
	options->places = places;
	struct gr_error *err = gr_scan_walk(self->scan, options, &result);
	if (err)
		return gr_py_raise(err);
	return is_kept(result) ? gr_py_result_new(self, steal_ptr(result)) :
				 NULL;
}

PyObject *gr_py_scan_walk(PyObject *obj, PyObject *args, PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	struct gr_walk_options options = { .max_depth = 0 };
	PyObject *places = NULL;
	const char *attribution = "nearest", *weight = "bytes";
	int per_goroutine = 0, keep_partial = 0;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "II|Ospps:walk", gr_py_scan_walk_names,
		    &options.max_depth, &options.max_nodes, &places,
		    &attribution, &per_goroutine, &keep_partial, &weight) ||
	    !gr_py_parse_attribution(attribution, &options.attribution) ||
	    !gr_py_parse_weight(weight, &options.weight) ||
	    !gr_py_scan_enter(self))
		return NULL;
	options.per_goroutine = per_goroutine;
	options.keep_partial = keep_partial;
	PyObject *ret = walk(self, places, &options);
	gr_py_scan_leave(self);
	return ret;
}
