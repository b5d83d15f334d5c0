// SPDX-License-Identifier: Apache-2.0

//go:build !go1.24

package main

func cleanups(string) bool { return false }
