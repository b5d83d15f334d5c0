// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_blocks.h"

#include "base/cleanup.h"
#include "base/sort.h"
#include "growth/address_space.h"
#include "growth/block_holders.h"
#include "growth/label_names.h"
#include "growth/mapping_holders.h"
#include "growth/path_goroutines.h"
#include "inferior/elf.h"
#include "scan/enter.h"
#include "scan/graph.h"
#include "scan/native.h"
#include "scan/residency.h"

struct finder {
	struct gr_answers *answers;
	struct gr_runtime *rt;
	struct gr_native *native;
	const struct gr_block_record *records;
	size_t nrecords;
	/* A block that no arena has is freed. */
	bool is_rest_freed;
	struct gr_address_space space;
	struct gr_page_holders holders;
	struct gr_block_holders blocks;
	struct gr_path_goroutines goroutines;
	struct gr_label_names types;
	struct gr_mapped_vector mapped; /* those of rows */
	struct gr_held_mappings mappings;
	struct gr_growth_block_vector rows;
};

GR_DEFINE_CLEANUP(growth_blocks, struct gr_growth_blocks,
		  gr_growth_blocks_destroy)

void gr_growth_blocks_destroy(struct gr_growth_blocks *blocks)
{
	if (blocks)
		free(blocks->rows);
	free(blocks);
}

static void finder_deinit(struct finder *f)
{
	gr_address_space_deinit(&f->space);
	gr_page_holders_deinit(&f->holders);
	gr_block_holders_deinit(&f->blocks);
	gr_path_goroutines_deinit(&f->goroutines);
	gr_label_names_deinit(&f->types);
	gr_mapped_vector_deinit(&f->mapped);
	gr_held_mappings_deinit(&f->mappings);
	gr_growth_block_vector_deinit(&f->rows);
}

static const char *state_name(enum gr_growth_block_state state)
{
	static const char *const names[] = {
#define X(id, name) [GR_GROWTH_BLOCK_##id] = name,
		GR_GROWTH_BLOCK_STATES(X)
#undef X
	};

	return names[state];
}

// -------------------------------------------------------------------- states

/* The block at an address; or the one before it, where an arena may have given
 * away an address inside of it; or GR_BLOCK_NONE. */
static uint32_t block_of(const struct gr_native *native, uint64_t address)
{
	const struct gr_block_vector *list = &native->blocks.list;
	uint32_t block = gr_blocks_from(&native->blocks, address);

	if (block < list->size && list->data[block].addr == address)
		return block;
	if (!block ||
	    !native->arenas.data[list->data[block - 1].arena].aligns_inside)
		return GR_BLOCK_NONE;
	return block - 1;
}

/* The bytes from an address on that the program may use of a block, which
 * begins there or before it. */
static uint64_t usable_from(const struct gr_block *block, uint64_t address)
{
	uint64_t end = block->addr + gr_block_usable_bytes(block);

	return end > address ? end - address : 0;
}

/* The state of a record whose address is in an arena, and its block. */
static enum gr_growth_block_state
judge_in_arena(const struct finder *f, const struct gr_native_range *range,
	       const struct gr_block_record *record, uint32_t *block)
{
	uint64_t usable;

	if (!f->native->arenas.data[range->arena].is_checked ||
	    gr_native_is_foreign(f->native, record->address))
		return GR_GROWTH_BLOCK_UNKNOWN;
	*block = block_of(f->native, record->address);
	if (*block == GR_BLOCK_NONE)
		return GR_GROWTH_BLOCK_FREED;
	usable = usable_from(&f->native->blocks.list.data[*block],
			     record->address);
	return usable && usable >= record->bytes ? GR_GROWTH_BLOCK_IN_USE :
						   GR_GROWTH_BLOCK_FREED;
}

static enum gr_growth_block_state judge(const struct finder *f,
					const struct gr_block_record *record,
					uint32_t *block)
{
	uint64_t addr = record->address;
	const struct gr_native_range *range =
		gr_native_memory_at(f->native, addr);

	if (range)
		return judge_in_arena(f, range, record, block);
	if (f->is_rest_freed ||
	    !gr_native_mapping_at(f->space.residency, addr) ||
	    gr_native_is_spare(f->native, addr))
		return GR_GROWTH_BLOCK_FREED;
	if (addr % GR_PAGE_BYTES || !record->bytes ||
	    gr_address_space_own_end(&f->space, addr) - addr < record->bytes)
		return GR_GROWTH_BLOCK_UNKNOWN;
	return GR_GROWTH_BLOCK_MAPPED;
}

// ---------------------------------------------------------------------- rows

static struct gr_error *describe_block(struct finder *f, uint32_t block,
				       struct gr_growth_block *row)
{
	const struct gr_block *found = &f->native->blocks.list.data[block];
	struct gr_block_facts facts;

	row->bytes = usable_from(found, f->records[row->index].address);
	row->block_bytes = gr_block_bytes(found);
	if (!f->blocks.native)
		return NULL;
	struct gr_error *err = gr_block_holders_find(&f->blocks, block, &facts);
	if (err)
		return err;
	row->is_held = facts.is_held;
	row->is_held_known = facts.is_held_known;
	if (facts.holder != UINT32_MAX)
		row->holder = f->holders.names.data[facts.holder];
	if (facts.is_held)
		row->goroutine_id =
			gr_path_goroutine(&f->goroutines, facts.root);
	return gr_label_name(&f->types, f->answers->stop->program, facts.type,
			     &row->type);
}

