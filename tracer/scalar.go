package tracer

import (
	"fmt"
	"go/token"
	"go/types"
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// This file is lazy scalars: numbers and bools of the program that are computed
// from what stood somewhere on entry. They are kept as expressions, so that a
// counter that is only incremented costs no guard.

// scalarKind is a basic type by its arithmetic.
type scalarKind struct {
	class scalarClass
	bits  int
}

type scalarClass uint8

const (
	notScalar scalarClass = iota
	signedInt
	unsignedInt
	floating
	boolean
)

// kindOf classifies t; class notScalar for anything but numbers and bools.
func kindOf(t types.Type) scalarKind {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return scalarKind{}
	}
	switch b.Kind() {
	case types.Bool, types.UntypedBool:
		return scalarKind{boolean, 8}
	case types.Int, types.Int64, types.UntypedInt:
		return scalarKind{signedInt, 64}
	case types.Int32, types.UntypedRune:
		return scalarKind{signedInt, 32}
	case types.Int16:
		return scalarKind{signedInt, 16}
	case types.Int8:
		return scalarKind{signedInt, 8}
	case types.Uint, types.Uint64, types.Uintptr:
		return scalarKind{unsignedInt, 64}
	case types.Uint32:
		return scalarKind{unsignedInt, 32}
	case types.Uint16:
		return scalarKind{unsignedInt, 16}
	case types.Uint8:
		return scalarKind{unsignedInt, 8}
	case types.Float64, types.UntypedFloat:
		return scalarKind{floating, 64}
	case types.Float32:
		return scalarKind{floating, 32}
	}
	return scalarKind{}
}

// scalar is a value of any kind: ints and bools in i, floats in f.
type scalar struct {
	i int64
	f float64
}

// same compares by bits: -0 is not 0 (a graph divides by it), and NaN is what it was.
func (v scalar) same(w scalar) bool {
	return v.i == w.i && math.Float64bits(v.f) == math.Float64bits(w.f)
}

func (k scalarKind) load(p unsafe.Pointer) scalar {
	switch k {
	case scalarKind{signedInt, 64}, scalarKind{unsignedInt, 64}:
		return scalar{i: *(*int64)(p)}
	case scalarKind{signedInt, 32}:
		return scalar{i: int64(*(*int32)(p))}
	case scalarKind{signedInt, 16}:
		return scalar{i: int64(*(*int16)(p))}
	case scalarKind{signedInt, 8}:
		return scalar{i: int64(*(*int8)(p))}
	case scalarKind{unsignedInt, 32}:
		return scalar{i: int64(*(*uint32)(p))}
	case scalarKind{unsignedInt, 16}:
		return scalar{i: int64(*(*uint16)(p))}
	case scalarKind{unsignedInt, 8}, scalarKind{boolean, 8}:
		return scalar{i: int64(*(*uint8)(p))}
	case scalarKind{floating, 64}:
		return scalar{f: *(*float64)(p)}
	case scalarKind{floating, 32}:
		return scalar{f: float64(*(*float32)(p))}
	}
	panic("tracer: load of no scalar")
}

func (k scalarKind) store(p unsafe.Pointer, v scalar) {
	switch {
	case k.class == floating && k.bits == 64:
		*(*float64)(p) = v.f
	case k.class == floating:
		*(*float32)(p) = float32(v.f)
	case k.bits == 64:
		*(*int64)(p) = v.i
	case k.bits == 32:
		*(*int32)(p) = int32(v.i)
	case k.bits == 16:
		*(*int16)(p) = int16(v.i)
	default:
		*(*int8)(p) = int8(v.i)
	}
}

// wrap reduces v to what a variable of kind k holds.
func (k scalarKind) wrap(v scalar) scalar {
	switch {
	case k.class == floating && k.bits == 32:
		v.f = float64(float32(v.f))
	case k.class == signedInt && k.bits < 64:
		s := 64 - k.bits
		v.i = v.i << s >> s
	case k.class == unsignedInt && k.bits < 64:
		v.i &= 1<<k.bits - 1
	}
	return v
}

