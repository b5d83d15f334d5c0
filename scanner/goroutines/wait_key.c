// SPDX-License-Identifier: Apache-2.0
#include "goroutines/wait_key.h"

#include "base/sort.h"
#include "base/text.h"
#include "goroutines/goroutine_wait.h"
#include "goroutines/wait_class.h"
#include "goroutines/wait_table.h"
#include "goruntime/sched/waits.h"
#include "graph/keys.h"
#include "scan/answers.h"

#include <inttypes.h>

enum {
	MAX_TEXT_BYTES = 4096,
	MAX_CASES = 16, /* of a select that are written */
	MAX_NAMED = 8,	/* things of a class, up to which they keep names */
};

/** A thing that is waited for in one way. Texts are interned. */
struct thing {
	uint8_t kind;	   /* enum gr_wait_kind */
	const char *path;  /* "" if it may be no name */
	const char *class; /* "" if it is not known */
	const char *type;
};
GR_VECTOR(thing_vector, struct thing);
GR_VECTOR(count_vector, uint32_t);

struct maker {
	struct gr_answers *answers;
	struct gr_wait_keys *ret;
	struct thing_vector things;
	struct gr_keys by_addr;	    /* (address, kind) -> index in things */
	struct gr_keys by_path;	    /* (path, kind) -> index in counts */
	struct gr_keys by_class;    /* (class, kind) -> index in counts */
	struct count_vector counts; /* of things */
	uint32_t *thing_of_row;	    /* UINT32_MAX: it is for nothing known */
};

static void maker_deinit(struct maker *m)
{
	thing_vector_deinit(&m->things);
	gr_keys_deinit(&m->by_addr);
	gr_keys_deinit(&m->by_path);
	gr_keys_deinit(&m->by_class);
	count_vector_deinit(&m->counts);
	free(m->thing_of_row);
}

void gr_wait_keys_deinit(struct gr_wait_keys *keys)
{
	free(keys->of_row);
	gr_label_vector_deinit(&keys->scratch);
	gr_keys_deinit(&keys->counted);
}

// --------------------------------------------------------------------- things

/* May the path be a name? Elements and places in memory have none: there are
 * many of them. */
static bool may_be_name(const char *path)
{
	return !strchr(path, '[') && !strstr(path, "0x");
}

static struct gr_error *name_thing(struct maker *m, const struct gr_wait *wait,
				   struct thing *ret)
{
	struct gr_primitive_name name = { "", "", "", "", "" };
	struct gr_error *err =
		gr_runtime_step(&m->answers->stop->program->rt, 64);

	*ret = (struct thing){ wait->kind, "", "", "" };
	if (!err && wait->object)
		err = gr_wait_find_name(m->answers, wait, true, &name);
	if (!err && wait->object)
		err = gr_wait_class(m->answers, wait, &name, &ret->class);
	if (err)
		return err;
	const char *path = may_be_name(name.path) ? name.path : "";
	ret->path =
		gr_arena_internf(&m->answers->stop->program->arena, "%s", path);
	ret->type = gr_wait_kind_is_channel(wait->kind) ? name.type : "";
	return ret->path ? NULL : &gr_enomem;
}

static struct gr_error *find_thing(struct maker *m, const struct gr_wait *wait,
				   uint32_t *ret)
{
	uint64_t addr = wait->object ? wait->object : wait->key;
	struct thing thing;

	*ret = UINT32_MAX;
	if (!addr)
		return NULL;
	*ret = gr_keys_find(&m->by_addr, addr, wait->kind);
	if (*ret != UINT32_MAX)
		return NULL;
	struct gr_error *err = name_thing(m, wait, &thing);
	if (err)
		return err;
	*ret = m->things.size;
	return thing_vector_append(&m->things, thing) &&
			       gr_keys_add(&m->by_addr, addr, wait->kind,
					   *ret) ?
		       NULL :
		       &gr_enomem;
}

static struct gr_error *find_things(struct maker *m)
{
	const struct gr_waits *waits = m->answers->stop->sched.waits;
	struct gr_error *err = NULL;

	for (size_t i = 0; !err && i < waits->nrows; i++) {
		err = gr_runtime_step(&m->answers->stop->program->rt, 1);
		m->thing_of_row[i] = UINT32_MAX;
		if (!err && !waits->rows[i].is_woken)
			err = find_thing(m, &waits->rows[i],
					 &m->thing_of_row[i]);
	}
	return err;
}

// --------------------------------------------------------------------- labels

/* How many things have that text and that kind; made if it is new. NULL without
 * memory. */
