/* SPDX-License-Identifier: Apache-2.0 */
/** profile_fixture: a small result, and a folder of its own for what is made
 * of it. */
#pragma once

#include "base/base.h"

#include <unistd.h>

#include "proto/profile_writer.h"
#include "suite.h"

#define NONE GR_NODE_NONE

static char dir[] = "/tmp/goref-test-profile-XXXXXX";

static inline char *file_path(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static struct gr_ledger ledger = {
	.allocated = { 20, 2000 },
	.reached = { 10, 1000 },
	.typed = { 9, 900 },
	.masked = { 1, 100 },
	.unreached = { 10, 1000 },
};

static inline struct gr_profile make_profile(const struct gr_node *nodes,
					     size_t nnodes,
					     const struct gr_root_total *roots,
					     size_t nroots)
{
	return (struct gr_profile){
		.nodes = nodes,
		.nnodes = nnodes,
		.roots = roots,
		.nroots = nroots,
		.ledger = &ledger,
		.tool_version = "1.2.3",
		.go_version = "go1.24.4",
		.exe_path = "/srv/app",
		.build_id = "c0ffee",
		.max_samples = GR_PROFILE_MAX_SAMPLES,
	};
}

// Two goroutines run main.work: same name, one waiting and one running twice.

static const struct gr_node small_nodes[] = {
	{ "main.cache", NONE, 0, 1, 100 },
	{ "main.work.buf", NONE, 1, 0, 0 },
	{ "main.work.buf", NONE, 2, 1, 10 },
	{ "next. (*main.Node)", 0, 0, 2, 200 },
	{ "main.work.buf", NONE, 3, 1, 10 },
	{ "[0]. (*main.Node)", 1, 1, 1, 64 },
	{ "[0]. (*main.Node)", 2, 2, 3, 96 },
	{ "[0]. (*main.Node)", 4, 3, 1, 32 },
};

#define WORK(state_, goid, node_, objects, bytes)                             \
	{                                                                     \
		.name = "main.work.buf", .kind = GR_ROOT_LOCAL,               \
		.goroutine_state = state_, .goroutine_id = goid,              \
		.file = "/src/work.go", .line = 12, .node = node_, .total = { \
			objects,                                              \
			bytes                                                 \
		}                                                             \
	}

static const struct gr_root_total small_roots[] = {
	{ .name = "main.cache",
	  .kind = GR_ROOT_GLOBAL,
	  .file = "/src/main.go",
	  .line = 7,
	  .node = 0,
	  .total = { 3, 300 } },
	WORK("running", 0, 2, 4, 106),
	WORK("waiting", 0, 1, 1, 64),
	WORK("running", 0, 4, 2, 42),
};

static inline struct gr_profile small_profile(void)
{
	return make_profile(small_nodes, GR_ARRAY_SIZE(small_nodes),
			    small_roots, GR_ARRAY_SIZE(small_roots));
}

static inline size_t read_bytes(const char *path, char *data, size_t size)
{
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	size_t n = fread(data, 1, size, f);
	fclose(f);
	return n;
}

static inline int make_dir(void **state)
{
	(void)state;
	return !mkdtemp(dir);
}

static inline int remove_dir(void **state)
{
	static const char *const names[] = { "p.pb.gz", "a",   "b",   "old",
					     "link",	"aim", "text" };

	(void)state;
	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++)
		unlink(file_path(names[i]));
	// Fails if a temporary file was left behind.
	return rmdir(dir);
}
