// SPDX-License-Identifier: Apache-2.0

package main

// RunMain lets another Go program run a test program that is a plugin.
func RunMain() {
	main()
}
