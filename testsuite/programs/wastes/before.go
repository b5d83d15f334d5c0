// SPDX-License-Identifier: Apache-2.0

//go:build !go1.21

package main

// addAfterFuncs does nothing: there is no context.AfterFunc.
func addAfterFuncs() {}
