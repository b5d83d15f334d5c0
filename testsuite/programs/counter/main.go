// SPDX-License-Identifier: Apache-2.0

// Prints a rising number many times a second, so that a test sees whether the
// process goes on. Its heap is large enough (the argument, in objects) to
// interrupt a scan of it. With a file's name after "profile" it writes its own
// heap profile there instead, for the test of the tests' decoder.
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"
)

type Link struct {
	Next *Link
	Name string
}

var (
	chain *Link
	line  []byte
)

func writeProfile(name string) {
	file, err := os.Create(name)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if err := pprof.WriteHeapProfile(file); err != nil {
		panic(err)
	}
}

func main() {
	profile := len(os.Args) > 3 && os.Args[2] == "profile"
	if profile {
		runtime.MemProfileRate = 1
	}
	reserve()
	count := 1000
	if len(os.Args) > 1 {
		count, _ = strconv.Atoi(os.Args[1])
	}
	for i := 0; i < count/2; i++ {
		chain = &Link{chain, newString("link", i)}
	}
	if profile {
		runtime.GC()
		writeProfile(os.Args[3])
		return
	}
	known("chain", uint64(count/2*2), 0)
	line = make([]byte, 0, 32)
	tell()
	for n := int64(0); ; n++ {
		line = append(strconv.AppendInt(line[:0], n, 10), '\n')
		if _, err := syscall.Write(1, line); err != nil {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}
