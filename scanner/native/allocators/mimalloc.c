// SPDX-License-Identifier: Apache-2.0
#include "native/allocators/mimalloc.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "goruntime/layout/c_function.h"

enum {
	/* mi_version(): [endbr64] mov $version, %eax; ret */
	CODE_MOV = 0xb8,
	CODE_RET = 0xc3,
	CODE_BYTES = 6,
	MARK_BYTES = 4, /* endbr64 */
};

static const char refusal[] = "is not supported (goref reads 2.0.9 to 2.4.1)";

/* A file of the program that has mi_version(). */
struct copy {
	size_t module;
	uint32_t version;
};
GR_VECTOR(copy_vector, struct copy);

struct finder {
	struct gr_native_reader *r;
	struct copy_vector copies;
	struct gr_mimalloc_root_vector roots;
};

static void finder_deinit(struct finder *f)
{
	copy_vector_deinit(&f->copies);
	gr_mimalloc_root_vector_deinit(&f->roots);
}

static void mimalloc_deinit(struct gr_mimalloc *m)
{
	gr_mimalloc_segment_vector_deinit(&m->segments);
	gr_mimalloc_page_vector_deinit(&m->pages);
	gr_mimalloc_owner_vector_deinit(&m->owners);
	gr_blocks_deinit(&m->blocks);
}

// ------------------------------------------------------------------- version

/* The version that the code of mi_version() returns; 0: it is other code. */
static uint32_t version_of(const uint8_t *code, uint64_t bytes)
{
	static const uint8_t mark[MARK_BYTES] = { 0xf3, 0x0f, 0x1e, 0xfa };

	if (bytes >= MARK_BYTES && !memcmp(code, mark, MARK_BYTES)) {
		code += MARK_BYTES;
		bytes -= MARK_BYTES;
	}
	return bytes >= CODE_BYTES && code[0] == CODE_MOV &&
			       code[CODE_BYTES - 1] == CODE_RET ?
		       gr_load_u32(code + 1) :
		       0;
}

/* The version that mi_version() at @p addr returns; 0: its code is other code, or
 * not at hand. A saved file keeps it. */
static struct gr_error *read_version(struct gr_runtime *rt, uint64_t addr,
				     uint32_t *ret)
{
	uint8_t code[MARK_BYTES + CODE_BYTES];
	struct gr_c_function unused;
	struct gr_error *err =
		gr_image_read(rt->image, addr, code, sizeof(code));

	if (gr_error_catch(&err, GR_ERROR_FAULT) ||
	    gr_error_catch(&err, GR_ERROR_NOT_SAVED) || err)
		return err;
	*ret = version_of(code, sizeof(code));
	// That keeps the symbol.
	return *ret ? gr_c_function_find(rt, addr, &unused) : NULL;
}

/* Look for mi_version() in one table of symbols of a file. */
static struct gr_error *find_in_table(struct finder *f, size_t module,
				      bool is_dynamic, uint32_t *ret)
{
	struct gr_runtime *rt = f->r->spec->rt;
	const struct gr_elf *elf = gr_image_elf(rt->image, module);
	uint64_t bias = gr_image_bias(rt->image, module);
	struct gr_elf_symbols at = { .is_dynamic = is_dynamic };
	struct gr_elf_symbol symbol;
	struct gr_error *err = NULL;

	if (!elf || bias == UINT64_MAX)
		return NULL;
	// Bounded by the file's table.
	while (!err && !*ret && gr_elf_next_symbol(elf, &at, &symbol)) {
		if (symbol.type == STT_FUNC &&
		    !strcmp(symbol.name, "mi_version"))
			err = read_version(rt, symbol.addr + bias, ret);
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	return err;
}

static struct gr_error *find_copies(struct finder *f)
{
	struct gr_runtime *rt = f->r->spec->rt;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < f->r->spec->target->nmodules; i++) {
		struct copy copy = { .module = i };

		err = find_in_table(f, i, true, &copy.version);
		if (!err && !copy.version)
			err = find_in_table(f, i, false, &copy.version);
		if (!err && copy.version)
			err = gr_runtime_append(rt, copy_vector, &f->copies,
						copy);
	}
	return err;
}

