package ops

import (
	"math/cmplx"

	"tcdbg/ops/sym"
)

// This file holds the pointwise operators of two and more operands.

// The schemas say where an operator takes numbers: arithmetic on both sides, most others
// on the right, some on neither.
const (
	twoOperands   = "(Operand self, Operand other) -> Tensor"
	tensorOperand = "(Tensor self, Operand other) -> Tensor"
	twoTensors    = "(Tensor self, Tensor other) -> Tensor"
)

func binaryRow(id ID, name, schema string, rule dtypeRule, back backFn, dec func(b B, x, y Arg) Value) *Op {
	row := &Op{ID: id, Name: name, Schema: schema, Tags: TagPointwise, Meta: pointwise(rule), Backward: back}
	if back == nil {
		row.Tags |= TagNoGrad
	}
	if dec != nil {
		row.Decompose = decompF(func(b B, c *Call) Value {
			a := In[SelfOtherArgs](c)
			return dec(b, a.Self.Arg, a.Other.Arg)
		})
	}
	return row
}

// pairBack is pointwiseBack for two operands with a formula for each.
func pairBack(first, second func(b B, g Value, x, y Arg, out Value) Value) backFn {
	return pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
		a := In[SelfOtherArgs](c.Call)
		if i == 0 {
			return first(b, g, a.Self.Arg, a.Other.Arg, c.Outs[0])
		}
		return second(b, g, a.Self.Arg, a.Other.Arg, c.Outs[0])
	})
}

func passGrad(b B, g Value, _, _ Arg, _ Value) Value { return g }

func isOne(a Arg) bool { return NumberOf(a) == 1 }

// timesAlpha is alpha*x, x itself for alpha 1.
func timesAlpha(b B, x Value, alpha Arg) Value {
	if isOne(alpha) {
		return x
	}
	return b.mul(x, alpha)
}

func binaryRows() []*Op {
	rows := append(arithmeticRows(), comparisonRows()...)
	rows = append(rows, mathPairRows()...)
	return append(append(rows, bitRows()...), ternaryRows()...)
}

func arithmeticRows() []*Op {
	return []*Op{
		{
			ID: Add, Name: "add", Schema: "(Operand self, Operand other, *, Scalar alpha=1) -> Tensor",
			Tags: TagPointwise | TagHasInPlace | TagComplex,
			Meta: alphaMeta(keepType),
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
				if i == 0 {
					return g
				}
				return timesAlpha(b, g, In[AddArgs](c.Call).Alpha.Arg)
			}),
		},
		{
			ID: Sub, Name: "sub", Aliases: []string{"subtract"},
			Schema: "(Operand self, Operand other, *, Scalar alpha=1) -> Tensor", Tags: TagPointwise | TagHasInPlace | TagComplex,
			Meta: alphaMeta(subType),
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
				if i == 0 {
					return g
				}
				return b.neg(timesAlpha(b, g, In[SubArgs](c.Call).Alpha.Arg))
			}),
		},
		{
			ID: Rsub, Name: "rsub", Schema: "(Tensor self, Operand other, Scalar alpha=1) -> Tensor",
			Tags: TagPointwise | TagNotMethod | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[RsubArgs](c)
				// the layout is that of other - self, too
				return alphaMeta(subType)(&Call{c.Op, []Arg{a.Other.Arg, a.Self.Arg, a.Alpha.Arg}})
			},
			Decompose: decompF(func(b B, c *Call) Value {
				a := In[RsubArgs](c)
				return b.Emit(Sub, a.Other.Arg, a.Self.Arg, a.Alpha.Arg)
			}),
		},
		binaryRow(Mul, "mul", twoOperands, keepType, pairBack(
			func(b B, g Value, x, y Arg, _ Value) Value { return b.mul(g, y) },
			func(b B, g Value, x, y Arg, _ Value) Value { return b.mul(g, x) }), nil).and(TagHasInPlace | TagComplex).named("multiply"),
		{
			ID: Div, Name: "div", Aliases: []string{"divide"},
			Schema: "(Operand self, Operand other, *, str? rounding_mode=None) -> Tensor", Tags: TagPointwise | TagHasInPlace | TagComplex,
			Meta: divMeta,
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
				a := In[DivArgs](c.Call)
				switch {
				case a.RoundingMode.Str() != "":
					return b.zeros(g.TensorMeta())
				case i == 0:
					return b.div(g, a.Other.Arg)
				}
				return b.neg(b.mul(g, b.div(b.div(a.Self.Arg, a.Other.Arg), a.Other.Arg)))
			}),
		},
		{
			ID: TrueDivide, Name: "true_divide", Schema: twoOperands, Tags: TagPointwise | TagHasInPlace | TagComplex,
			Meta: pointwise(floatType),
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[TrueDivideArgs](c)
				return b.div(a.Self.Arg, a.Other.Arg)
			}),
		},
		{
			ID: FloorDivide, Name: "floor_divide", Schema: twoOperands, Tags: TagPointwise | TagNoGrad | TagHasInPlace,
			Meta: pointwise(keepType),
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[FloorDivideArgs](c)
				return b.Emit(Div, a.Self.Arg, a.Other.Arg, "floor")
			}),
		},
		{
			ID: Pow, Name: "pow", Schema: "(Operand self, Operand exponent) -> Tensor",
			Tags: TagPointwise | TagHasInPlace | TagComplex, Meta: powMeta,
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
				a := In[PowArgs](c.Call)
				if i == 0 {
					return powBackBase(b, g, a.Self.Arg, a.Exponent.Arg, c.Outs[0])
				}
				return powBackExponent(b, g, a.Self.Arg, a.Exponent.Arg, c.Outs[0])
			}),
		},
	}
}

