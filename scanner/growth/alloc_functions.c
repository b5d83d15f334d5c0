// SPDX-License-Identifier: Apache-2.0
#include "growth/alloc_functions.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "growth/alloc_names.h"
#include "growth/probe_point.h"
#include "growth/usdt_notes.h"
#include "inferior/elf.h"
#include "inferior/mappings.h"
#include "scan/enter.h"
#include "scan/stop.h"

enum {
	MAX_FUNCTIONS = 256, /* of a process, and of an object */
	MAX_SAMPLERS = 64,
	MAX_PARTS = 64,		  /* of an object: executable mappings */
	MAX_CODE_BYTES = 1 << 14, /* of a function */
	UNKNOWN_CODE_BYTES = 256, /* if the symbol does not tell a size */
};

GR_VECTOR(part_vector, const struct gr_mapping *);

/** A function of an object, by the names that one family has for it. */
struct candidate {
	const struct gr_alloc_name *name;
	enum gr_alloc_family family;
	uint64_t addr, bytes; /* in the file */
};

/** A file that is mapped, and what its symbols define. */
struct object {
	const struct gr_mapping *const *parts; /* executable, by address */
	size_t nparts;
	struct gr_elf elf;
	struct candidate candidates[MAX_FUNCTIONS];
	size_t ncandidates;
	bool allocates[GR_ALLOC_NFAMILIES], frees[GR_ALLOC_NFAMILIES];
	bool is_libc, is_glibc;
};

struct finder {
	const struct gr_alloc_question *question;
	struct gr_runtime *rt;
	int32_t pid;
	struct gr_mappings mappings;
	struct part_vector parts; /* those of an object lie together */
	struct object object;
	struct gr_alloc_functions *answer;
};

void gr_alloc_functions_deinit(struct gr_alloc_functions *functions)
{
	free(functions->functions);
	free(functions->samplers);
	gr_arena_deinit(&functions->arena);
	*functions = (struct gr_alloc_functions){ 0 };
}

static void finder_deinit(struct finder *f)
{
	gr_elf_deinit(&f->object.elf);
	part_vector_deinit(&f->parts);
	gr_mappings_deinit(&f->mappings);
}

// ------------------------------------------------------------------- objects

