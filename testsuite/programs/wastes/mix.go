// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand"
	"strings"
)

// A Mix has views of all kinds. All that it leads to is known by its type.
type Mix struct {
	flag   bool
	serial uint64
	is     bool
	name   string
	part   string
	data   []byte
	window []byte
	values []int64
	items  []*MixItem
	next   *Mix
	table  map[int]string
	index  map[string]*MixItem
	box    interface{}
	cell   *Leaf
	unused *Leaf
	same   uint32
}

// A MixItem is just too large for its slot.
type MixItem struct {
	id    uint64
	text  string
	owner *Mix
	more  [5]uint64
	zero  uint64
}

type Point struct {
	X, Y, Z float64
}

// A mixer makes random objects; count is how many are left to make.
type mixer struct {
	*rand.Rand
	count int
	texts []string
	last  []*Mix
}

var mixed []*Mix

func newMixer(seed, count int) *mixer {
	m := &mixer{Rand: rand.New(rand.NewSource(int64(seed))), count: count}
	for i := 0; i < 50; i++ {
		m.texts = append(m.texts, newString("mixed", i*i*i))
	}
	return m
}

func newMix(seed, count int) []*Mix {
	m := newMixer(seed, count)
	made := make([]*Mix, 0, count/4)
	for m.count > 0 {
		one := m.mix()
		made = append(made, one)
		m.last = append(m.last, one)
		if len(m.last) > 20 {
			m.last = m.last[10:]
		}
	}
	return made
}

func (m *mixer) takes(n int) {
	m.count -= n
}

// one is true in one of n cases.
func (m *mixer) one(n int) bool {
	return m.Intn(n) == 0
}

// text is an old one, a copy, or a new one.
func (m *mixer) text() string {
	m.takes(1)
	switch m.Intn(4) {
	case 0, 1:
		return strings.Clone(m.texts[m.Intn(len(m.texts))])
	case 2:
		return newString("new", m.Int())
	}
	return newString("long", m.Int()) + strings.Repeat("-", m.Intn(900))
}

func (m *mixer) bytes() []byte {
	m.takes(1)
	size := 16 + m.Intn(200)
	if m.one(40) {
		size = 1000 + m.Intn(60000)
	}
	made := make([]byte, size, size+m.Intn(2)*m.Intn(size))
	if m.one(3) {
		copy(made, m.texts[m.Intn(len(m.texts))])
	} else {
		m.Read(made)
	}
	return made
}

func (m *mixer) numbers() (made []int64) {
	m.takes(1)
	for i := m.Intn(40); i >= 0; i-- {
		made = append(made, m.Int63())
	}
	if m.one(4) {
		made = made[len(made)/3:]
	}
	return made
}

func (m *mixer) item(owner *Mix) *MixItem {
	m.takes(1)
	made := &MixItem{id: m.Uint64(), owner: owner}
	fill(made.more[:], m.Intn(1<<20))
	if m.one(2) {
		made.text = m.text()
	}
	return made
}

func (m *mixer) items(owner *Mix) []*MixItem {
	m.takes(1)
	made := make([]*MixItem, 0, 1+m.Intn(100))
	for i := m.Intn(4); i >= 0 && len(made) < cap(made); i-- {
		made = append(made, m.item(owner))
	}
	return made
}

func (m *mixer) maps(to *Mix) {
	if m.one(10) {
		to.table = map[int]string{}
		peak := m.Intn(60)
		for i := 0; i < peak; i++ {
			to.table[i] = m.texts[i%len(m.texts)]
		}
		for i := m.Intn(60); i < peak; i++ {
			delete(to.table, i)
		}
	}
	if m.one(20) {
		to.index = map[string]*MixItem{}
		for i := m.Intn(20); i > 0; i-- {
			to.index[m.text()] = m.item(to)
		}
	}
}

// views cuts pieces out of arrays, some of which nothing else holds.
func (m *mixer) views(to *Mix) {
	if m.one(3) {
		whole := m.text()
		from := m.Intn(len(whole))
		to.part = whole[from : from+m.Intn(len(whole)-from)]
		if m.one(3) {
			to.name = whole
		}
		if m.one(5) {
			to.name = whole[:m.Intn(len(whole))]
		}
	}
	if m.one(3) {
		whole := m.bytes()
		from := m.Intn(len(whole))
		most := from + m.Intn(cap(whole)-from)
		to.window = whole[from : from+m.Intn(most-from+1) : most]
		if m.one(3) {
			to.data = whole
		}
	}
}

func (m *mixer) mix() *Mix {
	m.takes(1)
	made := &Mix{serial: m.Uint64(), flag: m.one(2), is: m.one(2), same: 12}
	m.views(made)
	if made.name == "" && m.one(2) {
		made.name = m.text()
	}
	if made.data == nil && m.one(3) {
		made.data = m.bytes()
	}
	if m.one(4) {
		made.values = m.numbers()
	}
	if m.one(6) {
		made.items = m.items(made)
	}
	m.maps(made)
	switch m.Intn(8) {
	case 0:
		made.box = Point{m.Float64(), m.Float64(), 3}
		m.takes(1)
	case 1:
		made.box = m.item(made)
	case 2:
		made.cell = &make([]Leaf, 1+m.Intn(30))[0]
		m.takes(1)
	}
	if len(m.last) > 0 && m.one(2) {
		made.next = m.last[m.Intn(len(m.last))]
	}
	if len(m.last) > 0 && m.one(10) {
		other := m.last[m.Intn(len(m.last))]
		made.name, made.window = other.name, other.window
	}
	return made
}
