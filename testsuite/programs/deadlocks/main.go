// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait for locks and channels: deadlocks, and what only looks
// like one.
//
//	deadlocks MODE...
//
// The program prints who owns what and who waits for whom, and then waits for
// the end of its input.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// A Lock is a primitive whose holder is known.
type Lock struct {
	Addr  string `json:"addr"`
	Owner int    `json:"owner"` // a goroutine; 0: nobody, a lost Unlock
	Exact bool   `json:"exact"` // the runtime tells
}

// A Name is what a lock is called by the variable that has it or leads to it.
type Name struct {
	Addr  string   `json:"addr"`
	Names []string `json:"names"` // one of them
}

var truth struct {
	sync.Mutex
	Deadlocks [][]int `json:"deadlocks"` // goroutines of each
	Locks     []Lock  `json:"locks"`
	Blocked   []int   `json:"blocked"` // wait, but in no cycle
	Names     []Name  `json:"names"`
	Heads     []int   `json:"heads"` // keep others waiting, through channels
}

// self is the number of the goroutine that calls it.
func self() int { return int(goid()) }

// owns notes that the caller holds the lock at p.
func owns(p unsafe.Pointer) { note(p, self(), false) }

// ownsExactly does so for what the runtime itself tells.
func ownsExactly(p unsafe.Pointer) { note(p, self(), true) }

// lost notes that nobody holds the lock at p.
func lost(p unsafe.Pointer) { note(p, 0, false) }

func note(p unsafe.Pointer, owner int, exact bool) {
	truth.Lock()
	truth.Locks = append(truth.Locks,
		Lock{fmt.Sprintf("%#x", uintptr(p)), owner, exact})
	truth.Unlock()
}

func addBlocked(id int) {
	truth.Lock()
	truth.Blocked = append(truth.Blocked, id)
	truth.Unlock()
}

// deadlocked notes a cycle of goroutines.
func deadlocked(ids []int) {
	truth.Lock()
	truth.Deadlocks = append(truth.Deadlocks, ids)
	truth.Unlock()
}

// A barrier lets n goroutines go when all have come.
func barrier(n int) func() {
	var group sync.WaitGroup
	group.Add(n)
	return func() {
		group.Done()
		group.Wait()
	}
}

// blocked starts goroutines that will wait for a lock.
func blocked(n int, lock func()) {
	for i := 0; i < n; i++ {
		go func() {
			addBlocked(self())
			lock()
		}()
	}
}

var stacks [4 << 20]byte

// settle sleeps, and again until all others wait, but for those that compute for
// ever: on a busy machine some run late. It gives up after a while.
func settle(pause time.Duration) {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		time.Sleep(pause)
		text := string(stacks[:runtime.Stack(stacks[:], true)])
		running := 0
		for _, one := range strings.Split(text, "\n\n") {
			head, _, _ := strings.Cut(one, "\n")
			if strings.Contains(head, "[runn") &&
				!strings.Contains(one, "created by main.computes") {
				running++
			}
		}
		if running == 1 {
			return
		}
	}
}

var modes = map[string]func(){}

func main() {
	for _, name := range os.Args[1:] {
		start := modes[name]
		if start == nil {
			fmt.Fprintln(os.Stderr, "no such mode:", name)
			os.Exit(2)
		}
		start()
	}
	// Whoever has to block has done so by then.
	settle(300 * time.Millisecond)
	truth.Lock()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held":      map[string]any{},
		"places":    map[string]string{},
		"deadlocks": truth.Deadlocks,
		"locks":     truth.Locks,
		"blocked":   truth.Blocked,
		"names":     truth.Names,
		"heads":     truth.Heads,
	})
	truth.Unlock()
	io.Copy(io.Discard, os.Stdin)
}
