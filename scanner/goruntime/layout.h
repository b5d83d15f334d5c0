/* SPDX-License-Identifier: Apache-2.0 */
/**
 * layout: where each field of the Go runtime lives in this target.
 *
 * Knows the names of the runtime's structs, variables and constants, newest
 * spelling first; filled from the target's own DWARF. No Go version appears in
 * any condition: a field is there or not, and its width comes along. To add a
 * Go release, add alternatives to the rows and a golden text under
 * testsuite/layouts/ (HACKING.md).
 */
#ifndef GR_LAYOUT_H
#define GR_LAYOUT_H

#include "base/arena.h"
#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "dwarf/dwarf.h"

/** Where a field lies in its struct. bytes == 0: the target has none. */
struct gr_field {
	uint32_t off;
	uint32_t bytes;
};

static inline bool gr_field_is_present(struct gr_field f)
{
	return f.bytes != 0;
}

/**
 * The field of a record that holds it whole (unchecked), as an unsigned
 * integer of the field's width; 0 for an absent field.
 */
static inline uint64_t gr_field_uint(const void *record, struct gr_field f)
{
	return gr_load_uint((const uint8_t *)record + f.off, f.bytes);
}

/** The first word of a field: pointer of a slice or string, wrapped word. */
static inline uint64_t gr_field_word(const void *record, struct gr_field f)
{
	return f.bytes >= GR_WORD_BYTES ?
		       gr_load_u64((const uint8_t *)record + f.off) :
		       0;
}

// clang-format off: one row a line
/*
 * The tables. S(id, need, DWARF type names), F(id, need, field paths): names
 * are separated by '|', newest first, a path goes through struct fields by
 * dots. A REQUIRED row that does not resolve is an error that names it (a
 * field's need counts only when its struct is there); an OPTIONAL one is
 * absent (size_bytes or bytes 0).
 */
