// SPDX-License-Identifier: Apache-2.0
/*
 * Checks whether our file is the one that the target runs.
 *
 * The build IDs are compared with those in target memory, which are found
 * through the ELF header mapped there (kernel cores keep that page). If one
 * side has no build ID, the entry point and the segments are compared, then the
 * bytes of constant pages. If nothing can be compared, the file is trusted.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "inferior/image.h"
#include "inferior/mapped_elf.h"
#include "inferior/modules.h"

enum {
	MAX_SAMPLES = 8,
	/* A debugger's breakpoints change some bytes of a page of text. */
	MAX_CHANGED_BYTES = 64,
};

static bool read_bytes(struct gr_image *image, uint64_t addr, void *buf,
		       uint64_t bytes)
{
	struct gr_error *err = gr_image_read(image, addr, buf, bytes);
	bool is_read = !err;

	gr_error_destroy(err);
	return is_read;
}

/* Memory of an image: all of the bytes, or none. */
static uint64_t read_memory(void *image, uint64_t addr, void *buf,
			    uint64_t bytes)
{
	return read_bytes(image, addr, buf, bytes) ? bytes : 0;
}

// Find the module's ELF header in the target. The most reliable place comes
// first: the kernel's auxiliary vector, then file names, then the address that
// the file asks for.
static bool find_mapped_elf(const struct gr_module_file *file, bool is_main,
			    struct gr_auxv auxv,
			    const struct gr_mappings *files,
			    const struct gr_memory *memory,
			    struct gr_mapped_elf *mapped)
{
	uint64_t places[3];
	size_t count = 0;

	if (is_main && auxv.phdr)
		places[count++] = auxv.phdr & ~(GR_PAGE_BYTES - 1);
	const struct gr_mapping *mapping =
		is_main && auxv.entry ? gr_mappings_find(files, auxv.entry) :
					NULL;
	if (mapping && mapping->path)
		mapping = gr_mappings_find_file(files, mapping->path, 0);
	if (mapping && mapping->path)
		places[count++] = mapping->start;
	places[count++] = file->bias + gr_elf_lowest_addr(&file->elf);
	for (size_t i = 0; i < count; i++)
		if (gr_mapped_elf_read(memory, places[i], mapped) &&
		    !mapped->elf.lost_headers)
			return true;
	return false;
}

enum { SHORT_ID_CHARS = 12 };

static void print_id(const struct gr_build_id *id, bool is_gnu, char *text,
		     size_t bytes)
{
	if (!is_gnu) {
		snprintf(text, bytes, "%.*s", (int)id->go_bytes, id->go);
		for (; *text; text++)
			if (*text < ' ' || *text > '~')
				*text = '?';
		return;
	}
	for (size_t i = 0; i < id->gnu_bytes; i++)
		snprintf(text + 2 * i, bytes - 2 * i, "%02x", id->gnu[i]);
}

/** A file, and the module of a target that it is compared with. */
struct pair {
	const struct gr_module_file *file;
	const char *what;    /* names the target */
	const char *program; /* its path, if the target tells another; or NULL */
	bool is_main;
};

/* Has the file a tag in its dynamic section, with all of @p bits? */
static bool has_dynamic_tag(const struct gr_elf *elf, int64_t tag,
			    uint64_t bits)
{
	for (size_t i = 0; i < elf->phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(elf, i);
		Elf64_Dyn entry;

		if (header.p_type != PT_DYNAMIC)
			continue;
		struct gr_bytes bytes = gr_elf_segment_bytes(elf, &header);
		for (uint64_t off = 0; off + sizeof(entry) <= bytes.size;
		     off += sizeof(entry)) {
			memcpy(&entry, bytes.data + off, sizeof(entry));
			if (entry.d_tag == tag)
				return (entry.d_un.d_val & bits) == bits;
		}
	}
	return false;
}

/* Programs may lie anywhere, as libraries do, and libc can be run; but only
 * libraries have a name, and a program has an interpreter or says what it is. */
static bool is_library(const struct gr_elf *elf)
{
	bool has_interpreter = false;

	if (elf->header.e_type != ET_DYN)
		return false;
	for (size_t i = 0; i < elf->phnum; i++)
		has_interpreter |= gr_elf_program_header(elf, i).p_type ==
				   PT_INTERP;
	return has_dynamic_tag(elf, DT_SONAME, 0) ||
	       (!has_interpreter &&
		!has_dynamic_tag(elf, DT_FLAGS_1, DF_1_PIE));
}

/* The path of the target's program, if it is known and not that of the file. */
static const char *other_program(const struct gr_module_file *file,
				 struct gr_auxv auxv,
				 const struct gr_mappings *files)
{
	const struct gr_mapping *mapping =
		auxv.entry ? gr_mappings_find(files, auxv.entry) : NULL;

	return mapping && mapping->path && strcmp(mapping->path, file->path) ?
		       mapping->path :
		       NULL;
}

/* @p why: how they differ. */
static struct gr_error *mismatch(const struct pair *pair, const char *why)
{
	const char *path = pair->file->path;
	const char *then = pair->program ? "; the program is " : "";
	const char *program = pair->program ? pair->program : "";

	if (!pair->is_main)
		return gr_error_format(GR_ERROR_MISMATCH,
				       "%s is not the file that %s has mapped "
				       "(%s)",
				       path, pair->what, why);
	if (is_library(&pair->file->elf))
		return gr_error_format(GR_ERROR_MISMATCH,
				       "%s is a shared library, and not the "
				       "program of %s%s%s",
				       path, pair->what, then, program);
	return gr_error_format(GR_ERROR_MISMATCH,
			       "%s is not the program of %s (%s)%s%s", path,
			       pair->what, why, then, program);
}

