// SPDX-License-Identifier: Apache-2.0
/* version: the Go release that the target says it is built with. */
#include "scan/scan.h"

/* Releases that goref was tested with; others get a warning. */
static const char *const tested_releases[] = { "1.19", "1.21", "1.22", "1.23",
					       "1.24", "1.25", "1.26", "1.27" };

/* Read a Go string of the target at @p addr and intern it. */
static struct gr_error *read_string(struct gr_runtime *rt, uint64_t addr,
				    const char **ret)
{
	struct gr_error *err;
	uint64_t header[2];
	char text[128];

	err = gr_image_read(rt->image, addr, header, sizeof(header));
	if (err)
		return err;
	if (header[1] > sizeof(text))
		header[1] = sizeof(text);
	err = gr_image_read(rt->image, header[0], text, header[1]);
	if (err)
		return err;
	*ret = gr_arena_intern(rt->arena, text, header[1]);
	return *ret ? NULL : &gr_enomem;
}

/* Warn if the release is not one of those that the tests run on. */
static struct gr_error *check_release(struct gr_stop *stop)
{
	const char *version = stop->info.go_version;

	for (size_t i = 0; i < GR_ARRAY_SIZE(tested_releases); i++) {
		size_t len = strlen(tested_releases[i]);
		if (!strncmp(version, "go", 2) &&
		    !strncmp(version + 2, tested_releases[i], len) &&
		    (version[2 + len] < '0' || version[2 + len] > '9'))
			return NULL;
	}
	return gr_program_warn(
		stop->program,
		gr_arena_internf(&stop->program->arena,
				 "this version of goref was not tested with "
				 "%s, only with go1.19 and go1.21 to "
				 "go1.27; it tries anyway",
				 version));
}

struct gr_error *gr_stop_read_version(struct gr_stop *stop)
{
	struct gr_error *err;
	uint64_t version = stop->program->rt.layout.vars.build_version;

	stop->info.go_version = "unknown";
	if (!version)
		return NULL;
	err = read_string(&stop->program->rt, version, &stop->info.go_version);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		return gr_error_format(GR_ERROR_FAULT,
				       "cannot read runtime.buildVersion: the "
				       "program may not have started, or the "
				       "core may be incomplete");
	if (!err && !*stop->info.go_version)
		return gr_error_format(GR_ERROR_FORMAT,
				       "runtime.buildVersion is empty: the "
				       "target's data reads as zeros, so "
				       "nothing can be found");
	return err ? err : check_release(stop);
}
