// SPDX-License-Identifier: Apache-2.0
/*
 * Roots from the runtime's own lists: specials of spans (root_specials.c),
 * queued finalizers (runtime/mfinal.go) and cleanups (runtime/mcleanup.go),
 * timers (runtime/time.go), tiny blocks (runtime/malloc.go).
 */
#include "goruntime/roots/lists_internal.h"

#include "base/cleanup.h"

enum {
	SPARE_TIMERS = 1 << 16, /* outside the heap: pollDesc */
	MAX_RECORD_BYTES = 1 << 14,
};

/* The user address space ends here on amd64 and arm64. */
#define MAX_ADDR (UINT64_C(1) << 48)

static void reader_deinit(struct gr_list_reader *r)
{
	gr_owned_deinit(&r->specials);
	gr_owned_deinit(&r->timers);
	gr_number_set_deinit(&r->blocks);
}

struct gr_error *gr_lists_add_value(struct gr_list_reader *r, const char *name,
				    enum gr_root_kind kind, enum gr_tier tier,
				    uint64_t value, bool is_func)
{
	struct gr_root root = {
		.name = gr_arena_intern(r->rt->arena, name, strlen(name)),
		.goroutine = UINT32_MAX,
		.kind = kind,
		.tier = tier,
		.form = GR_ROOT_VALUE,
		.is_func = is_func,
		.type = GR_TYPE_NONE,
		.addr = value,
	};

	if (!value)
		return NULL;
	if (!root.name || !gr_root_list_append(r->list, root))
		return &gr_enomem;
	return NULL;
}

/* The roots from @p first on are what one queued finalizer or cleanup holds. */
static void number_entry(struct gr_list_reader *r, size_t first)
{
	r->queued += first < r->list->size;
	for (size_t i = first; i < r->list->size; i++)
		r->list->data[i].queue_entry = r->queued;
}

/* An entry without an object is a cleanup: Go 1.24 has no other queue for it
 * (runtime/mheap.go: freeSpecial). */
static struct gr_error *read_finalizer(struct gr_list_reader *r,
				       const uint8_t *fin)
{
	const struct gr_layout *layout = &r->rt->layout;
	uint64_t fn = gr_field_word(fin, layout->finalizer.fn);
	uint64_t arg = gr_field_word(fin, layout->finalizer.arg);
	struct gr_error *err;

	if (!arg)
		return gr_lists_add_value(r, "runtime.AddCleanup.fn",
					  GR_ROOT_CLEANUP, GR_TIER_DEFERRED, fn,
					  true);
	err = gr_lists_add_value(r, "runtime.SetFinalizer.fn",
				 GR_ROOT_FINALIZER, GR_TIER_DEFERRED, fn, true);
	if (!err)
		err = gr_lists_add_value(r, "runtime.SetFinalizer.obj",
					 GR_ROOT_FINALIZER, GR_TIER_DEFERRED,
					 arg, false);
	// The record ot describes a pointer to the object.
	if (!err)
		r->list->data[r->list->size - 1].type_addr =
			gr_field_word(fin, layout->finalizer.ot);
	return err;
}

/* Read one block of queued finalizers, whose first cnt entries are set. */
static struct gr_error *read_finblock(struct gr_list_reader *r,
				      const uint8_t *block)
{
	const struct gr_layout *layout = &r->rt->layout;
	uint64_t count = gr_field_uint(block, layout->finblock.cnt) &
			 UINT32_MAX;
	uint64_t stride = layout->finalizer.size_bytes;
	uint64_t most = layout->finblock.fin.bytes / stride;
	struct gr_error *err = NULL;

	// Bounded by the bytes of the block.
	for (uint64_t i = 0; !err && i < count && i < most; i++) {
		size_t first = r->list->size;

		err = read_finalizer(r, block + layout->finblock.fin.off +
						i * stride);
		number_entry(r, first);
	}
	return err;
}

