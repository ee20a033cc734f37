package value

import (
	"fmt"
	"go/token"
	"math"
	"strings"
	"unsafe"
)

// This file is expressions over numbers and bools that were somewhere on entry. A counter
// that is only incremented costs no guard that way.

// Expr is an expression over scalars that are somewhere on entry.
type Expr struct {
	Op    token.Token // ILLEGAL: a leaf; NOT, SUB with y nil: unary; ARROW: conversion
	Kind  ScalarKind  // of the result
	X, Y  *Expr
	Leaf  *Source
	Const Scalar // constant leaf (leaf nil)
}

func ConstExpr(k ScalarKind, v Scalar) *Expr { return &Expr{Kind: k, Const: v} }

func LeafExpr(s *Source) *Expr { return &Expr{Kind: KindOf(s.Type), Leaf: s} }

func (e *Expr) IsConst() bool { return e.Op == token.ILLEGAL && e.Leaf == nil }

// Reader finds the values that are at sources on one entry; nil where a path is
// broken.
type Reader interface {
	At(s *Source) unsafe.Pointer
}

// Eval computes e with the values on entry; ok is false when a path is broken.
func (e *Expr) Eval(a Reader) (Scalar, bool) {
	if e.Op == token.ILLEGAL {
		if e.Leaf == nil {
			return e.Const, true
		}
		p := a.At(e.Leaf)
		if p == nil {
			return Scalar{}, false
		}
		return e.Kind.Load(p), true
	}
	x, ok := e.X.Eval(a)
	if !ok {
		return x, false
	}
	if e.Y == nil {
		return e.unary(x), true
	}
	y, ok := e.Y.Eval(a)
	if !ok {
		return y, false
	}
	return e.binary(x, y)
}

func (e *Expr) unary(x Scalar) Scalar {
	switch e.Op {
	case token.NOT:
		return Scalar{I: x.I ^ 1}
	case token.SUB:
		return e.Kind.wrap(Scalar{-x.I, -x.F})
	case token.XOR:
		return e.Kind.wrap(Scalar{I: ^x.I})
	case token.ARROW:
		return convert(x, e.X.Kind, e.Kind)
	}
	panic("tracer: unary " + e.Op.String())
}

// convert is Go's conversion between numeric types.
func convert(v Scalar, from, to ScalarKind) Scalar {
	switch {
	case from.Class == Floating && to.Class == Floating:
	case from.Class == Floating && to.Class == UnsignedInt:
		v = Scalar{I: int64(uint64(v.F))}
	case from.Class == Floating:
		v = Scalar{I: int64(v.F)}
	case to.Class == Floating && from.Class == UnsignedInt:
		v = Scalar{F: float64(uint64(v.I))}
	case to.Class == Floating:
		v = Scalar{F: float64(v.I)}
	}
	return to.wrap(v)
}

func truth(b bool) Scalar {
	if b {
		return Scalar{I: 1}
	}
	return Scalar{}
}

// binary computes x op y; ok is false where Go would panic (division by zero),
// so that the caller takes the guarded path.
func (e *Expr) binary(x, y Scalar) (Scalar, bool) {
	if k := e.X.Kind; k.Class == Floating {
		return e.floatBinary(x.F, y.F), true
	} else if k.Class == UnsignedInt {
		return e.uintBinary(uint64(x.I), uint64(y.I))
	}
	return e.intBinary(x.I, y.I)
}

func (e *Expr) floatBinary(x, y float64) Scalar {
	switch e.Op {
	case token.ADD:
		return e.Kind.wrap(Scalar{F: x + y})
	case token.SUB:
		return e.Kind.wrap(Scalar{F: x - y})
	case token.MUL:
		return e.Kind.wrap(Scalar{F: x * y})
	case token.QUO:
		return e.Kind.wrap(Scalar{F: x / y})
	}
	return compare(e.Op, x, y)
}

