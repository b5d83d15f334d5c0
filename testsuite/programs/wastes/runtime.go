// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"text/template"
	"time"
	"unsafe"
)

// ----------------------------------------------------------- goroutine-stack

const (
	deepStacks = 100
	deepBytes  = 256 << 10
)

var (
	never  = make(chan bool)
	parked = make(chan bool)
)

//go:noinline
func descend(depth int) byte {
	var frame [1000]byte
	frame[depth%len(frame)] = 1
	if depth == 0 {
		return frame[0]
	}
	return descend(depth-1) + frame[depth%len(frame)]
}

// serve needs more than half of deepBytes once, and then hardly any.
//
//go:noinline
func serve() {
	descend(180)
	parked <- true
	<-never
}

func plantStacks() {
	for i := 0; i < deepStacks; i++ {
		go serve()
	}
	for i := 0; i < deepStacks; i++ {
		<-parked
	}
	note("main.serve", "", deepStacks*(deepBytes-2048), deepStacks)
}

// ----------------------------------------------------------- stuck-finalizer

type Resource struct {
	ID   int
	data *[512]byte
}

// A Ring and its twin hold each other, and one has a finalizer: never run.
type Ring struct {
	other *Ring
	data  [504]byte
}

const resources = 10000

var closing = make(chan bool, 1)

//go:noinline
func closeResource(*Resource) {
	select {
	case closing <- true:
	default:
	}
	<-never
}

//go:noinline
func closeRing(*Ring) {
	<-never
}

//go:noinline
func newResource(i int) *Resource {
	made := &Resource{i, new([512]byte)}
	made.data[0] = byte(i)
	return made
}

//go:noinline
func makeResources() {
	for i := 0; i < resources; i++ {
		runtime.SetFinalizer(newResource(i), closeResource)
	}
}

//go:noinline
func makeRings() {
	for i := 0; i < resources; i++ {
		one, two := new(Ring), new(Ring)
		one.other, two.other = two, one
		runtime.SetFinalizer(one, closeRing)
	}
}

func plantFinalizers() {
	grow("main.Ring", "", resources, makeRings)
	grow("main.closeResource", "", resources, func() {
		makeResources()
		runtime.GC()
		<-closing
	})
}

// --------------------------------------------------------------- gc-headroom

func plantHeadroom() {
	debug.SetGCPercent(400)
	plantFrugal()
}

// ---------------------------------------------------------- context-children

var (
	parent context.Context
	stop   func()
)

// request makes a context and returns the function that nobody calls.
//
//go:noinline
func request() func() {
	_, cancel := context.WithCancel(parent)
	return cancel
}

// buildContexts cancels the contexts behind the last one, which leaves the map
// in its parent as large as it was.
//
//go:noinline
func buildContexts(wasteful bool) {
	parent, stop = context.WithCancel(context.Background())
	addAfterFuncs()
	cancels := make([]func(), planted)
	for i := range cancels {
		cancels[i] = request()
	}
	for i := 0; i < planted && !wasteful; i++ {
		cancels[i]()
	}
}

func plantContexts() {
	plant("context.cancelCtx", ".children", planted, buildContexts)
}

// ----------------------------------------------------------- nested contexts

var nestedTops [4]context.Context

// buildNested makes contexts that nobody has cancelled, each with one below it,
// and cancels all of one kind: those above, those below, or none.
//
//go:noinline
func buildNested(above, below bool) context.Context {
	top, _ := context.WithCancel(context.Background())
	cancels := make([]func(), 0, 2*planted)
	for i := 0; i < planted; i++ {
		outer, cancelOuter := context.WithCancel(top)
		data := context.WithValue(outer, &never, make([]byte, 200))
		_, cancelInner := context.WithTimeout(data, 1000*time.Hour)
		if above {
			cancels = append(cancels, cancelOuter)
		}
		if below {
			cancels = append(cancels, cancelInner)
		}
	}
	for _, cancel := range cancels {
		cancel()
	}
	return top
}

// plantNested measures what calls of the cancel functions of one kind free.
func plantNested() {
	var size [len(nestedTops)]uint64
	for i := range nestedTops {
		before := heapAlloc()
		// The first one lets the runtime's heaps of timers grow.
		nestedTops[i] = buildNested(i < 2, i == 2)
		size[i] = heapAlloc() - before
	}
	nestedTops[0], nestedTops[1], nestedTops[2] = nil, nil, nil
	note("context.cancelCtx", ".children", size[3]-size[1], planted)
	note("context.timerCtx", ".children", size[3]-size[2], planted)
}

// ---------------------------------------------------------------------- pool