#define GR_LAYOUT_TABLE(S, F, E)                                              \
	S(mheap, REQUIRED, "runtime.mheap")                                   \
	F(allspans, REQUIRED, "allspans")                                     \
	F(sweepgen, REQUIRED, "sweepgen")                                     \
	F(arenas, REQUIRED, "arenas")                                         \
	F(arena_list, REQUIRED, "heapArenas|allArenas")                       \
	F(user_arena_list, OPTIONAL, "userArenaArenas")                       \
	E(mheap)                                                              \
	S(mspan, REQUIRED, "runtime.mspan")                                   \
	F(start_addr, REQUIRED, "startAddr")                                  \
	F(npages, REQUIRED, "npages")                                         \
	F(freeindex, REQUIRED, "freeindex")                                   \
	F(freeindex_for_scan, OPTIONAL, "freeIndexForScan")                   \
	F(nelems, REQUIRED, "nelems")                                         \
	F(alloc_bits, REQUIRED, "allocBits")                                  \
	F(gcmark_bits, REQUIRED, "gcmarkBits")                                \
	F(sweepgen, REQUIRED, "sweepgen")                                     \
	F(alloc_count, REQUIRED, "allocCount")                                \
	F(spanclass, REQUIRED, "spanclass")                                   \
	F(state, REQUIRED, "state.s.value|state.s|state")                     \
	F(elemsize, REQUIRED, "elemsize")                                     \
	F(limit, REQUIRED, "limit")                                           \
	F(specials, REQUIRED, "specials")                                     \
	F(large_type, OPTIONAL, "largeType")                                  \
	F(is_user_arena_chunk, OPTIONAL, "isUserArenaChunk")                  \
	F(alloc_count_before_cache, OPTIONAL, "allocCountBeforeCache")        \
	E(mspan)                                                              \
	S(heap_arena, REQUIRED, "runtime.heapArena")                          \
	F(bitmap, OPTIONAL, "bitmap|heapArenaPtrScalar.bitmap")               \
	F(no_more_ptrs, OPTIONAL, "noMorePtrs|heapArenaPtrScalar.noMorePtrs") \
	F(page_inline_marks, OPTIONAL, "pageUseSpanInlineMarkBits")           \
	F(spans, OPTIONAL, "spans")                                           \
	E(heap_arena)                                                         \
	S(special, REQUIRED, "runtime.special")                               \
	F(next, REQUIRED, "next")                                             \
	F(offset, REQUIRED, "offset")                                         \
	F(kind, REQUIRED, "kind")                                             \
	E(special)                                                            \
	S(special_finalizer, REQUIRED, "runtime.specialfinalizer")            \
	F(fn, REQUIRED, "fn")                                                 \
	F(ot, REQUIRED, "ot")                                                 \
	E(special_finalizer)                                                  \
	S(special_cleanup, OPTIONAL, "runtime.specialCleanup")                \
	F(fn, REQUIRED, "cleanup.fn|fn")                                      \
	F(call, OPTIONAL, "cleanup.call")                                     \
	F(arg, OPTIONAL, "cleanup.arg")                                       \
	E(special_cleanup)                                                    \
	S(special_weak_handle, OPTIONAL, "runtime.specialWeakHandle")         \
	F(handle, REQUIRED, "handle")                                         \
	E(special_weak_handle)                                                \
	S(finblock, REQUIRED, "runtime.finBlock|runtime.finblock")            \
	F(alllink, REQUIRED, "alllink")                                       \
	F(cnt, REQUIRED, "cnt")                                               \
	F(fin, REQUIRED, "fin")                                               \
	E(finblock)                                                           \
	S(finalizer, REQUIRED, "runtime.finalizer")                           \
	F(fn, REQUIRED, "fn")                                                 \
	F(arg, REQUIRED, "arg")                                               \
	F(fint, REQUIRED, "fint")                                             \
	F(ot, REQUIRED, "ot")                                                 \
	E(finalizer)                                                          \
	S(cleanup_queue, OPTIONAL, "runtime.cleanupQueue")                    \
	F(all, REQUIRED, "all")                                               \
	E(cleanup_queue)                                                      \
	S(cleanup_block, OPTIONAL, "runtime.cleanupBlock")                    \
	F(alllink, REQUIRED, "cleanupBlockHeader.alllink|alllink")            \
	F(n, REQUIRED, "cleanupBlockHeader.n|n")                              \
	F(cleanups, REQUIRED, "cleanups")                                     \
	E(cleanup_block)                                                      \
	S(cleanup_fn, OPTIONAL, "runtime.cleanupFn")                          \
	F(call, REQUIRED, "call")                                             \
	F(fn, REQUIRED, "fn")                                                 \
	F(arg, REQUIRED, "arg")                                               \
	E(cleanup_fn)                                                         \
	S(g, REQUIRED, "runtime.g")                                           \
	F(stack_lo, REQUIRED, "stack.lo")                                     \
	F(stack_hi, REQUIRED, "stack.hi")                                     \
	F(panic, REQUIRED, "_panic")                                          \
	F(defer, REQUIRED, "_defer")                                          \
	F(m, REQUIRED, "m")                                                   \
	F(sched_pc, REQUIRED, "sched.pc")                                     \
	F(sched_sp, REQUIRED, "sched.sp")                                     \
	F(sched_lr, OPTIONAL, "sched.lr")                                     \
	F(sched_ctxt, REQUIRED, "sched.ctxt")                                 \
	F(syscallsp, REQUIRED, "syscallsp")                                   \
	F(syscallpc, REQUIRED, "syscallpc")                                   \
	F(atomicstatus, REQUIRED, "atomicstatus.value|atomicstatus")          \
	F(goid, REQUIRED, "goid")                                             \
	F(waitreason, REQUIRED, "waitreason")                                 \
	F(async_safe_point, OPTIONAL, "asyncSafePoint")                       \
	F(gopc, REQUIRED, "gopc")                                             \
	F(startpc, REQUIRED, "startpc")                                       \
	F(waiting, REQUIRED, "waiting")                                       \
	F(labels, OPTIONAL, "labels")                                         \
	F(xregs_state, OPTIONAL, "xRegs.state")                               \
	E(g)                                                                  \
	S(xreg_state, OPTIONAL, "runtime.xRegState")                          \
	F(regs, REQUIRED, "regs")                                             \
	E(xreg_state)                                                         \
	S(m, REQUIRED, "runtime.m")                                           \
	F(g0, REQUIRED, "g0")                                                 \
	F(procid, REQUIRED, "procid")                                         \
	F(gsignal, REQUIRED, "gsignal")                                       \
	F(curg, REQUIRED, "curg")                                             \
	F(p, REQUIRED, "p")                                                   \
	F(alllink, REQUIRED, "alllink")                                       \
	F(vdso_sp, OPTIONAL, "vdsoSP")                                        \
	F(vdso_pc, OPTIONAL, "vdsoPC")                                        \
	E(m)                                                                  \
	S(p, REQUIRED, "runtime.p")                                           \
	F(id, REQUIRED, "id")                                                 \
	F(status, REQUIRED, "status")                                         \
	F(mcache, REQUIRED, "mcache")                                         \
	F(sudogcache, OPTIONAL, "sudogcache")                                 \
	F(timer_heap, OPTIONAL, "timers.heap|timers")                         \
	E(p)                                                                  \
	S(mcache, REQUIRED, "runtime.mcache")                                 \
	F(tiny, REQUIRED, "tiny")                                             \
	F(alloc, OPTIONAL, "alloc")                                           \
	E(mcache)                                                             \
	S(defer, REQUIRED, "runtime._defer")                                  \
	F(heap, OPTIONAL, "heap")                                             \
	F(sp, REQUIRED, "sp")                                                 \
	F(pc, REQUIRED, "pc")                                                 \
	F(fn, REQUIRED, "fn")                                                 \
	F(link, REQUIRED, "link")                                             \
	E(defer)                                                              \
	S(sudog, REQUIRED, "runtime.sudog")                                   \
	F(g, REQUIRED, "g")                                                   \
	F(next, REQUIRED, "next")                                             \
	F(elem, REQUIRED, "elem")                                             \
	F(elem_truth, OPTIONAL, "elem.vu")                                    \
	F(chan, REQUIRED, "c")                                                \
	F(chan_truth, OPTIONAL, "c.maybeTraceablePtr.vu|c.vu")                \
	F(waitlink, REQUIRED, "waitlink")                                     \
	E(sudog)                                                              \
	S(hchan, REQUIRED, "runtime.hchan")                                   \
	F(qcount, REQUIRED, "qcount")                                         \
	F(dataqsiz, REQUIRED, "dataqsiz")                                     \
	F(buf, REQUIRED, "buf")                                               \
	F(elemsize, REQUIRED, "elemsize")                                     \
	F(elemtype, REQUIRED, "elemtype")                                     \
	F(recvx, REQUIRED, "recvx")                                           \
	F(recvq_first, REQUIRED, "recvq.first")                               \
	F(sendq_first, REQUIRED, "sendq.first")                               \
	F(timer, OPTIONAL, "timer")                                           \
	E(hchan)                                                              \
	S(timer, OPTIONAL, "runtime.timer")                                   \
	F(f, REQUIRED, "f")                                                   \
	F(arg, REQUIRED, "arg")                                               \
	E(timer)                                                              \
	S(timer_when, OPTIONAL, "runtime.timerWhen")                          \
	F(timer, REQUIRED, "timer")                                           \
	E(timer_when)                                                         \
	S(moduledata, REQUIRED, "runtime.moduledata")                         \
	F(pc_header, REQUIRED, "pcHeader")                                    \
	F(funcnametab, REQUIRED, "funcnametab")                               \
	F(cutab, REQUIRED, "cutab")                                           \
	F(filetab, REQUIRED, "filetab")                                       \
	F(pctab, REQUIRED, "pctab")                                           \
	F(pclntable, REQUIRED, "pclntable")                                   \
	F(ftab, REQUIRED, "ftab")                                             \
	F(minpc, REQUIRED, "minpc")                                           \
	F(maxpc, REQUIRED, "maxpc")                                           \
	F(text, REQUIRED, "text")                                             \
	F(etext, REQUIRED, "etext")                                           \
	F(noptrdata, REQUIRED, "noptrdata")                                   \
	F(enoptrdata, REQUIRED, "enoptrdata")                                 \
	F(data, REQUIRED, "data")                                             \
	F(edata, REQUIRED, "edata")                                           \
	F(bss, REQUIRED, "bss")                                               \
	F(ebss, REQUIRED, "ebss")                                             \
	F(noptrbss, REQUIRED, "noptrbss")                                     \
	F(enoptrbss, REQUIRED, "enoptrbss")                                   \
	F(types, REQUIRED, "types")                                           \
	F(etypes, REQUIRED, "etypes")                                         \
	F(rodata, OPTIONAL, "rodata")                                         \
	F(gofunc, OPTIONAL, "gofunc")                                         \
	F(textsectmap, OPTIONAL, "textsectmap")                               \
	F(modulename, OPTIONAL, "modulename")                                 \
	F(gcdatamask, REQUIRED, "gcdatamask")                                 \
	F(gcbssmask, REQUIRED, "gcbssmask")                                   \
	F(bad, OPTIONAL, "bad")                                               \
	F(next, REQUIRED, "next")                                             \
	E(moduledata)                                                         \
	S(bitvector, REQUIRED, "runtime.bitvector")                           \
	F(n, REQUIRED, "n")                                                   \
	F(bytedata, REQUIRED, "bytedata")                                     \
	E(bitvector)                                                          \
	S(func, REQUIRED, "runtime._func")                                    \
	F(entryoff, OPTIONAL, "entryOff|entryoff")                            \
	F(nameoff, REQUIRED, "nameOff|nameoff")                               \
	F(args, REQUIRED, "args")                                             \
	F(deferreturn, REQUIRED, "deferreturn")                               \
	F(pcsp, REQUIRED, "pcsp")                                             \
	F(pcfile, REQUIRED, "pcfile")                                         \
	F(pcln, REQUIRED, "pcln")                                             \
	F(npcdata, REQUIRED, "npcdata")                                       \
	F(cuoffset, REQUIRED, "cuOffset")                                     \
	F(func_id, REQUIRED, "funcID")                                        \
	F(flag, REQUIRED, "flag")                                             \
	F(nfuncdata, REQUIRED, "nfuncdata")                                   \
	E(func)                                                               \
	S(stack_object, REQUIRED, "runtime.stackObjectRecord")                \
	F(off, REQUIRED, "off")                                               \
	F(size, REQUIRED, "size")                                             \
	F(ptr_bytes, REQUIRED, "ptrBytes|_ptrdata")                           \
	F(gcdataoff, OPTIONAL, "gcdataoff|gcdataOff")                         \
	E(stack_object)                                                       \
	S(mstats, OPTIONAL, "runtime.mstats")                                 \
	F(heap_stats, OPTIONAL, "heapStats.stats")                            \
	E(mstats)                                                             \
	S(heap_stats_delta, OPTIONAL, "runtime.heapStatsDelta")               \
	F(large_alloc, OPTIONAL, "largeAlloc")                                \
	F(large_alloc_count, OPTIONAL, "largeAllocCount")                     \
	F(small_alloc_count, OPTIONAL, "smallAllocCount")                     \
	F(large_free, OPTIONAL, "largeFree")                                  \
	F(large_free_count, OPTIONAL, "largeFreeCount")                       \
	F(small_free_count, OPTIONAL, "smallFreeCount")                       \
	E(heap_stats_delta)                                                   \
	S(type, REQUIRED, "internal/abi.Type|runtime._type")                  \
	F(size, REQUIRED, "Size_|size")                                       \
	F(ptr_bytes, REQUIRED, "PtrBytes|ptrdata")                            \
	F(tflag, REQUIRED, "TFlag|tflag")                                     \
	F(kind, REQUIRED, "Kind_|kind")                                       \
	F(gcdata, REQUIRED, "GCData|gcdata")                                  \
	F(str, REQUIRED, "Str|str")                                           \
	E(type)                                                               \
	S(map_type, OPTIONAL,                                                 \
	  "internal/abi.SwissMapType|"                                        \
	  "internal/abi.OldMapType|internal/abi.MapType|"                     \
	  "runtime.maptype")                                                  \
	E(map_type)                                                           \
	S(itab, REQUIRED, "internal/abi.ITab|runtime.itab")                   \
	F(type, REQUIRED, "Type|_type")                                       \
	E(itab)                                                               \
	S(itab_table, OPTIONAL, "runtime.itabTableType")                      \
	F(size, REQUIRED, "size")                                             \
	F(count, REQUIRED, "count")                                           \
	F(entries, REQUIRED, "entries")                                       \
	E(itab_table)                                                         \
	S(hmap, OPTIONAL, "runtime.hmap")                                     \
	F(count, REQUIRED, "count")                                           \
	F(flags, REQUIRED, "flags")                                           \
	F(b, REQUIRED, "B")                                                   \
	F(buckets, REQUIRED, "buckets")                                       \
	F(oldbuckets, REQUIRED, "oldbuckets")                                 \
	F(extra, REQUIRED, "extra")                                           \
	E(hmap)                                                               \
	S(mapextra, OPTIONAL, "runtime.mapextra")                             \
	F(overflow, REQUIRED, "overflow")                                     \
	F(oldoverflow, REQUIRED, "oldoverflow")                               \
	F(next_overflow, REQUIRED, "nextOverflow")                            \
	E(mapextra)                                                           \
	S(swiss_map, OPTIONAL, "internal/runtime/maps.Map")                   \
	F(used, REQUIRED, "used")                                             \
	F(dir_ptr, REQUIRED, "dirPtr")                                        \
	F(dir_len, REQUIRED, "dirLen")                                        \
	E(swiss_map)                                                          \
	S(swiss_table, OPTIONAL, "internal/runtime/maps.table")               \
	F(index, REQUIRED, "index")                                           \
	F(groups_data, REQUIRED, "groups.data")                               \
	F(groups_mask, REQUIRED, "groups.lengthMask")                         \
	E(swiss_table)

