// SPDX-License-Identifier: Apache-2.0

// One package variable for each kind of value, each holding heap objects that
// no other variable holds.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

type Node struct {
	Next  *Node
	Value uint64
}

type Tree struct {
	Left, Right *Tree
}

type Inner struct {
	Leaf *Leaf
	Name string
}

type Outer struct {
	Inner Inner
	List  [2]Inner
	Ptr   *Inner
}

type Base struct {
	BaseLeaf *Leaf
}

type OtherBase struct {
	OtherLeaf *Leaf
}

type Derived struct {
	Base
	*OtherBase
	Own *Leaf
}

type Shaped struct {
	P *Leaf
}

type Pair struct {
	X, Y *Leaf
}

// Big has over a KiB of pointers, with a gap: its mask may be made on demand.
type Big struct {
	A [150]*Leaf
	N uint64
	B [50]*Leaf
}

type Failure struct {
	Leaf *Leaf
}

func (f *Failure) Error() string { return "failure" }

type Label struct {
	Text string
}

func (l Label) String() string { return l.Text }

type Server struct {
	Leaves []*Leaf
}

func (s *Server) Serve() int { return len(s.Leaves) }

type Service interface{ Serve() int }

// Asked is what only a running program finds out of an Answer: that the two
// go together is in a table that the runtime makes then.
type Asked interface{ Ask() *Leaf }

type Answer struct {
	Leaf *Leaf
	Name string
}

func (a *Answer) Ask() *Leaf { return a.Leaf }

// A Page is how files in memory are looked at: an array as large as any.
type Page struct {
	data *[1 << 47]byte
	leaf *Leaf
}

type File struct{ first any }

type Item[T any] struct {
	Next  *Item[T]
	Value T
}

type List[T any] struct {
	Head *Item[T]
	Len  int
}

func (l *List[T]) Push(v T) {
	l.Head = &Item[T]{l.Head, v}
	l.Len++
}

var (
	vPointer    *Leaf
	vInterior   *uint64
	vSubslice   []*Leaf
	vString     string
	vBytes      []byte
	vPointers   []*Leaf
	vTail       []*Leaf
	vArray      [3]*Leaf
	vStruct     Outer
	vMisled     Misled
	vEmbedded   Derived
	vStrings    [][]string
	vPtrPtr     **Leaf
	vBig        *Big
	vArraySmall *[4000]*Leaf
	vArrayLarge *[5000]*Leaf
	vBigs       []Big
	vGeneric    List[*Leaf]
	vBuilder    strings.Builder
	vList       *Node
	vTree       *Tree

	vChan       chan *Leaf
	vChanStruct chan Pair
	vChanPlain  chan [4]uint64

	vAnyPtr      any
	vAnyStruct   any
	vAnyShaped   any
	vAnyString   any
	vAnySlice    []any
	vAnyHuge     any
	vError       error
	vErrorWrap   error
	vStringer    fmt.Stringer
	vAsserted    []Asked
	vUnsafeArray unsafe.Pointer
	vUnsafeSmall unsafe.Pointer
	vUnsafeElems unsafe.Pointer
	vAnyUnsafe   any

	vFuncPlain   func() int
	vClosureVal  func() int
	vClosureRef  func() int
	vClosureMany []func() int
	vMethod      func() int
	vMethodIface func() int
	vMakeFunc    func(int) int

	vSyncMap       sync.Map
	vAtomicPointer atomic.Pointer[Leaf]
	vAtomicValue   atomic.Value
	vTimer         *time.Timer
	vAfterFunc     *time.Timer
	vContextValue  context.Context
	vContextCancel context.Context
	vContextTime   context.Context
)

// A Misled looks like an interface that boxes a string, and is none.
type Misled struct {
	Type unsafe.Pointer
	Data *[3000]byte
}

func plain() int { return 1 }

func buildPlain() {
	measure("vPointer", 1, func() { vPointer = newLeaf() })
	measure("vInterior", 1, func() { vInterior = &newLeaf().B })
	measure("vSubslice", 11, func() { vSubslice = newLeaves(10)[4:6:8] })
	measure("vString", 1, func() { vString = newString("v", 1) })
	measure("vBytes", 1, func() { vBytes = make([]byte, 100, 300) })
	measure("vPointers", 11, func() { vPointers = newLeaves(10) })
	measure("vTail", 17, func() { vTail = newLeaves(16)[:3] })
	measure("vArray", 3, func() {
		vArray = [3]*Leaf{newLeaf(), newLeaf(), newLeaf()}
	})
	measure("vStruct", 9, func() {
		vStruct.Inner = Inner{newLeaf(), newString("s", 1)}
		vStruct.List[0] = Inner{newLeaf(), newString("s", 2)}
		vStruct.List[1] = Inner{newLeaf(), newString("s", 3)}
		vStruct.Ptr = &Inner{newLeaf(), newString("s", 4)}
	})
	measure("vEmbedded", 4, func() {
		vEmbedded.BaseLeaf = newLeaf()
		vEmbedded.OtherBase = &OtherBase{newLeaf()}
		vEmbedded.Own = newLeaf()
	})
	measure("vMisled", 1, func() {
		text := any("text")
		vMisled.Type = *(*unsafe.Pointer)(unsafe.Pointer(&text))
		vMisled.Data = new([3000]byte)
	})
	where("vMisled.Data", unsafe.Pointer(vMisled.Data))
	where("vPointer", unsafe.Pointer(vPointer))
	where("vInterior", unsafe.Pointer(vInterior))
	where("vSubslice.before", *(*unsafe.Pointer)(unsafe.Add(
		unsafe.Pointer(&vSubslice[0]), -8)))
	where("vTail.tail", unsafe.Pointer(vTail[:16][15]))
	where("vStruct.Ptr.Leaf", unsafe.Pointer(vStruct.Ptr.Leaf))
}

