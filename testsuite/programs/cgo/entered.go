// SPDX-License-Identifier: Apache-2.0

package main

import "C"

//export enterGo
func enterGo(what C.int) {
	switch what {
	case inThread:
		holdInThread()
	case inThreadAndC:
		holdInThreadAndC()
	case inThreadAndBack:
		cEntered.Done()
	case inNested:
		holdInner()
	}
}
