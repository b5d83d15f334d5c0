// SPDX-License-Identifier: Apache-2.0
#include "waste/checks/boxes.h"

enum {
	MAX_WORDS = 1 << 10, /* of one value */
	STEP_UNITS = 16,     /* values for which one step is paid */
};

struct gr_error *gr_boxes_init(struct gr_boxes *boxes,
			       const struct gr_heap *heap,
			       struct gr_type_plans *plans)
{
	memset(boxes, 0, sizeof(*boxes));
	boxes->heap = heap;
	boxes->plans = plans;
	boxes->ntypes = gr_types_count(heap->types);
	boxes->of = calloc(boxes->ntypes + 1, sizeof(struct gr_box_words *));
	boxes->boxed = gr_bitmap_alloc(heap->nobjs);
	// Only the pages of tiny objects are ever touched.
	boxes->taken = calloc((size_t)heap->nobjs + 1, sizeof(*boxes->taken));
	return boxes->of && boxes->boxed && boxes->taken ? NULL : &gr_enomem;
}

void gr_boxes_deinit(struct gr_boxes *boxes)
{
	for (size_t i = 0; boxes->of && i < boxes->ntypes; i++)
		free(boxes->of[i]);
	free(boxes->of);
	free(boxes->boxed);
	free(boxes->taken);
}

/* The bytes of a value that is in the tiny allocator; 0: it is not. */
static uint8_t tiny_bytes(struct gr_boxes *boxes, gr_type_id id)
{
	if (id == GR_TYPE_NONE)
		return 0;
	uint64_t bytes = gr_types_get(boxes->heap->types, id)->size_bytes;
	if (!bytes || bytes >= GR_TINY_BYTES)
		return 0;
	const struct gr_type_plan *plan = gr_type_plan_get(boxes->plans, id);
	return plan && gr_type_plan_is_empty(plan) ? (uint8_t)bytes : 0;
}

struct gr_error *gr_boxes_prepare(struct gr_boxes *boxes, gr_type_id type,
				  const struct gr_type_plan *plan, bool *ret)
{
	uint32_t n = 0;

	*ret = false;
	if (type >= boxes->ntypes)
		return NULL;
	*ret = boxes->of[type];
	if (*ret || !plan->nslots || plan->nwords > MAX_WORDS)
		return NULL;
	struct gr_box_words *words = malloc(
		sizeof(*words) + plan->nslots * sizeof(struct gr_box_word));
	if (!words)
		return &gr_enomem;
	for (uint32_t w = 0; w < plan->nwords; w++) {
		const struct gr_slot *slot = plan->slot_of_word[w];
		struct gr_box_word word = { .off_bytes = w * GR_WORD_BYTES };

		if (!slot)
			continue;
		word.op = slot->op;
		if (slot->op == GR_SLOT_POINTER)
			word.tiny_bytes = tiny_bytes(boxes, slot->type);
		else if (slot->op != GR_SLOT_EFACE && slot->op != GR_SLOT_IFACE)
			continue;
		if (slot->op != GR_SLOT_POINTER || word.tiny_bytes)
			words->words[n++] = word;
	}
	words->count = n;
	*ret = n;
	if (n)
		boxes->of[type] = words;
	else
		free(words);
	return NULL;
}

/* Find the type that an interface's word names. The entry is valid until the
 * next call. */
static struct gr_error *find_type(struct gr_boxes *boxes, uint64_t word,
				  uint8_t op, const struct gr_box_type **ret)
{
	struct gr_box_type *entry = &boxes->cache[word / 32 % GR_BOX_TYPES];
	struct gr_types *types = boxes->heap->types;
	gr_type_id id = GR_TYPE_NONE;
	struct gr_error *err = NULL;

	*ret = entry;
	if (GR_LIKELY(entry->word == word))
		return NULL;
	err = op == GR_SLOT_EFACE ? gr_types_from_runtime(types, word, &id) :
				    gr_types_from_itab(types, word, &id);
	*entry = (struct gr_box_type){
		.word = word,
		.is_box = id != GR_TYPE_NONE && !gr_types_is_direct(types, id),
	};
	if (entry->is_box)
		entry->tiny_bytes = tiny_bytes(boxes, id);
	return err;
}

