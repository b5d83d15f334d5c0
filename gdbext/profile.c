// SPDX-License-Identifier: Apache-2.0
// Result.write_profile().
#include "gdbext/gdbext.h"

#include "proto/profile_writer.h"
#include "scan/open.h"
#include "walks/result.h"

static struct gr_profile profile_of(struct gr_py_scan *scan,
				    const struct gr_result *result)
{
	const struct gr_scan_info *info = gr_scan_info(scan->scan);
	struct gr_profile profile = {
		.ledger = gr_result_ledger(result),
		.weight = gr_result_weight(result),
		.tool_version = PACKAGE_VERSION,
		.go_version = info->go_version,
		.exe_path = info->exe_path,
		.build_id = info->build_id,
		.poll = gr_py_scan_poll,
		.ctx = scan,
	};

	profile.nodes = gr_result_nodes(result, &profile.nnodes);
	profile.lines = gr_result_lines(result);
	profile.sampling = gr_result_sampling(result);
	profile.roots = gr_result_roots(result, &profile.nroots);
	return profile;
}

static bool parse_format(const char *text, enum gr_profile_format *ret)
{
	static const char *const names[] = {
#define X(id, name) [GR_PROFILE_##id] = name,
		GR_PROFILE_FORMATS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(text, names[i])) {
			*ret = (enum gr_profile_format)i;
			return true;
		}
	}
	PyErr_Format(gr_py_argument_error, "no format: %s", text);
	return false;
}

PyObject *gr_py_write_profile(struct gr_py_scan *scan,
			      const struct gr_result *result, PyObject *args,
			      PyObject *kwargs)
{
	_cleanup_(gr_py_stamp_deinit) struct gr_py_stamp stamp = { 0 };
	struct gr_profile profile = profile_of(scan, result);
	struct gr_profile_stats stats;
	unsigned long long max_samples;
	const char *path, *format = "pprof";
	PyObject *labels = NULL;
	long long time_ns = 0;
	int root_labels = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sK|zsOLp:write_profile",
					 gr_py_result_write_profile_names,
					 &path, &max_samples, &profile.partial,
					 &format, &labels, &time_ns,
					 &root_labels) ||
	    !parse_format(format, &profile.format) ||
	    !gr_py_stamp_parse(labels, time_ns, &stamp) ||
	    !gr_py_scan_enter(scan))
		return NULL;
	profile.stamp = stamp.stamp;
	profile.max_samples = max_samples;
	profile.has_root_labels = root_labels;
	struct gr_error *err = gr_profile_write(&profile, path, &stats);
	gr_py_scan_leave(scan);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_profile_stats_row, &stats);
}
