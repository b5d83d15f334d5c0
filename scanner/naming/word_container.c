// SPDX-License-Identifier: Apache-2.0
/* Words of channels (runtime/chan.go: hchan and its ring) and of hash tries
 * (internal/sync/hashtriemap.go). */
#include "naming/word_internal.h"

#include "mark/container.h"

#include <inttypes.h>

/** The ring of a channel, as its hchan tells. */
struct ring {
	uint64_t addr;
	uint64_t count, slots, first; /* queued; in all; received next */
};

/* Read the channel at @p addr. False: there is none, for the numbers make no
 * sense. */
static bool read_chan(struct gr_word *word, struct gr_extent at,
		      struct ring *ret)
{
	const typeof(word->heap->rt->layout.hchan) *f =
		&word->heap->rt->layout.hchan;
	uint8_t header[256];

	if (at.bytes < f->size_bytes || f->size_bytes > sizeof(header) ||
	    !gr_word_read(word->heap->rt, at.addr, header, f->size_bytes))
		return false;
	ret->addr = gr_field_word(header, f->buf);
	ret->count = gr_field_uint(header, f->qcount);
	ret->slots = gr_field_uint(header, f->dataqsiz);
	ret->first = gr_field_uint(header, f->recvx);
	return ret->count <= ret->slots &&
	       (ret->first < ret->slots || !ret->slots);
}

/* Is this address in the type records of a module? */
static bool is_record(const struct gr_runtime *rt, uint64_t addr)
{
	for (size_t i = 0; i < rt->nmodules; i++)
		if (addr >= rt->modules[i].types &&
		    addr < rt->modules[i].etypes)
			return true;
	return false;
}

/* Is the object the hchan, rather than its ring? */
static bool is_chan(struct gr_word *word, uint64_t elem_bytes)
{
	const struct gr_heap *heap = word->heap;
	uint64_t elem;
	struct ring ring;

	if (!read_chan(word, word->in, &ring) ||
	    !gr_word_load(word->heap->rt,
			  word->in.addr + heap->rt->layout.hchan.elemtype.off,
			  &elem) ||
	    !is_record(heap->rt, elem))
		return false;
	return !elem_bytes || !ring.slots ||
	       ring.slots <= gr_word_extent(heap, ring.addr).bytes / elem_bytes;
}

static void name_header(struct gr_word *word)
{
	const typeof(word->heap->rt->layout.hchan) *f =
		&word->heap->rt->layout.hchan;
	uint64_t off = word->off;

	// A queue has its first sudog and its last one.
	if (off == f->buf.off)
		gr_word_put_piece(word, "$buf");
	else if (off - f->recvq_first.off < 2 * GR_WORD_BYTES)
		gr_word_put_piece(word, "$recvq");
	else if (off - f->sendq_first.off < 2 * GR_WORD_BYTES)
		gr_word_put_piece(word, "$sendq");
	else if (gr_field_is_present(f->timer) && off == f->timer.off)
		gr_word_put_piece(word, "$timer");
	else
		gr_word_put_nameless(word);
}

/* Append `[i]` for a slot of the ring: the i-th element to be received. */
static void put_slot(struct gr_word *word, uint64_t slot)
{
	const struct gr_heap *heap = word->heap;
	struct ring ring;

	if (word->holder != GR_OBJ_NONE &&
	    read_chan(word,
		      gr_word_extent(word->heap,
				     gr_heap_object_addr(heap, word->holder)),
		      &ring) &&
	    ring.addr == word->in.addr && slot < ring.slots) {
		uint64_t place = slot >= ring.first ?
					 slot - ring.first :
					 slot + (ring.slots - ring.first);
		if (place < ring.count) {
			gr_text_put(&word->text, "[%" PRIu64 "]", place);
			return;
		}
	}
	gr_text_put(&word->text, "$buf[%" PRIu64 "]", slot);
}

struct gr_error *gr_word_name_chan(struct gr_word *word)
{
	const struct gr_types *types = word->heap->types;
	gr_type_id elem = gr_types_get(types, word->type)->elem;
	uint64_t bytes = elem == GR_TYPE_NONE ?
				 0 :
				 gr_types_get(types, elem)->size_bytes;

	if (is_chan(word, bytes)) {
		name_header(word);
		return NULL;
	}
	if (!bytes || word->off / bytes >= word->in.bytes / bytes) {
		gr_word_put_nameless(word);
		return NULL;
	}
	put_slot(word, word->off / bytes);
	return gr_word_put_value(word, elem, word->off % bytes);
}

/* Name a word of a node that has up to 16 children. */
static void name_indirect(struct gr_word *word)
{
	uint64_t off = word->off;

	// The parent and the mutex change places between the two sources.
	if (off >= GR_WORD_BYTES && off < GR_TRIE_INDIRECT_CHILDREN)
		gr_word_put_piece(word, "$parent");
	else if (off >= GR_TRIE_INDIRECT_CHILDREN &&
		 off < GR_TRIE_INDIRECT_BYTES)
		gr_word_put_piece(word, "$children[%" PRIu64 "]",
				  (off - GR_TRIE_INDIRECT_CHILDREN) /
					  GR_WORD_BYTES);
	else
		gr_word_put_nameless(word);
}

/* Name a word of a node that has a key and a value. */
static struct gr_error *name_entry(struct gr_word *word)
{
	const struct gr_types *types = word->heap->types;
	gr_type_id key = gr_types_get(types, word->type)->key;
	gr_type_id value = gr_types_get(types, word->type)->elem;
	uint64_t off = word->off, key_off = GR_TRIE_ENTRY_KEY;
	struct gr_error *err;

	if (off >= GR_TRIE_ENTRY_OVERFLOW && off < key_off) {
		gr_word_put_piece(word, "$overflow");
		return NULL;
	}
	if (off < key_off || key == GR_TYPE_NONE) {
		gr_word_put_nameless(word);
		return NULL;
	}
	if (off - key_off < gr_types_get(types, key)->size_bytes) {
		gr_text_put(&word->text, "$mapkey");
		return gr_word_put_value(word, key, off - key_off);
	}
	uint64_t value_off = gr_trie_value_off(types, key);
	if (value == GR_TYPE_NONE || off < value_off) {
		gr_word_put_nameless(word);
		return NULL;
	}
	err = gr_word_put_entry(word, key, word->in.addr + key_off);
	return err ? err : gr_word_put_value(word, value, off - value_off);
}

struct gr_error *gr_word_name_trie(struct gr_word *word)
{
	uint8_t is_entry;

	if (!gr_word_read(word->heap->rt, word->in.addr + GR_TRIE_IS_ENTRY,
			  &is_entry, sizeof(is_entry)))
		gr_word_put_nameless(word);
	else if (is_entry)
		return name_entry(word);
	else
		name_indirect(word);
	return NULL;
}
