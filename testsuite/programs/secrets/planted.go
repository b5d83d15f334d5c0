// SPDX-License-Identifier: Apache-2.0

// A secret of each kind, in the place that the kind names. The program prints
// their complements: the secrets are nowhere else in its memory.
package main

import (
	"bufio"
	"container/list"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// No digits of numbers, and no words of a language.
const letters = "gjkqvwxyzGHJKLMNPQRSTVWXYZ"

// bits are random, and no address.
type bits [2]uint64

func note(kind string, secret []byte) {
	other := make([]byte, len(secret))
	for i := range secret {
		other[i] = ^secret[i]
	}
	said.Planted[kind] = append(said.Planted[kind],
		hex.EncodeToString(other))
}

func secret(kind string) (b bits) {
	b = bits{random(), random()}
	note(kind, (*[16]byte)(unsafe.Pointer(&b))[:])
	return b
}

func word(kind string) uint64 {
	w := random()
	note(kind, (*[8]byte)(unsafe.Pointer(&w))[:])
	return w
}

// name is a text of that many bytes.
func name(kind string, bytes int) string {
	text := make([]byte, bytes)
	rand.Read(text)
	for i := range text {
		text[i] = letters[int(text[i])%len(letters)]
	}
	note(kind, text)
	return string(text)
}

type badError struct {
	code bits
	text string
}

func (e *badError) Error() string { return e.text }

type plain struct {
	code  bits
	small [4]uint64
}

func (p plain) method() uint64 { return p.code[0] }

// shapes are what frames hold pointers to.
type shapes struct {
	short, word, long string
	raw               []byte
	code              *bits
	plain             *plain
	boxed             any
	err               error
	call              func() uint64
	pointer           unsafe.Pointer
}

func makeShapes(kind string) *shapes {
	p := &plain{code: secret(kind)}
	for i := range p.small {
		p.small[i] = word(kind)
	}
	code, captured := secret(kind), secret(kind)
	return &shapes{
		short: name(kind, 16), word: name(kind, 8), long: name(kind, 200),
		raw: []byte(name(kind, 40)), code: &code, plain: p,
		boxed:   plain{code: secret(kind)},
		err:     &badError{secret(kind), name(kind, 24)},
		call:    func() uint64 { return captured[0] ^ captured[1] },
		pointer: unsafe.Pointer(&[]byte(name(kind, 64))[0]),
	}
}

func spread(p *plain) []uint64 { return p.small[1:3] }

var waiting sync.WaitGroup

// awaited is what hold waits for; the field that is set says it.
type awaited struct {
	receive  <-chan bits
	nothing  chan int
	send     chan<- bits
	sent     chan<- *plain
	mutex    *sync.Mutex
	write    *sync.RWMutex
	read     *sync.RWMutex
	group    *sync.WaitGroup
	cond     *sync.Cond
	sleep    time.Duration
	conn     net.Conn
	listener net.Listener
	dial     string
	file     *os.File
	call     func()
}

// hold waits while its frame has all kinds of pointers and values, and a dead
// array.
//
//go:noinline
func hold(kind string, a *awaited) uint64 {
	s := makeShapes(kind)
	short, word, long, raw := s.short, s.word, s.long, s.raw
	code, p, boxed, err := s.code, s.plain, s.boxed, s.err
	call, pointer, method := s.call, s.pointer, s.plain.method
	part := spread(p)
	defer func() { runtime.KeepAlive(short + word) }()
	s = nil
	local := secret(kind + ", on the stack")
	sum := fillDead(kind)
	waiting.Done()
	switch {
	case a.sent != nil:
		select {
		case <-a.receive:
		case a.sent <- &plain{code: secret("element that is sent")}:
		}
	case a.receive != nil:
		<-a.receive
	case a.send != nil:
		a.send <- secret("element that is sent")
	case a.mutex != nil:
		a.mutex.Lock()
	case a.write != nil:
		a.write.Lock()
	case a.read != nil:
		a.read.RLock()
	case a.group != nil:
		a.group.Wait()
	case a.cond != nil:
		a.cond.L.Lock()
		a.cond.Wait()
	case a.sleep != 0:
		time.Sleep(a.sleep)
	case a.conn != nil:
		a.conn.Read(raw)
	case a.listener != nil:
		a.listener.Accept()
	case a.dial != "":
		net.Dial("tcp", a.dial)
	case a.file != nil:
		a.file.Read(make([]byte, 1))
	case a.call != nil:
		a.call()
	default:
		<-a.nothing
	}
	runtime.KeepAlive(pointer)
	runtime.KeepAlive(&local)
	return sum + local[sum&1] + uint64(len(short)+len(word)+
		len(long)+len(raw)+len(err.Error())) + code[1] + p.code[0] +
		boxed.(plain).code[0] + call() + method() + part[0]
}

// The stack below keeps some of these, but nobody uses them.
//
//go:noinline
func fillDead(kind string) (sum uint64) {
	var dead [40]bits
	for i := range dead {
		dead[i] = secret(kind + ", dead")
	}
	for i := range dead {
		sum += dead[(sum+uint64(i))%40][0]
	}
	return sum
}

var results = make(chan uint64)

func start(kind string, a awaited) {
	waiting.Add(1)
	go func() { results <- hold(kind, &a) }()
	waiting.Wait()
}

func startChannels() {
	never, other := make(chan bits), make(chan *plain)
	start("goroutine that receives", awaited{receive: never})
	start("goroutine that selects", awaited{receive: never, sent: other})
	start("goroutine that sends", awaited{send: make(chan bits)})
	start("goroutine in a nil channel", awaited{})
	buffered := make(chan bits, 3)
	buffered <- secret("element of a channel")
	texts := make(chan string, 3)
	texts <- name("element of a channel", 16)
	kept = append(kept, buffered, texts)
}

type guarded struct {
	before bits
	mutex  sync.Mutex
	read   sync.RWMutex
	group  sync.WaitGroup
	cond   *sync.Cond
	after  bits
}

func startLocks() {
	g := &guarded{before: secret("field beside a lock"),
		after: secret("field beside a lock")}
	g.cond = sync.NewCond(&sync.Mutex{})
	g.mutex.Lock()
	g.read.Lock()
	g.group.Add(1)
	kept = append(kept, g)
	start("goroutine at a Mutex", awaited{mutex: &g.mutex})
	start("goroutine at a RWMutex", awaited{write: &g.read})
	start("reader at a RWMutex", awaited{read: &g.read})
	start("goroutine at a WaitGroup", awaited{group: &g.group})
	for i := 0; i < 2; i++ {
		start("goroutine at a Cond", awaited{cond: g.cond})
	}
}

func startTimers() {
	start("goroutine that sleeps", awaited{sleep: time.Hour})
	start("goroutine at a timer", awaited{call: func() { <-time.After(time.Hour) }})
	captured, text := secret("closure of a timer"), name("closure of a timer", 16)
	time.AfterFunc(time.Hour, func() { fmt.Println(captured, text) })
	ctx, cancel := context.WithTimeout(context.WithValue(
		context.Background(), plain{code: secret("key of a context")},
		name("value of a context", 16)), time.Hour)
	kept = append(kept, cancel)
	start("goroutine at a context", awaited{call: func() { <-ctx.Done() }})
}

func noteText(kind, text string) string {
	note(kind, []byte(text))
	return text
}

func startSocket(network, address string) net.Listener {
	listener, err := net.Listen(network, address)
	check(err)
	accepted := make(chan net.Conn)
	go func() {
		conn, err := listener.Accept()
		check(err)
		accepted <- conn
	}()
	conn, err := net.Dial(network, listener.Addr().String())
	check(err)
	other := <-accepted
	kept = append(kept, listener, conn, other)
	start(network+" client", awaited{conn: conn})
	other.SetReadDeadline(time.Now().Add(time.Hour))
	start(network+" server", awaited{conn: other})
	start(network+" listener", awaited{listener: listener})
	return listener
}

// A connection that nobody answers: the queue of the listener is full.
func startConnect() {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	check(err)
	to := &syscall.SockaddrInet4{Addr: [4]byte{127, 30}}
	rand.Read(to.Addr[2:3])
	to.Addr[3] = 7
	check(syscall.Bind(fd, to))
	check(syscall.Listen(fd, 0))
	own, err := syscall.Getsockname(fd)
	check(err)
	address := fmt.Sprintf("127.30.%d.7:%d", to.Addr[2],
		own.(*syscall.SockaddrInet4).Port)
	note("address of a socket that connects", []byte(address))
	for {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			break
		}
		kept = append(kept, conn)
	}
	start("tcp connect", awaited{dial: address})
}

