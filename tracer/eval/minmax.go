package eval

import (
	"go/token"
	"slices"

	"tcdbg/ops/sym"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file evaluates the builtins min and max. Of sizes they stay open, as an
// expression; of other integers from entry, the comparisons that choose one are
// guarded, not the values.

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
	if n := (floats{bs.Trace}).extremum(args, smaller); n != nil {
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
