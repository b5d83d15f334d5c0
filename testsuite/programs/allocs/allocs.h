/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>

/* A site of library/sites.c, in its order. */
enum { SITE_HELD = 2 };

/* Who has a block: nobody, a list of C, or the caller. */
enum { HOLDER_NOBODY, HOLDER_C, HOLDER_CALLER };

/* A block that was not freed. Its address is hidden: a word that looks like a
 * pointer would hold it. */
struct entry {
	uint64_t hidden, bytes, time_ns, goid;
	uint32_t site, library, holder, is_gone;
};

enum { MAX_THREADS = 16, MAX_SLOTS = 64 };

void load_library(int number, const char *path, const char *prefix);

uint64_t ledger_count(void);
struct entry *ledger_entry(uint64_t index);

void *make_block(int library, int site, size_t bytes, int holder,
		 uint64_t goid);
void make_blocks(int library, int site, uint64_t count, size_t bytes,
		 int holder, uint64_t goid, void **blocks);
/* Free the blocks of a site, but for those that a caller has. */
void drop_blocks(int library, int site);
void drop_block(int library, int site, void *block);

/* Pairs of malloc and free, with leaks among them, and blocks in the slots of a
 * table that are replaced. */
struct load {
	int library, thread, slots;
	uint64_t every_a, every_b, goid;
};

void load_step(const struct load *load, uint64_t from, uint64_t count);
void *table_block(int thread, int slot);

/* Changes of the process. */
void in_threads(int library, int threads, uint64_t count, size_t bytes);
int fork_allocating(void);
void use_allocator(const char *path, const char *prefix, uint64_t count);
void unload_allocator(void);

/* The samples of library/sampler.c. */
struct sample {
	uint64_t hidden, bytes, weight;
};

void load_sampler(const char *path, const char *prefix);
void sampled_blocks(uint64_t count, size_t bytes, uint64_t keep_every);
int next_sample(uint64_t *index, struct sample *sample);
