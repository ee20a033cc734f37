package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds the pointwise operators of one tensor.

// dtypeRule gives the result dtype of a pointwise operator from the promoted
// dtype of its operands, or refuses it.
type dtypeRule func(op *Op, d DType) (DType, error)

func keepType(_ *Op, d DType) (DType, error)  { return d, nil }
func floatType(_ *Op, d DType) (DType, error) { return FloatType(d), nil }
func boolType(*Op, DType) (DType, error)      { return Bool, nil }

// notFor refuses dtypes in the words of PyTorch's dispatch macros.
func notFor(bad func(DType) bool) dtypeRule {
	return func(op *Op, d DType) (DType, error) {
		if bad(d) {
			return 0, &Error{Kind: "NotImplementedError", Msg: `"` + op.Name + `_cpu" not implemented for '` + d.ScalarType() + "'"}
		}
		return d, nil
	}
}

func isBool(d DType) bool   { return d == Bool }
func isFloaty(d DType) bool { return d.IsFloat() || d.IsComplex() }

// pointwise makes the Meta of a pointwise operator: all tensor and number
// operands take part in promotion and broadcasting.
func pointwise(rule dtypeRule) func(*Call) ([]Result, error) {
	return func(c *Call) ([]Result, error) {
		var buf [4]*TensorMeta
		ins := buf[:0]
		var ops [4]Arg
		n := 0
		params := c.Op.Params()
		for i := range params {
			if !params[i].IsTensor() || c.Args[i] == nil {
				continue
			}
			ops[n] = c.Args[i]
			n++
			if m := MetaOf(c.Args[i]); m != nil {
				ins = append(ins, m)
			}
		}
		return pointwiseResult(c.Op, rule, ins, ResultType(ops[:n]...))
	}
}

func pointwiseResult(op *Op, rule dtypeRule, ins []*TensorMeta, promoted DType) ([]Result, error) {
	d, err := rule(op, promoted)
	if err != nil {
		return nil, err
	}
	if len(ins) == 0 {
		return nil, Errorf("%s(): expected at least one Tensor argument", op.Name)
	}
	shape := ins[0].Shape
	for _, m := range ins[1:] {
		if shape, err = broadcast2(shape, m.Shape); err != nil {
			return nil, err
		}
	}
	return one(&TensorMeta{DType: d, Device: deviceOf(ins), Shape: shape, Stride: ElementwiseStrides(shape, ins)}), nil
}

// deviceOf is the common device: 0-dim CPU tensors go along with any.
func deviceOf(ins []*TensorMeta) Device {
	for _, m := range ins {
		if m.Device != CPU {
			return m.Device
		}
	}
	return CPU
}

const selfOnly = "(Tensor self) -> Tensor"

type backFn = func(Builder, *BackwardCall) []Value

func unaryRow(id ID, name string, rule dtypeRule, back backFn, dec func(b B, x Value) Value) *Op {
	row := &Op{ID: id, Name: name, Schema: selfOnly, Tags: TagPointwise, Meta: pointwise(rule), Backward: back}
	if back == nil {
		row.Tags |= TagNoGrad
	}
	if dec != nil {
		row.Decompose = decompF(func(b B, c *Call) Value { return dec(b, floated(b, rule, In[SelfArgs](c).Self.Value())) })
	}
	return row
}

// floated converts integers to float32 where the operator computes in floats.
func floated(b B, rule dtypeRule, x Value) Value {
	d := x.TensorMeta().DType
	if r, err := rule(nil, d); err == nil && r.IsFloat() && !d.IsFloat() {
		return b.cast(x, r)
	}
	return x
}

func zeroBack() backFn {
	return unaryBack(func(b B, g, x, y Value) Value { return b.zeros(g.TensorMeta()) })
}

func unaryRows() []*Op {
	return append(append(transcendentalRows(), roundingRows()...), predicateRows()...)
}

