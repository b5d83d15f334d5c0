// SPDX-License-Identifier: Apache-2.0
/* Containers: dispatch; channels; hash tries. */
#include "mark/container.h"

#include "base/chain.h"
#include "goruntime/sched/sudog.h"
#include "mark/visit.h"

enum {
	WAITER_STEPS = 16,   /* of the walk, at most */
	MAX_TRIE_DEPTH = 17, /* 64 bits of hash, 4 a level, and the root */
	MAX_TRIE_CHAIN = 1 << 20,
};

uint64_t gr_walk_header_bytes(struct gr_walk *w, gr_type_id id)
{
	const struct gr_type *type = gr_types_get(w->types, id);
	const struct gr_layout *layout = &w->rt->layout;

	switch (type->kind) {
	case GR_KIND_MAP:
		return layout->swiss_map.size_bytes ?
			       layout->swiss_map.size_bytes :
			       layout->hmap.size_bytes;
	case GR_KIND_CHAN:
		return layout->hchan.size_bytes;
	default:
		return GR_TRIE_INDIRECT_BYTES;
	}
}

/*
 * Count a piece of a container; the container's own code walks its contents.
 * Nearly all pieces are new; visit.c handles the others.
 */
static void visit_piece(struct gr_container *c, uint64_t addr)
{
	struct gr_referent to = gr_referent_untyped(c->type);
	struct gr_walk *w = c->w;
	struct gr_spot at;

	gr_walk_tick(w, 1);
	if (!gr_heap_spot(w->heap, addr, &at) || at.kind->is_noscan ||
	    w->m.states[at.obj] != c->origin->quick_state) {
		to.is_container = true;
		gr_walk_visit_slowly(w, c->origin, addr, &to, 0, c->scope,
				     GR_STEP_SELF);
		return;
	}
	uint64_t page = gr_spot_page(&at, addr)->scan_page;
	uint64_t in_page = addr & (GR_HEAP_PAGE_BYTES - 1);
	uint32_t node = gr_walk_count(w, at.obj, at.kind->elem_bytes, 0,
				      c->type, c->scope, GR_STEP_SELF);
	gr_total_add(c->origin->row, at.kind->elem_bytes);
	if (GR_UNLIKELY(w->m.parents != NULL))
		node = gr_walk_note_parent(w, c->origin, at.obj,
					   c->type | GR_LABEL_DATA, c->type,
					   node);
	gr_walk_note_unexplained(
		w, page * GR_PAGE_WORDS + in_page / GR_WORD_BYTES, node);
}

uint64_t gr_container_take(struct gr_container *c,
			   const struct gr_container_part *from,
			   uint64_t off_bytes)
{
	uint64_t addr;

	if (!from->host || off_bytes > from->bytes ||
	    from->bytes - off_bytes < GR_WORD_BYTES ||
	    !gr_bitmap_take(c->w->pending,
			    from->word + off_bytes / GR_WORD_BYTES))
		return 0;
	addr = gr_load_u64(from->host + off_bytes);
	if (addr)
		visit_piece(c, addr);
	return addr;
}

void gr_container_drop_done(struct gr_container *c,
			    const struct gr_container_part *piece,
			    uint64_t nwords)
{
	uint64_t left = piece->bytes / GR_WORD_BYTES;

	gr_walk_drop_done(c->w, piece->host, piece->word,
			  nwords < left ? nwords : left);
}

void gr_container_finish(struct gr_container *c,
			 const struct gr_container_part *piece)
{
	struct gr_masked_vector *masked = &c->w->masked;

	if (!gr_walk_drop_done(c->w, piece->host, piece->word,
			       piece->bytes / GR_WORD_BYTES) &&
	    masked->size > c->first_note &&
	    masked->data[masked->size - 1].word == piece->word)
		masked->size--;
}