// A socket may have an address that no interface has.
func startFree() {
	const level, free = 41, 78 // SOL_IPV6, IPV6_FREEBIND
	var raw [16]byte
	rand.Read(raw[:])
	raw[0] = 0xfd
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			syscall.SetsockoptInt(int(fd), level, free, 1)
		})
	}}
	address := &net.TCPAddr{IP: raw[:]}
	listener, err := config.Listen(context.Background(), "tcp6",
		address.String())
	if err != nil {
		return // no IPv6 here
	}
	note("address of IPv6", raw[:])
	noteText("address of IPv6", listener.Addr().String())
	kept = append(kept, listener)
	start("tcp6 listener", awaited{listener: listener})
}

func startNetwork() {
	var host [2]byte
	rand.Read(host[:])
	listener := startSocket("tcp",
		fmt.Sprintf("127.%d.%d.9:0", 20+host[0]%9, host[1]))
	noteText("address of a TCP socket", listener.Addr().String())
	startSocket("unix", os.TempDir()+"/"+name("path of a socket", 16))
	startSocket("unix", "@"+name("abstract name of a socket", 16))
	startConnect()
	startFree()
	fifo := os.TempDir() + "/" + name("path of a named pipe", 16)
	check(syscall.Mkfifo(fifo, 0o600))
	file, err := os.OpenFile(fifo, os.O_RDWR, 0)
	check(err)
	kept = append(kept, file)
	start("reader of a named pipe", awaited{file: file})
}

