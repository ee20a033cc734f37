package ops

import (
	"tcdbg/ops/sym"
)

// This file holds the activation functions of torch.nn.functional.

// activation is a pointwise function of one tensor and numbers. back may be
// nil: the derivative is then that of the decomposition.
func activation(
	id ID, name, schema string, rule dtypeRule, back func(b B, c *BackwardCall, g Value) Value,
	dec func(b B, c *Call, x Value) Value,
) *Op {
	row := &Op{ID: id, Name: name, Schema: schema, Tags: TagPointwise | TagNN | TagNotMethod, Meta: activationMeta(rule)}
	if back != nil {
		row.Backward = wideBack(unaryBackCall(back))
	}
	if dec != nil {
		row.Decompose = decompF(func(b B, c *Call) Value { return dec(b, c, In[InputArgs](c).Input.Value()) })
	}
	return row
}

// activationMeta keeps the dtype of the first argument: numbers do not promote.
func activationMeta(rule dtypeRule) func(*Call) ([]Result, error) {
	return func(c *Call) ([]Result, error) {
		m := In[InputArgs](c).Input.Meta()
		return pointwiseResult(c.Op, rule, []*TensorMeta{m}, m.DType)
	}
}

func isntFloat(d DType) bool { return !isFloaty(d) }

// floatsOnly refuses integers, as most activations do.
func floatsOnly(op *Op, d DType) (DType, error) { return notFor(isntFloat)(op, d) }

const inplaceArg = inplaceParam + ") -> Tensor"

func activationRows() []*Op {
	return append(append(append(smoothRows(), piecewiseRows()...), clampRows()...), preluRow())
}

func smoothRows() []*Op {
	const selfArg = "(Tensor input" + inplaceArg
	return []*Op{
		geluRow(),
		activation(Silu, "silu", selfArg, floatsOnly, func(b B, c *BackwardCall, g Value) Value {
			x := In[SiluArgs](c.Call).Input.Value()
			s := b.Emit(Sigmoid, x)
			return b.mul(g, b.mul(s, b.add(b.mul(x, b.sub(1, s)), 1)))
		}, func(b B, c *Call, x Value) Value { return b.mul(x, b.Emit(Sigmoid, x)) }).and(TagHasInPlace),
		activation(Mish, "mish", selfArg, floatsOnly, nil, func(b B, c *Call, x Value) Value {
			return b.mul(x, b.Emit(Tanh, b.Emit(Softplus, x)))
		}).and(TagHasInPlace),
		activation(Softplus, "softplus", "(Tensor input, Scalar beta=1, Scalar threshold=20) -> Tensor", floatsOnly,
			func(b B, c *BackwardCall, g Value) Value {
				a := In[SoftplusArgs](c.Call)
				z := b.exp(b.mul(a.Input.Value(), a.Beta.Arg))
				return b.where(b.gt(b.mul(a.Input.Value(), a.Beta.Arg), a.Threshold.Arg), g, b.div(b.mul(g, z), b.add(z, 1)))
			}, func(b B, c *Call, x Value) Value {
				a := In[SoftplusArgs](c)
				bx := b.mul(x, a.Beta.Arg)
				return b.where(b.gt(bx, a.Threshold.Arg), x, b.div(b.Emit(Log1p, b.exp(bx)), a.Beta.Arg))
			}),
		logsigmoidRow(),
		inSteps(Softsign, "softsign", func(b B, x Value) Value { return b.div(x, b.add(b.Emit(Abs, x), 1)) }).and(TagComplex),
		inSteps(Tanhshrink, "tanhshrink", func(b B, x Value) Value { return b.sub(x, b.Emit(Tanh, x)) }).and(TagComplex),
		gluRow(),
	}
}

