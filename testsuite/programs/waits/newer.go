// SPDX-License-Identifier: Apache-2.0

//go:build go1.23

package main

import "iter"

// startNewer begins a coroutine that waits for a channel, and a goroutine that
// waits for the coroutine.
func startNewer() {
	hold := make(chan int)
	next, _ := iter.Pull(func(yield func(int) bool) {
		<-hold
		yield(1)
	})
	start("coroutine", []Wait{{Kind: "coroutine", Address: "0x0"}}, nil,
		func() { next() })
}
