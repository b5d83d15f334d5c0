// SPDX-License-Identifier: Apache-2.0

// A Go program that opens the plugin beside it and runs its main().
package main

import (
	"os"
	"plugin"
)

func main() {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	opened, err := plugin.Open(exe + ".so")
	if err != nil {
		panic(err)
	}
	run, err := opened.Lookup("RunMain")
	if err != nil {
		panic(err)
	}
	run.(func())()
}