// logsigmoidRow gives a contiguous result whatever its input's strides are.
func logsigmoidRow() *Op {
	row := activation(Logsigmoid, "logsigmoid", selfOnlyInput, floatsOnly, func(b B, c *BackwardCall, g Value) Value {
		return b.mul(g, b.Emit(Sigmoid, b.neg(In[LogsigmoidArgs](c.Call).Input.Value())))
	}, func(b B, c *Call, x Value) Value {
		low := b.Emit(Minimum, x, b.full(nil, 0, x.TensorMeta()))
		return b.contiguous(b.sub(low, b.Emit(Log1p, b.exp(b.neg(b.Emit(Abs, x))))))
	})
	rule := row.Meta
	row.Meta = func(c *Call) ([]Result, error) {
		a := In[LogsigmoidArgs](c)
		if _, err := rule(c); err != nil {
			return nil, err
		}
		return contiguousLike(a.Input.Meta(), a.Input.Meta().Shape), nil
	}
	return row
}

// inSteps is an activation that is several operators in PyTorch too: half
// precision rounds between.
func inSteps(id ID, name string, f func(b B, x Value) Value) *Op {
	row := activation(id, name, selfOnlyInput, floatType, nil, nil)
	row.Decompose = decomp(func(b B, c *Call) Value { return f(b, In[InputArgs](c).Input.Value()) })
	return row
}

const selfOnlyInput = "(Tensor input) -> Tensor"

func geluRow() *Op {
	const (
		rsqrt2   = 0.7071067811865476
		rsqrt2Pi = 0.3989422804014327
		beta     = 0.7978845608028654 // sqrt(2/pi)
		kappa    = 0.044715
	)
	row := activation(Gelu, "gelu", "(Tensor input, *, str approximate='none') -> Tensor", floatsOnly,
		func(b B, c *BackwardCall, g Value) Value {
			a := In[GeluArgs](c.Call)
			x := a.Input.Value()
			if a.Approximate.Str() == "tanh" {
				x2 := b.sq(x)
				t := b.Emit(Tanh, b.mul(b.mul(x, b.add(b.mul(x2, kappa), 1)), beta))
				left := b.mul(b.add(t, 1), 0.5)
				right := b.mul(b.mul(b.mul(x, 0.5), b.sub(1, b.sq(t))), b.mul(b.add(b.mul(x2, 3*kappa), 1), beta))
				return b.mul(g, b.add(left, right))
			}
			cdf := b.mul(b.add(b.Emit(Erf, b.mul(x, rsqrt2)), 1), 0.5)
			pdf := b.mul(b.exp(b.mul(b.sq(x), -0.5)), rsqrt2Pi)
			return b.mul(g, b.add(cdf, b.mul(x, pdf)))
		}, func(b B, c *Call, x Value) Value {
			if In[GeluArgs](c).Approximate.Str() == "tanh" {
				inner := b.mul(b.add(x, b.mul(b.mul(b.sq(x), x), kappa)), beta)
				return b.mul(b.mul(x, 0.5), b.add(b.Emit(Tanh, inner), 1))
			}
			return b.mul(b.mul(x, 0.5), b.add(b.Emit(Erf, b.mul(x, rsqrt2)), 1))
		})
	base := row.Meta
	row.Meta = func(c *Call) ([]Result, error) {
		if s := In[GeluArgs](c).Approximate.Str(); s != "none" && s != "tanh" {
			return nil, Errorf("approximate argument must be either none or tanh.")
		}
		return base(c)
	}
	return row
}

func gluRow() *Op {
	return &Op{
		ID: Glu, Name: "glu", Schema: "(Tensor input, int dim=-1) -> Tensor", Tags: TagNN | TagNotMethod,
		Meta: func(c *Call) ([]Result, error) {
			a := In[GluArgs](c)
			m := a.Input.Meta()
			if len(m.Shape) == 0 {
				return nil, Errorf("glu does not support 0-dimensional tensors")
			}
			d, err := WrapDim(a.Dim.Int(), len(m.Shape))
			if err != nil {
				return nil, err
			}
			if size := m.Shape[d]; symOdd(size) {
				return nil, Errorf("Halving dimension must be even, but dimension %d is size %s", d, size)
			}
			shape := cloneInts(m.Shape)
			shape[d] = symHalf(shape[d])
			return one(NewMeta(m.DType, m.Device, shape)), nil
		},
		Decompose: decompF(func(b B, c *Call) Value {
			x, gate := gluHalves(b, c)
			return b.mul(x, b.Emit(Sigmoid, gate))
		}),
		Backward: backOf(gluBack),
	}
}

