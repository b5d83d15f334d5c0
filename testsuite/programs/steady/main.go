// SPDX-License-Identifier: Apache-2.0

// A program that checks itself while it works: goroutines that hash, hand over
// by channels and by pipes, sleep, allocate and collect, and compare all that
// comes out with what must. Any wrong result ends it with status 3.
//
// "status" on standard input is answered by one line of JSON: the rounds done,
// and the SIGCHLD signals seen; "run N" first runs N other programs, and counts
// all of their signals.
package main

import (
	"hash/crc32"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

type Link struct {
	Next *Link
	Name string
}

var (
	chain   *Link
	rounds  uint64
	signals uint64
	block   []byte
	sum     uint32
)

func fail(what string) {
	os.Stderr.WriteString(what + "\n")
	os.Exit(3)
}

func hash() {
	for {
		if crc32.ChecksumIEEE(block) != sum {
			fail("a wrong checksum")
		}
		atomic.AddUint64(&rounds, 1)
	}
}

// count sends numbers around a ring: each must come back as it went.
func count(ring int) {
	first := make(chan int)
	last := first
	for i := 0; i < ring; i++ {
		next := make(chan int)
		go func(from, to chan int) {
			for n := range from {
				to <- n + 1
			}
		}(last, next)
		last = next
	}
	for n := 0; ; n++ {
		first <- n
		if got := <-last; got != n+ring {
			fail("a wrong number: " + strconv.Itoa(got))
		}
		atomic.AddUint64(&rounds, 1)
	}
}

// echo passes bytes through a pipe with system calls that block a thread.
func echo() {
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		fail(err.Error())
	}
	go func() {
		for n := byte(0); ; n++ {
			if k, err := syscall.Write(ends[1], []byte{n}); k != 1 {
				fail("write: " + err.Error())
			}
			time.Sleep(50 * time.Microsecond)
		}
	}()
	for n := byte(0); ; n++ {
		var got [1]byte
		k, err := syscall.Read(ends[0], got[:])
		for err == syscall.EINTR {
			k, err = syscall.Read(ends[0], got[:])
		}
		if k != 1 || got[0] != n {
			fail("a wrong byte")
		}
		atomic.AddUint64(&rounds, 1)
	}
}

// nap must never be woken early.
func nap() {
	for {
		begin := time.Now()
		time.Sleep(3 * time.Millisecond)
		if time.Since(begin) < 3*time.Millisecond {
			fail("a sleep too short")
		}
		atomic.AddUint64(&rounds, 1)
	}
}

// rest keeps a thread in a futex wait at all times: no other goroutine runs in
// it. A snapshot whose helper is killed harms a thread in another system call.
func rest() {
	runtime.LockOSThread()
	select {}
}

// build makes a list, lets it be collected beside others, and counts it.
func build() {
	for {
		var list *Link
		for i := 0; i < 5000; i++ {
			list = &Link{list, strconv.Itoa(i)}
		}
		if atomic.LoadUint64(&rounds)%16 == 0 {
			runtime.GC()
		}
		for i := 4999; i >= 0; i-- {
			if list.Name != strconv.Itoa(i) {
				fail("a wrong link: " + list.Name)
			}
			list = list.Next
		}
		atomic.AddUint64(&rounds, 1)
	}
}

func run(times int) {
	for i := 0; i < times; i++ {
		out, err := exec.Command("/bin/echo", "hello").Output()
		if err != nil || string(out) != "hello\n" {
			fail("a child failed")
		}
	}
}

func readLine() string {
	var line []byte
	var one [1]byte
	for {
		n, err := os.Stdin.Read(one[:])
		if n != 1 || err != nil {
			os.Exit(0)
		}
		if one[0] == '\n' {
			return string(line)
		}
		line = append(line, one[0])
	}
}

// countSignals counts the signals that have come, until a later one of ours: the
// runtime hands over those that wait in the order of their numbers.
func countSignals(seen <-chan os.Signal, counted chan<- bool) {
	for one := range seen {
		if one == syscall.SIGWINCH {
			counted <- true
		} else {
			atomic.AddUint64(&signals, 1)
		}
	}
}

func main() {
	for i := 0; i < 20000; i++ {
		chain = &Link{chain, "link " + strconv.Itoa(i)}
	}
	block = make([]byte, 4096)
	for i := range block {
		block[i] = byte(i * i)
	}
	sum = crc32.ChecksumIEEE(block)
	seen := make(chan os.Signal, 1024)
	counted := make(chan bool)
	signal.Notify(seen, syscall.SIGCHLD, syscall.SIGWINCH)
	go countSignals(seen, counted)
	known("chain", 40000, 0)
	tell()
	go rest()
	for i := 0; i < 30; i++ {
		go nap()
	}
	for i := 0; i < 3; i++ {
		go count(10)
		go echo()
		go build()
	}
	go hash()
	for {
		words := strings.Fields(readLine())
		if words[0] == "run" {
			times, _ := strconv.Atoi(words[1])
			run(times)
			syscall.Kill(os.Getpid(), syscall.SIGWINCH)
			<-counted
		}
		os.Stdout.WriteString(`{"rounds": ` +
			strconv.FormatUint(atomic.LoadUint64(&rounds), 10) +
			`, "signals": ` +
			strconv.FormatUint(atomic.LoadUint64(&signals), 10) +
			"}\n")
	}
}
