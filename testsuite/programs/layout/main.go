// SPDX-License-Identifier: Apache-2.0

// What the golden texts in testsuite/layouts are made from: a program that
// uses enough of the runtime for the linker to keep all that goref looks at.
// Built without programs/common: a change here may change the texts.
package main

import (
	"os"
	"runtime"
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
)

func main() {
	value := &Value{"value"}
	values["value"] = value
	shared.Store("value", value)
	pool.Put(value)
	runtime.SetFinalizer(&Value{"final"}, func(*Value) {})
	timer = time.AfterFunc(time.Hour, func() { channel <- value })
	go func() {
		for range channel {
		}
	}()
	newer()
	os.Stdout.WriteString("{}\n")
	os.Stdin.Read(make([]byte, 1))
}
