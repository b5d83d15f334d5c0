// SPDX-License-Identifier: Apache-2.0

// Go objects that only cgo.Handle and runtime.Pinner keep alive, and others that
// the program reaches, too. Sizes are classes of the allocator. The program says
// what goref must find, and waits for the end of its input.
//
//	kept_by_c [HANDLES]
//
// HANDLES is how many handles of *session there are; the default is 100.
package main

import (
	"encoding/json"
	"io"
	"os"
	"runtime/cgo"
	"runtime/debug"
	"strconv"
)

const (
	requests    = 50
	clientsHeld = 5
	numbers     = 10
	deleted     = 20
	kept        = "cgo.Handle"
	pinned      = "runtime.Pinner"
	unknown     = "(type not known)"
)

// A session is 64 bytes: with its data, it is 64 + 1024.
type session struct {
	data   *[1024]byte
	common *[32768]byte // of all sessions
	global *[4096]byte  // of a package variable, too
	joint  *[16384]byte // of one session and one request
	number int
	_      [3]int
}

// A request is 48 bytes, and a value in the interface.
type request struct {
	body  *[2048]byte
	joint *[16384]byte
	c     resource
	_     [3]int
}

// A client is what a package variable has, too.
type client struct {
	data *[512]byte
}

// A row is what goref must say of the references of one kind to one type.
type row struct {
	By       string `json:"by"`
	Type     string `json:"type"`
	Refs     int    `json:"references"`
	Objects  int    `json:"objects"`
	Bytes    int    `json:"bytes"`
	Retained int    `json:"retained_bytes"`
	C        int    `json:"retained_c_bytes"`
}

var (
	global  = new([4096]byte)
	clients []*client
	rows    []row
)

// apart runs a function on a stack that is gone when it returns.
func apart(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func handleSessions(count int, joint *[16384]byte) {
	common := new([32768]byte)
	for i := 0; i < count; i++ {
		s := &session{
			data: new([1024]byte), common: common, global: global,
			number: i,
		}
		if i == 0 {
			s.joint = joint
			cgo.NewHandle(s) // two of one object
		}
		cgo.NewHandle(s)
	}
	rows = append(rows, row{
		kept, "*main.session", count + 1, count, count * 64,
		count*(64+1024) + 32768, 0,
	})
}

func handleRequests(joint *[16384]byte) {
	c := 0
	for i := 0; i < requests; i++ {
		r := request{body: new([2048]byte), c: newResource(&c)}
		if i == 0 {
			r.joint = joint
		}
		cgo.NewHandle(r)
	}
	rows = append(rows, row{
		kept, "main.request", requests, requests, requests * 48,
		requests * (48 + 2048), c,
	})
}

// handleOthers makes handles of what is not retained, or no object, or gone.
func handleOthers() {
	for i := 0; i < clientsHeld; i++ {
		clients = append(clients, &client{new([512]byte)})
		cgo.NewHandle(clients[i])
	}
	for i := 0; i < numbers; i++ {
		cgo.NewHandle(i) // static memory
	}
	for i := 0; i < deleted; i++ {
		handle := cgo.NewHandle(&session{data: new([1024]byte)})
		handle.Value()
		handle.Delete()
	}
	rows = append(rows,
		row{kept, "*main.client", clientsHeld, clientsHeld, clientsHeld * 8, 0, 0},
		row{kept, "int", numbers, 0, 0, 0, 0},
	)
}

func main() {
	// Dead objects stay, and no finalizer of a Pinner runs.
	debug.SetGCPercent(-1)
	count := 100
	if len(os.Args) > 1 {
		count, _ = strconv.Atoi(os.Args[1])
	}
	apart(func() {
		joint := new([16384]byte)
		handleSessions(count, joint)
		handleRequests(joint)
		handleOthers()
	})
	apart(pinAll)
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"held": map[string]any{}, "places": map[string]string{},
		"rows": rows, "joint": 16384,
	})
	io.Copy(io.Discard, os.Stdin)
}
