// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

/*
#include <unistd.h>

static void close_handle(void)
{
	for (;;)
		pause();
}
*/
import "C"

import (
	"runtime"
	"sync/atomic"
)

func more(what string) {
	if what != "c" {
		if !cleanups(what) {
			panic(what)
		}
		return
	}
	queueFinalizers(func(h *Handle) {
		atomic.AddInt32(&entered, 1)
		C.close_handle()
		runtime.KeepAlive(h)
	})
}
