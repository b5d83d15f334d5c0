// SPDX-License-Identifier: Apache-2.0
/* Source: runtime/mgcpacer.go (gcControllerState). Its numbers are atomic. */
#include "scan/collector.h"

#include "scan/scan.h"

/* Read field @p name, an atomic number of @p bytes. */
static struct gr_error *read_atomic(struct gr_scan *scan, uint64_t addr,
				    gr_type_id type, const char *name,
				    unsigned int bytes, int64_t *ret)
{
	const struct gr_type_field *outer =
		gr_types_field_named(scan->types, type, name);
	const struct gr_type_field *value =
		outer ? gr_types_field_named(scan->types, outer->type,
					     "value") :
			NULL;
	uint64_t number;

	if (!value)
		return NULL;
	struct gr_error *err = gr_image_read_uint(
		scan->image, addr + outer->off_bytes + value->off_bytes, bytes,
		&number);
	if (gr_error_catch(&err, GR_ERROR_FAULT) || err)
		return err;
	*ret = bytes == 4 ? (int32_t)number : (int64_t)number;
	return NULL;
}

struct gr_error *gr_scan_read_collector(struct gr_scan *scan,
					struct gr_collector *ret)
{
	gr_type_id type;
	uint64_t addr;

	*ret = (struct gr_collector){ INT64_MIN, INT64_MIN, INT64_MIN };
	if (!gr_types_variable(scan->types, "runtime.gcController", &addr,
			       &type))
		return NULL;
	struct gr_error *err =
		read_atomic(scan, addr, type, "gcPercent", 4, &ret->gogc);
	if (!err)
		err = read_atomic(scan, addr, type, "memoryLimit", 8,
				  &ret->memory_limit);
	if (!err)
		err = read_atomic(scan, addr, type, "gcPercentHeapGoal", 8,
				  &ret->goal_bytes);
	return err;
}