func compare[T int64 | uint64 | float64](op token.Token, x, y T) Scalar {
	switch op {
	case token.EQL:
		return truth(x == y)
	case token.NEQ:
		return truth(x != y)
	case token.LSS:
		return truth(x < y)
	case token.LEQ:
		return truth(x <= y)
	case token.GTR:
		return truth(x > y)
	case token.GEQ:
		return truth(x >= y)
	}
	panic("tracer: binary " + op.String())
}

func (e *Expr) intBinary(x, y int64) (Scalar, bool) {
	var v int64
	switch e.Op {
	case token.QUO, token.REM:
		if y == 0 || (x == math.MinInt64 && y == -1) {
			return Scalar{}, false
		}
		if v = x / y; e.Op == token.REM {
			v = x % y
		}
	case token.SHL, token.SHR:
		return Scalar{}, false
	default:
		var ok bool
		if v, ok = bitwise(e.Op, x, y); !ok {
			return compare(e.Op, x, y), true
		}
	}
	return e.Kind.wrap(Scalar{I: v}), true
}

func (e *Expr) uintBinary(x, y uint64) (Scalar, bool) {
	switch e.Op {
	case token.QUO, token.REM:
		if y == 0 {
			return Scalar{}, false
		}
		if e.Op == token.QUO {
			return Scalar{I: int64(x / y)}, true
		}
		return Scalar{I: int64(x % y)}, true
	case token.SHL, token.SHR:
		return Scalar{}, false
	}
	if v, ok := bitwise(e.Op, int64(x), int64(y)); ok {
		return e.Kind.wrap(Scalar{I: v}), true
	}
	return compare(e.Op, x, y), true
}

func bitwise(op token.Token, x, y int64) (int64, bool) {
	switch op {
	case token.ADD:
		return x + y, true
	case token.SUB:
		return x - y, true
	case token.MUL:
		return x * y, true
	case token.AND:
		return x & y, true
	case token.OR:
		return x | y, true
	case token.XOR:
		return x ^ y, true
	case token.AND_NOT:
		return x &^ y, true
	}
	return 0, false
}

// LazyOp reports whether binary may hold op as an expression.
func LazyOp(op token.Token) bool { return op != token.SHL && op != token.SHR }

// String prints e as Python-like text over sources, L['i'] + 1 < 10, with Go's
// operators. Conversions that change no value are left out.
func (e *Expr) String() string {
	switch {
	case e.Op == token.ILLEGAL && e.Leaf != nil:
		return e.Leaf.Name
	case e.Op == token.ILLEGAL:
		return e.Kind.Text(e.Const)
	case e.Op == token.ARROW:
		if KeepsValue(e.X.Kind, e.Kind) {
			return e.X.String()
		}
		return e.Kind.Name() + "(" + e.X.String() + ")"
	case e.Y == nil && e.Op == token.NOT:
		return "not " + paren(e.X)
	case e.Y == nil:
		text := paren(e.X)
		if strings.HasPrefix(text, "-") {
			text = "(" + text + ")"
		}
		return e.Op.String() + text
	}
	return fmt.Sprintf("%s %s %s", paren(e.X), e.Op, paren(e.Y))
}

// KeepsValue reports whether every value of kind from is the same number as a to, and
// is divided as one.
func KeepsValue(from, to ScalarKind) bool {
	return from == to || from.Class == to.Class && from.Bits <= to.Bits ||
		from.Class == UnsignedInt && to.Class == SignedInt && from.Bits < to.Bits
}

// paren is the text of an operand: what has a sign of its own in parentheses.
func paren(e *Expr) string {
	for e.Op == token.ARROW && KeepsValue(e.X.Kind, e.Kind) {
		e = e.X
	}
	if e.Y != nil || e.Op == token.NOT || e.Op == token.SUB {
		return "(" + e.String() + ")"
	}
	return e.String()
}

// Leaves calls f for every entry value that e reads.
func (e *Expr) Leaves(f func(*Source)) {
	if e == nil {
		return
	}
	if e.Leaf != nil {
		f(e.Leaf)
	}
	e.X.Leaves(f)
	e.Y.Leaves(f)
}
