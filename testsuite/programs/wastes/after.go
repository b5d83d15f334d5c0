// SPDX-License-Identifier: Apache-2.0

//go:build go1.21

package main

import "context"

// addAfterFuncs lets the cancellation of parent call functions. They are held
// by parent alone, and so is a context with such a function, but neither is
// waste.
func addAfterFuncs() {
	for i := 0; i < planted; i++ {
		context.AfterFunc(parent, addAfterFuncs)
		child, _ := context.WithCancel(parent)
		context.AfterFunc(child, addAfterFuncs)
	}
}

func afterFunc(ctx context.Context, f func()) {
	context.AfterFunc(ctx, f)
}
