// SPDX-License-Identifier: Apache-2.0

// Hops of many kinds. Each leads to an object that nothing else leads to; the
// truth is the address of that object, what its hop is called, and, if Go tells,
// the address of the word.
package main

import (
	"encoding/json"
	"io"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Instead names the hop where no debug information does.
type hop struct {
	Target  string `json:"target"`
	Word    string `json:"word,omitempty"`
	Name    string `json:"name"`
	Type    string `json:"type,omitempty"`
	Instead string `json:"instead,omitempty"`
}

var hops []hop

func hex(p unsafe.Pointer) string {
	return "0x" + strconv.FormatUint(uint64(uintptr(p)), 16)
}

// expect says that a hop of that name and type leads to target. word is the
// address of the word, or nil.
func expect(target, word unsafe.Pointer, name, typ string) {
	h := hop{Target: hex(target), Name: name, Type: typ}
	if word != nil {
		h.Word = hex(word)
	}
	hops = append(hops, h)
}

func leafAt(leaf **Leaf, name string) {
	*leaf = newLeaf()
	expect(unsafe.Pointer(*leaf), unsafe.Pointer(leaf), name, "*main.Leaf")
}

// at is a hop through a map or the like, where words have no address.
func at(leaf *Leaf, name string) {
	expect(unsafe.Pointer(leaf), nil, name, "*main.Leaf")
}

func data(s *string) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(s))
}

func second(p unsafe.Pointer) unsafe.Pointer { return unsafe.Add(p, 8) }

// ---------------------------------------------------- structs and arrays

type Base struct {
	Id   uint64
	Leaf *Leaf
}

type Inner struct {
	Flag bool
	Deep struct {
		Count int
		Leaf  *Leaf
	}
}

type Pair[K, V any] struct {
	Key   K
	Value V
}

type Shape interface{ Area() int }
type Square struct{ Leaf *Leaf }
type Wide struct {
	Pad  [3]int
	Leaf *Leaf
}

//go:noinline
func (s *Square) Area() int { return 1 }

//go:noinline
func (w Wide) Area() int { return 2 }

type Record struct {
	Base
	Inner    Inner
	Rows     [4][2]*Leaf
	Pairs    [3]Pair[string, *Leaf]
	Text     string
	Any      any
	Shape    Shape
	Slice    []*Leaf
	Generic  *Pair[int, *Leaf]
	Func     func() int
	Atomic   atomic.Pointer[Leaf]
	Anything unsafe.Pointer
}

var record *Record

func buildRecord() {
	r := &Record{}
	record = r
	leafAt(&r.Base.Leaf, ".Base.Leaf")
	leafAt(&r.Inner.Deep.Leaf, ".Inner.Deep.Leaf")
	leafAt(&r.Rows[3][1], ".Rows[3][1]")
	leafAt(&r.Pairs[2].Value, ".Pairs[2].Value")
	r.Pairs[1].Key = newString("pair", 1)
	expect(data(&r.Pairs[1].Key), unsafe.Pointer(&r.Pairs[1].Key),
		".Pairs[1].Key", "string")
	r.Text = newString("text", 1)
	expect(data(&r.Text), unsafe.Pointer(&r.Text), ".Text", "string")
	leaf := newLeaf()
	r.Any = leaf
	expect(unsafe.Pointer(leaf), second(unsafe.Pointer(&r.Any)), ".Any",
		"interface {}")
	square := &Square{}
	r.Shape = square
	expect(unsafe.Pointer(square), second(unsafe.Pointer(&r.Shape)),
		".Shape", "main.Shape")
	leafAt(&square.Leaf, ".Leaf")
	r.Slice = newLeaves(9)
	expect(unsafe.Pointer(&r.Slice[0]), unsafe.Pointer(&r.Slice), ".Slice",
		"[]*main.Leaf")
	for i := range r.Slice {
		expect(unsafe.Pointer(r.Slice[i]), unsafe.Pointer(&r.Slice[i]),
			"["+strconv.Itoa(i)+"]", "*main.Leaf")
	}
	r.Generic = &Pair[int, *Leaf]{}
	expect(unsafe.Pointer(r.Generic), unsafe.Pointer(&r.Generic),
		".Generic", "")
	leafAt(&r.Generic.Value, ".Value")
	leaf = newLeaf()
	r.Atomic.Store(leaf)
	expect(unsafe.Pointer(leaf), nil, ".Atomic", "")
	r.Anything = unsafe.Pointer(newLeaf())
	expect(r.Anything, unsafe.Pointer(&r.Anything), ".Anything",
		"unsafe.Pointer")
}

