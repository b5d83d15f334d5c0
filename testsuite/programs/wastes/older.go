// SPDX-License-Identifier: Apache-2.0

//go:build !go1.24

package main

import "runtime"

// addCleanup is a finalizer here: there is no runtime.AddCleanup.
func addCleanup(handle *Handle, part *Part) {
	closeWith(handle, part)
}

// addAnother does nothing: an object has one finalizer.
func addAnother(*Handle, *Part) {}

// addCleanupBack is a finalizer whose closure leads back to the loop.
func addCleanupBack(loop *Loop, back *Back) {
	runtime.SetFinalizer(loop, func(*Loop) {
		block(&finalizer, "main.addCleanupBack.func1")
		back.loop.id++
	})
}

// keepWeakly does nothing: there are no weak pointers.
func keepWeakly(*Loop) {}

// startCoroutine does nothing: there are no coroutines.
func startCoroutine(*order) {}
