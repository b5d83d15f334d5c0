// SPDX-License-Identifier: Apache-2.0
#include "inferior/core.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "inferior/source.h"

/* Headers or notes between two polls; each takes less than a microsecond. */
enum { POLL_HEADERS = 1 << 12 };

void gr_core_deinit(struct gr_core *core)
{
	gr_range_vector_deinit(&core->memory);
	gr_mappings_deinit(&core->segments);
	gr_mappings_deinit(&core->files);
	gr_thread_vector_deinit(&core->threads);
	gr_elf_deinit(&core->elf);
	memset(core, 0, sizeof(*core));
}

/* A mapping cannot have more bytes than this in the file. */
static const uint64_t max_segment_bytes = UINT64_C(1) << 47;

// Add, saturating: headers of a damaged core may promise anything.
static void add_bytes(uint64_t *sum, uint64_t bytes)
{
	if (__builtin_add_overflow(*sum, bytes, sum))
		*sum = UINT64_MAX;
}

static struct gr_error *add_segment(struct gr_core *core,
				    const Elf64_Phdr *header)
{
	uint64_t start = header->p_vaddr, end;

	if (__builtin_add_overflow(start, header->p_memsz, &end) ||
	    header->p_filesz > header->p_memsz ||
	    header->p_filesz > max_segment_bytes ||
	    header->p_filesz > UINT64_MAX - header->p_offset) {
		core->bad_headers++;
		return NULL;
	}
	struct gr_bytes bytes = gr_elf_segment_bytes(&core->elf, header);
	add_bytes(&core->promised_bytes, header->p_filesz);
	add_bytes(&core->missing_bytes, header->p_filesz - bytes.size);
	if (bytes.size &&
	    !gr_range_vector_append(
		    &core->memory,
		    (struct gr_range){ start, start + bytes.size, bytes.data }))
		return &gr_enomem;
	return gr_mappings_add(&core->segments,
			       (struct gr_mapping){ .start = start,
						    .end = end,
						    .flags = header->p_flags });
}

// Delve also writes the entry point to a note of its own.
static struct gr_error *add_auxv(struct gr_core *core, struct gr_bytes desc)
{
	uint64_t entry = core->auxv.entry;

	core->auxv = gr_auxv_parse(desc);
	if (!core->auxv.entry)
		core->auxv.entry = entry;
	return NULL;
}

/* Each thread may have a note about its own signal. */
static void add_siginfo(struct gr_core *core, const struct gr_note *note)
{
	if (!core->siginfo.number && core->threads.size <= 1)
		core->siginfo = gr_note_siginfo(note);
}

static struct gr_error *add_note(struct gr_core *core,
				 const struct gr_target *target,
				 const struct gr_note *note)
{
	struct gr_target_thread thread;
	bool is_thread = false;

	// Delve writes the kernel's notes without an owner.
	if (note->owner.size && !gr_note_is_owned_by(note, "CORE") &&
	    note->type != GR_NOTE_DELVE_HEADER)
		return NULL;
	switch (note->type) {
	case NT_PRSTATUS:
		if (!core->signal)
			core->signal = gr_note_signal(note);
		is_thread = gr_note_thread(note, core->elf.arch, &thread);
		break;
	case GR_NOTE_DELVE_THREAD:
		is_thread = gr_note_delve_thread(note, core->elf.arch, &thread);
		break;
	case GR_NOTE_DELVE_HEADER:
		if (!core->auxv.entry)
			gr_note_delve_entry(note, &core->auxv.entry);
		break;
	case NT_PRPSINFO:
		if (!core->pid)
			core->pid = gr_note_pid(note);
		break;
	case NT_SIGINFO:
		add_siginfo(core, note);
		break;
	case NT_AUXV:
		return add_auxv(core, note->desc);
	case NT_FILE:
		return gr_mappings_add_note(&core->files, note->desc, target);
	}
	if (is_thread && !gr_thread_vector_append(&core->threads, thread))
		return &gr_enomem;
	return NULL;
}