/* A version as text, as mimalloc has written it in the course of time: 209, 3208
 * and 20401. */
static struct gr_error *name_version(struct finder *f, uint32_t version,
				     const char **ret)
{
	uint32_t major = version / 100, minor = version / 10 % 10;
	uint32_t patch = version % 10;

	if (version >= 10000) {
		major = version / 10000;
		minor = version / 100 % 100;
		patch = version % 100;
	} else if (version >= 1000) {
		major = version / 1000;
		minor = version / 100 % 10;
		patch = version % 100;
	}
	*ret = gr_arena_internf(f->r->spec->rt->arena, "%u.%u.%u", major, minor,
				patch);
	return *ret ? NULL : &gr_enomem;
}

static bool is_known(uint32_t version)
{
	// 2.0.9 to 2.2.7, and 2.3.0 to 2.4.1.
	return (version >= 209 && version <= 227) ||
	       (version >= 20300 && version <= 20401);
}

/* Append a line for each version that cannot be read. */
static struct gr_error *refuse_unknown(struct finder *f)
{
	struct gr_error *err = NULL;
	const char *name;

	for (size_t i = 0; !err && i < f->copies.size; i++) {
		if (is_known(f->copies.data[i].version))
			continue;
		err = name_version(f, f->copies.data[i].version, &name);
		if (!err)
			err = gr_reader_refuse(f->r, "mimalloc", name, refusal);
	}
	return err;
}

/* The version of the copy whose main heap is at @p addr; 0: it is not known. */
static uint32_t version_at(const struct finder *f, uint64_t addr)
{
	size_t module = gr_image_module_at(f->r->spec->rt->image, addr);

	for (size_t i = 0; i < f->copies.size; i++)
		if (f->copies.data[i].module == module)
			return f->copies.data[i].version;
	return 0;
}

/* The versions that have the layout of a copy. */
static const char *versions_of(const struct gr_mimalloc *m)
{
	const struct gr_mimalloc_heap_layout *of = m->root.layout;
	bool is_late = m->segment->subproc ||
		       m->page.starts == GR_MIMALLOC_STARTS_210;

	return is_late || !of->early ? of->late : of->early;
}

// -------------------------------------------------------------------- owners

static int compare_owners(const void *a, const void *b)
{
	const struct gr_mimalloc_owner *x = a, *y = b;

	return x->thread_id < y->thread_id ? -1 : x->thread_id > y->thread_id;
}

/* List the threads that own segments. */
static struct gr_error *list_owners(struct gr_mimalloc *m)
{
	struct gr_mimalloc_owner_vector *list = &m->owners;
	struct gr_runtime *rt = m->r->spec->rt;
	struct gr_error *err = NULL;
	size_t kept = 0;

	for (size_t i = 0; !err && i < m->segments.size; i++) {
		const struct gr_mimalloc_segment *s = &m->segments.data[i];
		const struct gr_mimalloc_owner owner = {
			.thread_id = s->thread_id,
			.segments = 1,
			.bytes = s->end - s->addr,
		};

		err = gr_runtime_append(rt, gr_mimalloc_owner_vector, list,
					owner);
	}
	if (!err)
		err = gr_sort(list->data, list->size, sizeof(*list->data),
			      compare_owners, rt->poll, rt->poll_ctx);
	if (err)
		return err;
	for (size_t i = 0; i < list->size; i++) {
		struct gr_mimalloc_owner *last = kept ? &list->data[kept - 1] :
							NULL;

		if (last && last->thread_id == list->data[i].thread_id) {
			last->segments++;
			last->bytes += list->data[i].bytes;
		} else {
			list->data[kept++] = list->data[i];
		}
	}
	list->size = kept;
	return NULL;
}

/* Append an arena for each owner. */
static struct gr_error *add_arenas(struct gr_mimalloc *m)
{
	struct gr_error *err = NULL;

