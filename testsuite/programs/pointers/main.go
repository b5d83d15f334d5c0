// SPDX-License-Identifier: Apache-2.0

// A hundred thousand objects with every kind of pointer in them, and the
// runtime's own dump of that heap in the file `dump`: it lists the pointers of
// each object by the masks of the collector.
package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// A rng is xorshift64*: the same heap in every run.
type rng uint64

func (r *rng) below(n int) int {
	*r ^= *r >> 12
	*r ^= *r << 25
	*r ^= *r >> 27
	return int(uint64(*r*2685821657736338717) >> 33 % uint64(n))
}

type Node struct {
	Next    *Node
	Payload *Leaf
	Name    string
}

type Tree struct {
	Left, Right, Parent *Tree
	Value               any
}

// Mixed has pointers and numbers in turns, and is larger than 512 bytes.
type Mixed struct {
	Id    uint64
	Slots [40]struct {
		N    int
		Leaf *Leaf
		Any  any
	}
	Names [4]string
}

// A Web points to anything, itself included.
type Web struct {
	To   [4]*Web
	Any  any
	Part *uint64
	Word [2]uint64
}

type Shape interface{ Area() int }
type Square struct{ side *Leaf }
type Disc struct{ radius int }

func (s *Square) Area() int { return int(s.side.A) }
func (d Disc) Area() int    { return d.radius }

type wideValue struct {
	Leaves [30]*Leaf
}

var (
	random = rng(20240229)

	pList     *Node
	pTrees    [3]*Tree
	pWebs     []*Web
	pMixed    []*Mixed
	pShapes   []Shape
	pBoxes    []any
	pCalls    []func() int
	pMethods  []func() int
	pInterior []**Leaf
	pLarge    [][]*Leaf
	pRecords  []Mixed
	pMatrix   *[3000][64]*Leaf

	pMapSmall   map[string]*Leaf
	pMapLarge   map[string]*Leaf
	pMapGrowing []map[string]*Leaf
	pMapKeys    map[*Leaf]*Leaf
	pMapWide    map[int]wideValue
	pMapAny     map[any]any
	pMapMaps    map[string]map[int]*Leaf
	pMapDeleted map[string]*Leaf
	pMapSync    *sync.Map

	pPipe    chan *Leaf
	pPairs   chan Node
	pPlain   chan *Leaf
	pFull    chan *Leaf
	pTimer   *time.Timer
	pContext context.Context
	pCancel  context.CancelFunc
)

func buildLists() {
	for i := 0; i < 10000; i++ {
		pList = &Node{pList, newLeaf(), newString("node", i)}
	}
	for i := range pTrees {
		pTrees[i] = newTree(nil, 10)
	}
	// Two trees share a branch, whose parent is in a third one.
	pTrees[0].Left.Left = pTrees[2].Right
	pTrees[1].Right.Left = pTrees[2].Right
}

func newTree(parent *Tree, depth int) *Tree {
	t := &Tree{Parent: parent}
	if depth == 0 {
		t.Value = newLeaf()
		return t
	}
	t.Left = newTree(t, depth-1)
	t.Right = newTree(t, depth-1)
	if random.below(3) == 0 {
		t.Value = random.below(1 << 30)
	}
	return t
}

// A random graph with loops and parallel edges. What only a half of it keeps
// is lost again and again: retained sizes are of every magnitude.
func buildWebs() {
	webs := make([]*Web, 20000)
	for i := range webs {
		webs[i] = new(Web)
	}
	for i, w := range webs {
		for j := 0; j < 1+random.below(3); j++ {
			w.To[j] = webs[random.below(len(webs))]
		}
		if random.below(2) == 0 {
			w.To[3] = webs[i/2]
		}
		w.Word[0] = uint64(i)
		switch random.below(6) {
		case 0:
			w.Any = webs[random.below(i+1)]
		case 1:
			w.Any = newLeaf()
		case 2:
			w.Part = &webs[random.below(len(webs))].Word[1]
		}
	}
	for i := 0; i < 40; i++ {
		pWebs = append(pWebs, webs[random.below(len(webs))])
	}
	pWebs = append(pWebs, webs[len(webs)-1])
}

func buildLarge() {
	for i := 0; i < 200; i++ {
		m := &Mixed{Id: uint64(i)}
		for j := range m.Slots {
			m.Slots[j].Leaf = newLeaf()
			if j%5 == 0 {
				m.Slots[j].Any = m
			}
		}
		m.Names[i%4] = newString("mixed", i)
		pMixed = append(pMixed, m)
	}
	// Arrays of 512 bytes, with headers, of a span, over 32 kB, over 1 MB.
	for _, n := range []int{64, 65, 500, 4096, 4097, 5000, 140000, 200000} {
		list := make([]*Leaf, n)
		for i := 0; i < n; i += 1 + n/300 {
			list[i] = newLeaf()
		}
		list[n-1] = list[0]
		pLarge = append(pLarge, list, list[n/2:])
	}
	pRecords = make([]Mixed, 900)
	for i := range pRecords {
		pRecords[i].Slots[i%40].Any = &pRecords[(i*7)%900].Slots[3]
		pRecords[i].Slots[39].Leaf = newLeaf()
		pRecords[i].Names[3] = newString("record", i)
	}
	pMatrix = new([3000][64]*Leaf)
	for i := range pMatrix {
		pMatrix[i][i%64] = newLeaf()
	}
}

