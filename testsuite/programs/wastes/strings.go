// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

const (
	planted   = 16000
	different = 40 // texts
)

// Each struct holds its text in another way.
type Named struct {
	ID   int
	Name string
}

type Tagged struct {
	ID  int
	Tag []byte
}

// Four of these have one array: it counts once.
type Shared struct {
	ID   int
	Text string
}

// Part is a piece of Whole: a common array for Whole would free nothing.
type Cut struct {
	ID          int
	Whole, Part string
}

// An array is no slice: the program may change its bytes, and no intern table
// takes it.
type Fixed struct {
	ID   int
	data *[64]byte
}

// Structs in structs, in slices and in maps.
type Outer struct {
	ID    int
	inner Inner
}

type Inner struct {
	ID   int
	Name string
}

type Row struct {
	ID   int
	Name string
}

type Entity struct {
	ID   int
	Name string
}

type Grid struct {
	Names [4]string
}

type Table struct {
	labels map[int]string
	words  []string
}

var (
	texts  []string
	named  []*Named
	tagged []*Tagged
	shared []*Shared
	cut    []*Cut
	fixed  []*Fixed
	outers []*Outer
	sheet  []Row
	byID   map[int]Entity
	grids  []*Grid
	table  *Table
	lines  []string
)

// textOf is the text number i: a new one, or one that all others share.
//
//go:noinline
func textOf(i int, isNew bool) string {
	text := texts[i%different]
	if isNew {
		text = strings.Clone(text)
	}
	return text
}

//go:noinline
func bytesOf(i int) []byte {
	text := texts[i%different]
	made := make([]byte, len(text))
	copy(made, text)
	return made
}

func makeTexts(prefix string) {
	texts = make([]string, different)
	for i := range texts {
		texts[i] = newString(prefix, i)
	}
}

//go:noinline
func buildNamed(wasteful bool) {
	named = make([]*Named, planted)
	for i := range named {
		named[i] = &Named{i, textOf(i, wasteful || i < different)}
		if !wasteful && i >= different {
			named[i].Name = named[i%different].Name
		}
	}
}

//go:noinline
func buildTagged(wasteful bool) {
	tagged = make([]*Tagged, planted)
	for i := range tagged {
		tagged[i] = &Tagged{ID: i}
		if wasteful || i < different {
			tagged[i].Tag = bytesOf(i)
		} else {
			tagged[i].Tag = tagged[i%different].Tag
		}
	}
}

//go:noinline
func buildShared(wasteful bool) {
	shared = make([]*Shared, planted)
	for i := range shared {
		shared[i] = &Shared{ID: i}
		switch {
		case i%4 != 0:
			shared[i].Text = shared[i-1].Text
		case wasteful || i < 4*different:
			shared[i].Text = textOf(i/4, true)
		default:
			shared[i].Text = shared[i%(4*different)].Text
		}
	}
}

//go:noinline
func buildCut(bool) {
	cut = make([]*Cut, planted/2)
	for i := range cut {
		whole := textOf(i, true)
		cut[i] = &Cut{i, whole, whole[4:20]}
	}
}

//go:noinline
func buildFixed() {
	fixed = make([]*Fixed, planted)
	for i := range fixed {
		fixed[i] = &Fixed{i, new([64]byte)}
	}
}

//go:noinline
func buildLabels(wasteful bool) {
	labels := make(map[int]string, planted)
	for i := 0; i < planted; i++ {
		if wasteful || i < different {
			labels[i] = textOf(i, true)
		} else {
			labels[i] = labels[i%different]
		}
	}
	table.labels = labels
}

//go:noinline
func buildWords(to *[]string, wasteful bool) {
	words := make([]string, planted)
	for i := range words {
		if wasteful || i < different {
			words[i] = textOf(i, true)
		} else {
			words[i] = words[i%different]
		}
	}
	*to = words
}

// equal is the text number i: a new one, or that of the first with it.
//
//go:noinline
func equal(i int, wasteful bool, first func(i int) string) string {
	if wasteful || i < different {
		return textOf(i, true)
	}
	return first(i % different)
}

//go:noinline
func buildOuters(wasteful bool) {
	outers = make([]*Outer, planted)
	for i := range outers {
		text := equal(i, wasteful, func(i int) string {
			return outers[i].inner.Name
		})
		outers[i] = &Outer{i, Inner{i, text}}
	}
}

//go:noinline
func buildSheet(wasteful bool) {
	sheet = make([]Row, planted)
	for i := range sheet {
		text := equal(i, wasteful, func(i int) string {
			return sheet[i].Name
		})
		sheet[i] = Row{i, text}
	}
}

//go:noinline
func buildByID(wasteful bool) {
	byID = make(map[int]Entity, planted)
	for i := 0; i < planted; i++ {
		text := equal(i, wasteful, func(i int) string {
			return byID[i].Name
		})
		byID[i] = Entity{i, text}
	}
}

//go:noinline
func buildGrids(wasteful bool) {
	grids = make([]*Grid, planted/4)
	for i := range grids {
		grids[i] = new(Grid)
		for k := range grids[i].Names {
			grids[i].Names[k] = equal(4*i+k, wasteful, func(i int) string {
				return grids[i/4].Names[i%4]
			})
		}
	}
}

// plantDuplicates: other texts for each field, as a common array of two fields
// would be another change.
func plantDuplicates() {
	makeTexts("name")
	plant("main.Named", ".Name", planted, buildNamed)
	makeTexts("tag")
	plant("main.Tagged", ".Tag", planted, buildTagged)
	makeTexts("shared")
	plant("main.Shared", ".Text", planted/4, buildShared)
	makeTexts("cut")
	plant("main.Cut", ".Whole|.Part", 0, buildCut)
	buildFixed()
	note("main.Fixed", ".data", 0, 0)
	makeTexts("inner")
	plant("main.Outer|main.Inner", ".inner.Name|.Name", planted, buildOuters)
	makeTexts("row")
	plant("main.Row|main.sheet", ".Name|[].Name", planted, buildSheet)
	makeTexts("entity")
	plant("main.Entity|main.byID", ".Name|[].Name", planted, buildByID)
	makeTexts("grid")
	plant("main.Grid", ".Names", planted, buildGrids)
	table = new(Table)
	makeTexts("label")
	plant("main.Table", ".labels", planted, buildLabels)
	makeTexts("word")
	plant("main.Table", ".words", planted, func(wasteful bool) {
		buildWords(&table.words, wasteful)
	})
	makeTexts("line")
	plant("main.lines", "", planted, func(wasteful bool) {
		buildWords(&lines, wasteful)
	})
	texts = nil
}

// Equal has one text in all objects.
type Equal struct {
	Text string
}

const equals = 400_000

var equalRows []Equal

// plantEqual: as many objects of one text as no table of other texts has room
// for. Each but one could be gone; a slot of 32 bytes has 32 letters.
func plantEqual() {
	equalRows = make([]Equal, equals)
	for i := range equalRows {
		equalRows[i].Text = strings.Repeat("e", 32)
	}
	note("main.equalRows|main.Equal", "[].Text|.Text", 32*(equals-1), equals-1)
}