type Node struct {
	Next *Node
	Leaf *Leaf
}

var list *Node

func buildList() {
	for i := 0; i < 20; i++ {
		node := &Node{Next: list}
		if list != nil {
			expect(unsafe.Pointer(list), unsafe.Pointer(&node.Next),
				".Next", "*main.Node")
		}
		leafAt(&node.Leaf, ".Leaf")
		list = node
	}
}

// Large objects have a malloc header or a type in their span.
type Large struct {
	Pad   [100]uint64
	Bases [50]Base
	Tail  *Leaf
}

var large *Large
var larger []Large

func buildLarge() {
	large = &Large{}
	leafAt(&large.Bases[49].Leaf, ".Bases[49].Leaf")
	leafAt(&large.Tail, ".Tail")
	larger = make([]Large, 40)
	leafAt(&larger[0].Bases[3].Leaf, "[0].Bases[3].Leaf")
	leafAt(&larger[39].Tail, "[39].Tail")
}

// --------------------------------------------------------------- interfaces

var boxed []any
var shapes []Shape

func buildInterfaces() {
	text := newString("boxed", 1)
	boxed = append(boxed, text, Wide{Leaf: newLeaf()}, []*Leaf{newLeaf()})
	expect(data(&text), nil, "", "string")
	at(boxed[1].(Wide).Leaf, ".Leaf")
	for i := range boxed {
		word := second(unsafe.Pointer(&boxed[i]))
		expect(*(*unsafe.Pointer)(word), word, "["+strconv.Itoa(i)+"]",
			"interface {}")
	}
	shapes = append(shapes, Wide{Leaf: newLeaf()})
	at(shapes[0].(Wide).Leaf, ".Leaf")
}

// ----------------------------------------------------------------- closures

var funcs []func() int

//go:noinline
func capture(leaf *Leaf, text string, n int) func() int {
	return func() int { n++; return n + int(leaf.A) + len(text) }
}

func captured(target unsafe.Pointer, name, typ, instead string) {
	expect(target, nil, name, typ)
	hops[len(hops)-1].Instead = instead
}

func buildClosures() {
	funcs = make([]func() int, 0, 4)
	for i := 0; i < 3; i++ {
		leaf, text := newLeaf(), newString("captured", i)
		f := capture(leaf, text, i)
		funcs = append(funcs, f)
		expect(*(*unsafe.Pointer)(unsafe.Pointer(&f)),
			unsafe.Pointer(&funcs[i]), "["+strconv.Itoa(i)+"]", "func() int")
		captured(unsafe.Pointer(leaf), ".leaf", "*main.Leaf", "+0x10")
		captured(data(&text), ".text", "string", "+0x18")
	}
	square := &Square{Leaf: newLeaf()}
	at(square.Leaf, ".Leaf")
	method := square.Area
	funcs = append(funcs, method)
	expect(unsafe.Pointer(square), nil, ".R|..this", "")
}

// ----------------------------------------------------------------- channels

var channels struct {
	leaves  chan *Leaf
	pairs   chan Pair[int, *Leaf]
	turned  chan *Leaf
	emptied chan *Leaf
}

func buildChannels() {
	c := &channels
	c.leaves = make(chan *Leaf, 20)
	c.pairs = make(chan Pair[int, *Leaf], 7)
	c.turned = make(chan *Leaf, 8)
	c.emptied = make(chan *Leaf, 4)
	c.emptied <- newLeaf()
	<-c.emptied
	for i := 0; i < 5; i++ {
		c.turned <- nil
		<-c.turned
	}
	for i := 0; i < 7; i++ {
		index := "[" + strconv.Itoa(i) + "]"
		leaf := newLeaf()
		c.leaves <- leaf
		at(leaf, index)
		leaf = newLeaf()
		c.pairs <- Pair[int, *Leaf]{i, leaf}
		at(leaf, index+".Value")
		leaf = newLeaf()
		c.turned <- leaf
		at(leaf, index)
	}
}

// -------------------------------------------------------------------- maps

type Key struct {
	Text string
	Leaf *Leaf
}
type Level int8
type Name string

