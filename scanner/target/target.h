/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a debugger provides: plain data and two callbacks. The scanner's only
 * door to the outside besides files.
 */
#ifndef GR_TARGET_H
#define GR_TARGET_H

#include "base/base.h"
#include "base/error.h"
#include "target/arch.h"

enum gr_target_kind {
	GR_TARGET_CORE,	  /**< A core file, read by us through mmap. */
	GR_TARGET_NATIVE, /**< A stopped process of this machine. */
	/** A copy of a process, stopped for ever; the process itself runs. */
	GR_TARGET_SNAPSHOT,
	GR_TARGET_REMOTE, /**< Anything else: read through the debugger. */
};

/** More do not make a copy any faster. */
enum { GR_MAX_COPY_THREADS = 16 };

/** One operating system thread of the target. */
struct gr_target_thread {
	int32_t lwp; /**< As the target's own pid namespace counts it. */
	struct gr_regs regs;
};

/** One ELF file mapped in the target. */
struct gr_target_module {
	const char *path;	/**< The file that we can open. */
	const char *debug_path; /**< Separate debug file, or NULL. */
	/**
	 * Run-time address minus address in the file; UINT64_MAX when the
	 * debugger does not know (the scanner then finds it out).
	 */
	uint64_t bias;
};

/** What the scanner may ask of the debugger; on the starting thread only. */
struct gr_target_ops {
	/** Read [addr, addr + bytes) whole, or fail with GR_ERROR_FAULT. */
	struct gr_error *(*read)(void *ctx, uint64_t addr, void *buf,
				 size_t bytes);
	/** Called now and then: GR_ERROR_INTERRUPTED stops the scan. */
	struct gr_error *(*poll)(void *ctx);
};

/**
 * The program to look at. Strings and arrays belong to the caller and outlive
 * every call that takes the target.
 */
struct gr_target {
	enum gr_target_kind kind;
	const char *core_path; /**< GR_TARGET_CORE, else NULL. */
	int32_t pid;	       /**< Of the process, else 0. */
	int32_t copy_pid;      /**< Of GR_TARGET_SNAPSHOT's copy, else 0. */
	/** The executable first, then shared objects. At least one. */
	const struct gr_target_module *modules;
	size_t nmodules;
	/** Empty for cores: their notes have the registers; and for a process
	 * that runs on. */
	const struct gr_target_thread *threads;
	size_t nthreads;
	/** Of ours, that copy a GR_TARGET_NATIVE; 0 is 1. */
	unsigned int copy_threads;
	/** Keep the tables of debug information in the user's cache folder. */
	bool use_cache;
	struct gr_target_ops ops;
	void *ctx;
};

/** The process whose memory is read. */
static inline int32_t gr_target_memory_pid(const struct gr_target *target)
{
	return target->kind == GR_TARGET_SNAPSHOT ? target->copy_pid :
						    target->pid;
}

#endif /* GR_TARGET_H */
