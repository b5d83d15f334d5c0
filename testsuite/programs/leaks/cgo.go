// SPDX-License-Identifier: Apache-2.0

package main

// #include <unistd.h>
// static void hang(void) { for (;;) pause(); }
import "C"

func init() {
	newer = append(newer, func() {
		called := make(chan int)
		begin("in C", 1, 0, func() { ready(); C.hang(); called <- 1 })
		begin("by a call of C", 2, 0, func() { ready(); <-called })
	})
}
