package eval

import (
	"go/types"
	"unsafe"

	"tcdbg/ops/sym"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file makes values constants of the cache entry (specialization): each comes with
// the guards that see it change.

// constant makes sure that v has the same value on every run of the cache entry.
func (tr *Trace) constant(v ssa.Value) {
	if n := tr.tracked(v); n != nil {
		tr.specialize(n, v.Type(), tr.addr(v))
	}
}

// specialize guards everything that the value of type t at p depends on.
func (tr *Trace) specialize(n *value.Tracked, t types.Type, p unsafe.Pointer) {
	switch {
	case n == nil:
		return
	case n.Number != nil:
		panic(unguarded(n.Number.String()))
	case n.Size != nil:
		sym.Force(*n.Size)
		return
	case n.Expr != nil:
		tr.Guards.Expr(n.Expr, n.Expr.Kind.Load(p))
		return
	case n.Parts != nil:
		_, at := value.Components(t)
		for i, part := range n.Parts {
			tr.specialize(part, at(i), unsafe.Add(p, tr.src.Offset(t, i)))
		}
		return
	case n.Inner != nil:
		if dyn, q := tr.In.Dynamic(t, p); dyn != nil {
			tr.specialize(n.Inner, dyn, q)
		}
		return
	case n.Src == nil && n.Base != nil:
		tr.specializeElements(n, t, p)
		return
	case n.Src == nil:
		return
	}
	if _, isSlice := t.Underlying().(*types.Slice); isSlice && n.Base != nil {
		tr.Guards.Len(n.Src, (*value.SliceHeader)(p).Len)
		tr.specializeElements(n, t, p)
		return
	}
	tr.specializeSource(n.Src, t, p)
}

// specializeElements guards the elements of a slice of entry memory. What the trace
// has stored there is not in memory yet, so that nobody else could read it.
func (tr *Trace) specializeElements(n *value.Tracked, t types.Type, p unsafe.Pointer) {
	h, e := (*value.SliceHeader)(p), value.ElemType(t)
	size := tr.In.Rep(e).Size()
	for i := range h.Len {
		q := unsafe.Add(h.Data, uintptr(i)*size)
		if tr.mem.changed(q, size) {
			breakAt(breaks.OpaqueValue, "a slice that the compiled code has changed is handed to native code")
		}
		s := tr.src.Elem(n.Base, n.Off+i)
		tr.recordEntryRead(e, q, s)
		tr.touch(s, false)
		tr.specializeSource(s, e, q)
	}
}

// specializeSource guards the value that is at s.
func (tr *Trace) specializeSource(s *value.Source, t types.Type, p unsafe.Pointer) {
	switch u := t.Underlying().(type) {
	case *types.Interface:
		dyn, q := tr.In.Dynamic(t, p)
		tr.Guards.Type(s, dyn)
		if dyn != nil {
			tr.specializeSource(tr.src.Dynamic(s, dyn), dyn, q)
		}
	case *types.Pointer:
		tr.Guards.Pointer(s, *(*unsafe.Pointer)(p))
	case *types.Signature:
		if c := tr.In.ClosureOf(p); c != nil {
			tr.Guards.Func(s, c.Fn)
			return
		}
		if fn := *(*unsafe.Pointer)(p); fn != nil {
			tr.Guards.NativeFunc(s, fn)
			return
		}
		tr.Guards.Nil(s, true)
	case *types.Slice:
		tr.Guards.Len(s, (*value.SliceHeader)(p).Len)
		for i := range (*value.SliceHeader)(p).Len {
			e := tr.src.Elem(s, i)
			tr.recordEntryRead(u.Elem(), tr.Entry.At(e), e)
			tr.touch(e, false)
			tr.specializeSource(e, u.Elem(), tr.Entry.At(e))
		}
	case *types.Map, *types.Chan:
		breakAt(breaks.OpaqueValue, "the value of %s would have to be a constant", s.Argument())
	case *types.Struct, *types.Array:
		if value.IsBlock(t) {
			tr.Guards.Block(s, p)
			return
		}
		notLarge(t, "the value of")
		n, at := value.Components(t)
		for i := range n {
			tr.specializeSource(tr.src.Component(s, i), at(i), unsafe.Add(p, tr.src.Offset(t, i)))
		}
	default:
		tr.Guards.Equals(s, p)
	}
}

func isNilConst(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.IsNil()
}

// constantIface is constant, but a comparison of an interface with nil asks
// only for its type.
func (tr *Trace) constantIface(v ssa.Value, withNil bool) {
	n := tr.tracked(v)
	if n != nil && n.Src != nil {
		switch v.Type().Underlying().(type) {
		case *types.Interface:
			dyn, _ := tr.In.Dynamic(v.Type(), tr.addr(v))
			tr.Guards.Type(n.Src, dyn)
			if dyn == nil || withNil {
				return
			}
		case *types.Slice, *types.Map, *types.Signature: // comparable with nil alone
			tr.Guards.Nil(n.Src, *(*unsafe.Pointer)(tr.addr(v)) == nil)
			return
		}
	}
	tr.constant(v)
}
