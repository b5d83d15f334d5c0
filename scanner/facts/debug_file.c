// SPDX-License-Identifier: Apache-2.0
#include "facts/debug_file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "inferior/elf.h"
#include "inferior/mapped_file.h"
#include "inferior/notes.h"

enum { MAX_NAME_BYTES = 255, STEP_BYTES = 1 << 20 };

/* The checksum of a larger file is not computed. */
static const uint64_t max_summed_bytes = UINT64_C(2) << 30;

/** A file, and the build id or checksum that its debug file must have. */
struct wanted {
	const char *path;
	struct gr_mapped_file file;
	struct gr_elf elf;
	struct gr_build_id id;
	struct gr_debuglink link; /**< The name is NULL if there is none. */
};

bool gr_debuglink_read(const struct gr_elf *elf, struct gr_debuglink *ret)
{
	struct gr_bytes section = gr_elf_section(elf, ".gnu_debuglink", NULL);
	const char *name = gr_bytes_string(section, 0);
	uint32_t crc;

	if (!name || !*name || strlen(name) > MAX_NAME_BYTES ||
	    strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	// The checksum follows the name, at the next multiple of four.
	if (!gr_bytes_get(section, (strlen(name) + 1 + 3) & ~UINT64_C(3), &crc,
			  sizeof(crc)))
		return false;
	*ret = (struct gr_debuglink){ name, crc };
	return true;
}

/* The ids of a file. Tools that split files may leave the segments of notes
 * without bytes, but not their sections. */
static struct gr_build_id id_of(const struct gr_elf *elf)
{
	static const char *const sections[] = { ".note.gnu.build-id",
						".note.go.buildid" };
	struct gr_build_id id = gr_build_id_of(elf);

	for (size_t i = 0; i < GR_ARRAY_SIZE(sections); i++)
		gr_build_id_collect(gr_elf_section(elf, sections[i], NULL),
				    &id);
	return id;
}

/* Do both files have the same build id, GNU's if there is one? */
static bool has_same_id(const struct gr_build_id *a,
			const struct gr_build_id *b)
{
	if (a->gnu_bytes)
		return a->gnu_bytes == b->gnu_bytes &&
		       !memcmp(a->gnu, b->gnu, a->gnu_bytes);
	return a->go_bytes && a->go_bytes == b->go_bytes &&
	       !memcmp(a->go, b->go, a->go_bytes);
}

static bool has_sum(struct gr_bytes file, uint32_t crc)
{
	uLong sum = crc32(0, NULL, 0);

	if (file.size > max_summed_bytes)
		return false;
	for (uint64_t off = 0; off < file.size; off += STEP_BYTES) {
		uint64_t left = file.size - off;
		sum = crc32(sum, file.data + off,
			    left < STEP_BYTES ? left : STEP_BYTES);
	}
	return sum == crc;
}

/* Is there a file at @p path that belongs to the wanted one? */
static struct gr_error *belongs(const struct wanted *wanted, const char *path,
				bool *ret)
{
	_cleanup_(gr_mapped_file_close) struct gr_mapped_file file = { 0 };
	struct gr_elf elf;

	*ret = false;
	struct gr_error *err = gr_mapped_file_open(path, &file);
	if (gr_error_catch(&err, GR_ERROR_IO) ||
	    gr_error_catch(&err, GR_ERROR_FORMAT) || err)
		return err;
	if (file.device == wanted->file.device &&
	    file.inode == wanted->file.inode)
		return NULL;
	if (!gr_elf_view(file.bytes, &elf) ||
	    elf.header.e_machine != wanted->elf.header.e_machine)
		return NULL;
	struct gr_build_id id = id_of(&elf);
	*ret = wanted->id.gnu_bytes || wanted->id.go_bytes ?
		       has_same_id(&wanted->id, &id) :
		       has_sum(file.bytes, wanted->link.crc);
	return NULL;
}

/* Try the file with a name. *ret is the name if the file belongs to the wanted
 * one; else the name is freed. */
static struct gr_error *try_name(const struct wanted *wanted, char *name,
				 char **ret)
{
	_cleanup_free_ char *candidate = name;
	bool is_found;

	if (!candidate)
		return &gr_enomem;
	struct gr_error *err = belongs(wanted, candidate, &is_found);
	if (!err && is_found)
		*ret = steal_ptr(candidate);
	return err;
}

static char *join(const char *fmt, ...) GR_PRINTF(1, 2);

static char *join(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return n < 0 ? NULL : text;
}

static struct gr_error *try_id(const struct wanted *wanted, const char *folder,
			       char **ret)
{
	const struct gr_build_id *id = &wanted->id;
	char hex[2 * sizeof(id->gnu) + 1] = "";

	if (id->gnu_bytes < 2)
		return NULL;
	for (size_t i = 0; i < id->gnu_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->gnu[i]);
	return try_name(
		wanted,
		join("%s/.build-id/%.2s/%s.debug", folder, hex, hex + 2), ret);
}

/* @p own: the folder of the file, without a final slash. */
static struct gr_error *try_link(const struct wanted *wanted, const char *own,
				 const char *folder, char **ret)
{
	const char *name = wanted->link.name;
	struct gr_error *err = try_name(wanted, join("%s/%s", own, name), ret);

	if (!err && !*ret)
		err = try_name(wanted, join("%s/.debug/%s", own, name), ret);
	if (!err && !*ret)
		err = try_name(wanted, join("%s%s/%s", folder, own, name), ret);
	return err;
}

/* Search beside the file: first by its name, then by its name without links. */
static struct gr_error *try_links(const struct wanted *wanted,
				  const char *folder, char **ret)
{
	_cleanup_free_ char *real = realpath(wanted->path, NULL);
	const char *names[] = { wanted->path, real };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && !*ret && i < GR_ARRAY_SIZE(names); i++) {
		const char *slash = names[i] ? strrchr(names[i], '/') : NULL;

		// A relative name is skipped: the real name is absolute.
		if (*(names[i] ? names[i] : "") != '/')
			continue;
		_cleanup_free_ char *own = strndup(names[i], slash - names[i]);
		err = own ? try_link(wanted, own, folder, ret) : &gr_enomem;
	}
	return err;
}

