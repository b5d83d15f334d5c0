// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

/*
#include <stdatomic.h>
#include <unistd.h>

static atomic_int entered;

static void sleep_forever(void)
{
	entered++;
	for (;;)
		pause();
}

static int how_many(void)
{
	return entered;
}
*/
import "C"

import "time"

// inC has all goroutines in C, each on a thread.
func inC() {
	const callers = 6
	for i := 0; i < callers; i++ {
		go func() { C.sleep_forever() }()
	}
	for C.how_many() != callers {
		time.Sleep(time.Millisecond)
	}
	truth.Calls = callers
	say()
	C.sleep_forever()
}
