// SPDX-License-Identifier: Apache-2.0
#include "goruntime/sched/moments.h"

#include "base/cleanup.h"
#include "base/sort.h"

enum {
	MAX_STATS_BYTES = 1 << 17,
	MAX_ENDS = 256, /* memstats.pause_end, and the last one once more */
};

void gr_moments_deinit(struct gr_moments *moments)
{
	free(moments->ends);
	*moments = (struct gr_moments){ .latest = 0 };
}

static void note(struct gr_moments *moments, uint64_t moment)
{
	// Moments are positive numbers of type int64.
	if (moment <= INT64_MAX && moment > moments->latest)
		moments->latest = moment;
}

/* Note a field of 8 bytes of the record at @p addr. */
static struct gr_error *note_field(const struct gr_sched *sched, uint64_t addr,
				   struct gr_field field,
				   struct gr_moments *ret)
{
	uint64_t moment = 0;
	struct gr_error *err = NULL;

	if (addr && field.bytes == sizeof(moment))
		err = gr_image_read_u64(sched->rt->image, addr + field.off,
					&moment);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	note(ret, moment);
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Keep the ends of the last collections. The runtime notes them by the clock on
 * the wall, and the last one by both clocks. If the wall's clock was set in
 * between, an end is too early or too late: too late only makes a wait shorter,
 * and too early is of another collection. */
static void fill_ends(const struct gr_layout *layout, const uint8_t *stats,
		      struct gr_moments *ret)
{
	const typeof(layout->mstats) *f = &layout->mstats;
	uint64_t last = gr_field_uint(stats, f->last_gc_nanotime);
	uint64_t wall = gr_field_uint(stats, f->last_gc_unix);
	size_t n = f->pause_end.bytes / GR_WORD_BYTES;

	if (!last || last > INT64_MAX)
		return;
	ret->ends[ret->nends++] = last;
	for (size_t i = 0; i < n && i < MAX_ENDS; i++) {
		uint64_t end = gr_load_u64(stats + f->pause_end.off +
					   i * GR_WORD_BYTES);

		if (end && end < wall && wall - end < last)
			ret->ends[ret->nends++] = last - (wall - end);
	}
}

static struct gr_error *read_ends(const struct gr_sched *sched,
				  struct gr_moments *ret)
{
	struct gr_runtime *rt = sched->rt;
	uint64_t bytes = rt->layout.mstats.size_bytes;
	_cleanup_free_ uint8_t *stats = NULL;
	struct gr_error *err = NULL;

	ret->ends = calloc(MAX_ENDS + 1, sizeof(*ret->ends));
	if (!ret->ends)
		return &gr_enomem;
	if (!rt->layout.vars.memstats || !bytes || bytes > MAX_STATS_BYTES)
		return NULL;
	stats = malloc(bytes);
	if (!stats)
		return &gr_enomem;
	err = gr_image_read(rt->image, rt->layout.vars.memstats, stats, bytes);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	fill_ends(&rt->layout, stats, ret);
	if (ret->nends)
		note(ret, ret->ends[0]);
	return gr_sort(ret->ends, ret->nends, sizeof(*ret->ends), by_value,
		       rt->poll, rt->poll_ctx);
}

struct gr_error *gr_moments_read(const struct gr_sched *sched,
				 struct gr_moments *ret)
{
	const struct gr_layout *layout = &sched->rt->layout;
	struct gr_error *err;

	*ret = (struct gr_moments){ .latest = 0 };
	err = read_ends(sched, ret);
	if (!err)
		err = note_field(sched, layout->vars.sched,
				 layout->schedt.lastpoll, ret);
	for (size_t i = 0; !err && i < sched->nps; i++) {
		err = gr_runtime_step(sched->rt, 1);
		if (!err)
			err = note_field(sched, sched->ps[i],
					 layout->p.schedwhen, ret);
		if (!err)
			err = note_field(sched, sched->ps[i],
					 layout->p.syscallwhen, ret);
	}
	// A clock of another time namespace may be behind.
	note(ret, sched->clock_ns);
	return err;
}

uint64_t gr_moments_waited(const struct gr_moments *moments, uint64_t waitsince)
{
	size_t i = gr_count_before(moments->nends, j,
				   moments->ends[j] <= waitsince);

	// The first end is that of the collection to which waitsince belongs.
	if (!waitsince || i + 1 >= moments->nends ||
	    moments->latest <= moments->ends[i + 1])
		return 0;
	return moments->latest - moments->ends[i + 1];
}
