// SPDX-License-Identifier: Apache-2.0

package main

// keptObjects are left of an emptied heap, about.
const keptObjects = 100000

// buildEmptied keeps a few sessions of all that friendly builds. They lie
// everywhere in memory.
func buildEmptied(n int) {
	buildFriendly(n)
	history = nil
	every := 1 + n/keptObjects
	for _, t := range tenants {
		t.sessions = make(map[string]*session)
		var kept []*session
		for i := 0; i < len(t.order); i += every {
			s := t.order[i]
			t.sessions[s.id] = s
			kept = append(kept, s)
		}
		t.order = kept
	}
}