func (k scalarKind) text(v scalar) string {
	switch k.class {
	case floating:
		return strconv.FormatFloat(v.f, 'g', -1, k.bits)
	case boolean:
		return strconv.FormatBool(v.i != 0)
	case unsignedInt:
		return strconv.FormatUint(uint64(v.i), 10)
	}
	return strconv.FormatInt(v.i, 10)
}

// expr is an expression over scalars that stand somewhere on entry.
type expr struct {
	op   token.Token // ILLEGAL: a leaf; NOT, SUB with y nil: unary; ARROW: conversion
	kind scalarKind  // of the result
	x, y *expr
	leaf *source
	k    scalar // constant leaf (leaf nil)
}

func constExpr(k scalarKind, v scalar) *expr { return &expr{kind: k, k: v} }

func leafExpr(s *source) *expr { return &expr{kind: kindOf(s.typ), leaf: s} }

func (e *expr) isConst() bool { return e.op == token.ILLEGAL && e.leaf == nil }

// eval computes e with the values on entry; ok is false when a path is broken.
func (e *expr) eval(a *addresses) (scalar, bool) {
	if e.op == token.ILLEGAL {
		if e.leaf == nil {
			return e.k, true
		}
		p := a.at(e.leaf)
		if p == nil {
			return scalar{}, false
		}
		return e.kind.load(p), true
	}
	x, ok := e.x.eval(a)
	if !ok {
		return x, false
	}
	if e.y == nil {
		return e.unary(x), true
	}
	y, ok := e.y.eval(a)
	if !ok {
		return y, false
	}
	return e.binary(x, y)
}

func (e *expr) unary(x scalar) scalar {
	switch e.op {
	case token.NOT:
		return scalar{i: x.i ^ 1}
	case token.SUB:
		return e.kind.wrap(scalar{-x.i, -x.f})
	case token.XOR:
		return e.kind.wrap(scalar{i: ^x.i})
	case token.ARROW:
		return convert(x, e.x.kind, e.kind)
	}
	panic("tracer: unary " + e.op.String())
}

// convert is Go's conversion between numeric types.
func convert(v scalar, from, to scalarKind) scalar {
	switch {
	case from.class == floating && to.class == floating:
	case from.class == floating && to.class == unsignedInt:
		v = scalar{i: int64(uint64(v.f))}
	case from.class == floating:
		v = scalar{i: int64(v.f)}
	case to.class == floating && from.class == unsignedInt:
		v = scalar{f: float64(uint64(v.i))}
	case to.class == floating:
		v = scalar{f: float64(v.i)}
	}
	return to.wrap(v)
}

func truth(b bool) scalar {
	if b {
		return scalar{i: 1}
	}
	return scalar{}
}

// binary computes x op y; ok is false where Go would panic (division by zero),
// so that the caller takes the guarded path.
func (e *expr) binary(x, y scalar) (scalar, bool) {
	if k := e.x.kind; k.class == floating {
		return e.floatBinary(x.f, y.f), true
	} else if k.class == unsignedInt {
		return e.uintBinary(uint64(x.i), uint64(y.i))
	}
	return e.intBinary(x.i, y.i)
}

func (e *expr) floatBinary(x, y float64) scalar {
	switch e.op {
	case token.ADD:
		return e.kind.wrap(scalar{f: x + y})
	case token.SUB:
		return e.kind.wrap(scalar{f: x - y})
	case token.MUL:
		return e.kind.wrap(scalar{f: x * y})
	case token.QUO:
		return e.kind.wrap(scalar{f: x / y})
	}
	return compare(e.op, x, y)
}