/* Read one block of queued cleanups: funcval pointers or records. */
static struct gr_error *read_cleanup_block(struct gr_list_reader *r,
					   const uint8_t *block, uint64_t addr)
{
	const struct gr_layout *layout = &r->rt->layout;
	uint64_t stride = layout->cleanup_fn.size_bytes ?
				  layout->cleanup_fn.size_bytes :
				  GR_WORD_BYTES;
	uint64_t count = gr_field_uint(block, layout->cleanup_block.n) &
			 UINT32_MAX;
	uint64_t most = layout->cleanup_block.cleanups.bytes / stride;
	struct gr_error *err = NULL;

	// Bounded by the bytes of the block.
	for (uint64_t i = 0; !err && i < count && i < most; i++) {
		uint64_t off = layout->cleanup_block.cleanups.off + i * stride;
		size_t first = r->list->size;

		if (layout->cleanup_fn.size_bytes)
			err = gr_lists_add_cleanup(r, addr + off,
						   layout->cleanup_fn.call,
						   layout->cleanup_fn.fn,
						   layout->cleanup_fn.arg);
		else
			err = gr_lists_add_value(r, "runtime.AddCleanup.fn",
						 GR_ROOT_CLEANUP,
						 GR_TIER_DEFERRED,
						 gr_load_u64(block + off),
						 true);
		number_entry(r, first);
	}
	return err;
}

/*
 * *@p ret is false if the block was read before. Blocks do not overlap, so no
 * two of them begin within the same multiple of their size.
 */
static struct gr_error *claim_block(struct gr_list_reader *r, uint64_t addr,
				    uint64_t bytes, bool *ret)
{
	if (!gr_number_set_add(&r->blocks, addr / bytes, ret))
		return &gr_enomem;
	// One step for each entry that the block may have.
	return gr_runtime_step(r->rt, bytes / GR_WORD_BYTES);
}

/* Blocks of one kind, and what reads one of them. */
struct block_list {
	const char *name;
	uint64_t block_bytes;
	struct gr_field link;
	struct gr_error *(*read)(struct gr_list_reader *r, const uint8_t *block,
				 uint64_t addr);
};

/* Follow a list from the word at @p head and read every block. If a block was
 * read before, stop there and set *@p ret to false. */
static struct gr_error *read_list(struct gr_list_reader *r,
				  const struct block_list *list, uint64_t head,
				  bool *ret)
{
	_cleanup_free_ uint8_t *block = malloc(list->block_bytes);
	struct gr_error *err;
	uint64_t addr;

	*ret = true;
	if (!block)
		return &gr_enomem;
	err = gr_image_read_u64(r->rt->image, head, &addr);
	// Bounded by the memory: blocks that were claimed do not overlap.
	while (!err && addr) {
		err = claim_block(r, addr, list->block_bytes, ret);
		if (err || !*ret)
			break;
		err = gr_image_read(r->rt->image, addr, block,
				    list->block_bytes);
		if (!err)
			err = list->read(r, block, addr);
		addr = gr_field_word(block, list->link);
	}
	return err;
}

/* Read the blocks of a list. All but the first of @p heads may lead into it;
 * those that are 0 are absent. */
static struct gr_error *read_blocks(struct gr_list_reader *r,
				    const struct block_list *list,
				    const uint64_t *heads, size_t nheads)
{
	struct gr_error *err = NULL;
	bool is_broken = false;

	if (!list->block_bytes)
		return NULL;
	if (list->block_bytes > MAX_RECORD_BYTES)
		return &gr_enomem;
	for (size_t i = 0; !err && i < nheads; i++) {
		bool is_new;

		if (!heads[i])
			continue;
		err = read_list(r, list, heads[i], &is_new);
		is_broken |= gr_error_catch(&err, GR_ERROR_FAULT) ||
			     (!i && !is_new);
	}
	gr_number_set_deinit(&r->blocks);
	if (is_broken)
		gr_gap_broken_list(r->rt->gaps, list->name);
	return err;
}

