package lower

import (
	"math"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
)

// pointwiseFunc computes the result from the loaded operands, which have the
// result's type.
type pointwiseFunc func(c *call, b *body, x []int) int

// pointwise lowers an operator whose Tensor and Operand parameters broadcast.
func pointwise(f pointwiseFunc) lowerFunc {
	return func(c *call) error {
		m := c.meta()
		b := c.l.pointwiseNode(m.Shape)
		out := c.bindResult()
		var x []int
		for i, p := range c.row.Params() {
			if operandParam(p) && c.n.Args[i] != nil {
				x = append(x, c.operand(b, c.n.Args[i], m.DType))
			}
		}
		b.store(out.buf, out.stride, f(c, b, x))
		return nil
	}
}

func operandParam(p ops.Param) bool {
	switch p.Type {
	case "Tensor", "Tensor?", "Operand", "Operand?":
		return true
	}
	return false
}

// bindResult makes the result's buffer and binds it.
func (c *call) bindResult() *tensor {
	t := c.newResult()
	c.l.vals[c.n] = t
	return t
}

func unary(o ir.Op) pointwiseFunc {
	return func(_ *call, b *body, x []int) int { return b.op(o, x[0]) }
}

func binary(o ir.Op) pointwiseFunc {
	return func(_ *call, b *body, x []int) int { return b.op(o, x[0], x[1]) }
}

var pointwiseTable = map[ops.ID]pointwiseFunc{
	ops.Abs:        unary(ir.Abs),
	ops.Neg:        unary(ir.Neg),
	ops.Exp:        unary(ir.Exp),
	ops.Exp2:       unary(ir.Exp2),
	ops.Expm1:      unary(ir.Expm1),
	ops.Log:        unary(ir.Log),
	ops.Log2:       unary(ir.Log2),
	ops.Log10:      unary(ir.Log10),
	ops.Log1p:      unary(ir.Log1p),
	ops.Sqrt:       unary(ir.Sqrt),
	ops.Rsqrt:      unary(ir.Rsqrt),
	ops.Reciprocal: unary(ir.Reciprocal),
	ops.Sin:        unary(ir.Sin),
	ops.Cos:        unary(ir.Cos),
	ops.Tan:        unary(ir.Tan),
	ops.Asin:       unary(ir.Asin),
	ops.Acos:       unary(ir.Acos),
	ops.Atan:       unary(ir.Atan),
	ops.Sinh:       unary(ir.Sinh),
	ops.Cosh:       unary(ir.Cosh),
	ops.Asinh:      unary(ir.Asinh),
	ops.Acosh:      unary(ir.Acosh),
	ops.Atanh:      unary(ir.Atanh),
	ops.Tanh:       unary(ir.Tanh),
	ops.Sigmoid:    unary(ir.Sigmoid),
	ops.Erf:        unary(ir.Erf),
	ops.Erfc:       unary(ir.Erfc),
	ops.Lgamma:     unary(ir.Lgamma),
	ops.Sign:       unary(ir.Sign),
	ops.Floor:      rounding(ir.Floor),
	ops.Ceil:       rounding(ir.Ceil),
	ops.Trunc:      rounding(ir.Trunc),
	ops.Round:      round,
	ops.NanToNum:   nanToNum,
	ops.BitwiseNot: bitwiseNot,

	ops.Relu:  unary(ir.Relu),
	ops.Gelu:  gelu,
	ops.Silu:  func(_ *call, b *body, x []int) int { return b.op(ir.Mul, x[0], b.op(ir.Sigmoid, x[0])) },
	ops.Clamp: clamp,

	ops.Add:               addSub(ir.Add),
	ops.Sub:               addSub(ir.Sub),
	ops.Mul:               mul,
	ops.Div:               div,
	ops.Pow:               pow,
	ops.Maximum:           binary(ir.Max),
	ops.Fmax:              ignoreNaN(ir.Max),
	ops.Fmin:              ignoreNaN(ir.Min),
	ops.Xlogy:             timesLog(ir.Log),
	ops.Xlog1py:           timesLog(ir.Log1p),
	ops.Minimum:           binary(ir.Min),
	ops.Fmod:              remainder(ir.Fmod),
	ops.Remainder:         remainder(ir.Rem),
	ops.Atan2:             binary(ir.Atan2),
	ops.Hypot:             binary(ir.Hypot),
	ops.Copysign:          binary(ir.CopySign),
	ops.BitwiseAnd:        binary(ir.And),
	ops.BitwiseOr:         binary(ir.Or),
	ops.BitwiseXor:        binary(ir.Xor),
	ops.BitwiseLeftShift:  shift(ir.Shl),
	ops.BitwiseRightShift: shift(ir.Shr),
}

