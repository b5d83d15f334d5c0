// SPDX-License-Identifier: Apache-2.0

// A program outside of a module has the timers of Go 1.22 until Go 1.27, and
// synctest refuses these.

//go:debug asynctimerchan=0

//go:build go1.25 && !go1.27

package main
