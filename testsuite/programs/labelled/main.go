// SPDX-License-Identifier: Apache-2.0

// Goroutines with labels of runtime/pprof: none, a few, more than a bucket of a
// map holds, inherited ones, texts of all kinds, and a pointer that a library
// stores in their place. The program prints the labels by goroutine.
package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"
)

//go:linkname setLabels runtime/pprof.runtime_setProfLabel
func setLabels(labels unsafe.Pointer)

// A library keeps one for each goroutine.
type session struct {
	number uint64
	owner  *session
	open   bool
}

var (
	mutex  sync.Mutex
	truth  = map[int]map[string]string{}
	silent = make(chan int)
	own    = &session{number: 1 << 40}
)

func tellAndWait(labels map[string]string) {
	mutex.Lock()
	truth[int(goid())] = labels
	mutex.Unlock()
	<-silent
}

func flat(labels map[string]string) []string {
	var all []string
	for key, value := range labels {
		all = append(all, key, value)
	}
	return all
}

func start(labels map[string]string) {
	go pprof.Do(context.Background(), pprof.Labels(flat(labels)...),
		func(context.Context) { tellAndWait(labels) })
}

// One more label at a time, as middleware adds them.
func nest(ctx context.Context, labels map[string]string, left int) {
	if left == 0 {
		tellAndWait(labels)
		return
	}
	key, value := "key-"+strconv.Itoa(left), "value "+strconv.Itoa(left)
	labels[key] = value
	pprof.Do(ctx, pprof.Labels(key, value), func(ctx context.Context) {
		nest(ctx, labels, left-1)
	})
}

func many(n int) map[string]string {
	labels := map[string]string{}
	for i := 0; i < n; i++ {
		labels["key-"+strconv.Itoa(i)] = "value " + strconv.Itoa(i)
	}
	return labels
}

func startAll() {
	for i := 0; i < 3; i++ {
		start(map[string]string{"tenant": "acme", "route": "/v1/pay"})
	}
	start(map[string]string{"tenant": "other"})
	start(map[string]string{"empty": "", "ü": "日本", "a=b": "c, d", "q": `"`})
	start(map[string]string{"long": strings.Repeat("x", 500)})
	start(many(8))
	start(many(9))
	start(many(40))
	go nest(context.Background(), map[string]string{}, 13)
	family := map[string]string{"parent": "yes"}
	go pprof.Do(context.Background(), pprof.Labels("parent", "yes"),
		func(context.Context) {
			go tellAndWait(family)
			tellAndWait(family)
		})
	go tellAndWait(map[string]string{})
	go func() {
		setLabels(unsafe.Pointer(own))
		tellAndWait(map[string]string{})
	}()
	go func() {
		setLabels(unsafe.Pointer(&own.number))
		tellAndWait(map[string]string{})
	}()
}

func main() {
	startAll()
	time.Sleep(200 * time.Millisecond)
	mutex.Lock()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"labels": truth,
	})
	mutex.Unlock()
	io.Copy(io.Discard, os.Stdin)
}
