// SPDX-License-Identifier: Apache-2.0
/* Keys of maps as an expression has them: `["abc"]`, `[-1]`, `[true]`. */
#include "naming/word_internal.h"

#include <inttypes.h>

enum {
	REFLECT_INT64 = 6,    /* reflect.Kind: the last signed integer */
	SHOWN_KEY_BYTES = 64, /* of a string */
};

/* Append a string key. False: its bytes were not captured. */
static bool put_string(struct gr_word *word, uint64_t addr)
{
	uint64_t header[2];
	char bytes[SHOWN_KEY_BYTES + 1];

	if (!gr_word_read(word->heap->rt, addr, header, sizeof(header)))
		return false;
	bool is_more = header[1] > SHOWN_KEY_BYTES;
	uint64_t n = is_more ? SHOWN_KEY_BYTES : header[1];
	// One byte more tells where a character begins.
	if (n && !gr_word_read(word->heap->rt, header[0], bytes, n + is_more))
		return false;
	for (int i = 0; is_more && i < 3 && (bytes[n] & 0xc0) == 0x80; i++)
		n--;
	gr_text_put(&word->text, "[");
	gr_text_put_quoted(&word->text, bytes, n, is_more);
	gr_text_put(&word->text, "]");
	return true;
}

/* Append an integer or bool key of @p bytes bytes. */
static bool put_number(struct gr_word *word, const struct gr_type *type,
		       uint64_t addr)
{
	uint64_t value = 0, bytes = type->size_bytes;

	if (!bytes || bytes > sizeof(value) ||
	    !gr_word_read(word->heap->rt, addr, &value, bytes))
		return false;
	uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
	if (type->kind == GR_KIND_BOOL)
		gr_text_put(&word->text, "[%s]", value ? "true" : "false");
	else if (type->kind > REFLECT_INT64)
		gr_text_put(&word->text, "[%" PRIu64 "]", value);
	else
		gr_text_put(&word->text, "[%" PRId64 "]",
			    (int64_t)((value ^ sign) - sign));
	return true;
}

/* Append a key of a basic kind. False: it is of another kind, or it was not
 * captured. */
static bool put_key(struct gr_word *word, gr_type_id id, uint64_t addr)
{
	const struct gr_type *type = gr_types_get(word->heap->types, id);

	if (type->kind == GR_KIND_STRING)
		return put_string(word, addr);
	if (type->kind >= GR_KIND_BOOL && type->kind <= GR_KIND_UINTPTR)
		return put_number(word, type, addr);
	return false;
}

/* Go from an interface at *@p addr to the value that it holds. The data word is
 * a pointer to it; values of basic kinds are never in the word itself. */
static struct gr_error *enter_interface(struct gr_word *word, gr_type_id *type,
					uint64_t *addr)
{
	struct gr_types *types = word->heap->types;
	bool has_itab = gr_types_get(types, *type)->has_itab;
	uint64_t words[2];

	*type = GR_TYPE_NONE;
	if (!gr_word_read(word->heap->rt, *addr, words, sizeof(words)) ||
	    !words[0])
		return NULL;
	*addr = words[1];
	return has_itab ? gr_types_from_itab(types, words[0], type) :
			  gr_types_from_runtime(types, words[0], type);
}

struct gr_error *gr_word_put_entry(struct gr_word *word, gr_type_id type,
				   uint64_t key_addr)
{
	const struct gr_types *types = word->heap->types;
	struct gr_error *err = NULL;

	if (type != GR_TYPE_NONE &&
	    gr_types_get(types, type)->kind == GR_KIND_INTERFACE)
		err = enter_interface(word, &type, &key_addr);
	if (!err && (type == GR_TYPE_NONE || !put_key(word, type, key_addr)))
		gr_text_put(&word->text, "$mapval");
	return err;
}
