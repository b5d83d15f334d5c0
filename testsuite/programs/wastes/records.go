// SPDX-License-Identifier: Apache-2.0

package main

// Types whose objects waste bytes: each has, as Go has no fields that come and
// go, a twin that does not.

// ------------------------------------------------------------ constant-field

// Without Unused, 64 bytes are enough. The others differ in each object.
type Event struct {
	ID     uint64
	Unused uint64
	Rest   [7]uint64
}

type eventTwin struct {
	ID   uint64
	Rest [7]uint64
}

// The same with a pointer that is always nil.
type Entry struct {
	ID     uint64
	Leaf   *Leaf
	Parent *Entry
	Rest   [6]uint64
}

type entryTwin struct {
	ID   uint64
	Leaf *Leaf
	Rest [6]uint64
}

// One value in all of them.
type Versioned struct {
	Version uint64
	Rest    [8]uint64
}

type versionedTwin struct {
	Rest [8]uint64
}

var (
	events         []*Event
	eventTwins     []*eventTwin
	entries        []*Entry
	entryTwins     []*entryTwin
	versioned      []*Versioned
	versionedTwins []*versionedTwin
)

func fill(words []uint64, i int) {
	for k := range words {
		words[k] = uint64(i*len(words) + k + 1)
	}
}

//go:noinline
func buildEvents(wasteful bool) {
	events, eventTwins = nil, make([]*eventTwin, planted)
	if wasteful {
		events, eventTwins = make([]*Event, planted), nil
	}
	for i := 0; i < planted; i++ {
		if wasteful {
			events[i] = &Event{ID: uint64(i)}
			fill(events[i].Rest[:], i)
		} else {
			eventTwins[i] = &eventTwin{ID: uint64(i)}
		}
	}
}

//go:noinline
func buildEntries(wasteful bool) {
	entries, entryTwins = nil, make([]*entryTwin, planted)
	if wasteful {
		entries, entryTwins = make([]*Entry, planted), nil
	}
	leaves := [2]*Leaf{newLeaf(), newLeaf()}
	for i := 0; i < planted; i++ {
		leaf := leaves[i%2]
		if wasteful {
			entries[i] = &Entry{ID: uint64(i), Leaf: leaf}
			fill(entries[i].Rest[:], i)
		} else {
			entryTwins[i] = &entryTwin{ID: uint64(i), Leaf: leaf}
		}
	}
}

//go:noinline
func buildVersioned(wasteful bool) {
	versioned, versionedTwins = nil, make([]*versionedTwin, planted)
	if wasteful {
		versioned, versionedTwins = make([]*Versioned, planted), nil
	}
	for i := 0; i < planted; i++ {
		if wasteful {
			versioned[i] = &Versioned{Version: 7}
			fill(versioned[i].Rest[:], i)
		} else {
			versionedTwins[i] = new(versionedTwin)
		}
	}
}

func plantConstant() {
	plant("main.Event", ".Unused", planted, buildEvents)
	plant("main.Entry", ".Parent", planted, buildEntries)
	plant("main.Versioned", ".Version", planted, buildVersioned)
}

// ---------------------------------------------------------------- size-class

// 1032 bytes take 1152; with one word less they would take 1024.
type Large struct {
	Words [129]uint64
}

type largeTwin struct {
	Words [128]uint64
}

var (
	larges     []*Large
	largeTwins []*largeTwin
)

//go:noinline
func buildLarge(wasteful bool) {
	larges, largeTwins = nil, make([]*largeTwin, planted)
	if wasteful {
		larges, largeTwins = make([]*Large, planted), nil
	}
	for i := 0; i < planted; i++ {
		if wasteful {
			larges[i] = new(Large)
			fill(larges[i].Words[:], i)
		} else {
			largeTwins[i] = new(largeTwin)
		}
	}
}

func plantSizeClass() {
	plant("main.Large", "", planted, buildLarge)
}

// --------------------------------------------------------------- field-order

// 48 bytes, of which 21 are padding.
type Padded struct {
	A bool
	B uint64
	C bool
	D uint64
	E bool
	F uint64
}

type paddedTwin struct {
	B, D, F uint64
	A, C, E bool
}

// Arrays of such values.
type PaddedRow struct {
	A uint32
	B uint64
	C uint32
	D uint64
}

type paddedRowTwin struct {
	B, D uint64
	A, C uint32
}

// Fields that a caller sees can move, too: those with pointers.
type PaddedLinks struct {
	A    uint32
	Leaf *Leaf
	B    uint32
	Next *Leaf
	C    uint32
	ID   uint64
	D    uint32
	Last uint64
	E    uint16
	More uint64
}

type paddedLinksTwin struct {
	Leaf, Next     *Leaf
	ID, Last, More uint64
	A, B, C, D     uint32
	E              uint16
}

var (
	padded           []*Padded
	paddedTwins      []*paddedTwin
	paddedLinks      []*PaddedLinks
	paddedLinksTwins []*paddedLinksTwin
	paddedRows       [][]PaddedRow
	paddedRowTwins   [][]paddedRowTwin
)

//go:noinline
func buildPadded(wasteful bool) {
	padded, paddedTwins = nil, make([]*paddedTwin, planted)
	if wasteful {
		padded, paddedTwins = make([]*Padded, planted), nil
	}
	for i := 0; i < planted; i++ {
		n, is := uint64(i), i%2 == 0
		if wasteful {
			padded[i] = &Padded{is, n, is, n, is, n}
		} else {
			paddedTwins[i] = &paddedTwin{n, n, n, is, is, is}
		}
	}
}

//go:noinline
func buildPaddedLinks(wasteful bool) {
	paddedLinks, paddedLinksTwins = nil, make([]*paddedLinksTwin, planted)
	if wasteful {
		paddedLinks, paddedLinksTwins = make([]*PaddedLinks, planted), nil
	}
	leaves := [2]*Leaf{newLeaf(), newLeaf()}
	for i := 0; i < planted; i++ {
		if wasteful {
			n, m := uint32(i), uint64(i)
			paddedLinks[i] = &PaddedLinks{n, leaves[i%2], n, leaves[i/2%2], n,
				m, n, m, uint16(i), m}
		} else {
			paddedLinksTwins[i] = new(paddedLinksTwin)
		}
	}
}

//go:noinline
func buildPaddedRows(wasteful bool) {
	paddedRows, paddedRowTwins = nil, make([][]paddedRowTwin, 200)
	if wasteful {
		paddedRows, paddedRowTwins = make([][]PaddedRow, 200), nil
	}
	for i := 0; i < 200; i++ {
		if !wasteful {
			paddedRowTwins[i] = make([]paddedRowTwin, 128)
			continue
		}
		paddedRows[i] = make([]PaddedRow, 128)
		for k := range paddedRows[i] {
			n := uint64(i*128 + k)
			paddedRows[i][k] = PaddedRow{uint32(n), n, uint32(n), n}
		}
	}
}

func plantOrder() {
	plant("main.Padded", "", planted, buildPadded)
	plant("main.PaddedLinks", "", planted, buildPaddedLinks)
	plant("main.PaddedRow", "", 0, buildPaddedRows)
	optional()
}
