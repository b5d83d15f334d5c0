// SPDX-License-Identifier: Apache-2.0
/*
 * The owners of what goroutines wait for, the likeliest first. An owner that
 * neither the runtime nor the code proves is a guess, which its rank orders
 * (enum gr_owner_rank).
 */
#include "goroutines/locks/owner_list.h"

#include "base/sort.h"
#include "goruntime/layout/runtime.h"

static bool is_likelier(const struct gr_owner *a, const struct gr_owner *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a->is_proven != b->is_proven)
		return a->is_proven;
	if (a->is_pointer != b->is_pointer)
		return a->is_pointer;
	return a->goroutine < b->goroutine;
}

static void remove_owner(struct gr_primitive *p, uint32_t i)
{
	memmove(&p->owners[i], &p->owners[i + 1],
		(p->nowners - i - 1) * sizeof(*p->owners));
	p->nowners--;
}

static void insert(struct gr_primitive *p, const struct gr_owner *owner)
{
	uint32_t i = 0;

	while (i < p->nowners && p->owners[i].goroutine != owner->goroutine)
		i++;
	if (i < p->nowners) {
		if (!is_likelier(owner, &p->owners[i]))
			return;
		remove_owner(p, i);
	}
	for (i = p->nowners; i > 0 && is_likelier(owner, &p->owners[i - 1]);)
		i--;
	if (i == GR_MAX_OWNERS)
		return;
	if (p->nowners == GR_MAX_OWNERS)
		p->nowners--;
	memmove(&p->owners[i + 1], &p->owners[i],
		(p->nowners - i) * sizeof(*p->owners));
	p->owners[i] = *owner;
	p->nowners++;
}

static void keep(struct gr_wait_table *table, struct gr_primitive *p,
		 const struct gr_owner *owner)
{
	const struct gr_owner_row row = { p - table->primitives, *owner };
	struct gr_owner_row *last = p->row ? &table->all.data[p->row - 1] :
					     NULL;

	if (last && last->owner.goroutine == owner->goroutine) {
		if (is_likelier(owner, &last->owner))
			last->owner = *owner;
		return;
	}
	if (gr_owner_row_vector_append(&table->all, row))
		p->row = table->all.size;
}

void gr_owner_add(struct gr_wait_table *table, struct gr_primitive *p,
		  const struct gr_owner *owner)
{
	uint32_t seen = owner->goroutine + 1;

	p->nreaching += p->seen != seen;
	p->seen = seen;
	if (owner->rank >= GR_OWNER_ALONE) {
		p->nlikely += p->seen_likely != seen;
		p->seen_likely = seen;
	}
	insert(p, owner);
	if (table->keeps_all)
		keep(table, p, owner);
}

bool gr_primitive_is_shared(const struct gr_primitive *p)
{
	return p->kind == GR_WAIT_RWMUTEX_WRITE ||
	       p->kind == GR_WAIT_WAITGROUP || p->is_semaphore || p->is_pool;
}

/* Does one owner leave no room for others? */
static bool has_sole_owner(const struct gr_primitive *p)
{
	return !gr_primitive_is_shared(p) && p->nowners &&
	       p->owners[0].is_proven;
}

/* Does something speak for a second owner of what only one can have? Then the
 * code does not prove the first one. The runtime does. */
static bool is_contradicted(const struct gr_primitive *p)
{
	return has_sole_owner(p) && p->owners[0].rank < GR_OWNER_EXACT &&
	       p->owners[0].rank > GR_OWNER_ALONE && p->nowners > 1 &&
	       p->owners[1].rank >= GR_OWNER_MAY;
}

static void unprove(struct gr_owner *owner)
{
	owner->is_proven &= owner->rank == GR_OWNER_EXACT;
}

static void demote(struct gr_owner *owner)
{
	if (!owner->is_proven && owner->rank > GR_OWNER_REACHES)
		owner->rank = GR_OWNER_REACHES;
}

static int compare_rows(const void *a, const void *b)
{
	const struct gr_owner_row *x = a, *y = b;

	if (x->primitive != y->primitive)
		return x->primitive < y->primitive ? -1 : 1;
	return is_likelier(&x->owner, &y->owner) ? -1 : 1;
}

static struct gr_error *sort_all(struct gr_runtime *rt,
				 struct gr_wait_table *table)
{
	struct gr_owner_row_vector *all = &table->all;
	struct gr_error *err;

	for (size_t i = 0; i < all->size; i++) {
		const struct gr_primitive *p =
			&table->primitives[all->data[i].primitive];

		if (p->is_contradicted)
			unprove(&all->data[i].owner);
		else if (has_sole_owner(p))
			demote(&all->data[i].owner);
	}
	err = gr_sort(all->data, all->size, sizeof(*all->data), compare_rows,
		      rt->poll, rt->poll_ctx);
	for (size_t i = all->size; !err && i > 0; i--)
		table->primitives[all->data[i - 1].primitive].row = i;
	return err;
}

struct gr_error *gr_owners_settle(struct gr_runtime *rt,
				  struct gr_wait_table *table)
{
	for (size_t i = 0; i < table->nprimitives; i++) {
		struct gr_primitive *p = &table->primitives[i];

		p->is_contradicted = is_contradicted(p);
		for (uint32_t j = 0; p->is_contradicted && j < p->nowners; j++)
			unprove(&p->owners[j]);
		if (!has_sole_owner(p))
			continue;
		p->nlikely = 0;
		for (uint32_t j = 0; j < p->nowners; j++) {
			demote(&p->owners[j]);
			p->nlikely += p->owners[j].is_proven;
		}
	}
	return sort_all(rt, table);
}

const struct gr_owner *gr_owner_of(const struct gr_wait_table *table,
				   const struct gr_primitive *p, size_t i)
{
	size_t row = p->row + i;

	if (!p->row || !table->keeps_all)
		return i < p->nowners ? &p->owners[i] : NULL;
	if (row > table->all.size ||
	    &table->primitives[table->all.data[row - 1].primitive] != p)
		return NULL;
	return &table->all.data[row - 1].owner;
}
