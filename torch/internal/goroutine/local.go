// Package goroutine keeps values that each goroutine has for itself, as threads of
// other languages have thread-local ones.
//
// It imports nothing of ours. Open this file first.
package goroutine

import "sync/atomic"

// bits gives the number of buckets, of which goroutines that hold a value at a time
// should not be many times more.
const bits = 12

// Local is a value for each goroutine, 0 until the goroutine sets another. While no
// goroutine holds one, Get costs a load.
//
// The runtime uses the memory of a goroutine that is over for one that starts. So a
// slot, which belongs to that memory, notes which goroutine wrote it, and there are
// never more slots than there have been goroutines at one time.
type Local struct {
	held  atomic.Int64 // slots whose value is not 0
	slots slots[atomic.Uint32]
}

// slots has the slots of all goroutines.
type slots[V any] [1 << bits]atomic.Pointer[slot[V]]

// slot is the value of the goroutine that runs in some memory. Only that goroutine
// reads or writes it.
type slot[V any] struct {
	memory uintptr
	next   *slot[V]
	owner  atomic.Uint64
	value  V
}

// Get returns the value of the calling goroutine.
func (l *Local) Get() uint32 {
	if l.held.Load() == 0 {
		return 0
	}
	s := l.slots.find(memory())
	if s == nil || s.value.Load() == 0 {
		return 0
	}
	if s.owner.Load() != id() { // that one ended without giving the value back
		l.put(s, 0)
		return 0
	}
	return s.value.Load()
}

// Set changes the value of the calling goroutine and returns what it was.
func (l *Local) Set(v uint32) uint32 {
	old := l.Get()
	if v == old {
		return old
	}
	m := memory()
	s := l.slots.find(m)
	if s == nil {
		s = l.slots.add(m)
	}
	s.owner.Store(id())
	l.put(s, v)
	return old
}

func (l *Local) put(s *slot[atomic.Uint32], v uint32) {
	switch old := s.value.Swap(v); {
	case old == 0 && v != 0:
		l.held.Add(1)
	case old != 0 && v == 0:
		l.held.Add(-1)
	}
}

func (l *slots[V]) find(m uintptr) *slot[V] {
	for s := l.bucket(m).Load(); s != nil; s = s.next {
		if s.memory == m {
			return s
		}
	}
	return nil
}

func (l *slots[V]) add(m uintptr) *slot[V] {
	s, b := &slot[V]{memory: m}, l.bucket(m)
	for {
		s.next = b.Load()
		if b.CompareAndSwap(s.next, s) {
			return s
		}
	}
}

func (l *slots[V]) bucket(m uintptr) *atomic.Pointer[slot[V]] {
	return &l[uint64(m)*0x9e3779b97f4a7c15>>(64-bits)]
}
