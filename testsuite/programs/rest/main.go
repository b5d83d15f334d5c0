// SPDX-License-Identifier: Apache-2.0

// A program at rest with a mixed heap: sessions by name, with histories,
// callbacks and values behind interfaces.
package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

type Event struct {
	Next *Event
	Text string
	Args []any
}

type Session struct {
	Name    string
	Owner   *User
	Events  *Event
	Values  map[string]any
	OnClose []func() string
	Inbox   chan *Event
}

type User struct {
	Name     string
	Sessions []*Session
	Parent   fmt.Stringer
}

func (u *User) String() string { return u.Name }

var (
	sessions = make(map[string]*Session)
	users    []*User
	index    sync.Map
	current  atomic.Pointer[Session]
	matrix   [64][]float64
	wide     *[20000]*User
)

//go:noinline
func addSession(u *User, i int) {
	s := &Session{Name: newString("session", i), Owner: u}
	s.Values = map[string]any{
		"user": u, "count": i, "name": newString("value", i),
	}
	s.Inbox = make(chan *Event, 4)
	for j := 0; j < 6; j++ {
		s.Events = &Event{s.Events, newString("event", j), []any{s, j}}
	}
	s.Inbox <- &Event{Text: strings.Repeat("x", 40+i%200)}
	s.OnClose = append(s.OnClose, u.String, func() string { return s.Name })
	u.Sessions = append(u.Sessions, s)
	sessions[s.Name] = s
	index.Store(s.Name, s)
	current.Store(s)
}

//go:noinline
func build() {
	wide = new([20000]*User)
	for i := 0; i < 100; i++ {
		u := &User{Name: newString("user", i)}
		if i > 0 {
			u.Parent = users[i/2]
		}
		users = append(users, u)
		wide[i*200] = u
		for j := 0; j < 10; j++ {
			addSession(u, i*10+j)
		}
	}
	for i := 0; i < len(users); i += 3 {
		for _, s := range users[i].Sessions[:5] {
			delete(sessions, s.Name)
			index.Delete(s.Name)
		}
	}
	for i := range matrix {
		matrix[i] = make([]float64, 100*i)
	}
}

func main() {
	reserve()
	build()
	tell()
	wait()
}
