// SPDX-License-Identifier: Apache-2.0

//go:build go1.24

package main

import (
	"runtime"
	"unique"
	"weak"
)

type handles struct {
	name unique.Handle[string]
	tree weak.Pointer[Tree]
}

// newer has what only newer releases have: cleanups, weak pointers, handles.
func newer(r *rng) {
	t := newTree(r, 2)
	runtime.AddCleanup(t, func(w *Wide) { kWide[0].Store(w) }, new(Wide))
	h := &handles{unique.Make(newString("unique", r.next(500))), weak.Make(t)}
	kShared.Store(h.name, h)
	if other, ok := kShared.Load(h.name); ok {
		if strong := other.(*handles).tree.Value(); strong != nil {
			walk(strong, 3, nil)
		}
	}
}

func viaNewer(r *rng, t *Token) *Token {
	back := make(chan *Token, 1)
	runtime.AddCleanup(new(carrier), func(t *Token) { back <- t }, t)
	return <-back
}
