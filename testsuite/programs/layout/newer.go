// SPDX-License-Identifier: Apache-2.0

//go:build go1.24

package main

import (
	"iter"
	"runtime"
	"unique"
	"weak"
)

var (
	handle weak.Pointer[Value]
	name   = unique.Make("name")
)

func newer() {
	value := &Value{"weak"}
	handle = weak.Make(value)
	next, stop := iter.Pull(func(yield func(int) bool) { yield(1) })
	next()
	stop()
	runtime.AddCleanup(value, func(int) {}, 1)
}
