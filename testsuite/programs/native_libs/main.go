// SPDX-License-Identifier: Apache-2.0

// A service that works with libraries of C: it opens databases, compresses and
// encrypts. Some of its sessions stay open. The program prints what it has open
// and what it has lost, by library, and waits for the end of its input.
//
//	native_libs [leak]
//
// With leak, sessions are dropped that were not closed.
package main

/*
#cgo CFLAGS: -O1 -g
#include <gnu/libc-version.h>
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

const (
	opened  = 4  // sessions that stay open
	dropped = 12 // sessions that are lost
	closed  = 20 // sessions that end well, before and after these
)

func init() {
	runtime.LockOSThread() // main() runs on the main thread
}

// A library opens a session, which has objects of C of several kinds. What
// close does not end stays in the memory of C.
type library interface {
	name() string
	open() session
}

type session interface {
	objects() map[string]unsafe.Pointer
	close()
}

var libraries = []library{sqliteLibrary{}, zstdLibrary{}, opensslLibrary{}}

var sessions []session

// An object is told by the complement of its address: a number in memory would
// hold the block.
type object struct {
	kind   string
	hidden uintptr
}

func objectsOf(one session) []object {
	var found []object
	for kind, pointer := range one.objects() {
		found = append(found, object{kind, ^uintptr(pointer)})
	}
	return found
}

func text(all []object) json.RawMessage {
	line := []byte("[")
	for i, one := range all {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(line, '[')
		line = strconv.AppendQuote(line, one.kind)
		line = append(line, ',')
		line = strconv.AppendUint(line, ^uint64(one.hidden), 10)
		line = append(line, ']')
	}
	return append(line, ']')
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

func work(from library) {
	for i := 0; i < closed; i++ {
		from.open().close()
	}
}

func main() {
	debug.SetGCPercent(-1) // what is dead stays in the arena
	leaks := len(os.Args) > 1 && os.Args[1] == "leak"
	kept, lost := map[string]any{}, map[string]any{}
	for _, from := range libraries {
		var keptHere, lostHere []object
		apart(func() {
			work(from)
			for i := 0; i < opened; i++ {
				one := from.open()
				keptHere = append(keptHere, objectsOf(one)...)
				sessions = append(sessions, one)
			}
			for i := 0; leaks && i < dropped; i++ {
				lostHere = append(lostHere, objectsOf(from.open())...)
			}
		})
		// The service goes on, so that the last one lost is forgotten.
		apart(func() { work(from) })
		kept[from.name()], lost[from.name()] = text(keptHere), text(lostHere)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"glibc":  C.GoString(C.gnu_get_libc_version()),
		"kept":   kept,
		"leaked": lost,
	})
	io.Copy(io.Discard, os.Stdin)
}
