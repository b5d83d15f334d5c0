// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	htmltemplate "html/template"
	"io"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"
)

// Structures at random that several holders share: contexts, what libraries
// keep, and buffers in pools and free lists; mix_tiny.go has small values.
var sharing *mixer

func plantMixShared() {
	seed, err := strconv.Atoi(os.Args[2])
	check(err)
	count, err := strconv.Atoi(os.Args[3])
	check(err)
	sharing = newMixer(seed, count)
	for sharing.count > count/2 {
		sharing.smallValues()
	}
	sharing.busyServer()
	for sharing.count > count/8 {
		sharing.contextTree()
	}
	for sharing.count > 0 {
		sharing.libraries()
	}
	for i := 0; i < 50; i++ {
		sharing.reflectTypes(i)
	}
}

// ------------------------------------------------------------------- contexts

// A Request is in flight: it has its context, or a part of it.
type Request struct {
	ctx    context.Context
	cancel func()
	done   <-chan struct{}
	body   []byte
}

// A session is a context of the program's own.
type session struct {
	context.Context
	data [100]byte
}

type valueKey int

var (
	servers  []context.Context
	requests []*Request
)

// contextTree makes a tree that a variable, a timer or a goroutine holds.
func (m *mixer) contextTree() {
	top, cancel := m.newContext(context.Background())
	switch m.Intn(4) {
	case 0, 1:
		servers = append(servers, top)
	case 2:
		requests = append(requests, &Request{cancel: cancel})
	case 3:
		go waitFor(top.Done())
	}
	m.contextChildren(top, 0)
}

// busyServer makes a context with more children than any other one, all of
// which are in use.
func (m *mixer) busyServer() {
	top, _ := context.WithCancel(context.Background())
	servers = append(servers, top)
	for i := 0; i < 400; i++ {
		_, cancel := m.newContext(top)
		requests = append(requests, &Request{cancel: cancel})
	}
}

func waitFor(done <-chan struct{}) {
	<-done
}

func (m *mixer) newContext(parent context.Context) (context.Context, func()) {
	m.takes(1)
	if m.one(3) {
		m.takes(2)
		data := m.bytes()
		parent = context.WithValue(parent, valueKey(m.Intn(5)), data)
	}
	if m.one(10) {
		parent = &session{Context: parent}
	}
	if len(requests) > 0 && m.one(20) {
		other := requests[m.Intn(len(requests))]
		parent = context.WithValue(parent, valueKey(6), other.ctx)
	}
	if m.one(2) {
		return context.WithCancel(parent)
	}
	m.takes(2)
	return context.WithTimeout(parent, 1000*time.Hour)
}

func (m *mixer) contextChildren(parent context.Context, depth int) {
	n := m.Intn(6)
	if m.one(50) {
		n = m.Intn(300)
	}
	for i := 0; i < n; i++ {
		child, cancel := m.newContext(parent)
		if depth < 8 && m.one(8) {
			m.contextChildren(child, depth+1)
		}
		m.endContext(child, cancel)
	}
}

// endContext cancels a context, forgets it, or keeps something of it.
func (m *mixer) endContext(ctx context.Context, cancel func()) {
	made := &Request{}
	switch m.Intn(20) {
	case 0, 1:
		cancel()
	case 2:
		made.ctx = ctx
	case 3:
		made.cancel = cancel
	case 4:
		made.done = ctx.Done()
	case 5:
		body := m.bytes()
		made.cancel = func() {
			body[0]++
			cancel()
		}
	case 6:
		if m.one(8) {
			go waitFor(ctx.Done())
		}
	case 7:
		ctx.Done()
	case 8:
		if m.one(8) {
			afterFunc(ctx, func() { made.body = nil })
		}
	}
	if made.ctx != nil || made.cancel != nil || made.done != nil {
		requests = append(requests, made)
	}
}

// ------------------------------------------------------------------ libraries

// A Rule has parts of libraries, which rules share.
type Rule struct {
	pattern *regexp.Regexp
	text    *template.Template
	html    *htmltemplate.Template
	zone    *time.Location
	when    time.Time
}

var (
	rules  []*Rule
	common = template.Must(template.New("common").Parse("{{define `a`}}A{{end}}"))
)

