// SPDX-License-Identifier: Apache-2.0

// Elements by constant index and key: what is asked for, and where it lies.
// An address is that of the element, or of what it points to if it is a
// pointer. The values of map entries have no address in Go: all of them are
// pointers, or hold one that tells which entry it is.
package main

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"unsafe"
)

type Account struct {
	Id   uint64
	Leaf *Leaf
	Tags [3]*Leaf
}

type Bank struct {
	accounts []Account
	byName   map[string]*Account
	byId     map[int64]Account
	first    *Account
	rows     [4][2]*Leaf
	table    *[5]Account
	any      any
	small    any
	list     *[]Account
}

type Level int8
type Name string

// More than 128 bytes: a map keeps pointers to such.
type Wide struct {
	Pad  [20]uint64
	Leaf *Leaf
}

var (
	bank     Bank
	pbank    *Bank
	strings_ = []string{"alpha", "a longer one that is on the heap", ""}
	text     string
	empty    []*Leaf
	nothing  map[string]*Leaf
	nilAny   any
	nilPtr   *Bank

	levels   map[Level]*Leaf
	unsigned map[uint64]*Leaf
	bytes_   map[uint8]*Leaf
	runes    map[rune]*Leaf
	bools    map[bool]*Leaf
	names    map[Name]*Leaf
	wides    map[string]Wide
	large    map[int]*Leaf
	texts    map[string]*Leaf
	growing  map[int]*Leaf
	deleted  map[int]*Leaf
	nested   map[string]map[int][]*Leaf
	sets     map[int]struct{}
	anys     map[any]*Leaf
	floats   map[float64]*Leaf
	chans    chan int
)

var places = map[string]uint64{}

func leaf() *Leaf { return newLeaf() }

func at(text string, p unsafe.Pointer) { places[text] = uint64(uintptr(p)) }

func buildBank() {
	bank.accounts = make([]Account, 5, 9)
	for i := range bank.accounts {
		a := &bank.accounts[i]
		a.Id, a.Leaf = uint64(i), leaf()
		a.Tags[1] = leaf()
		index := "[" + strconv.Itoa(i) + "]"
		at("main.bank.accounts"+index, unsafe.Pointer(a))
		at("main.pbank.accounts"+index+".Leaf", unsafe.Pointer(a.Leaf))
		at("main.bank.accounts"+index+".Tags[1]", unsafe.Pointer(a.Tags[1]))
		at("main.bank.list"+index, unsafe.Pointer(a))
	}
	bank.byName = map[string]*Account{}
	for _, key := range keys {
		a := &Account{Leaf: leaf()}
		bank.byName[key] = a
		at("main.bank.byName["+strconv.QuoteToASCII(key)+"]", unsafe.Pointer(a))
		at("main.bank.byName["+strconv.QuoteToASCII(key)+"].Leaf", unsafe.Pointer(a.Leaf))
	}
	bank.byId = map[int64]Account{}
	for _, id := range []int64{0, 1, -1, math.MinInt64, math.MaxInt64} {
		a := Account{Leaf: leaf()}
		bank.byId[id] = a
		at("main.bank.byId["+strconv.FormatInt(id, 10)+"].Leaf", unsafe.Pointer(a.Leaf))
	}
	bank.first = &bank.accounts[0]
	bank.rows[3][1] = leaf()
	at("main.bank.rows[3][1]", unsafe.Pointer(bank.rows[3][1]))
	at("main.bank.rows[0x3][0b1]", unsafe.Pointer(bank.rows[3][1]))
	bank.table = new([5]Account)
	at("main.bank.table[4]", unsafe.Pointer(&bank.table[4]))
	bank.any = bank.table
	at("main.bank.any[2].Tags", unsafe.Pointer(&bank.table[2].Tags))
	bank.small = Account{Leaf: leaf()}
	at("main.bank.small.Leaf", unsafe.Pointer(bank.small.(Account).Leaf))
	bank.list = &bank.accounts
	pbank = &bank
	text = string(make([]byte, 100))
	data := *(*unsafe.Pointer)(unsafe.Pointer(&text))
	at("main.text[99]", unsafe.Add(data, 99))
}

// Keys, some of which look like the text around them.
var keys = []string{
	"", "a", "alpha", "a.b", "a/b.c", "a[1]", "]", "[", "\"", "'", "`", "\\",
	"\n\t\x00", "\xff\xfe", "ü€😀", "true", "1", " ", "a b",
	"a key that is longer than any small buffer of those who look for it: " +
		"0123456789012345678901234567890123456789012345678901234567890123456789" +
		"0123456789012345678901234567890123456789012345678901234567890123456789" +
		"0123456789012345678901234567890123456789012345678901234567890123456789",
}