/* Note the object to which the word at @p at leads. */
static struct gr_error *note(struct gr_boxes *boxes,
			     const struct gr_box_word *word, const uint8_t *at)
{
	uint64_t addr = gr_load_u64(at);
	uint32_t bytes = word->tiny_bytes;
	const struct gr_box_type *type;
	struct gr_error *err;
	struct gr_spot spot;

	if (!gr_heap_spot(boxes->heap, addr, &spot) ||
	    spot.kind->elem_bytes > GR_TINY_BYTES)
		return NULL;
	if (!bytes) {
		err = find_type(boxes, gr_load_u64(at - GR_WORD_BYTES),
				word->op, &type);
		if (err || !type->is_box)
			return err;
		gr_bitmap_set(boxes->boxed, spot.obj);
		bytes = type->tiny_bytes;
	}
	if (spot.kind->is_noscan && spot.kind->elem_bytes == GR_TINY_BYTES &&
	    bytes <= GR_TINY_BYTES - spot.off)
		boxes->taken[spot.obj] |=
			(uint16_t)(((1u << bytes) - 1) << spot.off);
	return NULL;
}

static struct gr_error *note_value(struct gr_boxes *boxes,
				   const struct gr_box_words *words,
				   const uint8_t *host)
{
	struct gr_error *err = NULL;

	for (uint32_t k = 0; words && !err && k < words->count; k++)
		err = note(boxes, &words->words[k],
			   host + words->words[k].off_bytes);
	return err;
}

struct gr_error *gr_boxes_look(struct gr_boxes *boxes, gr_type_id type,
			       uint64_t type_bytes, uint64_t count,
			       const uint8_t *host)
{
	const struct gr_box_words *words = boxes->of[type];
	struct gr_error *err = NULL;

	for (uint64_t i = 0; words && !err && i < count; i++) {
		err = note_value(boxes, words, host + i * type_bytes);
		if (!err && i % STEP_UNITS == STEP_UNITS - 1)
			err = gr_runtime_step(boxes->heap->rt, 1);
	}
	return err;
}

struct gr_error *gr_boxes_look_map(struct gr_boxes *boxes,
				   const struct gr_map_shape *shape,
				   gr_type_id key, gr_type_id elem,
				   uint64_t count, const uint8_t *host)
{
	const struct gr_box_words *keys = key < boxes->ntypes ? boxes->of[key] :
								NULL;
	const struct gr_box_words *elems =
		elem < boxes->ntypes ? boxes->of[elem] : NULL;
	struct gr_runtime *rt = boxes->heap->rt;
	struct gr_error *err = NULL;

	if (shape->key.is_indirect)
		keys = NULL;
	if (shape->elem.is_indirect)
		elems = NULL;
	for (uint64_t i = 0; !err && i < count; i++) {
		const uint8_t *piece = host + i * shape->bytes;
		uint64_t full = gr_map_full_slots(&rt->layout, piece);

		for (; !err && full; full &= full - 1) {
			unsigned int slot = __builtin_ctzll(full) / 8;

			err = note_value(boxes, keys,
					 piece + shape->key.off_bytes +
						 slot * shape->key.stride);
			if (!err)
				err = note_value(
					boxes, elems,
					piece + shape->elem.off_bytes +
						slot * shape->elem.stride);
		}
		if (!err)
			err = gr_runtime_step(rt, 1);
	}
	return err;
}

bool gr_boxes_fill(const struct gr_boxes *boxes,
		   const struct gr_reach_table *reach, gr_obj obj)
{
	const struct gr_interval *list;
	struct gr_interval one;
	uint32_t n = gr_reach_get(reach, obj, &one, &list);
	uint32_t reached = 0;

	if (n == 1 && gr_reach_is_one_view(reach, obj))
		return true;
	for (uint32_t i = 0; i < n && i < GR_TINY_BYTES; i++) {
		if (list[i].lo > list[i].hi || list[i].hi > GR_TINY_BYTES)
			return false;
		reached |= (1u << list[i].hi) - (1u << list[i].lo);
	}
	return n && !(reached & ~(uint32_t)boxes->taken[obj]);
}