/** X(id, need, DWARF names): addresses of runtime variables. */
#define GR_LAYOUT_VARIABLES(X)                                         \
	X(mheap, REQUIRED, "runtime.mheap_")                           \
	X(firstmoduledata, REQUIRED, "runtime.firstmoduledata")        \
	X(allgs, REQUIRED, "runtime.allgs")                            \
	X(allglen, OPTIONAL, "runtime.allglen")                        \
	X(allm, REQUIRED, "runtime.allm")                              \
	X(allp, REQUIRED, "runtime.allp")                              \
	X(allfin, REQUIRED, "runtime.allfin")                          \
	X(gc_cleanups, OPTIONAL, "runtime.gcCleanups")                 \
	X(gcphase, REQUIRED, "runtime.gcphase")                        \
	X(write_barrier, OPTIONAL, "runtime.writeBarrier")             \
	X(build_version, REQUIRED, "runtime.buildVersion")             \
	X(memstats, OPTIONAL, "runtime.memstats")                      \
	X(class_to_size, OPTIONAL,                                     \
	  "internal/runtime/gc.SizeClassToSize|runtime.class_to_size") \
	X(wait_reasons, OPTIONAL, "runtime.waitReasonStrings")         \
	X(in_progress, OPTIONAL, "runtime.inProgress")                 \
	X(itab_table, OPTIONAL, "runtime.itabTable")                   \
	X(method_value_objs, OPTIONAL, "runtime.methodValueCallFrameObjs")

