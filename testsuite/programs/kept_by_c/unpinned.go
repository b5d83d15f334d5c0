// SPDX-License-Identifier: Apache-2.0

//go:build !go1.21

package main

// pinAll does nothing: this release has no Pinner.
func pinAll() {}
