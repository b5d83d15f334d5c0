// SPDX-License-Identifier: Apache-2.0
#include "facts/core_facts.h"

#include <elf.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number_set.h"
#include "facts/core_memory.h"
#include "facts/elf_facts.h"
#include "inferior/sigbus.h"

void gr_core_facts_deinit(struct gr_core_facts *facts)
{
	gr_arena_deinit(&facts->arena);
	memset(facts, 0, sizeof(*facts));
}

/* ------------------------------------------------------------ the executable */

/* The address at which the file of the mapping @p part begins; 0: unknown. */
static uint64_t head_of(const struct gr_mappings *files,
			const struct gr_mapping *part)
{
	uint64_t head = 0;

	for (size_t i = 0; i < files->list.size; i++) {
		const struct gr_mapping *m = &files->list.data[i];

		// Equal paths are one string: the list has interned them.
		if (m->path == part->path && !m->file_off &&
		    m->start <= part->start && m->start > head)
			head = m->start;
	}
	return head;
}

static struct gr_error *set_path(struct gr_core_facts *facts, const char *path)
{
	size_t bytes = strnlen(path, GR_FACTS_MAX_PATH);

	facts->exe_path = gr_arena_intern(&facts->arena, path, bytes);
	return facts->exe_path ? NULL : &gr_enomem;
}

/* Take the name that was given to execve(), for a core without a list of
 * files. */
static struct gr_error *name_by_auxv(struct gr_core_facts *facts,
				     struct gr_core_memory *memory,
				     uint64_t *head)
{
	static const char deleted[] = " (deleted)";
	const struct gr_auxv *auxv = &memory->core.auxv;
	char name[GR_FACTS_MAX_PATH + 1];

	name[gr_core_memory_read(memory, auxv->execfn, name, GR_FACTS_MAX_PATH)] =
		'\0';
	if (*name != '/')
		return NULL;
	char *end = name + strlen(name) - strlen(deleted);
	if (end > name && !strcmp(end, deleted))
		*end = '\0';
	*head = auxv->phdr & ~(GR_PAGE_BYTES - 1);
	return set_path(facts, name);
}

static struct gr_error *find_executable(struct gr_core_facts *facts,
					struct gr_core_memory *memory)
{
	const struct gr_core *core = &memory->core;
	const struct gr_memory source = gr_core_memory_of(memory);
	uint64_t place = core->auxv.phdr ? core->auxv.phdr : core->auxv.entry;
	const struct gr_mapping *part = gr_mappings_find(&core->files, place);
	struct gr_error *err;
	uint64_t head = 0;

	if (part && part->path && *part->path == '/') {
		head = head_of(&core->files, part);
		err = set_path(facts, part->path);
	} else {
		err = name_by_auxv(facts, memory, &head);
	}
	if (err || !facts->exe_path)
		return err;
	_cleanup_free_ struct gr_mapped_elf *mapped = malloc(sizeof(*mapped));
	if (!mapped)
		return &gr_enomem;
	if (gr_mapped_elf_read(&source, head, mapped))
		facts->id = gr_mapped_elf_id(&source, mapped);
	return NULL;
}

/* ------------------------------------------------------------------ the rest */

/* Does the mapping of a file hold code? The segments have permissions; the list
 * of files has none. */
static bool has_code(const struct gr_core *core, const struct gr_mapping *file)
{
	const struct gr_mapping *segment =
		gr_mappings_find(&core->segments, file->start);

	return segment && segment->flags & PF_X;
}

static struct gr_error *find_code_files(struct gr_core_facts *facts,
					const struct gr_core *core)
{
	_cleanup_(gr_number_set_deinit) struct gr_number_set seen = { 0 };
	const struct gr_mapping_vector *list = &core->files.list;
	bool is_new;

	facts->code_files = gr_arena_alloc(
		&facts->arena, (list->size + 1) * sizeof(*facts->code_files));
	if (!facts->code_files)
		return &gr_enomem;
	for (size_t i = 0; i < list->size; i++) {
		const char *path = list->data[i].path;

		if (!path || *path != '/' || !has_code(core, &list->data[i]) ||
		    (facts->exe_path && !strcmp(path, facts->exe_path)))
			continue;
		if (!gr_number_set_add(&seen, (uintptr_t)path, &is_new))
			return &gr_enomem;
		const char *own = is_new ? gr_arena_intern(&facts->arena, path,
							   strlen(path)) :
					   NULL;
		if (is_new && !own)
			return &gr_enomem;
		if (is_new)
			facts->code_files[facts->ncode_files++] = own;
	}
	return NULL;
}

static struct gr_error *copy_threads(struct gr_core_facts *facts,
				     const struct gr_core *core)
{
	size_t n = core->threads.size;

	facts->thread_ids = gr_arena_alloc(
		&facts->arena, (n + 1) * sizeof(*facts->thread_ids));
	if (!facts->thread_ids)
		return &gr_enomem;
	for (size_t i = 0; i < n; i++)
		facts->thread_ids[i] = core->threads.data[i].lwp;
	facts->nthreads = n;
	return NULL;
}

static struct gr_error *read_facts(struct gr_core_memory *memory,
				   struct gr_core_facts *facts)
{
	const struct gr_core *core = &memory->core;

	facts->pid = core->pid;
	facts->signal = core->signal;
	// A siginfo of another signal does not tell the origin of this one: a
	// debugger that writes a core has stopped the process by a signal.
	if (core->siginfo.number == facts->signal)
		facts->siginfo = core->siginfo;
	facts->random_bytes = gr_core_memory_read(memory, core->auxv.random,
						  facts->random,
						  sizeof(facts->random));
	struct gr_error *err = find_executable(facts, memory);
	if (!err)
		err = find_code_files(facts, core);
	return err ? err : copy_threads(facts, core);
}

struct gr_error *gr_core_facts_read(const char *path, struct gr_core_facts *ret)
{
	_cleanup_(gr_core_memory_close) struct gr_core_memory memory = {
		.core = { .missing_bytes = 0 }
	};
	struct gr_core_facts facts = { .pid = 0 };
	struct gr_sigbus_guard guard;

	gr_sigbus_guard_begin(&guard);
	struct gr_error *err = gr_core_memory_open(path, &memory);
	if (!err)
		err = read_facts(&memory, &facts);
	err = gr_sigbus_guard_end(&guard, err);
	if (err)
		gr_core_facts_deinit(&facts);
	else
		*ret = facts;
	return err;
}