	m->first_arena = m->r->native->arenas.size;
	for (uint32_t i = 0; !err && i < m->owners.size; i++) {
		err = gr_reader_add_arena(m->r, 0, "thread");
		if (err)
			return err;
		struct gr_native_arena *arena = gr_mimalloc_arena(m, i);

		arena->aligns_inside = true;
		arena->blocks_counter = "used";
		arena->counted_blocks = 0;
		err = gr_runtime_step(m->r->spec->rt, 1);
	}
	return err;
}

/* Is memory of the segment that of an allocator which was read before? */
static bool is_taken(const struct gr_native_reader *r,
		     const struct gr_mimalloc_segment *segment)
{
	const struct gr_native_range_vector *list = &r->taken;
	size_t n = gr_count_before(list->size, i,
				   list->data[i].end <= segment->addr);

	return n < list->size && list->data[n].start < segment->end;
}

/* Walk all segments, each for its owner. */
static struct gr_error *walk_segments(struct gr_mimalloc *m)
{
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < m->segments.size; i++) {
		struct gr_mimalloc_segment *s = &m->segments.data[i];
		const struct gr_mimalloc_owner_vector *list = &m->owners;

		s->owner = gr_count_before(
			list->size, k, list->data[k].thread_id < s->thread_id);
		if (is_taken(m->r, s))
			gr_arena_fail(gr_mimalloc_arena(m, s->owner),
				      "its memory is another allocator's, too");
		else
			err = gr_mimalloc_walk(m, s);
		if (!err && !s->thread_id &&
		    !gr_mimalloc_arena(m, s->owner)->addr)
			gr_mimalloc_arena(m, s->owner)->addr = s->addr;
		if (!err)
			err = gr_runtime_step(m->r->spec->rt, 4);
	}
	return err;
}

// ----------------------------------------------------------------------- all

static struct gr_error *read_arenas(struct gr_mimalloc *m)
{
	const struct gr_mimalloc_root *root = &m->root;
	struct gr_error *err = list_owners(m);

	if (!err)
		err = add_arenas(m);
	if (!err)
		err = gr_reader_add_structure(
			m->r, root->addr,
			gr_mimalloc_queues(root) +
				GR_MIMALLOC_NQUEUES * GR_MIMALLOC_QUEUE_BYTES);
	if (!err)
		err = walk_segments(m);
	return err ? err : gr_mimalloc_check_heaps(m);
}

/* Read the copy whose main heap is @p root. */
static struct gr_error *read_copy(struct finder *f,
				  const struct gr_mimalloc_root *root)
{
	_cleanup_(mimalloc_deinit) struct gr_mimalloc m = {
		.r = f->r, .root = *root, .version = version_at(f, root->addr)
	};
	const char *name = "";
	struct gr_error *err = NULL;

	if (m.version && !is_known(m.version))
		return NULL; // refuse_unknown() has said so
	err = gr_mimalloc_find_segments(&m);
	if (err || !m.segments.size)
		return err;
	err = gr_mimalloc_find_page_layout(&m);
	if (!err && m.version)
		err = name_version(f, m.version, &name);
	if (err)
		return err;
	if (!m.version && m.has_page_layout)
		name = versions_of(&m);
	if (!m.has_page_layout)
		return gr_reader_refuse(f->r, "mimalloc", name,
					"has pages of a layout that goref does "
					"not know");
	err = read_arenas(&m);
	return err ? err :
		     gr_reader_add_allocator(f->r, "mimalloc", name,
					     m.first_arena);
}

static struct gr_error *read_mimalloc(struct gr_native_reader *r)
{
	_cleanup_(finder_deinit) struct finder f = { .r = r };
	struct gr_error *err = find_copies(&f);

	if (!err)
		err = refuse_unknown(&f);
	if (!err)
		err = gr_mimalloc_find(r, &f.roots);
	for (size_t i = 0; !err && i < f.roots.size; i++) {
		size_t before = r->native->memory.size;

		err = read_copy(&f, &f.roots.data[i]);
		if (!err && f.roots.size > 1)
			err = gr_reader_take(r, before);
	}
	return err;
}

const struct gr_allocator gr_allocator_mimalloc = { "mimalloc", read_mimalloc };
