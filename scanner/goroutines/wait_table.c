// SPDX-License-Identifier: Apache-2.0
#include "goroutines/wait_table.h"

#include "base/sort.h"
#include "goruntime/sched/channel.h"
#include "naming/locate.h"
#include "scan/goroutine_counts.h"
#include "scan/stop.h"

enum {
	MAX_VARIABLES = 256, /* primitives in data whose variable is found */
	MUTEX_LOCKED = 1,    /* sync/mutex.go: mutexLocked */
	READER_WAIT = 20,    /* in a RWMutex: sync/rwmutex.go */
	LOCK_FRAMES = 8,     /* from gopark() up to RWMutex.Lock */
	COUNTER = 4,	     /* in a WaitGroup, the high half of its state */
};

/** A row of waits, to be sorted. */
struct keyed_row {
	uint64_t object;
	uint32_t row;
	uint8_t kind;
};

void gr_wait_table_deinit(struct gr_wait_table *table)
{
	free(table->primitives);
	free(table->of_row);
	free(table->waiters);
	gr_owner_row_vector_deinit(&table->all);
}

enum gr_lock_class gr_wait_kind_class(uint8_t kind)
{
	switch (kind) {
	case GR_WAIT_MUTEX:
		return GR_LOCK_MUTEX;
	case GR_WAIT_RWMUTEX_READ:
		return GR_LOCK_WRITE;
	case GR_WAIT_RWMUTEX_WRITE:
		return GR_LOCK_READ;
	case GR_WAIT_WAITGROUP:
		return GR_LOCK_GROUP;
	default:
		return GR_NLOCK_CLASSES;
	}
}

enum gr_lock_class gr_primitive_class(const struct gr_primitive *p)
{
	if (p->is_semaphore)
		return GR_LOCK_SLOT;
	if (p->is_pool)
		return GR_LOCK_POOLED;
	return p->is_of_writers ? GR_LOCK_WRITE : gr_wait_kind_class(p->kind);
}

bool gr_wait_kind_is_channel(uint8_t kind)
{
	return kind == GR_WAIT_CHAN_SEND || kind == GR_WAIT_CHAN_RECEIVE ||
	       kind == GR_WAIT_SELECT_SEND || kind == GR_WAIT_SELECT_RECEIVE;
}

/* Does the table have waits of that kind? */
static bool has_primitive(const struct gr_wait *row)
{
	return row->kind == GR_WAIT_NIL_CHAN ||
	       row->kind == GR_WAIT_EMPTY_SELECT ||
	       (row->object && !row->is_woken &&
		(gr_wait_kind_is_channel(row->kind) ||
		 row->kind == GR_WAIT_COND ||
		 gr_wait_kind_class(row->kind) != GR_NLOCK_CLASSES));
}

static uint8_t folded(uint8_t kind)
{
	return kind == GR_WAIT_SELECT_SEND ? GR_WAIT_SELECT_RECEIVE : kind;
}