// alphaMeta is pointwise with a check of alpha against the dtype.
func alphaMeta(rule dtypeRule) func(*Call) ([]Result, error) {
	base := pointwise(rule)
	return func(c *Call) ([]Result, error) {
		res, err := base(c)
		if err != nil {
			return nil, err
		}
		d := res[0].(*TensorMeta).DType
		switch In[SelfOtherAlphaArgs](c).Alpha.Arg.(type) {
		case bool:
			if d != Bool {
				return nil, Errorf("Boolean alpha only supported for Boolean results.")
			}
		case float64:
			if !d.IsFloat() && !d.IsComplex() {
				return nil, Errorf("For integral input tensors, argument alpha must not be a floating point number.")
			}
		}
		return res, nil
	}
}

func subType(_ *Op, d DType) (DType, error) {
	if d == Bool {
		return 0, Errorf(
			"Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.",
		)
	}
	return d, nil
}

func divMeta(c *Call) ([]Result, error) {
	switch mode := In[DivArgs](c).RoundingMode.Str(); mode {
	case "":
		return pointwise(floatType)(c)
	case "floor", "trunc":
		return pointwise(keepType)(c)
	default:
		return nil, Errorf("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'", mode)
	}
}

func powMeta(c *Call) ([]Result, error) {
	a := In[PowArgs](c)
	res, err := pointwise(squareTypeOfPow)(c)
	if err != nil {
		return nil, err
	}
	if e, ok := a.Exponent.Arg.(sym.Int); ok && res[0].(*TensorMeta).DType.IsInt() && sym.Lt(e, sym.C(0)) {
		return nil, Errorf("Integers to negative integer powers are not allowed.")
	}
	if m := res[0].(*TensorMeta); a.Self.Meta() == nil { // a power of a number is laid out again
		m.Stride = ContiguousStrides(m.Shape)
	}
	return res, nil
}

func squareTypeOfPow(_ *Op, d DType) (DType, error) { return d, nil }

func powBackBase(b B, g Value, x, y Arg, _ Value) Value {
	if e, ok := y.(complex128); ok {
		return b.mul(g, b.mul(b.pow(x, e-1), e))
	}
	if MetaOf(y) == nil {
		e := NumberOf(y)
		switch e {
		case 0:
			return b.zeros(g.TensorMeta())
		case 1:
			return g
		case 2:
			return b.mul(g, b.mul(x, 2.0))
		}
		return b.mul(g, b.mul(b.pow(x, e-1), e))
	}
	d := b.mul(g, b.mul(y, b.pow(x, b.sub(y, 1))))
	return b.where(b.eq(y, 0.0), scalarLike(d, 0), d)
}

