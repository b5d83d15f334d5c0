/* SPDX-License-Identifier: Apache-2.0 */
/**
 * source: the memory of a live target, read piece by piece.
 *
 * A source is a process on this machine (native.c) or any other target that
 * gdb reads (remote.c), with a page cache for small reads (cache.c). A read
 * returns the leading bytes that are readable. Missing memory is a short read,
 * not an error.
 */
#ifndef GR_SOURCE_H
#define GR_SOURCE_H

#include "base/base.h"
#include "base/error.h"
#include "inferior/mappings.h"
#include "inferior/target.h"

struct gr_source;

/** Target bytes [addr, addr + bytes) and their destination. */
struct gr_piece {
	uint64_t addr;
	uint8_t *buf;
	uint64_t bytes;
};

/** One kind of source. */
struct gr_source_ops {
	/**
	 * Read the pieces in order, up to the first missing byte at most; *@p
	 * got is the number of bytes read. A call reads at least one byte
	 * unless the first byte is missing, but it may stop early.
	 */
	struct gr_error *(*read)(struct gr_source *source,
				 const struct gr_piece *pieces, size_t npieces,
				 uint64_t *got);
	/** Bytes that one small read fetches; a power of two, >= 4096. */
	uint64_t block_bytes;
};

/** Zero-initialised, the source has no memory. */
struct gr_source {
	const struct gr_target *target;
	const struct gr_source_ops *ops;
	const struct gr_mappings *maps; /**< Maps of a process, else NULL. */
	int mem_fd;	   /**< /proc/PID/mem, while ops is not NULL. */
	int pagemap_fd;	   /**< /proc/PID/pagemap; -1: it is not known. */
	bool reads_absent; /**< Pages that are not in memory are read, too. */
	bool is_only_file; /**< process_vm_readv() is not used. */
	struct gr_cache *cache;
};

/** Open a process or its snapshot; @p maps outlives the source. */
struct gr_error *
gr_source_init_native(struct gr_source *source, const struct gr_target *target,
		      const struct gr_mappings *maps) GR_MUST_CHECK;

/** Read through target->ops. */
struct gr_error *
gr_source_init_remote(struct gr_source *source,
		      const struct gr_target *target) GR_MUST_CHECK;

/** Close the source: nothing can be read afterwards. May be called twice. */
void gr_source_deinit(struct gr_source *source);

/** Ask the caller, by gr_target_ops.poll, whether to go on. */
struct gr_error *gr_source_poll(const struct gr_target *target) GR_MUST_CHECK;

/** Check the memory limit before an allocation of @p bytes. */
struct gr_error *gr_source_want(const struct gr_target *target,
				uint64_t bytes) GR_MUST_CHECK;

/**
 * Read the leading readable bytes of [addr, addr + bytes). Small reads go
 * through the cache. *@p got < @p bytes means that addr + *@p got is missing.
 */
struct gr_error *gr_source_read(struct gr_source *source, uint64_t addr,
				void *buf, uint64_t bytes,
				uint64_t *got) GR_MUST_CHECK;

/** A page cache with blocks of @p block_bytes. */
struct gr_cache *gr_cache_create(uint64_t block_bytes);
void gr_cache_destroy(struct gr_cache *cache);

/** Drop all blocks: the next reads fetch them anew. */
void gr_cache_forget(struct gr_cache *cache);

/** gr_source_read() through the cache. */
struct gr_error *gr_cache_read(struct gr_source *source, uint64_t addr,
			       uint8_t *buf, uint64_t bytes,
			       uint64_t *got) GR_MUST_CHECK;

#endif /* GR_SOURCE_H */
