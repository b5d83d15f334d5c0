// SPDX-License-Identifier: Apache-2.0

//go:build go1.24

package main

import (
	"time"
	"weak"
)

func init() { modes["weak"] = byWeakPointer }

type letter struct{ values chan int }

//go:noinline
func (l *letter) swap(other chan int) {
	l.values <- <-other
}

//go:noinline
func (l *letter) answer(other chan int) {
	other <- <-l.values
}

// byWeakPointer has two goroutines that wait for each other, and one that sends
// to one of them by a weak pointer.
func byWeakPointer() {
	l, other := &letter{make(chan int)}, make(chan int)
	go l.swap(other)
	go l.answer(other)
	w := weak.Make(l)
	go func() {
		time.Sleep(time.Hour)
		if l := w.Value(); l != nil {
			l.values <- 1
		}
	}()
}