func (m *mixer) libraries() {
	made := &Rule{}
	rules = append(rules, made)
	other := rules[m.Intn(len(rules))]
	name := "x" + strconv.Itoa(m.Intn(1000))
	switch m.Intn(6) {
	case 0:
		m.takes(20)
		made.pattern = regexp.MustCompile("^(a|b)*[0-9]+" + name)
	case 1:
		m.takes(40)
		made.text = m.textTemplate(other.pattern, name)
	case 2:
		m.takes(60)
		text := "{{.}}<b>{{range .}}{{.}}{{end}}</b>" + name
		made.html = htmltemplate.Must(htmltemplate.New(name).Parse(text))
		if m.one(3) {
			// It makes the trees that are kept beside those it had.
			check(made.html.Execute(io.Discard, []string{name}))
		}
	case 3:
		m.takes(3)
		made.zone = time.FixedZone(name, m.Intn(3600))
	case 4:
		m.takes(1)
		made.when = time.Now().In(time.FixedZone(name, m.Intn(3600)))
	case 5:
		*made = *other
	}
}

func (m *mixer) textTemplate(
	re *regexp.Regexp, name string,
) *template.Template {
	made := template.New(name)
	if m.one(3) {
		made = common.New(name)
	}
	if re != nil && m.one(2) {
		made.Funcs(template.FuncMap{"match": re.MatchString})
	}
	text := "{{.}} has {{range .Items}}{{.}}{{template `a`}}{{end}}" + name
	return template.Must(made.Parse(text))
}

// reflectTypes makes types, of which the packages reflect and encoding/json
// keep tables.
func (m *mixer) reflectTypes(i int) {
	array := reflect.ArrayOf(i+3, reflect.TypeOf(""))
	fields := []reflect.StructField{
		{Name: "Array", Type: array},
		{Name: "Field" + strconv.Itoa(m.Intn(1000)), Type: reflect.PtrTo(array)},
	}
	_, err := json.Marshal(reflect.Zero(reflect.StructOf(fields)).Interface())
	check(err)
}

// ---------------------------------------------------------------------- pools

// A Packet has several arrays.
type Packet struct {
	number int
	head   []byte
	parts  [2]struct {
		name string
		body []uint32
	}
}

// A Worker has a pool of its own.
type Worker struct {
	id   int
	pool sync.Pool
}

var (
	pools       [6]sync.Pool
	workers     []*Worker
	inUse       []interface{}
	freeSlices  = make(chan []byte, 64)
	freeBuffers = make(chan *bytes.Buffer, 64)
	slicesToDo  = make(chan []byte, 64)
)

// arrayBytes is the size of an array, which is large in one of some cases.
func (m *mixer) arrayBytes(some int) int {
	if m.one(some) {
		return 50_000 + m.Intn(400_000)
	}
	return 100 + m.Intn(4000)
}

func (m *mixer) poolItem(some int) interface{} {
	size := m.arrayBytes(some)
	switch m.Intn(8) {
	case 0:
		made := make([]byte, size)
		return &made
	case 1:
		return make([]byte, 0, size)
	case 2:
		made := &Packet{head: make([]byte, 10, m.arrayBytes(some))}
		made.parts[1].body = make([]uint32, size/4)
		return made
	case 3:
		if m.one(10) {
			return map[string]int{"a": size}
		}
		if m.one(10) {
			return new(int)
		}
	}
	return newBuffer(size)
}

// fillPool puts items into a pool, of which some are also elsewhere.
func (m *mixer) fillPool(pool *sync.Pool, n int) {
	some := 3 + m.Intn(10)
	for i := 0; i < n; i++ {
		item := m.poolItem(some)
		if m.one(6) {
			inUse = append(inUse, item)
		}
		pool.Put(item)
		if made, is := item.(*bytes.Buffer); is && m.one(6) {
			// Another buffer with the same array.
			pool.Put(bytes.NewBuffer(made.Bytes()[:0]))
		}
	}
}

func (m *mixer) fillPools() {
	for i := range pools {
		m.fillPool(&pools[i], m.Intn(30))
	}
	for _, worker := range workers {
		m.fillPool(&worker.pool, m.Intn(30))
	}
}

// fillLists fills free lists, whose first element lies anywhere.
func (m *mixer) fillLists() {
	for i := m.Intn(64); i > 0; i-- {
		freeSlices <- nil
		freeBuffers <- nil
		<-freeSlices
		<-freeBuffers
	}
	for i := 0; i < 40; i++ {
		freeSlices <- make([]byte, 0, m.arrayBytes(8))
		freeBuffers <- newBuffer(m.arrayBytes(8))
		slicesToDo <- []byte(strings.Repeat("x", m.arrayBytes(8)))
	}
}

// plantMixPools fills pools on all Ps, before and behind a collection, after
// which a pool has two tables.
func plantMixPools() {
	for i := 0; i < 3; i++ {
		workers = append(workers, &Worker{id: i})
	}
	sharing.fillLists()
	for i := 0; i < 2; i++ {
		for k := 0; k < 4; k++ {
			done := make(chan bool)
			go func() {
				runtime.LockOSThread()
				sharing.fillPools()
				done <- true
			}()
			<-done
		}
		if i == 0 {
			runtime.GC()
		}
	}
}
