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

/** A block of C memory. */
struct gr_out_block {
	uint64_t address, bytes;
	uint64_t weight; /**< bytes that a sample of a library stands for, or 0 */
	uint64_t time_ns, goid, labels, sweepgen;
	uint32_t stack;	 /**< 0: none */
	uint32_t window; /**< in which it was seen, from 1; 0: in none */
	uint32_t kind;	 /**< enum gr_alloc_kind */
	uint32_t tid;
};

/** A set of labels of a goroutine, and the sweepgen at which it was in use. */
struct gr_out_labels {
	uint64_t address, sweepgen;
};

_Static_assert(sizeof(struct gr_out_event) == 24, "as in the protocol");
_Static_assert(sizeof(struct gr_out_sample) == 56, "as in the protocol");

_Static_assert(sizeof(struct gr_out_kernel) == 32, "as in the protocol");
_Static_assert(sizeof(struct gr_out_block) == 72, "as in the protocol");
_Static_assert(sizeof(struct gr_out_labels) == 16, "as in the protocol");

enum { GR_BATCH = 4096 };

/** Records that are not written yet. Writing fails when nobody reads; then
 * is_broken is set, and all else is in vain. */
struct gr_reply {
	FILE *file;
	bool is_broken;
	size_t nevents, nsamples, nlabels, neach;
	struct gr_out_event events[GR_BATCH];
	struct gr_out_sample samples[GR_BATCH];
	struct gr_out_labels labels[GR_BATCH];
	struct gr_out_block each[GR_BATCH];
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
void gr_reply_labels(struct gr_reply *out, const struct gr_out_labels *labels);
/** Write an allocation or a free as it happens. */
void gr_reply_each(struct gr_reply *out, const struct gr_out_block *block);
/** Write a block behind a line `blocks`, which says how many there are. */
void gr_reply_block(struct gr_reply *out, const struct gr_out_block *block);
/** Are there records that are to be written soon? */
bool gr_reply_is_urgent(const struct gr_reply *out);
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
