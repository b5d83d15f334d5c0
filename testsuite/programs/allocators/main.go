// SPDX-License-Identifier: Apache-2.0

// A program with an allocator of its own in the executable. It loads libraries
// on request: each line of its input is "open PATH", or "apart PATH" for a
// library with a libc of its own. It answers each with a line.
package main

/*
#cgo CFLAGS: -O1 -g
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

static char room[1 << 16], *end = room;

static APART void *own_malloc(size_t bytes)
{
	end += (bytes + 15) & ~(size_t)15;
	return end - ((bytes + 15) & ~(size_t)15);
}

static APART void *own_calloc(size_t count, size_t bytes)
{
	return own_malloc(count * bytes);
}

static APART void own_free(void *block)
{
	*(char *)block = 0;
}

static void use(void)
{
	own_free(own_malloc(8));
	own_free(own_calloc(8, 8));
}

static void *address_of(int i)
{
	void *all[] = { own_malloc, own_calloc, own_free };

	return all[i];
}

static char *load(int is_apart, const char *path)
{
	void *library = is_apart ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW) :
				   dlopen(path, RTLD_NOW);

	return library ? NULL : dlerror();
}
*/
import "C"

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"unsafe"
)

func answer(what any) {
	line, _ := json.Marshal(what)
	fmt.Println(string(line))
}

func load(how, path string) string {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	isApart := C.int(0)
	if how == "apart" {
		isApart = 1
	}
	if failed := C.load(isApart, name); failed != nil {
		return C.GoString(failed)
	}
	return "loaded"
}

func main() {
	C.use()
	own := map[string]uintptr{}
	for i, name := range []string{"malloc", "calloc", "free"} {
		own[name] = uintptr(C.address_of(C.int(i)))
	}
	answer(own)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		how, path, _ := strings.Cut(lines.Text(), " ")
		answer(load(how, path))
	}
}
