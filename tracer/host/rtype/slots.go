package rtype

import (
	"errors"
	"reflect"
	"runtime"
	"sync"
	"unsafe"
)

// This file is the entry points of methods. A table of methods holds addresses of
// code, but a method of the program is a closure. So there is a fixed number of
// entry points in assembly: entry i goes on in the closure slotFuncs[i], as a call
// of that func value would.

const numSlots = 8192 // as in slots_*.s

// slotFuncs are the closures by entry point, nil where it is free.
var slotFuncs [numSlots]unsafe.Pointer

var slots struct {
	sync.Mutex
	free []int
	next int
}

// ErrSlots is the panic of a program that has more methods than there are entry
// points.
var ErrSlots = errors.New("host: the program's types have too many methods that compiled code can call")

// Slots are entry points that are given back together.
type Slots struct {
	mu   sync.Mutex
	used []int
}

// New returns an entry point that calls fn as a function of type t.
func (s *Slots) New(t reflect.Type, fn func([]reflect.Value) []reflect.Value) unsafe.Pointer {
	v := reflect.MakeFunc(t, fn).Interface()
	i := takeSlot()
	slotFuncs[i] = (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
	s.mu.Lock()
	s.used = append(s.used, i)
	s.mu.Unlock()
	return slotAddr(i)
}

// Free gives the entry points back. Nothing may call them any more.
func (s *Slots) Free() {
	slots.Lock()
	defer slots.Unlock()
	for _, i := range s.used {
		slotFuncs[i] = nil
	}
	slots.free = append(slots.free, s.used...)
	s.used = nil
}

func takeSlot() int {
	for range 3 {
		if i, ok := tryTakeSlot(); ok {
			return i
		}
		runtime.GC() // programs that are gone give theirs back
		runtime.Gosched()
	}
	panic(ErrSlots)
}

func tryTakeSlot() (int, bool) {
	slots.Lock()
	defer slots.Unlock()
	if n := len(slots.free); n > 0 {
		i := slots.free[n-1]
		slots.free = slots.free[:n-1]
		return i, true
	}
	if slots.next == numSlots {
		return 0, false
	}
	slots.next++
	return slots.next - 1, true
}

// slotBase is the address of the first entry point.
func slotBase() uintptr

func slotAddr(i int) unsafe.Pointer {
	p := slotBase() + uintptr(i)*slotSize
	return *(*unsafe.Pointer)(unsafe.Pointer(&p))
}

// unreachable is the entry point of methods that nobody should call.
var unreachable = sync.OnceValue(func() unsafe.Pointer {
	return new(Slots).New(reflect.TypeFor[func()](), func([]reflect.Value) []reflect.Value {
		panic("rtype: call of a method that has no entry point")
	})
})

// slotCode is the entry points, one after the other; it is not called itself.
//
//nolint:unused // assembly takes its address
func slotCode()