// gluHalves are what is gated and the gate.
func gluHalves(b B, c *Call) (x, gate Value) {
	a := In[GluArgs](c)
	whole := a.Input.Value()
	d, _ := WrapDim(a.Dim.Int(), len(whole.TensorMeta().Shape))
	n := symHalf(whole.TensorMeta().Shape[d])
	return b.slice(whole, d, symZero, n), b.slice(whole, d, n, symEnd)
}

// gluBack rounds the gate before it is used, as PyTorch does.
func gluBack(b B, c *BackwardCall) []Value {
	g := c.Grads[0]
	if g == nil {
		return []Value{nil}
	}
	d := g.TensorMeta().DType
	x, gate := gluHalves(b, c.Call)
	s := b.Emit(Sigmoid, gate)
	wide := func(v Value) Value { return b.cast(v, OpMath(d)) }
	second := b.mul(b.mul(b.mul(b.sub(1, wide(s)), wide(s)), wide(x)), wide(g))
	return []Value{b.Emit(Cat, []Value{b.mul(s, g), b.cast(second, d)}, In[GluArgs](c.Call).Dim.Arg)}
}

func piecewiseRows() []*Op {
	const selfArg = "(Tensor input" + inplaceArg
	relu := unaryRow(Relu, "relu", notBoolCPU, unaryBack(func(b B, g, x, y Value) Value {
		return b.mask(g, b.not(b.le(y, 0))) // NaN lets the gradient through
	}), nil).and(TagHasInPlace)
	return []*Op{
		relu,
		activation(Relu6, "relu6", selfArg, notBoolCPU, nil, func(b B, c *Call, x Value) Value {
			return b.Emit(Hardtanh, x, 0, 6)
		}).and(TagHasInPlace),
		checked(activation(Hardtanh, "hardtanh", "(Tensor input, Scalar min_val=-1.0, Scalar max_val=1.0"+inplaceArg, notBoolCPU,
			func(b B, c *BackwardCall, g Value) Value {
				a := In[HardtanhArgs](c.Call)
				x := a.Input.Value()
				return b.mask(g, b.not(b.or(b.le(x, a.MinVal.Arg), b.ge(x, a.MaxVal.Arg)))) // NaN lets the gradient through
			}, func(b B, c *Call, x Value) Value {
				a := In[HardtanhArgs](c)
				d := x.TensorMeta().DType
				low := a.MinVal.Float()
				if d == Uint8 { // there is nothing below zero
					low = max(low, 0)
				}
				return b.Emit(Clamp, x, scalarOf(d, low), scalarOf(d, a.MaxVal.Float()))
			}).and(TagHasInPlace), func(c *Call) error {
			a := In[HardtanhArgs](c)
			if a.MinVal.Float() > a.MaxVal.Float() {
				return &Error{Kind: "ValueError", Msg: "min_val cannot be greater than max_val"}
			}
			return nil
		}),
		activation(Elu, "elu", "(Tensor input, Scalar alpha=1.0"+inplaceArg, floatsOnly,
			eluBack(1, func(c *Call) float64 { return In[EluArgs](c).Alpha.Float() }, func(*Call) float64 { return 1 }),
			func(b B, c *Call, x Value) Value {
				return b.where(b.gt(x, 0), x, b.mul(b.Emit(Expm1, x), In[EluArgs](c).Alpha.Arg))
			}).and(TagHasInPlace),
		activation(Selu, "selu", selfArg, floatsOnly,
			eluBack(seluScale, func(*Call) float64 { return seluAlpha }, func(*Call) float64 { return 1 }),
			func(b B, c *Call, x Value) Value {
				return b.where(b.gt(x, 0), b.mul(x, seluScale), b.mul(b.Emit(Expm1, x), seluScale*seluAlpha))
			}).and(TagHasInPlace),
		activation(Celu, "celu", "(Tensor input, Scalar alpha=1.0"+inplaceArg, floatsOnly,
			eluBack(1, func(c *Call) float64 { return In[CeluArgs](c).Alpha.Float() },
				func(c *Call) float64 { return 1 / float64(float32(In[CeluArgs](c).Alpha.Float())) }), func(b B, c *Call, x Value) Value {
				a := In[CeluArgs](c)
				return b.where(b.gt(x, 0), x, b.mul(b.Emit(Expm1, b.div(x, a.Alpha.Arg)), a.Alpha.Arg))
			}).and(TagHasInPlace),
		activation(LeakyRelu, "leaky_relu", "(Tensor input, Scalar negative_slope=0.01"+inplaceArg, floatsOnly,
			func(b B, c *BackwardCall, g Value) Value {
				a := In[LeakyReluArgs](c.Call)
				return b.where(b.gt(a.Input.Value(), 0), g, b.mul(g, a.NegativeSlope.Arg))
			}, func(b B, c *Call, x Value) Value {
				return b.where(b.gt(x, 0), x, b.mul(x, In[LeakyReluArgs](c).NegativeSlope.Arg))
			}).and(TagHasInPlace),
		activation(Hardswish, "hardswish", selfArg, floatsOnly, func(b B, c *BackwardCall, g Value) Value {
			x := In[HardswishArgs](c.Call).Input.Value()
			mid := b.mul(g, b.add(b.div(x, 3.0), 0.5))
			return b.where(b.le(x, -3.0), scalarLike(g, 0), b.where(b.lt(x, 3.0), mid, g))
		}, func(b B, c *Call, x Value) Value {
			return b.div(b.mul(x, b.Emit(Clamp, b.add(x, 3), 0.0, 6.0)), 6.0)
		}).and(TagHasInPlace),
		activation(Hardsigmoid, "hardsigmoid", selfArg, floatsOnly, func(b B, c *BackwardCall, g Value) Value {
			x := In[HardsigmoidArgs](c.Call).Input.Value()
			const sixth = float64(float32(1.0 / 6)) // in float64 too
			return b.mask(b.mul(g, sixth), b.and(b.gt(x, -3.0), b.lt(x, 3.0)))
		}, func(b B, c *Call, x Value) Value {
			return b.div(b.Emit(Clamp, b.add(x, 3), 0.0, 6.0), 6.0)
		}).and(TagHasInPlace),
		checked(activation(Softshrink, "softshrink", "(Tensor input, Scalar lambd=0.5) -> Tensor", floatsOnly,
			func(b B, c *BackwardCall, g Value) Value {
				a := In[SoftshrinkArgs](c.Call)
				return b.mask(g, b.not(b.and(b.ge(a.Input.Value(), -a.Lambd.Float()), b.le(a.Input.Value(), a.Lambd.Arg))))
			}, func(b B, c *Call, x Value) Value {
				l := In[SoftshrinkArgs](c).Lambd.Float()
				return b.where(b.gt(x, l), b.sub(x, l), b.where(b.lt(x, -l), b.add(x, l), b.mul(x, 0.0)))
			}), func(c *Call) error {
			a := In[SoftshrinkArgs](c)
			if l := a.Lambd.Float(); !(l >= 0) {
				d := a.Input.Meta().DType
				return Errorf("lambda must be in range [0, %s] for input dtype %s, but found %v", greatestText(d), d.ScalarType(), l)
			}
			return nil
		}),
		activation(Hardshrink, "hardshrink", "(Tensor input, Scalar lambd=0.5) -> Tensor", floatsOnly,
			func(b B, c *BackwardCall, g Value) Value {
				a := In[HardshrinkArgs](c.Call)
				return b.mask(g, b.not(b.and(b.ge(a.Input.Value(), -a.Lambd.Float()), b.le(a.Input.Value(), a.Lambd.Arg))))
			}, func(b B, c *Call, x Value) Value {
				a := In[HardshrinkArgs](c)
				return b.where(b.and(b.ge(x, -a.Lambd.Float()), b.le(x, a.Lambd.Arg)), scalarLike(x, 0), x)
			}),
		activation(Threshold, "threshold", "(Tensor input, Scalar threshold, Scalar value"+inplaceArg, notBoolCPU,
			func(b B, c *BackwardCall, g Value) Value {
				a := In[ThresholdArgs](c.Call)
				return b.mask(g, b.not(b.le(a.Input.Value(), a.Threshold.Arg)))
			},
			func(b B, c *Call, x Value) Value {
				a := In[ThresholdArgs](c)
				return b.where(b.le(x, a.Threshold.Arg), scalarLike(x, a.Value.Float()), x)
			}).and(TagHasInPlace),
	}
}

