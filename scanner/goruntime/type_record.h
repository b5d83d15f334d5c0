/* SPDX-License-Identifier: Apache-2.0 */
/**
 * type_record: the runtime's own description of a type (internal/abi/type.go:
 * Type, Name, UncommonType). Knows one record at a time; what it means for the
 * walk is the matter of types.h.
 */
#ifndef GR_TYPE_RECORD_H
#define GR_TYPE_RECORD_H

#include "goruntime/runtime.h"

struct gr_type_record {
	/**
	 * With the full import path if the type has a name of its own; of
	 * others the parts are named by their packages only. Never empty.
	 */
	const char *name;
	uint64_t size_bytes;
	uint8_t kind;  /**< reflect.Kind, without flags. */
	bool has_name; /**< Declared, not put together: T, not *T. */
};

/** Read the record at @p addr. GR_ERROR_FAULT if it makes no sense. */
struct gr_error *gr_type_record_read(struct gr_runtime *rt, uint64_t addr,
				     struct gr_type_record *ret) GR_MUST_CHECK;

/** Read the name (abi.Name) at @p addr. */
struct gr_error *gr_type_record_read_name(struct gr_runtime *rt, uint64_t addr,
					  const char **ret) GR_MUST_CHECK;

/**
 * The record of that name, as gr_type_record_read() gives it, in a module.
 * *@p ret is 0 if there is none: types that no value was ever made of are not
 * linked in.
 */
struct gr_error *gr_type_record_find(struct gr_runtime *rt,
				     const struct gr_module *module,
				     const char *name,
				     uint64_t *ret) GR_MUST_CHECK;

#endif /* GR_TYPE_RECORD_H */
