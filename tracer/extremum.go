package tracer

import (
	"go/token"
	"slices"

	"tcdbg/ops/sym"

	"golang.org/x/tools/go/ssa"
)

// This file evaluates the builtins min and max. Of sizes they stay open, as an
// expression; of other integers from entry, the comparisons that choose one are
// guarded, not the values.

func (tr *trace) extremum(in *ssa.Call, smaller bool) {
	n, ok := tr.openExtremum(in.Call.Args, smaller)
	if !ok {
		for _, a := range in.Call.Args {
			tr.constant(a)
		}
	}
	tr.exec()
	tr.set(in, n)
}

// openExtremum is the note of the smallest or largest argument; false where the
// arguments have to be constants.
func (tr *trace) openExtremum(args []ssa.Value, smaller bool) (*note, bool) {
	switch {
	case kindOf(args[0].Type()).class != signedInt:
		return nil, false
	case slices.ContainsFunc(args, func(v ssa.Value) bool { return isSize(tr.noteOf(v)) }):
		return tr.sizeExtremum(args, smaller), true
	}
	return tr.entryExtremum(args, smaller)
}

// sizeExtremum is it for sizes and constants, as an expression.
func (tr *trace) sizeExtremum(args []ssa.Value, smaller bool) *note {
	pick := sym.Max
	if smaller {
		pick = sym.Min
	}
	best := tr.sizeOf(args[0], tr.noteOf(args[0]))
	for _, v := range args[1:] {
		best = pick(best, tr.sizeOf(v, tr.noteOf(v)))
	}
	return symNote(best)
}

// entryExtremum is it for numbers that stood somewhere on entry.
func (tr *trace) entryExtremum(args []ssa.Value, smaller bool) (*note, bool) {
	best := args[0]
	for _, v := range args[1:] {
		a, b := tr.exprOf(best, tr.noteOf(best)), tr.exprOf(v, tr.noteOf(v))
		if a == nil || b == nil {
			return nil, false
		}
		op := token.GEQ
		if smaller {
			op = token.LEQ
		}
		keeps, ok := (&expr{op: op, kind: scalarKind{boolean, 8}, x: a, y: b}).eval(tr.entry)
		if !ok {
			return nil, false
		}
		tr.guardExpr(&expr{op: op, kind: scalarKind{boolean, 8}, x: a, y: b}, keeps)
		if keeps.i == 0 {
			best = v
		}
	}
	return tr.noteOf(best), true
}
