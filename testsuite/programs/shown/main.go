// SPDX-License-Identifier: Apache-2.0

// One function whose local variables are values of all kinds, for the printer
// of values. The program prints each as fmt does.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"time"
	"unsafe"
)

type Celsius float64
type Weekday uint8
type Names []string
type Table map[string]int
type Handler func(int) error

const (
	Monday Weekday = iota + 1
	Tuesday
)

type Point struct {
	X, Y int
}

type Line struct {
	From, To Point
	Label    string
}

type Drawing struct {
	Title string
	Line  Line
	Lines []Line
	First *Line
	Next  *Drawing
}

type Base struct {
	ID int
}

type Derived struct {
	Base
	*Point
	Name string
}

type Small struct {
	A int8
	B bool
	C uint16
}

type Empty struct{}

type Pair[K comparable, V any] struct {
	Key   K
	Value V
}

type Big [200]byte

type Problem struct {
	Code int
}

func (p Problem) Error() string { return fmt.Sprint("problem ", p.Code) }

func (p *Point) Move(n int) error { p.X += n; return nil }

func handle(n int) error { return nil }

func keep(values ...any) {
	for _, v := range values {
		runtime.KeepAlive(v)
	}
}

// printValues prints what fmt makes of values, and ends with its input.
func printValues(values map[string]any) {
	texts := map[string]string{}
	for name, value := range values {
		texts[name] = fmt.Sprint(value)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"values": texts})
	io.ReadAll(os.Stdin)
}

//go:noinline
func argued(number int, name string, list []int, point Point, at *Point,
	problem error, ready chan struct{}) {
	close(ready)
	select {}
	keep(number, name, list, point, at, problem)
}

// captured has a closure that changes what it has captured, and a channel whose
// elements go around the end of its buffer.
//
//go:noinline
func captured(ready chan struct{}) {
	aName, aCount := "captured", 5
	aCounter := func() int { aCount++; return aCount + len(aName) }
	aCount += 2
	aLateChannel := make(chan Point, 3)
	for i := 1; i < 5; i++ {
		if len(aLateChannel) == cap(aLateChannel) {
			<-aLateChannel
		}
		aLateChannel <- Point{i, i}
	}
	close(ready)
	select {}
	keep(aCounter, aLateChannel)
}

