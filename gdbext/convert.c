// SPDX-License-Identifier: Apache-2.0
#include "gdbext.h"

PyObject *gr_py_string(const char *text)
{
	if (!text)
		Py_RETURN_NONE;
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *gr_py_string_or_none(const char *text)
{
	return gr_py_string(text && *text ? text : NULL);
}

bool gr_py_list_append(PyObject *list, PyObject *value)
{
	if (!value)
		return false;
	int rc = PyList_Append(list, value);
	Py_DECREF(value);
	return !rc;
}

bool gr_py_dict_set(PyObject *dict, const char *key, PyObject *value)
{
	if (!value)
		return false;
	int rc = PyDict_SetItemString(dict, key, value);
	Py_DECREF(value);
	return !rc;
}

// @object if @is_complete; else drop it.
static PyObject *finish(PyObject *object, bool is_complete)
{
	if (is_complete)
		return object;
	Py_XDECREF(object);
	return NULL;
}

PyObject *gr_py_total(const struct gr_total *total)
{
	return Py_BuildValue("{s:K,s:K}", "objects",
			     (unsigned long long)total->objects, "bytes",
			     (unsigned long long)total->bytes);
}

static PyObject *gaps(const struct gr_gaps *gaps)
{
	PyObject *dict = PyDict_New();
	bool ok = dict;

	for (size_t i = 0; i < GR_NGAPS && ok; i++)
		ok = gr_py_dict_set(
			dict, gr_gap_name((enum gr_gap)i),
			PyLong_FromUnsignedLongLong(gaps->count[i]));
	return finish(dict, ok);
}

static PyObject *phases(const uint64_t us[GR_NPHASES])
{
	static const char *const names[] = {
#define X(name) #name,
		GR_PHASES(X)
#undef X
	};
	PyObject *dict = PyDict_New();
	bool ok = dict;

	for (size_t i = 0; i < GR_NPHASES && ok; i++)
		ok = gr_py_dict_set(dict, names[i],
				    PyLong_FromUnsignedLongLong(us[i]));
	return finish(dict, ok);
}

PyObject *gr_py_ledger(const struct gr_ledger *ledger)
{
	PyObject *dict = PyDict_New();
	bool ok =
		dict &&
		gr_py_dict_set(dict, "allocated",
			       gr_py_total(&ledger->allocated)) &&
		gr_py_dict_set(dict, "reached",
			       gr_py_total(&ledger->reached)) &&
		gr_py_dict_set(dict, "typed", gr_py_total(&ledger->typed)) &&
		gr_py_dict_set(dict, "runtime_type",
			       gr_py_total(&ledger->runtime_type)) &&
		gr_py_dict_set(dict, "header", gr_py_total(&ledger->header)) &&
		gr_py_dict_set(dict, "masked", gr_py_total(&ledger->masked)) &&
		gr_py_dict_set(dict, "unreached",
			       gr_py_total(&ledger->unreached)) &&
		gr_py_dict_set(dict, "gaps", gaps(&ledger->gaps)) &&
		gr_py_dict_set(dict, "phases_us", phases(ledger->phases_us)) &&
		gr_py_dict_set(dict, "is_partial",
			       PyBool_FromLong(ledger->is_partial)) &&
		gr_py_dict_set(dict, "peak_private_bytes",
			       PyLong_FromUnsignedLongLong(
				       ledger->peak_private_bytes));
	return finish(dict, ok);
}

static PyObject *warnings(const char *const *list)
{
	PyObject *ret = PyList_New(0);

	for (; ret && list && *list; list++) {
		if (!gr_py_list_append(ret, gr_py_string(*list)))
			return finish(ret, false);
	}
	return ret;
}

static const char *kind_name(enum gr_target_kind kind)
{
	switch (kind) {
	case GR_TARGET_CORE:
		return "core";
	case GR_TARGET_NATIVE:
		return "native";
	case GR_TARGET_SNAPSHOT:
		return "snapshot";
	case GR_TARGET_REMOTE:
		return "remote";
	}
	return NULL;
}

PyObject *gr_py_info(const struct gr_scan_info *info)
{
	PyObject *dict = PyDict_New();
	bool ok =
		dict &&
		gr_py_dict_set(dict, "go_version",
			       gr_py_string(info->go_version)) &&
		gr_py_dict_set(dict, "gc_phase",
			       gr_py_string(info->gc_phase)) &&
		gr_py_dict_set(dict, "pointer_scheme",
			       gr_py_string(info->pointer_scheme)) &&
		gr_py_dict_set(dict, "exe", gr_py_string(info->exe_path)) &&
		gr_py_dict_set(dict, "core",
			       gr_py_string_or_none(info->core_path)) &&
		gr_py_dict_set(dict, "pid", PyLong_FromLong(info->pid)) &&
		gr_py_dict_set(dict, "kind",
			       gr_py_string(kind_name(info->kind))) &&
		gr_py_dict_set(dict, "build_id",
			       gr_py_string_or_none(info->build_id)) &&
		gr_py_dict_set(
			dict, "missing_bytes",
			PyLong_FromUnsignedLongLong(info->missing_bytes)) &&
		gr_py_dict_set(dict, "broken_list",
			       gr_py_string_or_none(info->broken_list)) &&
		gr_py_dict_set(
			dict, "bad_headers",
			PyLong_FromUnsignedLongLong(info->bad_headers)) &&
		gr_py_dict_set(dict, "warnings", warnings(info->warnings)) &&
		gr_py_dict_set(dict, "goroutines",
			       PyLong_FromUnsignedLongLong(info->goroutines)) &&
		gr_py_dict_set(dict, "types",
			       PyLong_FromUnsignedLongLong(info->types));
	return finish(dict, ok);
}

// --------------------------------------------------------------------- why

static PyObject *address_or_none(uint64_t addr)
{
	if (!addr)
		Py_RETURN_NONE;
	return PyLong_FromUnsignedLongLong(addr);
}

static PyObject *why_object(const struct gr_why *why)
{
	if (!why->is_object)
		Py_RETURN_NONE;
	return Py_BuildValue("{s:K,s:K,s:N,s:K}", "base",
			     (unsigned long long)why->base_addr, "bytes",
			     (unsigned long long)why->bytes, "type",
			     gr_py_string_or_none(why->type), "offset",
			     (unsigned long long)why->offset);
}

static PyObject *why_root(const struct gr_why *why)
{
	if (!why->is_object || !why->is_reachable)
		Py_RETURN_NONE;
	return Py_BuildValue("{s:N,s:s,s:N}", "name",
			     gr_py_string(why->root_name), "kind",
			     gr_root_kind_name(why->root_kind), "goroutine_id",
			     address_or_none(why->goroutine_id));
}

static PyObject *why_path(const struct gr_why *why)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < why->nhops; i++) {
		const struct gr_hop *hop = &why->hops[i];
		PyObject *item = Py_BuildValue("{s:N,s:N,s:N}", "name",
					       gr_py_string(hop->name), "type",
					       gr_py_string_or_none(hop->type),
					       "address",
					       address_or_none(hop->addr));

		if (!gr_py_list_append(list, item))
			return finish(list, false);
	}
	return list;
}

