// SPDX-License-Identifier: Apache-2.0
#include "inferior/mappings.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/sort.h"
#include "inferior/source.h"

void gr_mappings_deinit(struct gr_mappings *mappings)
{
	gr_mapping_vector_deinit(&mappings->list);
	gr_arena_deinit(&mappings->arena);
	memset(mappings, 0, sizeof(*mappings));
}

struct gr_error *gr_mappings_add(struct gr_mappings *mappings,
				 struct gr_mapping mapping)
{
	static const char deleted[] = " (deleted)";

	if (mapping.start >= mapping.end)
		return NULL;
	if (mapping.path) {
		size_t bytes = strlen(mapping.path);
		size_t cut = sizeof(deleted) - 1;
		if (bytes > cut && !strcmp(mapping.path + bytes - cut, deleted))
			bytes -= cut;
		mapping.path =
			gr_arena_intern(&mappings->arena, mapping.path, bytes);
		if (!mapping.path)
			return &gr_enomem;
	}
	mappings->is_sorted = false;
	if (!gr_mapping_vector_append(&mappings->list, mapping))
		return &gr_enomem;
	return NULL;
}

// The note has two words {count, unit of offsets}, three words for each
// mapping, then the paths.
struct gr_error *gr_mappings_add_note(struct gr_mappings *mappings,
				      struct gr_bytes desc,
				      const struct gr_target *target)
{
	enum { HEADER_BYTES = 16, ENTRY_BYTES = 24, POLL_ENTRIES = 1 << 12 };

	if (!gr_bytes_has(desc, 0, HEADER_BYTES))
		return NULL;
	uint64_t count = gr_load_u64(desc.data);
	uint64_t unit = gr_load_u64(desc.data + 8);
	if (count > (desc.size - HEADER_BYTES) / ENTRY_BYTES)
		return NULL;
	uint64_t name_off = HEADER_BYTES + count * ENTRY_BYTES;
	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *entry =
			desc.data + HEADER_BYTES + i * ENTRY_BYTES;
		const char *path = gr_bytes_string(desc, name_off);
		if (!path)
			return NULL;
		name_off += strlen(path) + 1;
		struct gr_error *err = gr_mappings_add(
			mappings,
			(struct gr_mapping){
				.start = gr_load_u64(entry),
				.end = gr_load_u64(entry + 8),
				.file_off = gr_load_u64(entry + 16) * unit,
				.path = path,
			});
		if (!err && i % POLL_ENTRIES == 0)
			err = gr_source_poll(target);
		if (err)
			return err;
	}
	return NULL;
}

static bool parse_line(char *line, struct gr_mapping *ret)
{
	unsigned int device_major, device_minor;
	char perms[5];
	int path_off = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64
		   " %n",
		   &ret->start, &ret->end, perms, &ret->file_off, &device_major,
		   &device_minor, &ret->inode, &path_off) < 7)
		return false;
	ret->device = makedev(device_major, device_minor);
	ret->flags = (perms[0] == 'r' ? PF_R : 0) |
		     (perms[1] == 'w' ? PF_W : 0) |
		     (perms[2] == 'x' ? PF_X : 0) |
		     (perms[3] == 's' ? GR_MAPPING_SHARED : 0);
	ret->path = path_off && line[path_off] ? line + path_off : NULL;
	return true;
}

struct gr_error *gr_mappings_add_process(struct gr_mappings *mappings,
					 int32_t pid)
{
	_cleanup_free_ char *line = NULL;
	struct gr_mapping mapping;
	size_t capacity = 0;
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	_cleanup_fclose_ FILE *file = fopen(name, "re");
	if (!file)
		return gr_error_format(GR_ERROR_IO, "cannot open %s: %s", name,
				       strerror(errno));
	// Bounded by what the kernel lists.
	while (getline(&line, &capacity, file) > 0) {
		if (!parse_line(line, &mapping))
			continue;
		struct gr_error *err = gr_mappings_add(mappings, mapping);
		if (err)
			return err;
	}
	if (ferror(file))
		return gr_error_format(GR_ERROR_IO, "cannot read %s: %s", name,
				       strerror(errno));
	return gr_mappings_sort(mappings, NULL, NULL);
}

static int compare_starts(const void *a, const void *b)
{
	const struct gr_mapping *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

struct gr_error *gr_mappings_sort(struct gr_mappings *mappings,
				  struct gr_error *(*poll)(void *ctx),
				  void *ctx)
{
	struct gr_mapping *list = mappings->list.data;
	struct gr_error *err = gr_sort(list, mappings->list.size, sizeof(*list),
				       compare_starts, poll, ctx);

	if (err)
		return err;
	for (size_t i = 0, last = 0; i < mappings->list.size; i++) {
		if (list[i].end > list[last].end)
			last = i;
		list[i].last_end = last;
	}
	mappings->is_sorted = true;
	return NULL;
}

const struct gr_mapping *gr_mappings_find(const struct gr_mappings *mappings,
					  uint64_t addr)
{
	const struct gr_mapping *list = mappings->list.data;

	assert(mappings->is_sorted || !mappings->list.size);
	size_t n =
		gr_count_before(mappings->list.size, i, list[i].start <= addr);
	if (!n)
		return NULL;
	list += list[n - 1].last_end;
	return addr < list->end ? list : NULL;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

const struct gr_mapping *
gr_mappings_find_file(const struct gr_mappings *mappings, const char *path,
		      uint64_t off)
{
	const struct gr_mapping *by_name = NULL;

	for (size_t i = 0; i < mappings->list.size; i++) {
		const struct gr_mapping *mapping = &mappings->list.data[i];
		if (!mapping->path || mapping->file_off != off)
			continue;
		if (!strcmp(mapping->path, path))
			return mapping;
		if (!by_name && !strcmp(last_component(mapping->path),
					last_component(path)))
			by_name = mapping;
	}
	return by_name;
}

bool gr_mappings_may_have_c(const struct gr_mappings *mappings)
{
	const char *first = NULL;
	bool is_named = false;

	for (size_t i = 0; i < mappings->list.size; i++) {
		const struct gr_mapping *m = &mappings->list.data[i];

		if (m->path && !strcmp(m->path, "[heap]"))
			return true;
		if (!m->path || *m->path != '/')
			continue;
		is_named = true;
		if (!(m->flags & PF_X))
			continue;
		if (first && strcmp(first, m->path) != 0)
			return true;
		first = m->path;
	}
	return !is_named && mappings->list.size;
}