/** X(id, value if absent, DWARF names): constants of the runtime. */
#define GR_LAYOUT_CONSTANTS(X)                                                                                                  \
	X(span_in_use, 1, "runtime.mSpanInUse")                                                                                 \
	X(span_manual, 2, "runtime.mSpanManual")                                                                                \
	X(page_bytes, 8192, "runtime._PageSize|runtime.pageSize")                                                               \
	X(arena_bytes, 0x4000000, "runtime.heapArenaBytes")                                                                     \
	X(arena_base, -0x800000000000, "runtime.arenaBaseOffsetUintptr")                                                        \
	X(arena_l1_bits, 0, "runtime.arenaL1Bits")                                                                              \
	X(arena_l2_bits, 22, "runtime.arenaL2Bits")                                                                             \
	X(min_size_for_header, 0, "runtime.minSizeForMallocHeader")                                                             \
	X(header_bytes, 8, "runtime.mallocHeaderSize")                                                                          \
	X(kind_mask, 31, "internal/abi.KindMask|runtime.kindMask")                                                              \
	X(kind_gc_prog, 0, "internal/abi.KindGCProg|runtime.kindGCProg")                                                        \
	X(tflag_mask_on_demand, 0, "internal/abi.TFlagGCMaskOnDemand")                                                          \
	X(tflag_unrolled, 0, "internal/abi.TFlagUnrolledBitmap")                                                                \
	X(kind_finalizer, -1, "runtime._KindSpecialFinalizer")                                                                  \
	X(kind_cleanup, -1, "runtime._KindSpecialCleanup")                                                                      \
	X(kind_weak_handle, -1, "runtime._KindSpecialWeakHandle")                                                               \
	X(funcid_goexit, -1,                                                                                                    \
	  "internal/abi.FuncIDGoexit|internal/abi.FuncID_goexit|runtime.funcID_goexit")                                         \
	X(funcid_sigpanic, -1,                                                                                                  \
	  "internal/abi.FuncID_sigpanic|runtime.funcID_sigpanic")                                                               \
	X(funcid_debug_call, -1,                                                                                                \
	  "internal/abi.FuncID_debugCallV2|runtime.funcID_debugCallV2")                                                         \
	X(funcid_async_preempt, -1,                                                                                             \
	  "internal/abi.FuncID_asyncPreempt|runtime.funcID_asyncPreempt")                                                       \
	X(map_indirect_key, 0,                                                                                                  \
	  "internal/abi.MapIndirectKey|internal/abi.SwissMapIndirectKey")                                                       \
	X(map_indirect_elem, 0,                                                                                                 \
	  "internal/abi.MapIndirectElem|internal/abi.SwissMapIndirectElem")                                                     \
	X(map_max_key, 128,                                                                                                     \
	  "internal/abi.MapMaxKeyBytes|internal/abi.SwissMapMaxKeyBytes|internal/abi.OldMapMaxKeyBytes|runtime.maxKeySize")     \
	X(map_max_elem, 128,                                                                                                    \
	  "internal/abi.MapMaxElemBytes|internal/abi.SwissMapMaxElemBytes|internal/abi.OldMapMaxElemBytes|runtime.maxElemSize") \
	X(gidle, 0, "runtime._Gidle")                                                                                           \
	X(grunnable, 1, "runtime._Grunnable")                                                                                   \
	X(grunning, 2, "runtime._Grunning")                                                                                     \
	X(gsyscall, 3, "runtime._Gsyscall")                                                                                     \
	X(gwaiting, 4, "runtime._Gwaiting")                                                                                     \
	X(gdead, 6, "runtime._Gdead")                                                                                           \
	X(gcopystack, 8, "runtime._Gcopystack")                                                                                 \
	X(gpreempted, 9, "runtime._Gpreempted")                                                                                 \
	X(gleaked, -1, "runtime._Gleaked")                                                                                      \
	X(gdeadextra, -1, "runtime._Gdeadextra")                                                                                \
	X(gscan, 0x1000, "runtime._Gscan")

