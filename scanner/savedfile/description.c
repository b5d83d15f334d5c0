// SPDX-License-Identifier: Apache-2.0
#include "savedfile/description.h"

/* More files than this are not mapped in one process. Some questions go through
 * all of them for each address. */
enum { MAX_MODULES = 1 << 16 };

/* The number of rows of a list. Reading: make room for them; the list is empty,
 * and grows with each row. */
#define CODE_COUNT(c, type, vector, least_bytes, count)                     \
	do {                                                                \
		*(count) = (vector)->size;                                  \
		gr_code_count((c), (count), (least_bytes));                 \
		if (!(c)->is_reading)                                       \
			break;                                              \
		(vector)->size = 0;                                         \
		if (!gr_code_want((c), *(count) * sizeof(*(vector)->data))) \
			*(count) = 0;                                       \
		else if (!type##_reserve((vector), *(count) + 1))           \
			(c)->is_out_of_memory = true;                       \
	} while (0)

/* Row i of a list, which is empty if it is to be read. */
#define CODE_ROW(c, vector, i)                                        \
	({                                                            \
		typeof(&(vector)->data[0]) _row = &(vector)->data[i]; \
		if ((c)->is_reading) {                                \
			memset(_row, 0, sizeof(*_row));               \
			(vector)->size = (i) + 1;                     \
		}                                                     \
		_row;                                                 \
	})

/* A range, by its distance from the one before. */
static void code_range(struct gr_coder *c, uint64_t *at, uint64_t *start,
		       uint64_t *end)
{
	int64_t off = (int64_t)(*start - *at);
	uint64_t bytes = *end - *start;

	gr_code_i64(c, &off);
	gr_code_u64(c, &bytes);
	if (c->is_reading) {
		*start = *at + (uint64_t)off;
		if (!bytes || bytes > UINT64_MAX - *start)
			c->is_bad = true;
		else
			*end = *start + bytes;
	}
	*at = *end;
}

static void code_mappings(struct gr_coder *c, struct gr_mappings *mappings)
{
	uint64_t at = 0;
	size_t count;

	CODE_COUNT(c, gr_mapping_vector, &mappings->list, 5, &count);
	for (size_t i = 0; i < count && gr_code_row(c, i); i++) {
		struct gr_mapping *m = CODE_ROW(c, &mappings->list, i);

		code_range(c, &at, &m->start, &m->end);
		gr_code_u64(c, &m->file_off);
		gr_code_u32(c, &m->flags);
		gr_code_text(c, &m->path);
	}
}

static void code_threads(struct gr_coder *c, struct gr_thread_vector *threads)
{
	size_t count;

	CODE_COUNT(c, gr_thread_vector, threads, GR_REGS_MAX + 5, &count);
	for (size_t i = 0; i < count && gr_code_row(c, i); i++) {
		struct gr_target_thread *thread = CODE_ROW(c, threads, i);
		uint32_t lwp = (uint32_t)thread->lwp;

		gr_code_u32(c, &lwp);
		thread->lwp = (int32_t)lwp;
		for (size_t r = 0; r < GR_REGS_MAX; r++)
			gr_code_u64(c, &thread->regs.value[r]);
		gr_code_u64(c, &thread->regs.fs_base);
		gr_code_u64(c, &thread->regs.call);
		gr_code_bool(c, &thread->regs.is_in_call);
		gr_code_bool(c, &thread->regs.is_partial);
	}
}

static void *make_rows(struct gr_coder *c, size_t count, size_t bytes)
{
	void *rows = NULL;

	if (gr_code_want(c, (count + 1) * bytes)) {
		rows = gr_arena_alloc(c->arena, (count + 1) * bytes);
		c->is_out_of_memory = !rows;
	}
	return rows;
}

static void code_modules(struct gr_coder *c, struct gr_saved *saved)
{
	size_t count = saved->nmodules;

	gr_code_count(c, &count, 4);
	if (count > MAX_MODULES)
		c->is_bad = true;
	if (c->is_reading) {
		saved->modules = make_rows(c, count, sizeof(*saved->modules));
		saved->tables = make_rows(c, count, sizeof(*saved->tables));
		if (!saved->modules || !saved->tables)
			return;
		saved->nmodules = count;
	}
	for (size_t i = 0; i < count && gr_code_row(c, i); i++) {
		struct gr_target_module *module = &saved->modules[i];
		uint64_t table_bytes = saved->tables[i].bytes;

		gr_code_text(c, &module->path);
		gr_code_u64(c, &module->bias);
		gr_code_u64(c, &module->image.size);
		gr_code_u64(c, &table_bytes);
		saved->tables[i].bytes = table_bytes;
		if (!module->path)
			c->is_bad = true;
	}
	if (!saved->nmodules)
		c->is_bad = true;
}

/* Does a range of resident memory lie in its mapping, and behind the range
 * before, if that is of the same one? */
static bool is_range_good(const struct gr_residency *r, size_t i)
{
	const struct gr_resident *range = &r->ranges.data[i];

	if (range->mapping >= r->mappings.list.size)
		return false;
	const struct gr_mapping *m = &r->mappings.list.data[range->mapping];
	if (range->start < m->start || range->end > m->end)
		return false;
	return !i || range[-1].mapping < range->mapping ||
	       (range[-1].mapping == range->mapping &&
		range[-1].end <= range->start);
}

static void code_flags(struct gr_coder *c, struct gr_resident *range)
{
	enum { ANONYMOUS = 1, ZEROS = 2 };
	uint32_t flags = (range->is_anonymous ? ANONYMOUS : 0) |
			 (range->is_zeros ? ZEROS : 0);

	gr_code_u32(c, &flags);
	if (flags > (ANONYMOUS | ZEROS))
		c->is_bad = true;
	range->is_anonymous = flags & ANONYMOUS;
	range->is_zeros = flags & ZEROS;
}

static void code_residency(struct gr_coder *c, struct gr_saved *saved)
{
	struct gr_residency *r = &saved->residency;
	uint32_t kind = r->kind;
	uint64_t at = 0;
	size_t count;

	gr_code_bool(c, &saved->has_residency);
	gr_code_u32(c, &kind);
	if (kind > GR_RESIDENCY_EXACT)
		c->is_bad = true;
	else
		r->kind = kind;
	gr_code_u64(c, &r->swapped_bytes);
	code_mappings(c, &r->mappings);
	CODE_COUNT(c, gr_resident_vector, &r->ranges, 4, &count);
	for (size_t i = 0; i < count && gr_code_row(c, i); i++) {
		struct gr_resident *range = CODE_ROW(c, &r->ranges, i);

		code_range(c, &at, &range->start, &range->end);
		gr_code_u32(c, &range->mapping);
		code_flags(c, range);
		if (!is_range_good(r, i))
			c->is_bad = true;
	}
}

/* The ranges of memory are sorted and apart. */
static void code_memory(struct gr_coder *c, struct gr_range_vector *memory)
{
	uint64_t at = 0, end = 0;
	size_t count;

	CODE_COUNT(c, gr_range_vector, memory, 2, &count);
	for (size_t i = 0; i < count && gr_code_row(c, i); i++) {
		struct gr_range *range = CODE_ROW(c, memory, i);

		code_range(c, &at, &range->start, &range->end);
		if (range->start < end)
			c->is_bad = true;
		end = range->end;
	}
}

void gr_code_description(struct gr_coder *c, struct gr_saved *saved)
{
	uint32_t pid = (uint32_t)saved->pid, kind = saved->origin_kind;

	gr_code_u32(c, &saved->tables_version);
	gr_code_text(c, &saved->origin);
	gr_code_u32(c, &kind);
	if (kind > GR_TARGET_REMOTE)
		c->is_bad = true;
	saved->origin_kind = kind;
	gr_code_text(c, &saved->stop);
	gr_code_text(c, &saved->identity);
	gr_code_text(c, &saved->warning);
	gr_code_i64(c, &saved->time_s);
	gr_code_u32(c, &pid);
	saved->pid = (int32_t)pid;
	gr_code_bool(c, &saved->has_values);
	gr_code_u64(c, &saved->mapped_bytes);
	gr_code_u64(c, &saved->readable_bytes);
	gr_code_u64(c, &saved->missing_bytes);
	gr_code_u64(c, &saved->bad_headers);
	code_mappings(c, &saved->segments);
	code_mappings(c, &saved->files);
	code_threads(c, &saved->threads);
	code_modules(c, saved);
	code_residency(c, saved);
	code_memory(c, &saved->memory);
	if (!saved->origin)
		c->is_bad = true;
}
