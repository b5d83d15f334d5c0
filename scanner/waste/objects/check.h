/* SPDX-License-Identifier: Apache-2.0 */
/**
 * check: the functions of a check, and what they are given.
 *
 * Most checks judge objects, one by one, in the order of addresses. They are
 * asked twice: for the rows, and, when it is known which rows are not small,
 * for the total. A check must give the same answer both times. Other checks
 * find their rows by themselves (check_stacks.c).
 */
#ifndef GR_WASTE_CHECK_H
#define GR_WASTE_CHECK_H

#include "goruntime/heap/heap.h"
#include "mark/parents.h"
#include "waste/objects/boxes.h"
#include "waste/objects/content.h"
#include "waste/objects/findings.h"
#include "waste/objects/kinds.h"
#include "waste/objects/reach.h"
#include "waste/objects/size_classes.h"
#include "waste/objects/answer.h"

struct gr_answers;
struct gr_check;

/** An object that was reached. */
struct gr_waste_object {
	gr_obj obj;
	const struct gr_span *span;
	const struct gr_waste_kind *kind;
	uint64_t addr;	     /**< Behind its malloc header. */
	uint64_t bytes;	     /**< From there to the end of its slot. */
	uint64_t slot_bytes; /**< The whole slot. */
	/** Its bytes, at addr; NULL: not there, as those of objects without
	 * pointers are before gr_waste_content(). */
	const uint8_t *host;
};

enum { GR_SPAN_OF_SHIFT = 8 };

/** A waste question while it is answered. */
struct gr_waste_run {
	struct gr_answers *answers;
	const struct gr_heap *heap;
	struct gr_types *types;
	/** The object that leads to each one, its label, whether it is
	 * reached. */
	const struct gr_parents *parents;
	struct gr_type_plans plans;
	struct gr_waste_kinds kinds;
	struct gr_size_classes classes;
	/** Which bytes of each object are in use. */
	struct gr_reach_table reach;
	struct gr_boxes boxes; /**< Filled if a check needs it. */
	struct gr_findings findings;
	const struct gr_check *const *table; /**< By enum gr_waste_check. */
	const struct gr_waste_options *options;
	bool has_values;	   /**< Memory without pointers can be read. */
	struct gr_content content; /**< See gr_waste_content(). */
	/** By obj >> GR_SPAN_OF_SHIFT: the first span with such an object. */
	uint32_t *span_of;
	struct gr_waste *waste;	       /**< The answer. */
	void *state[GR_NWASTE_CHECKS]; /**< The checks' own. */
};

/** The saving of one object. */
struct gr_saving {
	uint64_t bytes; /**< 0: nothing. */
	/** The row: equal numbers are one row. See gr_check.name. */
	uint64_t key;
};

/** A check. All functions but one of judge() and find() may be NULL. */
struct gr_check {
	enum gr_waste_check id;
	/** "Intern the strings of this field.": a whole sentence. */
	const char *advice;
	/** The key of a saving is that of gr_waste_place(): the engine names
	 * rows by the variable or field that leads to the object. */
	bool is_by_place;
	/** Only the author of a row's type can do what the advice says: rows
	 * about the standard library are left out. */
	bool is_for_author;

	/** Make the state, which is freed by end(), before any other call. */
	struct gr_error *(*begin)(struct gr_waste_run *run);
	/** The reach and the kind of each object are known. */
	struct gr_error *(*reached)(struct gr_waste_run *run);
	void (*end)(struct gr_waste_run *run);

	/** Are objects of this kind looked at and judged? */
	bool (*applies)(struct gr_waste_run *run,
			const struct gr_waste_kind *kind);
	/** See each object once, in the order of addresses, before any is
	 * judged. */
	struct gr_error *(*look)(struct gr_waste_run *run,
				 const struct gr_waste_object *object);
	/** All objects have been seen, none is judged yet. */
	struct gr_error *(*looked)(struct gr_waste_run *run);
	/** Tell what the object would save. Inner loop: no allocation, no
	 * search that is longer than a cache miss or two. */
	void (*judge)(struct gr_waste_run *run,
		      const struct gr_waste_object *object,
		      struct gr_saving *ret);

	/** Add rows that are not by object (gr_findings_add()). */
	struct gr_error *(*find)(struct gr_waste_run *run);

	/** Name a row that is not by place: its type and field, interned in the
	 * program's arena; each is "" before the call. @p example is the
	 * address of an object with the key. Set *@p advice for another
	 * sentence than the check's. */
	struct gr_error *(*name)(struct gr_waste_run *run, uint64_t key,
				 uint64_t example, const char **type,
				 const char **field, const char **advice);
};

/** The check of an id. */
static inline const struct gr_check *
gr_waste_check(const struct gr_waste_run *run, enum gr_waste_check id)
{
	return run->table[id];
}

/** Is the check asked, and is what it needs there? */
bool gr_waste_is_asked(const struct gr_waste_run *run, enum gr_waste_check id);

/**
 * A number for the variable or field by which the walk first reached an object:
 * a place. Elements of slices and maps belong to the place of the slice or map.
 */
uint64_t gr_waste_place(struct gr_waste_run *run, gr_obj obj);

/** The span of an object. All kinds are known. */
const struct gr_span *gr_waste_span_of(const struct gr_waste_run *run,
				       gr_obj obj);

/** The object with a number, which is reached. All kinds are known. */
void gr_waste_object_get(struct gr_waste_run *run, gr_obj obj,
			 struct gr_waste_object *ret);

/** The same, if its span is known. */
void gr_waste_object_in(struct gr_waste_run *run, const struct gr_span *span,
			gr_obj obj, struct gr_waste_object *ret);

/**
 * The bytes [@p off, @p off + @p bytes) of an object, counted from
 * gr_waste_object.addr, also of one without pointers. They stay valid until the
 * next call.
 *
 * @return NULL if they are not there or not in the object.
 */
const uint8_t *gr_waste_content(struct gr_waste_run *run,
				const struct gr_waste_object *object,
				uint64_t off, uint64_t bytes);

/** Bytes below which a row is left out: for find(), which need not make the
 * object graph for less. */
uint64_t gr_waste_min_bytes(const struct gr_waste_run *run);

#endif /* GR_WASTE_CHECK_H */
