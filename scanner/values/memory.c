// SPDX-License-Identifier: Apache-2.0
#include "values/memory.h"

#include "scan/enter.h"

#include <inttypes.h>

enum {
	FIRST_BYTES = 1 << 20, /* that are asked for at once */
	STEP_BYTES = 100,      /* runtime.h: of a step */
};

/* Say why memory is not there. */
static struct gr_error *no_memory(struct gr_stop *stop, uint64_t addr,
				  uint64_t bytes)
{
	if (!gr_image_is_mapped(stop->image, addr))
		return gr_error_format(GR_ERROR_FAULT,
				       "there is no memory at 0x%" PRIx64,
				       addr);
	return gr_error_format(GR_ERROR_FAULT,
			       gr_stop_origin_kind(stop) == GR_TARGET_CORE ?
				       "the core does not have the %" PRIu64
				       " bytes at 0x%" PRIx64 :
				       "the %" PRIu64 " bytes at 0x%" PRIx64
				       " were not copied from the process",
			       bytes, addr);
}

/* Read in pieces, each as large as all before it. */
static struct gr_error *read_pieces(struct gr_runtime *rt, uint64_t addr,
				    uint64_t bytes, uint8_t **ret)
{
	uint64_t done = 0;
	struct gr_error *err = NULL;

	while (!err && done < bytes) {
		uint64_t step = done ? done : FIRST_BYTES;
		step = step < bytes - done ? step : bytes - done;
		err = gr_image_want(rt->image, step);
		uint8_t *grown = err ? NULL : realloc(*ret, done + step);

		if (!err && !grown)
			err = &gr_enomem;
		if (err)
			break;
		*ret = grown;
		err = gr_image_read_late(rt->image, addr + done, grown + done,
					 step);
		done += step;
		if (!err)
			err = gr_runtime_step(rt, step / STEP_BYTES);
	}
	return err;
}

struct gr_error *gr_scan_read_memory(struct gr_scan *scan, uint64_t addr,
				     uint64_t bytes, uint8_t **ret)
{
	struct gr_stop *stop;
	_cleanup_free_ uint8_t *buf = malloc(1);
	struct gr_sigbus_guard guard;
	struct gr_error *err;

	if (!buf)
		return &gr_enomem;
	if (bytes > GR_MAX_READ_BYTES)
		return gr_error_format(GR_ERROR_FAULT,
				       "%" PRIu64 " bytes at 0x%" PRIx64
				       " are too much: 1 GiB can be read at "
				       "once",
				       bytes, addr);
	err = gr_scan_enter_goroutines(scan, &guard, &stop);
	if (!err && gr_image_lacks_values(stop->image))
		err = gr_error_not_saved();
	if (!err)
		err = read_pieces(&stop->program->rt, addr, bytes, &buf);
	if (gr_error_catch(&err, GR_ERROR_FAULT))
		err = no_memory(stop, addr, bytes);
	err = gr_sigbus_guard_end(&guard, err);
	if (!err)
		*ret = steal_ptr(buf);
	return err;
}
