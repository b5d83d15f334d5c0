/* SPDX-License-Identifier: Apache-2.0 */
/**
 * layout: the place of each field of the Go runtime in this target.
 *
 * The tables have the names of the runtime's structs, variables and constants,
 * newest spelling first. They are filled from the target's own DWARF. No
 * condition compares a Go version: a field is present or absent, and has its
 * width. A new Go release needs alternatives in the rows and a column of
 * testsuite/layouts.txt (doc/porting.md).
 */
#ifndef GR_LAYOUT_H
#define GR_LAYOUT_H

#include "base/arena.h"
#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "dwarf/dwarf.h"
#include "goruntime/layout/layout_values.h"

/** The place of a field in its struct. bytes == 0: the field is absent. */
struct gr_field {
	uint32_t off;
	uint32_t bytes;
};

static inline bool gr_field_is_present(struct gr_field f)
{
	return f.bytes != 0;
}

/**
 * The value of a field as an unsigned integer of the field's width; 0 for an
 * absent field. The record must contain the whole field: this is not checked.
 */
static inline uint64_t gr_field_uint(const void *record, struct gr_field f)
{
	return gr_load_uint((const uint8_t *)record + f.off, f.bytes);
}

/** The first word of a field: a slice's or string's pointer, a wrapped word. */
static inline uint64_t gr_field_word(const void *record, struct gr_field f)
{
	return f.bytes >= GR_WORD_BYTES ?
		       gr_load_u64((const uint8_t *)record + f.off) :
		       0;
}

// clang-format off: one row a line
/*
 * The tables have rows S(id, need, DWARF type names) and F(id, need, field
 * paths). Names are separated by '|', newest first. The dots of a path go
 * through struct fields. A REQUIRED row that does not resolve is an error that
 * names the row. A field's need counts only if its struct is present. An
 * OPTIONAL row that does not resolve is absent (size_bytes or bytes is 0).
 */
