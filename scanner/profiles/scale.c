// SPDX-License-Identifier: Apache-2.0
#include "profiles/scale.h"

#include <math.h>
#include <stddef.h>

enum {
	/* From here on, 1 - exp(x) is 1. */
	LEAST_EXPONENT = -40,
	HALVINGS =
		4, /* of the argument, by each of which it becomes a square */
};

/* exp() of a negative number as Go has it on amd64; that of libc may differ in
 * the last bit. Source: math/exp_amd64.s, with the fused operations that all
 * processors with AVX2 have. */
static double go_exp(double x)
{
	static const double log2_e = 1.4426950408889634073599246810018920;
	static const double ln2_upper =
		0.69314718055966295651160180568695068359375;
	static const double ln2_lower =
		0.28235290563031577122588448175013436025525412068e-12;
	static const double taylor[] = {
		1.9841269841269841270e-4,
		1.3888888888888888889e-3,
		8.3333333333333333333e-3,
		4.1666666666666666667e-2,
		1.6666666666666666667e-1,
		0.5,
		1.0,
	};
	double sum = 2.4801587301587301587e-5;

	if (x < LEAST_EXPONENT)
		return 0;
	double exponent = nearbyint(x * log2_e);
	x = fma(-exponent, ln2_upper, x);
	x = fma(-exponent, ln2_lower, x);
	x *= 1.0 / (1 << HALVINGS);
	for (size_t i = 0; i < sizeof(taylor) / sizeof(*taylor); i++)
		sum = fma(sum, x, taylor[i]);
	x *= sum; // exp(x) - 1
	for (int i = 1; i < HALVINGS; i++)
		x *= x + 2;
	return ldexp(fma(x, x + 2, 1), (int)exponent);
}

/* An integer as Go's conversion has it on amd64, also of what is too large. */
static int64_t to_integer(double value)
{
	return fabs(value) < 0x1p63 ? (int64_t)value : INT64_MIN;
}

/* Integers wrap around as they do in Go. */
static int64_t multiply(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

void gr_scale_memory(int64_t objects, uint64_t object_bytes, int64_t rate,
		     int64_t values[static 2])
{
	int64_t bytes = multiply(objects, (int64_t)object_bytes);

	values[0] = bytes ? objects : 0;
	values[1] = bytes;
	if (!bytes || rate <= 1)
		return;
	double scale = 1 / (1 - go_exp(-(double)object_bytes / (double)rate));
	values[0] = to_integer((double)objects * scale);
	values[1] = to_integer((double)bytes * scale);
}

void gr_scale_contentions(const struct gr_contention_scale *scale,
			  int64_t count, int64_t ticks,
			  int64_t values[static 2])
{
	double ns = (double)ticks;

	if (scale->ticks_per_second)
		ns /= (double)scale->ticks_per_second / 1e9;
	values[0] = multiply(count, scale->mutex_rate);
	values[1] = to_integer(ns * (double)scale->mutex_rate);
}
