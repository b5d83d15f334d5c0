// SPDX-License-Identifier: Apache-2.0
package main

/*
#cgo LDFLAGS: -lzstd
#include <stdlib.h>
#include <zstd.h>

static void compress(ZSTD_CCtx *out, ZSTD_DCtx *in)
{
	static char plain[4096], packed[8192];
	size_t size = ZSTD_compressCCtx(out, packed, sizeof(packed), plain,
					sizeof(plain), 1);

	if (ZSTD_isError(size) ||
	    ZSTD_isError(ZSTD_decompressDCtx(in, plain, sizeof(plain), packed,
					     size)))
		abort();
}
*/
import "C"

import "unsafe"

type zstdLibrary struct{}

func (zstdLibrary) name() string { return "zstd" }

type zstdSession struct {
	out *C.ZSTD_CCtx
	in  *C.ZSTD_DCtx
}

func (zstdLibrary) open() session {
	one := &zstdSession{C.ZSTD_createCCtx(), C.ZSTD_createDCtx()}
	C.compress(one.out, one.in)
	return one
}

func (s *zstdSession) objects() map[string]unsafe.Pointer {
	return map[string]unsafe.Pointer{
		"ZSTD_CCtx": unsafe.Pointer(s.out),
		"ZSTD_DCtx": unsafe.Pointer(s.in),
	}
}

func (s *zstdSession) close() {
	C.ZSTD_freeCCtx(s.out)
	C.ZSTD_freeDCtx(s.in)
}
