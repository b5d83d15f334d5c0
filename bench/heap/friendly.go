// SPDX-License-Identifier: Apache-2.0

package main

import "strconv"

// The shapes of a service that keeps sessions for tenants.

type user struct {
	name, email string
	age         int
	boss        *user
	roles       []string
}

type event struct {
	next  *event
	at    int64
	label string
}

type message struct {
	from    *user
	payload []byte
	body    interface{}
}

type key struct {
	left, right *key
	key         int64
	value       *measure
}

type measure struct {
	count, sum int64
	unit       [2]int32
}

type session struct {
	id      string
	user    *user
	tags    []string
	attrs   map[string]interface{}
	events  *event
	onClose func() int
	inbox   chan *message
	index   *key
	samples []int64
	log     fmtStringer
}

// A fmtStringer is held as an interface with methods.
type fmtStringer interface{ String() string }

type logger struct {
	prefix string
	level  int
	parent *logger
}

func (l *logger) String() string { return l.prefix }

type tenant struct {
	name     string
	sessions map[string]*session
	order    []*session
}

const sessionsPerTenant = 1000

var (
	tenants []*tenant
	history *event
	made    int // objects, counted by hand: tables of large maps are left out
)

func newText(prefix string, i, extra int) string {
	made++
	text := make([]byte, 0, len(prefix)+8+extra)
	text = append(text, prefix...)
	text = strconv.AppendInt(text, int64(i%100000000), 10)
	for len(text) < cap(text) {
		text = append(text, 'x')
	}
	return string(text)
}

func newTexts(prefix string, i, count int) []string {
	made++
	list := make([]string, count)
	for j := range list {
		list[j] = newText(prefix, i+j, 4+j)
	}
	return list
}

func newUser(i int, boss *user) *user {
	made++
	return &user{
		name:  newText("user-", i, 8),
		email: newText("mail-", i, 16),
		age:   i % 90,
		boss:  boss,
		roles: newTexts("role-", i, 2),
	}
}

func newEvents(i, count int) *event {
	var first *event
	for j := 0; j < count; j++ {
		made++
		first = &event{first, int64(i), newText("event-", i+j, 18)}
	}
	return first
}

func newIndex(i, depth int) *key {
	if depth == 0 {
		return nil
	}
	made += 2
	return &key{
		left:  newIndex(2*i, depth-1),
		right: newIndex(2*i+1, depth-1),
		key:   int64(i),
		value: &measure{count: int64(i)},
	}
}

func newAttrs(i int) map[string]interface{} {
	made += 2 // the map and its group
	attrs := make(map[string]interface{})
	for j := 0; j < 4; j++ {
		name := newText("attr-", i+j, 8)
		made++
		switch j {
		case 0:
			attrs[name] = int64(i + 1000)
		case 1:
			attrs[name] = newText("value-", i, 16)
		case 2:
			attrs[name] = &measure{sum: int64(i)}
		default:
			attrs[name] = newTexts("item-", i, 2)
		}
	}
	return attrs
}

func newInbox(i int, from *user) chan *message {
	made += 2 // the channel and its ring
	inbox := make(chan *message, 4)
	for j := 0; j < 1+i%3; j++ {
		made += 3
		inbox <- &message{
			from:    from,
			payload: make([]byte, 64+rng.below(416)),
			body:    event{nil, int64(j), "body"},
		}
	}
	return inbox
}

func newSession(i int, boss *user, parent *logger) *session {
	made += 3
	s := &session{
		id:      newText("session-", i, 16),
		user:    newUser(i, boss),
		tags:    newTexts("tag-", i, 3),
		attrs:   newAttrs(i),
		events:  newEvents(i, 2+rng.below(6)),
		index:   newIndex(1, 1+rng.below(3)),
		samples: make([]int64, 8+rng.below(112)),
	}
	s.inbox = newInbox(i, s.user)
	made++
	owner, count := s.user, s.samples
	s.onClose = func() int { return len(owner.name) + len(count) }
	if i%2 == 0 {
		s.log = &logger{newText("log-", i, 8), i, parent}
	} else {
		s.log = parent
		made--
	}
	return s
}

func newTenant(number int, enough func() bool) *tenant {
	t := &tenant{
		name:     newText("tenant-", number, 16),
		sessions: make(map[string]*session),
	}
	parent := &logger{prefix: t.name}
	boss := newUser(number, nil)
	made += 6
	for i := 0; i < sessionsPerTenant && !enough(); i++ {
		s := newSession(number*sessionsPerTenant+i, boss, parent)
		t.sessions[s.id] = s
		t.order = append(t.order, s)
		// One long list grows beside them.
		made++
		history = &event{history, int64(i), s.id}
	}
	return t
}

func buildFriendly(n int) {
	enough := func() bool { return made >= n }
	for i := 0; !enough(); i++ {
		tenants = append(tenants, newTenant(i, enough))
	}
}
