// SPDX-License-Identifier: Apache-2.0
#include "helpers/trace/outstanding.h"

#include <errno.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "helpers/trace/kernel_event.h"
#include "helpers/trace/stacks.h"

enum {
	BATCH = 4096,
	IDS = GR_KERNEL_STACKS + 1, // 0: no stack
};

/** Functions of the tracing, with which each stack begins. */
static const char *const own_names[] = { "bpf_", "__bpf_", "__traceiter_",
					 "trace_call_bpf" };

/** Functions in which an allocator takes pages. Their blocks count. */
static const char *const allocator_names[] = {
	"allocate_slab",	 "alloc_slab_page",	 "new_slab",
	"___kmalloc_large_node", "__kmalloc_large_node", "kmalloc_large",
	"kmalloc_order",	 "pcpu_alloc_pages",	 "pcpu_populate_chunk",
	"pcpu_create_chunk",
};

/** A stack as the kernel numbers them. */
struct seen {
	uint32_t id; // ours; 0: none
	bool is_known, is_beneath;
};

struct gr_outstanding {
	int blocks_fd, stacks_fd;
	struct gr_kallsyms *names;
	struct gr_stacks *stacks, *places;
	struct seen seen[IDS]; // by bucket + 1
	struct gr_out_kernel sums[GR_KERNEL_KINDS][IDS];
	struct gr_out_kernel told[GR_KERNEL_KINDS * IDS];
	uint64_t keys[BATCH];
	struct gr_kernel_block blocks[BATCH];
};

static struct gr_error *read_names(struct gr_outstanding *o)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");

	if (!file)
		file = fopen("/dev/null", "re");
	if (!file)
		return gr_error_format(GR_ERROR_IO, "/proc/kallsyms: %s",
				       strerror(errno));
	return gr_kallsyms_read(file, &o->names);
}

struct gr_error *gr_outstanding_new(int blocks_fd, int stacks_fd,
				    struct gr_outstanding **ret)
{
	struct gr_outstanding *o = calloc(1, sizeof(*o));

	*ret = o;
	if (!o)
		return &gr_enomem;
	o->blocks_fd = blocks_fd;
	o->stacks_fd = stacks_fd;
	o->stacks = gr_stacks_new(GR_KERNEL_STACKS);
	o->places = gr_stacks_new(GR_MAX_STACKS);
	if (!o->stacks || !o->places)
		return &gr_enomem;
	return read_names(o);
}

void gr_outstanding_destroy(struct gr_outstanding *o)
{
	if (!o)
		return;
	gr_kallsyms_destroy(o->names);
	gr_stacks_destroy(o->stacks);
	gr_stacks_destroy(o->places);
	free(o);
}

bool gr_outstanding_has_names(const struct gr_outstanding *o)
{
	return gr_kallsyms_count(o->names) > 0;
}

// --------------------------------------------------------------------- stacks

static bool begins_with_one_of(const char *text, const char *const *names,
			       size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(text, names[i], strlen(names[i])))
			return true;
	return false;
}

bool gr_outstanding_is_own(const char *function)
{
	return begins_with_one_of(function, own_names,
				  GR_ARRAY_SIZE(own_names));
}

bool gr_outstanding_is_allocator(const char *function)
{
	return begins_with_one_of(function, allocator_names,
				  GR_ARRAY_SIZE(allocator_names));
}

static const char *name_of(const struct gr_outstanding *o, uint64_t pc)
{
	const char *name = gr_kallsyms_find(o->names, pc);

	return name ? name : "";
}

