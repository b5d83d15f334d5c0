/* SPDX-License-Identifier: Apache-2.0 */
/**
 * layout_values: the variables and constants of the Go runtime that goref reads,
 * the second half of the table in layout.h.
 */
#ifndef GR_LAYOUT_VALUES_H
#define GR_LAYOUT_VALUES_H

// clang-format off: one row a line
/** X(id, need, DWARF names): addresses of runtime variables. */
#define GR_LAYOUT_VARIABLES(X)                                               \
	X(mheap, REQUIRED, "runtime.mheap_")                                 \
	X(firstmoduledata, REQUIRED, "runtime.firstmoduledata")              \
	X(allgs, REQUIRED, "runtime.allgs")                                  \
	X(allglen, OPTIONAL, "runtime.allglen")                              \
	X(allm, REQUIRED, "runtime.allm")                                    \
	X(allp, REQUIRED, "runtime.allp")                                    \
	X(allfin, REQUIRED, "runtime.allfin")                                \
	X(finq, OPTIONAL, "runtime.finq")                                    \
	X(finc, OPTIONAL, "runtime.finc")                                    \
	X(gc_cleanups, OPTIONAL, "runtime.gcCleanups")                       \
	X(gcphase, REQUIRED, "runtime.gcphase")                              \
	X(write_barrier, OPTIONAL, "runtime.writeBarrier")                   \
	X(build_version, REQUIRED, "runtime.buildVersion")                   \
	X(memstats, OPTIONAL, "runtime.memstats")                            \
	X(class_to_size, OPTIONAL,                                           \
	  "internal/runtime/gc.SizeClassToSize|runtime.class_to_size")       \
	X(wait_reasons, OPTIONAL, "runtime.waitReasonStrings")               \
	X(mbuckets, OPTIONAL, "runtime.mbuckets")                            \
	X(bbuckets, OPTIONAL, "runtime.bbuckets")                            \
	X(xbuckets, OPTIONAL, "runtime.xbuckets")                            \
	X(mprof_cycle, OPTIONAL, "runtime.mProfCycle")                       \
	X(mem_profile_rate, OPTIONAL, "runtime.MemProfileRate")              \
	X(disable_mem_profiling, OPTIONAL, "runtime.disableMemoryProfiling") \
	X(block_profile_rate, OPTIONAL, "runtime.blockprofilerate")          \
	X(mutex_profile_rate, OPTIONAL, "runtime.mutexprofilerate")          \
	X(ticks, OPTIONAL, "runtime.ticks")                                  \
	X(itab_table, OPTIONAL, "runtime.itabTable")                         \
	X(semtable, OPTIONAL, "runtime.semtable")                            \
	X(init_time, OPTIONAL, "runtime.runtimeInitTime")                    \
	X(sched, OPTIONAL, "runtime.sched")                                  \
	X(gomaxprocs, OPTIONAL, "runtime.gomaxprocs")                        \
	X(ncpu, OPTIONAL, "runtime.numCPUStartup|runtime.ncpu")              \
	X(work, OPTIONAL, "runtime.work")                                    \
	X(worldsema, OPTIONAL, "runtime.worldsema")                          \
	X(gc_blacken_enabled, OPTIONAL, "runtime.gcBlackenEnabled")          \
	X(panicking, OPTIONAL, "runtime.panicking")                          \
	X(method_value_objs, OPTIONAL, "runtime.methodValueCallFrameObjs")

/** X(id, value if absent, DWARF names): constants of the runtime. */
#define GR_LAYOUT_CONSTANTS(X)                                                                                                  \
	X(span_in_use, 1, "runtime.mSpanInUse")                                                                                 \
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
	X(kind_profile, -1, "runtime._KindSpecialProfile")                                                                      \
	X(kind_weak_handle, -1, "runtime._KindSpecialWeakHandle")                                                               \
	X(funcid_goexit, -1,                                                                                                    \
	  "internal/abi.FuncIDGoexit|internal/abi.FuncID_goexit|runtime.funcID_goexit")                                         \
	X(funcid_sigpanic, -1,                                                                                                  \
	  "internal/abi.FuncID_sigpanic|runtime.funcID_sigpanic")                                                               \
	X(funcid_debug_call, -1,                                                                                                \
	  "internal/abi.FuncID_debugCallV2|runtime.funcID_debugCallV2")                                                         \
	X(funcid_async_preempt, -1,                                                                                             \
	  "internal/abi.FuncID_asyncPreempt|runtime.funcID_asyncPreempt")                                                       \
	X(funcid_wrapper, -1,                                                                                                   \
	  "internal/abi.FuncIDWrapper|internal/abi.FuncID_wrapper|runtime.funcID_wrapper")                                      \
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
	X(pidle, 0, "runtime._Pidle")                                                                                           \
	X(prunning, 1, "runtime._Prunning")                                                                                     \
	X(psyscall, 2, "runtime._Psyscall_unused|runtime._Psyscall")                                                            \
	X(pgcstop, 3, "runtime._Pgcstop")                                                                                       \
	X(pdead, 4, "runtime._Pdead")                                                                                           \
	X(timer_waiting, 1, "runtime.timerWaiting")                                                                             \
	X(timer_modified_earlier, 7, "runtime.timerModifiedEarlier")                                                            \
	X(timer_modified_later, 8, "runtime.timerModifiedLater")                                                                \
	X(gc_off, 0, "runtime._GCoff")                                                                                          \
	X(gc_mark, 1, "runtime._GCmark")                                                                                        \
	X(gc_mark_termination, 2, "runtime._GCmarktermination")                                                                 \
	X(mark_worker_none, 0, "runtime.gcMarkWorkerNotWorker")                                                                 \
	X(mark_worker_dedicated, 1, "runtime.gcMarkWorkerDedicatedMode")                                                        \
	X(mark_worker_fractional, 2, "runtime.gcMarkWorkerFractionalMode")                                                      \
	X(mark_worker_idle, 3, "runtime.gcMarkWorkerIdleMode")                                                                  \
	X(freeze_stop_wait, 0x7fffffff, "runtime.freezeStopWait")                                                               \
	X(sema_tab_size, 251, "runtime.semTabSize")                                                                             \
	X(gscan, 0x1000, "runtime._Gscan")

// clang-format on

#endif /* GR_LAYOUT_VALUES_H */
