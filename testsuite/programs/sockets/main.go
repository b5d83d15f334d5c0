// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait for sockets and pipes. The program prints the descriptor
// and the addresses of each.
package main

import (
	"encoding/json"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Case is a goroutine that waits for a descriptor.
type Case struct {
	Name       string `json:"name"`
	Id         uint64 `json:"id"`
	Descriptor uint64 `json:"descriptor"`
	Action     string `json:"action"`
	Network    string `json:"network"`
	Local      string `json:"local"`
	Remote     string `json:"remote"`
	Deadline   bool   `json:"deadline"`
}

var (
	cases []*Case
	began = make(chan bool)
	kept  []any // Nothing is closed by a finalizer.
)

func start(name, action string, of syscall.Conn, f func()) *Case {
	c := &Case{Name: name, Action: action}
	raw, err := of.SyscallConn()
	check(err)
	check(raw.Control(func(fd uintptr) { c.Descriptor = uint64(fd) }))
	switch of := of.(type) {
	case net.Conn:
		c.Network, c.Local = of.LocalAddr().Network(), of.LocalAddr().String()
		if of.RemoteAddr() != nil {
			c.Remote = of.RemoteAddr().String()
		}
	case net.Listener:
		c.Network, c.Local = of.Addr().Network(), of.Addr().String()
	}
	cases = append(cases, c)
	kept = append(kept, of)
	go func() {
		c.Id = goid()
		began <- true
		f()
	}()
	<-began
	return c
}

func startRead(name string, conn net.Conn) *Case {
	return start(name, "read", conn.(syscall.Conn), func() {
		conn.Read(make([]byte, 1))
	})
}

// connect has both ends of a connection.
func connect(listener net.Listener) (net.Conn, net.Conn) {
	accepted := make(chan net.Conn)
	go func() {
		conn, err := listener.Accept()
		check(err)
		accepted <- conn
	}()
	address := listener.Addr()
	conn, err := net.Dial(address.Network(), address.String())
	check(err)
	other := <-accepted
	kept = append(kept, conn, other)
	return conn, other
}

func startStream(network, address string) {
	listener, err := net.Listen(network, address)
	if err != nil {
		return // no IPv6 here
	}
	conn, other := connect(listener)
	full, _ := connect(listener)
	startRead(network+" client", conn)
	check(other.SetReadDeadline(time.Now().Add(time.Hour)))
	startRead(network+" server", other).Deadline = true
	start(network+" write", "write", full.(syscall.Conn), func() {
		for {
			full.Write(make([]byte, 1<<20))
		}
	})
	start(network+" listener", "accept", listener.(syscall.Conn), func() {
		listener.Accept()
	})
}

func startPackets() {
	server, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	check(err)
	client, err := net.Dial("udp", server.LocalAddr().String())
	check(err)
	start("udp server", "read", server, func() {
		server.ReadFromUDP(make([]byte, 1))
	})
	startRead("udp client", client)
}

func startPipe() {
	reader, writer, err := os.Pipe()
	check(err)
	kept = append(kept, writer)
	start("pipe", "read", reader, func() { reader.Read(make([]byte, 1)) })
}

// startConnect has a connection that nobody answers: the queue of the listener
// is full.
func startConnect() {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	check(err)
	check(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	check(syscall.Listen(fd, 0))
	own, err := syscall.Getsockname(fd)
	check(err)
	address := "127.0.0.1:" + strconv.Itoa(own.(*syscall.SockaddrInet4).Port)
	for {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			break
		}
		kept = append(kept, conn)
	}
	c := &Case{
		Name: "tcp connect", Action: "connect", Network: "tcp",
		Remote: address,
	}
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { c.Descriptor = uint64(fd) })
	}}
	cases = append(cases, c)
	go func() {
		c.Id = goid()
		began <- true
		dialer.Dial("tcp", address)
	}()
	<-began
}

func main() {
	startStream("tcp", "127.0.0.1:0")
	startStream("tcp", "[::1]:0")
	startStream("unix", os.TempDir()+"/socket")
	startStream("unix", "@goref-"+strconv.Itoa(os.Getpid()))
	startPackets()
	startPipe()
	startConnect()
	time.Sleep(100 * time.Millisecond)
	line, err := json.Marshal(cases)
	check(err)
	os.Stdout.Write(append(line, '\n'))
	os.Stdin.Read(make([]byte, 1))
}
