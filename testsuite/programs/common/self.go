// SPDX-License-Identifier: Apache-2.0

// Several test programs ask the runtime and the kernel about themselves. This
// file imports no package that truth.go does not bring, so that programs that
// do not call it stay as they are.
package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// goid is the number of the goroutine that calls it.
func goid() uint64 {
	var buffer [64]byte
	text := string(buffer[:runtime.Stack(buffer[:], false)])
	id, err := strconv.ParseUint(strings.Fields(text)[1], 10, 64)
	check(err)
	return id
}

// allParked waits until no goroutine but this one runs or could run. It returns
// the stacks of all.
func allParked() string {
	buffer := make([]byte, 1<<20)
	for {
		time.Sleep(10 * time.Millisecond)
		text := string(buffer[:runtime.Stack(buffer, true)])
		if strings.Count(text, "[runn") == 1 {
			return text
		}
	}
}

// forbidHugePages keeps the kernel (khugepaged) from making huge pages of parts
// that the program has not touched: they would become resident at any time,
// also while the process stands.
func forbidHugePages() {
	const prSetTHPDisable = 41
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetTHPDisable, 1,
		0, 0, 0, 0)
	if errno != 0 {
		panic(errno)
	}
}

// waitToEnd tells an empty truth and waits for the end of the input. What the
// runtime prints from then on goes to a file in the folder of the program.
func waitToEnd() {
	os.Stdout.WriteString("{\"held\": {}, \"places\": {}}\n")
	for n := 1; n > 0; {
		n, _ = syscall.Read(0, waitBuffer[:])
	}
	file, err := os.Create("stderr")
	if err == nil {
		err = syscall.Dup3(int(file.Fd()), 2, 0)
	}
	if err != nil {
		os.Exit(1)
	}
}

func heapAlloc() uint64 {
	collect()
	return truthStats.HeapAlloc
}

// restForFalls ends what the runtime keeps for two more collections. Each P has
// wait records of its own.
func restForFalls() {
	runtime.GOMAXPROCS(1)
	for i := 0; i < 4; i++ {
		collect()
	}
}

// fallOf is the fall of the heap after clear: what the collection behind it
// frees, beyond what one before it does.
//
//go:noinline
func fallOf(clear func()) uint64 {
	before := heapAlloc()
	still := heapAlloc()
	clear()
	return still - heapAlloc() - (before - still)
}

// tellFalls prints count falls, each with the name of its field, as one line of
// JSON.
func tellFalls(count int, of func(i int) (string, uint64)) {
	line := append(truthLine[:0], "{"...)
	for i := 0; i < count; i++ {
		if i > 0 {
			line = append(line, ", "...)
		}
		name, fall := of(i)
		line = strconv.AppendQuote(line, name)
		line = append(line, ": "...)
		line = strconv.AppendUint(line, fall, 10)
	}
	writeLine(append(line, "}\n"...))
}
