/* SPDX-License-Identifier: Apache-2.0 */
/**
 * go_frames: frames of Go code, by the tables that the runtime has for itself
 * (runtime/symtab.go, internal/abi/symtab.go). They are read once, and nothing in
 * them is trusted.
 */
#ifndef GR_TRACE_GO_FRAMES_H
#define GR_TRACE_GO_FRAMES_H

#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "helpers/trace/rules.h"

/** Where the tables of a module are (runtime.moduledata), in the process. */
struct gr_go_module {
	uint64_t text, etext;
	uint64_t pclntable, pclntable_bytes;
	uint64_t ftab, ftab_count;
	uint64_t text_start; /**< Offsets of functions count from here. */
};

/** A copy of the tables of a module. */
struct gr_go_tables {
	struct gr_go_module where;
	uint8_t *data;			   /**< From the header on. */
	struct gr_bytes names, pcs, funcs; /**< Parts of it. */
	uint32_t flag_off;		   /**< Where flag is in a _func. */
};

/** Read @p bytes bytes of the process at @p addr; false if one is not there. */
typedef bool gr_go_read(void *ctx, uint64_t addr, void *data, size_t bytes);

/**
 * Read the tables of a module. Their header is searched for before them: it says
 * where the other tables are.
 *
 * @return GR_ERROR_FORMAT if they are not what they should be.
 */
struct gr_error *gr_go_tables_read(const struct gr_go_module *where,
				   gr_go_read *read, void *ctx,
				   struct gr_go_tables *ret) GR_MUST_CHECK;
void gr_go_tables_deinit(struct gr_go_tables *tables);

/**
 * Make the rule for a pc of the module. @p rule is initialised but for its pc.
 *
 * @return false if no function has it, or its tables are damaged.
 */
bool gr_go_rule(const struct gr_go_tables *tables, uint64_t pc,
		struct gr_rule *rule);

/** The name of the function at a pc, in the tables; NULL if there is none. */
const char *gr_go_name(const struct gr_go_tables *tables, uint64_t pc);

#endif /* GR_TRACE_GO_FRAMES_H */