#define GR_LAYOUT_TABLE(S, F, E)                                              \
	S(mheap, REQUIRED, "runtime.mheap")                                   \
	F(allspans, REQUIRED, "allspans")                                     \
	F(sweepgen, REQUIRED, "sweepgen")                                     \
	F(arenas, REQUIRED, "arenas")                                         \
	E(mheap)                                                              \
	S(mspan, REQUIRED, "runtime.mspan")                                   \
	F(start_addr, REQUIRED, "startAddr")                                  \
	F(npages, REQUIRED, "npages")                                         \
	F(freeindex, REQUIRED, "freeindex")                                   \
	F(freeindex_for_scan, OPTIONAL, "freeIndexForScan")                   \
	F(nelems, REQUIRED, "nelems")                                         \
	F(alloc_bits, REQUIRED, "allocBits")                                  \
	F(sweepgen, REQUIRED, "sweepgen")                                     \
	F(alloc_count, REQUIRED, "allocCount")                                \
	F(spanclass, REQUIRED, "spanclass")                                   \
	F(state, REQUIRED, "state.s.value|state.s|state")                     \
	F(elemsize, REQUIRED, "elemsize")                                     \
	F(specials, REQUIRED, "specials")                                     \
	F(large_type, OPTIONAL, "largeType")                                  \
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
	S(special_profile, OPTIONAL, "runtime.specialprofile")                \
	F(bucket, REQUIRED, "b")                                              \
	E(special_profile)                                                    \
	S(finblock, REQUIRED, "runtime.finBlock|runtime.finblock")            \
	F(alllink, REQUIRED, "alllink")                                       \
	F(cnt, REQUIRED, "cnt")                                               \
	F(fin, REQUIRED, "fin")                                               \
	E(finblock)                                                           \
	S(finalizer, REQUIRED, "runtime.finalizer")                           \
	F(fn, REQUIRED, "fn")                                                 \
	F(arg, REQUIRED, "arg")                                               \
	F(fint, OPTIONAL, "fint")                                             \
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
	F(sched_bp, OPTIONAL, "sched.bp")                                     \
	F(sched_ctxt, REQUIRED, "sched.ctxt")                                 \
	F(syscallsp, REQUIRED, "syscallsp")                                   \
	F(syscallpc, REQUIRED, "syscallpc")                                   \
	F(atomicstatus, REQUIRED, "atomicstatus.value|atomicstatus")          \
	F(goid, REQUIRED, "goid")                                             \
	F(waitreason, REQUIRED, "waitreason")                                 \
	F(async_safe_point, OPTIONAL, "asyncSafePoint")                       \
	F(gopc, OPTIONAL, "gopc")                                             \
	F(startpc, REQUIRED, "startpc")                                       \
	F(waiting, REQUIRED, "waiting")                                       \
	F(param, OPTIONAL, "param")                                           \
	F(parent_goid, OPTIONAL, "parentGoid")                                \
	F(lockedm, OPTIONAL, "lockedm")                                       \
	F(waitsince, OPTIONAL, "waitsince")                                   \
	F(labels, OPTIONAL, "labels")                                         \
	F(timer, OPTIONAL, "timer")                                           \
	F(sleep_when, OPTIONAL, "sleepWhen")                                  \
	F(bubble, OPTIONAL, "bubble|syncGroup")                               \
	F(sig, OPTIONAL, "sig")                                               \
	F(sigcode0, OPTIONAL, "sigcode0")                                     \
	F(sigcode1, OPTIONAL, "sigcode1")                                     \
	F(sigpc, OPTIONAL, "sigpc")                                           \
	F(xregs_state, OPTIONAL, "xRegs.state")                               \
	F(preempt, OPTIONAL, "preempt")                                       \
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
	F(id, OPTIONAL, "id")                                                 \
	F(throwing, OPTIONAL, "throwing")                                     \
	F(dying, OPTIONAL, "dying")                                           \
	F(caughtsig, OPTIONAL, "caughtsig")                                   \
	F(nextp, OPTIONAL, "nextp")                                           \
	F(mallocing, OPTIONAL, "mallocing")                                   \
	F(preemptoff, OPTIONAL, "preemptoff")                                 \
	F(locks, OPTIONAL, "locks")                                           \
	F(spinning, OPTIONAL, "spinning")                                     \
	F(blocked, OPTIONAL, "blocked")                                       \
	F(incgo, OPTIONAL, "incgo")                                           \
	F(is_extra, OPTIONAL, "isextra")                                      \
	F(is_extra_in_c, OPTIONAL, "isExtraInC")                              \
	F(ncgo, OPTIONAL, "ncgo")                                             \
	F(lockedg, OPTIONAL, "lockedg")                                       \
	F(mstartfn, OPTIONAL, "mstartfn")                                     \
	E(m)                                                                  \
	S(p, REQUIRED, "runtime.p")                                           \
	F(id, OPTIONAL, "id")                                                 \
	F(status, OPTIONAL, "status")                                         \
	F(mcache, REQUIRED, "mcache")                                         \
	F(timer_heap, OPTIONAL, "timers.heap|timers")                         \
	F(schedwhen, OPTIONAL, "sysmontick.schedwhen")                        \
	F(syscallwhen, OPTIONAL, "sysmontick.syscallwhen")                    \
	F(m, OPTIONAL, "m")                                                   \
	F(schedtick, OPTIONAL, "schedtick")                                   \
	F(syscalltick, OPTIONAL, "syscalltick")                               \
	F(observed_schedtick, OPTIONAL, "sysmontick.schedtick")               \
	F(runqhead, OPTIONAL, "runqhead")                                     \
	F(runqtail, OPTIONAL, "runqtail")                                     \
	F(runq, OPTIONAL, "runq")                                             \
	F(runnext, OPTIONAL, "runnext")                                       \
	F(mark_worker_mode, OPTIONAL, "gcMarkWorkerMode")                     \
	F(preempt, OPTIONAL, "preempt")                                       \
	E(p)                                                                  \
	S(schedt, OPTIONAL, "runtime.schedt")                                 \
	F(lastpoll, OPTIONAL, "lastpoll.value|lastpoll")                      \
	F(nmidle, OPTIONAL, "nmidle")                                         \
	F(nmidlelocked, OPTIONAL, "nmidlelocked")                             \
	F(npidle, OPTIONAL, "npidle.value|npidle")                            \
	F(nmspinning, OPTIONAL, "nmspinning.value|nmspinning")                \
	F(needspinning, OPTIONAL, "needspinning.value|needspinning")          \
	F(runq_head, OPTIONAL, "runq.head")                                   \
	F(runq_size, OPTIONAL, "runq.size|runqsize")                          \
	F(disable_user, OPTIONAL, "disable.user")                             \
	F(disable_size, OPTIONAL, "disable.runnable.size|disable.n")          \
	F(gcwaiting, OPTIONAL, "gcwaiting.u.value|gcwaiting")                 \
	F(stopwait, OPTIONAL, "stopwait")                                     \
	F(sysmonwait, OPTIONAL, "sysmonwait.u.value|sysmonwait")              \
	F(safe_point_wait, OPTIONAL, "safePointWait")                         \
	E(schedt)                                                             \
	S(work, OPTIONAL, "runtime.workType")                                 \
	F(tstart, OPTIONAL, "tstart")                                         \
	F(cycles, OPTIONAL, "cycles.value|cycles")                            \
	E(work)                                                               \
	S(mcache, REQUIRED, "runtime.mcache")                                 \
	F(tiny, REQUIRED, "tiny")                                             \
	F(alloc, OPTIONAL, "alloc")                                           \
	E(mcache)                                                             \
	S(defer, REQUIRED, "runtime._defer")                                  \
	F(heap, OPTIONAL, "heap")                                             \
	F(started, OPTIONAL, "started")                                       \
	F(sp, REQUIRED, "sp")                                                 \
	F(fn, REQUIRED, "fn")                                                 \
	F(link, REQUIRED, "link")                                             \
	E(defer)                                                              \
	S(panic, OPTIONAL, "runtime._panic")                                  \
	F(arg, REQUIRED, "arg")                                               \
	F(link, REQUIRED, "link")                                             \
	F(recovered, OPTIONAL, "recovered")                                   \
	F(repanicked, OPTIONAL, "repanicked")                                 \
	F(goexit, OPTIONAL, "goexit")                                         \
	F(slots, OPTIONAL, "slotsPtr")                                        \
	E(panic)                                                              \
	S(sudog, REQUIRED, "runtime.sudog")                                   \
	F(g, REQUIRED, "g")                                                   \
	F(next, REQUIRED, "next")                                             \
	F(prev, OPTIONAL, "prev")                                             \
	F(elem, REQUIRED, "elem")                                             \
	F(elem_truth, OPTIONAL, "elem.vu")                                    \
	F(chan, REQUIRED, "c")                                                \
	F(chan_truth, OPTIONAL, "c.maybeTraceablePtr.vu|c.vu")                \
	F(waitlink, REQUIRED, "waitlink")                                     \
	F(ticket, OPTIONAL, "ticket")                                         \
	E(sudog)                                                              \
	S(hchan, REQUIRED, "runtime.hchan")                                   \
	F(qcount, REQUIRED, "qcount")                                         \
	F(dataqsiz, REQUIRED, "dataqsiz")                                     \
	F(buf, REQUIRED, "buf")                                               \
	F(elemsize, OPTIONAL, "elemsize")                                     \
	F(closed, OPTIONAL, "closed")                                         \
	F(elemtype, REQUIRED, "elemtype")                                     \
	F(recvx, REQUIRED, "recvx")                                           \
	F(sendx, OPTIONAL, "sendx")                                           \
	F(recvq_first, REQUIRED, "recvq.first")                               \
	F(sendq_first, REQUIRED, "sendq.first")                               \
	F(timer, OPTIONAL, "timer")                                           \
	E(hchan)                                                              \
	S(sema_table, OPTIONAL, "runtime.semTable")                           \
	E(sema_table)                                                         \
	S(sema_root, OPTIONAL, "runtime.semaRoot")                            \
	F(treap, OPTIONAL, "treap")                                           \
	E(sema_root)                                                          \
	S(notify_list, OPTIONAL, "runtime.notifyList")                        \
	F(notify, OPTIONAL, "notify")                                         \
	F(head, OPTIONAL, "head")                                             \
	E(notify_list)                                                        \
	S(cond, OPTIONAL, "sync.Cond")                                        \
	F(notify, OPTIONAL, "notify")                                         \
	E(cond)                                                               \
	S(coro, OPTIONAL, "runtime.coro")                                     \
	F(gp, OPTIONAL, "gp")                                                 \
	E(coro)                                                               \
	S(bubble, OPTIONAL, "runtime.synctestBubble|runtime.synctestGroup")   \
	F(id, OPTIONAL, "id")                                                 \
	F(now, OPTIONAL, "now")                                               \
	F(root, OPTIONAL, "root")                                             \
	F(waiter, OPTIONAL, "waiter")                                         \
	F(main, OPTIONAL, "main")                                             \
	F(total, OPTIONAL, "total")                                           \
	F(running, OPTIONAL, "running")                                       \
	E(bubble)                                                             \
	S(poll_desc, OPTIONAL, "runtime.pollDesc")                            \
	F(fd, OPTIONAL, "fd")                                                 \
	F(rg, OPTIONAL, "rg.value|rg")                                        \
	F(wg, OPTIONAL, "wg.value|wg")                                        \
	F(rd, OPTIONAL, "rd")                                                 \
	F(wd, OPTIONAL, "wd")                                                 \
	E(poll_desc)                                                          \
	S(poll_fd, OPTIONAL, "internal/poll.FD")                              \
	F(sysfd, OPTIONAL, "Sysfd")                                           \
	F(pd, OPTIONAL, "pd.runtimeCtx")                                      \
	E(poll_fd)                                                            \
	S(net_fd, OPTIONAL, "net.netFD")                                      \
	F(pfd, OPTIONAL, "pfd")                                               \
	F(net, OPTIONAL, "net")                                               \
	F(laddr, OPTIONAL, "laddr")                                           \
	F(raddr, OPTIONAL, "raddr")                                           \
	E(net_fd)                                                             \
	S(timer, OPTIONAL, "runtime.timer")                                   \
	F(f, REQUIRED, "f")                                                   \
	F(arg, REQUIRED, "arg")                                               \
	F(when, OPTIONAL, "when")                                             \
	F(nextwhen, OPTIONAL, "nextwhen")                                     \
	F(status, OPTIONAL, "status")                                         \
	F(period, OPTIONAL, "period")                                         \
	E(timer)                                                              \
	S(timer_when, OPTIONAL, "runtime.timerWhen")                          \
	F(timer, REQUIRED, "timer")                                           \
	F(when, OPTIONAL, "when")                                             \
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
	F(gcdatamask, REQUIRED, "gcdatamask")                                 \
	F(gcbssmask, REQUIRED, "gcbssmask")                                   \
	F(next, REQUIRED, "next")                                             \
	E(moduledata)                                                         \
	S(bitvector, REQUIRED, "runtime.bitvector")                           \
	F(n, REQUIRED, "n")                                                   \
	F(bytedata, REQUIRED, "bytedata")                                     \
	E(bitvector)                                                          \
	S(func, REQUIRED, "runtime._func")                                    \
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
	S(inlined_call, OPTIONAL, "runtime.inlinedCall")                      \
	F(nameoff, REQUIRED, "nameOff|func_")                                 \
	F(parent_pc, REQUIRED, "parentPc")                                    \
	F(func_id, OPTIONAL, "funcID")                                        \
	E(inlined_call)                                                       \
	S(stack_object, REQUIRED, "runtime.stackObjectRecord")                \
	F(off, REQUIRED, "off")                                               \
	F(size, REQUIRED, "size")                                             \
	F(ptr_bytes, REQUIRED, "ptrBytes|_ptrdata")                           \
	F(gcdataoff, OPTIONAL, "gcdataoff|gcdataOff")                         \
	E(stack_object)                                                       \
	S(bucket, OPTIONAL, "runtime.bucket")                                 \
	F(allnext, REQUIRED, "allnext")                                       \
	F(size, REQUIRED, "size")                                             \
	F(nstk, REQUIRED, "nstk")                                             \
	E(bucket)                                                             \
	S(mem_record, OPTIONAL, "runtime.memRecord")                          \
	F(active, REQUIRED, "active")                                         \
	F(future, REQUIRED, "future")                                         \
	E(mem_record)                                                         \
	S(mem_record_cycle, OPTIONAL, "runtime.memRecordCycle")               \
	F(allocs, REQUIRED, "allocs")                                         \
	F(frees, REQUIRED, "frees")                                           \
	E(mem_record_cycle)                                                   \
	S(block_record, OPTIONAL, "runtime.blockRecord")                      \
	F(count, REQUIRED, "count")                                           \
	F(cycles, REQUIRED, "cycles")                                         \
	E(block_record)                                                       \
	S(ticks, OPTIONAL, "runtime.ticksType")                               \
	F(val, REQUIRED, "val.value|val")                                     \
	E(ticks)                                                              \
	S(mstats, OPTIONAL, "runtime.mstats")                                 \
	F(heap_stats, OPTIONAL, "heapStats.stats")                            \
	F(last_gc_nanotime, OPTIONAL, "last_gc_nanotime")                     \
	F(last_gc_unix, OPTIONAL, "last_gc_unix")                             \
	F(pause_end, OPTIONAL, "pause_end")                                   \
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
	F(count, OPTIONAL, "count")                                           \
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
	F(groups_data, REQUIRED, "groups.data")                               \
	F(groups_mask, REQUIRED, "groups.lengthMask")                         \
	E(swiss_table)

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
	/** Run-time addresses; 0: the variable is absent. */
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
 * GR_ERROR_LAYOUT names the first required row that does not resolve.
 * GR_ERROR_NOT_GO: even the Go runtime's heap is absent.
 */
