package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
)

type T struct {
	a int
	s []int
}

type myErr struct{ code int }

func (e myErr) Error() string { return fmt.Sprint("code ", e.code) }
func (e myErr) Is(t error) bool {
	_, ok := t.(myErr)
	return ok
}

// try runs f and prints what it panicked with.
func try(name string, f func()) {
	defer func() {
		r := recover()
		_, isRuntime := r.(runtime.Error)
		fmt.Printf("%s: %v %v\n", name, r, isRuntime)
	}()
	f()
}

func named() (n int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("wrapped: %w", r.(error))
		}
	}()
	n = 7
	panic(myErr{n})
}

func deferOrder() {
	for i := range 3 {
		defer fmt.Println("defer", i)
	}
}

func nested() {
	defer func() { fmt.Println("outer recovered:", recover()) }()
	defer func() {
		defer func() { fmt.Println("inner recovered:", recover()) }()
		panic("second")
	}()
	panic("first")
}

func replaced() {
	defer func() { fmt.Println("got", recover()) }()
	defer func() { panic("two") }()
	panic("one")
}

func notDirect() {
	defer func() {
		func() { fmt.Println("not direct:", recover()) }()
		fmt.Println("direct:", recover())
	}()
	panic("x")
}

func rangeDefers(seq func(func(int) bool)) {
	for v := range seq {
		defer fmt.Println("deferred in body", v)
		if v == 2 {
			return
		}
	}
}

func afterRecovery() (n int) {
	defer func() { n *= 2 }()
	defer func() {
		recover()
		n = 21
	}()
	panic("x")
}

type stringer interface{ String() string }

func main() {
	var m map[string]int
	var p *T
	var s []int
	var i any = "text"
	var e stringer
	zero := 0
	try("nil map", func() { m["a"] = 1 })
	try("nil pointer", func() { p.a = 1 })
	try("index", func() { _ = s[3] })
	try("slice", func() { _ = s[1:zero] })
	try("array", func() { var a [4]int; j := 9 + zero; _ = a[j] })
	try("string", func() { _ = "abc"[zero+7] })
	try("divide", func() { _ = 1 / zero })
	try("assert", func() { _ = i.(int) })
	try("assert iface", func() { _ = i.(stringer) })
	try("nil iface", func() { _ = e.String() })
	try("makeslice", func() { _ = make([]int, zero-1) })
	try("close nil", func() { var c chan int; close(c) })
	try("close twice", func() { c := make(chan int); close(c); close(c) })
	try("unhashable", func() { m := map[any]int{}; m[[]int{1}] = 2 })
	try("uncomparable", func() { var a, b any = []int{1}, []int{1}; _ = a == b })
	try("shift", func() { _ = 1 << (zero - 1) })
	try("custom", func() { panic(myErr{3}) })
	try("nil func", func() { var f func(); f() })
	try("nil func deferred", func() { var f func(); defer f(); fmt.Println("reached") })
	n, err := named()
	fmt.Println(n, err, errors.Is(err, myErr{}))
	var target myErr
	fmt.Println(errors.As(err, &target), target.code)
	deferOrder()
	nested()
	replaced()
	notDirect()
	fmt.Println(afterRecovery())
	rangeDefers(func(yield func(int) bool) {
		for i := range 5 {
			if !yield(i) {
				return
			}
		}
	})
	try("through native", func() {
		strings.Map(func(r rune) rune { panic(fmt.Sprint("in callback ", string(r))) }, "abc")
	})
	_, err = os.Open("/does/not/exist")
	var pe *os.PathError
	ok := errors.As(err, &pe)
	fmt.Println(ok, pe.Op, errors.Is(err, os.ErrNotExist))
}