// clang-format on

/** The resolved tables: `layout->mspan.nelems`, `layout->vars.mheap`. */
struct gr_layout {
#define DECLARE_STRUCT(id, need, names) \
	struct {                        \
		uint64_t size_bytes; /* 0: no such type in the target */
#define DECLARE_FIELD(id, need, paths) struct gr_field id;
#define DECLARE_END(id) \
	}               \
	id;
	GR_LAYOUT_TABLE(DECLARE_STRUCT, DECLARE_FIELD, DECLARE_END)
#undef DECLARE_STRUCT
#undef DECLARE_FIELD
#undef DECLARE_END
	/** Run-time addresses; 0: absent. */
	struct {
#define DECLARE_VARIABLE(id, need, names) uint64_t id;
		GR_LAYOUT_VARIABLES(DECLARE_VARIABLE)
#undef DECLARE_VARIABLE
	} vars;
	struct {
#define DECLARE_CONSTANT(id, fallback, names) int64_t id;
		GR_LAYOUT_CONSTANTS(DECLARE_CONSTANT)
#undef DECLARE_CONSTANT
	} consts;
	/** Whether the target has the constant at all. */
	struct {
#define DECLARE_HAS(id, fallback, names) bool id;
		GR_LAYOUT_CONSTANTS(DECLARE_HAS)
#undef DECLARE_HAS
	} has;
};

