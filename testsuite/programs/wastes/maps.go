// SPDX-License-Identifier: Apache-2.0

package main

// ---------------------------------------------------------------- sparse-map

type Cache struct {
	ID   int
	byID map[int]int
}

// Some releases keep a map of 8 entries or fewer in another form.
type Small struct {
	ID   int
	tags map[int]int
}

var (
	caches   []*Cache
	smalls   []*Small
	sessions map[string]*Leaf
	churned  map[int]int
	full     map[int]int
)

const (
	peak = 10000 // entries of a map that was emptied
	left = 4
)

//go:noinline
func emptiedMap(highest, low int) map[int]int {
	made := map[int]int{}
	for k := 0; k < highest; k++ {
		made[k] = k
	}
	for k := low; k < highest; k++ {
		delete(made, k)
	}
	return made
}

//go:noinline
func buildCaches(wasteful bool) {
	caches = make([]*Cache, 20)
	for i := range caches {
		highest := left
		if wasteful {
			highest = peak
		}
		caches[i] = &Cache{i, emptiedMap(highest, left)}
	}
}

//go:noinline
func buildSmalls(wasteful bool) {
	smalls = make([]*Small, planted/16)
	for i := range smalls {
		highest := left
		if wasteful {
			highest = 400
		}
		smalls[i] = &Small{i, emptiedMap(highest, left)}
	}
}

//go:noinline
func buildSessions(wasteful bool) {
	sessions = map[string]*Leaf{}
	for i := 0; i < 5*peak && wasteful; i++ {
		sessions[newString("session", i)] = newLeaf()
	}
	for key := range sessions {
		delete(sessions, key)
	}
	for i := 0; i < left; i++ {
		sessions[newString("session", i)] = newLeaf()
	}
}

// A full map wastes nothing.
//
//go:noinline
func buildFull() {
	full = map[int]int{}
	for i := 0; i < 6*1024; i++ {
		full[i] = i
	}
}

func plantSparse() {
	plant("main.Cache", ".byID", 20, buildCaches)
	plant("main.Small", ".tags", planted/16, buildSmalls)
	plant("main.sessions", "", 1, buildSessions)
	buildFull()
	note("main.full", "", 0, 0)
}