// ignoreNaN is an extreme of two for which NaN counts as missing.
func ignoreNaN(o ir.Op) pointwiseFunc {
	return func(c *call, b *body, x []int) int {
		v := b.op(o, x[0], x[1])
		if !c.meta().DType.IsFloat() {
			return v
		}
		v = b.op(ir.Where, b.op(ir.IsNaN, x[1]), x[0], v)
		return b.op(ir.Where, b.op(ir.IsNaN, x[0]), x[1], v)
	}
}

// timesLog is x*log(y), zero where x is unless y is NaN.
func timesLog(log ir.Op) pointwiseFunc {
	return func(c *call, b *body, x []int) int {
		zero := b.number(c.meta().DType, 0)
		v := b.op(ir.Where, b.op(ir.Eq, x[0], zero), zero, b.op(ir.Mul, x[0], b.op(log, x[1])))
		return b.op(ir.Where, b.op(ir.IsNaN, x[1]), x[1], v)
	}
}

// rounding leaves integers as they are.
func rounding(o ir.Op) pointwiseFunc {
	return func(c *call, b *body, x []int) int {
		if !c.meta().DType.IsFloat() {
			return x[0]
		}
		return b.op(o, x[0])
	}
}

func round(c *call, b *body, x []int) int {
	n := c.number("decimals", 0)
	if n == 0 || !c.meta().DType.IsFloat() {
		return rounding(ir.Round)(c, b, x)
	}
	d := c.meta().DType
	if n < 0 {
		scale := b.number(d, math.Pow(10, -n))
		return b.op(ir.Mul, b.op(ir.Round, b.op(ir.Div, x[0], scale)), scale)
	}
	scale := b.number(d, math.Pow(10, n))
	return b.op(ir.Div, b.op(ir.Round, b.op(ir.Mul, x[0], scale)), scale)
}

func bitwiseNot(c *call, b *body, x []int) int {
	if c.meta().DType == ops.Bool {
		return b.op(ir.Not, x[0])
	}
	return b.op(ir.Xor, x[0], b.int(c.meta().DType, -1))
}

func nanToNum(c *call, b *body, x []int) int {
	d, v := c.meta().DType, x[0]
	if !d.IsFloat() {
		return v
	}
	top := largest(d)
	v = b.op(ir.Where, b.op(ir.IsNaN, x[0]), b.number(d, c.number("nan", 0)), v)
	high := b.op(ir.Eq, x[0], b.number(d, math.Inf(1)))
	v = b.op(ir.Where, high, b.number(d, c.number("posinf", top)), v)
	low := b.op(ir.Eq, x[0], b.number(d, math.Inf(-1)))
	return b.op(ir.Where, low, b.number(d, c.number("neginf", -top)), v)
}

