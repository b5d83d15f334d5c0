// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package main

import (
	"bytes"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
)

// inBubble has a goroutine of a bubble that waits for a channel of it.
func inBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := make(chan int)
		go func() {
			truth["in a bubble"] = goid()
			buf := make([]byte, 256)
			buf = buf[:runtime.Stack(buf, false)]
			found := regexp.MustCompile(`synctest bubble (\d+)`).FindSubmatch(
				bytes.SplitN(buf, []byte("\n"), 2)[0])
			truth["bubble"], _ = strconv.ParseUint(string(found[1]), 10, 64)
			<-own
		}()
		synctest.Wait()
		sayNow()
	})
}

func finish() {
	os.Args = os.Args[:1]
	testing.Main(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "bubble", F: inBubble}}, nil, nil)
}
