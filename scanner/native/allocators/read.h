/* SPDX-License-Identifier: Apache-2.0 */
/**
 * read: all C allocators of a stopped program. Several may be in it: a block
 * belongs to the one whose structures hold it.
 */
#ifndef GR_NATIVE_READ_H
#define GR_NATIVE_READ_H

#include "native/native.h"

/**
 * Find the allocators and their blocks. The target's memory was captured, or is
 * that of a file. @p ret needs gr_native_deinit() even if this fails. Damage in
 * the target is no error: it makes an arena unchecked.
 */
struct gr_error *gr_native_read(const struct gr_native_spec *spec,
				struct gr_native *ret) GR_MUST_CHECK;

#endif /* GR_NATIVE_READ_H */
