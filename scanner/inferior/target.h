/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The target, as a source describes it (python/goref/sources): plain data and
 * two callbacks. Besides files and processes, this is the scanner's only
 * interface to the outside.
 */
#ifndef GR_TARGET_H
#define GR_TARGET_H

#include "base/base.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/meter.h"
#include "inferior/arch.h"

enum gr_target_kind {
	GR_TARGET_CORE,	  /**< A core file, which we map. */
	GR_TARGET_NATIVE, /**< A stopped process on this machine. */
	/** A permanently stopped copy of a process; the process itself runs. */
	GR_TARGET_SNAPSHOT,
	GR_TARGET_REMOTE, /**< Any other: read through gdb. */
	GR_TARGET_SAVED,  /**< A file that `goref save' has written. */
};

/** More threads do not make a copy any faster. */
enum { GR_MAX_COPY_THREADS = 16 };

struct gr_saved;

/** One operating system thread of the target. */
struct gr_target_thread {
	int32_t lwp; /**< Its ID in the target's own pid namespace. */
	struct gr_regs regs;
};

/** One ELF file mapped in the target. */
struct gr_target_module {
	const char *path; /**< The file that we can open. */
	const char *name; /**< Its name in answers; NULL: the path. */
	/** The bytes of the file, if it is not to be opened: see
	 * savedfile/skeleton.h. Else empty. */
	struct gr_bytes image;
	const char *debug_path; /**< Separate debug file, or NULL. */
	/**
	 * Run-time address minus address in the file. It is UINT64_MAX if the
	 * caller does not know it; the scanner then finds it.
	 */
	uint64_t bias;
};

/** The name of a module in answers. */
static inline const char *
gr_target_module_name(const struct gr_target_module *module)
{
	return module->name ? module->name : module->path;
}

/**
 * Callbacks into the caller. The scanner calls them only on the thread that
 * started it.
 */
struct gr_target_ops {
	/** Read [addr, addr + bytes) whole, or fail with GR_ERROR_FAULT. */
	struct gr_error *(*read)(void *ctx, uint64_t addr, void *buf,
				 size_t bytes);
	/** Called every few milliseconds: GR_ERROR_INTERRUPTED stops the scan. */
	struct gr_error *(*poll)(void *ctx);
};

/**
 * The program to scan. Strings and arrays belong to the caller and outlive
 * every call that takes the target.
 */
struct gr_target {
	enum gr_target_kind kind;
	const char *core_path; /**< GR_TARGET_CORE, else NULL. */
	/** GR_TARGET_SAVED: what the file says; set by the scan. Else NULL. */
	const struct gr_saved *saved;
	const char *saved_path; /**< GR_TARGET_SAVED: the file, else NULL. */
	int32_t pid;		/**< The process, else 0. */
	int32_t copy_pid; /**< The copy of a GR_TARGET_SNAPSHOT, else 0. */
	/** The task by which a GR_TARGET_NATIVE is read. It is not the first
	 * one if the first one has ended before the others. 0: the first. */
	int32_t reader;
	/** The executable first, then shared objects. At least one. */
	const struct gr_target_module *modules;
	size_t nmodules;
	/**
	 * Threads with registers. The list is empty for cores, whose notes hold
	 * the registers, and for a process that keeps running.
	 */
	const struct gr_target_thread *threads;
	size_t nthreads;
	/** Number of our threads that copy a GR_TARGET_NATIVE; 0 means 1. */
	unsigned int copy_threads;
	/**
	 * The target stands still, and its memory can be read, as long as there
	 * is a scan of it: gdb or goref itself holds the process.
	 */
	bool is_held;
	/** Use the user's cache folder, for the tables of debug information or,
	 * without these, for the addresses of the runtime. */
	bool use_cache;
	/** Record which words are read, for gr_scan_save(). */
	bool is_recorded;
	/** Limit of the scan's private memory; 0: no limit. */
	uint64_t memory_limit_bytes;
	struct gr_target_ops ops;
	void *ctx;
	/** Set by the scan; the caller leaves it NULL. */
	struct gr_meter *meter;
};

/** All that will ever be read is in a file: a core or a saved one. */
static inline bool gr_target_is_file(const struct gr_target *target)
{
	return target->kind == GR_TARGET_CORE ||
	       target->kind == GR_TARGET_SAVED;
}

/** The process, or the task of it, whose memory is read. */
static inline int32_t gr_target_memory_pid(const struct gr_target *target)
{
	if (target->kind == GR_TARGET_SNAPSHOT)
		return target->copy_pid;
	return target->reader ? target->reader : target->pid;
}

#endif /* GR_TARGET_H */