func transcendentalRows() []*Op {
	const (
		ln2       = 0.6931471805599453
		ln10      = 2.302585092994046
		twoSqrtPi = 1.1283791670955126
	)
	return []*Op{
		unaryRow(Abs, "abs", toReal(notBoolCPU), unaryBack(func(b B, g, x, y Value) Value {
			if x.TensorMeta().DType.IsComplex() {
				return b.mul(g, b.sgn(x))
			}
			return b.mul(g, b.Emit(Sign, x))
		}), nil).and(TagHasInPlace | TagComplex | TagComplexGrad).named("absolute"),
		unaryRow(Neg, "neg", notBool(
			"Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "+
				"use the `~` or `logical_not()` operator instead.",
		),
			unaryBack(func(b B, g, x, y Value) Value { return b.neg(g) }), nil).and(TagHasInPlace | TagComplex).named("negative"),
		unaryRow(Exp, "exp", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.mul(g, y) }),
			nil).and(TagHasInPlace | TagComplex),
		unaryRow(Exp2, "exp2", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.mul(b.mul(g, y), ln2) }),
			nil).and(TagHasInPlace | TagComplex),
		unaryRow(Expm1, "expm1", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.mul(g, b.add(y, 1)) }),
			nil).and(TagHasInPlace | TagComplex),
		unaryRow(Log, "log", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.div(g, x) }),
			nil).and(TagHasInPlace | TagComplex),
		unaryRow(Log2, "log2", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.div(g, b.mul(x, ln2)) }),
			nil).and(TagHasInPlace | TagComplex),
		unaryRow(Log10, "log10", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.div(g, b.mul(x, ln10)) }),
			nil).and(TagHasInPlace | TagComplex),
		unaryRow(Log1p, "log1p", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.div(g, b.add(x, 1)) }),
			nil).and(TagHasInPlace | TagComplex),
		unaryRow(Sqrt, "sqrt", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.div(g, b.mul(y, 2)) }),
			nil).and(TagHasInPlace | TagComplex),
		unaryRow(Rsqrt, "rsqrt", floatType, unaryBack(func(b B, g, x, y Value) Value {
			return b.mul(b.mul(g, -0.5), b.pow(y, 3))
		}), nil).and(TagHasInPlace | TagComplex),
		unaryRow(Square, "square", squareType, unaryBack(func(b B, g, x, y Value) Value { return b.mul(g, b.mul(x, 2)) }),
			func(b B, x Value) Value { return b.pow(x, 2) }).and(TagHasInPlace | TagComplex),
		unaryRow(Reciprocal, "reciprocal", floatType,
			unaryBack(func(b B, g, x, y Value) Value { return b.neg(b.mul(g, b.sq(y))) }), nil).and(TagHasInPlace | TagComplex),
		unaryRow(Sin, "sin", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.mul(g, b.Emit(Cos, x)) }),
			nil).and(TagHasInPlace | TagComplex),
		unaryRow(Cos, "cos", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.mul(g, b.neg(b.Emit(Sin, x))) }),
			nil).and(TagHasInPlace | TagComplex),
		unaryRow(Tan, "tan", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.mul(g, b.add(b.sq(y), 1)) }),
			nil).and(TagHasInPlace | TagComplex),
		unaryRow(Asin, "asin", floatType, unaryBack(func(b B, g, x, y Value) Value {
			return b.mul(g, b.Emit(Rsqrt, b.sub(1, b.sq(x))))
		}), nil).and(TagHasInPlace | TagComplex).named("arcsin"),
		unaryRow(Acos, "acos", floatType, unaryBack(func(b B, g, x, y Value) Value {
			return b.neg(b.mul(g, b.Emit(Rsqrt, b.sub(1, b.sq(x)))))
		}), nil).and(TagHasInPlace | TagComplex).named("arccos"),
		unaryRow(Atan, "atan", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.div(g, b.add(b.sq(x), 1)) }),
			nil).and(TagHasInPlace | TagComplex).named("arctan"),
		unaryRow(Sinh, "sinh", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.mul(g, b.Emit(Cosh, x)) }),
			nil).and(TagHasInPlace | TagComplex),
		unaryRow(Cosh, "cosh", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.mul(g, b.Emit(Sinh, x)) }),
			nil).and(TagHasInPlace | TagComplex),
		unaryRow(Asinh, "asinh", floatType, unaryBack(func(b B, g, x, y Value) Value {
			return b.mul(g, b.Emit(Rsqrt, b.add(b.sq(x), 1)))
		}), nil).and(TagHasInPlace | TagComplex).named("arcsinh"),
		unaryRow(Acosh, "acosh", floatType, unaryBack(func(b B, g, x, y Value) Value {
			if g.TensorMeta().DType.IsComplex() { // one root would leave the branch
				return b.mul(g, b.mul(b.Emit(Rsqrt, b.sub(x, 1)), b.Emit(Rsqrt, b.add(x, 1))))
			}
			return b.mul(g, b.Emit(Rsqrt, b.sub(b.sq(x), 1)))
		}), nil).and(TagHasInPlace | TagComplex).named("arccosh"),
		unaryRow(Atanh, "atanh", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.div(g, b.sub(1, b.sq(x))) }),
			nil).and(TagHasInPlace | TagComplex).named("arctanh"),
		unaryRow(Tanh, "tanh", floatType, wideBack(unaryBack(func(b B, g, x, y Value) Value {
			return b.mul(g, b.sub(1, b.sq(y)))
		})), nil).and(TagHasInPlace | TagComplex),
		unaryRow(Sigmoid, "sigmoid", floatType, wideBack(unaryBack(func(b B, g, x, y Value) Value {
			return b.mul(g, b.mul(y, b.sub(1, y)))
		})), nil).and(TagHasInPlace | TagComplex),
		logitRow(),
		unaryRow(Erf, "erf", floatType, unaryBack(func(b B, g, x, y Value) Value {
			return b.mul(g, b.mul(b.exp(b.neg(b.sq(x))), twoSqrtPi))
		}), nil).and(TagHasInPlace),
		unaryRow(Erfc, "erfc", floatType, unaryBack(func(b B, g, x, y Value) Value {
			return b.mul(g, b.mul(b.exp(b.neg(b.sq(x))), -twoSqrtPi))
		}), nil).and(TagHasInPlace),
		unaryRow(Erfinv, "erfinv", floatType, unaryBack(func(b B, g, x, y Value) Value {
			return b.mul(g, b.mul(b.exp(b.sq(y)), 1/twoSqrtPi))
		}), nil).and(TagHasInPlace),
		unaryRow(Lgamma, "lgamma", floatType, unaryBack(func(b B, g, x, y Value) Value { return b.mul(g, b.Emit(Digamma, x)) }),
			nil).and(TagHasInPlace),
		unaryRow(Digamma, "digamma", floatType, unaryBack(func(b B, g, x, y Value) Value {
			return b.mul(g, b.Emit(Polygamma, 1, x))
		}), nil).and(TagHasInPlace),
		{
			ID: Polygamma, Name: "polygamma", Schema: "(int n, Tensor self) -> Tensor", Tags: TagPointwise | TagNotMethod | TagHasInPlace,
			Meta: func(c *Call) ([]Result, error) {
				a := In[PolygammaArgs](c)
				if sym.Lt(a.N.Int(), symZero) {
					return nil, Errorf("polygamma(n, x) does not support negative n.")
				}
				m := a.Self.Meta()
				return pointwiseResult(c.Op, floatType, []*TensorMeta{m}, m.DType)
			},
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, _ int) Value {
				a := In[PolygammaArgs](c.Call)
				return b.mul(g, b.Emit(Polygamma, sym.Add(a.N.Int(), symOne), a.Self.Value()))
			}),
		},
	}
}

