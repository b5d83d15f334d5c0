/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HEAP_H
#define HEAP_H

struct settings {
	int threads;
	long operations; // of all threads together
	unsigned long seed;
	int foreign_brk;	 // move the break behind malloc's back
	int is_glibc;		 // malloc is that of glibc
	const char *blocks_file; // where the truth is written
	const char *info_file;	 // where the text of malloc_info() is written
};

// The sums of the program. A block's bytes are those of its chunk.
struct totals {
	long blocks, bytes;
	long mmapped_blocks, mmapped_bytes;
	long freed; // addresses that were not handed out again
	long brks;  // moves of the break by the program itself
	// The fields of mallinfo() of these names, in bytes.
	unsigned long arena, hblks, hblkhd, fsmblks, uordblks, fordblks,
		keepcost;
};

/**
 * Fill the heap at random, write the truth, and leave the threads waiting.
 * The caller is one of the threads. Returns 0, or -1 if the system refuses
 * something.
 */
int fill_heap(const struct settings *settings, struct totals *totals);

#endif