struct gr_container_part
gr_container_follow(struct gr_container *c,
		    const struct gr_container_part *from, uint64_t off_bytes)
{
	struct gr_container_part to = { 0 };
	uint64_t addr = gr_container_take(c, from, off_bytes);

	if (!addr || !gr_walk_locate(c->w, addr, &to.host, &to.word, &to.bytes))
		to.host = NULL;
	return to;
}

struct gr_scope *gr_container_scope(struct gr_container *c, gr_type_id type,
				    uint32_t part)
{
	struct gr_scope *scope = &c->values[part % 2];

	if (scope->plan)
		return scope;
	*scope = (struct gr_scope){
		.node = GR_NODE_NONE,
		.key = type,
		.plan = gr_walk_type_plan(c->w, type),
		.up = &c->parts,
		.up_step = part,
	};
	gr_walk_open_scope(c->w, scope);
	return scope;
}

/* Go to the next waiter of a queue. False: the queue is cyclic or too long,
 * because a sudog is in one queue only. */
static bool next_waiter(struct gr_walk *w, struct gr_chain *chain,
			uint64_t sudog)
{
	gr_walk_tick(w, WAITER_STEPS);
	if (!w->waiters_left || !gr_chain_step(chain, sudog))
		return false;
	w->waiters_left--;
	return true;
}

/* Mark the sudogs that wait on a channel as objects of the scheduler. */
static void set_waiters(struct gr_walk *w, uint64_t sudog)
{
	struct gr_chain chain = { .limit = w->heap->nobjs };
	const struct gr_span *span;
	struct gr_sudog waiter;
	const uint8_t *host;
	uint64_t word, bytes;

	while (sudog && !w->err) {
		gr_obj obj = gr_heap_object_at(w->heap, sudog, &span);
		if (obj == GR_OBJ_NONE || !next_waiter(w, &chain, sudog) ||
		    !gr_walk_locate(w, sudog, &host, &word, &bytes) ||
		    bytes < w->rt->layout.sudog.size_bytes) {
			gr_gap_add(w->rt->gaps, GR_GAP_BROKEN_CONTAINERS, 1);
			return;
		}
		w->m.states[obj] |= GR_OBJECT_SCHEDULER;
		gr_walk_note_read(w, host, w->rt->layout.sudog.size_bytes);
		gr_sudog_load(&w->rt->layout, sudog, host, &waiter);
		sudog = waiter.next;
	}
}

/* Run the value of a blocked sender, which is on its stack or in the heap. */
static void run_sender(struct gr_container *c, struct gr_scope *list,
		       uint64_t addr, gr_type_id elem, uint64_t i)
{
	struct gr_walk *w = c->w;
	struct gr_container_part at;
	struct gr_scope value = {
		.node = GR_NODE_NONE,
		.key = elem,
		.plan = gr_type_plan_get(&w->plans, elem),
		.up = list,
		.up_step = i < GR_NELEMENT_NAMES - 1 ? i :
						       GR_NELEMENT_NAMES - 1,
	};

	if (gr_heap_span_at(w->heap, addr)) {
		gr_walk_visit(w, c->origin, addr, gr_walk_referent(w, elem), 0,
			      &value, GR_STEP_SELF);
		return;
	}
	if (value.plan &&
	    gr_walk_locate(w, addr, &at.host, &at.word, &at.bytes) &&
	    value.plan->size_bytes <= at.bytes)
		gr_walk_run_value(w, c->origin, &value, at.host, at.word);
}

static void run_senders(struct gr_container *c, struct gr_scope *list,
			uint64_t sudog, gr_type_id elem, uint64_t queued)
{
	struct gr_walk *w = c->w;
	struct gr_chain chain = { .limit = w->heap->nobjs };
	struct gr_sudog sender;
	const uint8_t *host;
	uint64_t word, bytes;

	for (uint64_t i = 0; sudog && !w->err; i++) {
		if (!next_waiter(w, &chain, sudog) ||
		    !gr_walk_locate(w, sudog, &host, &word, &bytes) ||
		    bytes < w->rt->layout.sudog.size_bytes)
			return; // Counted by set_waiters().
		gr_walk_note_read(w, host, w->rt->layout.sudog.size_bytes);
		gr_sudog_load(&w->rt->layout, sudog, host, &sender);
		if (sender.elem)
			run_sender(c, list, sender.elem, elem, queued + i);
		sudog = sender.next;
	}
}

