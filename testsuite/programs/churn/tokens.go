// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// A Token is made once and never lost: at each moment exactly one place holds
// it. So many Tokens as there are must be reached, whenever one looks.
type Token struct {
	Number int
	Next   *Token
}

// A carrier dies with its token; the finalizer hands that back.
type carrier struct {
	token *Token
	back  chan *Token
}

type passer struct{}

//go:noinline
func (passer) Pass(t *Token, depth int) *Token { return down(t, depth) }

// down holds the token in arguments only.
//
//go:noinline
func down(t *Token, depth int) *Token {
	if depth == 0 {
		return t
	}
	return down(t, depth-1)
}

func relay(from, to chan *Token) { to <- <-from }

func viaChannels(r *rng, t *Token) *Token {
	from := make(chan *Token, r.next(2))
	to := make(chan *Token, r.next(2))
	go relay(from, to)
	from <- t
	return <-to
}

func viaSelect(r *rng, t *Token) *Token {
	one, two := make(chan *Token), make(chan *Token)
	back := make(chan *Token)
	go func() {
		select {
		case t := <-one:
			back <- t
		case t := <-two:
			back <- t
		}
	}()
	select {
	case one <- t:
	case two <- t:
	}
	return <-back
}

func viaGoroutine(r *rng, t *Token) *Token {
	back := make(chan *Token, 1)
	go func(t *Token) { back <- down(t, 100) }(t)
	return <-back
}

func viaClosure(r *rng, t *Token) *Token {
	get := func() *Token { return t }
	back := make(chan func() *Token, 1)
	go func() { back <- get }()
	return (<-back)()
}

func viaMap(r *rng, t *Token) *Token {
	m := map[int]*Token{7: t}
	t = nil
	for i := 0; i < r.next(200); i++ {
		m[100+i] = nil
	}
	t = m[7]
	delete(m, 7)
	return t
}

func viaSyncMap(r *rng, t *Token) *Token {
	var m sync.Map
	m.Store("token", t)
	t = nil
	walk(newTree(r, 2), 10, nil)
	v, _ := m.LoadAndDelete("token")
	return v.(*Token)
}

func viaSlice(r *rng, t *Token) *Token {
	s := []*Token{t}
	t = nil
	for i := 0; i < r.next(300); i++ {
		s = append(s, nil)
	}
	return s[0]
}

func viaArray(r *rng, t *Token) *Token {
	var a [50]*Token
	i := r.next(50)
	a[i] = t
	t = nil
	walk(newTree(r, 2), 50, nil)
	return a[i]
}

func viaDefer(r *rng, t *Token) (ret *Token) {
	for i := 0; i < 1+r.next(2); i++ {
		defer func(t *Token) { ret = t }(t)
	}
	walk(newTree(r, 2), 20, nil)
	return nil
}

func viaPanic(r *rng, t *Token) (ret *Token) {
	defer func() {
		p := recover()
		walk(newTree(r, 1), 20, nil)
		ret = p.(*Token)
	}()
	panic(t)
}

func viaTimer(r *rng, t *Token) *Token {
	back := make(chan *Token, 1)
	wait := time.Duration(r.next(2000)) * time.Microsecond
	time.AfterFunc(wait, func() { back <- t })
	return <-back
}

func viaFinalizer(r *rng, t *Token) *Token {
	back := make(chan *Token, 1)
	runtime.SetFinalizer(&carrier{t, back}, func(c *carrier) {
		c.back <- c.token
	})
	return <-back
}

func viaReflection(r *rng, t *Token) *Token {
	method := reflect.ValueOf(passer{}).MethodByName("Pass")
	out := method.Call([]reflect.Value{
		reflect.ValueOf(t), reflect.ValueOf(r.next(200)),
	})
	return out[0].Interface().(*Token)
}

func viaInterface(r *rng, t *Token) *Token {
	var pass interface {
		Pass(*Token, int) *Token
	} = passer{}
	var box any = pass.Pass(t, r.next(3000))
	walk(newTree(r, 1), 10, nil)
	return box.(*Token)
}

func viaAtomic(r *rng, t *Token) *Token {
	slot := new(atomic.Value)
	slot.Store(t)
	t = nil
	walk(newTree(r, 2), 10, nil)
	return slot.Load().(*Token)
}

func viaSleep(r *rng, t *Token) *Token {
	nap := syscall.Timespec{Nsec: int64(r.next(200000))}
	syscall.Nanosleep(&nap, nil)
	return t
}

// viaSpin holds the token in a register.
//
//go:noinline
func viaSpin(r *rng, t *Token) *Token {
	n := 0
	for i := 0; i < r.next(100000); i++ {
		n += i * t.Number
	}
	if n == -1 {
		return nil
	}
	return t
}

func hold(t *Token) {
	number := t.Number
	r := rng(number*40503 + 2463534242)
	ways := []func(*rng, *Token) *Token{
		viaChannels, viaSelect, viaGoroutine, viaClosure, viaMap,
		viaSyncMap, viaSlice, viaArray, viaDefer, viaPanic, viaTimer,
		viaFinalizer, viaReflection, viaInterface, viaAtomic, viaSleep,
		viaSpin, viaNewer, viaC,
	}
	for {
		t = ways[r.next(len(ways))](&r, t)
		if t == nil || t.Number != number {
			panic("a token was lost")
		}
	}
}

func startTokens(n int) {
	for i := 0; i < n; i++ {
		t := &Token{Number: i}
		where("token "+strconv.Itoa(i), unsafe.Pointer(t))
		go hold(t)
	}
}
