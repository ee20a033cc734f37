package baton

import (
	"reflect"
	"sync"
	"time"
	"unsafe"
)

// This file is the functions that a program calls, by name: their arguments and results lie
// at addresses, as those of other compiled functions do.

// Call is a compiled function.
type Call func(a []unsafe.Pointer, r unsafe.Pointer)

func arg[T any](a []unsafe.Pointer, i int) T { return *(*T)(a[i]) }

func put[T any](r unsafe.Pointer, v T) {
	if r != nil {
		*(*T)(r) = v
	}
}

// on is a method without arguments and results.
func on[T any](f func(T)) Call {
	return func(a []unsafe.Pointer, _ unsafe.Pointer) { f(arg[T](a, 0)) }
}

// gives is a function of one argument with one result.
func gives[T, R any](f func(T) R) Call {
	return func(a []unsafe.Pointer, r unsafe.Pointer) { put(r, f(arg[T](a, 0))) }
}

// Calls are the functions that wait, or wake, by name.
func (s *Sched) Calls() map[string]Call {
	l := s.Locks
	m := map[string]Call{
		"(*sync.Mutex).Lock":      on(l.Lock),
		"(*sync.Mutex).Unlock":    on(l.Unlock),
		"(*sync.RWMutex).Lock":    on(l.LockRW),
		"(*sync.RWMutex).Unlock":  on(l.UnlockRW),
		"(*sync.RWMutex).RLock":   on(l.RLock),
		"(*sync.RWMutex).RUnlock": on(l.RUnlock),
		"(*sync.WaitGroup).Wait":  on(l.Wait),
		"(*sync.WaitGroup).Done":  on(func(wg *sync.WaitGroup) { l.Add(wg, -1) }),
		"(*sync.WaitGroup).Add": func(a []unsafe.Pointer, _ unsafe.Pointer) {
			l.Add(arg[*sync.WaitGroup](a, 0), arg[int](a, 1))
		},
		"(*sync.WaitGroup).Go": func(a []unsafe.Pointer, _ unsafe.Pointer) {
			wg, f := arg[*sync.WaitGroup](a, 0), s.Start(a[1])
			l.Add(wg, 1)
			s.Go(func() {
				defer l.Add(wg, -1)
				f()
			})
		},
		"(*sync.Once).Do": func(a []unsafe.Pointer, _ unsafe.Pointer) {
			l.Do(arg[*sync.Once](a, 0), arg[func()](a, 1))
		},
		"sync.OnceFunc":           gives(l.OnceFunc),
		"(*sync.Cond).Wait":       on(l.WaitCond),
		"(*sync.Cond).Signal":     on(func(c *sync.Cond) { l.Signal(c, false) }),
		"(*sync.Cond).Broadcast":  on(func(c *sync.Cond) { l.Signal(c, true) }),
		"(*sync.Pool).Put":        func([]unsafe.Pointer, unsafe.Pointer) {}, // it keeps what it likes: nothing
		"(*sync.Pool).Get":        gives(fresh),
		"runtime.Gosched":         func([]unsafe.Pointer, unsafe.Pointer) { s.Yield() },
		"(reflect.Value).Close":   on(s.Chans.Close),
		"(reflect.Value).Recv":    s.Chans.reflectRecv(false),
		"(reflect.Value).TryRecv": s.Chans.reflectRecv(true),
	}
	s.clock.addTimers(m)
	return m
}

func (s *Clock) addTimers(m map[string]Call) {
	m["time.Sleep"] = func(a []unsafe.Pointer, _ unsafe.Pointer) {
		if d := arg[time.Duration](a, 0); !s.Sleep(d) && !s.tape.Again() {
			time.Sleep(d)
		}
	}
	m["time.After"] = gives(s.After)
	m["time.Tick"] = gives(s.Tick)
	m["time.NewTimer"] = gives(s.NewTimer)
	m["time.NewTicker"] = gives(s.NewTicker)
	m["time.AfterFunc"] = func(a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, s.AfterFunc(arg[time.Duration](a, 0), s.Start(a[1])))
	}
	m["(*time.Timer).Stop"] = gives(s.StopTimer)
	m["(*time.Timer).Reset"] = func(a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, s.ResetTimer(arg[*time.Timer](a, 0), arg[time.Duration](a, 1)))
	}
	m["(*time.Ticker).Stop"] = on(s.StopTicker)
	m["(*time.Ticker).Reset"] = func(a []unsafe.Pointer, _ unsafe.Pointer) {
		s.ResetTicker(arg[*time.Ticker](a, 0), arg[time.Duration](a, 1))
	}
}

// fresh is what a sync.Pool without anything gives.
func fresh(p *sync.Pool) any {
	if p.New == nil {
		return nil
	}
	return p.New()
}

// received is the result of the methods of a reflect.Value that receive.
type received struct {
	v  reflect.Value
	ok bool
}

func (s *Chans) reflectRecv(try bool) Call {
	return func(a []unsafe.Pointer, r unsafe.Pointer) {
		cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: arg[reflect.Value](a, 0)}}
		if try {
			cases = append(cases, reflect.SelectCase{Dir: reflect.SelectDefault})
		}
		_, v, ok := s.Select(cases)
		put(r, received{v, ok})
	}
}