func buildMaps() {
	levels = map[Level]*Leaf{}
	for _, l := range []Level{-128, -1, 0, 127} {
		levels[l] = leaf()
		at("main.levels["+strconv.Itoa(int(l))+"]", unsafe.Pointer(levels[l]))
	}
	unsigned = map[uint64]*Leaf{}
	for _, u := range []uint64{0, 1 << 63, math.MaxUint64} {
		unsigned[u] = leaf()
		at("main.unsigned["+strconv.FormatUint(u, 10)+"]", unsafe.Pointer(unsigned[u]))
	}
	bytes_ = map[uint8]*Leaf{}
	for i := 0; i < 256; i++ {
		bytes_[uint8(i)] = leaf()
	}
	at("main.bytes_[255]", unsafe.Pointer(bytes_[255]))
	at("main.bytes_['A']", unsafe.Pointer(bytes_['A']))
	at("main.bytes_['\\xff']", unsafe.Pointer(bytes_[255]))
	runes = map[rune]*Leaf{'ü': leaf(), '\'': leaf()}
	at("main.runes['ü']", unsafe.Pointer(runes['ü']))
	at("main.runes['\\'']", unsafe.Pointer(runes['\'']))
	at("main.runes[ 0xfc ]", unsafe.Pointer(runes['ü']))
	bools = map[bool]*Leaf{true: leaf(), false: leaf()}
	at("main.bools[true]", unsafe.Pointer(bools[true]))
	at("main.bools[false]", unsafe.Pointer(bools[false]))
	names = map[Name]*Leaf{"x": leaf()}
	at("main.names[\"x\"]", unsafe.Pointer(names["x"]))
	at("main.names[`x`]", unsafe.Pointer(names["x"]))
	wides = map[string]Wide{}
	for i := 0; i < 40; i++ {
		wides[strconv.Itoa(i)] = Wide{Leaf: leaf()}
	}
	at("main.wides[\"39\"].Leaf", unsafe.Pointer(wides["39"].Leaf))
	nested = map[string]map[int][]*Leaf{"k": {7: {nil, leaf()}}}
	at("main.nested[\"k\"][7][1]", unsafe.Pointer(nested["k"][7][1]))
	sets = map[int]struct{}{1: {}}
	anys = map[any]*Leaf{"a": leaf()}
	floats = map[float64]*Leaf{1: leaf()}
}

func buildLarge() {
	large, texts, deleted = map[int]*Leaf{}, map[string]*Leaf{}, map[int]*Leaf{}
	for i := 0; i < 20000; i++ {
		large[i] = leaf()
		texts["text "+strconv.Itoa(i)] = leaf()
		deleted[i] = leaf()
		if i%97 == 0 {
			at("main.large["+strconv.Itoa(i)+"]", unsafe.Pointer(large[i]))
			at("main.texts[\"text "+strconv.Itoa(i)+"\"]",
				unsafe.Pointer(texts["text "+strconv.Itoa(i)]))
		}
	}
	for i := 0; i < 20000; i++ {
		if i != 12345 {
			delete(deleted, i)
		}
	}
	at("main.deleted[12345]", unsafe.Pointer(deleted[12345]))
	// In the old design: until the header's oldbuckets (at 24) is set.
	growing = map[int]*Leaf{}
	for i := 0; i < 7000; i++ {
		growing[i] = leaf()
		header := *(*unsafe.Pointer)(unsafe.Pointer(&growing))
		if *(*unsafe.Pointer)(unsafe.Add(header, 24)) != nil && i > 3000 {
			break
		}
	}
	for i := 0; i < len(growing); i += 41 {
		at("main.growing["+strconv.Itoa(i)+"]", unsafe.Pointer(growing[i]))
	}
}

func main() {
	buildBank()
	buildMaps()
	buildLarge()
	json.NewEncoder(os.Stdout).Encode(map[string]any{"places": places})
	io.ReadAll(os.Stdin)
	runtime.KeepAlive(empty)
	runtime.KeepAlive(nothing)
	runtime.KeepAlive(strings_)
	runtime.KeepAlive(nilAny)
	runtime.KeepAlive(nilPtr)
	runtime.KeepAlive(chans)
}
