/* SPDX-License-Identifier: Apache-2.0 */
/** input: the lines that goref-trace is given. */
#ifndef GR_TRACE_INPUT_H
#define GR_TRACE_INPUT_H

#include "base/base.h"
#include "base/error.h"
#include "helpers/trace/event.h"
#include "helpers/trace/go_frames.h"
#include "helpers/trace/native_event.h"

enum gr_trace_mode {
	GR_TRACE_RSS,
	GR_TRACE_GO,
	GR_TRACE_KERNEL,
	GR_TRACE_NATIVE,
};

/** The kind of a line. */
enum gr_input_kind {
	GR_INPUT_FACT,	    /**< the request has one fact more */
	GR_INPUT_GO_MODULE, /**< request.module is new */
	GR_INPUT_START,
	GR_INPUT_TICK, /**< request.tick is its number */
	GR_INPUT_END,
};

enum { GR_MAX_ALLOC_FUNCTIONS = 512, GR_MAX_SAMPLERS = 16 };

/** Where the calls of a function of an allocator are seen. */
struct gr_probed_function {
	enum gr_alloc_kind kind;
	uint64_t address;
};

/** The calls that the mode native is to see. */
struct gr_alloc_request {
	struct gr_probed_function functions[GR_MAX_ALLOC_FUNCTIONS];
	size_t nfunctions;
	uint64_t samplers[GR_MAX_SAMPLERS]; /**< addresses of code */
	size_t nsamplers;
	uint64_t period_ms; /**< of the windows */
	bool is_full;	    /**< There are no windows: all calls are seen. */
	uint64_t full_ms;   /**< for so long; 0: not known */
	bool is_each;	    /**< Each call is told at once. */
	uint32_t sample;    /**< One call of so many; 0, 1: each. */
	uint64_t min_bytes, max_bytes;
};

/** All that the lines have said. */
struct gr_request {
	enum gr_trace_mode mode;
	bool has_mode, is_waiting;
	uint64_t budget_ppm; /**< Ten seconds of it are there at the start. */
	int64_t tls_g;
	uint64_t sweepgen_address; /**< of runtime.mheap_.sweepgen; 0: none */
	struct gr_event_offsets offsets;
	uint32_t offsets_given; /**< a bit for each row of the table */
	struct gr_go_module module;
	uint64_t probe_address; /**< of the runtime's samples; 0: none */
	uint32_t pointer_register, size_register;
	struct gr_alloc_request alloc;
	uint64_t tick;
};

/** Take one line, which has no newline, and which is altered. */
struct gr_error *gr_input_parse(struct gr_request *req, char *line,
				enum gr_input_kind *ret) GR_MUST_CHECK;

/** Are all offsets given that lead from g to the goroutine of a thread? */
bool gr_input_has_offsets(const struct gr_request *req);

enum { GR_INPUT_LINE_MAX = 1024 };

/** The input, as far as it has been read. */
struct gr_input {
	char data[4 * GR_INPUT_LINE_MAX];
	size_t size, begin;
	bool has_ended;
};

/** Read what is there from a file, once. */
struct gr_error *gr_input_read(struct gr_input *in, int fd) GR_MUST_CHECK;

/** The next whole line, valid until the next read; NULL if there is none. */
char *gr_input_line(struct gr_input *in);

#endif /* GR_TRACE_INPUT_H */