static bool has_debug_info(const struct gr_elf *elf)
{
	static const char *const names[] = { ".debug_info", ".zdebug_info" };
	Elf64_Shdr section;

	for (size_t i = 0; i < GR_ARRAY_SIZE(names); i++) {
		struct gr_elf_sections at = { .next = 0 };

		if (gr_elf_next_section(elf, &at, names[i], &section) &&
		    section.sh_type != SHT_NOBITS)
			return true;
	}
	return false;
}

static struct gr_error *find(struct wanted *wanted, const char *folder,
			     char **ret)
{
	struct gr_error *err = gr_mapped_file_open(wanted->path, &wanted->file);

	if (gr_error_catch(&err, GR_ERROR_IO) ||
	    gr_error_catch(&err, GR_ERROR_FORMAT) || err)
		return err;
	if (!gr_elf_view(wanted->file.bytes, &wanted->elf) ||
	    has_debug_info(&wanted->elf))
		return NULL;
	wanted->id = id_of(&wanted->elf);
	err = try_id(wanted, folder, ret);
	if (!err && !*ret && gr_debuglink_read(&wanted->elf, &wanted->link))
		err = try_links(wanted, folder, ret);
	return err;
}

struct gr_error *gr_debug_file_find(const char *path, const char *folder,
				    char **ret)
{
	struct wanted wanted = { .path = path };
	struct gr_sigbus_guard guard;

	*ret = NULL;
	gr_sigbus_guard_begin(&guard);
	struct gr_error *err = find(&wanted, folder, ret);
	gr_mapped_file_close(&wanted.file);
	err = gr_sigbus_guard_end(&guard, err);
	if (err)
		free(steal_ptr(*ret));
	return err;
}
