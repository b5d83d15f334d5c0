// SPDX-License-Identifier: Apache-2.0

package main

import "C"

// RunMain lets a C program run a test program that is built as a library.
//
//export RunMain
func RunMain() {
	main()
}
