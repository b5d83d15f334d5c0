package main

import (
	"fmt"
	"sync"
	"time"
	"unsafe"
)

func init() { modes["names"] = names }

type shelf struct {
	rows  [3]int
	books sync.RWMutex
	once  sync.Once
	mu    sync.Mutex
}

// Pointers into the middle of arrays and structs.
type registry struct {
	late    []shelf // from the second on
	current *shelf
	books   *sync.RWMutex
	more    *registry
}

type link struct {
	next *link
	mu   sync.Mutex
}

var (
	theBooks   sync.RWMutex
	theOnce    sync.Once
	otherBooks = &sync.RWMutex{}
	theShelves = map[string]*shelf{"top": new(shelf)}
	// Pointers to elements, and two variables with one object.
	allShelves          = make([]shelf, 8)
	thirdShelf          = &allShelves[3]
	fourthShelf         = &allShelves[4]
	oneShelf, sameShelf *shelf
	theGroups           = map[string]*sync.WaitGroup{"all": new(sync.WaitGroup)}
	theLinks            *link
	theRegistry         = &registry{}
)

// called notes what a lock is called: one of several names, if several variables
// have it.
func called(p unsafe.Pointer, names ...string) {
	truth.Lock()
	truth.Names = append(truth.Names,
		Name{fmt.Sprintf("%#x", uintptr(p)), names})
	truth.Unlock()
}

func lockTwice(mu *sync.Mutex, names ...string) {
	called(unsafe.Pointer(mu), names...)
	mu.Lock()
	blocked(1, mu.Lock)
}

// A reader has it, one writer waits for that, and others wait for the writer.
func readAndWrite(rw *sync.RWMutex, name string) {
	called(unsafe.Pointer(rw), name)
	rw.RLock()
	for _, lock := range []func(){rw.Lock, rw.Lock, rw.RLock} {
		blocked(1, lock)
		settle(20 * time.Millisecond)
	}
}

func doTwice(once *sync.Once, name string) {
	called(unsafe.Pointer(once), name)
	for _, do := range []func(){func() { select {} }, func() {}} {
		go once.Do(do)
		settle(20 * time.Millisecond)
	}
}

// Names of locks: of variables, of what they point to, and of elements.
func names() {
	top := theShelves["top"]
	readAndWrite(&theBooks, "main.theBooks")
	readAndWrite(otherBooks, "main.otherBooks")
	readAndWrite(&top.books, `main.theShelves["top"].books`)
	doTwice(&theOnce, "main.theOnce")
	doTwice(&top.once, `main.theShelves["top"].once`)
	lockTwice(&top.mu, `main.theShelves["top"].mu`)
	lockTwice(&thirdShelf.mu, "main.thirdShelf.mu")
	lockTwice(&fourthShelf.mu, "main.fourthShelf.mu")
	lockTwice(&allShelves[7].mu, "main.allShelves[7].mu")
	oneShelf = new(shelf)
	sameShelf = oneShelf
	lockTwice(&oneShelf.mu, "main.oneShelf.mu", "main.sameShelf.mu")
	group := theGroups["all"]
	group.Add(1)
	called(unsafe.Pointer(group), `main.theGroups["all"]`)
	blocked(1, group.Wait)
	array := make([]shelf, 6)
	theRegistry = new(registry)
	theRegistry.late = array[2:]
	lockTwice(&array[5].mu, "main.theRegistry.late[3].mu")
	array = make([]shelf, 6)
	theRegistry.more = &registry{current: &array[4]}
	lockTwice(&array[4].mu, "main.theRegistry.more.current.mu")
	theRegistry.books = &new(shelf).books
	readAndWrite(theRegistry.books, "main.theRegistry.books")
	for i := 0; i < 3; i++ {
		theLinks = &link{next: theLinks}
	}
	lockTwice(&theLinks.next.next.mu, "main.theLinks.next.next.mu")
}