struct gr_error *gr_layout_resolve(const struct gr_dwarf *dwarf, uint64_t bias,
				   struct gr_layout *ret) GR_MUST_CHECK;

/**
 * The resolved table as text for the golden files, one line per row
 * ("runtime.mspan.nelems 50 2"). Addresses of variables are left out. The
 * caller frees the text with free().
 */
char *gr_layout_text(const struct gr_layout *layout);

/** Make a table without answers: constants have their fallbacks. */
void gr_layout_init(struct gr_layout *layout);

/**
 * Make a table from a text by gr_layout_text(); variables stay 0.
 * Rows that the table lacks are left out. GR_ERROR_LAYOUT names a required row
 * that is absent, or a line that is no row.
 */
struct gr_error *gr_layout_parse(const char *text,
				 struct gr_layout *ret) GR_MUST_CHECK;

/**
 * The whole layout as text for a saved file, with the addresses of variables.
 * The caller frees it with free(). NULL: no memory.
 */
char *gr_layout_save(const struct gr_layout *layout);

/** Read such a text, which may be damaged: GR_ERROR_LAYOUT. */
struct gr_error *gr_layout_restore(struct gr_bytes saved,
				   struct gr_layout *ret) GR_MUST_CHECK;

/** GR_ERROR_LAYOUT names the first required struct or field that is absent,
 * or a field outside its struct. */
