package guard

import (
	"go/token"

	"tcdbg/tracer/value"
)

// This file compiles tests of expressions.

// ExprTest compiles the test that e has the value v. The common form, a 64-bit
// integer compared with a constant, takes no detour.
func ExprTest(e *value.Expr, v value.Scalar) func(*Addresses) bool {
	word := value.ScalarKind{Class: value.SignedInt, Bits: 64}
	if e.Y == nil || e.Y.Leaf != nil || e.X.Leaf == nil || e.X.Kind != word || !e.Y.IsConst() || e.Kind.Class != value.Boolean {
		return func(a *Addresses) bool { w, ok := e.Eval(a); return ok && w.Same(v) }
	}
	s, c, want := e.X.Leaf, e.Y.Const.I, v.I != 0
	less, equal := want, want // what x < c and x == c must give
	switch e.Op {
	case token.EQL, token.NEQ:
		same := (e.Op == token.EQL) == want
		return func(a *Addresses) bool { p := a.At(s); return p != nil && (*(*int64)(p) == c) == same }
	case token.LSS:
		equal = !want
	case token.GTR:
		less, equal = !want, !want
	case token.GEQ:
		less = !want
	}
	greater := !less
	return func(a *Addresses) bool {
		p := a.At(s)
		if p == nil {
			return false
		}
		switch x := *(*int64)(p); {
		case x < c:
			return less
		case x == c:
			return equal
		}
		return greater
	}
}
