// SPDX-License-Identifier: Apache-2.0

//go:build go1.21

package main

import "runtime"

const (
	buffers = 7 // more than a Pinner has room for without a list of its own
	frames  = 2
	views   = 3
)

type buffer [2048]byte

// A frame is 16 bytes.
type frame struct {
	data *[256]byte
	_    int
}

// A view is what a package variable has, too.
type view [128]byte

var (
	ofBuffers, ofFrames runtime.Pinner
	seen                []*view
)

// pinAll leaves objects that Pinners keep alive. One of the Pinners is dropped:
// its finalizer would end the program.
func pinAll() {
	var released, dropped runtime.Pinner
	for i := 0; i < buffers; i++ {
		ofBuffers.Pin(new(buffer))
	}
	for i := 0; i < frames; i++ {
		f := &frame{data: new([256]byte)}
		ofFrames.Pin(f)
		released.Pin(f)
		dropped.Pin(f)
	}
	for i := 0; i < views; i++ {
		seen = append(seen, new(view))
		ofBuffers.Pin(seen[i])
	}
	released.Pin(new(buffer))
	released.Unpin()
	rows = append(rows,
		row{pinned, unknown, buffers + 2*frames, buffers + frames,
			buffers*2048 + frames*16,
			buffers*2048 + frames*(16+256), 0},
		row{pinned, "main.view", views, views, views * 128, 0, 0},
	)
}