struct gr_error *gr_layout_check(const struct gr_layout *layout) GR_MUST_CHECK;

/** Are the layouts equal, apart from the addresses of variables? */
bool gr_layout_is_same(const struct gr_layout *a, const struct gr_layout *b);

/** A source of types other than DWARF. */
struct gr_layout_source {
	void *ctx;
	/** Find the struct type with this full name. */
	bool (*find)(void *ctx, const char *name, uint32_t *type);
	uint64_t (*size)(void *ctx, uint32_t type);
	/** Find the field of a struct type; its name has @p len bytes. */
	bool (*member)(void *ctx, uint32_t type, const char *name, size_t len,
		       uint64_t *off, uint32_t *field_type);
};

/**
 * Does @p source agree with @p layout? Structs that the source does not have
 * are skipped. *@p structs is the number of structs that it has.
 */
bool gr_layout_agrees(const struct gr_layout *layout,
		      const struct gr_layout_source *source, size_t *structs);

/** A row of variables: its names and the place for its address. */
struct gr_layout_variable {
	const char *names; /**< Alternatives, separated by '|'. */
	uint64_t *addr;
};

/** Get variable @p i of a table; false after the last one. */
bool gr_layout_variable(struct gr_layout *layout, size_t i,
			struct gr_layout_variable *ret);

#endif /* GR_LAYOUT_H */