func notBool(msg string) dtypeRule {
	return func(_ *Op, d DType) (DType, error) {
		if d == Bool {
			return 0, Errorf("%s", msg)
		}
		return d, nil
	}
}

// squareType: squares are powers, and a power of bools counts in int64.
func squareType(_ *Op, d DType) (DType, error) {
	if d == Bool {
		return Int64, nil
	}
	return d, nil
}

func logitRow() *Op {
	// A bound below zero is none.
	bounded := func(c *Call) bool {
		a := In[LogitArgs](c)
		return !a.Eps.IsNone() && a.Eps.Float() >= 0
	}
	return &Op{
		ID: Logit, Name: "logit", Schema: "(Tensor self, float? eps=None) -> Tensor", Tags: TagPointwise | TagHasInPlace,
		Meta: pointwise(floatType),
		Decompose: decomp(func(b B, c *Call) Value {
			a := In[LogitArgs](c)
			x := floated(b, floatType, a.Self.Value())
			if bounded(c) {
				x = b.where(b.lt(x, a.Eps.Arg), a.Eps.Arg, b.where(b.gt(x, 1-a.Eps.Float()), 1-a.Eps.Float(), x))
			}
			return b.log(b.div(x, b.sub(1, x)))
		}),
		Backward: unaryBackCall(func(b B, c *BackwardCall, g Value) Value {
			a := In[LogitArgs](c.Call)
			x, low, outside := a.Self.Value(), 0.0, math.NaN()
			if bounded(c.Call) {
				low, outside = a.Eps.Float(), 0
			}
			d := b.div(g, b.mul(x, b.sub(1, x)))
			return b.where(b.or(b.lt(x, low), b.gt(x, 1-low)), scalarLike(d, outside), d)
		}),
	}
}