// More than 128 bytes: maps keep pointers to such keys and elements.
type Huge struct {
	Pad  [20]uint64
	Leaf *Leaf
}

var (
	texts    map[string]*Leaf
	named    map[Name]Base
	levels   map[Level]*Leaf
	unsigned map[uint64]*Leaf
	bools    map[bool]*Leaf
	floats   map[float64]*Leaf
	anys     map[any]*Leaf
	errors   map[error]*Leaf
	keys     map[Key]*Leaf
	pointers map[*Leaf]int
	sets     map[string]struct{}
	huge     map[Huge]Huge
	wide     map[string]Huge
	numbers  map[int]int
	many     map[int]*Leaf
	manyText map[string]Pair[int, *Leaf]
	grown    []map[int]*Leaf
	generic  Pair[string, map[string]*Leaf]
	nested   map[string]map[int][]*Leaf
	deleted  map[string]*Leaf
	hinted   map[string]*Leaf
)

type failure struct{ text string }

func (f failure) Error() string { return f.text }

type code int

func (c code) Error() string { return "code" }

func entry(key any) (*Leaf, string) {
	leaf := newLeaf()
	name := "$mapval"
	switch v := reflect.ValueOf(key); v.Kind() {
	case reflect.String:
		name = "[" + quote(v.String()) + "]"
	case reflect.Bool:
		name = "[" + strconv.FormatBool(v.Bool()) + "]"
	case reflect.Int, reflect.Int8, reflect.Int64:
		name = "[" + strconv.FormatInt(v.Int(), 10) + "]"
	case reflect.Uint64:
		name = "[" + strconv.FormatUint(v.Uint(), 10) + "]"
	}
	at(leaf, name)
	return leaf, name
}

// quote has no text of more than 64 bytes.
func quote(text string) string {
	if len(text) <= 64 {
		return strconv.Quote(text)
	}
	n := 64
	for n > 0 && text[n]&0xc0 == 0x80 {
		n--
	}
	return strings.TrimSuffix(strconv.Quote(text[:n]), "\"") + "...\""
}

var stringKeys = []string{
	"", "a", "abc", "a.b[1]", "]", "\"", "\\", "\n\t\x00\x1b[31m", "\xff\xfe",
	"ü€😀", "\u202edlrow", "tab\there", strings.Repeat("0123456789", 10),
	strings.Repeat("é", 50), strings.Repeat("x", 64), strings.Repeat("€", 30),
}

func buildMaps() {
	texts = map[string]*Leaf{}
	anys = map[any]*Leaf{}
	for _, key := range stringKeys {
		texts[key], _ = entry(key)
		anys[key], _ = entry(key)
	}
	anys[7], _ = entry(7)
	anys[70000], _ = entry(70000)
	anys[int8(-3)], _ = entry(int8(-3))
	anys[true], _ = entry(true)
	anys[1.5], _ = entry(1.5)
	anys[Level(5)], _ = entry(Level(5))
	errors = map[error]*Leaf{}
	errors[code(-9)], _ = entry(code(-9))
	errors[failure{"no"}], _ = entry(failure{"no"})
	levels = map[Level]*Leaf{}
	for _, l := range []Level{-128, -1, 0, 127} {
		levels[l], _ = entry(l)
	}
	unsigned = map[uint64]*Leaf{}
	for _, u := range []uint64{0, 1 << 63, 1<<64 - 1} {
		unsigned[u], _ = entry(u)
	}
	bools = map[bool]*Leaf{}
	bools[true], _ = entry(true)
	bools[false], _ = entry(false)
	floats = map[float64]*Leaf{}
	floats[1.5], _ = entry(1.5)
	named = map[Name]Base{}
	for _, name := range []Name{"x", "yy"} {
		leaf := newLeaf()
		named[name] = Base{1, leaf}
		at(leaf, "["+strconv.Quote(string(name))+"].Leaf")
	}
	generic.Value = map[string]*Leaf{}
	generic.Value["g"], _ = entry("g")
	buildKeys()
	buildHuge()
	nested = map[string]map[int][]*Leaf{"k": {7: {nil, newLeaf()}}}
	leaves := nested["k"][7]
	expect(unsafe.Pointer(&leaves[0]), nil, "[7]", "[]*main.Leaf")
	at(leaves[1], "[1]")
	deleted = map[string]*Leaf{}
	for i := 0; i < 200; i++ {
		deleted[strconv.Itoa(i)] = newLeaf()
	}
	for i := 0; i < 199; i++ {
		delete(deleted, strconv.Itoa(i))
	}
	at(deleted["199"], "[\"199\"]")
	hinted = make(map[string]*Leaf, 100)
	hinted["h"], _ = entry("h")
}

