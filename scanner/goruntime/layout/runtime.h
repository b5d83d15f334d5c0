/* SPDX-License-Identifier: Apache-2.0 */
/**
 * runtime: the rebuilt Go runtime of one stopped target, which all files of
 * this room share. The room scan fills it phase by phase.
 */
#ifndef GR_RUNTIME_H
#define GR_RUNTIME_H

#include "base/arena.h"
#include "base/base.h"
#include "base/poll.h"
#include "base/vector.h"
#include "dwarf/dwarf.h"
#include "goruntime/layout/layout.h"
#include "inferior/image.h"

/** The slice header of the target: address, length and capacity. */
struct gr_go_slice {
	uint64_t addr;
	uint64_t len;
	uint64_t cap;
};

/**
 * One moduledata (runtime/symtab.go). Ranges are half-open and have run-time
 * addresses. The byte views are the parts of the pclntab, mapped for the scan.
 */
struct gr_module {
	uint64_t addr; /**< Address of the moduledata itself. */
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
	/** One bit per word of data and bss, or NULL. */
	const uint8_t *data_mask, *bss_mask;
	uint64_t data_mask_bits, bss_mask_bits;
	/** Debug information of the module's file, or NULL. */
	struct gr_dwarf *dwarf;
	uint64_t bias; /**< Run-time address minus address in the file. */
};

/**
 * Memory outside the heap that the collector scans: data, bss or one
 * goroutine's stack. The range [start, end) is word-aligned.
 */
struct gr_area {
	uint64_t start, end;
	/** Host bytes of [start, end), or NULL if they are unreadable. */
	const uint8_t *host;
	/** One bit per word: a live pointer by the collector's own maps. */
	uint64_t *live;
	/** One bit per word: the live ones found conservatively, or NULL. */
	uint64_t *conservative;
};

GR_VECTOR(gr_addr_vector, uint64_t);

struct gr_symbol;
struct gr_pc_lookups;

/** The variables of one file, by their addresses in it. */
struct gr_symbol_table {
	struct gr_symbol *symbols;
	size_t count;
	bool is_filled;
};

/** Symbols of C: a table for each module, and what was named of them. */
struct gr_c_variables {
	struct gr_symbol_table *tables;
	size_t ntables;
	struct gr_symbol *kept; /**< Addresses are those at run time. */
	size_t nkept;
};

/** All data about the target's Go runtime. It is freed with the scan. */
struct gr_runtime {
	struct gr_image *image;
	struct gr_recorder *recorder; /**< gr_image_recorder(), or NULL. */
	bool is_running; /**< The target runs while symbols are read. */
	const struct gr_arch *arch; /**< Architecture of the executable. */
	struct gr_gaps *gaps;
	struct gr_arena *arena;
	struct gr_error *(*poll)(void *ctx);
	void *poll_ctx;
	struct gr_progress *progress; /**< NULL: nobody looks at it. */
	uint64_t steps; /**< Since the last poll: gr_runtime_step(). */
	struct gr_layout layout;
	struct gr_module *modules;
	size_t nmodules;
	/** Sorted by address; used without debug information (symbols.h). */
	struct gr_symbol *symbols;
	size_t nsymbols;
	/** Functions of C that answers have named (c_function.h). */
	struct gr_symbol *c_functions;
	size_t nc_functions;
	/** Variables of C that answers have named (c_variable.h). */
	struct gr_c_variables c_variables;
	struct gr_pc_lookups *pc_lookups; /**< NULL: they have no limit. */
};

/** The poll of a runtime, for algorithms that do not know it. */
static inline struct gr_poll gr_runtime_poller(const struct gr_runtime *rt)
{
	return (struct gr_poll){ rt->poll, rt->poll_ctx, rt->progress };
}

/** Ask now whether to go on. */
static inline struct gr_error *gr_runtime_poll(const struct gr_runtime *rt)
{
	return rt->poll ? rt->poll(rt->poll_ctx) : NULL;
}

/** Steps between two polls. A step may cost a look-up or two. */
#define GR_POLL_STEPS 4096

/**
 * Account for @p n steps of a loop over target data, and poll from time to
 * time whether to go on. A step handles one element and about 100 bytes of
 * memory, so that about a millisecond and far less than a megabyte pass
 * between two polls.
 */
static inline struct gr_error *gr_runtime_step(struct gr_runtime *rt,
					       uint64_t n)
{
	rt->steps += n;
	if (GR_LIKELY(rt->steps < GR_POLL_STEPS))
		return NULL;
	rt->steps = 0;
	return gr_runtime_poll(rt);
}

/** Append @p value to a vector of the type @p name, whose length depends on the
 * target; if it must grow, the memory limit is checked before. The error is
 * that of gr_image_want(), or gr_enomem. */
#define gr_runtime_append(rt, name, vector, ...)                               \
	({                                                                     \
		struct name *_vector = (vector);                               \
		struct gr_error *_err = NULL;                                  \
		if (_vector->size == _vector->capacity)                        \
			_err = gr_image_want((rt)->image,                      \
					     gr_vector_growth_bytes(           \
						     _vector->capacity,        \
						     sizeof(*_vector->data))); \
		if (!_err && !name##_append(_vector, __VA_ARGS__))             \
			_err = &gr_enomem;                                     \
		_err;                                                          \
	})

/** Account for one element and for its name, which may be long. */
static inline struct gr_error *gr_runtime_step_name(struct gr_runtime *rt,
						    const char *name)
{
	return gr_runtime_step(rt, 1 + strlen(name) / 64);
}

/**
 * Read a slice header at @p addr. A length above @p max_len or a capacity
 * below the length is GR_ERROR_FORMAT.
 */
struct gr_error *gr_runtime_read_slice(struct gr_runtime *rt, uint64_t addr,
				       uint64_t max_len,
				       struct gr_go_slice *ret) GR_MUST_CHECK;

/** The module whose text holds @p pc, or NULL. */
const struct gr_module *gr_runtime_module_at(const struct gr_runtime *rt,
					     uint64_t pc);

/**
 * Walk the list of moduledatas and map their tables. No module at all is an
 * error. The caller adds the modules' debug information.
 */
struct gr_error *gr_modules_read(struct gr_runtime *rt) GR_MUST_CHECK;

#endif /* GR_RUNTIME_H */
