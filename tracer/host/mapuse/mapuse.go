// Package mapuse notices that goroutines of a program use one map at the same time. Go's run
// time notices too, and ends the process with the stacks of the process; what is noticed
// here first can be reported with the program's lines. What compiled code does with a map, as
// fmt and encoding/json do, is not noticed here. It imports nothing of ours.
package mapuse

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Table is the maps of a process that are being used. It is ready to use.
type Table struct {
	writers [256]slot // by the map's address
	readers [16]slot  // by who reads
}

// slot holds the address of a map, or 0; it has a cache line of its own.
type slot struct {
	m atomic.Uintptr
	_ [56]byte
}

// Use is one use of a map that has begun.
type Use struct{ s *slot }

// End ends a use.
func (u Use) End() {
	if u.s != nil {
		u.s.m.Store(0)
	}
}

func (t *Table) writer(m uintptr) *slot {
	return &t.writers[uint32(m>>4)*0x9E3779B1>>24]
}

// Read begins a look-up; who tells goroutines apart, roughly. ok is false where another
// goroutine writes the map.
func (t *Table) Read(m, who unsafe.Pointer) (u Use, ok bool) {
	p := uintptr(m)
	i := uintptr(who) >> 6
	r := &t.readers[i%uintptr(len(t.readers))]
	for !r.m.CompareAndSwap(0, p) { // one that was interrupted has it
		i++
		r = &t.readers[i%uintptr(len(t.readers))]
		if i%uintptr(len(t.readers)) == 0 {
			runtime.Gosched()
		}
	}
	if t.writer(p).m.Load() == p {
		r.m.Store(0)
		return Use{}, false
	}
	return Use{r}, true
}

// Write begins a change. ok is false where another goroutine writes the map. Who is reading
// it when this begins, for which Go does not end a program either, is waited for.
func (t *Table) Write(m unsafe.Pointer) (u Use, ok bool) {
	p := uintptr(m)
	w := t.writer(p)
	for !w.m.CompareAndSwap(0, p) {
		if w.m.Load() == p {
			return Use{}, false
		}
		runtime.Gosched() // another map that shares the slot
	}
	for i := range t.readers {
		for t.readers[i].m.Load() == p {
			runtime.Gosched()
		}
	}
	return Use{w}, true
}