static int by_file(const void *a, const void *b)
{
	const struct gr_mapping *x = *(const struct gr_mapping *const *)a;
	const struct gr_mapping *y = *(const struct gr_mapping *const *)b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* List the executable mappings of files, those of one file together. */
static struct gr_error *list_parts(struct finder *f)
{
	const struct gr_mapping_vector *list = &f->mappings.list;
	struct gr_error *err = gr_mappings_add_process(&f->mappings, f->pid);

	for (size_t i = 0; !err && i < list->size; i++) {
		const struct gr_mapping *m = &list->data[i];

		if ((m->flags & PF_X) && m->inode && m->path && *m->path == '/')
			err = gr_runtime_append(f->rt, part_vector, &f->parts,
						m);
		if (!err)
			err = gr_runtime_step(f->rt, 1);
	}
	return err ? err :
		     gr_sort(f->parts.data, f->parts.size,
			     sizeof(*f->parts.data), by_file, f->rt->poll,
			     f->rt->poll_ctx);
}

/* The number of mappings from the first one on that are of its file. */
static size_t count_parts(const struct part_vector *parts, size_t first)
{
	const struct gr_mapping *m = parts->data[first];
	size_t i = first;

	while (i < parts->size && parts->data[i]->device == m->device &&
	       parts->data[i]->inode == m->inode)
		i++;
	return i - first;
}

static bool is_wanted(const struct finder *f, const char *path)
{
	const char *wanted = f->question->object;
	const char *slash = strrchr(path, '/');

	return !*wanted || !strcmp(path, wanted) || !strcmp(slash + 1, wanted);
}

// ------------------------------------------------------------------- symbols

/* Note what tells whose object it is. Only the C library starts a program. Only
 * glibc tells its version, and without versions of symbols, where it is linked
 * statically, has its own function behind malloc. Its library for debugging
 * (libc_malloc_debug) still has malloc_get_state(). */
static void note_library(struct object *object, const char *symbol,
			 bool is_dynamic)
{
	static const char *const marks[] = { "gnu_get_libc_version",
					     "malloc_get_state" };

	if (gr_alloc_symbol_is(symbol, "__libc_start_main"))
		object->is_libc = true;
	for (size_t i = 0; is_dynamic && i < GR_ARRAY_SIZE(marks); i++)
		if (gr_alloc_symbol_is(symbol, marks[i]))
			object->is_glibc = true;
	if (!is_dynamic && !strcmp(symbol, "_int_malloc"))
		object->is_glibc = true;
}

static bool is_before(const struct candidate *a, const struct candidate *b)
{
	bool is_plain = a->family != GR_ALLOC_OF_PREFIX;

	if (is_plain != (b->family != GR_ALLOC_OF_PREFIX))
		return is_plain;
	return a->name < b->name;
}

/* Add a function, or another name of the same family for it. */
static void add_candidate(struct finder *f, const struct candidate *candidate)
{
	struct object *object = &f->object;
	size_t i = 0;

	object->allocates[candidate->family] |= candidate->name->kind ==
						GR_ALLOC_MALLOC;
	object->frees[candidate->family] |= candidate->name->kind ==
					    GR_ALLOC_FREE;
	while (i < object->ncandidates &&
	       (object->candidates[i].addr != candidate->addr ||
		object->candidates[i].family != candidate->family))
		i++;
	if (i == MAX_FUNCTIONS)
		f->answer->left_out++;
	else if (i == object->ncandidates)
		object->candidates[object->ncandidates++] = *candidate;
	else if (is_before(candidate, &object->candidates[i]))
		object->candidates[i] = *candidate;
}

static struct gr_error *read_symbols(struct finder *f, bool is_dynamic)
{
	struct gr_elf_symbols at = { .is_dynamic = is_dynamic };
	struct object *object = &f->object;
	struct gr_elf_symbol symbol;
	struct gr_error *err = NULL;

	while (!err && gr_elf_next_symbol(&object->elf, &at, &symbol)) {
		struct candidate one = { .addr = symbol.addr,
					 .bytes = symbol.bytes };

		if (symbol.type == STT_FUNC) {
			note_library(object, symbol.name, is_dynamic);
			one.name = gr_alloc_name_find(
				symbol.name, f->question->prefix, &one.family);
			if (one.name)
				add_candidate(f, &one);
		}
		err = gr_runtime_step(f->rt, 2);
	}
	return err;
}

/* Is it a function of an allocator, and not only one of the same name? */
static bool is_of_allocator(const struct finder *f,
			    const struct candidate *candidate)
{
	const struct object *object = &f->object;
	enum gr_alloc_family family = candidate->family;

	if (family == GR_ALLOC_OF_MAPPINGS)
		return f->question->with_mappings && object->is_libc;
	if (family == GR_ALLOC_OF_CXX)
		family = GR_ALLOC_OF_C;
	return object->allocates[family] && object->frees[family];
}

/* Has the function a name that is preferred, of another family? */
static bool has_better_name(const struct finder *f,
			    const struct candidate *candidate)
{
	const struct object *object = &f->object;

	for (size_t i = 0; i < object->ncandidates; i++)
		if (object->candidates[i].addr == candidate->addr &&
		    is_before(&object->candidates[i], candidate) &&
		    is_of_allocator(f, &object->candidates[i]))
			return true;
	return false;
}

// -------------------------------------------------------------------- places

/* The code of a function in the file, and where in the file it is. */
static struct gr_bytes code_of(const struct gr_elf *elf,
			       const struct candidate *candidate, uint64_t *off)
{
	static const struct gr_bytes none = { NULL, 0 };
	uint64_t bytes = candidate->bytes ? candidate->bytes :
					    UNKNOWN_CODE_BYTES;

	// Bounded by the program headers of the file.
	for (size_t i = 0; i < elf->phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(elf, i);
		uint64_t into = candidate->addr - header.p_vaddr;

		if (header.p_type != PT_LOAD || !(header.p_flags & PF_X) ||
		    candidate->addr < header.p_vaddr ||
		    into >= header.p_filesz ||
		    header.p_offset > UINT64_MAX - into)
			continue;
		if (bytes > header.p_filesz - into)
			bytes = header.p_filesz - into;
		if (bytes > MAX_CODE_BYTES)
			bytes = MAX_CODE_BYTES;
		*off = header.p_offset + into;
		return gr_bytes_slice(elf->file, *off, bytes);
	}
	return none;
}

/* The address of a place of the file, where it is mapped first; 0: nowhere. */
static uint64_t mapped_at(const struct object *object, uint64_t off)
{
	for (size_t i = 0; i < object->nparts; i++) {
		const struct gr_mapping *m = object->parts[i];

		if (off >= m->file_off && off - m->file_off < m->end - m->start)
			return m->start + (off - m->file_off);
	}
	return 0;
}

/* Which registers a probe needs. */
static struct gr_probe_needs needs_of(enum gr_alloc_kind kind)
{
#define KEPT(...)                                                   \
	{                                                           \
		{ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }) \
	}
	// The return of a function that frees is not probed.
	static const struct {
		uint8_t kept[4];
		size_t nkept;
	} rows[] = {
		[GR_ALLOC_MALLOC] = KEPT(GR_REG_RDI, GR_REG_RSP),
		[GR_ALLOC_CALLOC] = KEPT(GR_REG_RDI, GR_REG_RSI, GR_REG_RSP),
		[GR_ALLOC_REALLOC] = KEPT(GR_REG_RDI, GR_REG_RSI, GR_REG_RSP),
		[GR_ALLOC_REALLOCARRAY] =
			KEPT(GR_REG_RDI, GR_REG_RSI, GR_REG_RDX, GR_REG_RSP),
		[GR_ALLOC_ALIGNED] = KEPT(GR_REG_RSI, GR_REG_RSP),
		[GR_ALLOC_POSIX_MEMALIGN] =
			KEPT(GR_REG_RDI, GR_REG_RDX, GR_REG_RSP),
		[GR_ALLOC_NEW] = KEPT(GR_REG_RDI, GR_REG_RSP),
		[GR_ALLOC_FREE] = KEPT(GR_REG_RDI),
		[GR_ALLOC_MMAP] = KEPT(GR_REG_RSI, GR_REG_RSP),
		[GR_ALLOC_MUNMAP] = KEPT(GR_REG_RDI, GR_REG_RSI),
	};
#undef KEPT

	return (struct gr_probe_needs){ rows[kind].kept, rows[kind].nkept,
					.is_go = false };
}