static struct gr_error *add_notes(struct gr_core *core,
				  const struct gr_target *target,
				  const Elf64_Phdr *header)
{
	struct gr_bytes notes = gr_elf_segment_bytes(&core->elf, header);
	struct gr_error *err = NULL;
	struct gr_note note;
	uint64_t count = 0;

	// No byte belongs to two notes; headers that imply this are invalid.
	add_bytes(&core->notes_bytes, notes.size);
	if (core->notes_bytes / 2 > core->elf.file.size) {
		core->bad_headers++;
		return NULL;
	}

	if (header->p_filesz > max_segment_bytes) {
		core->bad_headers++;
	} else {
		add_bytes(&core->promised_bytes, header->p_filesz);
		add_bytes(&core->missing_bytes, header->p_filesz - notes.size);
	}
	for (uint64_t off = 0; !err && gr_note_next(notes, &off, &note);) {
		err = add_note(core, target, &note);
		if (!err && ++count % POLL_HEADERS == 0)
			err = gr_source_poll(target);
	}
	return err;
}

static struct gr_error *look_for_anonymous(struct gr_core *core,
					   const struct gr_target *target)
{
	struct gr_error *err = NULL;

	if (!core->files.list.size || core->bad_headers)
		return NULL;
	for (size_t i = 0; !err && i < core->elf.phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(&core->elf, i);
		if (i % POLL_HEADERS == 0)
			err = gr_source_poll(target);
		if (header.p_type == PT_LOAD && header.p_flags & PF_W &&
		    header.p_filesz &&
		    !gr_mappings_find(&core->files, header.p_vaddr))
			return err;
	}
	core->lacks_anonymous = !err;
	return err;
}

static int compare_hosts(const void *a, const void *b)
{
	const struct gr_range *x = a, *y = b;

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static struct gr_error *read_headers(struct gr_core *core,
				     const struct gr_target *target)
{
	struct gr_error *err = NULL;

	core->bad_headers = core->elf.lost_headers;
	for (size_t i = 0; !err && i < core->elf.phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(&core->elf, i);
		if (header.p_type == PT_LOAD)
			err = add_segment(core, &header);
		else if (header.p_type == PT_NOTE)
			err = add_notes(core, target, &header);
		if (!err && i % POLL_HEADERS == 0)
			err = gr_source_poll(target);
	}
	return err;
}

static struct gr_error *core_load(const char *path,
				  const struct gr_target *target,
				  struct gr_core *core)
{
	struct gr_error *err = gr_elf_open(path, &core->elf);
	if (err)
		return err;
	if (core->elf.header.e_type != ET_CORE)
		return gr_error_format(GR_ERROR_FORMAT,
				       "%s is not a core file but %s", path,
				       gr_elf_type_name(&core->elf));
	if (!core->elf.phnum)
		return gr_error_format(
			GR_ERROR_FORMAT,
			"core %s has no program headers: it is cut off or "
			"damaged",
			path);
	err = read_headers(core, target);
	if (!err)
		err = gr_mappings_sort(&core->segments, target->ops.poll,
				       target->ctx);
	if (!err)
		err = gr_mappings_sort(&core->files, target->ops.poll,
				       target->ctx);
	if (!err)
		err = look_for_anonymous(core, target);
	return err ? err :
		     gr_sort(core->memory.data, core->memory.size,
			     sizeof(*core->memory.data), compare_hosts,
			     target->ops.poll, target->ctx);
}

struct gr_error *gr_core_open(const char *path, const struct gr_target *target,
			      struct gr_core *ret)
{
	struct gr_core core = { .missing_bytes = 0 };

	struct gr_error *err = core_load(path, target, &core);
	if (err) {
		gr_core_deinit(&core);
		return err;
	}
	*ret = core;
	return NULL;
}
