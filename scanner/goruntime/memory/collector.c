// SPDX-License-Identifier: Apache-2.0
/* Source: runtime/mgcpacer.go (gcControllerState). Its numbers are atomic. */
#include "goruntime/memory/collector.h"

#include "goruntime/types/types_internal.h"

/* Read field @p name, an atomic number of @p bytes. */
static struct gr_error *read_atomic(const struct gr_types *types, uint64_t addr,
				    gr_type_id type, const char *name,
				    unsigned int bytes, int64_t *ret)
{
	const struct gr_type_field *outer =
		gr_types_field_named(types, type, name);
	const struct gr_type_field *value =
		outer ? gr_types_field_named(types, outer->type, "value") :
			NULL;
	uint64_t number;

	if (!value)
		return NULL;
	struct gr_error *err = gr_image_read_uint(
		types->rt->image, addr + outer->off_bytes + value->off_bytes,
		bytes, &number);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	*ret = bytes == 4 ? (int32_t)number : (int64_t)number;
	return NULL;
}

struct gr_error *gr_collector_read(const struct gr_types *types,
				   struct gr_collector *ret)
{
	gr_type_id type;
	uint64_t addr;

	*ret = (struct gr_collector){ INT64_MIN, INT64_MIN, INT64_MIN };
	if (!gr_types_variable(types, "runtime.gcController", &addr, &type))
		return NULL;
	struct gr_error *err =
		read_atomic(types, addr, type, "gcPercent", 4, &ret->gogc);
	if (!err)
		err = read_atomic(types, addr, type, "memoryLimit", 8,
				  &ret->memory_limit);
	if (!err)
		err = read_atomic(types, addr, type, "gcPercentHeapGoal", 8,
				  &ret->goal_bytes);
	return err;
}