/**
 * Resolve every row from the runtime's DWARF; @p bias is added to variables.
 *
 * GR_ERROR_LAYOUT names the first required row that does not resolve;
 * GR_ERROR_NOT_GO when not even the Go runtime's heap is there.
 */
struct gr_error *gr_layout_resolve(const struct gr_dwarf *dwarf, uint64_t bias,
				   struct gr_layout *ret) GR_MUST_CHECK;

/**
 * The resolved table as text, a line a row ("runtime.mspan.nelems 50 2"),
 * for the golden files; addresses of variables are left out. For free().
 */
char *gr_layout_text(const struct gr_layout *layout);

/** A table without any answer: constants have their fallbacks. */
void gr_layout_init(struct gr_layout *layout);

/**
 * Give the answer of one row, both as gr_layout_text() writes them: "g.goid"
 * and "152 8", "const gdead" and "6"; "-" is absent. False if there is no such
 * row or the value makes no sense.
 */
bool gr_layout_set(struct gr_layout *layout, const char *key,
		   const char *value);

/**
 * A table from what gr_layout_text() wrote; variables stay 0. GR_ERROR_LAYOUT
 * names a required row that is absent, or a line that is none of the table's.
 */
struct gr_error *gr_layout_parse(const char *text,
				 struct gr_layout *ret) GR_MUST_CHECK;