static struct gr_error *read_one_finblock(struct gr_list_reader *r,
					  const uint8_t *block, uint64_t addr)
{
	(void)addr;
	return read_finblock(r, block);
}

static struct gr_error *read_queues(struct gr_list_reader *r)
{
	const struct gr_layout *layout = &r->rt->layout;
	const struct block_list finalizers = {
		.name = "runtime.allfin",
		.block_bytes = layout->finblock.size_bytes,
		.link = layout->finblock.alllink,
		.read = read_one_finblock,
	};
	const struct block_list cleanups = {
		.name = "runtime.gcCleanups",
		.block_bytes = layout->cleanup_block.size_bytes,
		.link = layout->cleanup_block.alllink,
		.read = read_cleanup_block,
	};
	// A search cannot tell which of three equal words is allfin, and as the
	// process goes on, the other two change.
	const uint64_t heads[] = { layout->vars.allfin, layout->vars.finq,
				   layout->vars.finc };
	const uint64_t all =
		layout->vars.gc_cleanups + layout->cleanup_queue.all.off;
	struct gr_error *err;

	if (!layout->finalizer.size_bytes)
		return NULL;
	// A search cannot find the variable of an empty queue; it is 0 then.
	err = read_blocks(r, &finalizers, heads, GR_ARRAY_SIZE(heads));
	if (!err && layout->vars.gc_cleanups &&
	    layout->cleanup_queue.size_bytes)
		err = read_blocks(r, &cleanups, &all, 1);
	return err;
}

/* Return the type of field `name` of @p owner, or GR_TYPE_NONE. */
static gr_type_id field_type(const struct gr_types *types, gr_type_id owner,
			     const char *name)
{
	const struct gr_type_field *field =
		gr_types_field_named(types, owner, name);

	return field ? field->type : GR_TYPE_NONE;
}

/* The timer of a deadline lies in the runtime.pollDesc of a descriptor, outside
 * of the heap; whoever waits for that descriptor is asked for its deadline. */
static struct gr_error *plan_deadline(struct gr_list_reader *r, uint64_t timer)
{
	uint64_t bytes = r->rt->layout.poll_desc.size_bytes;

	if (!bytes || timer < bytes || gr_heap_span_at(r->heap, timer))
		return NULL;
	return gr_image_plan(r->rt->image, timer - bytes, timer + bytes);
}

/* Add a timer in a P's heap: its function, its argument, then the timer. */
static struct gr_error *add_timer(struct gr_list_reader *r, uint64_t timer)
{
	struct gr_runtime *rt = r->rt;
	const struct {
		const char *name;
		struct gr_field at;
		gr_type_id type;
	} parts[] = {
		{ "time.Timer.f", rt->layout.timer.f, r->timer_fields[0] },
		{ "time.Timer.arg", rt->layout.timer.arg, r->timer_fields[1] },
	};
	struct gr_error *err = plan_deadline(r, timer);

	for (size_t i = 0; !err && i < GR_ARRAY_SIZE(parts); i++) {
		err = gr_lists_add_value(r, parts[i].name, GR_ROOT_TIMER,
					 GR_TIER_DEFERRED,
					 timer + parts[i].at.off, false);
		if (err)
			return err;
		struct gr_root *root = &r->list->data[r->list->size - 1];
		root->form = GR_ROOT_REGION;
		root->bytes = parts[i].at.bytes;
		root->type = parts[i].type;
	}
	err = gr_lists_add_value(r, "time.Timer.f", GR_ROOT_TIMER,
				 GR_TIER_DEFERRED, timer, false);
	if (!err)
		r->list->data[r->list->size - 1].type = r->timer;
	return err;
}

static struct gr_error *read_timers(struct gr_list_reader *r, uint64_t p)
{
	const struct gr_layout *layout = &r->rt->layout;
	uint64_t stride = layout->timer_when.size_bytes ?
				  layout->timer_when.size_bytes :
				  GR_WORD_BYTES;
	struct gr_owned_list list = { .all = &r->timers };
	struct gr_go_slice heap;
	struct gr_error *err;
	bool is_ours = true;

