/* SPDX-License-Identifier: Apache-2.0 */
/**
 * show: values of the target as text, in the notation of Delve
 * (service/api/prettyprint.go) and with its limits (pkg/proc/variables.go).
 *
 * Memory that was not captured is said to be unreadable; nothing is guessed.
 */
#ifndef GR_SHOW_H
#define GR_SHOW_H

#include "base/text.h"
#include "goruntime/types/types.h"

/** How much of a value is printed. */
struct gr_show_limits {
	uint32_t max_string;   /**< Bytes of a string. */
	uint32_t max_elements; /**< Elements of an array, a slice, a map ... */
	/** Structs in structs. A deeper one is printed as its address alone. */
	uint32_t max_depth;
};

/** The limits that Delve has by itself. */
#define GR_SHOW_DEFAULTS ((struct gr_show_limits){ 64, 64, 1 })

/** A value: in memory of the target, or in registers and pieces. */
struct gr_shown {
	gr_type_id type;
	uint64_t addr;	     /**< The first byte's, unless `host` has them. */
	const uint8_t *host; /**< The bytes of the whole value, or NULL. */
	uint64_t host_bytes; /**< How many of them there are. */
};

/**
 * Append a value to @p text. What the limits leave out is counted
 * (`...+3 more`). Printing ends when @p text is full.
 *
 * - `3`, `Tuesday (2)`, `1.5`, `(1 + 2i)`, `true`, `"abc...+5 more"`
 * - `[]int len: 2, cap: 4, [1,2]`, `[2]int [1,2]`, `map[int]bool [1: true, ]`
 * - `main.T {A: 1, B: "x"}`, `*main.T {A: 1}`, `(*main.T)(0xc000012345)`
 * - `error(*errors.errorString) *{s: "x"}`, `main.f`,
 *   `main.f.func1 {x: 3}` with what it has captured
 * - `chan int 2/3 [7,8]`: what is received next is first
 * - `(unreadable 0xc000012345 was not captured)`
 *
 * Inside structs, what is captured or in a channel needs a larger max_depth.
 *
 * @return only an error that ends the question; damage is part of the text.
 */
struct gr_error *gr_show_value(struct gr_types *types,
			       const struct gr_show_limits *limits,
			       const struct gr_shown *value,
			       struct gr_text *text) GR_MUST_CHECK;

#endif /* GR_SHOW_H */