static uint32_t *count_of(struct maker *m, struct gr_keys *keys,
			  const char *text, uint8_t kind)
{
	uint32_t i = gr_keys_find(keys, (uintptr_t)text, kind);

	if (i != UINT32_MAX)
		return &m->counts.data[i];
	i = m->counts.size;
	if (!count_vector_append(&m->counts, 0) ||
	    !gr_keys_add(keys, (uintptr_t)text, kind, i))
		return NULL;
	return &m->counts.data[i];
}

/* A path that leads to several things, as a local variable of many calls does,
 * names none of them. */
static struct gr_error *drop_shared_paths(struct maker *m)
{
	struct thing *things = m->things.data;

	for (size_t i = 0; i < m->things.size; i++) {
		uint32_t *count = count_of(m, &m->by_path, things[i].path,
					   things[i].kind);
		if (!count)
			return &gr_enomem;
		++*count;
	}
	for (size_t i = 0; i < m->things.size; i++)
		if (*count_of(m, &m->by_path, things[i].path, things[i].kind) >
		    1) {
			if (!*things[i].class)
				things[i].class = things[i].path;
			things[i].path = "";
		}
	return NULL;
}

static struct gr_error *count_classes(struct maker *m)
{
	const struct thing *things = m->things.data;

	for (size_t i = 0; i < m->things.size; i++) {
		uint32_t *count = count_of(m, &m->by_class, things[i].class,
					   things[i].kind);
		if (!count)
			return &gr_enomem;
		++*count;
	}
	return NULL;
}

static const char *label_of(struct maker *m, const struct thing *thing)
{
	struct gr_arena *arena = &m->answers->stop->program->arena;
	const char *kind = gr_wait_kind_name(thing->kind);
	bool is_list = *thing->class && *count_of(m, &m->by_class, thing->class,
						  thing->kind) > MAX_NAMED;

	if (*thing->path && !is_list)
		return gr_arena_internf(arena, "%s %s", kind, thing->path);
	if (*thing->class)
		return gr_arena_internf(arena, "%s %s", kind, thing->class);
	if (*thing->type)
		return gr_arena_internf(arena, "%s (%s)", kind, thing->type);
	return gr_arena_internf(arena, "%s", kind);
}

static struct gr_error *make_labels(struct maker *m)
{
	const struct gr_waits *waits = m->answers->stop->sched.waits;
	_cleanup_(gr_label_vector_deinit) struct gr_label_vector labels = { 0 };

	for (size_t i = 0; i < m->things.size; i++) {
		const char *label = label_of(m, &m->things.data[i]);
		struct gr_error *err =
			gr_runtime_step(&m->answers->stop->program->rt, 8);

		if (err)
			return err;
		if (!label || !gr_label_vector_append(&labels, label))
			return &gr_enomem;
	}
	for (size_t i = 0; i < waits->nrows; i++) {
		uint32_t thing = m->thing_of_row[i];

		m->ret->of_row[i] =
			thing == UINT32_MAX ?
				gr_wait_kind_name(waits->rows[i].kind) :
				labels.data[thing];
	}
	return NULL;
}

struct gr_error *gr_wait_keys_make(struct gr_answers *answers,
				   struct gr_wait_keys *ret)
{
	size_t n = answers->stop->sched.waits->nrows;
	_cleanup_(maker_deinit) struct maker m = { .answers = answers,
						   .ret = ret };
	struct gr_error *err;

	ret->sched = &answers->stop->sched;
	ret->of_row = calloc(n + 1, sizeof(*ret->of_row));
	m.thing_of_row = calloc(n + 1, sizeof(*m.thing_of_row));
	if (!ret->of_row || !m.thing_of_row)
		return &gr_enomem;
	err = find_things(&m);
	if (!err)
		err = drop_shared_paths(&m);
	if (!err)
		err = count_classes(&m);
	return err ? err : make_labels(&m);
}

// ----------------------------------------------------------------------- keys

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* A goroutine that has been woken waits for nothing, and is about to run. */
static bool is_woken(const struct gr_waits *waits, size_t index)
{
	uint32_t first = waits->first[index];

	return first < waits->first[index + 1] && waits->rows[first].is_woken;
}

static int compare_addresses(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return ((uintptr_t)*x > (uintptr_t)*y) -
	       ((uintptr_t)*x < (uintptr_t)*y);
}

