// SPDX-License-Identifier: Apache-2.0

// The leak that everyone has once: goroutines that wait to send, and nobody
// receives. What they offer is a temporary, which has no name.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

const (
	count = 50
	each  = 4 // objects: an Offer, its text, its buffer, the next Offer
)

type Offer struct {
	Name string
	Buf  []byte
	Next *Offer
}

type Pair struct {
	Id    int
	Offer *Offer
}

func newOffer(i int) *Offer {
	return &Offer{
		Name: fmt.Sprintf("the offer with the number %d", i),
		Buf:  make([]byte, 500),
		Next: &Offer{},
	}
}

//go:noinline
func sendPointer(c chan *Offer, i int) { c <- newOffer(i) }

//go:noinline
func sendPair(c chan Pair, i int) { c <- Pair{i, newOffer(i)} }

//go:noinline
func sendAny(c chan any, i int) { c <- newOffer(i) }

//go:noinline
func selectOne(c chan *Offer, done chan int, i int) {
	select {
	case c <- newOffer(i):
	case <-done:
	}
}

func main() {
	pointers, others := make(chan *Offer), make(chan *Offer)
	pairs, anys := make(chan Pair), make(chan any)
	done := make(chan int)
	for i := 0; i < count; i++ {
		go sendPointer(pointers, i)
		go sendPair(pairs, i)
		go sendAny(anys, i)
		go selectOne(others, done, i)
	}
	for {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		time.Sleep(100 * time.Millisecond)
		allocated := stats.Mallocs
		runtime.ReadMemStats(&stats)
		if stats.Mallocs-allocated < 20 {
			break
		}
	}
	runtime.GC()
	runtime.GC()
	held := map[string]map[string]int{}
	for _, name := range []string{
		"sendPointer", "sendPair", "sendAny", "selectOne",
	} {
		held["main."+name+".$send"] = map[string]int{
			"objects": count * each,
		}
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": held, "places": map[string]string{},
	})
	io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(pointers)
}
