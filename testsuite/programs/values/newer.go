// SPDX-License-Identifier: Apache-2.0

//go:build go1.24

package main

import (
	"unique"
	"unsafe"
	"weak"
)

type alias[T any] = List[T]

var (
	vAlias      alias[string]
	vUnique     unique.Handle[string]
	vWeakTarget *Pair
	vWeak       weak.Pointer[Pair]
)

func buildNewer() {
	measure("vAlias", 4, func() {
		vAlias.Push(newString("alias", 1))
		vAlias.Push(newString("alias", 2))
	})
	measure("vWeakTarget", 3, func() {
		vWeakTarget = &Pair{newLeaf(), newLeaf()}
	})
	vWeak = weak.Make(vWeakTarget)
	vUnique = unique.Make(newString("unique", 1))
	where("vUnique", *(*unsafe.Pointer)(unsafe.Pointer(&vUnique)))
	where("vWeakTarget", unsafe.Pointer(vWeakTarget))
}