func compare[T int64 | uint64 | float64](op token.Token, x, y T) scalar {
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

func (e *expr) intBinary(x, y int64) (scalar, bool) {
	var v int64
	switch e.op {
	case token.QUO, token.REM:
		if y == 0 || (x == math.MinInt64 && y == -1) {
			return scalar{}, false
		}
		if v = x / y; e.op == token.REM {
			v = x % y
		}
	case token.SHL, token.SHR:
		return scalar{}, false
	default:
		var ok bool
		if v, ok = bitwise(e.op, x, y); !ok {
			return compare(e.op, x, y), true
		}
	}
	return e.kind.wrap(scalar{i: v}), true
}

func (e *expr) uintBinary(x, y uint64) (scalar, bool) {
	switch e.op {
	case token.QUO, token.REM:
		if y == 0 {
			return scalar{}, false
		}
		if e.op == token.QUO {
			return scalar{i: int64(x / y)}, true
		}
		return scalar{i: int64(x % y)}, true
	case token.SHL, token.SHR:
		return scalar{}, false
	}
	if v, ok := bitwise(e.op, int64(x), int64(y)); ok {
		return e.kind.wrap(scalar{i: v}), true
	}
	return compare(e.op, x, y), true
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

// exprTest compiles the test that e has the value v. The common form, a 64-bit
// integer compared with a constant, takes no detour.
func exprTest(e *expr, v scalar) func(*addresses) bool {
	word := scalarKind{signedInt, 64}
	if e.y == nil || e.y.leaf != nil || e.x.leaf == nil || e.x.kind != word || !e.y.isConst() || e.kind.class != boolean {
		return func(a *addresses) bool { w, ok := e.eval(a); return ok && w.same(v) }
	}
	s, c, want := e.x.leaf, e.y.k.i, v.i != 0
	less, equal := want, want // what x < c and x == c must give
	switch e.op {
	case token.EQL, token.NEQ:
		same := (e.op == token.EQL) == want
		return func(a *addresses) bool { p := a.at(s); return p != nil && (*(*int64)(p) == c) == same }
	case token.LSS:
		equal = !want
	case token.GTR:
		less, equal = !want, !want
	case token.GEQ:
		less = !want
	}
	greater := !less
	return func(a *addresses) bool {
		p := a.at(s)
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

// lazyOp reports whether binary may hold op as an expression.
func lazyOp(op token.Token) bool { return op != token.SHL && op != token.SHR }

// String prints e as Python-like text over sources, L['i'] + 1 < 10, with Go's
// operators. Conversions that change no value are left out.
func (e *expr) String() string {
	switch {
	case e.op == token.ILLEGAL && e.leaf != nil:
		return e.leaf.name
	case e.op == token.ILLEGAL:
		return e.kind.text(e.k)
	case e.op == token.ARROW:
		if keepsValue(e.x.kind, e.kind) {
			return e.x.String()
		}
		return e.kind.name() + "(" + e.x.String() + ")"
	case e.y == nil && e.op == token.NOT:
		return "not " + paren(e.x)
	case e.y == nil:
		text := paren(e.x)
		if strings.HasPrefix(text, "-") {
			text = "(" + text + ")"
		}
		return e.op.String() + text
	}
	return fmt.Sprintf("%s %s %s", paren(e.x), e.op, paren(e.y))
}

// keepsValue reports whether every value of kind from is the same number as a to, and
// is divided as one.
func keepsValue(from, to scalarKind) bool {
	return from == to || from.class == to.class && from.bits <= to.bits ||
		from.class == unsignedInt && to.class == signedInt && from.bits < to.bits
}

// name is the type of kind k as a program writes it, the word-sized ones without
// their size.
func (k scalarKind) name() string {
	switch k.class {
	case floating:
		if k.bits == 64 {
			return "float"
		}
		return "float32"
	case boolean:
		return "bool"
	case unsignedInt:
		return "u" + scalarKind{signedInt, k.bits}.name()
	}
	if k.bits == 64 {
		return "int"
	}
	return "int" + strconv.Itoa(k.bits)
}

// paren is the text of an operand: what has a sign of its own in parentheses.
func paren(e *expr) string {
	for e.op == token.ARROW && keepsValue(e.x.kind, e.kind) {
		e = e.x
	}
	if e.y != nil || e.op == token.NOT || e.op == token.SUB {
		return "(" + e.String() + ")"
	}
	return e.String()
}

// leaves calls f for every entry value that e reads.
func (e *expr) leaves(f func(*source)) {
	if e == nil {
		return
	}
	if e.leaf != nil {
		f(e.leaf)
	}
	e.x.leaves(f)
	e.y.leaves(f)
}
