// SPDX-License-Identifier: Apache-2.0

// testsuite/layouts.txt is made from this program, which uses enough of the
// runtime for the linker to keep all that goref looks at.
// Built without programs/common: a change here may change the table.
package main

import (
	"context"
	"net"
	"os"
	_ "os/signal" // its function that waits for signals
	"reflect"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

type Value struct {
	Name string
}

var (
	values  = map[string]*Value{}
	shared  sync.Map
	pool    = sync.Pool{New: func() any { return new(Value) }}
	channel = make(chan *Value, 4)
	timer   *time.Timer
	ticker  = time.NewTicker(time.Hour)
	mutex   sync.RWMutex
	group   sync.WaitGroup
	cond    = sync.NewCond(mutex.RLocker())
	twice   = reflect.MakeFunc(reflect.TypeOf(func() {}),
		func([]reflect.Value) []reflect.Value { return nil })
)

func main() {
	value := &Value{"value"}
	values["value"] = value
	shared.Store("value", value)
	pool.Put(value)
	runtime.SetFinalizer(&Value{"final"}, func(*Value) {})
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(),
		pprof.Labels("key", "value")))
	timer = time.AfterFunc(time.Hour, func() { channel <- value })
	go func() {
		for range channel {
		}
	}()
	go func() {
		mutex.Lock()
		mutex.Unlock()
		cond.L.Lock()
		cond.Wait()
		group.Wait()
	}()
	twice.Call(nil)
	reflect.ValueOf(ticker).MethodByName("Stop").Call(nil)
	newer()
	if len(os.Args) > 1 {
		net.Dial("tcp", os.Args[1])
	}
	os.Stdout.WriteString("{}\n")
	os.Stdin.Read(make([]byte, 1))
}
