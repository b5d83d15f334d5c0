// SPDX-License-Identifier: Apache-2.0
/*
 * The paths of mappings without values: those of files with code, which are the
 * executable, libraries and plugins, and the kernel's and the runtime's own
 * names. Other paths are values of the program. What stands for one tells the
 * kind of memory and no more (resident/classes.c).
 */
#include "save/save_internal.h"

#include "base/sort.h"
#include "base/text.h"
#include "base/vector.h"

GR_VECTOR(path_vector, const char *);

/** The files with code. */
struct paths {
	struct gr_stop *stop;
	struct path_vector list; /* sorted; of the image and the residency */
};

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_code(const struct paths *p, const char *path)
{
	return p->list.size && bsearch(&path, p->list.data, p->list.size,
				       sizeof(*p->list.data), compare_paths);
}

static bool add_path(struct paths *p, const char *path)
{
	size_t n = p->list.size;

	// Mappings of one file lie together.
	return (n && !strcmp(p->list.data[n - 1], path)) ||
	       path_vector_append(&p->list, path);
}

/* Add the files of a list that are mapped with code. A core's list of files has
 * no permissions; its segments have, in the same order. */
static struct gr_error *add_files(struct paths *p,
				  const struct gr_mapping_vector *files,
				  const struct gr_mapping_vector *segments)
{
	struct gr_error *err = NULL;
	size_t at = 0;

	for (size_t i = 0; !err && i < files->size; i++) {
		const struct gr_mapping *m = &files->data[i];
		uint32_t flags = m->flags;

		while (at < segments->size &&
		       segments->data[at].end <= m->start)
			at++;
		if (at < segments->size && segments->data[at].start <= m->start)
			flags |= segments->data[at].flags;
		if (m->path && *m->path == '/' && flags & PF_X &&
		    !add_path(p, m->path))
			err = &gr_enomem;
		if (!err)
			err = gr_runtime_step(&p->stop->program->rt, 1);
	}
	return err;
}

static struct gr_error *find_code(struct paths *p)
{
	const struct gr_mappings *segments = gr_image_segments(p->stop->image);
	struct gr_runtime *rt = &p->stop->program->rt;
	struct gr_error *err =
		add_files(p, &gr_image_file_mappings(p->stop->image)->list,
			  &segments->list);

	if (!err)
		err = add_files(p, &segments->list, &segments->list);
	if (!err)
		err = add_files(p, &p->stop->pages.residency.mappings.list,
				&segments->list);
	for (size_t i = 0; !err && i < p->stop->target.nmodules; i++)
		if (!add_path(p, p->stop->target.modules[i].path))
			err = &gr_enomem;
	return err || !p->list.size ?
		       err :
		       gr_sort(p->list.data, p->list.size,
			       sizeof(*p->list.data), compare_paths, rt->poll,
			       rt->poll_ctx);
}

/* Does the kernel or the runtime name memory so? Source: fs/proc/task_mmu.c,
 * runtime/set_vma_name_linux.go. */
static bool is_own_name(const char *path)
{
	static const char *const names[] = {
		"[heap]",
		"[stack]",
		"[vdso]",
		"[vvar]",
		"[vvar_vclock]",
		"[vsyscall]",
		"[uprobes]",
		"/dev/zero",
		"[anon: Go: heap]",
		"[anon: Go: heap reservation]",
		"[anon: Go: heap index]",
		"[anon: Go: immortal metadata]",
		"[anon: Go: page alloc]",
		"[anon: Go: page alloc index]",
		"[anon: Go: page summary]",
		"[anon: Go: scavenge index]",
		"[anon: Go: allspans array]",
		"[anon: Go: gc bits]",
		"[anon: Go: profiler hash buckets]",
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++)
		if (!strcmp(path, names[i]))
			return true;
	return false;
}

static const char *stand_in(const char *path)
{
	static const char *const kinds[][2] = {
		{ "/dev/shm/", "/dev/shm/" GR_UNSAVED_PATH },
		{ "/dev/zero", "/dev/zero" },
		{ "/memfd:", "/memfd:" GR_UNSAVED_PATH },
		{ "/SYSV", "/SYSV" GR_UNSAVED_PATH },
		{ "/", "/" GR_UNSAVED_PATH },
		{ "[stack:", "[stack]" },
		{ "[anon: Go", "[anon: Go: " GR_UNSAVED_PATH "]" },
	};

	for (size_t i = 0; i < GR_ARRAY_SIZE(kinds); i++)
		if (gr_has_prefix(path, kinds[i][0]))
			return kinds[i][1];
	return strstr(path, "malloc") ? "[anon: malloc " GR_UNSAVED_PATH "]" :
					"[anon: " GR_UNSAVED_PATH "]";
}

static struct gr_error *copy(const struct paths *p,
			     const struct gr_mappings *from,
			     struct gr_mappings *ret)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < from->list.size; i++) {
		struct gr_mapping m = from->list.data[i];

		if (m.path && !is_own_name(m.path) && !has_code(p, m.path))
			m.path = stand_in(m.path);
		if (!gr_mapping_vector_append(&ret->list, m))
			err = &gr_enomem;
		if (!err)
			err = gr_runtime_step(&p->stop->program->rt, 1);
	}
	return err;
}

struct gr_error *gr_save_copy_mappings(struct gr_stop *stop,
				       struct gr_saved *saved)
{
	struct paths paths = { .stop = stop };
	struct gr_error *err = find_code(&paths);

	if (!err)
		err = copy(&paths, gr_image_segments(stop->image),
			   &saved->segments);
	if (!err)
		err = copy(&paths, gr_image_file_mappings(stop->image),
			   &saved->files);
	if (!err && stop->pages.has_residency)
		err = copy(&paths, &stop->pages.residency.mappings,
			   &saved->residency.mappings);
	path_vector_deinit(&paths.list);
	return err;
}