PyObject *gr_py_why(const struct gr_why *why)
{
	PyObject *dict = PyDict_New();
	bool ok = dict &&
		  gr_py_dict_set(dict, "address",
				 PyLong_FromUnsignedLongLong(why->addr)) &&
		  gr_py_dict_set(dict, "object", why_object(why)) &&
		  gr_py_dict_set(dict, "reachable",
				 PyBool_FromLong(why->is_object &&
						 why->is_reachable)) &&
		  gr_py_dict_set(dict, "root", why_root(why)) &&
		  gr_py_dict_set(dict, "path", why_path(why)) &&
		  gr_py_dict_set(dict, "description",
				 gr_py_string_or_none(why->description)) &&
		  gr_py_dict_set(dict, "gaps", gaps(&why->gaps));
	return finish(dict, ok);
}

// ----------------------------------------------------------------- verdict

static PyObject *class_total(const struct gr_class_total *class)
{
	return Py_BuildValue("(iKNN)", (int)class->spanclass,
			     (unsigned long long)class->elem_bytes,
			     gr_py_total(&class->allocated),
			     gr_py_total(&class->reached));
}

static PyObject *class_totals(const struct gr_verdict *verdict)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < verdict->nclasses; i++) {
		if (!gr_py_list_append(list, class_total(&verdict->classes[i])))
			return finish(list, false);
	}
	return list;
}

static PyObject *difference(const struct gr_difference *d)
{
	return Py_BuildValue("(KKNN)", (unsigned long long)d->addr,
			     (unsigned long long)d->bytes,
			     gr_py_string_or_none(d->type),
			     gr_py_string_or_none(d->reason));
}

static PyObject *differences(const struct gr_verdict *verdict)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < verdict->ndifferences; i++) {
		if (!gr_py_list_append(list,
				       difference(&verdict->differences[i])))
			return finish(list, false);
	}
	return list;
}

static PyObject *free_slots(const struct gr_verdict *verdict)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < verdict->nfree_slots; i++) {
		const struct gr_free_slot *slot = &verdict->free_slots[i];

		if (!gr_py_list_append(
			    list,
			    Py_BuildValue("(KK)",
					  (unsigned long long)slot->addr,
					  (unsigned long long)slot->held_by)))
			return finish(list, false);
	}
	return list;
}

static PyObject *stats_or_none(const struct gr_verdict *verdict)
{
	if (!verdict->has_stats)
		Py_RETURN_NONE;
	return gr_py_total(&verdict->stats);
}

PyObject *gr_py_verdict(const struct gr_verdict *verdict)
{
	PyObject *dict = PyDict_New();
	bool ok = dict &&
		  gr_py_dict_set(dict, "allocated",
				 gr_py_total(&verdict->allocated)) &&
		  gr_py_dict_set(dict, "reached",
				 gr_py_total(&verdict->reached)) &&
		  gr_py_dict_set(dict, "kept", gr_py_total(&verdict->kept)) &&
		  gr_py_dict_set(dict, "kept_reached",
				 gr_py_total(&verdict->kept_reached)) &&
		  gr_py_dict_set(dict, "is_most_lost",
				 PyBool_FromLong(verdict->is_most_lost)) &&
		  gr_py_dict_set(dict, "stats", stats_or_none(verdict)) &&
		  gr_py_dict_set(dict, "rebuilt",
				 gr_py_total(&verdict->rebuilt)) &&
		  gr_py_dict_set(dict, "free_slot_pointers",
				 PyLong_FromUnsignedLongLong(
					 verdict->free_slot_pointers)) &&
		  gr_py_dict_set(dict, "free_slots", free_slots(verdict)) &&
		  gr_py_dict_set(dict, "missed_pointers",
				 PyLong_FromUnsignedLongLong(
					 verdict->missed_pointers)) &&
		  gr_py_dict_set(
			  dict, "unexplained",
			  PyLong_FromUnsignedLongLong(verdict->unexplained)) &&
		  gr_py_dict_set(dict, "classes", class_totals(verdict)) &&
		  gr_py_dict_set(dict, "differences", differences(verdict)) &&
		  gr_py_dict_set(dict, "gaps", gaps(&verdict->gaps));
	return finish(dict, ok);
}