// largest is the largest finite number of a floating-point type.
func largest(d ops.DType) float64 {
	switch d {
	case ops.Float16:
		return 65504
	case ops.BFloat16:
		return 0x1.fep127
	case ops.Float32:
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

func clamp(c *call, b *body, x []int) int {
	v, d := x[0], c.meta().DType
	if lo := c.arg("min"); lo != nil { // of equal operands the second: -0 stays
		v = b.op(ir.Max, c.operand(b, lo, d), v)
	}
	if hi := c.arg("max"); hi != nil {
		v = b.op(ir.Min, c.operand(b, hi, d), v)
	}
	return v
}

// addSub is self +- alpha*other; bool addition is "or", its factor keeps the
// other operand or drops it.
func addSub(o ir.Op) pointwiseFunc {
	return func(c *call, b *body, x []int) int {
		d, alpha := c.meta().DType, c.number("alpha", 1)
		switch {
		case d == ops.Bool && alpha == 0:
			return x[0]
		case d == ops.Bool:
			return b.op(ir.Or, x[0], x[1])
		}
		if alpha != 1 {
			x[1] = b.op(ir.Mul, x[1], b.number(d, alpha))
		}
		return b.op(o, x[0], x[1])
	}
}

func mul(c *call, b *body, x []int) int {
	if c.meta().DType == ops.Bool {
		return b.op(ir.And, x[0], x[1])
	}
	return b.op(ir.Mul, x[0], x[1])
}

func div(c *call, b *body, x []int) int {
	switch c.str("rounding_mode") {
	case "floor":
		return b.quotient(ir.FloorDiv, x[0], x[1])
	case "trunc":
		q := b.quotient(ir.Div, x[0], x[1])
		if d := c.meta().DType; d.IsFloat() { // half precision rounds the quotient first
			q = b.op(ir.Trunc, b.cast(q, d))
		}
		return q
	}
	return b.op(ir.Div, x[0], x[1])
}

// quotient divides; whole numbers must not be divided by zero, and the lowest one
// divided by -1 stays what it is, where the machine's instruction would trap.
func (b *body) quotient(o ir.Op, x, y int) int {
	d := b.dtype(y)
	if d.IsFloat() {
		return b.op(o, x, y)
	}
	q := b.op(o, x, b.divisor(y))
	if !signed(d) {
		return q
	}
	return b.op(ir.Where, b.op(ir.Eq, y, b.int(d, -1)), b.op(ir.Neg, x), q)
}

func signed(d ops.DType) bool { return d == ops.Int32 || d == ops.Int64 }

// divisor is y where the machine can divide by it, else 1, which leaves the right
// remainder for -1 too; zero fails the run.
func (b *body) divisor(y int) int {
	d := b.dtype(y)
	one := b.int(d, 1)
	if v := b.n.Body[y]; v.Op == ir.Const && v.I > 0 {
		return y
	}
	some := b.op(ir.Ne, y, b.int(d, 0))
	b.add(ir.Value{Op: ir.Check, DType: ops.Bool, Args: []int{some}})
	y = b.op(ir.Where, some, y, one)
	if !signed(d) {
		return y
	}
	return b.op(ir.Where, b.op(ir.Eq, y, b.int(d, -1)), one, y)
}

// remainder is that of a division.
func remainder(o ir.Op) pointwiseFunc {
	return func(_ *call, b *body, x []int) int {
		if b.dtype(x[1]).IsFloat() {
			return b.op(o, x[0], x[1])
		}
		return b.op(o, x[0], b.divisor(x[1]))
	}
}

// shift moves bits by as many as the operand says. By a negative number, or as many as
// the type has, nothing of the value is left, but copies of the sign to the right: the
// machine's instruction would take the number modulo something.
func shift(o ir.Op) pointwiseFunc {
	return func(_ *call, b *body, x []int) int {
		d := b.dtype(x[0])
		size := int64(8 * d.Size())
		if v := b.n.Body[x[1]]; v.Op == ir.Const && v.I >= 0 && v.I < size {
			return b.op(o, x[0], x[1])
		}
		fits := b.op(ir.Lt, x[1], b.int(d, size))
		if signed(d) {
			fits = b.op(ir.And, fits, b.op(ir.Ge, x[1], b.int(d, 0)))
		}
		if o == ir.Shr && signed(d) {
			return b.op(o, x[0], b.op(ir.Where, fits, x[1], b.int(d, size-1)))
		}
		zero := b.int(d, 0)
		return b.op(ir.Where, fits, b.op(o, x[0], b.op(ir.Where, fits, x[1], zero)), zero)
	}
}

// pow multiplies out small constant exponents, as eager does.
func pow(c *call, b *body, x []int) int {
	e := &b.n.Body[x[1]]
	if e.Op == ir.Const && e.DType.IsFloat() {
		switch e.F {
		case 0.5:
			return b.op(ir.Sqrt, x[0])
		case 2:
			return b.op(ir.Mul, x[0], x[0])
		case 3:
			return b.op(ir.Mul, b.op(ir.Mul, x[0], x[0]), x[0])
		case -0.5:
			return b.op(ir.Rsqrt, x[0])
		case -1:
			return b.op(ir.Reciprocal, x[0])
		case -2:
			return b.op(ir.Reciprocal, b.op(ir.Mul, x[0], x[0]))
		}
	}
	return b.op(ir.Pow, x[0], x[1])
}

func gelu(c *call, b *body, x []int) int {
	d, v := c.meta().DType, x[0]
	half := b.number(d, 0.5)
	one := b.number(d, 1)
	if c.str("approximate") == "tanh" {
		cube := b.op(ir.Mul, b.op(ir.Mul, v, v), v)
		inner := b.op(ir.Mul, b.number(d, math.Sqrt(2/math.Pi)),
			b.op(ir.Add, v, b.op(ir.Mul, b.number(d, 0.044715), cube)))
		return b.op(ir.Mul, b.op(ir.Mul, half, v), b.op(ir.Add, one, b.op(ir.Tanh, inner)))
	}
	e := b.op(ir.Erf, b.op(ir.Mul, v, b.number(d, math.Sqrt2/2)))
	return b.op(ir.Mul, b.op(ir.Mul, v, half), b.op(ir.Add, one, e))
}

var comparisons = map[ops.ID]ir.Op{
	ops.Lt: ir.Lt, ops.Le: ir.Le, ops.Gt: ir.Gt, ops.Ge: ir.Ge, ops.Eq: ir.Eq, ops.Ne: ir.Ne,
}

// comparison compares in the promoted type of its operands.
func comparison(o ir.Op) lowerFunc {
	return func(c *call) error {
		b := c.l.pointwiseNode(c.meta().Shape)
		out := c.bindResult()
		a := ops.In[ops.SelfOtherArgs](&c.bound)
		d := ops.ResultType(a.Self.Arg, a.Other.Arg)
		x := c.operand(b, a.Self.Arg, d)
		y := c.operand(b, a.Other.Arg, d)
		b.store(out.buf, out.stride, b.op(o, x, y))
		return nil
	}
}

// predicates yield bool from one operand of any type.
var predicates = map[ops.ID]func(b *body, x int) int{
	ops.LogicalNot: func(b *body, x int) int { return b.op(ir.Not, x) },
	ops.Isnan:      floatOnly(false, func(b *body, x int) int { return b.op(ir.IsNaN, x) }),
	ops.Isinf: floatOnly(false, func(b *body, x int) int {
		return b.op(ir.Eq, b.op(ir.Abs, x), b.number(b.dtype(x), math.Inf(1)))
	}),
	ops.Isfinite: floatOnly(true, func(b *body, x int) int {
		return b.op(ir.Lt, b.op(ir.Abs, x), b.number(b.dtype(x), math.Inf(1)))
	}),
}

// floatOnly answers the same for all integers.
func floatOnly(integer bool, f func(b *body, x int) int) func(b *body, x int) int {
	return func(b *body, x int) int {
		if b.dtype(x).IsFloat() {
			return f(b, x)
		}
		if integer {
			return b.int(ops.Bool, 1)
		}
		return b.int(ops.Bool, 0)
	}
}

func predicate(f func(b *body, x int) int) lowerFunc {
	return func(c *call) error {
		b := c.l.pointwiseNode(c.meta().Shape)
		out := c.bindResult()
		b.store(out.buf, out.stride, f(b, b.load(c.self())))
		return nil
	}
}

// logicals combine the truth of their operands.
var logicals = map[ops.ID]ir.Op{ops.LogicalAnd: ir.And, ops.LogicalOr: ir.Or, ops.LogicalXor: ir.Xor}

func logical(o ir.Op) lowerFunc {
	return func(c *call) error {
		b := c.l.pointwiseNode(c.meta().Shape)
		out := c.bindResult()
		a := ops.In[ops.SelfOtherArgs](&c.bound)
		x := c.operand(b, a.Self.Arg, ops.Bool)
		y := c.operand(b, a.Other.Arg, ops.Bool)
		b.store(out.buf, out.stride, b.op(o, x, y))
		return nil
	}
}

func where(c *call) error {
	m := c.meta()
	b := c.l.pointwiseNode(m.Shape)
	out := c.bindResult()
	a := ops.In[ops.WhereArgs](&c.bound)
	cond := c.operand(b, a.Condition.Arg, ops.Bool)
	x := c.operand(b, a.Self.Arg, m.DType)
	y := c.operand(b, a.Other.Arg, m.DType)
	b.store(out.buf, out.stride, b.op(ir.Where, cond, x, y))
	return nil
}
