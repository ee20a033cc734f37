package triton

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
)

var infix = map[ir.Op]string{
	ir.Add: "+", ir.Sub: "-", ir.Mul: "*", ir.Div: "/", ir.And: "&", ir.Or: "|", ir.Xor: "^", ir.Shl: "<<", ir.Shr: ">>",
	ir.Lt: "<", ir.Le: "<=", ir.Gt: ">", ir.Ge: ">=", ir.Eq: "==", ir.Ne: "!=",
}

// forms are the operations that are a call or an expression of their own; $0, $1
// and $2 stand for the operands. What is missing is libdevice's function of the
// operation's name.
var forms = map[ir.Op]string{
	ir.Where: "tl.where($0, $1, $2)", ir.Neg: "-$0", ir.Abs: "tl.abs($0)",
	ir.Sigmoid: "1.0 / (1.0 + libdevice.exp(-$0))",
	ir.Relu:    "triton_helpers.maximum($0, 0)", ir.Reciprocal: "1.0 / $0", ir.Round: "libdevice.nearbyint($0)",
	ir.Not: "$0 == 0", ir.IsNaN: "$0 != $0", ir.Max: "triton_helpers.maximum($0, $1)",
	ir.Min:      "triton_helpers.minimum($0, $1)",
	ir.FloorDiv: "libdevice.floor($0 / $1)", ir.Rem: "remainder($0, $1)",
	ir.Sign: "($0 > 0).to($t) - ($0 < 0).to($t)",
}

// integerForms replace the forms for whole numbers, whose division goes towards
// zero as in C.
var integerForms = map[ir.Op]string{
	ir.Div: "$0 // $1", ir.Fmod: "$0 % $1", ir.FloorDiv: "triton_helpers.div_floor_integer($0, $1)",
	ir.Rem: "triton_helpers.remainder_integer($0, $1)", ir.Relu: "triton_helpers.maximum($0, tl.full([1], 0, $t))",
	ir.Pow: "pow_integer($0, $1)",
}

// Helpers are functions that kernels call and nobody else has.
const Helpers = `

@triton.jit
def remainder(x, y):
    r = libdevice.fmod(x, y)
    return tl.where((r != 0) & ((r < 0) != (y < 0)), r + y, r)


@triton.jit
def pow_integer(x, y):
    p = x * 0 + 1
    n = y + x * 0
    negative = tl.where(x == 1, 1, tl.where(x == -1, 1 - 2 * (n & 1), 0)).to(p.dtype)
    for _ in range(64):
        p = tl.where((n > 0) & ((n & 1) != 0), p * x, p)
        x = x * x
        n = n >> 1
    return tl.where(y < 0, negative, p)
`

// onlyFloats are the operations that libdevice lacks for whole numbers.
func onlyFloats(o ir.Op) bool {
	if _, ok := infix[o]; ok {
		return false
	}
	_, ok := forms[o]
	return !ok
}

// speller spells element operations in Triton; shape is that of a constant.
type speller struct {
	shape string
	err   error // what was not generated
}

var _ ir.Handler[string] = (*speller)(nil)

// Constant is a block of one element, of as many dimensions as the indices have.
func (s *speller) Constant(v *ir.Value) string {
	if !v.DType.IsFloat() {
		return fmt.Sprintf("tl.full(%s, %d, %s)", s.shape, v.I, typeName(v.DType))
	}
	text := strconv.FormatFloat(v.F, 'g', -1, 64)
	switch {
	case math.IsNaN(v.F):
		text = `float("nan")`
	case math.IsInf(v.F, 1):
		text = `float("inf")`
	case math.IsInf(v.F, -1):
		text = `float("-inf")`
	}
	return fmt.Sprintf("tl.full(%s, %s, %s)", s.shape, text, typeName(v.DType))
}

// Cast converts x; what is too narrow to compute with is rounded or wrapped.
func (s *speller) Cast(x string, _, to ops.DType) string {
	if to == ops.Bool {
		return x + " != 0"
	}
	if d := ir.Register(to); d != to {
		return fmt.Sprintf("%s.to(%s).to(%s)", x, typeName(to), typeName(d))
	}
	return fmt.Sprintf("%s.to(%s)", x, typeName(to))
}

// Apply is o of named operands of type from.
func (s *speller) Apply(o ir.Op, from, to ops.DType, x []string) string {
	form, ok := integerForms[o]
	if !ok || from.IsFloat() {
		if sign, is := infix[o]; is {
			return x[0] + " " + sign + " " + x[1]
		}
		if form, ok = forms[o]; !ok {
			if !from.IsFloat() && onlyFloats(o) {
				s.err = fmt.Errorf("%s of whole numbers is not generated", o)
				return ""
			}
			return fmt.Sprintf("libdevice.%s(%s)", o, strings.Join(x, ", "))
		}
	}
	form = strings.ReplaceAll(form, "$t", typeName(to))
	for k, a := range x {
		form = strings.ReplaceAll(form, "$"+strconv.Itoa(k), a)
	}
	return form
}

func typeName(d ops.DType) string {
	if d == ops.Bool {
		return "tl.int1"
	}
	return "tl." + d.Name()
}
