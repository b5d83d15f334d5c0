// SPDX-License-Identifier: Apache-2.0

// Coroutines (iter.Pull), and a bubble of testing/synctest where there is one.
package main

import (
	"encoding/json"
	"iter"
	"os"
	"time"
)

var truth = map[string]uint64{}

var (
	never = make(chan int)
	began = make(chan bool)
)

// blocked has a caller that waits for a coroutine, which waits for a channel.
func blocked(caller, callee string) {
	go func() {
		truth[caller] = goid()
		next, stop := iter.Pull(func(yield func(int) bool) {
			truth[callee] = goid()
			yield(1)
			began <- true
			<-never
		})
		defer stop()
		next()
		next()
	}()
	<-began
}

// yielded has a coroutine that waits to be asked for its next value.
func yielded() {
	go func() {
		next, stop := iter.Pull(func(yield func(int) bool) {
			truth["yielded"] = goid()
			yield(1)
		})
		defer stop()
		next()
		began <- true
		<-never
	}()
	<-began
}

func sayNow() {
	line, err := json.Marshal(truth)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(line, '\n'))
	os.Stdin.Read(make([]byte, 1))
}

func main() {
	blocked("caller", "callee")
	blocked("second caller", "second callee")
	yielded()
	time.Sleep(100 * time.Millisecond)
	finish()
}