// The kernel looks at no argument but the second, the third and the fourth.
func startCall() {
	s, t := secret("arguments of a system call"), secret("arguments of a system call")
	kept = append(kept, &s, &t)
	start("goroutine in a system call", awaited{call: func() {
		syscall.Syscall6(syscall.SYS_PPOLL, uintptr(s[0]), 0, 0, 0,
			uintptr(s[1]), uintptr(t[0]))
	}})
}

// ----------------------------------------------------------------- elsewhere

var (
	kept       []any
	InBss      bits
	InData     = bits{1, 2}
	TextInData = "a text"
	Words      [40]uint64
	Array      [2]string
	Atomic     atomic.Value
	Listed     = list.New()
	Once       sync.Once
	KeyTexts   = map[string]bool{}
	KeyBits    = map[bits]bits{}
	KeyPlain   = map[plain]string{}
	KeyAny     = map[any]any{}
	ByWord     = map[uint64]uint64{}
	Pointers   = map[string]*plain{}
	Largest    = map[bits]string{}
)

func fillMaps() {
	for i := 0; i < 3; i++ {
		KeyTexts[name("key of a map", 16)] = true
		KeyBits[secret("key of a map")] = secret("value of a map")
		KeyPlain[plain{code: secret("key of a map")}] =
			name("value of a map", 16)
		KeyAny[secret("key of a map")] = secret("value of a map")
		KeyAny[name("key of a map", 24)] = name("value of a map", 24)
		ByWord[word("key of a map")] = word("value of a map")
		Pointers[name("key of a map", 8)] =
			&plain{code: secret("value of a map")}
	}
	for i := 0; i < 200; i++ {
		Largest[secret("key of a large map")] =
			name("value of a large map", 16)
	}
}

func fillObjects() {
	InBss, InData = secret("variable in bss"), secret("variable in data")
	TextInData = name("variable in data", 16)
	for i := range Words {
		Words[i] = word("array in bss")
	}
	Array = [2]string{name("array in bss", 8), name("array in bss", 32)}
	Atomic.Store(plain{code: secret("atomic value")})
	Listed.PushBack(secret("element of a list"))
	Listed.PushBack(name("element of a list", 16))
	for _, bytes := range []int{6, 8, 12, 16, 17, 48, 500, 5000} {
		kept = append(kept, name("string", bytes),
			[]byte(name("bytes", bytes)))
	}
	kept = append(kept, makeShapes("object"), makeShapes("object"))
	var builder strings.Builder
	builder.WriteString(name("builder", 40))
	reader := bufio.NewReader(strings.NewReader(name("buffer", 100)))
	reader.Peek(1)
	pool := &sync.Pool{}
	pool.Put(&plain{code: secret("pool")})
	profile := pprof.NewProfile(name("name of a profile", 16))
	profile.Add(&plain{code: secret("entry of a profile")}, 0)
	final := &shapes{long: name("object with a finalizer", 40),
		code: new(bits)}
	captured := secret("closure of a finalizer")
	runtime.SetFinalizer(final, func(*shapes) { fmt.Println(captured) })
	kept = append(kept, &builder, reader, pool, final)
	check(os.Setenv(name("variable of the environment", 16),
		name("variable of the environment", 16)))
	makeGarbage()
}

// Dead objects, some in slots that are free again, and a dead stack.
//
//go:noinline
func makeGarbage() {
	for i := 0; i < 30; i++ {
		_ = makeShapes("garbage")
	}
	runtime.GC()
	for i := 0; i < 30; i++ {
		_ = makeShapes("garbage")
	}
	done := make(chan bool)
	go func() {
		fillDead("stack that is gone")
		close(done)
	}()
	<-done
}

