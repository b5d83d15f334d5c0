// SPDX-License-Identifier: Apache-2.0

//go:build cgo

// A service that hangs in C.
package main

/*
#include <unistd.h>

static void wait_forever(void)
{
	for (;;)
		pause();
}
*/
import "C"

import (
	"sync"
	"time"
	"unsafe"
)

func init() { modes["incall"] = inCall }

type codec struct {
	mu    sync.Mutex
	pages int
}

//go:noinline
func (c *codec) decode(hangs bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hangs {
		owns(unsafe.Pointer(&c.mu))
		C.wait_forever()
	}
	c.pages++
}

var theCodec = &codec{}

// The library never returns, and all wait for the lock around its call.
func inCall() {
	go theCodec.decode(true)
	settle(50 * time.Millisecond)
	blocked(30, func() { theCodec.decode(false) })
}
