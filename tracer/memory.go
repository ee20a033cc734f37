package tracer

import (
	"go/types"
	"reflect"
	"sort"
	"unsafe"
)

// This file is the memory of a trace. Objects made by the trace are written
// directly; memory that existed on entry is never written while tracing: stores
// go to an overlay keyed by address, so that aliases see them, other goroutines
// do not, and the segment can replay them.

// span is an object that the trace allocated.
type span struct {
	addr uintptr
	size uintptr
	keep unsafe.Pointer // holds the object alive, so that its address stays its own
	typ  types.Type     // element type when count > 0
	// count is the number of elements of an array behind slices, 0 for a
	// single object.
	count int
	id    int
}

// write is one leaf of entry memory that the trace has stored to.
type write struct {
	loc *source
	typ types.Type
	val unsafe.Pointer // the stored bits, in memory of their own
	n   *note
}

type memory struct {
	spans  []*span // by address
	cells  map[uintptr]*note
	writes map[uintptr]*write
	order  []*write
}

func newMemory() memory {
	return memory{cells: map[uintptr]*note{}, writes: map[uintptr]*write{}}
}

// allocated notes an object of the trace.
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

// forget drops the notes of a piece of memory, which may be reused (a loop's
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

// noted reports whether something is known of a piece of memory beyond its bits.
func (m *memory) noted(p unsafe.Pointer, size uintptr) bool {
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

// loadNote is the note of the value of type t at p, which the trace made.
func (tr *trace) loadNote(t types.Type, p unsafe.Pointer) *note {
	tr.noteRead(p, tr.in.Rep(t).Size())
	n, at := components(t)
	if at == nil {
		return tr.mem.cells[uintptr(p)]
	}
	if !tr.mem.noted(p, tr.in.Rep(t).Size()) {
		return nil
	}
	parts := make([]*note, n)
	for i := range parts {
		parts[i] = tr.loadNote(at(i), unsafe.Add(p, tr.offset(t, i)))
	}
	return withParts(parts)
}

// storeNote notes a store of type t at p, which the trace made. Where the value
// has a note, t must hold no long array (see notLarge).
func (tr *trace) storeNote(t types.Type, p unsafe.Pointer, n *note) {
	tr.noteWrite(p, tr.in.Rep(t).Size())
	count, at := components(t)
	switch {
	case n == nil:
		tr.mem.forget(p, tr.in.Rep(t).Size())
		return
	case at == nil:
		tr.mem.cells[uintptr(p)] = n
		return
	}
	for i := range count {
		tr.storeNote(at(i), unsafe.Add(p, tr.offset(t, i)), tr.part(n, t, i))
	}
}

// loadEntry reads entry memory: the host has copied the bits at from to dst;
// leaves that the trace has overwritten are patched.
func (tr *trace) loadEntry(t types.Type, from, dst unsafe.Pointer, loc *source) *note {
	tr.noteEntryRead(t, from, loc)
	tr.touch(loc, false)
	if len(tr.mem.writes) == 0 || isBlock(t) && !tr.mem.changed(from, tr.in.Rep(t).Size()) {
		return tr.fromSource(loc)
	}
	tr.notLarge(t, "a copy of a changed part of")
	n, at := components(t)
	if at == nil {
		w := tr.mem.writes[uintptr(from)]
		if w == nil {
			return tr.fromSource(loc)
		}
		tr.in.Copy(t, dst, w.val)
		return w.n
	}
	parts := make([]*note, n)
	for i := range parts {
		off := tr.offset(t, i)
		parts[i] = tr.loadEntry(at(i), unsafe.Add(from, off), unsafe.Add(dst, off), tr.component(loc, i))
	}
	return &note{parts: parts}
}

func (tr *trace) component(loc *source, i int) *source {
	if _, isArray := loc.typ.Underlying().(*types.Array); isArray {
		return tr.src.elem(loc, i)
	}
	return tr.src.field(loc, i)
}

// storeEntry writes the value at val to the overlay in place of entry memory.
func (tr *trace) storeEntry(t types.Type, to, val unsafe.Pointer, loc *source, n *note) {
	tr.noteEntryWrite(t, to, loc)
	tr.notLarge(t, "a store of")
	count, at := components(t)
	if at != nil {
		for i := range count {
			off := tr.offset(t, i)
			tr.storeEntry(at(i), unsafe.Add(to, off), unsafe.Add(val, off), tr.component(loc, i), tr.part(n, t, i))
		}
		return
	}
	tr.touch(loc, true)
	w := tr.mem.writes[uintptr(to)]
	if w == nil {
		w = &write{loc: loc, typ: t}
		tr.mem.writes[uintptr(to)] = w
		tr.mem.order = append(tr.mem.order, w)
	}
	w.val = tr.in.New(t)
	tr.in.Copy(t, w.val, val)
	w.n = n
}

// backing registers the array behind a slice that native code has just made.
func (tr *trace) backing(t types.Type, p unsafe.Pointer) {
	h := (*sliceHeader)(p)
	e := elemType(t)
	tr.mem.allocated(h.data, uintptr(h.cap)*tr.in.Rep(e).Size(), e, h.cap)
}

// zeroSize reports whether values of t take no memory.
func zeroSize(rt reflect.Type) bool { return rt.Size() == 0 }
