// SPDX-License-Identifier: Apache-2.0

// Objects whose order by what they keep alive is known: shelves that differ,
// twins that do not, a list, an object with many fields, one that many refer
// to, and maps whose keys are secret.
package main

import (
	"os"
	"runtime"
	"strconv"
	"unsafe"
)

const (
	shelfCount = 40
	twinCount  = 30
	listLength = 60
	userCount  = 11
	unitCount  = 100
	pageBytes  = 8192
)

// A shelf keeps so many pages alive as its number says.
type shelf struct {
	number int
	books  []byte
}

// All twins are alike.
type twin struct {
	words [8]uint64
}

type node struct {
	next *node
	load *[64]byte
}

// The fields of a wide are larger from one to the next.
type wide struct {
	A, B, C, D, E, F, G, H, I, J, K, L, M, N []byte
	Same                                     *shelf
}

// All users refer to one common, and the later ones keep more.
type common struct {
	words [16]uint64
}

type user struct {
	Common *common
	own    []byte
}

// A unit is held in three places.
type unit struct {
	words [4]uint64
}

type record struct {
	words [6]uint64
}

var (
	shelves [shelfCount]*shelf
	twins   []*twin
	list    *node
	broad   *wide
	shared  *common
	users   []*user
	first   []*unit
	second  []*unit
	byName  map[string]*record
	byID    map[int64]*record
	grid    map[int64][2]*record
)

func fillShelves() {
	for i := range shelves {
		shelves[i] = &shelf{i, make([]byte, (i+1)*pageBytes)}
		where("shelf-"+strconv.Itoa(i), unsafe.Pointer(shelves[i]))
	}
}

func fillTwins() {
	twins = make([]*twin, twinCount)
	for i := range twins {
		twins[i] = new(twin)
		where("twin-"+strconv.Itoa(i), unsafe.Pointer(twins[i]))
	}
}

// The last node is the first of the list.
func fillList() {
	for i := listLength - 1; i >= 0; i-- {
		list = &node{list, new([64]byte)}
		where("node-"+strconv.Itoa(i), unsafe.Pointer(list))
	}
}

func fillBroad() {
	broad = &wide{Same: shelves[0]}
	fields := []*[]byte{&broad.A, &broad.B, &broad.C, &broad.D, &broad.E,
		&broad.F, &broad.G, &broad.H, &broad.I, &broad.J, &broad.K,
		&broad.L, &broad.M, &broad.N}
	for i, field := range fields {
		*field = make([]byte, (i+2)*pageBytes)
	}
	where("wide", unsafe.Pointer(broad))
}

func fillUsers() {
	shared = new(common)
	where("common", unsafe.Pointer(shared))
	users = make([]*user, userCount)
	for i := range users {
		users[i] = &user{shared, make([]byte, (i+1)*pageBytes)}
		where("user-"+strconv.Itoa(i), unsafe.Pointer(users[i]))
	}
}

//go:noinline
func fillUnits(count int) []*unit {
	units := make([]*unit, count)
	for i := range units {
		units[i] = new(unit)
	}
	return units
}

// fillMaps takes the keys from the arguments: the program's text has none.
func fillMaps(name string, id int64) {
	byName, byID = map[string]*record{}, map[int64]*record{}
	grid = map[int64][2]*record{}
	for i := int64(0); i < 20; i++ {
		byName[name+strconv.FormatInt(i, 10)] = new(record)
		byID[id+i] = new(record)
		grid[id+i] = [2]*record{new(record), new(record)}
	}
}

func keepUnits(ready, stop chan bool) {
	local := fillUnits(unitCount)
	ready <- true
	<-stop
	runtime.KeepAlive(local)
}

func main() {
	ready, stop := make(chan bool), make(chan bool)
	id, err := strconv.ParseInt(os.Args[2], 10, 64)
	check(err)
	fillShelves()
	fillTwins()
	fillList()
	fillBroad()
	fillUsers()
	fillMaps(os.Args[1], id)
	first, second = fillUnits(3*unitCount), fillUnits(2*unitCount)
	go keepUnits(ready, stop)
	<-ready
	allParked()
	tell()
	wait()
	stop <- true
}
