// SPDX-License-Identifier: Apache-2.0

//go:build go1.24

package main

import (
	"runtime"
	"sync/atomic"
)

// Loop is what a cleanup needs, and leads back to the object of the cleanup.
type Loop struct {
	handle *Handle
}

func cleanups(what string) bool {
	switch what {
	case "cleanups":
		aside(func() {
			for i := 0; i < handles; i++ {
				h := &Handle{id: i}
				runtime.AddCleanup(h, func(*[1024]uint64) {
					atomic.AddInt32(&entered, 1)
					mutex.Lock()
					mutex.Unlock()
				}, new([1024]uint64))
			}
		})
		runtime.GC()
		waitEntered()
	case "cleanup-cycle":
		aside(func() {
			for i := 0; i < rings; i++ {
				h := &Handle{new([1024]uint64), i}
				runtime.AddCleanup(h, func(*Loop) {}, &Loop{h})
			}
		})
		runtime.GC()
	default:
		return false
	}
	return true
}
