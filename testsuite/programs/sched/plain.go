// SPDX-License-Identifier: Apache-2.0

//go:build !cgo

package main

func inC() {
	panic("built without C")
}
