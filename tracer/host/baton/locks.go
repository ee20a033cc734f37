package baton

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// This file is package sync. A lock that is released goes to whoever has waited longest.

// Locks are what package sync has, of a program.
type Locks struct {
	*Sched
	by     map[unsafe.Pointer]*lock
	groups map[*sync.WaitGroup][]*parked
	once   map[*sync.Once][]*parked
	conds  map[*sync.Cond][]*ticket
}

// lock is who waits for a mutex.
type lock struct {
	waiting []*locker
}

// locker waits for a mutex.
type locker struct {
	*parked
	try func() bool
}

// acquire takes a lock, or waits for it. A lock that others wait for already is not taken.
func (s *Locks) acquire(p unsafe.Pointer, try func() bool) {
	s.mu.Lock()
	q := s.by[p]
	if q == nil && try() {
		s.mu.Unlock()
		return
	}
	l := &locker{s.park(), try}
	if q == nil {
		q = &lock{}
		s.by[p] = q
	}
	q.waiting = append(q.waiting, l)
	s.wait(l.parked)
}

// release does free, which releases a lock, and gives it to whoever waits.
func (s *Locks) release(p unsafe.Pointer, free func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	free()
	s.grant(p)
}

// grant gives a lock to those who wait, as far as it can be had.
func (s *Locks) grant(p unsafe.Pointer) {
	q := s.by[p]
	if q == nil {
		return
	}
	for len(q.waiting) > 0 && q.waiting[0].try() {
		s.end(q.waiting[0].parked)
		q.waiting = q.waiting[1:]
	}
	if len(q.waiting) == 0 {
		delete(s.by, p)
	}
}

// Lock is m.Lock.
func (s *Locks) Lock(m *sync.Mutex) { s.acquire(unsafe.Pointer(m), m.TryLock) }

// Unlock is m.Unlock.
func (s *Locks) Unlock(m *sync.Mutex) { s.release(unsafe.Pointer(m), m.Unlock) }

// LockRW is m.Lock.
func (s *Locks) LockRW(m *sync.RWMutex) { s.acquire(unsafe.Pointer(m), m.TryLock) }

// UnlockRW is m.Unlock.
func (s *Locks) UnlockRW(m *sync.RWMutex) { s.release(unsafe.Pointer(m), m.Unlock) }

// RLock is m.RLock.
func (s *Locks) RLock(m *sync.RWMutex) { s.acquire(unsafe.Pointer(m), m.TryRLock) }

// RUnlock is m.RUnlock.
func (s *Locks) RUnlock(m *sync.RWMutex) { s.release(unsafe.Pointer(m), m.RUnlock) }

// look ends waits for what compiled code has released.
func (s *Locks) look() {
	ps := make([]unsafe.Pointer, 0, len(s.by))
	for p := range s.by {
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b unsafe.Pointer) int {
		return cmp.Compare(s.by[a].waiting[0].nth, s.by[b].waiting[0].nth)
	})
	for _, p := range ps {
		s.grant(p)
	}
	for wg := range s.groups {
		s.groupDone(wg)
	}
}

// state is where a sync.WaitGroup has its count.
var state = func() uintptr {
	f, ok := reflect.TypeFor[sync.WaitGroup]().FieldByName("state")
	if !ok || f.Type != reflect.TypeFor[atomic.Uint64]() {
		panic("baton: sync.WaitGroup has another layout")
	}
	return f.Offset
}()

func count(wg *sync.WaitGroup) int32 {
	return int32((*atomic.Uint64)(unsafe.Add(unsafe.Pointer(wg), state)).Load() >> 32)
}

// Add is wg.Add.
func (s *Locks) Add(wg *sync.WaitGroup, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wg.Add(n)
	s.groupDone(wg)
}

// groupDone ends the waits for a group that is done.
func (s *Locks) groupDone(wg *sync.WaitGroup) {
	if waiting := s.groups[wg]; waiting != nil && count(wg) == 0 {
		delete(s.groups, wg)
		s.endAll(waiting)
	}
}

func (s *Locks) endAll(waiting []*parked) {
	for _, p := range waiting {
		s.end(p)
	}
}

// Wait is wg.Wait.
func (s *Locks) Wait(wg *sync.WaitGroup) {
	s.mu.Lock()
	if count(wg) == 0 {
		s.mu.Unlock()
		return
	}
	p := s.park()
	s.groups[wg] = append(s.groups[wg], p)
	s.wait(p)
}

// Do is o.Do.
func (s *Locks) Do(o *sync.Once, f func()) {
	for {
		s.mu.Lock()
		waiting, busy := s.once[o]
		if !busy {
			break
		}
		p := s.park()
		s.once[o] = append(waiting, p)
		s.wait(p)
	}
	s.once[o] = nil
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		waiting := s.once[o]
		delete(s.once, o)
		s.endAll(waiting)
	}()
	o.Do(f)
}

// ticket is a wait for a sync.Cond: it may be over before its goroutine waits.
type ticket struct {
	over bool
	p    *parked
}

// WaitCond is c.Wait.
func (s *Locks) WaitCond(c *sync.Cond) {
	t := &ticket{}
	s.mu.Lock()
	s.conds[c] = append(s.conds[c], t)
	s.mu.Unlock()
	s.locker(c.L, false)
	s.mu.Lock()
	if t.over {
		s.mu.Unlock()
	} else {
		t.p = s.park()
		s.wait(t.p)
	}
	s.locker(c.L, true)
}

// locker locks or unlocks what a sync.Cond has.
func (s *Locks) locker(l sync.Locker, take bool) {
	var m, u func()
	switch l := l.(type) {
	case *sync.Mutex:
		m, u = func() { s.Lock(l) }, func() { s.Unlock(l) }
	case *sync.RWMutex:
		m, u = func() { s.LockRW(l) }, func() { s.UnlockRW(l) }
	default:
		m, u = l.Lock, l.Unlock
		if v := reflect.ValueOf(l); fmt.Sprint(v.Type()) == "*sync.rlocker" {
			rw := (*sync.RWMutex)(v.UnsafePointer())
			m, u = func() { s.RLock(rw) }, func() { s.RUnlock(rw) }
		}
	}
	if take {
		m()
	} else {
		u()
	}
}

// Signal is c.Signal, and Broadcast where all is set.
func (s *Locks) Signal(c *sync.Cond, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.conds[c]
	n := min(1, len(waiting))
	if all {
		n = len(waiting)
	}
	if s.conds[c] = waiting[n:]; n == len(waiting) {
		delete(s.conds, c)
	}
	for _, t := range waiting[:n] {
		if t.over = true; t.p != nil {
			s.end(t.p)
		}
	}
}

// OnceFunc is sync.OnceFunc.
func (s *Locks) OnceFunc(f func()) func() {
	var o sync.Once
	g := sync.OnceFunc(f) // what it panics with, it panics with each time
	return func() {
		s.Do(&o, g)
		g()
	}
}
