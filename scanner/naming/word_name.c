// SPDX-License-Identifier: Apache-2.0
/* Names of words: by the label of their object, or by their root. */
#include "naming/word_name.h"

#include "goruntime/types/word.h"
#include "inferior/recorder.h"
#include "mark/parents.h"
#include "naming/memory_name.h"
#include "naming/word_internal.h"
#include "scan/stop.h"

#include <inttypes.h>
#include <stdarg.h>

struct gr_extent gr_word_extent(const struct gr_heap *heap, uint64_t addr)
{
	const struct gr_span *span;
	gr_obj obj = gr_heap_object_at(heap, addr, &span);

	if (obj == GR_OBJ_NONE)
		return (struct gr_extent){ .addr = addr };
	uint64_t end = gr_span_slot_addr(span, obj - span->first_obj) +
		       span->elem_bytes;
	return (struct gr_extent){ addr, end - addr, span->is_noscan };
}

bool gr_word_read(struct gr_runtime *rt, uint64_t addr, void *buf,
		  uint64_t bytes)
{
	// A key of a map is a value, which a saved file may lack. All else that
	// names need, the walk has read.
	gr_recorder_pause(rt->recorder);
	struct gr_error *err = gr_image_read(rt->image, addr, buf, bytes);
	gr_recorder_resume(rt->recorder);
	bool is_read = !err;
	gr_error_destroy(err);
	return is_read;
}

bool gr_word_load(struct gr_runtime *rt, uint64_t addr, uint64_t *ret)
{
	*ret = 0;
	return gr_word_read(rt, addr, ret, sizeof(*ret));
}

static void set(struct gr_word *word, enum gr_word_kind kind, gr_type_id type,
		uint64_t off)
{
	word->ret->kind = kind;
	word->ret->type = type;
	word->ret->off_bytes = off;
}

void gr_word_put_piece(struct gr_word *word, const char *fmt, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gr_text_put(&word->text, "%s", text);
	set(word, GR_WORD_PIECE, word->type, 0);
}

void gr_word_put_nameless(struct gr_word *word)
{
	gr_text_put(&word->text, "+0x%" PRIx64, word->off);
	set(word, GR_WORD_NAMELESS, word->type, word->off);
}

struct gr_error *gr_word_put_value(struct gr_word *word, gr_type_id type,
				   uint64_t off)
{
	struct gr_type_word part;
	struct gr_error *err = gr_types_name_word(word->heap->types, type, off,
						  &word->text, &part);

	set(word, part.is_nameless ? GR_WORD_NAMELESS : GR_WORD_FIELD,
	    part.type, part.off_bytes);
	return err;
}

/* Name a word of memory that has values of word->type side by side. */
static struct gr_error *name_element(struct gr_word *word)
{
	uint64_t bytes =
		word->type == GR_TYPE_NONE ?
			0 :
			gr_types_get(word->heap->types, word->type)->size_bytes;

	if (!bytes || word->off >= word->in.bytes ||
	    bytes > word->in.bytes - word->off / bytes * bytes) {
		gr_word_put_nameless(word);
		return NULL;
	}
	gr_text_put(&word->text, "[%" PRIu64 "]", word->off / bytes);
	return gr_word_put_value(word, word->type, word->off % bytes);
}

/* Name a word of an object with GR_LABEL_DATA. */
static struct gr_error *name_data(struct gr_word *word)
{
	const struct gr_type *type =
		gr_types_get(word->heap->types, word->type);

	switch (type->kind) {
	case GR_KIND_MAP:
		return gr_word_name_map(word);
	case GR_KIND_CHAN:
		return gr_word_name_chan(word);
	case GR_KIND_SLICE:
		word->type = type->elem;
		return name_element(word);
	case GR_KIND_STRING:
	case GR_KIND_FUNC:
		gr_word_put_nameless(word);
		return NULL;
	default:
		return type->role == GR_ROLE_HASH_TRIE ?
			       gr_word_name_trie(word) :
			       name_element(word);
	}
}

