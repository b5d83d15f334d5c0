// SPDX-License-Identifier: Apache-2.0

//go:build !go1.23

package main

func startNewer() {}
