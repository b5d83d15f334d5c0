// SPDX-License-Identifier: Apache-2.0

//go:build go1.24

package main

import (
	"runtime"
	"weak"
)

var handle weak.Pointer[Value]

func newer() {
	value := &Value{"weak"}
	handle = weak.Make(value)
	runtime.AddCleanup(value, func(int) {}, 1)
}