//go:noinline
func adder(leaf *Leaf, n int, rest ...*Leaf) func() int {
	return func() int { return int(leaf.A) + n + len(rest) }
}

func buildCalls() {
	for i := 0; i < 500; i++ {
		pCalls = append(pCalls, adder(newLeaf(), i, newLeaf(), nil))
		s := &Square{newLeaf()}
		pShapes = append(pShapes, s, Disc{i})
		pMethods = append(pMethods, s.Area, Shape(Disc{i}).Area)
		pBoxes = append(pBoxes, i+1000, newString("box", i), s, [2]*Leaf{
			newLeaf(), nil}, Node{Payload: s.side}, pCalls[i])
		pInterior = append(pInterior, &pMixed[i%200].Slots[i%40].Leaf)
	}
}

func fill(m map[string]*Leaf, n int) map[string]*Leaf {
	for i := 0; i < n; i++ {
		m[newString("key", i)] = newLeaf()
	}
	return m
}

func buildMaps() {
	pMapSmall = fill(make(map[string]*Leaf), 6)
	pMapLarge = fill(make(map[string]*Leaf), 5000)
	// In the old design, some are in the middle of growing.
	for n := 100; n < 3000; n = n*9/8 + 1 {
		pMapGrowing = append(pMapGrowing,
			fill(make(map[string]*Leaf), n))
	}
	pMapKeys = make(map[*Leaf]*Leaf)
	pMapWide = make(map[int]wideValue)
	pMapAny = make(map[any]any)
	pMapMaps = make(map[string]map[int]*Leaf)
	for i := 0; i < 300; i++ {
		pMapKeys[newLeaf()] = newLeaf()
		pMapWide[i] = wideValue{[30]*Leaf{3: newLeaf()}}
		pMapAny[newString("any", i)] = Disc{i}
		pMapAny[i] = newLeaf()
		inner := make(map[int]*Leaf)
		for j := 0; j < i%40; j++ {
			inner[j] = newLeaf()
		}
		pMapMaps[newString("outer", i)] = inner
	}
	pMapDeleted = fill(make(map[string]*Leaf), 1000)
	for i := 0; i < 1000; i += 2 {
		delete(pMapDeleted, newString("key", i))
	}
	pMapSync = new(sync.Map)
	for i := 0; i < 2000; i++ {
		pMapSync.Store(i, newLeaf())
	}
	for i := 0; i < 2000; i += 3 {
		pMapSync.Delete(i)
		pMapSync.Load(i + 1)
	}
}

//go:noinline
func receive(leaves []*Leaf, ready chan bool) {
	ready <- true
	leaf := <-pPlain
	leaves[0].A += leaf.A
}

//go:noinline
func send(node *Node, ready chan bool) {
	ready <- true
	pFull <- node.Payload
	node.Next = nil
}

//go:noinline
func choose(node *Node, ready chan bool) {
	ready <- true
	select {
	case leaf := <-pPlain:
		node.Payload = leaf
	case pFull <- node.Payload:
		node.Next = nil
	}
}

func buildWaits() {
	pPipe = make(chan *Leaf, 1000)
	pPairs = make(chan Node, 100)
	for i := 0; i < 700; i++ {
		pPipe <- newLeaf()
	}
	// The ring buffer has turned: what was received is cleared.
	for i := 0; i < 150; i++ {
		if len(pPairs) == cap(pPairs) {
			<-pPairs
		}
		pPairs <- Node{Payload: newLeaf(), Name: newString("pair", i)}
	}
	pPlain = make(chan *Leaf)
	pFull = make(chan *Leaf, 1)
	pFull <- newLeaf()
	ready := make(chan bool)
	for i := 0; i < 20; i++ {
		go receive(newLeaves(50), ready)
		go send(&Node{Payload: newLeaf()}, ready)
		go choose(&Node{Payload: newLeaf()}, ready)
		<-ready
		<-ready
		<-ready
	}
	held := newLeaves(3000)
	time.AfterFunc(24*time.Hour, func() { held[0].A++ })
	pTimer = time.NewTimer(24 * time.Hour)
	pContext, pCancel = context.WithTimeout(context.Background(),
		24*time.Hour)
}

// Finalizers and cleanups hold what they captured, and what their objects hold.
func buildFinalizers() {
	for i := 0; i < 100; i++ {
		node := &Node{Payload: newLeaf(), Name: newString("final", i)}
		held := newLeaves(10)
		runtime.SetFinalizer(node, func(n *Node) { held[0].A++ })
		if i%2 == 0 {
			pBoxes = append(pBoxes, node)
		}
	}
	buildNewer()
}

// dump has the runtime write all it knows of this heap.
func dump() {
	runtime.GOMAXPROCS(truthProcs) // all of the collector's workers
	collect()
	time.Sleep(10 * time.Millisecond) // finalizers run
	collect()
	fd, err := syscall.Open("dump", syscall.O_CREAT|syscall.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	debug.WriteHeapDump(uintptr(fd))
	syscall.Close(fd)
}

func main() {
	reserve()
	debug.SetGCPercent(-1)
	buildLists()
	buildWebs()
	buildLarge()
	buildCalls()
	buildMaps()
	collect() // while finalizers have no reason to run yet
	buildWaits()
	buildFinalizers()
	where("list", unsafe.Pointer(pList))
	time.Sleep(10 * time.Millisecond)
	dump()
	tell()
	wait()
}
