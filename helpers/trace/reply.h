/* SPDX-License-Identifier: Apache-2.0 */
/** reply: what goref-trace answers, as lines and batches of records. */
#ifndef GR_TRACE_REPLY_H
#define GR_TRACE_REPLY_H

#include "base/base.h"
#include "helpers/trace/places.h"

/** A fault or a change of a mapping. */
struct gr_out_event {
	uint64_t address;
	uint32_t stack; /**< 0: none */
	uint32_t flags; /**< enum gr_event_flag, as far as the reader knows it */
	uint64_t bytes;
};

/** A sample of the Go runtime. */
struct gr_out_sample {
	uint64_t address, bytes, goid, labels, time_ns, sweepgen;
	uint32_t stack, tid;
};

/** Outstanding memory of the kernel, by its allocator and stack. */
struct gr_out_kernel {
	uint32_t kind;	/**< enum gr_kernel_kind */
	uint32_t stack; /**< of the kernel; 0: none */
	uint64_t bytes, count, oldest_ns;
};

_Static_assert(sizeof(struct gr_out_event) == 24, "as in the protocol");
_Static_assert(sizeof(struct gr_out_sample) == 56, "as in the protocol");

_Static_assert(sizeof(struct gr_out_kernel) == 32, "as in the protocol");

enum { GR_BATCH = 4096 };

/** Records that are not written yet. Writing fails when nobody reads; then
 * is_broken is set, and all else is in vain. */
struct gr_reply {
	FILE *file;
	bool is_broken;
	size_t nevents, nsamples;
	struct gr_out_event events[GR_BATCH];
	struct gr_out_sample samples[GR_BATCH];
};

/** Write a line, which has no newline, behind the records. */
void gr_reply_line(struct gr_reply *out, const char *fmt, ...) GR_PRINTF(2, 3);
/** Write a line that the records refer to, before them. */
void gr_reply_place(struct gr_reply *out, const struct gr_trace_place *place,
		    uint64_t pc);
void gr_reply_stack(struct gr_reply *out, uint32_t id,
		    const struct gr_walked *walked, const uint32_t *places);
void gr_reply_event(struct gr_reply *out, const struct gr_out_event *event);
void gr_reply_sample(struct gr_reply *out, const struct gr_out_sample *sample);
/** Write the address and the name of a place in the kernel. */
void gr_reply_kernel_place(struct gr_reply *out, uint64_t pc, const char *name);
void gr_reply_kernel_stack(struct gr_reply *out, uint32_t id,
			   const struct gr_walked *walked);
/** Write all that is outstanding now, also if that is nothing. */
void gr_reply_kernel(struct gr_reply *out, const struct gr_out_kernel *records,
		     size_t n);
/** Write all records, and see to it that they arrive. */
void gr_reply_flush(struct gr_reply *out);

#endif /* GR_TRACE_REPLY_H */