func startLabelled() {
	labels := pprof.Labels(name("key of a label", 16),
		name("value of a label", 16), name("key of a label", 8),
		name("value of a label", 40))
	waiting.Add(1)
	go pprof.Do(context.Background(), labels, func(context.Context) {
		hold("labelled goroutine", &awaited{})
	})
	waiting.Wait()
}

// A goroutine with a panic that is going on, and one with deferred calls.
func startPanic() {
	waiting.Add(1)
	go func() {
		defer func() {
			hold("goroutine that panics", &awaited{})
			_ = recover()
		}()
		defer func() { panic(&badError{secret("panic"), name("panic", 24)}) }()
		panic(name("panic", 40))
	}()
	waiting.Wait()
	captured, text := secret("deferred call"), name("deferred call", 16)
	start("goroutine with deferred calls", awaited{call: func() {
		for i := 0; i < 2; i++ {
			defer func() { fmt.Println(captured, text) }()
		}
		<-make(chan int)
	}})
}

func mapFile(path string, flags int) {
	file, err := os.Create(path)
	check(err)
	check(file.Truncate(1 << 14))
	if flags == syscall.MAP_SHARED {
		file.WriteString(name("mapped file", 16))
	}
	memory, err := syscall.Mmap(int(file.Fd()), 0, 1<<14,
		syscall.PROT_READ|syscall.PROT_WRITE, flags)
	check(err)
	copy(memory[64:], name("mapped file", 16))
	kept = append(kept, memory)
	said.Files = append(said.Files, uintptr(unsafe.Pointer(&memory[0])))
	file.Close()
}

const pathKind = "path of a mapped file"

func mapFiles() {
	folder := os.TempDir() + "/" + name(pathKind, 16)
	check(os.Mkdir(folder, 0o700))
	mapFile(folder+"/"+name(pathKind, 16), syscall.MAP_SHARED)
	mapFile(folder+"/"+name(pathKind, 12)+".so", syscall.MAP_PRIVATE)
	gone := folder + "/" + name(pathKind, 16)
	mapFile(gone, syscall.MAP_SHARED)
	check(os.Remove(gone))
	shared := "/dev/shm/" + name(pathKind, 16)
	mapFile(shared, syscall.MAP_SHARED)
	os.Remove(shared)
	startMemfd()
}

func startMemfd() {
	const memfdCreate = 319 // amd64
	if runtime.GOARCH != "amd64" {
		return
	}
	called := append([]byte(name(pathKind, 16)), 0)
	fd, _, failed := syscall.Syscall(memfdCreate,
		uintptr(unsafe.Pointer(&called[0])), 0, 0)
	if failed == 0 {
		mapFile(fmt.Sprintf("/proc/self/fd/%d", fd), syscall.MAP_SHARED)
	}
}

// nameMemory names a mapping, if the kernel can.
func nameMemory() {
	const prctl, setVMA, anonName = 157, 0x53564d41, 0
	memory, err := syscall.Mmap(-1, 0, 1<<14,
		syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	check(err)
	copy(memory, name("anonymous memory", 16))
	called := append([]byte("Go: "+name("name of memory", 16)), 0)
	if runtime.GOARCH == "amd64" {
		syscall.Syscall6(prctl, setVMA, anonName,
			uintptr(unsafe.Pointer(&memory[0])), 1<<14,
			uintptr(unsafe.Pointer(&called[0])), 0)
	}
	said.Files = append(said.Files, uintptr(unsafe.Pointer(&memory[0])))
	kept = append(kept, memory, called)
}

// nameThread names the main thread.
func nameThread() {
	called := append([]byte(name("name of a thread", 15)), 0)
	check(os.WriteFile("/proc/self/comm", called[:15], 0))
	kept = append(kept, called)
}

// runAgain gives the program arguments and an environment: only then do they
// lie where the kernel places them.
func runAgain() {
	if len(os.Args) > 1 {
		for _, arg := range os.Args[1:] {
			noteText("argument", arg)
		}
		for _, setting := range os.Environ() {
			if strings.HasPrefix(setting, "PLANTED_") {
				noteText("environment", setting[len("PLANTED_"):])
			}
		}
		return
	}
	exe, err := os.Executable()
	check(err)
	check(syscall.Exec(exe,
		[]string{exe, name("", 16), name("", 40)},
		append(os.Environ(), "PLANTED_"+name("", 16)+"="+name("", 40))))
}

func plantAll() {
	fillMaps()
	fillObjects()
	mapFiles()
	nameMemory()
	nameThread()
	startChannels()
	startLocks()
	startTimers()
	startNetwork()
	startCall()
	startLabelled()
	startPanic()
	plantC()
	kept = append(kept, fmt.Errorf("%s: %w", name("error", 24),
		errors.New(name("error", 24))))
}
