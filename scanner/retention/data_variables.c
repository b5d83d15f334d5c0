// SPDX-License-Identifier: Apache-2.0
#include "retention/data_variables.h"

#include "base/sort.h"
#include "goruntime/heap/heap.h"
#include "goruntime/layout/names.h"

#include <inttypes.h>

enum { VARIABLE_STEPS = 4 };

void gr_data_variables_deinit(struct gr_data_variables *variables)
{
	gr_data_variable_vector_deinit(&variables->own);
	gr_data_variable_vector_deinit(&variables->pointed);
	gr_data_variable_vector_deinit(&variables->in_heap);
}

/* Append a row of @p count values, unless they are no memory. */
static struct gr_error *append(const struct gr_types *types,
			       struct gr_data_variable_vector *list,
			       struct gr_data_variable row, uint64_t count)
{
	uint64_t bytes;

	row.around = list->size; // to sort by; see nest()
	if (__builtin_mul_overflow(gr_types_get(types, row.type)->size_bytes,
				   count, &bytes) ||
	    __builtin_add_overflow(row.start, bytes, &row.end) || !bytes)
		return NULL;
	return gr_data_variable_vector_append(list, row) ? NULL : &gr_enomem;
}

/* A file may lack the word, and damaged memory has none: it is 0 then. */
static uint64_t read_word(struct gr_runtime *rt, uint64_t addr)
{
	uint64_t value = 0;
	struct gr_error *err = gr_image_read_u64(rt->image, addr, &value);
	bool is_read = !err;

	gr_error_destroy(err);
	return is_read ? value : 0;
}

/* Add the memory that a variable of that type points to. */
static struct gr_error *add_pointed(struct gr_heap *heap,
				    struct gr_data_variables *ret,
				    const struct gr_data_variable *variable)
{
	const struct gr_type *t = gr_types_get(heap->types, variable->type);
	bool is_channel = t->kind == GR_KIND_CHAN;
	struct gr_data_variable row = {
		.name = variable->name,
		.start = read_word(heap->rt, variable->start),
		.type = is_channel ? variable->type : t->elem,
		.is_slice = t->kind == GR_KIND_SLICE,
	};
	bool is_in_heap = gr_heap_span_at(heap, row.start);

	if (!row.start || row.type == GR_TYPE_NONE ||
	    (is_channel && !is_in_heap))
		return NULL;
	return append(
		heap->types, is_in_heap ? &ret->in_heap : &ret->pointed, row,
		row.is_slice ? read_word(heap->rt, variable->start + 8) : 1);
}

/* Add a variable; if it is a pointer, a slice or a channel, then also the memory
 * behind it, unless the runtime points there: that is no name. */
static struct gr_error *add(struct gr_heap *heap, struct gr_data_variables *ret,
			    const struct gr_data_variable *variable)
{
	uint8_t kind = gr_types_get(heap->types, variable->type)->kind;
	struct gr_error *err = append(heap->types, &ret->own, *variable, 1);

	if (err || gr_name_is_in_runtime(variable->name) ||
	    (kind != GR_KIND_PTR && kind != GR_KIND_SLICE &&
	     kind != GR_KIND_CHAN))
		return err;
	return add_pointed(heap, ret, variable);
}

static struct gr_error *add_module(struct gr_heap *heap,
				   const struct gr_module *m,
				   struct gr_data_variables *ret)
{
	size_t count = 0;
	const struct gr_dwarf_variable *v =
		m->dwarf ? gr_dwarf_variables(m->dwarf, &count) : NULL;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < count; i++) {
		const struct gr_data_variable variable = {
			.name = v[i].name,
			.start = v[i].addr + m->bias,
			.type = gr_types_from_dwarf(heap->types, m, v[i].type),
		};

		if (variable.type != GR_TYPE_NONE)
			err = add(heap, ret, &variable);
		if (!err)
			err = gr_runtime_step(heap->rt, VARIABLE_STEPS);
	}
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct gr_data_variable *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	// The last of equal rows is found first: that is the first variable.
	return (x->around < y->around) - (x->around > y->around);
}

/* Set `around`. Rows are sorted: one that has ended encloses nothing later, so
 * that all rows are passed once. */
static struct gr_error *nest(struct gr_runtime *rt,
			     struct gr_data_variable_vector *list)
{
	struct gr_data_variable *rows = list->data;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < list->size; i++) {
		uint32_t around = i ? (uint32_t)i - 1 : UINT32_MAX;

		while (around != UINT32_MAX &&
		       rows[around].end <= rows[i].start)
			around = rows[around].around;
		rows[i].around = around;
		err = gr_runtime_step(rt, 1);
	}
	return err;
}

struct gr_error *gr_data_variables_make(struct gr_heap *heap,
					struct gr_data_variables *ret)
{
	struct gr_data_variable_vector *const lists[] = { &ret->own,
							  &ret->pointed,
							  &ret->in_heap };
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < heap->rt->nmodules; i++)
		err = add_module(heap, &heap->rt->modules[i], ret);
	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(lists); i++) {
		err = gr_sort(lists[i]->data, lists[i]->size,
			      sizeof(*lists[i]->data), by_start, heap->rt->poll,
			      heap->rt->poll_ctx);
		if (!err)
			err = nest(heap->rt, lists[i]);
	}
	return err;
}

/* The row at index @p at, or the first one around it, that has the byte. */
static const struct gr_data_variable *
first_with(const struct gr_data_variable_vector *list, uint32_t at,
	   uint64_t addr)
{
	for (int i = 0; i < GR_MAX_NESTED_VARIABLES && at != UINT32_MAX; i++) {
		const struct gr_data_variable *row = &list->data[at];

		if (addr < row->end)
			return row;
		at = row->around;
	}
	return NULL;
}

const struct gr_data_variable *
gr_data_variable_find(const struct gr_data_variable_vector *list, uint64_t addr)
{
	size_t n = gr_count_before(list->size, i, list->data[i].start <= addr);

	return first_with(list, n ? (uint32_t)n - 1 : UINT32_MAX, addr);
}

const struct gr_data_variable *
gr_data_variable_around(const struct gr_data_variable_vector *list,
			const struct gr_data_variable *row, uint64_t addr)
{
	return first_with(list, row->around, addr);
}

uint64_t gr_data_variable_put(const struct gr_types *types,
			      const struct gr_data_variable *row, uint64_t addr,
			      struct gr_text *text)
{
	uint64_t bytes = gr_types_get(types, row->type)->size_bytes;
	uint64_t off = addr - row->start;

	gr_text_put(text, "%s", row->name);
	if (!row->is_slice)
		return off;
	gr_text_put(text, "[%" PRIu64 "]", off / bytes);
	return off % bytes;
}

const struct gr_data_variable *
gr_data_variables_at(const struct gr_data_variables *variables, uint64_t addr)
{
	const struct gr_data_variable *own =
		gr_data_variable_find(&variables->own, addr);

	return own ? own : gr_data_variable_find(&variables->pointed, addr);
}
