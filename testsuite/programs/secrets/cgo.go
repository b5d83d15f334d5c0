// SPDX-License-Identifier: Apache-2.0

package main

/*
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char in_bss[64];
static __thread char of_thread[64];

static void keep(const char *bytes, int n)
{
	memcpy(in_bss, bytes, n);
	memcpy(of_thread, bytes + 16, n - 16);
}

static void wait_in_c(const char *bytes, int n)
{
	char local[256];

	memcpy(local, bytes, n);
	memcpy(local + 128, &bytes, sizeof(bytes));
	// The stack keeps the array.
	__asm__ volatile("" : : "r"(local) : "memory");
	for (;;)
		pause();
	__asm__ volatile("" : : "r"(local) : "memory");
}
*/
import "C"

import "unsafe"

// plantC leaves secrets in memory of C: its heap, a variable, a thread, a stack.
func plantC() {
	for _, bytes := range []int{16, 24, 100, 5000, 140000} {
		kept = append(kept, C.CString(name("memory of C", bytes)))
	}
	var list [8]*C.char
	for i := range list {
		list[i] = C.CString(name("memory of C", 16))
	}
	block := (*[8]*C.char)(C.malloc(64))
	*block = list
	kept = append(kept, block)
	static := []byte(name("variable of C", 40))
	C.keep((*C.char)(unsafe.Pointer(&static[0])), 40)
	local := C.CString(name("stack of C", 100))
	start("goroutine in C",
		awaited{call: func() { C.wait_in_c(local, 100) }})
}
