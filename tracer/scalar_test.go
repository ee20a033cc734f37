package tracer

import (
	"go/token"
	"go/types"
	"testing"
	"unsafe"
)

// TestExprTestAgreesWithEval holds the quick tests of comparisons against the
// general evaluation, for both wanted values.
func TestExprTestAgreesWithEval(t *testing.T) {
	var x int
	src := &source{typ: types.Typ[types.Int]}
	a := &addresses{slot: []slot{{unsafe.Pointer(&x), true}}}
	for _, op := range []token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ} {
		e := &expr{op: op, kind: kindOf(types.Typ[types.Bool]), x: leafExpr(src), y: constExpr(kindOf(src.typ), scalar{i: 5})}
		for x = 3; x < 8; x++ {
			got, ok := e.eval(a)
			if !ok {
				t.Fatal("no value")
			}
			for _, want := range []scalar{{i: 0}, {i: 1}} {
				if exprTest(e, want)(a) != (got == want) {
					t.Errorf("%d %s 5, wanted %d: the quick test differs", x, op, want.i)
				}
			}
		}
	}
}

// TestScalarArithmetic checks widths and signs against Go.
func TestScalarArithmetic(t *testing.T) {
	i8, u8, f32 := kindOf(types.Typ[types.Int8]), kindOf(types.Typ[types.Uint8]), kindOf(types.Typ[types.Float32])
	bin := func(k scalarKind, op token.Token, x, y scalar) scalar {
		v, ok := (&expr{op: op, kind: k, x: constExpr(k, x), y: constExpr(k, y)}).eval(nil)
		if !ok {
			t.Fatalf("%s has no value", op)
		}
		return v
	}
	var a, b int8 = 100, 100
	if v := bin(i8, token.ADD, scalar{i: 100}, scalar{i: 100}); v.i != int64(a+b) {
		t.Errorf("int8: %d", v.i)
	}
	var c, d uint8 = 3, 5
	if v := bin(u8, token.SUB, scalar{i: 3}, scalar{i: 5}); v.i != int64(c-d) {
		t.Errorf("uint8: %d", v.i)
	}
	var p, q float32 = 0.1, 3
	if v := bin(f32, token.MUL, scalar{f: float64(p)}, scalar{f: 3}); float32(v.f) != p*q {
		t.Errorf("float32: %v", v.f)
	}
	if _, ok := (&expr{op: token.QUO, kind: i8, x: constExpr(i8, scalar{i: 1}), y: constExpr(i8, scalar{})}).eval(nil); ok {
		t.Error("division by zero has a value")
	}
}
