package eval

import (
	"go/token"
	"go/types"
	"slices"
	"unsafe"

	"tcdbg/ops/sym"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file evaluates binary operations: on sizes they make other sizes, on numbers of
// the entry expressions, on pointers guards of identity; all else becomes a constant. So do
// the builtins min and max.

func (tr *Trace) binOp(in *ssa.BinOp) {
	x, y := tr.tracked(in.X), tr.tracked(in.Y)
	if x == nil && y == nil {
		tr.exec()
		tr.set(in, nil)
		return
	}
	if (floats{tr}).binary(in, x, y) || (scalars{tr}).compare(in, x, y) {
		return
	}
	if n, ok := tr.symbolic(in, x, y); ok {
		tr.exec()
		tr.set(in, n)
		return
	}
	if e := tr.lazy(in, x, y); e != nil {
		tr.exec()
		tr.set(in, &value.Tracked{Expr: e})
		return
	}
	if IsPointer(in.X.Type()) {
		tr.comparePointers(in, x, y)
		return
	}
	tr.constantIface(in.X, isNilConst(in.Y))
	tr.constantIface(in.Y, isNilConst(in.X))
	tr.exec()
	tr.set(in, nil)
}

func IsPointer(t types.Type) bool { _, ok := t.Underlying().(*types.Pointer); return ok }

// comparePointers guards the outcome of p == q where either existed on entry.
func (tr *Trace) comparePointers(in *ssa.BinOp, x, y *value.Tracked) {
	xs, ys := entryPointer(x), entryPointer(y)
	p, q := *(*unsafe.Pointer)(tr.addr(in.X)), *(*unsafe.Pointer)(tr.addr(in.Y))
	switch {
	case xs != nil && ys != nil:
		tr.Guards.Identity(xs, ys, p == q)
	case xs != nil && q == nil:
		tr.Guards.Nil(xs, p == nil)
	case ys != nil && p == nil:
		tr.Guards.Nil(ys, q == nil)
	}
	tr.exec()
	tr.set(in, nil)
}

func entryPointer(n *value.Tracked) *value.Source {
	if n == nil {
		return nil
	}
	return n.Src
}

// symbolic computes integer arithmetic on sizes.
func (tr *Trace) symbolic(in *ssa.BinOp, x, y *value.Tracked) (*value.Tracked, bool) {
	if !isSize(x) && !isSize(y) || value.KindOf(in.X.Type()).Class != value.SignedInt ||
		value.KindOf(in.Y.Type()).Class != value.SignedInt {
		return nil, false
	}
	a, b := tr.sizeOf(in.X, x), tr.sizeOf(in.Y, y)
	switch in.Op {
	case token.ADD:
		return sizeTracked(sym.Add(a, b)), true
	case token.SUB:
		return sizeTracked(sym.Sub(a, b)), true
	case token.MUL:
		return sizeTracked(sym.Mul(a, b)), true
	case token.QUO, token.REM:
		return tr.symbolicQuotient(in.Op, a, b)
	case token.EQL:
		sym.Eq(a, b)
	case token.NEQ:
		sym.Ne(a, b)
	case token.LSS:
		sym.Lt(a, b)
	case token.LEQ:
		sym.Le(a, b)
	case token.GTR:
		sym.Gt(a, b)
	case token.GEQ:
		sym.Ge(a, b)
	default:
		return nil, false
	}
	return nil, true // a guard on the sizes has settled it
}

// symbolicQuotient divides sizes. Sizes round down and Go rounds to zero, so a
// negative dividend is divided without its sign; other divisors have to be
// constants, with what they divide.
func (tr *Trace) symbolicQuotient(op token.Token, a, b sym.Int) (*value.Tracked, bool) {
	zero, divide := sym.Const(0), sym.FloorDiv
	if op == token.REM {
		divide = sym.Mod
	}
	switch {
	case sym.Is(b, 0), !sym.Gt(b, zero):
		return nil, false
	case sym.HasUnbacked(a) && !atLeastZero(a):
		panic(unguarded(sym.Rel{Op: sym.OpLt, A: a, B: zero}.String()))
	case sym.Lt(a, zero):
		return sizeTracked(sym.Neg(divide(sym.Neg(a), b))), true
	}
	return sizeTracked(divide(a, b)), true
}

func sizeTracked(x sym.Int) *value.Tracked {
	if _, ok := x.IsConst(); ok {
		return nil
	}
	return &value.Tracked{Size: &x}
}

func isSize(n *value.Tracked) bool { return n != nil && n.Size != nil }

// sizeOf reads the integer v as a size: symbolic, or a number, which becomes a
// constant.
func (tr *Trace) sizeOf(v ssa.Value, n *value.Tracked) sym.Int {
	if isSize(n) {
		return *n.Size
	}
	if x, ok := tr.openInt(n); ok {
		return x
	}
	if n != nil && n.Expr != nil {
		tr.recordNumber(n.Expr)
	}
	tr.constant(v)
	return sym.Const(value.KindOf(v.Type()).Load(tr.addr(v)).I)
}

// lazy builds the expression of a numeric operation on entry values; nil when
// it has to be settled now.
func (tr *Trace) lazy(in *ssa.BinOp, x, y *value.Tracked) *value.Expr {
	if !value.LazyOp(in.Op) || value.KindOf(in.X.Type()).Class == value.NotScalar {
		return nil
	}
	a, b := tr.exprOf(in.X, x), tr.exprOf(in.Y, y)
	if a == nil || b == nil || depth(a)+depth(b) > 40 {
		return nil
	}
	return &value.Expr{Op: in.Op, Kind: value.KindOf(in.Type()), X: a, Y: b}
}

func depth(e *value.Expr) int {
	if e == nil {
		return 0
	}
	return 1 + max(depth(e.X), depth(e.Y))
}

// exprOf reads v as an expression; nil for sizes and what is tracked otherwise.
func (tr *Trace) exprOf(v ssa.Value, n *value.Tracked) *value.Expr {
	k := value.KindOf(v.Type())
	switch {
	case k.Class == value.NotScalar:
		return nil
	case n == nil:
		return value.ConstExpr(k, k.Load(tr.addr(v)))
	}
	return n.Expr
}

// extremum evaluates the builtins min and max. Of sizes they stay open, as an expression; of other
// integers from entry, the comparisons that choose one are guarded, not the values.
func (bs builtins) extremum(in *ssa.Call, smaller bool) {
	n, ok := bs.openExtremum(in.Call.Args, smaller)
	if !ok {
		for _, a := range in.Call.Args {
			bs.constant(a)
		}
	}
	bs.exec()
	bs.set(in, n)
}

// openExtremum is the tracked value of the smallest or largest argument; false where the
// arguments have to be constants.
func (bs builtins) openExtremum(args []ssa.Value, smaller bool) (*value.Tracked, bool) {
	if n := floats(bs).extremum(args, smaller); n != nil {
		return n, true
	}
	switch {
	case value.KindOf(args[0].Type()).Class != value.SignedInt:
		return nil, false
	case slices.ContainsFunc(args, func(v ssa.Value) bool { return isSize(bs.tracked(v)) }):
		return bs.sizeExtremum(args, smaller), true
	}
	return bs.entryExtremum(args, smaller)
}

// sizeExtremum is it for sizes and constants, as an expression.
func (bs builtins) sizeExtremum(args []ssa.Value, smaller bool) *value.Tracked {
	pick := sym.Max
	if smaller {
		pick = sym.Min
	}
	best := bs.sizeOf(args[0], bs.tracked(args[0]))
	for _, v := range args[1:] {
		best = pick(best, bs.sizeOf(v, bs.tracked(v)))
	}
	return sizeTracked(best)
}

// entryExtremum is it for numbers that were somewhere on entry.
func (bs builtins) entryExtremum(args []ssa.Value, smaller bool) (*value.Tracked, bool) {
	best := args[0]
	for _, v := range args[1:] {
		a, b := bs.exprOf(best, bs.tracked(best)), bs.exprOf(v, bs.tracked(v))
		if a == nil || b == nil {
			return nil, false
		}
		op := token.GEQ
		if smaller {
			op = token.LEQ
		}
		keeps, ok := (&value.Expr{Op: op, Kind: value.ScalarKind{Class: value.Boolean, Bits: 8}, X: a, Y: b}).Eval(bs.Entry)
		if !ok {
			return nil, false
		}
		bs.Guards.Expr(&value.Expr{Op: op, Kind: value.ScalarKind{Class: value.Boolean, Bits: 8}, X: a, Y: b}, keeps)
		if keeps.I == 0 {
			best = v
		}
	}
	return bs.tracked(best), true
}
