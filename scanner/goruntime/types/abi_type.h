/* SPDX-License-Identifier: Apache-2.0 */
/**
 * abi_type: the runtime's own description of a type (internal/abi/type.go:
 * Type, Name, UncommonType). The module reads one record at a time. types.h
 * makes types for the walk from it.
 */
#ifndef GR_ABI_TYPE_H
#define GR_ABI_TYPE_H

#include "goruntime/layout/runtime.h"

struct gr_abi_type {
	/**
	 * The name, never empty. It contains the full import path if the type
	 * is declared. In other names, the parts are qualified by package
	 * names only.
	 */
	const char *name;
	uint64_t size_bytes;
	uint8_t kind;  /**< reflect.Kind, without flags. */
	bool has_name; /**< A declared type: T, not *T. */
};

/** Read the record at @p addr. The error is GR_ERROR_FAULT if the record is
 * invalid. */
struct gr_error *gr_abi_type_read(struct gr_runtime *rt, uint64_t addr,
				  struct gr_abi_type *ret) GR_MUST_CHECK;

/** Read the name (abi.Name) at @p addr. */
struct gr_error *gr_abi_type_read_name(struct gr_runtime *rt, uint64_t addr,
				       const char **ret) GR_MUST_CHECK;

/**
 * Find the record in a module whose name, as gr_abi_type_read() returns it,
 * is @p name. *@p ret is 0 if there is none: the linker leaves out the records
 * of types that the program does not need at run time.
 */
struct gr_error *gr_abi_type_find(struct gr_runtime *rt,
				  const struct gr_module *module,
				  const char *name,
				  uint64_t *ret) GR_MUST_CHECK;

#endif /* GR_ABI_TYPE_H */
