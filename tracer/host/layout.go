package host

import (
	"reflect"
	"unsafe"
)

// This file is all that the interpreter knows of Go's memory layout beyond
// package reflect. TestLayout checks each piece against the running release.

// eface is the layout of an empty interface.
type eface struct {
	typ  unsafe.Pointer
	data unsafe.Pointer
}

// sliceHeader is the layout of a slice.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

// stringHeader is the layout of a string.
type stringHeader struct {
	data unsafe.Pointer
	len  int
}

// typeWord is the type word of an interface that holds a value of type r.
func typeWord(r reflect.Type) unsafe.Pointer {
	return (*eface)(unsafe.Pointer(&r)).data
}

// typeOfWord is the reverse of typeWord.
func typeOfWord(w unsafe.Pointer) reflect.Type {
	e := eface{typ: w}
	return reflect.TypeOf(*(*any)(unsafe.Pointer(&e)))
}

// makeEface makes interface content of a type word and its data.
func makeEface(typ, data unsafe.Pointer) any {
	e := eface{typ, data}
	return *(*any)(unsafe.Pointer(&e))
}

// isDirect reports whether an interface holds a value of type r itself: types
// of one pointer word, structs and arrays included.
func isDirect(r reflect.Type) bool {
	switch r.Kind() {
	case reflect.Pointer, reflect.UnsafePointer, reflect.Map, reflect.Chan, reflect.Func:
		return true
	case reflect.Struct, reflect.Array:
		if r.Size() != unsafe.Sizeof(uintptr(0)) || !hasPointers(r) {
			return false
		}
		v := reflect.Zero(r).Interface()
		return (*eface)(unsafe.Pointer(&v)).data == nil
	}
	return false
}

// dataOf returns the address of the value that *i holds. It is memory that
// nobody may write.
func dataOf(i *any, direct bool) unsafe.Pointer {
	e := (*eface)(unsafe.Pointer(i))
	if direct {
		return unsafe.Pointer(&e.data)
	}
	return e.data
}

// makeFunc is the layout of the closure that reflect.MakeFunc makes. A func
// value of the program is a copy of the one that reflect made for its type,
// with a callback of its own.
type makeFunc struct {
	code    uintptr
	stack   unsafe.Pointer
	argLen  uintptr
	regPtrs [2]uint8
	ftyp    unsafe.Pointer
	call    func([]reflect.Value) []reflect.Value
}

// goClosure is the layout of a Go closure over one pointer.
type goClosure struct {
	code    uintptr
	capture unsafe.Pointer
}

// callbackOf returns a callback that runs c, and the code address by which such
// callbacks are known. Inlined, the closure would be another function.
//
//go:noinline
func callbackOf(c *Closure) func([]reflect.Value) []reflect.Value {
	return func(args []reflect.Value) []reflect.Value {
		var r closureRunner = c.in
		return r.callNative(c, args)
	}
}

// closureRunner is the interpreter as callbacks see it (an interface, since
// the address of the callback is part of how the interpreter runs).
type closureRunner interface {
	callNative(c *Closure, args []reflect.Value) []reflect.Value
}

func codeOf(f func([]reflect.Value) []reflect.Value) uintptr {
	return (*goClosure)(*(*unsafe.Pointer)(unsafe.Pointer(&f))).code
}

var (
	callbackCode = codeOf(callbackOf(&Closure{}))
	makeFuncCode = makeFuncStub()
)

// makeFuncStub is the code address of every func value made by reflect.
func makeFuncStub() uintptr {
	f := reflect.MakeFunc(reflect.TypeFor[func()](), func([]reflect.Value) []reflect.Value { return nil }).Interface().(func())
	return (**(**goClosure)(unsafe.Pointer(&f))).code
}

// closureAt returns the closure behind the func value whose word is p, nil for
// nil and for functions that are not the interpreter's.
func closureAt(p unsafe.Pointer) *Closure {
	if p == nil || *(*uintptr)(p) != makeFuncCode {
		return nil
	}
	call := (*makeFunc)(p).call
	if call == nil {
		return nil // a method value made by reflect
	}
	g := (*(**goClosure)(unsafe.Pointer(&call)))
	if g.code != callbackCode {
		return nil
	}
	return (*Closure)(g.capture)
}

// funcTemplate is what reflect made for a func type.
func funcTemplate(t reflect.Type) *makeFunc {
	v := reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value { return nil }).Interface()
	return (*makeFunc)((*eface)(unsafe.Pointer(&v)).data)
}

// newFunc returns the word of a func value that calls c.
func newFunc(template *makeFunc, c *Closure) unsafe.Pointer {
	f := *template
	f.call = callbackOf(c)
	return unsafe.Pointer(&f)
}
