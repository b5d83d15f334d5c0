// SPDX-License-Identifier: Apache-2.0

// One of its threads waits in the kernel for a child, as after vfork(), and no
// tracer can stop it until the child ends. The program prints the child's
// number.
package main

import (
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const cloneVfork = 0x4000

// The child has a copy of the memory, and does nothing.
func waitForChild() {
	runtime.LockOSThread()
	flags := uintptr(cloneVfork | syscall.SIGCHLD)
	pid, _, _ := syscall.RawSyscall(syscall.SYS_CLONE, flags, 0, 0)
	for pid == 0 {
		syscall.RawSyscall(syscall.SYS_PAUSE, 0, 0, 0)
	}
}

func children() []int {
	found := []int{}
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		name := "/proc/self/task/" + thread.Name() + "/children"
		text, _ := os.ReadFile(name)
		for _, word := range strings.Fields(string(text)) {
			pid, _ := strconv.Atoi(word)
			found = append(found, pid)
		}
	}
	return found
}

func main() {
	go waitForChild()
	for len(children()) == 0 {
		time.Sleep(time.Millisecond)
	}
	truth := map[string]int{"child": children()[0]}
	json.NewEncoder(os.Stdout).Encode(truth)
	for {
		time.Sleep(time.Hour)
	}
}
