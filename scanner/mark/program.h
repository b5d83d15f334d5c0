/* SPDX-License-Identifier: Apache-2.0 */
/**
 * program: types compiled to lists of pointer slots, so that the walk runs
 * over words and never over type trees.
 */
#ifndef GR_PROGRAM_H
#define GR_PROGRAM_H

#include "goruntime/types.h"

/** What a pointer word is, and so what lies behind it. */
enum gr_slot_op {
	/* Of these the slot knows all: see gr_slot.to. */
	GR_SLOT_UNKNOWN, /**< A pointer to something of unknown type. */
	GR_SLOT_POINTER, /**< `type` is what it points to. */
	GR_SLOT_STRING,	 /**< Data pointer of a string; its length follows. */
	GR_SLOT_HEADER,	 /**< Pointer to the header of a map or chan `type`. */
	GR_SLOT_TRIE,	 /**< Root of the HashTrieMap `type`. */
	/* Of these other words are looked at. */
	GR_SLOT_SLICE,	 /**< Data pointer of slice `type`; cap two words on. */
	GR_SLOT_EFACE,	 /**< Data word; the word before is a type record. */
	GR_SLOT_IFACE,	 /**< Data word; the word before is an itab. */
	GR_SLOT_FUNC,	 /**< Pointer to a funcval. */
	GR_SLOT_COUNTED, /**< Array of `type`; the next word is its length. */
	GR_SLOT_REFLECT, /**< reflect.Value.ptr: type before, flags after. */
};

#define GR_STEP_SELF UINT32_MAX

struct gr_program;

/** What a pointer leads to, as far as the referrer knows. */
struct gr_referent {
	/** Of `type`; of no type and of containers an empty one. */
	const struct gr_program *program;
	gr_type_id type;  /**< Of the region there, or GR_TYPE_NONE. */
	gr_type_id label; /**< Whose total the object is counted in. */
	/** Bytes that the type explains at the pointer; 0: no pointers there. */
	uint32_t bytes;
	bool is_container; /**< Header of a map, chan or trie `type`. */
};

/**
 * gr_referent.bytes, more than any small object has, of what the quick way is
 * not for: without a label, barriers, and very large types.
 */
#define GR_NOT_QUICK UINT32_MAX

/** One word of a value that may be a pointer. */
struct gr_slot {
	uint8_t op;
	gr_type_id type;
	uint32_t step; /**< Whose node is billed; GR_STEP_SELF: the value's. */
	/** `to.program` is NULL until the slot is first followed. */
	struct gr_referent to;
};

/** A level of names inside a value: `Ptr. (*main.Node)`. */
struct gr_step {
	const char *name;
	uint32_t parent; /**< GR_STEP_SELF: the value itself. */
};

/** A long array inside a value, gone through in a loop. */
struct gr_array_slot {
	uint64_t off_bytes;
	uint64_t count;
	gr_type_id elem;
	uint32_t step;
};

/**
 * The pointers of one type. Bit w of mask: word w is a pointer slot,
 * slot_of_word[w]; words of long arrays are left to `arrays`.
 */
struct gr_program {
	uint64_t size_bytes;
	bool is_barrier; /**< GR_ROLE_BARRIER */
	bool is_closure; /**< GR_ROLE_CLOSURE */
	bool is_small;	 /**< mask[0] peeks at all; no arrays. */
	bool is_direct;	 /**< One pointer: what an interface holds itself. */
	uint32_t nwords; /**< That mask and slot_of_word cover. */
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

/** Of what has no type: no slots. */
extern const struct gr_program gr_program_nothing;

/** True if values of the type hold no pointer at all. */
static inline bool gr_program_is_empty(const struct gr_program *program)
{
	return !program->nslots && !program->narrays;
}

/** Compiled programs by type id; filled on demand. */
struct gr_programs {
	struct gr_runtime *rt;
	struct gr_arena arena;
	struct gr_program **by_type;
	size_t capacity;
	/** `time.Timer` and the runtime's larger struct behind it, or NONE. */
	gr_type_id time_timer, time_ticker, runtime_timer;
	gr_type_id timer_chan;		    /**< chan time.Time */
	gr_type_id timer;		    /**< runtime.timer */
	gr_type_id any;			    /**< interface {} */
	gr_type_id pool_local, weak_handle; /**< sync.poolLocal */
};

struct gr_error *gr_programs_init(struct gr_programs *programs,
				  struct gr_runtime *rt) GR_MUST_CHECK;
void gr_programs_deinit(struct gr_programs *programs);

/** Compile (once) and return the program of a type; NULL: no memory left. */
const struct gr_program *gr_program_compile(struct gr_programs *programs,
					    gr_type_id type);

/** The program of a type that is in use (id below gr_types_count()). */
static inline const struct gr_program *gr_program_get(struct gr_programs *p,
						      gr_type_id type)
{
	if (GR_LIKELY(type < p->capacity && p->by_type[type]))
		return p->by_type[type];
	return gr_program_compile(p, type);
}

#endif /* GR_PROGRAM_H */
