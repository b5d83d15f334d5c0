/* SPDX-License-Identifier: Apache-2.0 */
/**
 * pclntab: functions, pc-value tables, function data, inlining, lines.
 * Source: runtime/symtab.go, internal/abi/symtab.go.
 */
#ifndef GR_PCLNTAB_H
#define GR_PCLNTAB_H

#include "goruntime/layout/runtime.h"

/** The PCDATA and FUNCDATA tables used here (internal/abi/symtab.go). */
enum {
	GR_PCDATA_STACK_MAP_INDEX = 1,
	GR_PCDATA_INL_TREE_INDEX = 2,
	GR_FUNCDATA_ARGS_POINTER_MAPS = 0,
	GR_FUNCDATA_LOCALS_POINTER_MAPS = 1,
	GR_FUNCDATA_STACK_OBJECTS = 2,
	GR_FUNCDATA_INL_TREE = 3,
	GR_FUNCDATA_OPEN_CODED_DEFER_INFO = 4,
};

/** _func.flag (internal/abi/symtab.go: FuncFlag). */
enum {
	GR_FUNC_TOP_FRAME = 1,
	GR_FUNC_SP_WRITE = 2,
};

#define GR_FUNC_ARGS_UNKNOWN 0x80000000u

/** One function; a view into the module's pclntable. */
struct gr_func {
	const struct gr_module *module;
	struct gr_bytes record; /**< From the _func to the table's end. */
	uint64_t entry, end;	/**< Run-time [entry, end). */
	const char *name;	/**< In funcnametab; never NULL. */
	uint32_t args_bytes;	/**< Size, or GR_FUNC_ARGS_UNKNOWN. */
	uint32_t deferreturn;	/**< Offset from entry, 0 if none. */
	uint32_t pcsp, pcfile, pcln, npcdata, cuoffset;
	uint8_t func_id, flag, nfuncdata;
	struct gr_pc_lookups *lookups; /**< gr_runtime.pc_lookups */
};

/** A value of a pc-value table that was looked up; `off` is 0 if unused. */
struct gr_pc_value {
	uint64_t pc;
	uint32_t off;
	int32_t value;
	bool ok;
};

/**
 * Results and costs of look-ups in pc-value tables. A stack may have very
 * many frames, and the table of a damaged file millions of steps.
 */
struct gr_pc_lookups {
	uint64_t *steps; /**< gr_runtime.steps, for the next poll. */
	/**
	 * Table steps that all look-ups may still take, beyond a number that
	 * each one has; 0: no look-up goes further than that.
	 */
	uint64_t left;
	struct gr_pc_value latest[1024]; /**< As in runtime.pcvalueCache. */
};

void gr_pc_lookups_init(struct gr_pc_lookups *lookups, uint64_t *steps);

/** runtime.findfunc: the function that holds @p pc; false if none does. */
bool gr_func_find(const struct gr_runtime *rt, uint64_t pc,
		  struct gr_func *ret);

/**
 * Find a function of the program itself by its name. Takes a step for each
 * function.
 *
 * @param[out] found False: there is none of that name.
 */
struct gr_error *gr_func_find_named(struct gr_runtime *rt, const char *name,
				    struct gr_func *func,
				    bool *found) GR_MUST_CHECK;

/**
 * runtime.pcvalue of the table at pctab offset @p off for @p pc. It is -1 if
 * there is no table, if the table is damaged, or if all look-ups have taken too
 * many steps: then *@p ok is false (@p ok may be NULL).
 */
int32_t gr_func_pcvalue(const struct gr_func *func, uint32_t off, uint64_t pc,
			bool *ok);

/** runtime.funcspdelta: bytes from SP to the frame's return address. */
int32_t gr_func_spdelta(const struct gr_func *func, uint64_t pc, bool *ok);

/** runtime.pcdatavalue; -1 if the function has no such table. */
int32_t gr_func_pcdata(const struct gr_runtime *rt, const struct gr_func *func,
		       uint32_t table, uint64_t pc);

/** A range of pcs, [start, end), with one value in a table of a function. */
struct gr_pc_run {
	uint64_t start, end;
	int32_t value;
	uint64_t cursor; /**< In pctab. */
};

/**
 * The next range of a PCDATA table, in the order of pcs. Begin with a run that
 * is zero-initialised. False at the end of the function, or of a damaged table.
 */
bool gr_func_next_run(const struct gr_runtime *rt, const struct gr_func *func,
		      uint32_t table, struct gr_pc_run *run);

/** runtime.funcdata: address, 0 if there is none. */
uint64_t gr_func_funcdata(const struct gr_runtime *rt,
			  const struct gr_func *func, uint32_t which);

/** The file and line of @p pc; false if the tables do not have them. */
bool gr_func_line(const struct gr_func *func, uint64_t pc, const char **file,
		  uint32_t *line);

#endif /* GR_PCLNTAB_H */
