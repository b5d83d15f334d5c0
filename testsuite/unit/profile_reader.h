/* SPDX-License-Identifier: Apache-2.0 */
/** profile_reader: reads a profile back with protobuf-c. */
#pragma once

#include "profile_fixture.h"

#include <zlib.h>

#include "proto/profile.pb-c.h"

/** The profile in a file, for gr__pprof__profile__free_unpacked(). */
static inline Gr__Pprof__Profile *read_profile(const char *path)
{
	gzFile gz = gzopen(path, "rb");
	size_t size = 0, capacity = 1 << 24;
	uint8_t *data = malloc(capacity);
	int n;

	assert_non_null(gz);
	assert_non_null(data);
	while ((n = gzread(gz, data + size, 65536)) > 0) {
		size += (size_t)n;
		assert_true(size + 65536 < capacity);
	}
	assert_int_equal(gzclose(gz), Z_OK);
	Gr__Pprof__Profile *p = gr__pprof__profile__unpack(NULL, size, data);
	free(data);
	assert_non_null(p);
	return p;
}
