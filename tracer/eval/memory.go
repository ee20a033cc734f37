package eval

import (
	"go/types"
	"reflect"
	"sort"
	"unsafe"

	"tcdbg/tracer/value"
)

// This file is the memory of a trace. Objects made by the trace are written
// directly; memory that existed on entry is never written while tracing: stores
// go to an overlay keyed by address, so that aliases see them, other goroutines
// do not, and the cache entry can replay them.

// span is an object that the trace allocated.
type span struct {
	addr uintptr
	size uintptr
	keep unsafe.Pointer // holds the object alive, so that its address stays its own
	typ  types.Type     // element type when count > 0
	// count is the number of elements of an array under slices, 0 for a
	// single object.
	count int
	id    int
}

// write is one leaf of entry memory that the trace has stored to.
type write struct {
	loc *value.Source
	typ types.Type
	val unsafe.Pointer // the stored bits, in memory of their own
	n   *value.Tracked
}

type memory struct {
	spans  []*span // by address
	cells  map[uintptr]*value.Tracked
	writes map[uintptr]*write
	order  []*write
}

func newMemory() memory {
	return memory{cells: map[uintptr]*value.Tracked{}, writes: map[uintptr]*write{}}
}

// allocated records an object of the trace.
func (m *memory) allocated(p unsafe.Pointer, size uintptr, t types.Type, count int) {
	if p == nil || size == 0 {
		return
	}
	s := &span{addr: uintptr(p), size: size, keep: p, typ: t, count: count, id: len(m.spans)}
	i := sort.Search(len(m.spans), func(i int) bool { return m.spans[i].addr > s.addr })
	m.spans = append(m.spans, nil)
	copy(m.spans[i+1:], m.spans[i:])
	m.spans[i] = s
}

// find returns the trace's object that holds address p.
func (m *memory) find(p unsafe.Pointer) *span {
	a := uintptr(p)
	i := sort.Search(len(m.spans), func(i int) bool { return m.spans[i].addr > a })
	if i == 0 {
		return nil
	}
	if s := m.spans[i-1]; a < s.addr+s.size {
		return s
	}
	return nil
}

// changed reports whether the trace has stored to entry memory at p.
func (m *memory) changed(p unsafe.Pointer, size uintptr) bool {
	for a := range m.writes {
		if a >= uintptr(p) && a < uintptr(p)+size {
			return true
		}
	}
	return false
}

// forget drops what is tracked of a piece of memory, which may be reused (a loop's
// local variable) or hold a constant now.
func (m *memory) forget(p unsafe.Pointer, size uintptr) {
	from, to := uintptr(p), uintptr(p)+size
	if uintptr(len(m.cells)) < size {
		for a := range m.cells {
			if from <= a && a < to {
				delete(m.cells, a)
			}
		}
		return
	}
	for a := from; a < to; a++ {
		delete(m.cells, a)
	}
}

// isTracked reports whether something is known of a piece of memory beyond its bits.
func (m *memory) isTracked(p unsafe.Pointer, size uintptr) bool {
	from, to := uintptr(p), uintptr(p)+size
	if uintptr(len(m.cells)) < size {
		for a := range m.cells {
			if from <= a && a < to {
				return true
			}
		}
		return false
	}
	for a := from; a < to; a++ {
		if m.cells[a] != nil {
			return true
		}
	}
	return false
}

// loadTracked is what is tracked of the value of type t at p, which the trace made.
func (hp *heap) loadTracked(t types.Type, p unsafe.Pointer) *value.Tracked {
	hp.functions.recordRead(p, hp.frames.In.Rep(t).Size())
	n, at := value.Components(t)
	if at == nil {
		return hp.mem.cells[uintptr(p)]
	}
	if !hp.mem.isTracked(p, hp.frames.In.Rep(t).Size()) {
		return nil
	}
	parts := make([]*value.Tracked, n)
	for i := range parts {
		parts[i] = hp.loadTracked(at(i), unsafe.Add(p, hp.frames.src.Offset(t, i)))
	}
	return value.WithParts(parts)
}

// storeTracked records a store of type t at p, which the trace made. Where the value
// is tracked, t must hold no long array (see notLarge).
func (hp *heap) storeTracked(t types.Type, p unsafe.Pointer, n *value.Tracked) {
	hp.functions.checkWrite(p, hp.frames.In.Rep(t).Size())
	count, at := value.Components(t)
	switch {
	case n == nil:
		hp.mem.forget(p, hp.frames.In.Rep(t).Size())
		return
	case at == nil:
		hp.mem.cells[uintptr(p)] = n
		return
	}
	for i := range count {
		hp.storeTracked(at(i), unsafe.Add(p, hp.frames.src.Offset(t, i)), hp.frames.src.Part(n, t, i))
	}
}

// loadEntry reads entry memory: the host has copied the bits at from to dst;
// leaves that the trace has overwritten are patched.
func (hp *heap) loadEntry(t types.Type, from, dst unsafe.Pointer, loc *value.Source) *value.Tracked {
	hp.functions.recordEntryRead(t, from, loc)
	hp.touch(loc, false)
	if len(hp.mem.writes) == 0 || value.IsBlock(t) && !hp.mem.changed(from, hp.frames.In.Rep(t).Size()) {
		hp.readGrad(from, loc)
		return hp.frames.src.Track(loc)
	}
	notLarge(t, "a copy of a changed part of")
	n, at := value.Components(t)
	if at == nil {
		w := hp.mem.writes[uintptr(from)]
		if w == nil {
			hp.readGrad(from, loc)
			return hp.frames.src.Track(loc)
		}
		hp.frames.In.Copy(t, dst, w.val)
		return w.n
	}
	parts := make([]*value.Tracked, n)
	for i := range parts {
		off := hp.frames.src.Offset(t, i)
		parts[i] = hp.loadEntry(at(i), unsafe.Add(from, off), unsafe.Add(dst, off), hp.frames.src.Component(loc, i))
	}
	return &value.Tracked{Parts: parts}
}

// storeEntry writes the value at val to the overlay in place of entry memory.
func (hp *heap) storeEntry(t types.Type, to, val unsafe.Pointer, loc *value.Source, n *value.Tracked) {
	hp.functions.checkEntryWrite(t, to, loc)
	notLarge(t, "a store of")
	count, at := value.Components(t)
	if at != nil {
		for i := range count {
			off := hp.frames.src.Offset(t, i)
			hp.storeEntry(at(i), unsafe.Add(to, off), unsafe.Add(val, off), hp.frames.src.Component(loc, i), hp.frames.src.Part(n, t, i))
		}
		return
	}
	hp.touch(loc, true)
	w := hp.mem.writes[uintptr(to)]
	if w == nil {
		w = &write{loc: loc, typ: t}
		hp.mem.writes[uintptr(to)] = w
		hp.mem.order = append(hp.mem.order, w)
	}
	w.val = hp.frames.In.New(t)
	hp.frames.In.Copy(t, w.val, val)
	w.n = n
}

// backing registers the array under a slice that native code has just made.
func (hp *heap) backing(t types.Type, p unsafe.Pointer) {
	h := (*value.SliceHeader)(p)
	e := value.ElemType(t)
	hp.mem.allocated(h.Data, uintptr(h.Cap)*hp.frames.In.Rep(e).Size(), e, h.Cap)
}

// zeroSize reports whether values of t take no memory.
func zeroSize(rt reflect.Type) bool { return rt.Size() == 0 }