const (
	outliers     = 8
	outlierBytes = 1 << 20
)

var buffers sync.Pool

//go:noinline
func newBuffer(size int) *bytes.Buffer {
	buffer := bytes.NewBuffer(make([]byte, 0, size))
	buffer.WriteByte(1)
	buffer.Reset()
	return buffer
}

func plantPool() {
	for i := 0; i < outliers; i++ {
		buffers.Put(newBuffer(1024))
		buffers.Put(newBuffer(outlierBytes))
	}
	note("main.buffers", "", outliers*outlierBytes, 0)
}

// ---------------------------------------------------------------- far-timers

//go:noinline
func later(i int) {
	payload := new([4096]byte)
	payload[0] = byte(i)
	time.AfterFunc(1000*time.Hour, func() {
		payload[1]++
	})
}

func plantTimers() {
	grow("main.later|main.later.func1", "", planted/8, func() {
		for i := 0; i < planted/8; i++ {
			later(i)
		}
	})
}

// --------------------------------------------------------------- library-tax

var (
	patterns  []*regexp.Regexp
	templates []*template.Template
)

func plantLibraries() {
	patterns = make([]*regexp.Regexp, 400)
	templates = make([]*template.Template, 400)
	grow("regexp.Regexp", "", 0, func() {
		for i := range patterns {
			patterns[i] = regexp.MustCompile(`^(a|b)*[0-9]+x` + strconv.Itoa(i))
		}
	})
	grow("text/template.Template", "", 0, func() {
		for i := range templates {
			text := "{{.Name}} has {{range .Items}}{{.}}{{end}}" + strconv.Itoa(i)
			templates[i] = template.Must(template.New("t").Parse(text))
		}
	})
}

// -------------------------------------------------------------------- frugal

// An Account fits its slot, and no field is the same in all of them.
type Account struct {
	ID      uint64
	Name    string
	History []uint64
	Next    *Account
	Score   uint64
}

// A Block fills its slot.
type Block struct {
	words [64]uint64
}

var (
	accounts []*Account
	blocks   []*Block
)

//go:noinline
func newAccount(i int) *Account {
	name := []byte("account-0000000000-0000000000-of-48-bytes-in-all")
	for k, n := 17, i; n > 0; k, n = k-1, n/10 {
		name[k] += byte(n % 10)
	}
	history := make([]uint64, 6)
	fill(history, i)
	return &Account{uint64(i), string(name), history, nil, uint64(i * i)}
}

func plantFrugal() {
	accounts = make([]*Account, 4*planted)
	for i := range accounts {
		accounts[i] = newAccount(i)
		if i > 0 {
			accounts[i].Next = accounts[i/2]
		}
	}
	blocks = make([]*Block, planted)
	for i := range blocks {
		blocks[i] = new(Block)
		fill(blocks[i].words[:], i)
	}
}

// -------------------------------------------------------------------- shared

// laterSlice has a slice with room for more in what a timer holds.
//
//go:noinline
func laterSlice(i int) {
	payload := make([]byte, 16, 4096)
	payload[0] = byte(i)
	time.AfterFunc(1000*time.Hour, func() {
		payload[1]++
	})
}

// plantShared: without their timers, these slices would not be there. Without
// the field that is always zero, the objects would fit the class below, which
// is also what makes them just over it.
func plantShared() {
	plant("main.Event", ".Unused|", 0, buildEvents)
	grow("main.laterSlice|main.laterSlice.func1", "", 0, func() {
		for i := 0; i < planted/8; i++ {
			laterSlice(i)
		}
	})
}

// ----------------------------------------------------------------------- mix

func plantMix() {
	seed, err := strconv.Atoi(os.Args[2])
	check(err)
	count, err := strconv.Atoi(os.Args[3])
	check(err)
	mixed = newMix(seed, count)
	where("mixed", unsafe.Pointer(&mixed))
	var one Mix
	for _, field := range []place{
		{"name", unsafe.Offsetof(one.name)},
		{"part", unsafe.Offsetof(one.part)},
		{"data", unsafe.Offsetof(one.data)},
		{"window", unsafe.Offsetof(one.window)},
		{"values", unsafe.Offsetof(one.values)},
		{"items", unsafe.Offsetof(one.items)},
		{"next", unsafe.Offsetof(one.next)},
		{"table", unsafe.Offsetof(one.table)},
		{"index", unsafe.Offsetof(one.index)},
		{"box", unsafe.Offsetof(one.box)},
		{"cell", unsafe.Offsetof(one.cell)},
	} {
		truthPlaces = append(truthPlaces, field)
	}
}
