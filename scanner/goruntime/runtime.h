/* SPDX-License-Identifier: Apache-2.0 */
/**
 * runtime: the rebuilt Go runtime of one stopped target: what all files of
 * this room share. Filled phase by phase by scan.c.
 */
#ifndef GR_RUNTIME_H
#define GR_RUNTIME_H

#include "base/arena.h"
#include "base/base.h"
#include "base/vector.h"
#include "dwarf/dwarf.h"
#include "goruntime/layout.h"
#include "target/image.h"

/** A Go slice header as the target has it: element count and address. */
struct gr_go_slice {
	uint64_t addr;
	uint64_t len;
	uint64_t cap;
};

/**
 * One moduledata (runtime/symtab.go). Ranges are half-open, run-time
 * addresses. The byte views are the pclntab parts, mapped for the scan.
 */
struct gr_module {
	uint64_t addr; /**< Of the moduledata itself. */
	uint64_t minpc, maxpc;
	uint64_t text, etext;
	uint64_t types, etypes;
	uint64_t rodata, gofunc;
	uint64_t data, edata, bss, ebss;
	uint64_t noptrdata, enoptrdata, noptrbss, enoptrbss;
	struct gr_bytes funcnametab, cutab, filetab, pctab, pclntable;
	/** Entries of ftab: {entry offset u32, _func offset u32}. */
	const uint8_t *ftab;
	uint64_t nftab;
	/** PC quantum: 1 on amd64, 4 on arm64 (pcHeader.minLC). */
	uint8_t pc_quantum;
	/** One bit a word of data and bss, or NULL. */
	const uint8_t *data_mask, *bss_mask;
	uint64_t data_mask_bits, bss_mask_bits;
	/** Debug information of the file it comes from, or NULL. */
	struct gr_dwarf *dwarf;
	uint64_t bias; /**< Run-time address minus address in the file. */
};

/**
 * Memory outside the heap that the collector scans: data, bss, one
 * goroutine's stack. [start, end), word-aligned.
 */
struct gr_area {
	uint64_t start, end;
	/** Host bytes of [start, end), or NULL if nothing could be read. */
	const uint8_t *host;
	/** A bit a word: it is a live pointer by the collector's own maps. */
	uint64_t *live;
	/** A bit a word, subset of live: found conservatively; may be NULL. */
	uint64_t *conservative;
};

struct gr_dictionaries;
struct gr_goroutine;
struct gr_heap;
struct gr_ptrmap_ops;
struct gr_symbol;
struct gr_type_masks;
struct gr_types;

/** Everything known of the target's Go runtime. Dies with the scan. */
struct gr_runtime {
	struct gr_image *image;
	bool is_running; /**< The target runs on while symbols are read. */
	const struct gr_arch *arch; /**< Of the executable. */
	struct gr_gaps *gaps;
	struct gr_arena *arena;
	struct gr_error *(*poll)(void *ctx);
	void *poll_ctx;
	struct gr_layout layout;
	struct gr_module *modules;
	size_t nmodules;
	struct gr_heap *heap;
	const struct gr_ptrmap_ops *ptrmap; /**< The scheme of this target. */
	struct gr_type_masks *masks;
	struct gr_types *types;
	struct gr_dictionaries *dictionaries; /**< Of generics; or NULL. */
	/** By address, when there is no debug information (symbols.h). */
	struct gr_symbol *symbols;
	size_t nsymbols;
	struct gr_goroutine *goroutines; /**< In the order of allgs. */
	size_t ngoroutines;
	/** Addresses of all m (allm list) and p (allp). */
	uint64_t *ms;
	size_t nms;
	uint64_t *ps;
	size_t nps;
};

/**
 * Read a slice header at @p addr. Lengths past @p max_len or cap < len are
 * GR_ERROR_FORMAT.
 */
struct gr_error *gr_runtime_read_slice(struct gr_runtime *rt, uint64_t addr,
				       uint64_t max_len,
				       struct gr_go_slice *ret) GR_MUST_CHECK;

/** The module whose text holds @p pc, or NULL. */
const struct gr_module *gr_runtime_module_at(const struct gr_runtime *rt,
					     uint64_t pc);

/**
 * Walk moduledata's list and map the tables. At least one, or an error. Their
 * debug information is the caller's to add.
 */
struct gr_error *gr_modules_read(struct gr_runtime *rt) GR_MUST_CHECK;

#endif /* GR_RUNTIME_H */
