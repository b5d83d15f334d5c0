// SPDX-License-Identifier: Apache-2.0

//go:build go1.24

package main

import (
	"iter"
	"runtime"
	"weak"
)

var (
	keptWeakly []weak.Pointer[Loop]
	nexts      []func() (byte, bool)
)

//go:noinline
func cleanUp(*Part) {
	block(&cleanup, "main.cleanUp")
}

//go:noinline
func cleanUpBack(*Back) {
	block(&cleanup, "main.cleanUpBack")
}

// addCleanup gives a handle a cleanup that needs a part.
func addCleanup(handle *Handle, part *Part) {
	runtime.AddCleanup(handle, cleanUp, part)
}

// addAnother gives a cleanup to a handle that may have a finalizer, too.
func addAnother(handle *Handle, part *Part) {
	addCleanup(handle, part)
}

// addCleanupBack gives a loop a cleanup that leads back to it.
func addCleanupBack(loop *Loop, back *Back) {
	runtime.AddCleanup(loop, cleanUpBack, back)
}

// keepWeakly lets the program get at a loop that nothing holds.
func keepWeakly(loop *Loop) {
	keptWeakly = append(keptWeakly, weak.Make(loop))
}

// startCoroutine starts one that needs its stack once.
func startCoroutine(o *order) {
	next, _ := iter.Pull(func(yield func(byte) bool) {
		yield(dive(o, o.depth))
	})
	next()
	nexts = append(nexts, next)
}
