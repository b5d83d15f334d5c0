/* SPDX-License-Identifier: Apache-2.0 */
/** show_internal: shared parts of the printer of values. */
#ifndef GR_SHOW_INTERNAL_H
#define GR_SHOW_INTERNAL_H

#include "show/show.h"

/** Flags on what is printed besides the value. */
enum gr_show_flags {
	GR_SHOW_TOP = 1,  /**< The value is not a part of another one. */
	GR_SHOW_TYPE = 2, /**< Types of structs, slices, maps. */
};

/** One question. */
struct gr_show {
	struct gr_types *types;
	struct gr_runtime *rt;
	struct gr_show_limits limits;
	struct gr_text *text;
	unsigned int nested; /**< Values around the current one. */
};

/** A place where a value is printed. */
struct gr_show_at {
	struct gr_shown value;
	unsigned int flags; /**< enum gr_show_flags */
	uint32_t level;	    /**< Structs, elements and maps around it. */
};

/** A record of the value's type; valid until the next type is made. */
static inline const struct gr_type *gr_show_type(const struct gr_show *s,
						 const struct gr_show_at *at)
{
	return gr_types_get(s->types, at->value.type);
}

/** Byte @p off of the value, as a value of @p type; flags and level stay. */
struct gr_show_at gr_show_part(const struct gr_show_at *at, gr_type_id type,
			       uint64_t off);

/** Append `(unreadable ...)` for memory at @p addr that is not there. */
void gr_show_put_missing(struct gr_show *s, uint64_t addr);

/** Copy bytes [off, off + bytes) of the value. False: `(unreadable ...)` is
 * printed instead of it, or *@p err is set. */
bool gr_show_read(struct gr_show *s, const struct gr_show_at *at, uint64_t off,
		  void *buf, uint64_t bytes, struct gr_error **err);

/** The same for memory at @p addr. */
bool gr_show_read_memory(struct gr_show *s, uint64_t addr, void *buf,
			 uint64_t bytes, struct gr_error **err);

/** The same for an unsigned field of the runtime's record at @p addr. */
bool gr_show_read_field(struct gr_show *s, uint64_t addr, struct gr_field field,
			uint64_t *ret, struct gr_error **err);

/** Append one value. */
struct gr_error *gr_show_put(struct gr_show *s,
			     const struct gr_show_at *at) GR_MUST_CHECK;

/** Elements of an array. Those of a channel may go on at its start. */
struct gr_show_ring {
	uint64_t first; /**< Less than the capacity, or 0. */
	uint64_t count, capacity;
};

/** Append elements in brackets; @p start is the place of element 0 of the array.
 */
struct gr_error *
gr_show_put_elements(struct gr_show *s, const struct gr_show_at *start,
		     const struct gr_show_ring *ring) GR_MUST_CHECK;

/* One kind each. */
struct gr_error *gr_show_put_number(struct gr_show *s,
				    const struct gr_show_at *at) GR_MUST_CHECK;
struct gr_error *gr_show_put_string(struct gr_show *s,
				    const struct gr_show_at *at) GR_MUST_CHECK;
struct gr_error *gr_show_put_slice(struct gr_show *s,
				   const struct gr_show_at *at) GR_MUST_CHECK;
struct gr_error *gr_show_put_array(struct gr_show *s,
				   const struct gr_show_at *at) GR_MUST_CHECK;
struct gr_error *gr_show_put_map(struct gr_show *s,
				 const struct gr_show_at *at) GR_MUST_CHECK;
struct gr_error *gr_show_put_chan(struct gr_show *s,
				  const struct gr_show_at *at) GR_MUST_CHECK;
struct gr_error *gr_show_put_func(struct gr_show *s,
				  const struct gr_show_at *at) GR_MUST_CHECK;

/**
 * Append the name of a number of a named type: of the constant of that type
 * with the same value, or of those whose bits make it up. *@p ret is false if
 * there are none.
 */
struct gr_error *gr_show_put_constant(struct gr_show *s,
				      const struct gr_show_at *at,
				      int64_t value, bool *ret) GR_MUST_CHECK;

/**
 * Append the moment in brackets if the value is a time.Time: `(RFC 3339)`.
 * *@p ret is false if it is none, or if its memory is not there.
 */
struct gr_error *gr_show_put_time(struct gr_show *s,
				  const struct gr_show_at *at,
				  bool *ret) GR_MUST_CHECK;

#endif /* GR_SHOW_INTERNAL_H */
