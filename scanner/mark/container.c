// SPDX-License-Identifier: Apache-2.0
/* Containers: dispatch; channels; hash tries. */
#include "mark/container.h"

#include "mark/visit.h"

enum {
	MAX_WAITERS = 1 << 24,
	TRIE_CHILDREN = 16,
	MAX_TRIE_DEPTH = 17, /* 64 bits of hash, 4 a level, and the root */
	MAX_TRIE_CHAIN = 1 << 20,
	/* internal/sync/hashtriemap.go, unique/canonmap.go: node, indirect,
	 * entry. */
	TRIE_IS_ENTRY = 0,
	TRIE_INDIRECT_CHILDREN = 24,
	TRIE_INDIRECT_BYTES = TRIE_INDIRECT_CHILDREN + TRIE_CHILDREN * 8,
	TRIE_ENTRY_OVERFLOW = 8,
	TRIE_ENTRY_KEY = 16, /* the value follows, word-aligned */
};

uint64_t gr_walk_header_bytes(struct gr_walk *w, gr_type_id id)
{
	const struct gr_type *type = gr_types_get(w->rt->types, id);
	const struct gr_layout *layout = &w->rt->layout;

	switch (type->kind) {
	case GR_KIND_MAP:
		return layout->swiss_map.size_bytes ?
			       layout->swiss_map.size_bytes :
			       layout->hmap.size_bytes;
	case GR_KIND_CHAN:
		return layout->hchan.size_bytes;
	default:
		return TRIE_INDIRECT_BYTES;
	}
}

/*
 * Pieces are counted only: what they hold is gone through by us. Nearly all
 * are new; for any other see visit.c.
 */
static void visit_piece(struct gr_container *c, uint64_t addr)
{
	struct gr_referent to = gr_referent_untyped(c->type);
	struct gr_walk *w = c->w;
	struct gr_spot at;

	gr_walk_tick(w, 1);
	if (!gr_heap_spot(w->heap, addr, &at) || at.kind->is_noscan ||
	    w->heap->states[at.obj] != w->quick_state) {
		to.is_container = true;
		gr_walk_visit_slowly(w, addr, &to, 0, c->scope, GR_STEP_SELF);
		return;
	}
	uint64_t page = gr_spot_page(&at, addr)->scan_page;
	uint64_t in_page = addr & (GR_HEAP_PAGE_BYTES - 1);
	uint32_t node = gr_walk_count(w, at.obj, at.kind->elem_bytes, 0,
				      c->type, c->scope, GR_STEP_SELF);
	gr_total_add(w->typed_row, at.kind->elem_bytes);
	gr_walk_note_unexplained(
		w, page * GR_PAGE_WORDS + in_page / GR_WORD_BYTES, node);
}

uint64_t gr_container_take(struct gr_container *c, const struct gr_piece *from,
			   uint64_t off_bytes)
{
	uint64_t addr;

	if (!from->host || off_bytes > from->bytes ||
	    from->bytes - off_bytes < GR_WORD_BYTES ||
	    !gr_bitmap_take(c->w->todo, from->word + off_bytes / GR_WORD_BYTES))
		return 0;
	addr = gr_load_u64(from->host + off_bytes);
	if (addr)
		visit_piece(c, addr);
	return addr;
}

void gr_container_drop_done(struct gr_container *c,
			    const struct gr_piece *piece, uint64_t nwords)
{
	uint64_t left = piece->bytes / GR_WORD_BYTES;

	gr_walk_drop_done(c->w, piece->host, piece->word,
			  nwords < left ? nwords : left);
}

void gr_container_finish(struct gr_container *c, const struct gr_piece *piece)
{
	struct gr_masked_vector *masked = &c->w->masked;

	if (!gr_walk_drop_done(c->w, piece->host, piece->word,
			       piece->bytes / GR_WORD_BYTES) &&
	    masked->size > c->first_note &&
	    masked->data[masked->size - 1].word == piece->word)
		masked->size--;
}

struct gr_piece gr_container_follow(struct gr_container *c,
				    const struct gr_piece *from,
				    uint64_t off_bytes)
{
	struct gr_piece to = { 0 };
	uint64_t addr = gr_container_take(c, from, off_bytes);

	if (!addr || !gr_walk_locate(c->w, addr, &to.host, &to.word, &to.bytes))
		to.host = NULL;
	return to;
}

