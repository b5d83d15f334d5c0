// SPDX-License-Identifier: Apache-2.0

package main

import "reflect"

type Caller struct {
	tree *Tree
}

//go:noinline
func (c *Caller) Call(a int, t *Tree, v any) (*Tree, any) {
	walk(t, a%50, nil)
	return c.tree, v
}

// reflected goes through frames whose pointers only the runtime's records of
// a call tell: methods called by reflection, and functions made by it.
func reflected(r *rng) {
	c := &Caller{newTree(r, 3)}
	t := newTree(r, 3)
	args := []reflect.Value{
		reflect.ValueOf(r.next(100)),
		reflect.ValueOf(t),
		reflect.ValueOf(t.Value),
	}
	if t.Value == nil {
		args[2] = reflect.ValueOf(t)
	}
	method := reflect.ValueOf(c).MethodByName("Call")
	bound := method.Interface().(func(int, *Tree, any) (*Tree, any))
	bound(r.next(100), t, c)
	out := method.Call(args)
	made := reflect.MakeFunc(method.Type(), func(in []reflect.Value) []reflect.Value {
		walk(in[1].Interface().(*Tree), 40, nil)
		return []reflect.Value{in[1], in[2]}
	}).Interface().(func(int, *Tree, any) (*Tree, any))
	back, _ := made(1, out[0].Interface().(*Tree), c)
	kTrees[4].Store(&Tree{Left: back})
}
