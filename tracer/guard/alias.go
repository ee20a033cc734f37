package guard

import (
	"go/types"
	"unsafe"

	"tcdbg/tracer/value"
)

// This file guards aliasing: where a cache entry writes memory that existed on
// entry, whatever else it reads or writes must lie to it as it lay when it was
// traced. The overlay sees aliases of that call only.

// Extent is one piece of entry memory that the trace has read or written: what
// a pointer points to, the elements of a slice, or a global variable.
type Extent struct {
	Src     *value.Source // Deref or Global; of elements: the slice
	Elems   bool
	Typ     types.Type
	Size    uintptr // of one element
	Written bool
}

// span is where it lies on one entry; nil when its path is broken.
func (r *Extent) span(a *Addresses) (p unsafe.Pointer, size uintptr) {
	p = a.At(r.Src)
	if p == nil || !r.Elems {
		return p, r.Size
	}
	h := (*value.SliceHeader)(p)
	return h.Data, uintptr(h.Len) * r.Size
}

// ExtentKey tells a slice from its elements.
type ExtentKey struct {
	Src   *value.Source
	Elems bool
}

// aliasPair is two extents and how they lie to each other.
type aliasPair struct {
	p, q    *Extent
	overlap bool
	delta   uintptr // of q against p, where they overlap
}

// mayShare reports whether memory of type a and memory of type b can overlap.
func mayShare(a, b types.Type) bool { return contains(a, b) || contains(b, a) }

func contains(t, part types.Type) bool {
	if types.Identical(t, part) || types.Identical(t.Underlying(), part.Underlying()) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			if contains(u.Field(i).Type(), part) {
				return true
			}
		}
	case *types.Array:
		return contains(u.Elem(), part)
	}
	return false
}

// relation is how p and q lie on an entry; ok is false where one does not exist.
func relation(a *Addresses, p, q *Extent) (overlap bool, delta uintptr, ok bool) {
	x, n := p.span(a)
	y, m := q.span(a)
	if x == nil || y == nil {
		return false, 0, n == 0 || m == 0 || p.Elems || q.Elems
	}
	if uintptr(x) < uintptr(y)+m && uintptr(y) < uintptr(x)+n {
		return true, uintptr(y) - uintptr(x), true
	}
	return false, 0, true
}

// isVariable reports a global variable: those never overlap.
func (r *Extent) isVariable() bool { return r.Src.Kind == value.Global && !r.Elems }

func (c aliasPair) holds(a *Addresses) bool {
	overlap, delta, ok := relation(a, c.p, c.q)
	return ok && overlap == c.overlap && delta == c.delta
}

// maxAliasGuards bounds the guards that are listed one by one.
const maxAliasGuards = 256

// Aliases demands that memory lies as it did when the cache entry was traced.
func (gs *Set) Aliases(extents []*Extent) {
	var pairs []aliasPair
	for i, p := range extents {
		for _, q := range extents[:i] {
			if !p.Written && !q.Written || p.isVariable() && q.isVariable() || !mayShare(p.Typ, q.Typ) {
				continue
			}
			if overlap, delta, ok := relation(gs.entry, q, p); ok {
				pairs = append(pairs, aliasPair{q, p, overlap, delta})
			}
		}
	}
	if len(pairs) > maxAliasGuards {
		gs.allAliases(pairs)
		return
	}
	for _, c := range pairs {
		gs.alias(c)
	}
}

func (gs *Set) alias(c aliasPair) {
	p, q := c.p.Src, c.q.Src
	if p.Kind == value.Deref && q.Kind == value.Deref && !c.p.Elems && !c.q.Elems && types.Identical(p.Type, q.Type) {
		gs.Identity(p.Parent, q.Parent, c.overlap)
		return
	}
	kind, text := NoAliasing, p.Name+" shares no memory with "+q.Name
	if c.overlap {
		kind, text = ObjectAliasing, p.Name+" shares memory with "+q.Name
	}
	gs.Check(kind, p, text, text, c.holds, func(*Addresses) Failure { return plain("the opposite") })
}

// allAliases is one guard in place of very many.
func (gs *Set) allAliases(pairs []aliasPair) {
	text := "objects that the function changes alias as on the first call"
	gs.Check(NoAliasing, nil, text, text, func(a *Addresses) bool {
		for _, c := range pairs {
			if !c.holds(a) {
				return false
			}
		}
		return true
	}, func(*Addresses) Failure { return plain("other aliases") })
}
