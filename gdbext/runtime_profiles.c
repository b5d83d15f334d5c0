// SPDX-License-Identifier: Apache-2.0
// Scan.goroutine_profile() and Scan.bucket_profile().
#include "gdbext/gdbext.h"

#include "profiles/bucket_profile.h"
#include "profiles/goroutine_profile.h"
#include "proto/stack_profile.h"
#include "scan/open.h"

GR_DEFINE_CLEANUP(goroutine_profile, struct gr_goroutine_profile,
		  gr_goroutine_profile_destroy)
GR_DEFINE_CLEANUP(bucket_profile, struct gr_bucket_profile,
		  gr_bucket_profile_destroy)

PyObject *gr_py_frames(const struct gr_stacks *stacks, uint32_t stack)
{
	size_t count;
	_cleanup_free_ struct gr_stack_frame *frames =
		gr_stacks_frames(stacks, stack, &count);

	return frames ? gr_py_row_tuple(&gr_py_stack_frame_row, frames,
					sizeof(*frames), count) :
			PyErr_NoMemory();
}

PyObject *gr_py_sample_frames(const void *value)
{
	const struct gr_py_sample *sample = value;

	return gr_py_frames(sample->stacks, sample->stack);
}

PyObject *gr_py_profile_samples(const void *value)
{
	const struct gr_goroutine_profile *profile = value;
	_cleanup_free_ struct gr_py_sample *samples =
		calloc(profile->nsamples + 1, sizeof(*samples));

	if (!samples)
		return PyErr_NoMemory();
	for (size_t i = 0; i < profile->nsamples; i++)
		samples[i] = (struct gr_py_sample){
			&profile->stacks,
			profile->samples[i].stack,
			profile->samples[i].goroutines,
			profile->samples[i].stack_space,
		};
	return gr_py_row_tuple(&gr_py_goroutine_sample_row, samples,
			       sizeof(*samples), profile->nsamples);
}

static struct gr_profile_target target_of(struct gr_py_scan *scan,
					  const char *partial,
					  const struct gr_py_stamp *stamp)
{
	const struct gr_scan_info *info = gr_scan_info(scan->scan);

	return (struct gr_profile_target){
		.tool_version = PACKAGE_VERSION,
		.go_version = info->go_version,
		.exe_path = info->exe_path,
		.build_id = info->build_id,
		.partial = partial,
		.stamp = stamp->stamp,
	};
}

static bool parse_selection(const char *name, enum gr_goroutine_selection *ret)
{
	bool is_leaked = !strcmp(name, "goroutineleak");

	*ret = is_leaked ? GR_GOROUTINES_LEAKED : GR_GOROUTINES_ALL;
	if (!is_leaked && strcmp(name, "goroutine") != 0) {
		PyErr_Format(gr_py_argument_error, "no profile %s", name);
		return false;
	}
	return true;
}

PyObject *gr_py_scan_goroutine_profile(PyObject *obj, PyObject *args,
				       PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_goroutine_profile) struct gr_goroutine_profile
		*profile = NULL;
	const char *name, *path = NULL, *partial = NULL;
	_cleanup_(gr_py_stamp_deinit) struct gr_py_stamp stamp = { 0 };
	enum gr_goroutine_selection selection;
	PyObject *labels = NULL;
	long long time_ns = 0;

	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "s|zzOL:goroutine_profile",
		    gr_py_scan_goroutine_profile_names, &name, &path, &partial,
		    &labels, &time_ns) ||
	    !parse_selection(name, &selection) ||
	    !gr_py_stamp_parse(labels, time_ns, &stamp) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err =
		gr_scan_goroutine_profile(self->scan, selection, &profile);
	if (!err && path) {
		struct gr_profile_target target =
			target_of(self, partial, &stamp);

		err = gr_goroutine_profile_write(profile, name, &target, path);
	}
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_goroutine_profile_row, profile);
}

PyObject *gr_py_profile_totals(const void *value)
{
	const struct gr_bucket_profile *profile = value;
	long long totals[GR_MEMORY_VALUES] = { 0 };

	for (size_t i = 0; i < profile->samples.size; i++)
		for (size_t j = 0; j < GR_MEMORY_VALUES; j++)
			totals[j] += profile->samples.data[i].values[j];
	return Py_BuildValue("(LLLL)", totals[0], totals[1], totals[2],
			     totals[3]);
}

// A profile of the runtime's buckets by its name in runtime/pprof.
struct named {
	const char *name;
	enum gr_bucket_kind kind;
	enum gr_bucket_format format;
};

static const struct named *parse_name(const char *name)
{
	static const struct named all[] = {
		{ "heap", GR_BUCKETS_MEMORY, GR_FORMAT_HEAP },
		{ "allocs", GR_BUCKETS_MEMORY, GR_FORMAT_ALLOCS },
		{ "block", GR_BUCKETS_BLOCK, GR_FORMAT_CONTENTION },
		{ "mutex", GR_BUCKETS_MUTEX, GR_FORMAT_CONTENTION },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	PyErr_Format(gr_py_argument_error, "no profile %s", name);
	return NULL;
}

PyObject *gr_py_scan_bucket_profile(PyObject *obj, PyObject *args,
				    PyObject *kwargs)
{
	struct gr_py_scan *self = (struct gr_py_scan *)obj;
	_cleanup_(gr_cleanup_bucket_profile) struct gr_bucket_profile *profile =
		NULL;
	const char *name, *path, *partial = NULL;
	_cleanup_(gr_py_stamp_deinit) struct gr_py_stamp stamp = { 0 };
	const struct named *named;
	PyObject *labels = NULL;
	long long time_ns = 0;
	int is_now = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ss|zOLp:bucket_profile",
					 gr_py_scan_bucket_profile_names, &name,
					 &path, &partial, &labels, &time_ns,
					 &is_now))
		return NULL;
	named = parse_name(name);
	if (!named || !gr_py_stamp_parse(labels, time_ns, &stamp) ||
	    !gr_py_scan_enter(self))
		return NULL;
	struct gr_error *err = gr_scan_bucket_profile(
		self->scan, named->kind,
		is_now ? GR_MOMENT_NOW : GR_MOMENT_COLLECTION, &profile);
	if (!err) {
		struct gr_profile_target target =
			target_of(self, partial, &stamp);

		err = gr_bucket_profile_write(profile, named->format, &target,
					      path);
	}
	gr_py_scan_leave(self);
	return err ? gr_py_raise(err) :
		     gr_py_row_new(&gr_py_bucket_profile_row, profile);
}