/** Read a stack of the kernel, without the frames of the tracing. */
static struct gr_walked read_stack(const struct gr_outstanding *o,
				   uint32_t bucket)
{
	uint64_t pcs[GR_KERNEL_FRAMES] = { 0 };
	struct gr_walked w = { .count = 0 };
	size_t n = 0, first = 0;

	if (bpf_map_lookup_elem(o->stacks_fd, &bucket, pcs))
		return w;
	while (n < GR_KERNEL_FRAMES && pcs[n])
		pcs[n++]--; // the call, not what follows
	while (first < n && gr_outstanding_is_own(name_of(o, pcs[first])))
		first++;
	w.is_finished = n < GR_KERNEL_FRAMES;
	w.count = n - first;
	memcpy(w.pc, pcs + first, w.count * sizeof(*pcs));
	return w;
}

static void tell_stack(struct gr_outstanding *o, struct gr_reply *out,
		       uint32_t id, const struct gr_walked *w)
{
	struct gr_walked one = { .count = 1 };
	uint32_t place;
	bool is_new;

	for (size_t i = 0; i < w->count; i++) {
		one.pc[0] = w->pc[i];
		if (gr_stacks_intern(o->places, &one, &place, &is_new) &&
		    is_new)
			gr_reply_kernel_place(out, w->pc[i],
					      name_of(o, w->pc[i]));
	}
	gr_reply_kernel_stack(out, id, w);
}

/** Our number for a stack, which is told if it is new. */
static const struct seen *see(struct gr_outstanding *o, struct gr_reply *out,
			      uint32_t stack)
{
	struct seen *s = &o->seen[stack < IDS ? stack : 0];
	bool is_new;

	if (s->is_known || s == &o->seen[0])
		return s;
	s->is_known = true;
	struct gr_walked w = read_stack(o, stack - 1);
	for (size_t i = 0; i < w.count && !s->is_beneath; i++)
		s->is_beneath =
			gr_outstanding_is_allocator(name_of(o, w.pc[i]));
	if (w.count && gr_stacks_intern(o->stacks, &w, &s->id, &is_new) &&
	    is_new)
		tell_stack(o, out, s->id, &w);
	return s;
}

// ----------------------------------------------------------------------- sums

static void add_block(struct gr_outstanding *o, struct gr_reply *out,
		      const struct gr_kernel_block *b)
{
	const struct seen *s = see(o, out, b->stack);
	uint32_t kind = b->kind;

	if (kind == GR_KERNEL_PAGES && s->is_beneath)
		kind = GR_KERNEL_BENEATH;
	if (kind >= GR_KERNEL_KINDS)
		return;
	struct gr_out_kernel *sum = &o->sums[kind][s->id];
	if (!sum->count || b->time_ns < sum->oldest_ns)
		sum->oldest_ns = b->time_ns;
	sum->kind = kind;
	sum->stack = s->id;
	sum->bytes += b->bytes;
	sum->count++;
}

/** Read the whole table, in parts. */
static bool add_all(struct gr_outstanding *o, struct gr_reply *out)
{
	uint32_t at = 0, next = 0;
	bool is_first = true;

	for (uint32_t round = 0; round < GR_KERNEL_BLOCKS; round++) {
		uint32_t n = BATCH;
		int err = bpf_map_lookup_batch(o->blocks_fd,
					       is_first ? NULL : &at, &next,
					       o->keys, o->blocks, &n, NULL);
		bool is_last = err && errno == ENOENT;
		if (err && !is_last)
			return false;
		for (uint32_t i = 0; i < n && i < BATCH; i++)
			add_block(o, out, &o->blocks[i]);
		if (is_last)
			return true;
		at = next;
		is_first = false;
	}
	return false;
}

bool gr_outstanding_tell(struct gr_outstanding *o, struct gr_reply *out)
{
	size_t n = 0;

	memset(o->sums, 0, sizeof(o->sums));
	bool is_whole = add_all(o, out);
	for (size_t kind = 0; kind < GR_KERNEL_KINDS; kind++)
		for (size_t id = 0; id < IDS; id++)
			if (o->sums[kind][id].count)
				o->told[n++] = o->sums[kind][id];
	gr_reply_kernel(out, o->told, n);
	return is_whole;
}
