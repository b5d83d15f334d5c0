// SPDX-License-Identifier: Apache-2.0

// A program that makes known numbers of kernel objects, as its input asks: each
// line is a kind and a number. A negative number gives back so many of the kind,
// the oldest ones. It prints the number when that is done. Its first line is an
// empty object.
//
// The kinds are those of the switch below.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// Files of each kind, in the order in which they were made.
var files = map[string][]int{}

var (
	epoll int
	heap  [][]byte
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// newEvent makes an eventfd.
func newEvent() int {
	fd, _, number := syscall.Syscall(syscall.SYS_EVENTFD2, 0, 0, 0)
	if number != 0 {
		panic(number)
	}
	return int(fd)
}

// newPipe makes a pipe with a page of data. The file that writes is closed.
func newPipe() int {
	var ends [2]int
	must(syscall.Pipe(ends[:]))
	_, err := syscall.Write(ends[1], make([]byte, 64))
	must(err)
	must(syscall.Close(ends[1]))
	return ends[0]
}

func newSocket() int {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	must(err)
	return fd
}

// newWatched makes an eventfd that the epoll watches.
func newWatched() int {
	fd := newEvent()
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	must(syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, fd, &event))
	return fd
}

// growHeap allocates a mebibyte, and touches it.
func growHeap() {
	block := make([]byte, 1<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	heap = append(heap, block)
}

// startThread starts a thread that waits forever.
func startThread() {
	begun := make(chan bool)
	go func() {
		runtime.LockOSThread()
		begun <- true
		select {}
	}()
	<-begun
}

func add(kind string) {
	var fd int
	switch kind {
	case "event":
		fd = newEvent()
	case "pipe":
		fd = newPipe()
	case "socket":
		fd = newSocket()
	case "watched":
		fd = newWatched()
	case "thread":
		startThread()
		return
	case "heap":
		growHeap()
		return
	default:
		panic(kind)
	}
	files[kind] = append(files[kind], fd)
}

func main() {
	var err error
	epoll, err = syscall.EpollCreate1(0)
	must(err)
	fmt.Println("{}")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var kind string
		var count int
		_, err := fmt.Sscan(in.Text(), &kind, &count)
		must(err)
		for i := 0; i < count; i++ {
			add(kind)
		}
		for i := 0; i > count; i-- {
			must(syscall.Close(files[kind][0]))
			files[kind] = files[kind][1:]
		}
		fmt.Println(count)
	}
}