func powBackExponent(b B, g Value, x, y Arg, out Value) Value {
	if g.TensorMeta().DType.IsComplex() {
		if MetaOf(x) == nil {
			x = b.full(nil, x, g.TensorMeta())
		}
		d := b.mul(g, b.mul(out, b.log(x)))
		return b.where(b.eq(x, 0.0), 0.0, d)
	}
	if MetaOf(x) == nil {
		base := NumberOf(x)
		lx := b.log(b.full(nil, base, g.TensorMeta()))
		d := b.mul(g, b.mul(out, lx))
		if base == 0 {
			return b.where(b.ge(y, 0.0), scalarLike(d, 0), d)
		}
		return d
	}
	d := b.mul(g, b.mul(out, b.log(b.cast(x.(Value), g.TensorMeta().DType))))
	return b.where(b.and(b.eq(x, 0.0), b.ge(y, 0.0)), scalarLike(d, 0), d)
}

func comparisonRows() []*Op {
	truth := func(id ID, name, schema string) *Op {
		return binaryRow(id, name, schema, boolType, nil, nil).and(TagHasInPlace)
	}
	return []*Op{
		truth(Lt, "lt", tensorOperand).named("less"), truth(Le, "le", tensorOperand).named("less_equal"),
		truth(Gt, "gt", tensorOperand).named("greater"), truth(Ge, "ge", tensorOperand).named("greater_equal"),
		truth(Eq, "eq", tensorOperand).and(TagComplex), truth(Ne, "ne", tensorOperand).and(TagComplex).named("not_equal"),
		truth(LogicalAnd, "logical_and", twoTensors).and(TagComplex), truth(LogicalOr, "logical_or", twoTensors).and(TagComplex),
		truth(LogicalXor, "logical_xor", twoTensors).and(TagComplex),
	}
}

// halfWhereEqual splits the gradient between equal operands, as amax does.
func extremumBack(less func(b B, x, y Arg) Value) backFn {
	return pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
		a := In[SelfOtherArgs](c.Call)
		x, y := a.Self.Arg, a.Other.Arg
		if i == 1 {
			x, y = y, x
		}
		half := b.where(b.eq(x, y), b.mul(g, 0.5), g)
		return b.where(less(b, x, y), scalarLike(g, 0), half)
	})
}

func mathPairRows() []*Op {
	return []*Op{
		binaryRow(Maximum, "maximum", twoTensors, keepType, extremumBack(B.lt), nil),
		binaryRow(Minimum, "minimum", twoTensors, keepType, extremumBack(B.gt), nil),
		binaryRow(Fmod, "fmod", tensorOperand, notBoolCPU, pairBack(passGrad, func(b B, g Value, x, y Arg, _ Value) Value {
			return b.neg(b.mul(g, b.Emit(Div, x, y, "trunc")))
		}), nil).and(TagHasInPlace),
		binaryRow(Remainder, "remainder", twoOperands, notBoolCPU, pairBack(passGrad, func(b B, g Value, x, y Arg, _ Value) Value {
			return b.neg(b.mul(g, b.Emit(Div, x, y, "floor")))
		}), nil).and(TagHasInPlace),
		binaryRow(Atan2, "atan2", twoTensors, floatType, pairBack(
			func(b B, g Value, x, y Arg, _ Value) Value {
				return b.mul(b.mul(g, y), inverseSquare(b, x, y))
			},
			func(b B, g Value, x, y Arg, _ Value) Value {
				return b.mul(b.mul(g, b.neg(x)), inverseSquare(b, x, y))
			}), nil).and(TagHasInPlace).named("arctan2"),
		binaryRow(Hypot, "hypot", twoTensors, floatsOnly, pairBack(
			func(b B, g Value, x, y Arg, out Value) Value { return b.div(b.mul(g, x), out) },
			func(b B, g Value, x, y Arg, out Value) Value { return b.div(b.mul(g, y), out) }), nil).and(TagHasInPlace),
		binaryRow(Copysign, "copysign", tensorOperand, floatType, pairBack(
			func(b B, g Value, x, y Arg, out Value) Value {
				r := b.div(out, x)
				return b.mul(g, b.where(b.eq(x, 0.0), scalarLike(r, 0), r))
			},
			func(b B, g Value, x, y Arg, out Value) Value { return b.zeros(g.TensorMeta()) }), nil).and(TagHasInPlace),
		binaryRow(Logaddexp, "logaddexp", twoTensors, floatsOnly, pairBack(
			func(b B, g Value, x, y Arg, _ Value) Value { return b.div(g, b.add(b.exp(b.sub(y, x)), 1)) },
			func(b B, g Value, x, y Arg, _ Value) Value { return b.div(g, b.add(b.exp(b.sub(x, y)), 1)) }),
			func(b B, x, y Arg) Value {
				m := b.Emit(Maximum, x, y)
				r := b.add(m, b.Emit(Log1p, b.exp(b.neg(b.Emit(Abs, b.sub(x, y))))))
				return b.where(b.and(b.Emit(Isinf, x), b.eq(x, y)), x, r)
			}),
	}
}

