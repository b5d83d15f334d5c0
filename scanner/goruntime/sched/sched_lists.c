// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/sched_lists.h"

#include "base/chain.h"
#include "base/sort.h"
#include "base/vector.h"

GR_VECTOR(running_vector, struct gr_running);

enum {
	/** The limit if the size of the target is not known. */
	SPARE_RECORDS = 1 << 16,
	ADDRS_A_READ = 512,
	RECORD_STEPS = 4,
};

/* Return a limit for the number of g, m or p. A g is the smallest of them. */
static uint64_t most_records(const struct gr_sched *sched)
{
	return sched->readable_bytes / (sched->rt->layout.g.size_bytes + 1) +
	       SPARE_RECORDS;
}

/* Follow runtime.allm. The list has no stored length and may be torn. */
struct gr_error *gr_sched_read_ms(struct gr_sched *sched)
{
	struct gr_runtime *rt = sched->rt;
	struct gr_addr_vector ms = { 0 };
	struct gr_chain chain = { .limit = most_records(sched) };
	struct gr_error *err;
	uint64_t addr;

	err = gr_image_read_u64(rt->image, rt->layout.vars.allm, &addr);
	while (!err && addr) {
		if (!gr_chain_step(&chain, addr)) {
			gr_gap_broken_list(rt->gaps, "runtime.allm");
			break;
		}
		err = gr_runtime_step(rt, RECORD_STEPS);
		if (!err && !gr_addr_vector_append(&ms, addr))
			err = &gr_enomem;
		if (!err)
			err = gr_image_read_u64(rt->image,
						addr + rt->layout.m.alllink.off,
						&addr);
	}
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		gr_gap_broken_list(rt->gaps, "runtime.allm");
	sched->ms = ms.data;
	sched->nms = ms.size;
	return err;
}

/* Read a slice header. An invalid header counts as a gap and yields an empty
 * slice. */
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

/* Read the pointers of a slice up to the first that cannot be read. */
static struct gr_error *read_pointers(struct gr_runtime *rt,
				      const struct gr_go_slice *slice,
				      enum gr_gap torn,
				      struct gr_addr_vector *ret)
{
	struct gr_error *err;
	uint64_t addrs[ADDRS_A_READ];

	for (uint64_t i = 0; i < slice->len;) {
		uint64_t n = slice->len - i;
		if (n > ADDRS_A_READ)
			n = ADDRS_A_READ;
		err = gr_runtime_step(rt, RECORD_STEPS);
		if (!err)
			err = gr_image_read(rt->image,
					    slice->addr + i * sizeof(uint64_t),
					    addrs, n * sizeof(uint64_t));
		if (gr_error_catch(&err, GR_ERROR_FAULT)) {
			gr_gap_add(rt->gaps, torn, slice->len - i);
			return NULL;
		}
		if (err)
			return err;
		if (!gr_addr_vector_reserve(ret, ret->size + n))
			return &gr_enomem;
		memcpy(ret->data + ret->size, addrs, n * sizeof(uint64_t));
		ret->size += n;
		i += n;
	}
	return NULL;
}

static struct gr_error *read_ps(struct gr_sched *sched)
{
	struct gr_runtime *rt = sched->rt;
	struct gr_addr_vector ps = { 0 };
	struct gr_go_slice slice;

	struct gr_error *err = read_header(rt, "runtime.allp",
					   rt->layout.vars.allp,
					   most_records(sched), &slice);
	if (!err)
		err = read_pointers(rt, &slice, GR_GAP_BROKEN_LISTS, &ps);
	sched->ps = ps.data;
	sched->nps = ps.size;
	return err;
}

/* Compare the length of allgs with allglen, which runtime.allgadd sets last. */
static struct gr_error *check_allgs(struct gr_sched *sched, uint64_t len)
{
	struct gr_runtime *rt = sched->rt;
	struct gr_error *err = NULL;
	uint64_t there = 0;

	if (rt->layout.vars.allglen)
		err = gr_image_read_u64(rt->image, rt->layout.vars.allglen,
					&there);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		there = 0;
	if (there > len && there <= most_records(sched))
		gr_gap_add(rt->gaps, GR_GAP_GOROUTINES_SKIPPED, there - len);
	else if (there > len || !len)
		gr_gap_broken_list(rt->gaps, "runtime.allgs");
	return err;
}

static struct gr_error *read_gs(struct gr_sched *sched,
				struct gr_addr_vector *ret)
{
	struct gr_runtime *rt = sched->rt;
	struct gr_go_slice slice;

