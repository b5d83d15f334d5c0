// SPDX-License-Identifier: Apache-2.0
/* Containers: dispatch; channels; hash tries. */
#include "mark/container.h"

enum {
	MAX_WAITERS = 1 << 24,
	TRIE_CHILDREN = 16,
	MAX_TRIE_DEPTH = 17, /* 64 bits of hash, 4 a level, and the root */
	MAX_TRIE_CHAIN = 1 << 20,
	/* internal/sync/hashtriemap.go: node, indirect, entry[any, any]. */
	TRIE_IS_ENTRY = 0,
	TRIE_INDIRECT_CHILDREN = 24,
	TRIE_INDIRECT_BYTES = TRIE_INDIRECT_CHILDREN + TRIE_CHILDREN * 8,
	TRIE_ENTRY_OVERFLOW = 8,
	TRIE_ENTRY_KEY = 16,
	TRIE_ENTRY_VALUE = 32,
	TRIE_ENTRY_BYTES = 48,
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

uint64_t gr_container_take(struct gr_container *c, const struct gr_piece *from,
			   uint64_t off_bytes)
{
	// Pieces are counted only: what they hold is gone through by us.
	struct gr_referent to = {
		.type = GR_TYPE_NONE,
		.label = c->type,
		.is_container = true,
	};

	if (!from->host || off_bytes > from->bytes ||
	    from->bytes - off_bytes < GR_WORD_BYTES ||
	    !gr_bitmap_take(c->w->todo, from->word + off_bytes / GR_WORD_BYTES))
		return 0;
	to.addr = gr_load_u64(from->host + off_bytes);
	if (to.addr)
		gr_walk_visit(c->w, &to, c->scope, GR_STEP_SELF);
	return to.addr;
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

void gr_container_run_part(struct gr_container *c, const struct gr_piece *at,
			   uint64_t off_bytes, gr_type_id type, bool indirect,
			   uint32_t part)
{
	struct gr_walk *w = c->w;
	struct gr_scope value = {
		.node = GR_NODE_NONE,
		.key = type,
		.up = &c->parts,
		.up_step = part,
	};
	struct gr_referent to = { .type = type, .label = type };

	if (type == GR_TYPE_NONE)
		return;
	value.program = gr_program_get(&w->programs, type);
	if (!value.program) {
		gr_walk_fail(w, &gr_enomem);
		return;
	}
	uint64_t bytes = indirect ? GR_WORD_BYTES : value.program->size_bytes;
	if (off_bytes > at->bytes || at->bytes - off_bytes < bytes)
		return;
	if (!indirect) {
		gr_walk_run_value(w, &value, at->host + off_bytes,
				  at->word + off_bytes / GR_WORD_BYTES);
		return;
	}
	if (!gr_bitmap_take(w->todo, at->word + off_bytes / GR_WORD_BYTES))
		return;
	to.addr = gr_load_u64(at->host + off_bytes);
	if (to.addr)
		gr_walk_visit(w, &to, &value, GR_STEP_SELF);
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
			gr_gap_add(w->rt->gaps, GR_GAP_BROKEN_LISTS, 1);
			return;
		}
		w->heap->bits[obj / 64].barrier |= UINT64_C(1) << (obj % 64);
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
	struct gr_referent to = { .addr = addr, .type = elem, .label = elem };

	if (gr_heap_span_at(w->heap, addr)) {
		gr_walk_visit(w, &to, &value, GR_STEP_SELF);
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
	struct gr_referent to = {
		.type = c->w->programs.timer,
		.label = c->w->programs.timer,
	};

	if (!gr_bitmap_take(c->w->todo, header->word + off / GR_WORD_BYTES))
		return;
	to.addr = gr_load_u64(header->host + off);
	if (to.addr)
		gr_walk_visit(c->w, &to, c->scope, GR_STEP_SELF);
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
	if (gr_field_is_present(f->timer) && w->programs.timer != GR_TYPE_NONE)
		run_timer(c, header, f->timer.off);
}

static struct gr_piece trie_child(struct gr_container *c,
				  const struct gr_piece *from, uint64_t off)
{
	struct gr_piece child = gr_container_follow(c, from, off);

	if (child.host && child.bytes < TRIE_ENTRY_BYTES)
		child.host = NULL;
	return child;
}

static void run_trie_entries(struct gr_container *c, struct gr_piece entry)
{
	gr_type_id any = c->w->programs.any;

	for (uint32_t i = 0; entry.host && i < MAX_TRIE_CHAIN; i++) {
		gr_container_run_part(c, &entry, TRIE_ENTRY_KEY, any, false, 0);
		gr_container_run_part(c, &entry, TRIE_ENTRY_VALUE, any, false,
				      1);
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
		else if (depth < MAX_TRIE_DEPTH)
			run_trie(c, &child, depth + 1);
	}
}

void gr_walk_run_container(struct gr_walk *w, struct gr_scope *scope,
			   gr_type_id type, const uint8_t *host, uint64_t word)
{
	struct gr_container c = {
		.w = w,
		.scope = scope,
		.parts = {
			.node = GR_NODE_NONE,
			.key = type | GR_KEY_CONTAINER,
			.up = scope,
			.up_step = GR_STEP_SELF,
		},
		.type = type,
		.info = gr_types_get(w->rt->types, type),
	};
	struct gr_piece header = {
		.host = host,
		.word = word,
		.bytes = gr_walk_header_bytes(w, type),
	};
	const struct gr_layout *layout = &w->rt->layout;

	// A copy: visits may make types and move the table.
	struct gr_type info = *c.info;
	c.info = &info;
	if (info.kind == GR_KIND_CHAN)
		run_chan(&c, &header);
	else if (info.role == GR_ROLE_HASH_TRIE)
		run_trie(&c, &header, 0);
	else if (layout->swiss_map.size_bytes)
		gr_map_run_groups(&c, &header);
	else if (layout->hmap.size_bytes)
		gr_map_run_buckets(&c, &header);
}
