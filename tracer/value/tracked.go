package value

import (
	"go/types"

	"tcdbg/ops/sym"
)

// This file is what a trace knows of one value.

// Tracked is what the tracer knows of a value beyond the bits that it has now: it
// was somewhere on entry (src), it is an address in entry memory (loc), it is
// computed from entry values (expr) or from sizes (sym). A nil Tracked means that
// the bits are all there is: a constant of this trace.
type Tracked struct {
	Src  *Source
	Loc  *Source // pointers: where they point, when that existed on entry
	Expr *Expr   // numbers and bools
	Size *sym.Int
	// Number is a number with a fraction that comes out of data.
	Number Number
	// Base and off say where a slice's elements were on entry: element k is
	// base[off+k].
	Base *Source
	Off  int
	// Inner is the tracked value of an interface's content.
	Inner *Tracked
	// Parts are what is tracked of a struct's fields, an array's elements or a
	// tuple's results.
	Parts []*Tracked
	// Err is an error that the trace has made: every run makes one of its own.
	Err *FreshError
}

// Number is a number that a graph computes.
type Number interface {
	// String is its value in PyTorch's notation.
	String() string
}

// Track describes a value that is at s and was not looked at yet.
func (ss *Sources) Track(s *Source) *Tracked {
	n := &Tracked{Src: s}
	switch s.Type.Underlying().(type) {
	case *types.Pointer:
		n.Loc = ss.deref(s)
	case *types.Slice, *types.Array:
		n.Base = s
	case *types.Basic:
		if KindOf(s.Type).Class != NotScalar {
			n.Expr = LeafExpr(s)
		}
	}
	return n
}

// Part returns the tracked value of component i of a composite value of type t.
func (ss *Sources) Part(n *Tracked, t types.Type, i int) *Tracked {
	switch {
	case n == nil:
		return nil
	case n.Parts != nil:
		return n.Parts[i]
	case n.Src == nil:
		return nil
	}
	if _, isArray := t.Underlying().(*types.Array); isArray {
		return ss.Track(ss.Elem(n.Src, i))
	}
	return ss.Track(ss.Field(n.Src, i))
}

// WithParts builds the tracked value of a composite; nil when no part has one.
func WithParts(parts []*Tracked) *Tracked {
	for _, p := range parts {
		if p != nil {
			return &Tracked{Parts: parts}
		}
	}
	return nil
}

// Components returns the number of parts of a composite type and the type of
// part i; 0 for leaves.
func Components(t types.Type) (n int, at func(i int) types.Type) {
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

// IsLarge reports a longer one.
func IsLarge(t types.Type) bool {
	u, ok := t.Underlying().(*types.Array)
	return ok && u.Len() > maxArray
}

// IsBlock reports a type whose values can be taken as one piece of memory: long
// arrays of numbers.
func IsBlock(t types.Type) bool { return IsLarge(t) && !HoldsPointer(t) }

// Offset returns where part i of a composite type lies.
func (ss *Sources) Offset(t types.Type, i int) uintptr {
	switch u := t.Underlying().(type) {
	case *types.Tuple:
		return ss.in.TupleOffsets(u)[i]
	case *types.Array:
		return uintptr(i) * ss.in.Rep(u.Elem()).Size()
	}
	return ss.in.Rep(t).Field(i).Offset
}

// HoldsPointer reports whether native code could reach other objects from t.
func HoldsPointer(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return false
	case *types.Array:
		return HoldsPointer(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if HoldsPointer(u.Field(i).Type()) {
				return true
			}
		}
		return false
	}
	return true
}

// FreshError is one error that a trace has made.
type FreshError struct {
	Text     string
	Verbs    bool  // text is the format of fmt.Errorf
	Operands []any // that it formats
	Tracked  []*Tracked
}

func (ss *Sources) Component(loc *Source, i int) *Source {
	if _, isArray := loc.Type.Underlying().(*types.Array); isArray {
		return ss.Elem(loc, i)
	}
	return ss.Field(loc, i)
}