static int compare_texts(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* The different labels of a goroutine, by address: the cases of a select are in
 * the order of their channels' addresses. */
static struct gr_error *find_labels(struct gr_wait_keys *keys, size_t index)
{
	const struct gr_waits *waits = keys->sched->waits;
	uint32_t first = waits->first[index];
	uint32_t n = waits->first[index + 1] - first;
	struct gr_label_vector *labels = &keys->scratch;
	size_t kept = 0;

	labels->size = 0;
	if (!gr_label_vector_reserve(labels, n))
		return &gr_enomem;
	for (uint32_t i = 0; i < n; i++)
		labels->data[labels->size++] = keys->of_row[first + i];
	struct gr_error *err = gr_sort(labels->data, n, sizeof(*labels->data),
				       compare_addresses, keys->sched->rt->poll,
				       keys->sched->rt->poll_ctx);
	for (uint32_t i = 0; !err && i < n; i++)
		if (!kept || labels->data[kept - 1] != labels->data[i])
			labels->data[kept++] = labels->data[i];
	labels->size = kept;
	return err;
}

struct gr_error *gr_wait_key(struct gr_wait_keys *keys, size_t index,
			     uint64_t *ret)
{
	*ret = 0;
	if (is_woken(keys->sched->waits, index)) {
		*ret = mix(*ret, UINT64_MAX);
		return NULL;
	}
	struct gr_error *err = find_labels(keys, index);
	for (size_t i = 0; !err && i < keys->scratch.size; i++)
		*ret = mix(*ret, (uintptr_t)keys->scratch.data[i]);
	return err;
}

static struct gr_error *count_thing(struct gr_wait_keys *keys,
				    const struct gr_wait *wait, uint32_t group,
				    struct gr_awaited_things *ret)
{
	uint64_t addr = wait->object ? wait->object : wait->key;

	if (!addr || wait->is_woken ||
	    gr_keys_find(&keys->counted, addr, group) != UINT32_MAX)
		return NULL;
	if (!ret->addrs)
		ret->addrs =
			gr_arena_alloc(keys->sched->rt->arena,
				       GR_MAX_AWAITED * sizeof(*ret->addrs));
	if (!ret->addrs || !gr_keys_add(&keys->counted, addr, group, 0))
		return &gr_enomem;
	if (ret->count < GR_MAX_AWAITED)
		ret->addrs[ret->count] = addr;
	ret->count++;
	return NULL;
}

struct gr_error *gr_wait_key_count(struct gr_wait_keys *keys, size_t index,
				   uint32_t group,
				   struct gr_awaited_things *ret)
{
	const struct gr_waits *waits = keys->sched->waits;
	struct gr_error *err = NULL;

	for (uint32_t i = waits->first[index];
	     !err && i < waits->first[index + 1]; i++)
		err = count_thing(keys, &waits->rows[i], group, ret);
	return err;
}

bool gr_awaits_channel(const struct gr_sched *sched, size_t index,
		       uint64_t chan)
{
	const struct gr_waits *waits = sched->waits;

	for (uint32_t i = waits->first[index]; i < waits->first[index + 1]; i++)
		if (waits->rows[i].object == chan && !waits->rows[i].is_woken &&
		    gr_wait_kind_is_channel(waits->rows[i].kind))
			return true;
	return false;
}

static struct gr_error *put_labels(struct gr_wait_keys *keys, size_t index,
				   struct gr_text *text)
{
	struct gr_error *err = find_labels(keys, index);
	const struct gr_label_vector *labels = &keys->scratch;

	if (!err)
		err = gr_sort(labels->data, labels->size, sizeof(*labels->data),
			      compare_texts, keys->sched->rt->poll,
			      keys->sched->rt->poll_ctx);
	for (size_t i = 0; !err && i < labels->size && i < MAX_CASES; i++)
		gr_text_put(text, "%s%s", i ? "; " : "", labels->data[i]);
	if (labels->size > MAX_CASES)
		gr_text_put(text, "; and %zu more", labels->size - MAX_CASES);
	if (!labels->size)
		gr_text_put(text, "nothing");
	return err;
}

struct gr_error *gr_wait_key_text(struct gr_wait_keys *keys, size_t index,
				  const char **ret)
{
	char data[MAX_TEXT_BYTES];
	struct gr_text text = gr_text_begin(data, sizeof(data));
	struct gr_error *err = NULL;

	if (is_woken(keys->sched->waits, index))
		gr_text_put(&text, "nothing any more: woken, and about to run");
	else
		err = put_labels(keys, index, &text);
	if (err)
		return err;
	*ret = gr_arena_intern(keys->sched->rt->arena, data, text.bytes);
	return *ret ? NULL : &gr_enomem;
}
