// SPDX-License-Identifier: Apache-2.0

//go:build !go1.21

package main

import "context"

// addAfterFuncs does nothing: there is no context.AfterFunc.
func addAfterFuncs() {}

// afterFunc does nothing, either.
func afterFunc(context.Context, func()) {}
