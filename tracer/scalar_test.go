package tracer

import (
	"go/token"
	"go/types"
	"testing"
	"unsafe"

	"tcdbg/tracer/guard"
	"tcdbg/tracer/value"
)

// TestExprTestAgreesWithEval holds the quick tests of comparisons against the
// general evaluation, for both wanted values.
func TestExprTestAgreesWithEval(t *testing.T) {
	var x int
	src := &value.Source{Type: types.Typ[types.Int]}
	a := &guard.Addresses{Slot: []guard.Slot{{P: unsafe.Pointer(&x), Done: true}}}
	for _, op := range []token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ} {
		e := &value.Expr{
			Op: op, Kind: value.KindOf(types.Typ[types.Bool]), X: value.LeafExpr(src),
			Y: value.ConstExpr(value.KindOf(src.Type), value.Scalar{I: 5}),
		}
		for x = 3; x < 8; x++ {
			got, ok := e.Eval(a)
			if !ok {
				t.Fatal("no value")
			}
			for _, want := range []value.Scalar{{I: 0}, {I: 1}} {
				if guard.ExprTest(e, want)(a) != (got == want) {
					t.Errorf("%d %s 5, wanted %d: the quick test differs", x, op, want.I)
				}
			}
		}
	}
}

// TestScalarArithmetic checks widths and signs against Go.
func TestScalarArithmetic(t *testing.T) {
	i8, u8, f32 := value.KindOf(types.Typ[types.Int8]), value.KindOf(types.Typ[types.Uint8]), value.KindOf(types.Typ[types.Float32])
	bin := func(k value.ScalarKind, op token.Token, x, y value.Scalar) value.Scalar {
		v, ok := (&value.Expr{Op: op, Kind: k, X: value.ConstExpr(k, x), Y: value.ConstExpr(k, y)}).Eval(nil)
		if !ok {
			t.Fatalf("%s has no value", op)
		}
		return v
	}
	var a, b int8 = 100, 100
	if v := bin(i8, token.ADD, value.Scalar{I: 100}, value.Scalar{I: 100}); v.I != int64(a+b) {
		t.Errorf("int8: %d", v.I)
	}
	var c, d uint8 = 3, 5
	if v := bin(u8, token.SUB, value.Scalar{I: 3}, value.Scalar{I: 5}); v.I != int64(c-d) {
		t.Errorf("uint8: %d", v.I)
	}
	var p, q float32 = 0.1, 3
	if v := bin(f32, token.MUL, value.Scalar{F: float64(p)}, value.Scalar{F: 3}); float32(v.F) != p*q {
		t.Errorf("float32: %v", v.F)
	}
	if _, ok := (&value.Expr{
		Op: token.QUO, Kind: i8, X: value.ConstExpr(i8, value.Scalar{I: 1}),
		Y: value.ConstExpr(i8, value.Scalar{}),
	}).Eval(nil); ok {
		t.Error("division by zero has a value")
	}
}