//go:noinline
func show() {
	yes, no := true, false
	var anInt int = -12345
	var anInt8 int8 = -128
	var anInt16 int16 = -32768
	var anInt32 int32 = math.MinInt32
	var anInt64 int64 = math.MinInt64
	var aUint uint = 12345
	var aUint8 uint8 = 255
	var aUint16 uint16 = 65535
	var aUint32 uint32 = math.MaxUint32
	var aUint64 uint64 = math.MaxUint64
	var aUintptr uintptr = 0xdeadbeef
	var aRune rune = 'ä'
	var aFloat32 float32 = 3.14159
	var aFloat64 float64 = -0.1
	var aTiny float64 = 1.5e-10
	var aHuge float64 = 1e21
	var aWhole float64 = 100
	aNaN, anInf := math.NaN(), math.Inf(-1)
	var aComplex64 complex64 = complex(1.5, -2)
	var aComplex128 complex128 = complex(-0.25, 3)
	var aCelsius Celsius = 36.6
	aWeekday := Tuesday
	aDuration := 1500 * time.Millisecond
	aSecond := time.Second
	aString := "hello, \"world\"\n\tümlaut \x00\xff"
	anEmptyString := ""
	aLongString := strings.Repeat("0123456789", 20)
	aCutRune := strings.Repeat("x", 63) + "äöü"
	anArray := [3]int{1, 2, 3}
	aBigArray := Big{1, 2, 3}
	aMatrix := [2][2]int{{1, 2}, {3, 4}}
	aSlice := []int{1, 2, 3}
	aSliceWithRoom := append(make([]int, 0, 10), 7)
	aLongSlice := make([]int, 100)
	aNilSlice := []int(nil)
	anEmptySlice := []int{}
	someBytes := []byte("bytes")
	someNames := Names{"a", "b"}
	someStructs := []Point{{1, 2}, {3, 4}}
	somePointers := []*Point{{5, 6}, nil}
	someAnys := []any{1, "x", nil, Point{1, 2}, &Point{3, 4}, 2.5, []int{1}}
	aMap := map[string]int{"one": 1, "two": 2, "three": 3}
	aNilMap := map[string]int(nil)
	anEmptyMap := map[int]bool{}
	aLongMap := map[int]int{}
	for i := 0; i < 200; i++ {
		aLongMap[i] = i * i
	}
	aStructMap := map[Point]Line{{1, 2}: {Label: "l"}}
	aBigMap := map[int]Big{1: {9}}
	aTable := Table{"t": 1}
	aSet := map[string]struct{}{"k": {}}
	aPoint := Point{1, 2}
	aLine := Line{Point{1, 2}, Point{3, 4}, "diagonal"}
	aDrawing := Drawing{Title: "d", Line: aLine, Lines: []Line{aLine},
		First: &aLine}
	aRing := &Drawing{Title: "ring"}
	aRing.Next = aRing
	aDerived := Derived{Base{7}, &Point{8, 9}, "derived"}
	aSmall := Small{-1, true, 500}
	anEmptyStruct := Empty{}
	anAnonymous := struct {
		A int
		B string
	}{1, "b"}
	aPair := Pair[string, int]{"key", 5}
	aPointer := &Point{10, 20}
	aNilPointer := (*Point)(nil)
	anIntPointer := &anInt
	aPointerToPointer := &aPointer
	var aPointerToAny *any
	var inner any = 42
	aPointerToAny = &inner
	var aNilError error
	anError := errors.New("broken")
	var aProblem error = Problem{404}
	var anAny any = 1234
	var anAnyString any = "in an interface"
	var anAnyMap any = map[string]int{"m": 1}
	var anAnySlice any = []string{"s"}
	var aNilAny any
	var aReader io.Reader = strings.NewReader("read me")
	var aTypedNil error = (*os.PathError)(nil)
	aChannel := make(chan int, 4)
	aChannel <- 1
	aChannel <- 2
	anUnbuffered := make(chan string)
	aNilChannel := (chan int)(nil)
	aReceiver := (<-chan int)(aChannel)
	aFunction := handle
	aHandler := Handler(handle)
	aClosure := func() int { return anInt }
	aMethod := aPointer.Move
	var aNilFunction func()
	aTime := time.Date(2024, 2, 29, 12, 34, 56, 789, time.UTC)
	aZeroTime := time.Time{}
	anOldTime := time.Date(-5, 12, 31, 23, 59, 59, 0, time.UTC)
	aUnixTime := time.Unix(1700000000, 0)
	aNow := time.Now()
	anUnsafe := unsafe.Pointer(aPointer)
	aNilUnsafe := unsafe.Pointer(nil)
	var escaped = 77
	escape = &escaped
	_ = escape

	printValues(map[string]any{
		"yes": yes, "no": no, "anInt": anInt, "anInt8": anInt8,
		"anInt16": anInt16, "anInt32": anInt32, "anInt64": anInt64,
		"aUint": aUint, "aUint8": aUint8, "aUint16": aUint16,
		"aUint32": aUint32, "aUint64": aUint64, "aRune": aRune,
		"aFloat32": aFloat32, "aFloat64": aFloat64, "aWhole": aWhole,
		"aNaN": aNaN, "anInf": anInf, "aCelsius": aCelsius,
	})

	keep(yes, no, anInt, anInt8, anInt16, anInt32, anInt64, aUint, aUint8,
		aUint16, aUint32, aUint64, aUintptr, aRune, aFloat32, aFloat64,
		aTiny, aHuge, aWhole, aNaN, anInf, aComplex64, aComplex128,
		aCelsius, aWeekday, aDuration, aSecond, aString, anEmptyString,
		aLongString, aCutRune, anArray, aBigArray, aMatrix, aSlice,
		aSliceWithRoom, aLongSlice, aNilSlice, anEmptySlice, someBytes,
		someNames, someStructs, somePointers, someAnys, aMap, aNilMap,
		anEmptyMap, aLongMap, aStructMap, aBigMap, aTable, aSet, aPoint,
		aLine, aDrawing, aRing, aDerived, aSmall, anEmptyStruct,
		anAnonymous, aPair, aPointer, aNilPointer, anIntPointer,
		aPointerToPointer, aPointerToAny, aNilError, anError, aProblem,
		anAny, anAnyString, anAnyMap, anAnySlice, aNilAny, aReader,
		aTypedNil, aChannel, anUnbuffered, aNilChannel, aReceiver,
		aFunction, aHandler, aClosure, aMethod, aNilFunction, aTime,
		aZeroTime, anOldTime, aUnixTime, aNow, anUnsafe, aNilUnsafe)
}

var escape *int

func main() {
	ready := make(chan struct{})
	go argued(42, "argument", []int{1, 2}, Point{3, 4}, &Point{5, 6},
		errors.New("e"), ready)
	<-ready
	ready = make(chan struct{})
	go captured(ready)
	<-ready
	show()
}
