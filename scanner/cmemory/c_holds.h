/* SPDX-License-Identifier: Apache-2.0 */
/**
 * c_holds: the references to Go that a program keeps for C. C itself has only a
 * number, or an address that the collector does not follow: the table of
 * cgo.Handle and the Pinners of package runtime keep the objects alive.
 * Sources: runtime/cgo/handle.go, sync/map.go, internal/sync/hashtriemap.go,
 * runtime/pinner.go.
 */
#ifndef GR_C_HOLDS_H
#define GR_C_HOLDS_H

#include "base/error.h"
#include "base/vector.h"
#include "goruntime/types/types.h"

struct gr_stop;

enum gr_c_holder { GR_BY_HANDLE, GR_BY_PINNER };

/** A reference that is kept for C. */
struct gr_c_hold {
	uint64_t at; /**< The word that has it, in the table or in a Pinner. */
	uint64_t to; /**< Its value, which may be no address of the heap. */
	/** The type of the value that a handle stands for; GR_TYPE_NONE: not
	 * known. */
	gr_type_id type;
	uint8_t by; /**< enum gr_c_holder */
};
GR_VECTOR(gr_c_hold_vector, struct gr_c_hold);

/**
 * Append what the table of cgo.Handle refers to; a handle of nil is left out.
 *
 * @param[out] is_known false: the program has functions that use the table, but
 *	no symbol or type tells where and how.
 */
struct gr_error *gr_c_holds_read_handles(struct gr_stop *stop,
					 struct gr_c_hold_vector *ret,
					 bool *is_known) GR_MUST_CHECK;

/** Append what is pinned now. The roots were collected. */
struct gr_error *
gr_c_holds_read_pinners(struct gr_stop *stop,
			struct gr_c_hold_vector *ret) GR_MUST_CHECK;

struct gr_root;

/** Is it the root by which a Pinner's finalizer keeps what the Pinner refers to?
 */
bool gr_c_holds_is_pinner(struct gr_types *types, const struct gr_root *root);

#endif /* GR_C_HOLDS_H */
