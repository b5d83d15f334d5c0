// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

// A build outside of a module has the timers of old releases, which a bubble
// refuses.
//
//go:debug asynctimerchan=0
package main

import (
	"iter"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func init() {
	newer = append(newer, func() {
		begin("pull", 2, 0, func() {
			next, stop := iter.Pull(func(yield func(int) bool) {
				yield(1)
				yield(2)
			})
			next()
			_ = stop
			ready()
			<-packageChannel
			next()
		})
		begin("pull and forget", 2, 0, func() {
			next, _ := iter.Pull(func(yield func(int) bool) {
				yield(1)
			})
			next()
			ready()
		})
		cleaned := make(chan int)
		object := new([100]byte)
		runtime.AddCleanup(object, func(c chan int) { close(c) }, cleaned)
		kept = []any{kept, object}
		begin("cleanup", 2, 0, func() { ready(); <-cleaned })
		begin("bubble", 1, 0, func() {
			testing.Main(
				func(_, _ string) (bool, error) { return true, nil },
				[]testing.InternalTest{{Name: "Bubble", F: bubble}},
				nil, nil,
			)
		})
	})
}

// bubble has goroutines that wait in it for ever: a test that hangs, no leak.
func bubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int)
		go func() { <-c }()
		go func() { <-make(chan int) }()
		go func() {
			time.Sleep(time.Hour)
			<-packageChannel
			close(c)
		}()
		synctest.Wait()
		ready()
		<-packageChannel
	})
}
