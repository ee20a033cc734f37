package host

import (
	"context"
	"sync"
	"time"
	"unsafe"
)

// This file is what starts a goroutine from compiled code to run a function of the
// program: nobody there recovers, so a panic ends the program as its own goroutine's does.

func addStarted(m map[string]Intrinsic) {
	m["(*sync.WaitGroup).Go"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
		wg, f := arg[*sync.WaitGroup](a, 0), arg[func()](a, 1)
		wg.Add(1)
		go func() {
			defer wg.Done()
			th.In.started(f)()
		}()
	}
	m["time.AfterFunc"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, time.AfterFunc(arg[time.Duration](a, 0), th.In.started(arg[func()](a, 1))))
	}
	m["context.AfterFunc"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, context.AfterFunc(arg[context.Context](a, 0), th.In.started(arg[func()](a, 1))))
	}
}

// started is f as a goroutine's function.
func (in *Interp) started(f func()) func() {
	return func() {
		defer func() {
			r := recover()
			if p, ok := r.(*nativePanic); ok {
				in.die(p.rec)
			} else if r != nil {
				panic(r)
			}
		}()
		f()
	}
}
