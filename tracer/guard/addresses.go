package guard

import (
	"go/types"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"tcdbg/torch"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"
)

// This file finds the values that guards test.

// MapLookup returns the address of (a copy of) the value under a key, nil when
// the map lacks it.
func MapLookup(in *host.Interp, t types.Type, m, key unsafe.Pointer) unsafe.Pointer {
	rt := in.Rep(t)
	if p := *(*unsafe.Pointer)(m); p != nil {
		defer host.ReadsMap(in, p, key).End()
	}
	v := reflect.NewAt(rt, m).Elem().MapIndex(reflect.NewAt(rt.Key(), key).Elem())
	if !v.IsValid() {
		return nil
	}
	p := reflect.New(rt.Elem())
	p.Elem().Set(v)
	return p.UnsafePointer()
}

// Addresses resolves sources on one entry of a region. It is a table by slot,
// filled as the guards ask; nil means that the path is broken (a nil pointer, a
// shorter slice, a missing key).
type Addresses struct {
	in     *host.Interp
	frames []*host.Frame
	Slot   []Slot
}

// Slot is the address of one source; done tells a broken path from one that
// nobody asked for yet.
type Slot struct {
	P    unsafe.Pointer
	Done bool
}

func NewAddresses(in *host.Interp, frames []*host.Frame, n int) *Addresses {
	return &Addresses{in: in, frames: frames, Slot: make([]Slot, n)}
}

// addressPool keeps the tables of calls that are served from the cache.
var addressPool = sync.Pool{New: func() any { return new(Addresses) }}

// TakeAddresses is NewAddresses from the pool; give it back with release.
func TakeAddresses(in *host.Interp, frames []*host.Frame, n int) *Addresses {
	a := addressPool.Get().(*Addresses)
	a.in, a.frames = in, frames
	if cap(a.Slot) < n {
		a.Slot = make([]Slot, n)
	}
	a.Slot = a.Slot[:n]
	return a
}

// Release clears a, so that it keeps nothing alive, and returns it to the pool.
func (a *Addresses) Release() {
	clear(a.Slot)
	a.in, a.frames = nil, nil
	addressPool.Put(a)
}

// Hold reports whether each guard of a list holds on the call of a, by its own test.
func (a *Addresses) Hold(list []*Guard) bool {
	return !slices.ContainsFunc(list, func(g *Guard) bool { return !g.Test(a) })
}

// At returns the address of the value at s.
func (a *Addresses) At(s *value.Source) unsafe.Pointer {
	if s.Slot >= len(a.Slot) { // only while tracing, when sources are still being found
		a.Slot = append(a.Slot, make([]Slot, s.Slot+16-len(a.Slot))...)
	}
	if s.Kind == value.Field || s.Kind == value.Item { // an addition is cheaper than a look-up
		p := a.At(s.Parent)
		if p == nil {
			return nil
		}
		return unsafe.Add(p, s.Offset)
	}
	if x := &a.Slot[s.Slot]; x.Done {
		return x.P
	}
	p := a.find(s)
	a.Slot[s.Slot] = Slot{p, true}
	return p
}

func (a *Addresses) find(s *value.Source) unsafe.Pointer {
	switch s.Kind {
	case value.Register:
		return a.frames[s.Frame].Addr(s.Reg)
	case value.Global:
		return a.in.GlobalAddr(s.Global)
	}
	p := a.At(s.Parent)
	if p == nil {
		return nil
	}
	switch s.Kind {
	case value.Deref:
		return *(*unsafe.Pointer)(p)
	case value.Elem:
		h := (*value.SliceHeader)(p)
		if s.Index >= h.Len {
			return nil
		}
		return unsafe.Add(h.Data, s.Offset)
	case value.Dynamic:
		t, q := a.in.Dynamic(s.Parent.Type, p)
		if t == nil || !types.Identical(t, s.Dyn) {
			return nil
		}
		return q
	case value.Free:
		// A variable of the function that was traced: another function's variable of the
		// same number may be of another type.
		if c := a.in.ClosureOf(p); c != nil && c.Fn == s.Reg.Parent() {
			return c.Free[s.Index]
		}
		return nil
	case value.MapValue:
		return MapLookup(a.in, s.Parent.Type, p, s.Key.Addr)
	case value.Grad:
		if t := *(**torch.Tensor)(p); t != nil {
			return unsafe.Pointer(t.GradPlace())
		}
		return nil
	}
	panic("tracer: unknown source kind")
}
