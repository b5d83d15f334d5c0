// SPDX-License-Identifier: Apache-2.0

// Values in every place that can hold one. The program makes them as it runs,
// so that its file has none of them, and prints them.
package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

type truth struct {
	Texts  []string
	Words  []uint64 // numbers of eight bytes, and the bits of floats
	Halves []uint32 // numbers of four bytes
	Mapped uintptr  // address of memory outside the heap
	// By kind, in hex, the complements of secrets (planted.go).
	Planted map[string][]string
	Files   []uintptr // addresses of mapped files and of named memory
}

var said = truth{Planted: map[string][]string{}}

func random() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:]) | 1<<62 | 1
}

func text() string {
	var b [12]byte
	rand.Read(b[:])
	said.Texts = append(said.Texts, hex.EncodeToString(b[:]))
	return "s" + said.Texts[len(said.Texts)-1]
}

func number() int64 {
	n := random() >> 1
	said.Words = append(said.Words, n)
	return int64(n)
}

func half() int32 {
	n := uint32(random())>>1 | 1<<30
	said.Halves = append(said.Halves, n)
	return int32(n)
}

func float() float64 {
	f := math.Float64frombits(random()&^(0x7ff<<52) | 0x3ff<<52)
	said.Words = append(said.Words, math.Float64bits(f))
	return f
}

type record struct {
	Name   string
	Count  int64
	Ratio  float64
	Next   *record
	Small  int32
	Other  int32
	Any    any
	Inline [3]int64
	Slice  []int64
}

func make_record(next *record) *record {
	return &record{
		Name: text(), Count: number(), Ratio: float(), Next: next,
		Small: half(), Other: half(), Any: number(),
		Inline: [3]int64{number(), number(), number()},
		Slice:  []int64{number(), number()},
	}
}

type key struct {
	ID   int64
	Name string
}

type locked struct {
	Before int64
	mu     sync.Mutex
	After  int64
	list   []*record
}

// Its lock and its numbers share words.
type narrow struct {
	Before     int32
	mu         sync.Mutex
	After      int32
	ready      chan int64
	Low, High  uint16
	read       sync.RWMutex
	AfterReads int32
}

var (
	// Variables of data and bss.
	PlainInt    int64
	PlainFloat  float64
	PlainText   string
	PlainArray  [4]int64
	Records     *record
	ByText      = map[string]int64{}
	ByNumber    = map[int64]string{}
	ByKey       = map[key]record{}
	ByFloat     = map[float64]*record{}
	Numbers     chan int64
	Texts       chan string
	Keys        chan key
	Error       error
	Func        func() int64
	Interfaces  []any
	Mixed       [][]any
	Synced      sync.Map
	Pool        = sync.Pool{New: func() any { return new(record) }}
	Held        locked
	Narrow      narrow
	Narrows     []*narrow
	Complex     complex128
	Contexts    context.Context
	Bytes       []byte
	Mapped      []byte
	Interfacely interface{ Error() string }
)

type contextKey int64

func fill() {
	PlainInt, PlainFloat, PlainText = number(), float(), text()
	PlainArray = [4]int64{number(), number(), number(), number()}
	for i := 0; i < 40; i++ {
		Records = make_record(Records)
		ByText[text()] = number()
		ByNumber[number()] = text()
		ByKey[key{number(), text()}] = *make_record(nil)
		ByFloat[float()] = make_record(nil)
		Interfaces = append(Interfaces, number(), text(), float(),
			*make_record(nil), key{number(), text()})
		Mixed = append(Mixed, []any{half(), text()})
		Synced.Store(text(), number())
	}
	Numbers, Texts = make(chan int64, 8), make(chan string, 8)
	Keys = make(chan key, 8)
	for i := 0; i < 5; i++ {
		Numbers <- number()
		Texts <- text()
		Keys <- key{number(), text()}
	}
	Error = fmt.Errorf("%s: %w", text(), errors.New(text()))
	Interfacely = Error
	captured := number()
	Func = func() int64 { return captured }
	Pool.Put(make_record(nil))
	Held = locked{Before: number(), After: number(),
		list: []*record{make_record(nil)}}
	Complex = complex(float(), float())
	Contexts = context.WithValue(context.Background(), contextKey(number()),
		text())
	Bytes = []byte(text())
	Mapped = mapped()
	said.Mapped = uintptr(unsafe.Pointer(&Mapped[0]))
}

// As the buffers of a library in C: each page begins with values.
func mapped() []byte {
	page := os.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 64*page,
		syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(memory); i += page {
		binary.LittleEndian.PutUint64(memory[i:], uint64(number()))
		binary.LittleEndian.PutUint64(memory[i+8:], uint64(number()))
		copy(memory[i+16:], text())
	}
	return memory
}

var ready sync.WaitGroup

//go:noinline
func holdValues(n int64, f float64, s string, r record, k key, c chan int64) int64 {
	var local [6]int64
	for i := range local {
		local[i] = number()
	}
	ready.Done()
	got := <-c
	runtime.KeepAlive(&local)
	runtime.KeepAlive(&r)
	return got + n + int64(f) + int64(len(s)) + k.ID + local[n&3]
}

func block() {
	never := make(chan int64)
	labels := pprof.Labels(text(), text())
	ready.Add(3)
	n, f, s, r, k := number(), float(), text(), *make_record(nil),
		key{number(), text()}
	go pprof.Do(context.Background(), labels, func(context.Context) {
		Numbers <- holdValues(n, f, s, r, k, never)
	})
	ready.Done()
	offered := number()
	full := make(chan int64)
	go func() {
		ready.Done()
		full <- offered
	}()
	ready.Wait()
}

func makeNarrow(ready chan int64) narrow {
	both := half()
	return narrow{Before: half(), After: half(), ready: ready,
		Low: uint16(both), High: uint16(both >> 16),
		AfterReads: half()}
}

// Goroutines wait for locks and channels of structs with small numbers.
func share(n *narrow) {
	n.mu.Lock()
	n.read.RLock()
	ready.Add(3)
	go func() { ready.Done(); n.mu.Lock() }()
	go func() { ready.Done(); n.read.Lock() }()
	go func() { ready.Done(); <-n.ready }()
	ready.Wait()
}

var copied [32]int64

// The runtime saves vector registers when it preempts a goroutine.
func spin() {
	var from [32]int64
	for i := range from {
		from[i] = number()
	}
	end := time.Now().Add(60 * time.Millisecond)
	for time.Now().Before(end) {
		for i := 0; i < 20000; i++ {
			copy(copied[:], from[:])
		}
	}
}

func main() {
	runAgain()
	fill()
	spin()
	block()
	Narrow = makeNarrow(make(chan int64))
	share(&Narrow)
	for i := 0; i < 4; i++ {
		n := makeNarrow(make(chan int64))
		Narrows = append(Narrows, &n)
		share(&n)
	}
	plantAll()
	time.Sleep(20 * time.Millisecond)
	answer, _ := json.Marshal(&said)
	fmt.Println(string(answer))
	// The answer itself is values, too.
	n := number()
	defer func() {
		_ = recover()
		_, _ = os.Stdin.Read(make([]byte, 1))
		runtime.KeepAlive(&said)
	}()
	panic(fmt.Sprint(PlainText, n, Held.mu.TryLock(), Interfacely))
}
