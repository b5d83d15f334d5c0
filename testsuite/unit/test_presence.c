// SPDX-License-Identifier: Apache-2.0
/* presence: a process is read without making a page of it resident. */
#include "inferior/presence.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "suite.h"

#include "base/cleanup.h"
#include "forked.h"
#include "inferior/elf.h"

enum { PAGE = GR_PAGE_BYTES, PAGES = 16, FILE_BYTES = 10 * PAGE + 100 };

/** A mapping, and how its bytes are had. */
struct area_case {
	const char *name;
	bool is_file, is_shared;
	bool is_removed; /**< The file has no name any more. */
};

static const struct area_case area_cases[] = {
	{ "anonymous memory", false, false, false },
	{ "a file, private", true, false, false },
	{ "a file, shared", true, true, false },
	{ "a removed file", true, true, true },
	{ "shared memory", false, true, false },
};

/** A child that has the area mapped and has touched pages 3 and 7 of it. */
struct child {
	const struct area_case *c;
	char name[32]; /**< The file's name, while it has one. */
	uint8_t *area;
	uint8_t truth[PAGES * PAGE];
	uint64_t readable_bytes; /**< Behind them, the file has no page. */
	pid_t pid;
	struct gr_mappings maps;
	struct gr_target target;
	struct gr_source source;
};

static uint8_t byte_of(uint64_t off)
{
	return (uint8_t)(off / PAGE * 31 + off % 251 + 1);
}

static void map_area(struct child *child)
{
	int flags = child->c->is_shared ? MAP_SHARED : MAP_PRIVATE;
	int fd = -1;

	child->readable_bytes = PAGES * PAGE;
	if (child->c->is_file) {
		snprintf(child->name, sizeof(child->name), "presence-XXXXXX");
		fd = mkstemp(child->name);
		for (uint64_t i = 0; i < FILE_BYTES; i++)
			child->truth[i] = byte_of(i);
		assert_int_equal(write(fd, child->truth, FILE_BYTES),
				 FILE_BYTES);
		child->readable_bytes = 11 * PAGE;
	} else {
		flags |= MAP_ANONYMOUS;
	}
	child->area =
		mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);
	assert_true(child->area != MAP_FAILED);
	if (fd >= 0)
		close(fd);
	// Shared memory has bytes although the child has touched nothing.
	if (!child->c->is_file && child->c->is_shared)
		for (uint64_t i = 0; i < 5 * PAGE; i++)
			child->area[i] = child->truth[i] = byte_of(i);
	if (child->c->is_removed) {
		unlink(child->name);
		child->name[0] = '\0';
	}
}

static void touch(void *ctx)
{
	const struct child *child = ctx;

	child->area[3 * PAGE + 5] = 77;
	child->area[7 * PAGE] = 78;
}

static void start(struct child *child)
{
	child->pid = forked_start(touch, child);
	child->truth[3 * PAGE + 5] = 77;
	child->truth[7 * PAGE] = 78;
	child->target = (struct gr_target){ .kind = GR_TARGET_NATIVE,
					    .pid = child->pid };
	assert_null(gr_mappings_add_process(&child->maps, child->pid));
	assert_null(gr_source_init_native(&child->source, &child->target,
					  &child->maps));
}

static void child_destroy(struct child *child)
{
	char name[32], path[256] = "";

	if (child->c->is_file && !child->c->is_removed) {
		const struct gr_mapping *m =
			gr_mappings_find(&child->maps, (uintptr_t)child->area);
		snprintf(path, sizeof(path), "%s", m && m->path ? m->path : "");
		snprintf(name, sizeof(name), "presence-");
		if (strstr(path, name))
			unlink(path);
	}
	gr_source_deinit(&child->source);
	gr_mappings_deinit(&child->maps);
	forked_end(child->pid);
	munmap(child->area, PAGES * PAGE);
	free(child);
}

GR_DEFINE_CLEANUP(child, struct child, child_destroy)

static struct child *child_create(const struct area_case *c)
{
	struct child *child = calloc(1, sizeof(*child));

	child->c = c;
	map_area(child);
	start(child);
	return child;
}

