// SPDX-License-Identifier: Apache-2.0
/*
 * A library that samples its allocations by their bytes, and tells of samples
 * by the USDT probes otel_memory:alloc(ptr, size, weighted_bytes) and
 * otel_memory:free(ptr). It knows which samples are outstanding.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define NAME(name) JOIN(PREFIX, name)
#define EXPORT __attribute__((visibility("default")))
#define APART __attribute__((noinline, noclone, noipa))

/* A sample stands for so many bytes, or more if the block is larger. */
enum { PERIOD = 4096, SAMPLES = 1 << 14 };

/* The address is hidden: a word that looks like a pointer holds the block. */
struct sample {
	uint64_t hidden, bytes, weight;
};

static struct sample samples[SAMPLES];
static uint64_t since;

static struct sample *find(uint64_t hidden)
{
	uint64_t i = hidden / 16 * 11 % SAMPLES;

	for (int tried = 0; tried < SAMPLES; tried++, i = (i + 1) % SAMPLES)
		if (samples[i].hidden == hidden)
			return &samples[i];
	return NULL;
}

static void keep(void *block, uint64_t bytes, uint64_t weight)
{
	uint64_t hidden = ~(uintptr_t)block;
	uint64_t i = hidden / 16 * 11 % SAMPLES;

	for (int tried = 0; samples[i].weight; i = (i + 1) % SAMPLES)
		if (++tried == SAMPLES)
			abort();
	samples[i] = (struct sample){ hidden, bytes, weight };
}

static APART void *NAME(sampled)(size_t bytes)
{
	void *block = malloc(bytes);
	uint64_t weight;

	if (!block)
		abort();
	memset(block, 1, bytes);
	since += bytes;
	weight = since / PERIOD * PERIOD;
	since -= weight;
	if (weight) {
		keep(block, bytes, weight);
		DTRACE_PROBE3(otel_memory, alloc, block, bytes, weight);
	}
	return block;
}

static APART void NAME(unsampled)(void *block)
{
	struct sample *sample = find(~(uintptr_t)block);

	if (sample && sample->weight) {
		sample->weight = 0;
		sample->hidden = 0;
		DTRACE_PROBE1(otel_memory, free, block);
	}
	free(block);
	__asm__ volatile("");
}

/* Blocks of which one in so many stays, held by nobody. */
EXPORT APART void NAME(sample)(uint64_t count, size_t bytes, uint64_t every)
{
	for (uint64_t i = 0; i < count; i++) {
		void *block = NAME(sampled)(bytes);

		if (i % every)
			NAME(unsampled)(block);
	}
	__asm__ volatile("");
}

/* The next sample at *index or behind it that is outstanding. */
EXPORT int NAME(next)(uint64_t *index, struct sample *sample)
{
	while (*index < SAMPLES) {
		*sample = samples[(*index)++];
		if (sample->weight)
			return 1;
	}
	return 0;
}