static int compare_rows(const void *a, const void *b)
{
	const struct keyed_row *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* The runtime's own goroutines wait for work: nobody has to wake them. */
static bool is_users(const struct gr_sched *sched, const struct gr_wait *row)
{
	return row->goroutine < sched->ngoroutines &&
	       !sched->goroutines[row->goroutine].is_system;
}

static struct gr_error *sort_rows(struct gr_sched *sched,
				  struct keyed_row **ret, size_t *count)
{
	const struct gr_waits *waits = sched->waits;
	_cleanup_free_ struct keyed_row *rows =
		calloc(waits->nrows + 1, sizeof(*rows));
	size_t n = 0;

	if (!rows)
		return &gr_enomem;
	for (size_t i = 0; i < waits->nrows; i++) {
		const struct gr_wait *row = &waits->rows[i];

		if (has_primitive(row) && is_users(sched, row))
			rows[n++] = (struct keyed_row){ row->object, i,
							folded(row->kind) };
	}
	struct gr_error *err = gr_sort(rows, n, sizeof(*rows), compare_rows,
				       sched->rt->poll, sched->rt->poll_ctx);
	*count = n;
	*ret = steal_ptr(rows);
	return err;
}

/* Make primitives of sorted rows. A goroutine that waits for one thing twice, as
 * a select with two cases may, is one waiter. */
static void add_rows(struct gr_wait_table *table, const struct keyed_row *rows,
		     size_t n)
{
	struct gr_primitive *p = NULL;

	for (size_t i = 0; i < n; i++) {
		uint32_t g = table->waits->rows[rows[i].row].goroutine;

		if (!i || rows[i].object != rows[i - 1].object ||
		    rows[i].kind != rows[i - 1].kind) {
			p = &table->primitives[table->nprimitives++];
			*p = (struct gr_primitive){
				.object = rows[i].object,
				.around = rows[i].object,
				.kind = rows[i].kind,
				.first_waiter = table->nrows,
			};
		}
		table->of_row[rows[i].row] = p - table->primitives;
		if (p->nwaiters && table->waiters[table->nrows - 1] == g)
			continue;
		table->waiters[table->nrows++] = g;
		p->nwaiters++;
		p->nsenders += table->waits->rows[rows[i].row].kind ==
			       GR_WAIT_SELECT_SEND;
	}
}

// --------------------------------------------------------------------- state

static bool read_u32(struct gr_runtime *rt, uint64_t addr, uint64_t *ret)
{
	struct gr_error *err =
		gr_image_read_uint(rt->image, addr, sizeof(uint32_t), ret);

	bool is_read = !err;
	gr_error_destroy(err);
	return is_read;
}

static void read_state(struct gr_runtime *rt, struct gr_primitive *p)
{
	uint64_t value = 0;

	switch (p->kind) {
	case GR_WAIT_MUTEX:
		p->is_state_known = read_u32(rt, p->object, &value);
		p->is_unlocked = !(value & MUTEX_LOCKED);
		break;
	case GR_WAIT_RWMUTEX_WRITE:
		p->is_state_known =
			read_u32(rt, p->object + READER_WAIT, &value);
		p->count = (int32_t)value;
		break;
	case GR_WAIT_WAITGROUP:
		p->is_state_known = read_u32(rt, p->object + COUNTER, &value);
		p->count = (int32_t)value;
		break;
	default:
		break;
	}
}

/* Does the goroutine wait in RWMutex.Lock, for other writers? */
static bool is_writer(const struct gr_goroutine *g)
{
	for (size_t i = 0; i < g->nframes && i < LOCK_FRAMES; i++)
		if (!strcmp(g->frames[i].func->name, "sync.(*RWMutex).Lock"))
			return true;
	return false;
}

/* Do its waiters wait to send to a full channel of struct{}, or to receive from
 * an empty one of values? */
static struct gr_error *find_slots(struct gr_runtime *rt,
				   struct gr_primitive *p)
{
	struct gr_channel channel;
	struct gr_error *err;

	if (!p->object || !gr_wait_kind_is_channel(p->kind))
		return NULL;
	err = gr_channel_read(rt, p->object, &channel);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	bool sends = p->kind == GR_WAIT_CHAN_SEND || p->nsenders;
	p->is_semaphore = sends && channel.capacity && !channel.elem_bytes &&
			  channel.count == channel.capacity;
	p->is_pool = !sends && channel.capacity && channel.elem_bytes &&
		     !channel.count;
	return NULL;
}

/* Find what the primitive lies in. */
static struct gr_error *find_around(struct gr_stop *stop,
				    struct gr_primitive *p, uint32_t *left)
{
	const struct gr_span *span = gr_heap_span_at(stop->heap, p->object);
	struct gr_located at;

	// Values without pointers share a block of the tiny allocator.
	if (span && gr_span_may_be_tiny(span))
		return NULL;
	if (span && p->object < span->limit_addr) {
		uint32_t i = gr_span_index(span, p->object - span->base_addr);
		p->around = gr_span_slot_addr(span, i) + span->header_bytes;
		return NULL;
	}
	if (!*left || !p->object)
		return NULL;
	--*left;
	struct gr_error *err = gr_stop_locate(stop, p->object, &at);
	if (!err && at.kind == GR_LOCATED_DATA && at.bytes)
		p->around = at.base_addr;
	return err;
}

struct gr_error *gr_wait_table_make(struct gr_stop *stop,
				    struct gr_wait_table *ret)
{
	_cleanup_free_ struct keyed_row *rows = NULL;
	uint32_t variables_left = MAX_VARIABLES;
	size_t n = 0;

	ret->waits = stop->sched.waits;
	struct gr_error *err = sort_rows(&stop->sched, &rows, &n);
	if (err)
		return err;
	ret->primitives = calloc(n + 1, sizeof(*ret->primitives));
	ret->of_row = malloc((ret->waits->nrows + 1) * sizeof(*ret->of_row));
	ret->waiters = calloc(n + 1, sizeof(*ret->waiters));
	if (!ret->primitives || !ret->of_row || !ret->waiters)
		return &gr_enomem;
	for (size_t i = 0; i < ret->waits->nrows; i++)
		ret->of_row[i] = UINT32_MAX;
	add_rows(ret, rows, n);
	for (size_t i = 0; !err && i < ret->nprimitives; i++) {
		struct gr_primitive *p = &ret->primitives[i];
		uint32_t waiter = ret->waiters[p->first_waiter];

		read_state(&stop->program->rt, p);
		p->is_of_writers = p->kind == GR_WAIT_MUTEX &&
				   is_writer(&stop->sched.goroutines[waiter]);
		err = find_slots(&stop->program->rt, p);
		ret->nslots += p->is_semaphore || p->is_pool;
		if (!err)
			err = find_around(stop, p, &variables_left);
		if (!err)
			err = gr_runtime_step(&stop->program->rt, 1);
	}
	return err;
}

struct gr_primitive *gr_wait_table_at(const struct gr_wait_table *table,
				      uint64_t addr)
{
	size_t i = gr_count_before(table->nprimitives, i,
				   table->primitives[i].object < addr);

	return i < table->nprimitives && table->primitives[i].object == addr ?
		       &table->primitives[i] :
		       NULL;
}

struct gr_primitive *gr_wait_table_find(const struct gr_wait_table *table,
					uint64_t object, uint8_t kind)
{
	struct gr_primitive *p = gr_wait_table_at(table, object);
	const struct gr_primitive *end = table->primitives + table->nprimitives;

	for (; p && p < end && p->object == object; p++)
		if (p->kind == kind)
			return p;
	return NULL;
}

struct gr_error *gr_primitive_waited(struct gr_stop *stop,
				     const struct gr_wait_table *table,
				     const struct gr_primitive *p,
				     uint64_t *ret)
{
	const uint32_t *waiters = &table->waiters[p->first_waiter];
	const struct gr_moments *moments;
	struct gr_error *err = gr_stop_moments(stop, &moments);

	*ret = 0;
	for (uint32_t i = 0; !err && i < p->nwaiters; i++) {
		err = gr_runtime_step(&stop->program->rt, 1);
		uint64_t waited = gr_moments_waited(
			moments, stop->sched.goroutines[waiters[i]].waitsince);

		if (waited > *ret)
			*ret = waited;
	}
	return err;
}
