// SPDX-License-Identifier: Apache-2.0
#include "native/block_class.h"

#include "goruntime/layout/c_variable.h"
#include "native/class_name.h"

enum {
	ADDRESS_BITS = 47,
	VTABLE_START = 2 * GR_WORD_BYTES, /* where objects point to */
	MAX_OBJECTS = 1 << 16,		  /* of an array that is told */
};

void gr_classes_init(struct gr_classes *classes, struct gr_runtime *rt,
		     struct gr_blocks *blocks)
{
	memset(classes, 0, sizeof(*classes));
	classes->view = gr_view_of(rt);
	classes->blocks = blocks;
}

/* The class whose objects begin with a word. */
static struct gr_error *ask(struct gr_classes *c, uint64_t word,
			    struct gr_class_slot *ret)
{
	struct gr_runtime *rt = c->view.rt;
	size_t module = gr_image_module_at(rt->image, word);
	struct gr_symbol symbol;
	struct gr_error *err = gr_c_symbol_find(rt, module, word, &symbol);

	*ret = (struct gr_class_slot){ .word = word,
				       .module = (uint32_t)module };
	if (err || !symbol.name || word - symbol.addr != VTABLE_START)
		return err;
	return gr_class_name(rt->arena, symbol.name, &ret->name);
}

/* The same, asked once for most words. *@p ret is NULL if there is none. */
static struct gr_error *find(struct gr_classes *c, uint64_t word,
			     const struct gr_class_slot **ret)
{
	struct gr_class_slot *slot =
		&c->slots[word / GR_WORD_BYTES % GR_CLASS_SLOTS];
	struct gr_error *err = NULL;

	*ret = NULL;
	if (word < GR_PAGE_BYTES || word >> ADDRESS_BITS ||
	    word % GR_WORD_BYTES ||
	    gr_blocks_find(c->blocks, word) != GR_BLOCK_NONE)
		return NULL;
	if (slot->word != word) {
		err = ask(c, word, slot);
		if (!err)
			err = gr_runtime_step(c->view.rt, 4);
	}
	if (!err && slot->name)
		*ret = slot;
	return err;
}

/* Do all objects of an array begin with a word? */
static struct gr_error *check_objects(struct gr_classes *c, uint64_t first,
				      uint64_t word, struct gr_block_class *ret)
{
	struct gr_error *err = NULL;

	for (uint64_t i = 0; !err && i < ret->count; i++) {
		if (!gr_view_has(&c->view, first + i * ret->stride, word)) {
			*ret = (struct gr_block_class){ 0 };
			return NULL;
		}
		err = gr_runtime_step(c->view.rt, 1);
	}
	return err;
}

/* Is it an array, whose first word is their number? */
static struct gr_error *find_array(struct gr_classes *c,
				   const struct gr_block *block, uint64_t count,
				   struct gr_block_class *ret)
{
	uint64_t first = block->addr + GR_WORD_BYTES, word;
	uint64_t room = gr_block_usable_bytes(block) - GR_WORD_BYTES;
	const struct gr_class_slot *class;

	if (count < 2 || count > MAX_OBJECTS || count * GR_WORD_BYTES > room ||
	    !gr_view_word(&c->view, first, &word))
		return NULL;
	struct gr_error *err = find(c, word, &class);
	if (err || !class)
		return err;
	*ret = (struct gr_block_class){
		.name = class->name,
		.module = class->module,
		.count = count,
		.stride = room / count & ~(uint64_t)(GR_WORD_BYTES - 1),
	};
	return check_objects(c, first, word, ret);
}

struct gr_error *gr_block_class_find(struct gr_classes *c,
				     const struct gr_block *block,
				     struct gr_block_class *ret)
{
	const struct gr_class_slot *class;
	uint64_t word;

	*ret = (struct gr_block_class){ 0 };
	if (gr_block_usable_bytes(block) < 2 * GR_WORD_BYTES ||
	    !gr_view_word(&c->view, block->addr, &word))
		return NULL;
	struct gr_error *err = find(c, word, &class);
	if (err)
		return err;
	if (!class)
		return find_array(c, block, word, ret);
	ret->name = class->name;
	ret->module = class->module;
	return NULL;
}