func buildShapes() {
	measure("vStrings", 1+4+4*3, func() {
		vStrings = make([][]string, 4)
		for i := range vStrings {
			vStrings[i] = make([]string, 3)
			for j := range vStrings[i] {
				vStrings[i][j] = newString("x", i*10+j)
			}
		}
	})
	measure("vPtrPtr", 2, func() {
		vPtrPtr = new(*Leaf)
		*vPtrPtr = newLeaf()
	})
	measure("vBig", 201, func() { vBig = newBig() })
	measure("vBigs", 1+3*200, func() {
		vBigs = make([]Big, 3)
		for i := range vBigs {
			vBigs[i] = *newBig()
		}
	})
	measure("vArraySmall", 4001, func() {
		vArraySmall = new([4000]*Leaf)
		copy(vArraySmall[:], newLeaves(4000))
	})
	measure("vArrayLarge", 5001, func() {
		vArrayLarge = new([5000]*Leaf)
		copy(vArrayLarge[:], newLeaves(5000))
	})
	measure("vGeneric", 20, func() {
		for i := 0; i < 10; i++ {
			vGeneric.Push(newLeaf())
		}
	})
	measure("vBuilder", 1, func() {
		vBuilder.Grow(100)
		vBuilder.WriteString("text")
	})
	where("vBig.B", unsafe.Pointer(vBig.B[49]))
	where("vArrayLarge.last", unsafe.Pointer(vArrayLarge[4999]))
}

//go:noinline
func newBig() *Big {
	b := new(Big)
	copy(b.A[:], newLeaves(len(b.A)))
	copy(b.B[:], newLeaves(len(b.B)))
	b.N = ^uint64(0)
	return b
}

func buildChannels() {
	measure("vChan", 2+7, func() {
		vChan = make(chan *Leaf, 8)
		for i := 0; i < 6; i++ {
			vChan <- newLeaf()
		}
		for i := 0; i < 5; i++ {
			<-vChan
		}
		for i := 0; i < 6; i++ {
			vChan <- newLeaf()
		}
	})
	measure("vChanStruct", 2+2*3, func() {
		vChanStruct = make(chan Pair, 4)
		for i := 0; i < 3; i++ {
			vChanStruct <- Pair{newLeaf(), newLeaf()}
		}
	})
	// Without pointers the buffer is part of the header's object.
	measure("vChanPlain", 1, func() {
		vChanPlain = make(chan [4]uint64, 5)
		vChanPlain <- [4]uint64{1}
	})
}

func buildInterfaces() {
	measure("vAnyPtr", 1, func() { vAnyPtr = newLeaf() })
	measure("vAnyStruct", 3, func() {
		vAnyStruct = Pair{newLeaf(), newLeaf()}
	})
	measure("vAnyShaped", 1, func() { vAnyShaped = Shaped{newLeaf()} })
	measure("vAnyString", 2, func() { vAnyString = newString("any", 1) })
	measure("vAnySlice", 1+1+2+3+2, func() {
		vAnySlice = make([]any, 4)
		vAnySlice[0] = newLeaf()
		vAnySlice[1] = &Inner{Name: newString("any", 2)}
		vAnySlice[2] = Pair{newLeaf(), newLeaf()}
		vAnySlice[3] = Label{newString("any", 3)}
	})
	measure("vError", 2, func() { vError = &Failure{newLeaf()} })
	measure("vErrorWrap", 4, func() {
		vErrorWrap = fmt.Errorf("a failure in the test: %w",
			&Failure{newLeaf()})
	})
	measure("vStringer", 2, func() {
		vStringer = Label{newString("label", 1)}
	})
	measure("vAsserted", 1+2*3, func() {
		vAsserted = make([]Asked, 2)
		for i := range vAsserted {
			vAsserted[i] = ask(&Answer{newLeaf(), newString("ask", i)})
		}
	})
	measure("vAnyHuge", 4, func() {
		data := make([]byte, 64)
		vAnyHuge = &File{&Page{
			(*[1 << 47]byte)(unsafe.Pointer(&data[0])), newLeaf(),
		}}
	})
	// Over 512 bytes the allocator keeps the type from Go 1.22 on.
	measure("vUnsafeArray", 101, func() {
		a := new([100]*Leaf)
		copy(a[:], newLeaves(100))
		vUnsafeArray = unsafe.Pointer(a)
	})
	measure("vUnsafeElems", 101, func() {
		vUnsafeElems = unsafe.Pointer(&newLeaves(100)[0])
	})
	measure("vUnsafeSmall", 2, func() {
		vUnsafeSmall = unsafe.Pointer(&Shaped{newLeaf()})
	})
	measure("vAnyUnsafe", 1, func() {
		vAnyUnsafe = unsafe.Pointer(newLeaf())
	})
	where("vAnyPtr", unsafe.Pointer(vAnyPtr.(*Leaf)))
	where("vErrorWrap.leaf", unsafe.Pointer(
		errors.Unwrap(vErrorWrap).(*Failure).Leaf))
	where("vUnsafeArray", vUnsafeArray)
	where("vUnsafeElems", vUnsafeElems)
}