static struct gr_error *name_word(struct gr_word *word, uint32_t label)
{
	if (label == GR_TYPE_NONE ||
	    (label & ~GR_LABEL_FLAGS) >= gr_types_count(word->heap->types)) {
		word->type = GR_TYPE_NONE;
		gr_word_put_nameless(word);
		return NULL;
	}
	word->type = label & ~GR_LABEL_FLAGS;
	return label & GR_LABEL_DATA ?
		       name_data(word) :
		       gr_word_put_value(word, word->type, word->off);
}

static struct gr_word begin(struct gr_heap *heap, uint64_t off,
			    struct gr_word_name *ret)
{
	return (struct gr_word){
		.heap = heap,
		.off = off,
		.holder = GR_OBJ_NONE,
		.type = GR_TYPE_NONE,
		.text = gr_text_begin(ret->text, sizeof(ret->text)),
		.ret = ret,
	};
}

struct gr_error *gr_word_find_held_name(struct gr_stop *stop, gr_obj holder,
					gr_obj obj, uint32_t label,
					uint64_t off, struct gr_word_name *ret)
{
	const struct gr_span *span = gr_heap_span_of(stop->heap, obj);
	struct gr_word word = begin(stop->heap, off, ret);
	struct gr_error *err = NULL;

	word.in = gr_word_extent(stop->heap,
				 gr_heap_object_addr(stop->heap, obj));
	word.holder = holder;
	if (label == GR_TYPE_NONE)
		err = gr_memory_header_label(stop->program, span,
					     obj - span->first_obj, &label);
	return err ? err : name_word(&word, label);
}

struct gr_error *gr_word_find_name(struct gr_stop *stop, gr_obj obj,
				   uint32_t label, uint64_t off,
				   struct gr_word_name *ret)
{
	return gr_word_find_held_name(stop, GR_OBJ_NONE, obj, label, off, ret);
}

struct gr_error *gr_word_find_block_name(const struct gr_types *types,
					 uint32_t label, uint64_t off,
					 struct gr_word_name *ret)
{
	gr_type_id id = label & ~(uint32_t)GR_LABEL_FLAGS;
	struct gr_text text = gr_text_begin(ret->text, sizeof(ret->text));
	struct gr_type_word word;
	uint64_t bytes =
		label == GR_TYPE_NONE ? 0 : gr_types_get(types, id)->size_bytes;

	ret->type = GR_TYPE_NONE;
	ret->kind = GR_WORD_NAMELESS;
	ret->off_bytes = off;
	if (!bytes || (off >= bytes && !(label & GR_LABEL_DATA))) {
		gr_text_put(&text, "+0x%" PRIx64, off);
		return NULL;
	}
	if (label & GR_LABEL_DATA)
		gr_text_put(&text, "[%" PRIu64 "]", off / bytes);
	return gr_types_name_word(types, id, off % bytes, &text, &word);
}

struct gr_error *gr_word_starts_map(struct gr_heap *heap, gr_obj obj,
				    gr_type_id map, bool *ret)
{
	struct gr_word_name unused;
	struct gr_word word = begin(heap, 0, &unused);

	word.in = gr_word_extent(heap, gr_heap_object_addr(heap, obj));
	word.type = map;
	return gr_word_is_map_header(&word, ret);
}

struct gr_error *gr_word_find_root_name(struct gr_heap *heap,
					const struct gr_root *root,
					uint64_t off, struct gr_word_name *ret)
{
	struct gr_word word = begin(heap, off, ret);
	struct gr_error *err = NULL;

	word.type = root->type;
	if (root->form == GR_ROOT_VALUE) {
		set(&word, GR_WORD_POINTER, root->type, 0);
		return NULL;
	}
	if (root->type == GR_TYPE_NONE && root->type_addr)
		err = gr_types_from_runtime(heap->types, root->type_addr,
					    &word.type);
	if (err)
		return err;
	if (word.type != GR_TYPE_NONE)
		return gr_word_put_value(&word, word.type, off);
	// The word may be all that there is of the variable.
	if (off || root->bytes > GR_WORD_BYTES)
		gr_word_put_nameless(&word);
	else
		set(&word, GR_WORD_NAMELESS, GR_TYPE_NONE, 0);
	return NULL;
}