// unaryBackCall is unaryBack for operators with more arguments.
func unaryBackCall(f func(b B, c *BackwardCall, g Value) Value) backFn {
	return pointwiseBack(func(b B, c *BackwardCall, g Value, _ int) Value { return f(b, c, g) })
}

func roundingRows() []*Op {
	rows := []*Op{
		unaryRow(Sign, "sign", keepType, zeroBack(), nil).and(TagHasInPlace),
		unaryRow(Floor, "floor", notBoolCPU, zeroBack(), nil).and(TagHasInPlace),
		unaryRow(Ceil, "ceil", notBoolCPU, zeroBack(), nil).and(TagHasInPlace),
		{
			ID: Round, Name: "round", Schema: "(Tensor self, *, int decimals=0) -> Tensor", Tags: TagPointwise | TagHasInPlace,
			Meta: pointwise(notBoolCPU), Backward: zeroBack(),
		},
		unaryRow(Trunc, "trunc", notBoolCPU, zeroBack(), nil).and(TagHasInPlace).named("fix"),
		unaryRow(Frac, "frac", floatsOnly, unaryBack(func(b B, g, x, y Value) Value { return g }),
			func(b B, x Value) Value { return b.sub(x, b.Emit(Trunc, x)) }).and(TagHasInPlace),
	}
	return rows
}

func notBoolCPU(op *Op, d DType) (DType, error) { return notFor(isBool)(op, d) }

func predicateRows() []*Op {
	return []*Op{
		unaryRow(Isnan, "isnan", boolType, nil, nil).and(TagComplex),
		unaryRow(Isinf, "isinf", boolType, nil, nil).and(TagComplex),
		unaryRow(Isfinite, "isfinite", boolType, nil, nil).and(TagComplex),
		unaryRow(LogicalNot, "logical_not", boolType, nil, nil).and(TagHasInPlace | TagComplex),
		unaryRow(BitwiseNot, "bitwise_not", notFor(isFloaty), nil, nil).and(TagHasInPlace),
		{
			ID: NanToNum, Name: "nan_to_num", Tags: TagPointwise | TagHasInPlace, Meta: pointwise(keepType),
			Schema: "(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
			Backward: unaryBack(func(b B, g, x, y Value) Value {
				return b.mask(g, b.Emit(Isfinite, x))
			}),
		},
	}
}
