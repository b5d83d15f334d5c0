/* SPDX-License-Identifier: Apache-2.0 */
/**
 * pclntab: functions, pc-value tables, function data, inlining, lines.
 * Source: runtime/symtab.go, internal/abi/symtab.go.
 */
#ifndef GR_PCLNTAB_H
#define GR_PCLNTAB_H

#include "goruntime/runtime.h"

/** PCDATA and FUNCDATA tables that we use (internal/abi/symtab.go). */
enum {
	GR_PCDATA_STACK_MAP_INDEX = 1,
	GR_FUNCDATA_ARGS_POINTER_MAPS = 0,
	GR_FUNCDATA_LOCALS_POINTER_MAPS = 1,
	GR_FUNCDATA_STACK_OBJECTS = 2,
};

/** _func.flag (internal/abi/symtab.go: FuncFlag). */
enum {
	GR_FUNC_TOP_FRAME = 1,
	GR_FUNC_SP_WRITE = 2,
	GR_FUNC_ASM = 4,
};

#define GR_FUNC_ARGS_UNKNOWN 0x80000000u

/** One function; a view into the module's pclntable. */
struct gr_func {
	const struct gr_module *module;
	struct gr_bytes record; /**< From the _func on to the table's end. */
	uint64_t entry, end;	/**< Run-time [entry, end). */
	const char *name;	/**< In funcnametab; never NULL. */
	uint32_t args_bytes;	/**< Or GR_FUNC_ARGS_UNKNOWN. */
	uint32_t deferreturn;	/**< Offset from entry, 0 if none. */
	uint32_t pcsp, pcfile, pcln, npcdata, cuoffset;
	uint8_t func_id, flag, nfuncdata;
};

/** runtime.findfunc: the function that holds @p pc; false if none does. */
bool gr_func_find(const struct gr_runtime *rt, uint64_t pc,
		  struct gr_func *ret);

/**
 * runtime.pcvalue of the table at pctab offset @p off for @p pc; -1 when
 * there is no table or it is damaged (then *@p ok, if given, is false).
 */
int32_t gr_func_pcvalue(const struct gr_func *func, uint32_t off, uint64_t pc,
			bool *ok);

/** runtime.funcspdelta: bytes from sp to the frame's return address slot. */
int32_t gr_func_spdelta(const struct gr_func *func, uint64_t pc, bool *ok);

/** runtime.pcdatavalue; -1 if the function has no such table. */
int32_t gr_func_pcdata(const struct gr_runtime *rt, const struct gr_func *func,
		       uint32_t table, uint64_t pc);

/** runtime.funcdata: address, 0 if there is none. */
uint64_t gr_func_funcdata(const struct gr_runtime *rt,
			  const struct gr_func *func, uint32_t which);

/** File and line of @p pc; false if the tables do not say. */
bool gr_func_line(const struct gr_func *func, uint64_t pc, const char **file,
		  uint32_t *line);

#endif /* GR_PCLNTAB_H */
