// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"strings"
)

// Small values at random: in interfaces, behind pointers, in arrays of one
// element and in maps. The tiny allocator puts several into one block, with
// strings beside them.

// A Tag fits its slot.
type Tag struct {
	ID    uint64
	Value interface{}
	Text  string
}

// An Item would need a larger slot for some values.
type Item struct {
	Count *int32
	Flag  *bool
	Leaf  *Leaf
	Pair  *Pair
	next  *Item
	Label string
	Array *[3]byte
}

// An Either may reach a value by more than one of its fields.
type Either struct {
	ID    uint64
	Value interface{}
	Count *int32
}

// A Group has slices and maps, most of which are small.
type Group struct {
	Items []*Item
	Bytes []byte
	Sizes []int64
	Wide  []Wide
	Any   []interface{}
	Index map[int]int64
	Names map[string]interface{}
}

// Wide is wider than a slice.
type Wide struct {
	name  string
	sizes [4]int64
}

var (
	tags    []*Tag
	items   []*Item
	eithers []*Either
	groups  []*Group
)

// value is one that an interface holds: most of them in a box.
func (m *mixer) value() interface{} {
	m.takes(1)
	switch m.Intn(10) {
	case 0:
		return 1000 + m.Intn(1<<40)
	case 1:
		return int32(1000 + m.Intn(1<<20))
	case 2:
		return m.one(2)
	case 3:
		return m.Float64()
	case 4:
		return Pair{m.Float64(), 2}
	case 5:
		return m.shortText()
	case 6:
		return [3]byte{1, byte(m.Intn(256)), 3}
	case 7:
		return uint16(1000 + m.Intn(1<<15))
	case 8:
		return Wide{name: m.shortText()}
	}
	count := int32(m.Intn(1 << 20))
	return &count
}

// shortText is a string that shares a block, or is longer.
func (m *mixer) shortText() string {
	m.takes(1)
	return strings.Repeat("t", m.Intn(8)) + strconv.Itoa(m.Intn(1<<24))
}

func (m *mixer) tag() *Tag {
	m.takes(1)
	made := &Tag{ID: m.Uint64()}
	if m.one(3) {
		made.Text = m.shortText()
	}
	made.Value = m.value()
	if len(tags) > 0 && m.one(10) {
		made.Value = tags[m.Intn(len(tags))].Value
	}
	return made
}

func (m *mixer) item32() *int32 {
	m.takes(1)
	made := new(int32)
	*made = int32(m.Intn(1 << 20))
	return made
}

func (m *mixer) tinyItem() *Item {
	m.takes(1)
	made := &Item{}
	if m.one(2) {
		made.Count = m.item32()
	}
	if m.one(2) {
		made.Flag = new(bool)
	}
	if m.one(3) {
		made.Leaf = newLeaf()
	}
	if m.one(3) {
		made.Pair = &Pair{m.Float64(), 1}
	}
	if m.one(3) {
		made.Label = m.shortText()
	}
	if m.one(4) {
		made.Array = new([3]byte)
	}
	if len(items) > 0 && m.one(5) {
		made.next = items[m.Intn(len(items))]
	}
	if len(items) > 0 && m.one(8) {
		other := items[m.Intn(len(items))]
		made.Count, made.Pair = other.Count, other.Pair
	}
	return made
}

func (m *mixer) either() *Either {
	m.takes(1)
	made := &Either{ID: m.Uint64(), Value: m.value()}
	if m.one(2) {
		made.Count = m.item32()
	}
	return made
}

// room is how many elements a slice has room for: often one.
func (m *mixer) room() int {
	m.takes(1)
	if m.one(3) {
		return 1 + m.Intn(4)
	}
	return 1
}

func (m *mixer) slices(to *Group) {
	if n := m.room(); m.one(2) {
		to.Items = append(make([]*Item, 0, n), m.tinyItem())
	}
	if n := m.room(); m.one(2) {
		to.Bytes = make([]byte, n)
	}
	if n := m.room(); m.one(2) {
		to.Sizes = make([]int64, m.Intn(n+1), n)
	}
	if n := m.room(); m.one(3) {
		to.Wide = make([]Wide, n)
	}
	if n := m.room(); m.one(2) {
		to.Any = make([]interface{}, n)
		to.Any[0] = m.value()
	}
}

func (m *mixer) smallMaps(to *Group) {
	if m.one(2) {
		m.takes(1)
		to.Index = map[int]int64{}
		for i := m.Intn(4); i > 1; i-- {
			to.Index[i] = 1
		}
	}
	if m.one(3) {
		m.takes(1)
		to.Names = map[string]interface{}{}
		for i := m.Intn(4); i > 0; i-- {
			to.Names[strconv.Itoa(i)] = m.value()
		}
	}
}

func (m *mixer) smallValues() {
	switch m.Intn(4) {
	case 0:
		tags = append(tags, m.tag())
	case 1:
		items = append(items, m.tinyItem())
	case 2:
		eithers = append(eithers, m.either())
	case 3:
		m.takes(1)
		made := &Group{}
		m.slices(made)
		m.smallMaps(made)
		groups = append(groups, made)
	}
}
