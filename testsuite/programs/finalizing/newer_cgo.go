// SPDX-License-Identifier: Apache-2.0

//go:build cgo && go1.24

package main

import (
	"runtime"
	"sync/atomic"
)

func init() {
	cleanConns = queueCleanups
}

// queueCleanups leaves cleanups with memory of C that only they need.
func queueCleanups() {
	aside(func() {
		for i := 0; i < handles; i++ {
			runtime.AddCleanup(&Handle{id: i}, func(conn *Conn) {
				atomic.AddInt32(&entered, 1)
				mutex.Lock()
				mutex.Unlock()
				runtime.KeepAlive(conn)
			}, newConn())
		}
	})
	runtime.GC()
	waitEntered()
}