/* Run the timer that sends on this channel (runtime/time.go). */
static void run_timer(struct gr_container *c,
		      const struct gr_container_part *header, uint64_t off)
{
	struct gr_walk *w = c->w;

	if (!gr_bitmap_take(w->pending, header->word + off / GR_WORD_BYTES))
		return;
	uint64_t addr = gr_load_u64(header->host + off);
	if (addr)
		gr_walk_visit(w, c->origin, addr,
			      gr_walk_referent(w, w->plans.timer), 0, c->scope,
			      GR_STEP_SELF);
}

/* Run the live part of a channel's ring, and its blocked senders. Source:
 * runtime/chan.go (hchan). */
static void run_chan(struct gr_container *c,
		     const struct gr_container_part *header)
{
	struct gr_walk *w = c->w;
	const typeof(w->rt->layout.hchan) *f = &w->rt->layout.hchan;
	gr_type_id elem = c->info->elem;
	uint64_t count = gr_field_uint(header->host, f->qcount);
	uint64_t slots = gr_field_uint(header->host, f->dataqsiz);
	uint64_t first = gr_field_uint(header->host, f->recvx);
	struct gr_container_part ring =
		gr_container_follow(c, header, f->buf.off);
	struct gr_scope list = {
		.node = GR_NODE_NONE,
		.key = elem | GR_KEY_ELEMENTS,
		.up = c->scope,
		.up_step = GR_STEP_SELF,
	};

	gr_walk_note_read(w, header->host, f->size_bytes);
	set_waiters(w, gr_field_word(header->host, f->recvq_first));
	set_waiters(w, gr_field_word(header->host, f->sendq_first));
	if (elem == GR_TYPE_NONE)
		return;
	uint64_t size = gr_types_get(w->types, elem)->size_bytes;
	if (ring.host && size && slots <= ring.bytes / size && count <= slots &&
	    first < slots) {
		// The elements from recvx on come first, then those at the
		// start of the ring.
		uint64_t head = count < slots - first ? count : slots - first;
		struct gr_scope names = list;
		gr_walk_run_elements(w, c->origin, &names, elem, head,
				     ring.host + first * size,
				     ring.word + first * size / GR_WORD_BYTES);
		gr_walk_run_elements(w, c->origin, &names, elem, count - head,
				     ring.host, ring.word);
	} else if (count > slots || (slots && first >= slots)) {
		gr_gap_add(w->rt->gaps, GR_GAP_BROKEN_CONTAINERS, 1);
	}
	run_senders(c, &list, gr_field_word(header->host, f->sendq_first), elem,
		    count);
	if (ring.host)
		gr_container_finish(c, &ring);
	if (gr_field_is_present(f->timer) && w->plans.timer != GR_TYPE_NONE)
		run_timer(c, header, f->timer.off);
}

static struct gr_container_part trie_child(struct gr_container *c,
					   const struct gr_container_part *from,
					   uint64_t off)
{
	struct gr_container_part child = gr_container_follow(c, from, off);

	if (child.host && child.bytes < GR_TRIE_ENTRY_KEY)
		child.host = NULL;
	return child;
}

uint64_t gr_trie_value_off(const struct gr_types *types, gr_type_id key)
{
	uint64_t end = GR_TRIE_ENTRY_KEY + gr_types_get(types, key)->size_bytes;

	return (end + GR_WORD_BYTES - 1) / GR_WORD_BYTES * GR_WORD_BYTES;
}

