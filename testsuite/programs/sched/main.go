// SPDX-License-Identifier: Apache-2.0

// Programs whose scheduler has something to tell. Each ends in a loop that the
// runtime does not preempt (the test sets GODEBUG=asyncpreemptoff=1), so that
// nothing changes any more. The runtime prints its own view by
// GODEBUG=schedtrace=100,scheddetail=1.
//
//	sched WHAT
package main

import (
	"encoding/json"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Truth is what the program says of itself.
type Truth struct {
	Queued  int    `json:"queued"` // goroutines that can run, and do not
	Main    uint64 `json:"main"`
	Loop    uint64 `json:"loop"`
	Stopper uint64 `json:"stopper"`
	Locked  uint64 `json:"locked"`
	Calls   int    `json:"calls"` // threads that wait in read(2), or in C
}

var (
	truth   Truth
	counter int64
	stop    int32
	started int32
)

// inWords is the truth as a line of JSON.
func inWords() []byte {
	line, err := json.Marshal(truth)
	if err != nil {
		panic(err)
	}
	return append(line, '\n')
}

// write writes a line without leaving the P, as syscall.Write would. The runtime
// cannot let others run at its start, as at that of other functions.
//
//go:nosplit
func write(line []byte) {
	syscall.RawSyscall(syscall.SYS_WRITE, 1,
		uintptr(unsafe.Pointer(&line[0])), uintptr(len(line)))
}

func say() {
	write(inWords())
}

// loop runs until the end. It has no calls, and thus no place to be stopped at.
//
//go:noinline
func loop() {
	for stop == 0 {
		counter++
	}
}

func work() {
	atomic.AddInt64(&counter, 1)
}

// full has one P, which runs a loop, and more goroutines than its queue takes.
// A busy machine may let them run in between: then it tries again.
func full() {
	const queued = 300
	runtime.GOMAXPROCS(1)
	// A P that has not scheduled yet has tick 0, of which the runtime never
	// notes since when it is the same.
	runtime.Gosched()
	truth.Queued = queued
	line := inWords()
	for {
		atomic.StoreInt64(&counter, 0)
		for i := 0; i < queued; i++ {
			go work()
		}
		if atomic.LoadInt64(&counter) == 0 {
			break
		}
		for atomic.LoadInt64(&counter) != queued {
			runtime.Gosched()
		}
	}
	write(line)
	loop()
}

// stopping has a goroutine that collects, and one that never stops for it.
func stopping() {
	runtime.GOMAXPROCS(2)
	go func() {
		truth.Loop = goid()
		atomic.StoreInt32(&started, 1)
		loop()
	}()
	for atomic.LoadInt32(&started) == 0 {
		runtime.Gosched()
	}
	truth.Stopper = truth.Main
	say()
	runtime.GC()
}

// calls has threads in system calls, and one that a goroutine has locked.
func calls() {
	const readers = 3
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	for i := 0; i < readers; i++ {
		go func() {
			atomic.AddInt32(&started, 1)
			syscall.Read(pipe[0], make([]byte, 1))
		}()
	}
	locked := make(chan uint64)
	go func() {
		runtime.LockOSThread()
		locked <- goid()
		select {}
	}()
	truth.Locked = <-locked
	for atomic.LoadInt32(&started) != readers {
		runtime.Gosched()
	}
	truth.Calls = readers
	say()
	os.Stdin.Read(make([]byte, 1))
}

func main() {
	truth.Main = goid()
	switch os.Args[1] {
	case "full":
		full()
	case "stopping":
		stopping()
	case "calls":
		calls()
	case "inC":
		inC()
	}
}