	struct gr_error *err = read_header(rt, "runtime.allgs",
					   rt->layout.vars.allgs,
					   most_records(sched), &slice);
	if (!err)
		err = check_allgs(sched, slice.len);
	return err ? err :
		     read_pointers(rt, &slice, GR_GAP_GOROUTINES_SKIPPED, ret);
}

struct gr_error *gr_sched_lists_read(struct gr_sched *sched, uint64_t **gs,
				     size_t *ngs)
{
	struct gr_runtime *rt = sched->rt;
	struct gr_addr_vector list = { 0 };
	struct gr_error *err = gr_sched_read_ms(sched);

	if (!err)
		err = read_ps(sched);
	if (!err)
		err = read_gs(sched, &list);
	// A runtime that has started has at least one thread and one P.
	if (!err && !sched->nms)
		gr_gap_broken_list(rt->gaps, "runtime.allm");
	if (!err && !sched->nps)
		gr_gap_broken_list(rt->gaps, "runtime.allp");
	*gs = list.data;
	*ngs = list.size;
	return err;
}

struct gr_error *gr_sched_read_thread_id(struct gr_runtime *rt, uint64_t addr,
					 int32_t *ret)
{
	uint64_t id = 0;
	struct gr_error *err = gr_image_read_u64(
		rt->image, addr + rt->layout.m.procid.off, &id);

	*ret = gr_error_catch(&err, GR_ERROR_FAULT) ? 0 : (int32_t)id;
	return err;
}

/* Read m.id. */
static struct gr_error *read_m_id(struct gr_runtime *rt, uint64_t m,
				  int64_t *ret)
{
	struct gr_field field = rt->layout.m.id;
	uint64_t id = UINT64_MAX;
	struct gr_error *err = NULL;

	if (gr_field_is_present(field) && field.bytes == sizeof(id))
		err = gr_image_read_u64(rt->image, m + field.off, &id);
	*ret = gr_error_catch(&err, GR_ERROR_FAULT) || id > INT64_MAX ?
		       -1 :
		       (int64_t)id;
	return err;
}

static struct gr_error *note_running(struct gr_runtime *rt, uint64_t m,
				     struct running_vector *ret)
{
	struct gr_running running = { 0 };
	struct gr_error *err = gr_image_read_u64(
		rt->image, m + rt->layout.m.curg.off, &running.g);

	if (gr_error_catch(&err, GR_ERROR_FAULT) || err || !running.g)
		return err;
	err = gr_sched_read_thread_id(rt, m, &running.thread_id);
	if (!err)
		err = read_m_id(rt, m, &running.m_id);
	if (err)
		return err;
	return running_vector_append(ret, running) ? NULL : &gr_enomem;
}

static int by_g(const void *a, const void *b)
{
	const struct gr_running *x = a, *y = b;

	if (x->g != y->g)
		return x->g < y->g ? -1 : 1;
	return (x->thread_id > y->thread_id) - (x->thread_id < y->thread_id);
}

/* Note the threads that did not stop: their goroutines may lack roots. */
static void note_not_stopped(struct gr_runtime *rt)
{
	size_t n;
	const struct gr_target_thread *threads =
		gr_image_threads(rt->image, &n);

	for (size_t i = 0; i < n; i++)
		gr_gap_add(rt->gaps, GR_GAP_THREADS_NOT_STOPPED,
			   threads[i].regs.is_partial);
}

struct gr_error *gr_sched_read_running(struct gr_sched *sched)
{
	struct gr_runtime *rt = sched->rt;
	struct running_vector running = { 0 };
	struct gr_error *err = NULL;

	note_not_stopped(rt);
	for (size_t i = 0; !err && i < sched->nms; i++) {
		err = gr_runtime_step(rt, RECORD_STEPS);
		if (!err)
			err = note_running(rt, sched->ms[i], &running);
	}
	sched->running = running.data;
	sched->nrunning = running.size;
	if (err || !running.size)
		return err;
	return gr_sort(running.data, running.size, sizeof(*running.data), by_g,
		       rt->poll, rt->poll_ctx);
}

const struct gr_running *gr_sched_running(const struct gr_sched *sched,
					  uint64_t addr)
{
	size_t n =
		gr_count_before(sched->nrunning, i, sched->running[i].g < addr);

	return n < sched->nrunning && sched->running[n].g == addr ?
		       &sched->running[n] :
		       NULL;
}
