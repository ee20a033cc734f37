package triton

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/internal/ops"
)

var infix = map[ir.Op]string{
	ir.Add: "+", ir.Sub: "-", ir.Mul: "*", ir.Div: "/", ir.And: "&", ir.Or: "|", ir.Xor: "^", ir.Shl: "<<", ir.Shr: ">>",
	ir.Lt: "<", ir.Le: "<=", ir.Gt: ">", ir.Ge: ">=", ir.Eq: "==", ir.Ne: "!=",
}

// forms are the operations that are a call or an expression of their own; $0, $1
// and $2 stand for the operands. What is missing is libdevice's function of the
// operation's name.
var forms = map[ir.Op]string{
	ir.Where: "tl.where($0, $1, $2)", ir.Neg: "-$0", ir.Abs: "tl.abs($0)", ir.Exp: "libdevice.exp($0)", ir.Log: "tl.log($0)",
	ir.Sqrt: "libdevice.sqrt($0)", ir.Sin: "tl.sin($0)", ir.Cos: "tl.cos($0)", ir.Sigmoid: "tl.sigmoid($0)",
	ir.Relu: "triton_helpers.maximum($0, 0)", ir.Reciprocal: "1.0 / $0", ir.Round: "libdevice.nearbyint($0)",
	ir.Not: "$0 == 0", ir.IsNaN: "libdevice.isnan($0).to(tl.int1)", ir.Max: "triton_helpers.maximum($0, $1)",
	ir.Min: "triton_helpers.minimum($0, $1)", ir.FloorDiv: "triton_helpers.div_floor_integer($0, $1)",
	ir.Rem: "triton_helpers.remainder_integer($0, $1)", ir.Sign: "($0 > 0).to(tl.int8) - ($0 < 0).to(tl.int8)",
}

// operation is the text of one operation on named operands.
func operation(v *ir.Value, x []string, shape string) string {
	if s, ok := infix[v.Op]; ok {
		return x[0] + " " + s + " " + x[1]
	}
	switch v.Op {
	case ir.Const:
		return constant(v, shape)
	case ir.Cast:
		return fmt.Sprintf("%s.to(%s)", x[0], typeName(v.DType))
	}
	form, ok := forms[v.Op]
	if !ok {
		return fmt.Sprintf("libdevice.%s(%s)", v.Op, strings.Join(x, ", "))
	}
	for k, a := range x {
		form = strings.ReplaceAll(form, "$"+strconv.Itoa(k), a)
	}
	return form
}

// constant is a block of one element, of as many dimensions as the indices have.
func constant(v *ir.Value, shape string) string {
	if !v.DType.IsFloat() {
		return fmt.Sprintf("tl.full(%s, %d, %s)", shape, v.I, typeName(v.DType))
	}
	s := strconv.FormatFloat(v.F, 'g', -1, 64)
	switch {
	case math.IsNaN(v.F):
		s = `float("nan")`
	case math.IsInf(v.F, 1):
		s = `float("inf")`
	case math.IsInf(v.F, -1):
		s = `float("-inf")`
	}
	return fmt.Sprintf("tl.full(%s, %s, %s)", shape, s, typeName(v.DType))
}

func typeName(d ops.DType) string {
	if d == ops.Bool {
		return "tl.int1"
	}
	return "tl." + d.Name()
}