	if (layout->p.timer_heap.bytes < 24 || !layout->timer.size_bytes)
		return NULL;
	err = gr_runtime_read_slice(r->rt, p + layout->p.timer_heap.off,
				    r->timers_left, &heap);
	if (!err)
		r->timers_left -= heap.len;
	for (uint64_t i = 0; !err && i < heap.len; i++) {
		uint64_t slot = heap.addr + i * stride, timer;

		err = gr_owned_visit(r->rt, &list, slot, &is_ours);
		if (err)
			return err;
		if (!is_ours || slot % GR_WORD_BYTES)
			return gr_error_fault(slot, stride);
		err = gr_image_read_u64(r->rt->image,
					slot + layout->timer_when.timer.off,
					&timer);
		if (!err && timer >= MAX_ADDR)
			return gr_error_fault(timer, GR_WORD_BYTES);
		if (!err && timer)
			err = add_timer(r, timer);
	}
	return err;
}

/* Read the tiny block that a P is filling (gcMarkTinyAllocs). */
static struct gr_error *read_tiny(struct gr_list_reader *r, uint64_t p)
{
	const struct gr_layout *layout = &r->rt->layout;
	struct gr_error *err;
	uint64_t mcache, tiny;

	err = gr_image_read_u64(r->rt->image, p + layout->p.mcache.off,
				&mcache);
	if (err || !mcache)
		return err;
	err = gr_image_read_u64(r->rt->image, mcache + layout->mcache.tiny.off,
				&tiny);
	return err ? err :
		     gr_lists_add_value(r, "runtime.mcache.tiny", GR_ROOT_TINY,
					GR_TIER_RUNTIME, tiny, false);
}

static bool is_torn(struct gr_list_reader *r, const char *name,
		    struct gr_error **err)
{
	if (!gr_error_catch(err, GR_ERROR_FAULT) &&
	    !gr_error_catch(err, GR_ERROR_FORMAT))
		return false;
	gr_gap_broken_list(r->rt->gaps, name);
	return true;
}

static struct gr_error *find_timer_types(struct gr_list_reader *r)
{
	gr_type_id timer = GR_TYPE_NONE;

	if (r->rt->layout.timer.size_bytes)
		timer = gr_types_known(r->types, GR_NAME_RUNTIME_TIMER);
	r->timer = timer;
	r->timer_fields[0] = field_type(r->types, timer, "f");
	r->timer_fields[1] = field_type(r->types, timer, "arg");
	return gr_types_take_error(r->types);
}

/* Read the timers and the tiny block of every P. */
static struct gr_error *read_ps(struct gr_list_reader *r)
{
	struct gr_error *err = find_timer_types(r);

	if (err)
		return err;
	for (size_t i = 0; i < r->sched->nps; i++) {
		err = read_timers(r, r->sched->ps[i]);
		if (err && !is_torn(r, "timers of a P", &err))
			return err;
		err = read_tiny(r, r->sched->ps[i]);
		if (err && !is_torn(r, "mcache.tiny of a P", &err))
			return err;
		err = gr_runtime_step(r->rt, 1);
		if (err)
			return err;
	}
	return NULL;
}

struct gr_error *gr_roots_read_lists(const struct gr_heap *heap,
				     struct gr_sched *sched,
				     struct gr_root_list *ret,
				     struct gr_sampled_vector *sampled)
{
	_cleanup_(reader_deinit) struct gr_list_reader r = {
		.heap = heap,
		.rt = heap->rt,
		.types = heap->types,
		.sched = sched,
		.list = ret,
		.sampled = sampled,
		.timers_left = (uint64_t)heap->nobjs + SPARE_TIMERS,
	};
	struct gr_error *err = NULL;

	if (sched->nps)
		err = read_ps(&r);
	if (!err)
		err = gr_lists_read_specials(&r);
	if (!err)
		err = read_queues(&r);
	return err;
}
