// SPDX-License-Identifier: Apache-2.0

package main

/*
#include <malloc.h>
#include <stdlib.h>

struct resource { long number; char name[200]; };

static struct resource *new_resource(void)
{
	return calloc(1, sizeof(struct resource));
}

static size_t chunk_bytes(void *block)
{
	return malloc_usable_size(block) + sizeof(size_t);
}
*/
import "C"

import "unsafe"

type resource *C.struct_resource

// newResource makes a block of C, and adds what it takes.
func newResource(bytes *int) resource {
	block := C.new_resource()
	*bytes += int(C.chunk_bytes(unsafe.Pointer(block)))
	return block
}
