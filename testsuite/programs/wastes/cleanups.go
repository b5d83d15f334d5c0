// SPDX-License-Identifier: Apache-2.0

//go:build go1.24

package main

import (
	"runtime"
	"weak"
)

var keptWeakly []weak.Pointer[Loop]

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

// addCleanupBack gives a loop a cleanup that leads back to it.
func addCleanupBack(loop *Loop, back *Back) {
	runtime.AddCleanup(loop, cleanUpBack, back)
}

// keepWeakly lets the program get at a loop that nothing holds.
func keepWeakly(loop *Loop) {
	keptWeakly = append(keptWeakly, weak.Make(loop))
}
