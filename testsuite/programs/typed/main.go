// SPDX-License-Identifier: Apache-2.0

// One variable of many kinds of values, and local variables. The program prints
// them as JSON.
package main

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

type Level int8
type Name string

type Point struct{ X, Y int32 }

type Base struct {
	ID    int64
	Notes []string
}

type Deep struct {
	Base
	Depth int
}

type Far struct{ Label string }

type Derived struct {
	Deep
	*Far
	Name string
}

// Wide has more than 128 bytes: a map keeps pointers to such.
type Wide struct {
	Pad [20]int
	Tag string
}

type Node struct {
	Value int
	Next  *Node
	keys  int // its name is that of a method of goref.Value
}

type Shape interface{ Area() int }

type Square struct{ Side int }

func (s Square) Area() int { return s.Side * s.Side }

type Circle struct{ Radius int }

func (c *Circle) Area() int { return 3 * c.Radius * c.Radius }

type World struct {
	Yes, No    bool
	Int8       int8
	Int16      int16
	Int32      int32
	Int64      int64
	Int        int
	Uint8      uint8
	Uint16     uint16
	Uint32     uint32
	Uint64     uint64
	Level      Level
	Float32    float32
	Float64    float64
	Empty      string
	Text       string
	Long       string
	Umlaut     Name
	Ints       []int
	NilInts    []int
	NoInts     []int
	Array      [4]int16
	Matrix     [2][3]uint8
	Points     []Point
	Pointers   []*Point
	Names      []string
	Point      Point
	At         *Point
	NilAt      *Point
	Twice      **Point
	Any        any
	AnyText    any
	AnyPoint   any
	AnyAt      any
	AnyList    any
	NilAny     any
	Anys       []any
	Square     Shape
	Circle     Shape
	NilMap     map[string]int
	NoMap      map[string]int
	ByName     map[string]int
	ByLevel    map[Level]string
	ByNumber   map[int64]Point
	ByUint     map[uint32]*Point
	Large      map[string]int
	Deleted    map[int]int
	Wides      map[string]Wide
	Nested     map[string]map[string][]int
	Set        map[string]struct{}
	Named      map[Name]Name
	Emptied    struct{}
	Unexported *Node
}

var world World
var derived Derived
var ring *Node
var byBool map[bool]int
var byFloat map[float64]string
var byAny map[any]int
var byPoint map[Point]string
var byWide map[[20]int]int
var queue chan int
var complexes []complex128
var complex64s complex64
var bytes []byte
var handler func(int) int
var when time.Time
var number = 7
var huge map[int]int
var growing map[int]int
var pointers map[*Point]int

func fill() {
	w := &world
	w.Yes = true
	w.Int8, w.Int16, w.Int32, w.Int64 = -128, -32768, math.MinInt32, -1<<53
	w.Int = -12345
	w.Uint8, w.Uint16, w.Uint32, w.Uint64 = 255, 65535, math.MaxUint32, 1<<53
	w.Level, w.Float32, w.Float64 = -3, 0.25, -1.0e-300
	w.Text, w.Long = "a \"text\"\n", strings.Repeat("0123456789", 1000)
	w.Umlaut = "ümlaut"
	w.Ints, w.NoInts = []int{1, 2, 3}, []int{}
	w.Array, w.Matrix = [4]int16{-1, 2, -3, 4}, [2][3]uint8{{1, 2, 3}, {4, 5, 6}}
	w.Points = []Point{{1, 2}, {3, 4}}
	w.Pointers = []*Point{{5, 6}, nil}
	w.Names = []string{"", "x", strings.Repeat("y", 300)}
	w.Point, w.At = Point{7, 8}, &Point{9, 10}
	w.Twice = &w.At
	w.Any, w.AnyText, w.AnyPoint = 5, "text", Point{11, 12}
	w.AnyAt, w.AnyList = &Point{13, 14}, []int{15}
	w.Anys = []any{1, "x", nil, Point{1, 2}, &Point{3, 4}, 2.5, []int{1}, true}
	w.Square, w.Circle = Square{3}, &Circle{2}
	w.NoMap = map[string]int{}
	w.ByName = map[string]int{"one": 1, "two": 2, "": 0}
	w.ByLevel = map[Level]string{-1: "low", 1: "high"}
	w.ByNumber = map[int64]Point{-5: {1, 1}, 1 << 40: {2, 2}}
	w.ByUint = map[uint32]*Point{math.MaxUint32: {3, 3}, 0: nil}
	w.Large = map[string]int{}
	for i := 0; i < 5000; i++ {
		w.Large["key-"+strconv.Itoa(i)] = i
	}
	w.Deleted = map[int]int{}
	for i := 0; i < 3000; i++ {
		w.Deleted[i] = i
	}
	for i := 10; i < 3000; i++ {
		delete(w.Deleted, i)
	}
	w.Wides = map[string]Wide{"a": {Tag: "wide a"}, "b": {Tag: "wide b"}}
	w.Nested = map[string]map[string][]int{"a": {"b": {1, 2}}, "c": nil}
	w.Set = map[string]struct{}{"member": {}}
	w.Named = map[Name]Name{"key": "value"}
	w.Unexported = &Node{Value: 1, Next: &Node{Value: 2}}
	fillOthers()
}

func fillOthers() {
	derived = Derived{Deep{Base{42, []string{"note"}}, 3}, &Far{"far"}, "derived"}
	ring = &Node{Value: 1, keys: 77}
	ring.Next = &Node{Value: 2, Next: ring}
	byBool = map[bool]int{true: 1, false: 0}
	byFloat = map[float64]string{0.5: "half", -2: "minus two"}
	byAny = map[any]int{"text": 1, 2: 2, 2.5: 3, Point{1, 2}: 4, nil: 5}
	byPoint = map[Point]string{{1, 2}: "one two", {3, 4}: "three four"}
	byWide = map[[20]int]int{{19: 9}: 1, {0: 8}: 2}
	queue = make(chan int, 5)
	queue <- 1
	queue <- 2
	complexes = []complex128{complex(1, -2), complex(0.5, 0.25)}
	complex64s = complex(3, 4)
	bytes = []byte("bytes\x00\xff")
	captured := number
	handler = func(n int) int { return n + captured }
	when = time.Date(2026, 7, 8, 9, 10, 11, 123456000, time.UTC)
	huge = map[int]int{}
	for i := 0; i < 100000; i++ {
		huge[i] = -i
	}
	growing = map[int]int{}
	for i := 0; len(growing) < 1700; i++ {
		growing[i*7] = i
	}
	at := &Point{20, 21}
	pointers = map[*Point]int{at: 1, nil: 2}
}

//go:noinline
func locals(count int, name string, at *Point, list []int, ready chan struct{}) {
	sum, text := 0, "outer"
	escaped := Point{1, 2}
	kept = &escaped
	for i := range list {
		sum += list[i]
		text := text + strconv.Itoa(i)
		if i == len(list)-1 {
			close(ready)
			select {}
		}
		runtime.KeepAlive(text)
	}
	runtime.KeepAlive([]any{count, name, at, sum, text})
}

var kept *Point

func main() {
	fill()
	ready := make(chan struct{})
	go locals(12, "argument", &Point{30, 31}, []int{1, 2, 3}, ready)
	<-ready
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"world":  world,
		"length": len(huge),
		"growing": growing,
		"when":   when.UnixMicro(),
	})
	io.ReadAll(os.Stdin)
	runtime.KeepAlive(handler)
}
