// SPDX-License-Identifier: Apache-2.0

package main

/*
#include "allocs.h"
*/
import "C"

import (
	"context"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

const stepTime = 5 * time.Millisecond

// A load is a number of goroutines with a thread each, which allocate and free
// at a rate.
type loadThreads struct {
	library    string
	goroutines []uint64
	ends       chan struct{}
	all        sync.WaitGroup
	pairs      atomic.Uint64
}

var theLoad loadThreads

func (l *loadThreads) start(words []string) {
	threads := number(words[1])
	l.library = words[0]
	l.ends = make(chan struct{})
	ids := make(chan uint64)
	for i := 0; i < threads; i++ {
		one := C.struct_load{
			library: indexOf(libraries, words[0]),
			thread:  C.int(i),
			slots:   C.int(number(words[5]) / threads),
			every_a: C.uint64_t(number(words[3])),
			every_b: C.uint64_t(number(words[4])),
		}
		rate := float64(number(words[2])) / float64(threads)
		l.all.Add(1)
		labels := pprof.Labels("load", strconv.Itoa(i))
		go pprof.Do(context.Background(), labels, func(context.Context) {
			l.run(one, rate, ids)
		})
		l.goroutines = append(l.goroutines, <-ids)
	}
}

// run does its part of the load. It leaves out what is late by more than 20
// steps.
func (l *loadThreads) run(one C.struct_load, rate float64, ids chan uint64) {
	defer l.all.Done()
	runtime.LockOSThread()
	id := goid()
	one.goid = C.uint64_t(id)
	ids <- id
	most := uint64(rate*stepTime.Seconds()*20) + 1
	begin, due, done := time.Now(), uint64(0), uint64(0)
	for {
		select {
		case <-l.ends:
			return
		default:
		}
		now := uint64(rate * time.Since(begin).Seconds())
		count := now - due
		if count > most {
			count = most
		}
		runLoad(&one, done, count)
		due = now
		done += count
		l.pairs.Add(count)
		time.Sleep(stepTime)
	}
}

//go:noinline
func runLoad(one *C.struct_load, done, count uint64) {
	C.load_step(one, C.uint64_t(done), C.uint64_t(count))
}

func (l *loadThreads) stop() uint64 {
	close(l.ends)
	l.all.Wait()
	return l.count()
}

func (l *loadThreads) count() uint64 {
	return l.pairs.Load()
}

// ----------------------------------------------------- goroutines that hang

const mostHung = 16

var (
	released = make(chan struct{})
	locked   sync.Mutex
	hung     sync.WaitGroup
	hanging  int
)

type blocksOfStack [mostHung]unsafe.Pointer

func take(words []string, id uint64, blocks *blocksOfStack) {
	for i := 0; i < number(words[2]); i++ {
		blocks[i] = C.make_block(indexOf(libraries, words[0]), 0,
			C.size_t(number(words[3])), C.HOLDER_CALLER, C.uint64_t(id))
	}
}

func give(words []string, blocks *blocksOfStack) {
	for i := 0; i < number(words[2]); i++ {
		C.drop_block(indexOf(libraries, words[0]), 0, blocks[i])
	}
}

// freeAfterReceive has its blocks on its stack, and waits before it frees them.
//
//go:noinline
func freeAfterReceive(words []string, ready chan uint64) {
	var blocks blocksOfStack
	id := goid()
	take(words, id, &blocks)
	ready <- id
	<-released
	give(words, &blocks)
}

//go:noinline
func freeAfterLock(words []string, ready chan uint64) {
	var blocks blocksOfStack
	id := goid()
	take(words, id, &blocks)
	ready <- id
	locked.Lock()
	defer locked.Unlock()
	give(words, &blocks)
}

func hang(words []string) uint64 {
	ready := make(chan uint64)
	ways := map[string]func([]string, chan uint64){
		"receive": freeAfterReceive, "lock": freeAfterLock}
	if hanging == 0 {
		locked.Lock()
	}
	hanging++
	hung.Add(1)
	go func() {
		defer hung.Done()
		ways[words[1]](words, ready)
	}()
	return <-ready
}

// freeAll lets the goroutines that hang go on, and waits until they have.
func freeAll() int {
	close(released)
	locked.Unlock()
	hung.Wait()
	return hanging
}