func bitRows() []*Op {
	return []*Op{
		binaryRow(BitwiseAnd, "bitwise_and", twoOperands, notFor(isFloaty), nil, nil).and(TagHasInPlace),
		binaryRow(BitwiseOr, "bitwise_or", twoOperands, notFor(isFloaty), nil, nil).and(TagHasInPlace),
		binaryRow(BitwiseXor, "bitwise_xor", twoOperands, notFor(isFloaty), nil, nil).and(TagHasInPlace),
		binaryRow(BitwiseLeftShift, "bitwise_left_shift", twoOperands, notFor(isntIntOnly), nil, nil).and(TagHasInPlace),
		binaryRow(BitwiseRightShift, "bitwise_right_shift", twoOperands, notFor(isntIntOnly), nil, nil).and(TagHasInPlace),
	}
}

func isntIntOnly(d DType) bool { return !d.IsInt() }

func ternaryRows() []*Op {
	return []*Op{
		{
			ID: Lerp, Name: "lerp", Schema: "(Tensor self, Tensor end, Operand weight) -> Tensor",
			Tags: TagPointwise | TagHasInPlace | TagComplex, Meta: lerpMeta,
			Decompose: decompF(func(b B, c *Call) Value {
				a := In[LerpArgs](c)
				x, y, w := a.Self.Value(), a.End.Value(), a.Weight.Arg
				d := b.sub(y, x)
				if z, ok := w.(complex128); ok {
					if cmplx.Abs(z) < 0.5 {
						return b.add(x, b.mul(d, z))
					}
					return b.sub(y, b.mul(d, 1-z))
				}
				if MetaOf(w) == nil {
					if f := a.Weight.Float(); f < 0.5 && f > -0.5 {
						return b.add(x, b.mul(d, w))
					} else {
						return b.sub(y, b.mul(d, 1-f))
					}
				}
				return b.where(b.lt(b.Emit(Abs, w), 0.5), b.add(x, b.mul(d, w)), b.sub(y, b.mul(d, b.sub(1, w))))
			}),
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
				a := In[LerpArgs](c.Call)
				w := a.Weight.Arg
				switch i {
				case 0:
					if z, ok := w.(complex128); ok {
						return b.mul(g, 1-z)
					}
					if MetaOf(w) == nil {
						return b.mul(g, 1-a.Weight.Float())
					}
					return b.mul(g, b.sub(1, w))
				case 1:
					return b.mul(g, w)
				}
				return b.mul(g, b.sub(a.End.Value(), a.Self.Value()))
			}),
		},
		{
			ID: Addcmul, Name: "addcmul", Schema: "(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
			Tags: TagPointwise | TagHasInPlace | TagComplex, Meta: pointwise(keepType),
			Decompose: decompF(func(b B, c *Call) Value {
				a := In[AddcmulArgs](c)
				t1, t2 := promotedPair(b, c)
				return b.add(a.Self.Value(), b.mul(timesAlpha(b, t1, a.Value.Arg), t2))
			}),
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
				a := In[AddcmulArgs](c.Call)
				other := a.Tensor2
				switch i {
				case 0:
					return g
				case 2:
					other = a.Tensor1
				}
				return b.mul(g, timesAlpha(b, other.Value(), a.Value.Arg))
			}),
		},
		{
			ID: Addcdiv, Name: "addcdiv", Schema: "(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
			Tags: TagPointwise | TagHasInPlace | TagComplex, Meta: pointwise(keepType),
			Decompose: decompF(func(b B, c *Call) Value {
				a := In[AddcdivArgs](c)
				t1, t2 := promotedPair(b, c)
				return b.add(a.Self.Value(), b.mul(b.div(t1, t2), a.Value.Arg))
			}),
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
				a := In[AddcdivArgs](c.Call)
				switch i {
				case 0:
					return g
				case 1:
					value := a.Value.Arg
					if d := g.TensorMeta().DType; OpMath(d) != d {
						value = asStored(d, a.Value.Float())
					}
					return b.mul(g, b.div(value, a.Tensor2.Value()))
				}
				t2 := a.Tensor2.Value()
				return b.neg(b.mul(g, b.div(timesAlpha(b, a.Tensor1.Value(), a.Value.Arg), b.sq(t2))))
			}),
		},
		{
			ID: Where, Name: "where", Schema: "(Tensor condition, Operand self, Operand other) -> Tensor",
			Tags: TagPointwise | TagComplex, Meta: whereMeta,
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
				a := In[WhereArgs](c.Call)
				if i == 1 {
					return b.where(a.Condition.Value(), g, scalarLike(g, 0))
				}
				return b.where(a.Condition.Value(), scalarLike(g, 0), g)
			}),
		},
	}
}