func buildKeys() {
	keys = map[Key]*Leaf{}
	pointers = map[*Leaf]int{}
	sets = map[string]struct{}{}
	for i := 0; i < 5; i++ {
		key := Key{newString("key", i), newLeaf()}
		keys[key] = newLeaf()
		expect(data(&key.Text), nil, "$mapkey.Text", "string")
		at(key.Leaf, "$mapkey.Leaf")
		at(keys[key], "$mapval")
		leaf := newLeaf()
		pointers[leaf] = i
		at(leaf, "$mapkey")
		text := newString("set", i)
		sets[text] = struct{}{}
		expect(data(&text), nil, "$mapkey", "string")
	}
}

func buildHuge() {
	huge = map[Huge]Huge{}
	wide = map[string]Huge{}
	for i := 0; i < 12; i++ {
		key, value := Huge{Leaf: newLeaf()}, Huge{Leaf: newLeaf()}
		key.Pad[0] = uint64(i)
		huge[key] = value
		at(key.Leaf, ".Leaf")
		at(value.Leaf, ".Leaf")
		value.Leaf = newLeaf()
		wide["w"+strconv.Itoa(i)] = value
		at(value.Leaf, ".Leaf")
	}
}

// Maps of many tables; maps that grow; overflow buckets without pointers.
func buildMany() {
	many = map[int]*Leaf{}
	manyText = map[string]Pair[int, *Leaf]{}
	numbers = map[int]int{}
	for i := 0; i < 8000; i++ {
		numbers[i] = i
		leaf := newLeaf()
		many[i] = leaf
		leaf2 := newLeaf()
		text := "text " + strconv.Itoa(i)
		manyText[text] = Pair[int, *Leaf]{i, leaf2}
		if i%10 == 0 {
			at(leaf, "["+strconv.Itoa(i)+"]")
			at(leaf2, "[\""+text+"\"].Value")
		}
	}
	for n := 1; n < 300; n += 7 {
		m := map[int]*Leaf{}
		for i := 0; i < n; i++ {
			m[i], _ = entry(i)
		}
		grown = append(grown, m)
	}
}

// --------------------------------------------------------------- sync.Map

var syncMap sync.Map
var syncMaps [2]*sync.Map
var pool sync.Pool

// In sync.Map, the value is an interface, which lies in the map's entry or
// behind a pointer, by the release: the truth names both.
func buildSync() {
	for i := 0; i < 300; i++ {
		leaf := newLeaf()
		key := "s" + strconv.Itoa(i)
		syncMap.Store(key, leaf)
		expect(unsafe.Pointer(leaf), nil, "[\""+key+"\"]|", "interface {}")
	}
	for i := range syncMaps {
		syncMaps[i] = &sync.Map{}
		leaf := newLeaf()
		syncMaps[i].Store(i, leaf)
		expect(unsafe.Pointer(leaf), nil, "["+strconv.Itoa(i)+"]|",
			"interface {}")
	}
}

// -------------------------------------------------------------------- roots

var global struct {
	Pad  int
	Leaf *Leaf
	Rows [3]Base
	Any  any
}

func buildRoots() {
	g := &global
	leafAt(&g.Leaf, "main.global.Leaf")
	leafAt(&g.Rows[2].Leaf, "main.global.Rows[2].Leaf")
	leaf := newLeaf()
	g.Any = leaf
	expect(unsafe.Pointer(leaf), second(unsafe.Pointer(&g.Any)),
		"main.global.Any", "interface {}")
}

func main() {
	buildRecord()
	buildList()
	buildLarge()
	buildInterfaces()
	buildClosures()
	buildChannels()
	buildMaps()
	buildMany()
	buildSync()
	buildRoots()
	json.NewEncoder(os.Stdout).Encode(map[string]any{"hops": hops})
	hops = nil
	runtime.GC()
	runtime.GC()
	io.ReadAll(os.Stdin)
	runtime.KeepAlive(&pool)
}
