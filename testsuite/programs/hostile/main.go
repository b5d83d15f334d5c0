// SPDX-License-Identifier: Apache-2.0

// Names that a page must take for text: types with the tags of their fields,
// keys of maps, and labels of goroutines. Two goroutines wait for each other by
// locks that a map leads to. The program prints what must not leave it as a
// name, and what may.
package main

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

const key = `secret-key"><img src=x onerror=pwned()>`
const label = `secret-label</script><script>pwned()</script>`

type account struct {
	mu      sync.Mutex
	history []*entry
}

type entry struct {
	text [256]byte
}

type box[T any] struct {
	next  *box[T]
	value T
}

type tagged = struct {
	ID int "</script><script>pwned()</script><!--\u202e\x01"
}

var (
	accounts = map[string]*account{}
	boxes    *box[tagged]
)

//go:noinline
func transfer(from, to *account, ready *sync.WaitGroup) {
	from.mu.Lock()
	defer from.mu.Unlock()
	ready.Done()
	ready.Wait()
	to.mu.Lock()
	defer to.mu.Unlock()
}

func fill() {
	for _, name := range []string{key, "secret-other"} {
		a := &account{}
		for i := 0; i < 8000; i++ {
			a.history = append(a.history, &entry{})
		}
		accounts[name] = a
	}
	for i := 0; i < 1000; i++ {
		boxes = &box[tagged]{boxes, tagged{i}}
	}
}

func main() {
	fill()
	var ready sync.WaitGroup
	ready.Add(2)
	one, other := accounts[key], accounts["secret-other"]
	labels := pprof.Labels("customer", label)
	pprof.Do(context.Background(), labels, func(context.Context) {
		go transfer(one, other, &ready)
		go transfer(other, one, &ready)
	})
	ready.Wait()
	time.Sleep(50 * time.Millisecond)
	runtime.GC()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"key": key, "label": label, "entries": 16000, "boxes": 1000,
	})
	for {
		time.Sleep(time.Hour)
	}
}