// promotedPair are arguments 1 and 2 in the type that all three have together.
func promotedPair(b B, c *Call) (t1, t2 Value) {
	a := In[SelfTensor1Tensor2Args](c)
	d := ResultType(a.Self.Arg, a.Tensor1.Arg, a.Tensor2.Arg)
	return b.cast(a.Tensor1.Value(), d), b.cast(a.Tensor2.Value(), d)
}

func lerpMeta(c *Call) ([]Result, error) {
	a := In[LerpArgs](c)
	x, y := a.Self.Meta(), a.End.Meta()
	if x.DType != y.DType {
		return nil, Errorf("expected dtype %s for `end` but got dtype %s", x.DType.Name(), y.DType.Name())
	}
	if w := a.Weight.Meta(); w != nil && w.DType != x.DType && len(w.Shape) > 0 {
		return nil, Errorf("expected dtype %s for `weight` but got dtype %s", x.DType.Name(), w.DType.Name())
	}
	return pointwise(keepType)(c)
}

func whereMeta(c *Call) ([]Result, error) {
	a := In[WhereArgs](c)
	cond := a.Condition.Meta()
	if cond.DType != Bool && cond.DType != Uint8 {
		return nil, Errorf("where expected condition to be a boolean tensor, but got a tensor with dtype %s", cond.DType.ScalarType())
	}
	ins := []*TensorMeta{cond}
	for _, operand := range []TensorArg{a.Self, a.Other} {
		if m := operand.Meta(); m != nil {
			ins = append(ins, m)
		}
	}
	return pointwiseResult(c.Op, keepType, ins, ResultType(a.Self.Arg, a.Other.Arg))
}

// inverseSquare is one over the squared distance of (x, y) from the origin, and
// zero there.
func inverseSquare(b B, x, y Arg) Value {
	square := b.add(b.sq(x), b.sq(y))
	return b.where(b.eq(square, 0.0), scalarLike(square, 0), b.inv(square))
}