//go:noinline
func ask(value any) Asked { return value.(Asked) }

//go:noinline
func closureVal(payload []*Leaf) func() int {
	return func() int { return len(payload) }
}

//go:noinline
func closureRef(payload []*Leaf) func() int {
	counter := payload
	return func() int {
		counter = counter[1:]
		return len(counter)
	}
}

// The captured variable is small enough for by-value capture only if nobody
// assigns it later; here somebody does.
func buildFunctions() {
	measure("vFuncPlain", 0, func() { vFuncPlain = plain })
	measure("vClosureVal", 1+6, func() {
		vClosureVal = closureVal(newLeaves(5))
	})
	measure("vClosureRef", 2+6, func() {
		vClosureRef = closureRef(newLeaves(5))
	})
	measure("vClosureMany", 1+3*7, func() {
		vClosureMany = make([]func() int, 3)
		for i := range vClosureMany {
			vClosureMany[i] = closureVal(newLeaves(5))
		}
	})
	measure("vMethod", 2+6, func() {
		s := &Server{newLeaves(5)}
		vMethod = s.Serve
	})
	measure("vMethodIface", 2+6, func() {
		var s Service = newServer()
		vMethodIface = s.Serve
	})
	kind := reflect.TypeOf(vMakeFunc)
	same := func(args []reflect.Value) []reflect.Value { return args }
	vMakeFunc = reflect.MakeFunc(kind, same).Interface().(func(int) int)
	vMakeFunc(1)
	vMakeFunc = nil
	measure("vMakeFunc", -1, func() {
		payload := newLeaves(5)
		vMakeFunc = reflect.MakeFunc(kind,
			func(args []reflect.Value) []reflect.Value {
				payload[0].A++
				return args
			}).Interface().(func(int) int)
	})
}

//go:noinline
func newServer() Service { return &Server{newLeaves(5)} }

func buildShared() {
	measure("vSyncMap", -1, func() {
		for i := 0; i < 100; i++ {
			vSyncMap.Store(newString("key", i), newLeaf())
		}
		for i := 0; i < 200; i++ {
			vSyncMap.Load("key")
		}
		for i := 100; i < 120; i++ {
			vSyncMap.Store(newString("key", i), newLeaf())
		}
		vSyncMap.Delete(newString("key", 7))
	})
	measure("vAtomicPointer", 1, func() { vAtomicPointer.Store(newLeaf()) })
	measure("vAtomicValue", 3, func() {
		vAtomicValue.Store(Pair{newLeaf(), newLeaf()})
	})
	measure("vContextValue", 1+3+1, func() {
		vContextValue = context.WithValue(context.Background(),
			Label{newString("ctx", 1)}, Pair{Y: newLeaf()})
	})
	// A timer and its channel with a buffer; the runtime's list of timers
	// grows beside it, so that the heap's growth is not the truth here.
	vTimer = time.NewTimer(24 * time.Hour)
	known("vTimer", 3, 0)
	payload := newLeaves(5)
	vAfterFunc = time.AfterFunc(24*time.Hour, func() { payload[0].A++ })
	known("vAfterFunc", 2+6, 0)
	vContextCancel, _ = context.WithCancel(context.Background())
	where("vContextCancel", (*[2]unsafe.Pointer)(
		unsafe.Pointer(&vContextCancel))[1])
	vContextTime, _ = context.WithTimeout(context.Background(),
		24*time.Hour)
	where("vAtomicPointer", unsafe.Pointer(vAtomicPointer.Load()))
}

func buildLong() {
	measure("vTree", 1<<15-1, func() { vTree = newTree(15) })
	nodes := 100000
	if text := os.Getenv("LIST_NODES"); text != "" {
		nodes, _ = strconv.Atoi(text)
	}
	measure("vList", nodes, func() {
		for i := 0; i < nodes; i++ {
			vList = &Node{Next: vList, Value: uint64(i)}
		}
	})
	where("vList.later", unsafe.Pointer(vList.Next.Next.Next.Next))
}

func newTree(depth int) *Tree {
	if depth == 0 {
		return nil
	}
	return &Tree{newTree(depth - 1), newTree(depth - 1)}
}

func main() {
	buildPlain()
	buildShapes()
	buildChannels()
	buildInterfaces()
	buildFunctions()
	buildMaps()
	buildShared()
	buildNewer()
	buildLong()
	tell()
	wait()
}