// checked lets a row refuse arguments before its own rule does.
func checked(row *Op, check func(c *Call) error) *Op {
	rule := row.Meta
	row.Meta = func(c *Call) ([]Result, error) {
		if err := check(c); err != nil {
			return nil, err
		}
		return rule(c)
	}
	return row
}

// greatestText is the greatest number of a floating type with six digits.
func greatestText(d DType) string {
	switch d {
	case Float16:
		return "65504"
	case BFloat16:
		return "3.38953e+38"
	case Float64:
		return "1.79769e+308"
	}
	return "3.40282e+38"
}

const (
	seluAlpha = 1.6732632423543772848170429916717
	seluScale = 1.0507009873554804934193349852946
)

// eluBack is the derivative of scale*(x>0 ? x : alpha*(exp(rate*x)-1)). PyTorch
// takes celu's rate from an alpha of float32.
func eluBack(scale float64, alpha, rate func(*Call) float64) func(b B, c *BackwardCall, g Value) Value {
	return func(b B, c *BackwardCall, g Value) Value {
		x := In[InputArgs](c.Call).Input.Value()
		r := rate(c.Call)
		low := b.mul(b.mul(g, b.exp(b.mul(x, r))), scale*alpha(c.Call)*r)
		return b.where(b.le(x, 0), low, b.mul(g, scale)) // NaN counts as positive
	}
}

