package tracer

import (
	"go/types"
	"unsafe"
)

// This file guards aliasing: where a segment writes memory that existed on
// entry, whatever else it reads or writes must lie to it as it lay when it was
// traced. The overlay sees aliases of that call only.

// region is one piece of entry memory that the trace has read or written: what
// a pointer points to, the elements of a slice, or a global variable.
type region struct {
	src     *source // srcDeref or srcGlobal; of elements: the slice
	elems   bool
	typ     types.Type
	size    uintptr // of one element
	written bool
}

// span is where the region lies on one entry; nil when its path is broken.
func (r *region) span(a *addresses) (p unsafe.Pointer, size uintptr) {
	p = a.at(r.src)
	if p == nil || !r.elems {
		return p, r.size
	}
	h := (*sliceHeader)(p)
	return h.data, uintptr(h.len) * r.size
}

// touch notes that the trace has accessed the memory at loc.
func (tr *trace) touch(loc *source, write bool) {
	for s := loc; s != nil; s = s.parent {
		switch s.kind {
		case srcField, srcItem:
			continue
		case srcDeref, srcGlobal:
			tr.touchRegion(regionKey{s, false}, s.typ, write)
		case srcElem:
			tr.touchRegion(regionKey{s.parent, true}, s.typ, write)
		case srcGrad:
			tr.touchGrad(s.parent, write)
		}
		return
	}
}

// regionKey tells a slice from its elements.
type regionKey struct {
	src   *source
	elems bool
}

func (tr *trace) touchRegion(key regionKey, t types.Type, write bool) {
	r := tr.touched[key]
	if r == nil {
		r = &region{src: key.src, elems: key.elems, typ: t, size: tr.in.Rep(t).Size()}
		tr.touched[key] = r
		tr.regions = append(tr.regions, r)
	}
	r.written = r.written || write
}

// aliasPair is two regions and how they lie to each other.
type aliasPair struct {
	p, q    *region
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
func relation(a *addresses, p, q *region) (overlap bool, delta uintptr, ok bool) {
	x, n := p.span(a)
	y, m := q.span(a)
	if x == nil || y == nil {
		return false, 0, n == 0 || m == 0 || p.elems || q.elems
	}
	if uintptr(x) < uintptr(y)+m && uintptr(y) < uintptr(x)+n {
		return true, uintptr(y) - uintptr(x), true
	}
	return false, 0, true
}

// isVariable reports a global variable: those never overlap.
func (r *region) isVariable() bool { return r.src.kind == srcGlobal && !r.elems }

func (c aliasPair) holds(a *addresses) bool {
	overlap, delta, ok := relation(a, c.p, c.q)
	return ok && overlap == c.overlap && delta == c.delta
}

// maxAliasGuards bounds the guards that are listed one by one.
const maxAliasGuards = 256

// aliasGuards demands that memory lies as it did when the segment was traced.
func (tr *trace) aliasGuards() {
	var pairs []aliasPair
	for i, p := range tr.regions {
		for _, q := range tr.regions[:i] {
			if !p.written && !q.written || p.isVariable() && q.isVariable() || !mayShare(p.typ, q.typ) {
				continue
			}
			if overlap, delta, ok := relation(tr.entry, q, p); ok {
				pairs = append(pairs, aliasPair{q, p, overlap, delta})
			}
		}
	}
	if len(pairs) > maxAliasGuards {
		tr.guardAllAliases(pairs)
	} else {
		for _, c := range pairs {
			tr.guardAlias(c)
		}
	}
	tr.mapAliasGuards()
	tr.gradAliasGuard()
	tr.tensorAliasGuards()
}

func (tr *trace) guardAlias(c aliasPair) {
	p, q := c.p.src, c.q.src
	if p.kind == srcDeref && q.kind == srcDeref && !c.p.elems && !c.q.elems && types.Identical(p.typ, q.typ) {
		tr.guardIdentity(p.parent, q.parent, c.overlap)
		return
	}
	kind, text := "NO_ALIASING", p.name+" shares no memory with "+q.name
	if c.overlap {
		kind, text = "OBJECT_ALIASING", p.name+" shares memory with "+q.name
	}
	tr.guard(kind, p, text, text, c.holds, func(*addresses) failure { return plain("the opposite") })
}

// guardAllAliases is one guard in place of very many.
func (tr *trace) guardAllAliases(pairs []aliasPair) {
	text := "objects that the function changes alias as on the first call"
	tr.guard("NO_ALIASING", nil, text, text, func(a *addresses) bool {
		for _, c := range pairs {
			if !c.holds(a) {
				return false
			}
		}
		return true
	}, func(*addresses) failure { return plain("other aliases") })
}

// mapAliasGuards tells a changed map from the others of its type.
func (tr *trace) mapAliasGuards() {
	for _, o := range tr.overlaid {
		for _, s := range tr.src.all {
			if s == o.src || !types.Identical(s.typ, o.typ) {
				continue
			}
			if a, b := tr.entry.at(o.src), tr.entry.at(s); a != nil && b != nil {
				tr.guardIdentity(o.src, s, *(*unsafe.Pointer)(a) == *(*unsafe.Pointer)(b))
			}
		}
	}
}
