package tracer

import (
	"go/types"
	"unsafe"

	"tcdbg/ops/sym"
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// note is what the tracer knows of a value beyond the bits that it has now: it
// stood somewhere on entry (src), it is an address in entry memory (loc), it is
// computed from entry values (expr) or from sizes (sym). A nil note means that
// the bits are all there is: a constant of this trace.
type note struct {
	src  *source
	loc  *source // pointers: where they point, when that existed on entry
	expr *expr   // numbers and bools
	sym  *sym.Int
	// base and off say where a slice's elements stood on entry: element k is
	// base[off+k].
	base *source
	off  int
	// inner is the note of an interface's content.
	inner *note
	// parts are the notes of a struct's fields, an array's elements or a
	// tuple's results.
	parts []*note
	// err is an error that the trace has made: every run makes one of its own.
	err *freshError
}

// fromSource describes a value that stands at s and was not looked at yet.
func (tr *trace) fromSource(s *source) *note {
	n := &note{src: s}
	switch s.typ.Underlying().(type) {
	case *types.Pointer:
		n.loc = tr.src.deref(s)
	case *types.Slice, *types.Array:
		n.base = s
	case *types.Basic:
		if kindOf(s.typ).class != notScalar {
			n.expr = leafExpr(s)
		}
	}
	return n
}

// part returns the note of component i of a composite value of type t.
func (tr *trace) part(n *note, t types.Type, i int) *note {
	switch {
	case n == nil:
		return nil
	case n.parts != nil:
		return n.parts[i]
	case n.src == nil:
		return nil
	}
	if _, isArray := t.Underlying().(*types.Array); isArray {
		return tr.fromSource(tr.src.elem(n.src, i))
	}
	return tr.fromSource(tr.src.field(n.src, i))
}

// withParts builds the note of a composite; nil when no part has one.
func withParts(parts []*note) *note {
	for _, p := range parts {
		if p != nil {
			return &note{parts: parts}
		}
	}
	return nil
}

// noteOf returns the note of a value as the top frame sees it.
func (tr *trace) noteOf(v ssa.Value) *note {
	switch v := v.(type) {
	case *ssa.Const, *ssa.Function, *ssa.Builtin:
		return nil
	case *ssa.Global:
		return &note{loc: tr.src.globalVar(v)}
	}
	sh := tr.top()
	if n, ok := sh.notes[v]; ok {
		return n
	}
	if sh.initial < 0 {
		return nil
	}
	n := tr.fromSource(tr.src.register(sh.initial, v))
	sh.notes[v] = n
	return n
}

// set records the note of a register that the trace has assigned.
func (tr *trace) set(v ssa.Value, n *note) {
	sh := tr.top()
	sh.notes[v] = n
	sh.assigned[v] = true
}

// addr is where the top frame keeps v.
func (tr *trace) addr(v ssa.Value) unsafe.Pointer { return tr.th.Top().Addr(v) }

// components returns the number of parts of a composite type and the type of
// part i; 0 for leaves.
func components(t types.Type) (n int, at func(i int) types.Type) {
	switch u := t.Underlying().(type) {
	case *types.Struct:
		return u.NumFields(), func(i int) types.Type { return u.Field(i).Type() }
	case *types.Array:
		return int(u.Len()), func(int) types.Type { return u.Elem() }
	case *types.Tuple:
		return u.Len(), func(i int) types.Type { return u.At(i).Type() }
	}
	return 0, nil
}

// maxArray is the longest array that is described element by element.
const maxArray = 4096

// isLarge reports a longer one.
func isLarge(t types.Type) bool {
	u, ok := t.Underlying().(*types.Array)
	return ok && u.Len() > maxArray
}

// isBlock reports a type whose values can be taken as one piece of memory: long
// arrays of numbers.
func isBlock(t types.Type) bool { return isLarge(t) && !holdsPointer(t) }

// notLarge breaks in front of what would describe a long array element by
// element: a value of type t, or a part of it.
func (tr *trace) notLarge(t types.Type, doing string) {
	switch u := t.Underlying().(type) {
	case *types.Array:
		if isLarge(t) {
			tr.breakAt(breaks.OpaqueValue, "%s an array of %d elements", doing, u.Len())
		}
		tr.notLarge(u.Elem(), doing)
	case *types.Struct:
		for i := range u.NumFields() {
			tr.notLarge(u.Field(i).Type(), doing)
		}
	}
}

// offset returns where part i of a composite type lies.
func (tr *trace) offset(t types.Type, i int) uintptr {
	switch u := t.Underlying().(type) {
	case *types.Tuple:
		return tr.in.TupleOffsets(u)[i]
	case *types.Array:
		return uintptr(i) * tr.in.Rep(u.Elem()).Size()
	}
	return tr.in.Rep(t).Field(i).Offset
}