func clampRows() []*Op {
	return []*Op{
		{
			ID: Clamp, Name: "clamp", Aliases: []string{"clip"},
			Schema: "(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", Tags: TagPointwise | TagHasInPlace, Meta: clampMeta,
			Backward: unaryBackCall(func(b B, c *BackwardCall, g Value) Value {
				a := In[ClampArgs](c.Call)
				x := a.Self.Value()
				if !a.Min.IsNone() {
					g = b.mask(g, b.gt(x, a.Min.Arg))
				}
				if !a.Max.IsNone() {
					g = b.mask(g, b.lt(x, a.Max.Arg))
				}
				return g
			}),
		},
		{
			ID: ClampTensor, Name: "clamp", Overload: "Tensor", Schema: "(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
			Tags: TagPointwise | TagHasInPlace, Meta: pointwise(notBoolCPU),
			Decompose: decompF(func(b B, c *Call) Value {
				a := In[ClampTensorArgs](c)
				x := a.Self.Value()
				if !a.Min.IsNone() {
					x = b.Emit(Maximum, x, a.Min.Value())
				}
				if !a.Max.IsNone() {
					x = b.Emit(Minimum, x, a.Max.Value())
				}
				return x
			}),
			Backward: pointwiseBack(clampTensorBack),
		},
		clampSide(ClampMin, "clamp_min", "min", Maximum, 0).and(TagHasInPlace),
		clampSide(ClampMax, "clamp_max", "max", Minimum, 1).and(TagHasInPlace),
	}
}

func clampMeta(c *Call) ([]Result, error) {
	a := In[ClampArgs](c)
	if a.Min.IsNone() && a.Max.IsNone() {
		return nil, Errorf("torch.clamp: At least one of 'min' or 'max' must not be None")
	}
	m := a.Self.Meta()
	return pointwiseResult(c.Op, notBoolCPU, []*TensorMeta{m}, ResultType(c.Args...))
}

// clampTensorBack: with one bound a clamp is a maximum or minimum. With two, a
// value on a bound shares its gradient with that bound, unless both bounds are
// there, when it keeps it; crossed bounds leave everything to the upper one. A
// bound that is NaN takes nothing, a value that is NaN keeps its gradient.
func clampTensorBack(b B, c *BackwardCall, g Value, i int) Value {
	a := In[ClampTensorArgs](c.Call)
	x, lo, hi := a.Self.Value(), a.Min.Value(), a.Max.Value()
	switch {
	case hi == nil:
		return extremumShare(b, g, []Value{x, lo}, i, B.lt)
	case lo == nil:
		return extremumShare(b, g, []Value{x, nil, hi}, i, B.gt)
	}
	half := b.mul(g, 0.5)
	switch i {
	case 0:
		out := b.or(b.lt(x, lo), b.gt(x, hi))
		edge := b.and(b.or(b.eq(x, lo), b.eq(x, hi)), b.lt(lo, hi))
		return b.where(out, scalarLike(g, 0), b.where(edge, half, g))
	case 1:
		share := b.where(b.lt(x, lo), g, b.where(b.and(b.eq(x, lo), b.lt(lo, hi)), half, scalarLike(g, 0)))
		return b.mask(share, b.le(lo, hi))
	}
	share := b.where(b.gt(x, hi), g, b.where(b.and(b.eq(x, hi), b.lt(lo, hi)), half, scalarLike(g, 0)))
	return b.where(b.gt(lo, hi), g, b.mask(share, b.le(lo, hi)))
}

