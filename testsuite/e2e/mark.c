// SPDX-License-Identifier: Apache-2.0
/*
 * The plainest of marks, for the tests: what is lost without a set of
 * vertices is what a mark from the top does not find.
 *
 * Input, all 32-bit numbers but the bytes: vertices, edges, sets; the bytes of
 * each vertex (64 bits); pairs of from and to; for each set its size and its
 * vertices. The top is the last vertex. Output: the bytes lost, a line a set.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void get(void *to, size_t bytes)
{
	if (fread(to, 1, bytes, stdin) != bytes)
		exit(1);
}

static uint32_t number(void)
{
	uint32_t value;

	get(&value, sizeof(value));
	return value;
}

int main(void)
{
	uint32_t n = number(), nedges = number(), nsets = number();
	uint64_t *bytes = calloc(n, sizeof(*bytes));
	uint32_t *pair = calloc(nedges, 2 * sizeof(*pair));
	uint32_t *next = calloc(nedges, sizeof(*next));
	uint32_t *first = calloc(n, sizeof(*first)); // an edge + 1
	uint32_t *stack = calloc(n, sizeof(*stack));
	uint8_t *marked = calloc(n, 1), *without = calloc(n, 1);
	uint64_t all = 0;

	get(bytes, n * sizeof(*bytes));
	get(pair, nedges * 2 * sizeof(*pair));
	for (uint32_t e = 0; e < nedges; e++) {
		next[e] = first[pair[2 * e]];
		first[pair[2 * e]] = e + 1;
	}
	for (uint32_t set = 0; set <= nsets; set++) {
		uint32_t size = set ? number() : 0, depth = 0;
		uint64_t found = 0;

		memset(marked, 0, n);
		memset(without, 0, n);
		for (uint32_t i = 0; i < size; i++)
			without[number()] = 1;
		if (!without[n - 1])
			stack[depth++] = n - 1;
		marked[n - 1] = 1;
		while (depth) {
			uint32_t v = stack[--depth];

			found += bytes[v];
			for (uint32_t e = first[v]; e; e = next[e - 1]) {
				uint32_t to = pair[2 * (e - 1) + 1];

				if (!marked[to] && !without[to])
					stack[depth++] = to;
				marked[to] = 1;
			}
		}
		if (!set)
			all = found;
		else
			printf("%" PRIu64 "\n", all - found);
	}
	return 0;
}