/* The pages of the area that the child has in memory, a bit each. */
static uint32_t present(const struct child *child)
{
	uint64_t entries[PAGES];
	uint32_t ret = 0;

	assert_int_equal(pread(child->source.pagemap_fd, entries,
			       sizeof(entries),
			       (uintptr_t)child->area / PAGE * 8),
			 sizeof(entries));
	for (int i = 0; i < PAGES; i++)
		ret |= (uint32_t)(entries[i] >> 63) << i;
	return ret;
}

/* Large reads go around the cache. */
static uint64_t read_all(struct child *child, uint8_t *buf, uint64_t step)
{
	uint64_t done = 0, got = step;

	while (done < PAGES * PAGE && got == step) {
		assert_null(gr_source_read(&child->source,
					   (uintptr_t)child->area + done,
					   buf + done, step, &got));
		done += got;
	}
	return done;
}

TEST_ROWS(reading, area_cases, c)
{
	_cleanup_(gr_cleanup_child) struct child *child = child_create(c);
	static const uint64_t steps[] = { 64, 4096, PAGES * PAGE };
	uint32_t before = present(child);

	assert_true(before & 1 << 3 && before & 1 << 7);
	for (size_t i = 0; i < GR_ARRAY_SIZE(steps); i++)
		for (int only_file = 0; only_file < 2; only_file++) {
			uint8_t buf[PAGES * PAGE];

			child->source.is_only_file = only_file;
			assert_int_equal(read_all(child, buf, steps[i]),
					 child->readable_bytes);
			assert_memory_equal(buf, child->truth,
					    child->readable_bytes);
			assert_int_equal(present(child), before);
		}
}

/* Many pieces in one read: none is mixed up, and nothing is touched. */
TEST(pieces)
{
	_cleanup_(gr_cleanup_child) struct child *child =
		child_create(&area_cases[0]);
	uint32_t before = present(child);
	struct gr_piece pieces[PAGES / 2];
	uint8_t buf[PAGES * PAGE];
	uint64_t got = 0, bytes = 0;

	memset(buf, 0xff, sizeof(buf));
	for (uint64_t i = 0; i < GR_ARRAY_SIZE(pieces); i++) {
		uint64_t off = i * 2 * PAGE + 5;

		pieces[i] = (struct gr_piece){ (uintptr_t)child->area + off,
					       buf + off, PAGE + 100 };
		bytes += PAGE + 100;
	}
	assert_null(child->source.ops->read(&child->source, pieces,
					    GR_ARRAY_SIZE(pieces), &got));
	assert_int_equal(got, bytes);
	for (uint64_t i = 0; i < GR_ARRAY_SIZE(pieces); i++)
		assert_memory_equal(pieces[i].buf,
				    child->truth + i * 2 * PAGE + 5,
				    PAGE + 100);
	assert_int_equal(present(child), before);
}

/* Without pagemap the process is read as it is. */
TEST(without_pagemap)
{
	_cleanup_(gr_cleanup_child) struct child *child =
		child_create(&area_cases[1]);
	int fd = child->source.pagemap_fd;
	uint8_t buf[PAGES * PAGE];

	child->source.pagemap_fd = -1;
	assert_int_equal(read_all(child, buf, 4096), child->readable_bytes);
	assert_memory_equal(buf, child->truth, child->readable_bytes);
	child->source.pagemap_fd = fd;
}

/* Memory that the list of mappings lacks is the process's to tell. */
TEST(unknown_mapping)
{
	_cleanup_(gr_cleanup_child) struct child *child =
		child_create(&area_cases[4]);
	uint8_t buf[PAGES * PAGE];

	gr_mappings_deinit(&child->maps);
	assert_int_equal(read_all(child, buf, 4096), PAGES * PAGE);
	assert_memory_equal(buf, child->truth, sizeof(buf));
}

/* The pages of the vdso: those in memory or none, and none becomes resident. */
TEST(special)
{
	_cleanup_(gr_cleanup_child) struct child *child =
		child_create(&area_cases[0]);
	const struct gr_mapping *vvar = NULL;
	uint8_t byte;
	uint64_t got = 1;

	for (size_t i = 0; i < child->maps.list.size; i++)
		if (child->maps.list.data[i].path &&
		    !strcmp(child->maps.list.data[i].path, "[vvar]"))
			vvar = &child->maps.list.data[i];
	if (!vvar)
		skip();
	assert_null(
		gr_source_read(&child->source, vvar->start, &byte, 1, &got));
	assert_int_equal(got, 0);
}

GR_SUITE("presence")
