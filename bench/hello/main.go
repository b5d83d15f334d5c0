// SPDX-License-Identifier: Apache-2.0

// hello: the smallest Go program that waits to be looked at.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Println("{}")
	os.Stdin.Read(make([]byte, 1))
}
