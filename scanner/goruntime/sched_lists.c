// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched_lists.h"

#include "base/vector.h"

enum {
	MAX_GOROUTINES = 1 << 28,
	MAX_MS = 1 << 20,
	MAX_PS = 1 << 20,
	ADDRS_A_READ = 512,
};

GR_VECTOR(addr_vector, uint64_t);

/* Follow runtime.allm; the list is of unknown length and may be torn. */
static struct gr_error *read_ms(struct gr_runtime *rt)
{
	struct addr_vector ms = { 0 };
	struct gr_error *err;
	uint64_t addr, hare_mark = 0, next_mark = 1;

	err = gr_image_read_u64(rt->image, rt->layout.vars.allm, &addr);
	while (!err && addr) {
		/* Brent: a list that comes back to the mark is a loop. */
		if (addr == hare_mark || ms.size == MAX_MS) {
			gr_gap_broken_list(rt->gaps, "runtime.allm");
			break;
		}
		if (ms.size == next_mark) {
			hare_mark = addr;
			next_mark *= 2;
		}
		if (!addr_vector_append(&ms, addr)) {
			err = &gr_enomem;
			break;
		}
		err = gr_image_read_u64(rt->image,
					addr + rt->layout.m.alllink.off, &addr);
	}
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		gr_gap_broken_list(rt->gaps, "runtime.allm");
	rt->ms = ms.data;
	rt->nms = ms.size;
	return err;
}

/* A slice that is no slice is empty, and a gap. */
static struct gr_error *read_header(struct gr_runtime *rt, const char *name,
				    uint64_t var, uint64_t max_len,
				    struct gr_go_slice *ret)
{
	struct gr_error *err = gr_runtime_read_slice(rt, var, max_len, ret);

	if (gr_error_catch(&err, GR_ERROR_FORMAT) ||
	    gr_error_catch(&err, GR_ERROR_FAULT)) {
		memset(ret, 0, sizeof(*ret));
		gr_gap_broken_list(rt->gaps, name);
	}
	return err;
}

/* The pointers of a slice, as far as they can be read. */
static struct gr_error *read_pointers(struct gr_runtime *rt,
				      const struct gr_go_slice *slice,
				      enum gr_gap torn, struct addr_vector *ret)
{
	struct gr_error *err;
	uint64_t addrs[ADDRS_A_READ];

	for (uint64_t i = 0; i < slice->len;) {
		uint64_t n = slice->len - i;
		if (n > ADDRS_A_READ)
			n = ADDRS_A_READ;
		err = gr_image_read(rt->image,
				    slice->addr + i * sizeof(uint64_t), addrs,
				    n * sizeof(uint64_t));
		if (gr_error_catch(&err, GR_ERROR_FAULT)) {
			gr_gap_add(rt->gaps, torn, slice->len - i);
			return NULL;
		}
		if (err)
			return err;
		if (!addr_vector_reserve(ret, ret->size + n))
			return &gr_enomem;
		memcpy(ret->data + ret->size, addrs, n * sizeof(uint64_t));
		ret->size += n;
		i += n;
	}
	return NULL;
}

static struct gr_error *read_ps(struct gr_runtime *rt)
{
	struct addr_vector ps = { 0 };
	struct gr_go_slice slice;

	struct gr_error *err = read_header(
		rt, "runtime.allp", rt->layout.vars.allp, MAX_PS, &slice);
	if (!err)
		err = read_pointers(rt, &slice, GR_GAP_BROKEN_LISTS, &ps);
	rt->ps = ps.data;
	rt->nps = ps.size;
	return err;
}

/* The length of allgs is there twice: runtime.allgadd sets allglen last. */
static struct gr_error *check_allgs(struct gr_runtime *rt, uint64_t len)
{
	struct gr_error *err = NULL;
	uint64_t there = 0;

	if (rt->layout.vars.allglen)
		err = gr_image_read_u64(rt->image, rt->layout.vars.allglen,
					&there);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		there = 0;
	if (there > len && there <= MAX_GOROUTINES)
		gr_gap_add(rt->gaps, GR_GAP_GOROUTINES_SKIPPED, there - len);
	else if (there > len || !len)
		gr_gap_broken_list(rt->gaps, "runtime.allgs");
	return err;
}

static struct gr_error *read_gs(struct gr_runtime *rt, struct addr_vector *ret)
{
	struct gr_go_slice slice;

	struct gr_error *err = read_header(rt, "runtime.allgs",
					   rt->layout.vars.allgs,
					   MAX_GOROUTINES, &slice);
	if (!err)
		err = check_allgs(rt, slice.len);
	return err ? err :
		     read_pointers(rt, &slice, GR_GAP_GOROUTINES_SKIPPED, ret);
}

struct gr_error *gr_sched_lists_read(struct gr_runtime *rt, uint64_t **gs,
				     size_t *ngs)
{
	struct addr_vector list = { 0 };
	struct gr_error *err = read_ms(rt);

	if (!err)
		err = read_ps(rt);
	if (!err)
		err = read_gs(rt, &list);
	// A runtime that has begun has a thread and a P.
	if (!err && !rt->nms)
		gr_gap_broken_list(rt->gaps, "runtime.allm");
	if (!err && !rt->nps)
		gr_gap_broken_list(rt->gaps, "runtime.allp");
	*gs = list.data;
	*ngs = list.size;
	return err;
}