static const char *name_of(struct finder *f, const struct candidate *candidate)
{
	return candidate->family == GR_ALLOC_OF_PREFIX ?
		       gr_arena_internf(&f->answer->arena, "%s%s",
					f->question->prefix,
					candidate->name->text) :
		       candidate->name->text;
}

/* Find the place in the process, and the instruction. */
static struct gr_error *add_function(struct finder *f,
				     const struct candidate *candidate,
				     const char *path)
{
	const struct object *object = &f->object;
	struct gr_alloc_functions *answer = f->answer;
	struct gr_probe_needs needs = needs_of(candidate->name->kind);
	enum gr_probe_place place;
	uint64_t off, at;
	bool found;
	struct gr_bytes code = code_of(&object->elf, candidate, &off);
	uint64_t entry = code.size ? mapped_at(object, off) : 0;

	if (!entry)
		return NULL;
	struct gr_error *err = gr_probe_point_find(code.data, code.size, entry,
						   &needs, &at, &place, &found);
	if (err || !found)
		return err;
	if (answer->nfunctions == MAX_FUNCTIONS) {
		answer->left_out++;
		return NULL;
	}
	answer->functions[answer->nfunctions] = (struct gr_alloc_function){
		.name = name_of(f, candidate),
		.kind = gr_alloc_kind_name(candidate->name->kind),
		.addr = at,
		.place = gr_probe_place_name(place),
		.object = path,
		.is_walked = object->is_glibc &&
			     candidate->family == GR_ALLOC_OF_C,
	};
	return answer->functions[answer->nfunctions++].name ? NULL : &gr_enomem;
}

// ------------------------------------------------------------------ samplers

/* Has the object the probe otel_memory:alloc? */
static struct gr_error *find_sampler(struct finder *f, bool *found)
{
	struct gr_bytes notes =
		gr_elf_section(&f->object.elf, ".note.stapsdt", NULL);
	struct gr_usdt_note note;
	struct gr_error *err = NULL;
	uint64_t off = 0;
	bool is_probe;