// extremumShare is the gradient of operand i of a maximum (less is B.lt) or
// minimum (B.gt) of the operands that are not nil: equal ones share it.
func extremumShare(b B, g Value, operands []Value, i int, less func(b B, x, y Arg) Value) Value {
	x, other := operands[i], Value(nil)
	for j, v := range operands {
		if j != i && v != nil {
			other = v
		}
	}
	half := b.where(b.eq(x, other), b.mul(g, 0.5), g)
	return b.where(less(b, x, other), scalarLike(g, 0), half)
}

// clampSide is clamp with one bound, a number or a tensor.
func clampSide(id ID, name, arg string, extremum ID, side int) *Op {
	outside, inside := B.lt, B.gt
	if side == 1 {
		outside, inside = B.gt, B.lt
	}
	return &Op{
		ID: id, Name: name, Schema: "(Tensor self, Operand " + arg + ") -> Tensor", Tags: TagPointwise, Meta: pointwise(keepType),
		Decompose: decompF(func(b B, c *Call) Value {
			a, bound := In[SelfArgs](c), named[TensorArg](c, arg)
			if v := bound.Value(); v != nil {
				return b.Emit(extremum, a.Self.Value(), v)
			}
			if a.Self.Meta().DType == Bool {
				return b.Emit(extremum, a.Self.Value(), b.full(nil, bound.Arg, NewMeta(scalarDType(bound.Arg), CPU, nil)))
			}
			if side == 0 {
				return b.Emit(Clamp, a.Self.Value(), bound.Arg)
			}
			return b.Emit(Clamp, a.Self.Value(), nil, bound.Arg)
		}),
		Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
			a, bound := In[SelfArgs](c.Call), named[TensorArg](c.Call, arg)
			if bound.Value() == nil {
				return b.mask(g, inside(b, a.Self.Value(), bound.Arg))
			}
			return extremumShare(b, g, []Value{a.Self.Value(), bound.Value()}, i, outside)
		}),
	}
}

// checkPrelu refuses slopes that are neither one nor one for each channel.
func checkPrelu(x, w *TensorMeta) error {
	if n := len(w.Shape); n > 1 {
		return Errorf("prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d", n)
	}
	slopes := numel(w.Shape)
	if sym.Is(slopes, 1) {
		return nil
	}
	if len(x.Shape) == 0 {
		return Errorf("Not allow zero-dim input tensor.")
	}
	channels := symOne
	if len(x.Shape) > 1 {
		channels = x.Shape[1]
	}
	if sym.Ne(slopes, channels) {
		return Errorf(
			"Mismatch of parameter numbers and input channel size. Found parameter numbers = %s and channel size = %s.",
			slopes, channels,
		)
	}
	return nil
}

func preluRow() *Op {
	return composite(Prelu, "prelu", "(Tensor input, Tensor weight) -> Tensor", TagNN|TagNotMethod, func(b B, c *Call) Value {
		a := In[PreluArgs](c)
		x, w := a.Input.Value(), a.Weight.Value()
		refuse(checkPrelu(a.Input.Meta(), a.Weight.Meta()))
		if n := len(a.Input.Meta().Shape); n > 1 && len(a.Weight.Meta().Shape) == 1 {
			w = perChannel(b, w, n)
		} else if n == 0 && len(a.Weight.Meta().Shape) == 1 {
			w = b.reshape(w)
		}
		return b.where(b.gt(x, 0), x, b.mul(w, x))
	})
}
