// SPDX-License-Identifier: Apache-2.0

// A program that counts the signals that reach it, and its own rounds: a test
// sees whether one is lost, comes twice, or comes from nobody. Its heap has as
// many objects as the first argument says. With a second argument, its first
// thread ends: the process is then one with a zombie leader.
//
// Each line on standard input is answered by a line of JSON: the rounds, and
// the signals so far by their numbers. Those that the runtime sends itself
// (SIGURG) are left out.
package main

import (
	"encoding/json"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

type Link struct {
	Next *Link
	Name string
}

type Status struct {
	Rounds  uint64            `json:"rounds"`
	Signals map[string]uint64 `json:"signals"`
}

const mostSignals = 65

var (
	chain   *Link
	rounds  uint64
	signals [mostSignals]uint64
)

// One channel for each signal, with room: none is dropped.
func watch(number syscall.Signal) {
	came := make(chan os.Signal, 1000)
	signal.Notify(came, number)
	go func() {
		for range came {
			atomic.AddUint64(&signals[number], 1)
		}
	}()
}

func work() {
	for {
		atomic.AddUint64(&rounds, 1)
		time.Sleep(time.Millisecond)
	}
}

func status() Status {
	now := Status{atomic.LoadUint64(&rounds), map[string]uint64{}}
	for i := range signals {
		if n := atomic.LoadUint64(&signals[i]); n > 0 {
			now.Signals[strconv.Itoa(i)] = n
		}
	}
	return now
}

// main is locked to the first thread.
func init() {
	if len(os.Args) > 2 {
		runtime.LockOSThread()
	}
}

func serve() {
	answers := json.NewEncoder(os.Stdout)
	one := make([]byte, 1)
	for {
		n, err := syscall.Read(0, one)
		if err == syscall.EINTR {
			continue
		}
		if n != 1 || err != nil {
			os.Exit(0)
		}
		if one[0] == '\n' {
			answers.Encode(status())
		}
	}
}

func main() {
	reserve()
	count, _ := strconv.Atoi(os.Args[1])
	for i := 0; i < count/2; i++ {
		chain = &Link{chain, newString("link", i)}
	}
	known("chain", uint64(count/2*2), 0)
	for number := syscall.Signal(1); number < mostSignals; number++ {
		switch number {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGURG:
		default:
			watch(number)
		}
	}
	for i := 0; i < 4; i++ {
		go work()
	}
	tell()
	go serve()
	if len(os.Args) > 2 {
		// It is locked to the first thread, which ends here.
		syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	}
	select {}
}