	*found = false;
	while (!err && !*found && gr_usdt_next(notes, &off, &note, &is_probe)) {
		*found = is_probe && !strcmp(note.provider, "otel_memory") &&
			 !strcmp(note.name, "alloc");
		err = gr_runtime_step(f->rt, 1);
	}
	return err;
}

static struct gr_error *add_sampler(struct finder *f, const char *path)
{
	struct gr_alloc_functions *answer = f->answer;
	bool found;
	struct gr_error *err = find_sampler(f, &found);

	if (err || !found)
		return err;
	if (answer->nsamplers == MAX_SAMPLERS)
		answer->left_out++;
	else
		answer->samplers[answer->nsamplers++] =
			(struct gr_alloc_sampler){ path,
						   f->object.parts[0]->start };
	return NULL;
}

// ----------------------------------------------------------------------- all

static struct gr_error *look_into(struct finder *f, const char *path)
{
	struct object *object = &f->object;
	struct gr_error *err = read_symbols(f, true);

	if (!err)
		err = read_symbols(f, false);
	path = gr_arena_intern(&f->answer->arena, path, strlen(path));
	if (!err && !path)
		err = &gr_enomem;
	for (size_t i = 0; !err && i < object->ncandidates; i++)
		if (is_of_allocator(f, &object->candidates[i]) &&
		    !has_better_name(f, &object->candidates[i]))
			err = add_function(f, &object->candidates[i], path);
	return err ? err : add_sampler(f, path);
}

/* Look into the object of these mappings, if it is one. */
static struct gr_error *look_at(struct finder *f,
				const struct gr_mapping *const *parts, size_t n)
{
	struct object *object = &f->object;
	const char *path = parts[0]->path;

	if (!is_wanted(f, path))
		return NULL;
	memset(object, 0, sizeof(*object));
	object->parts = parts;
	object->nparts = n < MAX_PARTS ? n : MAX_PARTS;
	struct gr_error *err =
		gr_elf_open_mapping(f->pid, parts[0], &object->elf);
	if (gr_error_catch(&err, GR_ERROR_IO))
		f->answer->unreadable_objects++;
	else if (!gr_error_catch(&err, GR_ERROR_FORMAT) &&
		 !gr_error_catch(&err, GR_ERROR_ARCH) && !err &&
		 object->elf.arch->machine == EM_X86_64)
		err = look_into(f, path);
	gr_elf_deinit(&object->elf);
	return err;
}

static int by_addr(const void *a, const void *b)
{
	const struct gr_alloc_function *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static struct gr_error *answer(struct finder *f)
{
	struct gr_alloc_functions *answer = f->answer;
	struct gr_error *err = NULL;

	answer->functions = calloc(MAX_FUNCTIONS, sizeof(*answer->functions));
	answer->samplers = calloc(MAX_SAMPLERS, sizeof(*answer->samplers));
	if (!answer->functions || !answer->samplers)
		return &gr_enomem;
	if (f->rt->arch->machine == EM_X86_64)
		err = list_parts(f);
	// Bounded by the mappings: each step passes one at least.
	for (size_t i = 0; !err && i < f->parts.size;) {
		size_t n = count_parts(&f->parts, i);

		err = look_at(f, f->parts.data + i, n);
		i += n;
	}
	return err ? err :
		     gr_sort(answer->functions, answer->nfunctions,
			     sizeof(*answer->functions), by_addr, f->rt->poll,
			     f->rt->poll_ctx);
}

struct gr_error *
gr_scan_alloc_functions(struct gr_scan *scan,
			const struct gr_alloc_question *question,
			struct gr_alloc_functions *ret)
{
	_cleanup_free_ struct finder *f = calloc(1, sizeof(*f));
	struct gr_sigbus_guard guard;
	struct gr_stop *stop;

	*ret = (struct gr_alloc_functions){ 0 };
	if (!f)
		return &gr_enomem;
	struct gr_error *err = gr_scan_enter_running(scan, &guard, &stop);
	if (!err) {
		f->question = question;
		f->rt = &stop->program->rt;
		f->pid = gr_target_memory_pid(&stop->target);
		f->answer = ret;
		err = answer(f);
	}
	finder_deinit(f);
	return gr_sigbus_guard_end(&guard, err);
}
