package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"tcdbg/torch/internal/simd"
)

// This file is the goroutines that work for Each. To start one costs an operator of
// a fraction of a millisecond dearly: the system wakes a thread late, and often
// on the processor that the caller holds. So a goroutine that is done lingers
// for a moment and takes the next operator's work. Nobody waits for one that
// comes late: the caller does by itself what is not yet taken.

const (
	// linger is how long a goroutine without work stays awake.
	linger = 100 * time.Microsecond
	// patience is how long a caller stays awake for the last steps of others.
	patience = 50 * time.Microsecond
)

// team is the work of one call.
type team struct {
	f      func(i int)
	n      int64
	taken  atomic.Int64   // steps that somebody took
	done   atomic.Int64   // steps that are over
	open   sync.WaitGroup // the same, to sleep on
	failed atomic.Pointer[any]
	place  atomic.Int64 // the processor that runs the caller
}

// lead is the caller's part of the work.
func (t *team) lead() {
	t.work(func() { t.place.Store(int64(simd.Processor())) })
}

// help is the part of another goroutine, on another processor if there is one.
func (t *team) help() {
	t.work(func() {
		if at := simd.Processor(); at >= 0 && int64(at) == t.place.Load() {
			movers.leave(at)
		}
	})
}

// work takes steps until there are none; before each it calls ready.
func (t *team) work(ready func()) {
	for {
		i := t.taken.Add(1) - 1
		if i >= t.n {
			return
		}
		ready()
		t.step(int(i))
	}
}

func (t *team) step(i int) {
	defer func() {
		if r := recover(); r != nil {
			t.failed.CompareAndSwap(nil, &r)
		}
		t.done.Add(1)
		t.open.Done()
	}()
	if t.failed.Load() == nil {
		t.f(i)
	}
}

// wait returns when every step is over, and raises the first panic.
func (t *team) wait() {
	if !awake(patience, func() bool { return t.done.Load() == t.n }) {
		t.open.Wait()
	}
	if r := t.failed.Load(); r != nil {
		panic(*r)
	}
}

// awake asks for ok until it is true or the time is over.
func awake(limit time.Duration, ok func() bool) bool {
	var start time.Time
	for i := 1; !ok(); i++ {
		simd.Pause()
		if i%64 != 0 {
			continue
		}
		switch now := time.Now(); {
		case start.IsZero():
			start = now
		case now.Sub(start) > limit:
			return false
		}
	}
	return true
}

// hand is a goroutine that works for teams, one after the other.
type hand struct{ next atomic.Pointer[team] }

// idle are the hands that linger.
var idle struct {
	sync.Mutex
	hands []*hand
}

// hire gives t one hand more.
func hire(t *team) {
	idle.Lock()
	var h *hand
	if last := len(idle.hands) - 1; last >= 0 {
		h, idle.hands = idle.hands[last], idle.hands[:last]
	}
	idle.Unlock()
	if h != nil {
		h.next.Store(t)
		return
	}
	go new(hand).serve(t)
}

func (h *hand) serve(t *team) {
	for t != nil {
		t.help()
		t = h.another()
	}
}

// another lingers for the next team, nil when none came.
func (h *hand) another() *team {
	h.next.Store(nil) // a hand that lingers keeps nothing alive
	idle.Lock()
	idle.hands = append(idle.hands, h)
	idle.Unlock()
	called := func() bool { return h.next.Load() != nil }
	if awake(linger, called) || h.leave() {
		return h.next.Load()
	}
	for !called() { // it was taken off the list a moment ago
		runtime.Gosched()
	}
	return h.next.Load()
}

// leave takes h off the list, unless it is not there any more.
func (h *hand) leave() bool {
	idle.Lock()
	defer idle.Unlock()
	for i, other := range idle.hands {
		if other == h {
			idle.hands = append(idle.hands[:i], idle.hands[i+1:]...)
			return true
		}
	}
	return false
}