static struct gr_error *mismatch_ids(const struct pair *pair, bool is_gnu,
				     const struct gr_build_id *ours,
				     const struct gr_build_id *theirs)
{
	char our_text[257] = "", their_text[257] = "";
	char why[2 * sizeof(our_text) + 32];

	print_id(ours, is_gnu, our_text, sizeof(our_text));
	print_id(theirs, is_gnu, their_text, sizeof(their_text));
	// Print only as much of the build IDs as distinguishes them.
	int n = strncmp(our_text, their_text, SHORT_ID_CHARS) ?
			SHORT_ID_CHARS :
			(int)sizeof(our_text);
	snprintf(why, sizeof(why), "build ids %.*s, %.*s", n, our_text, n,
		 their_text);
	return mismatch(pair, why);
}

static struct gr_error *mismatch_entry(const struct pair *pair, uint64_t entry)
{
	char why[96];

	snprintf(why, sizeof(why), "entry points 0x%" PRIx64 ", 0x%" PRIx64,
		 (uint64_t)pair->file->elf.header.e_entry, entry);
	return mismatch(pair, why);
}

// Stripping changes the file but not what is loaded.
static bool has_same_segments(const struct gr_elf *a, const struct gr_elf *b)
{
	size_t i = 0, j = 0;

	for (;;) {
		Elf64_Phdr x = { 0 }, y = { 0 };
		while (i < a->phnum && x.p_type != PT_LOAD)
			x = gr_elf_program_header(a, i++);
		while (j < b->phnum && y.p_type != PT_LOAD)
			y = gr_elf_program_header(b, j++);
		if (x.p_type != PT_LOAD || y.p_type != PT_LOAD)
			return x.p_type != PT_LOAD && y.p_type != PT_LOAD;
		if (x.p_vaddr != y.p_vaddr || x.p_memsz != y.p_memsz ||
		    x.p_flags != y.p_flags)
			return false;
	}
}

static bool is_other_page(const uint8_t *ours, const uint8_t *theirs)
{
	enum { BREAKPOINT = 0xcc };
	size_t changed = 0;

	for (size_t i = 0; i < GR_PAGE_BYTES; i++)
		changed += ours[i] != theirs[i] && theirs[i] != BREAKPOINT;
	return changed > MAX_CHANGED_BYTES;
}

// Compare some constant pages, spread over each segment.
static bool has_other_pages(const struct gr_module_file *file,
			    struct gr_image *image)
{
	uint8_t theirs[GR_PAGE_BYTES];

	for (size_t i = 0; i < file->elf.phnum; i++) {
		Elf64_Phdr header = gr_elf_program_header(&file->elf, i);
		if (!gr_module_segment_is_constant(&header))
			continue;
		struct gr_bytes ours =
			gr_elf_segment_bytes(&file->elf, &header);
		uint64_t pages = ours.size / GR_PAGE_BYTES;
		uint64_t step = pages / MAX_SAMPLES + 1;
		// Bounded by MAX_SAMPLES pages a segment.
		for (uint64_t page = 0; page < pages; page += step) {
			uint64_t off = page * GR_PAGE_BYTES;
			uint64_t addr = file->bias + header.p_vaddr + off;
			if (read_bytes(image, addr, theirs, sizeof(theirs)) &&
			    is_other_page(ours.data + off, theirs))
				return true;
		}
	}
	return false;
}

static struct gr_error *check_entry(const struct pair *pair,
				    struct gr_auxv auxv)
{
	uint64_t entry = pair->file->elf.header.e_entry;
	bool is_fixed = pair->file->elf.header.e_type == ET_EXEC;

	if (auxv.entry &&
	    (is_fixed ? auxv.entry != entry :
			(auxv.entry - entry) % GR_PAGE_BYTES != 0))
		return mismatch_entry(pair, auxv.entry);
	return NULL;
}

struct gr_error *gr_module_file_check(const struct gr_module_file *file,
				      bool is_main, struct gr_auxv auxv,
				      const struct gr_mappings *files,
				      struct gr_image *image, const char *what)
{
	const struct pair pair = { file, what, other_program(file, auxv, files),
				   is_main };
	struct gr_error *err = NULL;

	const struct gr_memory memory = { read_memory, image };

	_cleanup_free_ struct gr_mapped_elf *mapped = malloc(sizeof(*mapped));
	if (!mapped)
		return &gr_enomem;
	bool is_found =
		find_mapped_elf(file, is_main, auxv, files, &memory, mapped);
	if (is_found) {
		struct gr_build_id ours = gr_build_id_of(&file->elf);
		struct gr_build_id theirs = gr_mapped_elf_id(&memory, mapped);
		if (ours.gnu_bytes && theirs.gnu_bytes) {
			if (ours.gnu_bytes == theirs.gnu_bytes &&
			    !memcmp(ours.gnu, theirs.gnu, ours.gnu_bytes))
				return NULL;
			return mismatch_ids(&pair, true, &ours, &theirs);
		}
		if (ours.go_bytes && theirs.go_bytes) {
			if (ours.go_bytes == theirs.go_bytes &&
			    !memcmp(ours.go, theirs.go, ours.go_bytes))
				return NULL;
			return mismatch_ids(&pair, false, &ours, &theirs);
		}
	}
	if (is_main)
		err = check_entry(&pair, auxv);
	if (err)
		return err;
	if ((is_found && !has_same_segments(&file->elf, &mapped->elf)) ||
	    has_other_pages(file, image))
		return mismatch(&pair, "what is mapped there differs");
	return NULL;
}
