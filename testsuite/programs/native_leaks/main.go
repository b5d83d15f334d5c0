// SPDX-License-Identifier: Apache-2.0

// C blocks that nothing holds any more, of six kinds and more, and blocks that
// C and Go hold in each kind of place. The program prints the address and the
// bytes of each, by kind, and waits for the end of its input.
//
//	native_leaks [LIBRARY [other | both]]
//
// LIBRARY is a shared library with a variable `held_by_library', or "". With
// other, malloc() is not that of glibc. With both, blocks of C are by turns
// those of glibc and of another allocator.
package main

/*
#cgo CFLAGS: -O1 -g
#cgo LDFLAGS: -lpthread -ldl
#include <stdlib.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#else
static const char *gnu_get_libc_version(void)
{
	return "";
}
#endif
#include "plant.h"
#include "record.h"

static const char *kind_of(_GoString_ name)
{
	return kept_name(_GoStringPtr(name), _GoStringLen(name));
}
*/
import "C"

import (
	"encoding/json"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"unsafe"
)

func init() {
	runtime.LockOSThread() // main() runs on the main thread
}

// kind is the name of a kind in C, which no block of C holds.
func kind(name string) *C.char {
	return C.kind_of(name)
}

// apart runs it on a stack that is gone afterwards.
func apart(run func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	<-done
}

type blocks map[string]json.RawMessage

// told gives the rows [address, bytes] of each kind. An address is never a
// number in memory here: it would hold the block.
func told() map[C.enum_fate]blocks {
	all := map[C.enum_fate]blocks{C.LEAKED: {}, C.HELD: {}, C.FREED: {}}
	for i := C.long(0); i < C.record_count(); i++ {
		row := C.record_at(i)
		kind := C.GoString(row.kind)
		rows := all[row.fate][kind]
		if rows == nil {
			rows = append(rows, '[')
		} else {
			rows[len(rows)-1] = ','
		}
		rows = append(rows, '[')
		rows = strconv.AppendUint(rows, ^uint64(row.hidden), 10)
		rows = append(rows, ',')
		rows = strconv.AppendUint(rows, uint64(row.bytes), 10)
		all[row.fate][kind] = append(rows, "]]"...)
	}
	return all
}

// ofGlibc gives the addresses of the blocks of glibc.
func ofGlibc() json.RawMessage {
	rows := []byte("[0")
	for i := C.long(0); i < C.record_count(); i++ {
		row := C.record_at(i)
		if row.is_glibc != 0 {
			rows = append(rows, ',')
			rows = strconv.AppendUint(rows, ^uint64(row.hidden), 10)
		}
	}
	return append(rows, ']')
}

func argument(i int) string {
	if i < len(os.Args) {
		return os.Args[i]
	}
	return ""
}

func plant() {
	mode := C.CString(argument(2))
	C.choose_mode(mode)
	C.free(unsafe.Pointer(mode))
	library := C.CString(argument(1))
	C.hold_blocks(library)
	C.free(unsafe.Pointer(library))
	C.hold_unusually()
	apart(holdByGo)
	apart(holdBehindC)
	holdByGoroutine()
	C.lose_blocks()
	apart(loseByGo)
	apart(loseBeside)
	apart(loseWithSlice)
	apart(loseBehindC)
	waitInC()
	C.free_blocks()
}

func main() {
	debug.SetGCPercent(-1) // what is dead stays in the arena
	plant()
	all := told()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"glibc":  C.GoString(C.gnu_get_libc_version()),
		"leaked": all[C.LEAKED],
		"kept":   all[C.HELD],
		"freed":  all[C.FREED]["freed"],
		"by_c":   objectsByC,
		"dead":   deadObject,

		"of_glibc": ofGlibc(),
	})
	io.Copy(io.Discard, os.Stdin)
}
