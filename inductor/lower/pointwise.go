package lower

import (
	"math"

	"tcdbg/inductor/ir"
	"tcdbg/internal/ops"
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
	ops.Abs:     unary(ir.Abs),
	ops.Neg:     unary(ir.Neg),
	ops.Exp:     unary(ir.Exp),
	ops.Log:     unary(ir.Log),
	ops.Sqrt:    unary(ir.Sqrt),
	ops.Rsqrt:   unary(ir.Rsqrt),
	ops.Sin:     unary(ir.Sin),
	ops.Cos:     unary(ir.Cos),
	ops.Tanh:    unary(ir.Tanh),
	ops.Sigmoid: unary(ir.Sigmoid),
	ops.Relu:    unary(ir.Relu),
	ops.Gelu:    gelu,
	ops.Silu:    func(_ *call, b *body, x []int) int { return b.op(ir.Mul, x[0], b.op(ir.Sigmoid, x[0])) },
	ops.Add:     addSub(ir.Add),
	ops.Sub:     addSub(ir.Sub),
	ops.Mul:     mul,
	ops.Div:     div,
	ops.Pow:     pow,
	ops.Maximum: binary(ir.Max),
	ops.Minimum: binary(ir.Min),
}

// addSub is self +- alpha*other; bool addition is "or".
func addSub(o ir.Op) pointwiseFunc {
	return func(c *call, b *body, x []int) int {
		d := c.meta().DType
		if d == ops.Bool {
			return b.op(ir.Or, x[0], x[1])
		}
		if alpha := c.number("alpha", 1); alpha != 1 {
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
		return b.op(ir.FloorDiv, x[0], x[1])
	case "trunc":
		q := b.op(ir.Div, x[0], x[1])
		if c.meta().DType.IsFloat() {
			q = b.op(ir.Trunc, q)
		}
		return q
	}
	return b.op(ir.Div, x[0], x[1])
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
		d := ops.ResultType(c.n.Args[0], c.n.Args[1])
		x := c.operand(b, c.n.Args[0], d)
		y := c.operand(b, c.n.Args[1], d)
		b.store(out.buf, out.stride, b.op(o, x, y))
		return nil
	}
}

func where(c *call) error {
	m := c.meta()
	b := c.l.pointwiseNode(m.Shape)
	out := c.bindResult()
	cond := c.operand(b, c.n.Args[0], ops.Bool)
	x := c.operand(b, c.n.Args[1], m.DType)
	y := c.operand(b, c.n.Args[2], m.DType)
	b.store(out.buf, out.stride, b.op(ir.Where, cond, x, y))
	return nil
}
