package host

import (
	"sort"
	"unsafe"
)

// This file is the functions of package sort that call the program for every
// comparison: they call its closures straight, where a func value would go through
// reflection each time.

func addSort(m map[string]Intrinsic) {
	m["sort.Slice"] = sortSlice(sort.Slice)
	m["sort.SliceStable"] = sortSlice(sort.SliceStable)
	m["sort.SliceIsSorted"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, sort.SliceIsSorted(arg[any](a, 0), lessAt(th.In, a[1])))
	}
	m["sort.Search"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		f, call := arg[func(int) bool](a, 1), direct(th.In, a[1])
		if call != nil {
			f = func(i int) (yes bool) {
				call([]unsafe.Pointer{unsafe.Pointer(&i)}, unsafe.Pointer(&yes))
				return yes
			}
		}
		put(r, sort.Search(arg[int](a, 0), f))
	}
}

func sortSlice(f func(any, func(i, j int) bool)) Intrinsic {
	return func(th *Thread, _ *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
		f(arg[any](a, 0), lessAt(th.In, a[1]))
	}
}

// lessAt is the comparison whose func value is at p.
func lessAt(in *Interp, p unsafe.Pointer) func(i, j int) bool {
	call := direct(in, p)
	if call == nil {
		return *(*func(i, j int) bool)(p)
	}
	var x, y int
	var yes bool
	args := []unsafe.Pointer{unsafe.Pointer(&x), unsafe.Pointer(&y)}
	return func(i, j int) bool {
		x, y = i, j
		call(args, unsafe.Pointer(&yes))
		return yes
	}
}

// direct calls the program's function whose func value is at p; nil where it is
// native code, or none.
func direct(in *Interp, p unsafe.Pointer) func(args []unsafe.Pointer, result unsafe.Pointer) {
	c := in.ClosureOf(p)
	if c == nil || c.in == nil {
		return nil
	}
	b := c.in.bind(c.Fn)
	return func(args []unsafe.Pointer, result unsafe.Pointer) { c.in.nativeCall(b, c, c.Free, args, result) }
}
