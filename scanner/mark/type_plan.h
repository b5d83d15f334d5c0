/* SPDX-License-Identifier: Apache-2.0 */
/**
 * plan: types compiled to lists of pointer slots. The walk runs over words and
 * never over type trees.
 */
#ifndef GR_TYPE_PLAN_H
#define GR_TYPE_PLAN_H

#include "goruntime/types/types.h"

/** The meaning of a pointer word, which tells what lies behind the pointer. */
enum gr_slot_op {
	/* The slot alone describes the referents of these: see gr_slot.to. */
	GR_SLOT_UNKNOWN, /**< A pointer to something of unknown type. */
	GR_SLOT_POINTER, /**< Pointer to a value of `type`. */
	GR_SLOT_STRING,	 /**< Data pointer of a string; its length follows. */
	GR_SLOT_HEADER,	 /**< Pointer to the header of a map or chan `type`. */
	GR_SLOT_TRIE,	 /**< Root of the HashTrieMap `type`. */
	/* These also need other words. */
	GR_SLOT_SLICE,	 /**< Data pointer of slice `type`; cap two words on. */
	GR_SLOT_EFACE,	 /**< Data word; the word before is a type record. */
	GR_SLOT_IFACE,	 /**< Data word; the word before is an itab. */
	GR_SLOT_FUNC,	 /**< Pointer to a funcval. */
	GR_SLOT_COUNTED, /**< Array of `type`; the next word is its length. */
	GR_SLOT_REFLECT, /**< reflect.Value.ptr: type before, flags after. */
};

#define GR_STEP_SELF UINT32_MAX

struct gr_type_plan;

/** The referent of a pointer, as far as the referrer knows it. */
struct gr_referent {
	/** The plan of `type`; empty without a type, and for containers. */
	const struct gr_type_plan *plan;
	gr_type_id type;  /**< Type of the region there, or GR_TYPE_NONE. */
	gr_type_id label; /**< The object is counted in this type's total. */
	/** Bytes that the type explains at the pointer; 0: no pointers. */
	uint32_t bytes;
	/** A larger object without pointers may have more than one value of
	 * the type; 0: any object is explained. */
	uint16_t most_bytes;
	bool is_container; /**< Header of a map, chan or trie `type`. */
};

/**
 * A value of gr_referent.bytes that is larger than any small object. It
 * excludes a referent from the quick way: one without a label, an object of
 * the scheduler, or a very large type.
 */
#define GR_NOT_QUICK UINT32_MAX

/** One word of a value that may be a pointer. */
struct gr_slot {
	uint8_t op;
	gr_type_id type;
	/** The step whose node is billed; GR_STEP_SELF: the value's node. */
	uint32_t step;
	/** `to.plan` is NULL until the slot is first followed. */
	struct gr_referent to;
};

/** A level of names inside a value: `Ptr. (*main.Node)`. */
struct gr_step {
	const char *name;
	uint32_t parent; /**< GR_STEP_SELF: the value itself. */
};

/** A long array inside a value; the walk loops over its elements. */
struct gr_array_slot {
	uint64_t off_bytes;
	uint64_t count;
	gr_type_id elem;
	uint32_t step;
};

/**
 * The pointers of one type. If bit w of `mask` is set, word w is a pointer and
 * slot_of_word[w] is its slot. `arrays` has the words of long arrays.
 */
struct gr_type_plan {
	uint64_t size_bytes;
	bool is_scheduler; /**< GR_ROLE_SCHEDULER */
	bool is_closure;   /**< GR_ROLE_CLOSURE */
	bool is_small;	   /**< One peek reads all words; no arrays. */
	bool is_direct;	   /**< One pointer, which interfaces hold directly. */
	uint32_t nwords;   /**< Words that mask and slot_of_word cover. */
	uint32_t nslots, nsteps, narrays;
	uint64_t *mask;
	uint64_t first_mask;  /**< mask[0] */
	uint64_t first_words; /**< Bits of the first few slots of mask[0]. */
	uint64_t code_words;  /**< Bits of funcs in mask[0]. */
	struct gr_slot **slot_of_word; /**< Into slots. */
	struct gr_slot *slots;
	struct gr_step *steps;
	struct gr_array_slot *arrays;
	struct gr_referent self; /**< A pointer to one value of the type. */
};

/** The plan of values without a type: it has no slots. */
extern const struct gr_type_plan gr_type_plan_nothing;

/** True if values of the type hold no pointer at all. */
static inline bool gr_type_plan_is_empty(const struct gr_type_plan *plan)
{
	return !plan->nslots && !plan->narrays;
}

/** Compiled plans by type id; filled on demand. */
struct gr_type_plans {
	struct gr_runtime *rt;
	struct gr_types *types;
	struct gr_arena arena;
	struct gr_type_plan **by_type;
	size_t capacity;
	/** enum gr_holds of each type, computed on demand; for free(). */
	uint8_t *holds;
	size_t holds_capacity;
	uint64_t visited;     /**< Types and fields in types, in all plans. */
	struct gr_error *err; /**< An error of poll: why a plan is NULL. */
	bool is_over; /**< Poll has refused: no plan is compiled any more. */
	/** `time.Timer` and the runtime's larger struct behind it, or NONE. */
	gr_type_id time_timer, time_ticker, runtime_timer;
	gr_type_id timer_chan;		    /**< chan time.Time */
	gr_type_id timer;		    /**< runtime.timer */
	gr_type_id any;			    /**< interface {} */
	gr_type_id pool_local, weak_handle; /**< sync.poolLocal */
};

struct gr_error *gr_type_plans_init(struct gr_type_plans *plans,
				    struct gr_types *types) GR_MUST_CHECK;
void gr_type_plans_deinit(struct gr_type_plans *plans);

/**
 * Compile the plan of a type, once, and return it. NULL means that there is no
 * memory or that plans->err is set.
 */
const struct gr_type_plan *gr_type_plan_compile(struct gr_type_plans *plans,
						gr_type_id type);

/** The plan of a type that is in use (id below gr_types_count()). */
static inline const struct gr_type_plan *
gr_type_plan_get(struct gr_type_plans *p, gr_type_id type)
{
	if (GR_LIKELY(type < p->capacity && p->by_type[type]))
		return p->by_type[type];
	return gr_type_plan_compile(p, type);
}

#endif /* GR_TYPE_PLAN_H */