struct gr_scope *gr_container_scope(struct gr_container *c, gr_type_id type,
				    uint32_t part)
{
	struct gr_scope *scope = &c->values[part % 2];

	if (scope->program)
		return scope;
	*scope = (struct gr_scope){
		.node = GR_NODE_NONE,
		.key = type,
		.program = gr_walk_program(c->w, type),
		.up = &c->parts,
		.up_step = part,
	};
	gr_walk_open_scope(c->w, scope);
	return scope;
}

/* The sudogs that wait on a channel are the scheduler's: barriers. */
static void bar_waiters(struct gr_walk *w, uint64_t sudog)
{
	const struct gr_span *span;
	const uint8_t *host;
	uint64_t word, bytes;

	for (uint32_t i = 0; sudog; i++) {
		gr_obj obj = gr_heap_object_at(w->heap, sudog, &span);
		if (obj == GR_OBJ_NONE || i == MAX_WAITERS ||
		    !gr_walk_locate(w, sudog, &host, &word, &bytes) ||
		    bytes < w->rt->layout.sudog.size_bytes) {
			gr_gap_add(w->rt->gaps, GR_GAP_BROKEN_CONTAINERS, 1);
			return;
		}
		w->heap->states[obj] |= GR_OBJECT_BARRIER;
		sudog = gr_field_word(host, w->rt->layout.sudog.next);
	}
}

/* The value that a blocked sender offers: on its stack, or in the heap. */
static void run_sender(struct gr_container *c, struct gr_scope *list,
		       uint64_t addr, gr_type_id elem, uint64_t i)
{
	struct gr_walk *w = c->w;
	struct gr_piece at;
	struct gr_scope value = {
		.node = GR_NODE_NONE,
		.key = elem,
		.program = gr_program_get(&w->programs, elem),
		.up = list,
		.up_step = i < GR_NELEMENT_NAMES - 1 ? i :
						       GR_NELEMENT_NAMES - 1,
	};

	if (gr_heap_span_at(w->heap, addr)) {
		gr_walk_visit(w, addr, gr_walk_referent(w, elem), 0, &value,
			      GR_STEP_SELF);
		return;
	}
	if (value.program &&
	    gr_walk_locate(w, addr, &at.host, &at.word, &at.bytes) &&
	    value.program->size_bytes <= at.bytes)
		gr_walk_run_value(w, &value, at.host, at.word);
}

static void run_senders(struct gr_container *c, struct gr_scope *list,
			uint64_t sudog, gr_type_id elem, uint64_t queued)
{
	struct gr_walk *w = c->w;
	const typeof(w->rt->layout.sudog) *f = &w->rt->layout.sudog;
	const uint8_t *host;
	uint64_t word, bytes;

	for (uint32_t i = 0; sudog && i < MAX_WAITERS && !w->err; i++) {
		if (!gr_walk_locate(w, sudog, &host, &word, &bytes) ||
		    bytes < f->size_bytes)
			return; // Counted by bar_waiters().
		uint64_t addr = gr_field_is_present(f->elem_truth) ?
					gr_field_word(host, f->elem_truth) :
					gr_field_word(host, f->elem);
		if (addr)
			run_sender(c, list, addr, elem, queued + i);
		sudog = gr_field_word(host, f->next);
	}
}

/* The timer that sends on this channel (runtime/time.go). */
static void run_timer(struct gr_container *c, const struct gr_piece *header,
		      uint64_t off)
{
	struct gr_walk *w = c->w;

	if (!gr_bitmap_take(w->todo, header->word + off / GR_WORD_BYTES))
		return;
	uint64_t addr = gr_load_u64(header->host + off);
	if (addr)
		gr_walk_visit(w, addr, gr_walk_referent(w, w->programs.timer),
			      0, c->scope, GR_STEP_SELF);
}