/* Note the memory of a record, to look for its holder later. */
static struct gr_error *add_mapped(struct finder *f,
				   const struct gr_block_record *record)
{
	uint64_t end = record->address + record->bytes;
	const struct gr_mapped_pages pages = { .start = record->address,
					       .end = end,
					       .map_start = record->address,
					       .map_end = end };

	return gr_runtime_append(f->rt, gr_mapped_vector, &f->mapped, pages);
}

static uint64_t resident_bytes(const struct finder *f, uint64_t addr,
			       uint64_t bytes)
{
	return bytes > UINT64_MAX - addr ?
		       UINT64_MAX :
		       gr_address_space_resident(&f->space, addr, addr + bytes);
}

static struct gr_error *look_at(struct finder *f, uint32_t index)
{
	const struct gr_block_record *record = &f->records[index];
	uint32_t block = 0;
	enum gr_growth_block_state state = judge(f, record, &block);
	struct gr_growth_block row = { .index = index, .bytes = record->bytes };
	struct gr_error *err = NULL;

	if (state == GR_GROWTH_BLOCK_FREED)
		return NULL;
	row.state = state_name(state);
	if (state == GR_GROWTH_BLOCK_IN_USE)
		err = describe_block(f, block, &row);
	else if (state == GR_GROWTH_BLOCK_MAPPED)
		err = add_mapped(f, record);
	row.resident_bytes = resident_bytes(f, record->address, row.bytes);
	return err ? err :
		     gr_runtime_append(f->rt, gr_growth_block_vector, &f->rows,
				       row);
}

// ------------------------------------------------------------------ mappings

static int by_start(const void *a, const void *b)
{
	const struct gr_mapped_pages *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Name who has a pointer into memory that was mapped: all of the heap is read,
 * if there is any. */
static struct gr_error *name_mapped(struct finder *f)
{
	struct gr_mapped_vector *list = &f->mapped;
	struct gr_error *err = NULL;

	if (!list->size)
		return NULL;
	err = gr_sort(list->data, list->size, sizeof(*list->data), by_start,
		      f->rt->poll, f->rt->poll_ctx);
	if (!err)
		err = gr_mapping_holders_find(&f->holders, list->data,
					      list->size, &f->mappings);
	for (size_t i = 0; !err && i < f->rows.size; i++) {
		struct gr_growth_block *row = &f->rows.data[i];

		err = gr_runtime_step(f->rt, 1);
		if (err || row->state != state_name(GR_GROWTH_BLOCK_MAPPED))
			continue;
		uint32_t holder = gr_mapping_holder_at(
			&f->mappings, f->records[row->index].address);
		row->is_held = row->is_held_known = holder != UINT32_MAX;
		if (row->is_held)
			row->holder = f->holders.names.data[holder];
	}
	return err;
}

// -------------------------------------------------------------------- answer

static bool are_all_checked(const struct gr_native *native)
{
	for (size_t i = 0; i < native->arenas.size; i++)
		if (!native->arenas.data[i].is_checked)
			return false;
	return native->arenas.size > 0;
}

static struct gr_error *prepare(struct finder *f)
{
	struct gr_error *err =
		gr_answers_need_graph(f->answers, GR_PART_NEAREST);

	if (!err)
		err = gr_address_space_init(&f->space, f->answers->stop,
					    f->native);
	if (!err)
		err = gr_page_holders_init(&f->holders, f->answers);
	if (!err)
		err = gr_block_holders_init(&f->blocks, &f->holders);
	return err ? err : gr_path_goroutines_init(&f->goroutines, f->answers);
}

static struct gr_error *find_all(struct finder *f)
{
	struct gr_error *err = prepare(f);

	for (size_t i = 0; !err && i < f->nrecords; i++) {
		err = look_at(f, (uint32_t)i);
		if (!err)
			err = gr_runtime_step(f->rt, 2);
	}
	return err ? err : name_mapped(f);
}

static struct gr_error *answer(struct finder *f, bool are_walked,
			       struct gr_growth_blocks *blocks)
{
	struct gr_stop *stop = f->answers->stop;
	struct gr_error *err = gr_stop_native(stop, &f->native);

	f->rt = &stop->program->rt;
	blocks->is_known = !err && f->native;
	if (blocks->is_known) {
		f->is_rest_freed = are_walked && are_all_checked(f->native);
		err = find_all(f);
	}
	if (err)
		return err;
	blocks->nrows = f->rows.size;
	blocks->rows = steal_ptr(f->rows.data);
	f->rows.size = f->rows.capacity = 0;
	blocks->gaps = f->answers->graph_gaps;
	return NULL;
}

struct gr_error *gr_scan_growth_blocks(struct gr_scan *scan,
				       const struct gr_block_record *records,
				       size_t nrecords, bool are_walked,
				       struct gr_growth_blocks **ret)
{
	_cleanup_(gr_cleanup_growth_blocks) struct gr_growth_blocks *found =
		calloc(1, sizeof(*found));
	_cleanup_(finder_deinit) struct finder f = { .records = records,
						     .nrecords = nrecords };
	struct gr_sigbus_guard guard;

	if (!found)
		return &gr_enomem;
	struct gr_error *err = gr_scan_enter(scan, &guard, &f.answers);
	if (!err && nrecords > UINT32_MAX)
		err = gr_error_format(GR_ERROR_ARGUMENT, "too many blocks");
	if (!err)
		err = answer(&f, are_walked, found);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(found);
	return err;
}