/* Run the key (part 0) or the value (part 1) of an entry. */
static void run_trie_part(struct gr_container *c,
			  const struct gr_container_part *entry,
			  uint64_t off_bytes, gr_type_id type, uint32_t part)
{
	if (type == GR_TYPE_NONE)
		return;
	struct gr_scope *scope = gr_container_scope(c, type, part);
	if (off_bytes <= entry->bytes &&
	    scope->plan->size_bytes <= entry->bytes - off_bytes)
		gr_walk_run_value(c->w, c->origin, scope,
				  entry->host + off_bytes,
				  entry->word + off_bytes / GR_WORD_BYTES);
}

static void run_trie_entries(struct gr_container *c,
			     struct gr_container_part entry)
{
	gr_type_id key = c->info->key, value = c->info->elem;

	// Without the types, the offsets are not known: the masks follow the
	// rest.
	if (key == GR_TYPE_NONE)
		return;
	uint64_t value_off = gr_trie_value_off(c->w->types, key);
	for (uint32_t i = 0; entry.host && i < MAX_TRIE_CHAIN; i++) {
		run_trie_part(c, &entry, GR_TRIE_ENTRY_KEY, key, 0);
		run_trie_part(c, &entry, value_off, value, 1);
		entry = trie_child(c, &entry, GR_TRIE_ENTRY_OVERFLOW);
	}
}

/* Run the indirect nodes of internal/sync/hashtriemap.go. The recursion has at
 * most 16 levels.
 * Recursion: each pointer is followed once (pending bits); 17 levels. */
static void run_trie(struct gr_container *c,
		     const struct gr_container_part *indirect,
		     unsigned int depth)
{
	gr_walk_note_read(c->w, indirect->host + GR_TRIE_IS_ENTRY, 1);
	for (uint32_t i = 0; i < GR_TRIE_CHILDREN && !c->w->err; i++) {
		struct gr_container_part child = trie_child(
			c, indirect, GR_TRIE_INDIRECT_CHILDREN + i * 8);
		if (!child.host)
			continue;
		gr_walk_note_read(c->w, child.host + GR_TRIE_IS_ENTRY, 1);
		if (child.host[GR_TRIE_IS_ENTRY])
			run_trie_entries(c, child);
		else if (depth < MAX_TRIE_DEPTH &&
			 child.bytes >= GR_TRIE_INDIRECT_BYTES)
			run_trie(c, &child, depth + 1);
	}
}

void gr_walk_run_container(struct gr_walk *w, const struct gr_origin *o,
			   struct gr_scope *scope, gr_type_id type,
			   const uint8_t *host, uint64_t word)
{
	struct gr_container c;
	struct gr_container_part header = {
		.host = host,
		.word = word,
		.bytes = gr_walk_header_bytes(w, type),
	};
	const struct gr_layout *layout = &w->rt->layout;

	// This is a copy because visits may make types and move the table.
	struct gr_type info = *gr_types_get(w->types, type);
	// The fields are set one by one, because clearing the whole struct
	// costs more than a small map.
	c.w = w;
	c.origin = o;
	c.scope = scope;
	c.first_note = w->masked.size;
	c.type = type;
	c.info = &info;
	c.parts = (struct gr_scope){
		.node = GR_NODE_NONE,
		.key = type | GR_KEY_CONTAINER,
		.up = scope,
		.up_step = GR_STEP_SELF,
	};
	gr_walk_open_scope(w, &c.parts);
	c.values[0].plan = c.values[1].plan = NULL;
	if (info.kind == GR_KIND_CHAN)
		run_chan(&c, &header);
	else if (info.role == GR_ROLE_HASH_TRIE)
		run_trie(&c, &header, 0);
	else if (layout->swiss_map.size_bytes)
		gr_map_run_groups(&c, &header);
	else if (layout->hmap.size_bytes)
		gr_map_run_buckets(&c, &header);
}