/* runtime/chan.go: hchan. The live part of the ring, and blocked senders. */
static void run_chan(struct gr_container *c, const struct gr_piece *header)
{
	struct gr_walk *w = c->w;
	const typeof(w->rt->layout.hchan) *f = &w->rt->layout.hchan;
	gr_type_id elem = c->info->elem;
	uint64_t count = gr_field_uint(header->host, f->qcount);
	uint64_t slots = gr_field_uint(header->host, f->dataqsiz);
	uint64_t first = gr_field_uint(header->host, f->recvx);
	struct gr_piece ring = gr_container_follow(c, header, f->buf.off);
	struct gr_scope list = {
		.node = GR_NODE_NONE,
		.key = elem | GR_KEY_ELEMENTS,
		.up = c->scope,
		.up_step = GR_STEP_SELF,
	};

	bar_waiters(w, gr_field_word(header->host, f->recvq_first));
	bar_waiters(w, gr_field_word(header->host, f->sendq_first));
	if (elem == GR_TYPE_NONE)
		return;
	uint64_t size = gr_types_get(w->rt->types, elem)->size_bytes;
	if (ring.host && size && slots <= ring.bytes / size && count <= slots &&
	    first < slots) {
		// The elements from recvx on, and those at the ring's start.
		uint64_t head = count < slots - first ? count : slots - first;
		struct gr_scope names = list;
		gr_walk_run_elements(w, &names, elem, head,
				     ring.host + first * size,
				     ring.word + first * size / GR_WORD_BYTES);
		gr_walk_run_elements(w, &names, elem, count - head, ring.host,
				     ring.word);
	} else if (count > slots || (slots && first >= slots)) {
		gr_gap_add(w->rt->gaps, GR_GAP_BROKEN_CONTAINERS, 1);
	}
	run_senders(c, &list, gr_field_word(header->host, f->sendq_first), elem,
		    count);
	if (ring.host)
		gr_container_finish(c, &ring);
	if (gr_field_is_present(f->timer) && w->programs.timer != GR_TYPE_NONE)
		run_timer(c, header, f->timer.off);
}

static struct gr_piece trie_child(struct gr_container *c,
				  const struct gr_piece *from, uint64_t off)
{
	struct gr_piece child = gr_container_follow(c, from, off);

	if (child.host && child.bytes < TRIE_ENTRY_KEY)
		child.host = NULL;
	return child;
}

/* The key (part 0) or the value (1) of an entry. */
static void run_trie_part(struct gr_container *c, const struct gr_piece *entry,
			  uint64_t off_bytes, gr_type_id type, uint32_t part)
{
	if (type == GR_TYPE_NONE)
		return;
	struct gr_scope *scope = gr_container_scope(c, type, part);
	if (off_bytes <= entry->bytes &&
	    scope->program->size_bytes <= entry->bytes - off_bytes)
		gr_walk_run_value(c->w, scope, entry->host + off_bytes,
				  entry->word + off_bytes / GR_WORD_BYTES);
}

static void run_trie_entries(struct gr_container *c, struct gr_piece entry)
{
	gr_type_id key = c->info->key, value = c->info->elem;

	// What cannot be placed is left to the masks.
	if (key == GR_TYPE_NONE)
		return;
	uint64_t key_bytes = gr_types_get(c->w->rt->types, key)->size_bytes;
	uint64_t value_off = (TRIE_ENTRY_KEY + key_bytes + GR_WORD_BYTES - 1) /
			     GR_WORD_BYTES * GR_WORD_BYTES;
	for (uint32_t i = 0; entry.host && i < MAX_TRIE_CHAIN; i++) {
		run_trie_part(c, &entry, TRIE_ENTRY_KEY, key, 0);
		run_trie_part(c, &entry, value_off, value, 1);
		entry = trie_child(c, &entry, TRIE_ENTRY_OVERFLOW);
	}
}

/* internal/sync/hashtriemap.go: indirect nodes; recursion is 16 levels. */
static void run_trie(struct gr_container *c, const struct gr_piece *indirect,
		     unsigned int depth)
{
	for (uint32_t i = 0; i < TRIE_CHILDREN && !c->w->err; i++) {
		struct gr_piece child =
			trie_child(c, indirect, TRIE_INDIRECT_CHILDREN + i * 8);
		if (!child.host)
			continue;
		if (child.host[TRIE_IS_ENTRY])
			run_trie_entries(c, child);
		else if (depth < MAX_TRIE_DEPTH &&
			 child.bytes >= TRIE_INDIRECT_BYTES)
			run_trie(c, &child, depth + 1);
	}
}

void gr_walk_run_container(struct gr_walk *w, struct gr_scope *scope,
			   gr_type_id type, const uint8_t *host, uint64_t word)
{
	struct gr_container c;
	struct gr_piece header = {
		.host = host,
		.word = word,
		.bytes = gr_walk_header_bytes(w, type),
	};
	const struct gr_layout *layout = &w->rt->layout;

	// A copy: visits may make types and move the table.
	struct gr_type info = *gr_types_get(w->rt->types, type);
	// Field by field: to clear all of it costs more than a small map.
	c.w = w;
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
	c.values[0].program = c.values[1].program = NULL;
	if (info.kind == GR_KIND_CHAN)
		run_chan(&c, &header);
	else if (info.role == GR_ROLE_HASH_TRIE)
		run_trie(&c, &header, 0);
	else if (layout->swiss_map.size_bytes)
		gr_map_run_groups(&c, &header);
	else if (layout->hmap.size_bytes)
		gr_map_run_buckets(&c, &header);
}