/** GR_ERROR_LAYOUT names the first required struct or field that is absent,
 * or a field outside its struct. */
struct gr_error *gr_layout_check(const struct gr_layout *layout) GR_MUST_CHECK;

/** The same in all but the addresses of variables? */
bool gr_layout_is_same(const struct gr_layout *a, const struct gr_layout *b);

/** Where types come from when it is not DWARF. */
struct gr_layout_source {
	void *ctx;
	/** The struct type of that full name. */
	bool (*find)(void *ctx, const char *name, uint32_t *type);
	uint64_t (*size)(void *ctx, uint32_t type);
	/** The field of a struct type; its name has @p len bytes. */
	bool (*member)(void *ctx, uint32_t type, const char *name, size_t len,
		       uint64_t *off, uint32_t *field_type);
};

/**
 * Is all that @p source knows as @p layout has it? A struct that the source
 * does not have says nothing. *@p structs: how many it has.
 */
bool gr_layout_agrees(const struct gr_layout *layout,
		      const struct gr_layout_source *source, size_t *structs);

/** A row of variables: where to keep the address, what it is called. */
struct gr_layout_variable {
	const char *names; /**< Alternatives, separated by '|'. */
	uint64_t *addr;
	bool is_required;
};

/** Variable @p i of a table; false past the last. */
bool gr_layout_variable(struct gr_layout *layout, size_t i,
			struct gr_layout_variable *ret);

#endif /* GR_LAYOUT_H */
