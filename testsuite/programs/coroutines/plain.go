// SPDX-License-Identifier: Apache-2.0

//go:build !go1.25

package main

func finish() { sayNow() }
