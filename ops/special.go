package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds the special functions, with those of Bessel and the orthogonal
// polynomials, and the rarer pointwise operators.

func specialRows() []*Op {
	return append(append(specialUnaryRows(), specialPairRows()...), testRows()...)
}

func specialUnaryRows() []*Op {
	scaled := func(k float64) func(b B, x Value) Value {
		return func(b B, x Value) Value { return b.mul(x, k) }
	}
	linear := func(id ID, name string, k float64) *Op {
		return unaryRow(id, name, floatType, unaryBack(func(b B, g, x, y Value) Value { return b.mul(g, k) }), scaled(k))
	}
	special := func(id ID, name string, back func(b B, g, x, y Value) Value, dec func(b B, x Value) Value) *Op {
		var bk backFn
		if back != nil {
			bk = unaryBack(back)
		}
		row := unaryRow(id, name, floatType, bk, dec)
		row.Tags |= TagNotMethod
		return row
	}
	return []*Op{
		linear(Deg2rad, "deg2rad", math.Pi/180).and(TagHasInPlace), linear(Rad2deg, "rad2deg", 180/math.Pi).and(TagHasInPlace),
		unaryRow(Sinc, "sinc", floatType, unaryBack(func(b B, g, x, y Value) Value {
			px, pxx := b.mul(x, math.Pi), b.mul(b.sq(x), math.Pi)
			d := b.mul(g, b.div(b.sub(b.mul(px, b.Emit(Cos, px)), b.Emit(Sin, px)), pxx))
			return b.where(b.eq(pxx, 0.0), scalarLike(d, 0), d)
		}), func(b B, x Value) Value {
			px := b.mul(x, math.Pi)
			return b.where(b.eq(x, 0.0), 1.0, b.div(b.Emit(Sin, px), px))
		}).and(TagHasInPlace | TagComplex),
		composite(Positive, "positive", selfOnly, TagView, func(b B, c *Call) Value {
			a := In[PositiveArgs](c)
			if a.Self.Meta().DType == Bool {
				refuse(Errorf("The `+` operator, on a bool tensor is not supported."))
			}
			return b.Emit(Alias, a.Self.Value())
		}).and(TagComplex),
		composite(Sgn, "sgn", selfOnly, TagPointwise, func(b B, c *Call) Value {
			a := In[SgnArgs](c)
			if a.Self.Meta().DType.IsComplex() {
				return b.sgn(a.Self.Value())
			}
			return b.Emit(Sign, a.Self.Value())
		}).and(TagHasInPlace | TagComplex),
		unaryRow(Signbit, "signbit", boolType, nil, nil),
		composite(Isposinf, "isposinf", selfOnly, TagPointwise|TagNoGrad, func(b B, c *Call) Value { return isInfinite(b, c, 1) }),
		composite(Isneginf, "isneginf", selfOnly, TagPointwise|TagNoGrad, func(b B, c *Call) Value { return isInfinite(b, c, -1) }),
		composite(Isreal, "isreal", selfOnly, TagPointwise|TagNoGrad, func(b B, c *Call) Value {
			a := In[IsrealArgs](c)
			if a.Self.Meta().DType.IsComplex() {
				return b.eq(complexPart(b, a.Self.Value(), 1), 0.0)
			}
			return b.Emit(OnesLike, a.Self.Value(), Bool)
		}).and(TagComplex),
		special(I0, "i0", func(b B, g, x, y Value) Value { return b.mul(g, b.Emit(I1, x)) }, nil).and(TagHasInPlace),
		special(I0e, "special.i0e", func(b B, g, x, y Value) Value {
			return b.mul(g, b.sub(b.Emit(I1e, x), b.mul(b.Emit(Sign, x), y)))
		}, nil),
		special(I1, "special.i1", func(b B, g, x, y Value) Value {
			return b.mul(g, b.where(b.eq(x, 0.0), 0.5, b.sub(b.Emit(I0, x), b.div(y, x))))
		}, nil),
		special(I1e, "special.i1e", func(b B, g, x, y Value) Value {
			d := b.sub(b.Emit(I0e, x), b.mul(y, b.add(b.Emit(Sign, x), b.inv(x))))
			return b.mul(g, b.where(b.eq(x, 0.0), 0.5, d))
		}, nil),
		ndtrRow(special),
		special(LogNdtr, "special.log_ndtr", func(b B, g, x, y Value) Value {
			return b.mul(b.div(g, math.Sqrt(2*math.Pi)), b.exp(b.neg(b.add(y, b.div(b.sq(x), 2)))))
		}, nil),
		special(Ndtri, "special.ndtri", func(b B, g, x, y Value) Value {
			return b.mul(g, b.mul(b.exp(b.mul(b.sq(y), 0.5)), math.Sqrt(2*math.Pi)))
		}, ndtri),
		special(Entr, "special.entr", func(b B, g, x, y Value) Value {
			return b.mul(g, b.sub(b.neg(b.log(x)), 1))
		}, func(b B, x Value) Value {
			inner := b.where(b.gt(x, 0.0), b.neg(b.mul(x, b.log(x))), b.where(b.eq(x, 0.0), 0.0, math.Inf(-1)))
			return b.where(b.Emit(Isnan, x), x, inner)
		}),
		special(Erfcx, "special.erfcx", func(b B, g, x, y Value) Value {
			return b.mul(g, b.sub(b.mul(b.mul(x, y), 2.0), 2/math.Sqrt(math.Pi)))
		}, nil),
		composite(Mvlgamma, "mvlgamma", "(Tensor self, int p) -> Tensor", TagPointwise, func(b B, c *Call) Value {
			a := In[MvlgammaArgs](c)
			p := a.P.Num()
			if p < 1 {
				refuse(Errorf("p has to be greater than or equal to 1"))
			}
			x := floated(b, floatType, a.Self.Value())
			d := x.TensorMeta().DType
			steps := b.cast(b.mul(b.cast(b.arange(sym.C(p), x.TensorMeta()), Float64), 0.5), d)
			args := b.add(b.unsqueeze(x, -1), b.sub(steps, float64(p-1)/2))
			return b.Emit(Contiguous, b.add(b.sum(b.Emit(Lgamma, args), false, -1), float64(p*(p-1))/4*math.Log(math.Pi)))
		}).and(TagHasInPlace),
	}
}

// ndtrRow is the distribution of a normal variable. Half precision rounds between
// PyTorch's steps; elsewhere the lower tail keeps its digits.
func ndtrRow(special func(id ID, name string, back func(b B, g, x, y Value) Value, dec func(b B, x Value) Value) *Op) *Op {
	const (
		rsqrt2    = 0.7071067811865476
		twoSqrtPi = 1.1283791670955126
	)
	row := special(Ndtr, "special.ndtr", func(b B, g, x, y Value) Value {
		if d := g.TensorMeta().DType; OpMath(d) != d {
			slope := b.mul(b.exp(b.neg(b.sq(b.mul(x, rsqrt2)))), twoSqrtPi)
			return b.mul(b.mul(b.mul(g, 0.5), slope), rsqrt2)
		}
		return b.mul(g, b.mul(b.exp(b.mul(b.sq(x), -0.5)), 0.3989422804014327))
	}, nil)
	row.Decompose = decomp(func(b B, c *Call) Value {
		x := floated(b, floatType, In[SelfArgs](c).Self.Value())
		if d := x.TensorMeta().DType; OpMath(d) != d {
			return b.mul(b.add(b.Emit(Erf, b.mul(x, rsqrt2)), 1), 0.5)
		}
		return b.mul(b.Emit(Erfc, b.mul(x, -rsqrt2)), 0.5)
	})
	return row
}

// ndtri is the inverse of ndtr: of the lower half, which keeps its digits, with the
// other sign above. From erfinv, or near 0 from the asymptotic form, Newton's
// method leads to the logarithm of the probability.
func ndtri(b B, x Value) Value {
	const halfLog2Pi = 0.9189385332046727
	d := x.TensorMeta().DType
	wide := b.cast(x, Float64)
	low := b.where(b.gt(wide, 0.5), b.sub(1.0, wide), wide)
	near := b.mul(b.Emit(Erfinv, b.sub(b.mul(b.Emit(ClampMin, low, 0.1), 2.0), 1.0)), math.Sqrt2)

	inside := b.Emit(Clamp, low, 1e-310, 0.1)
	log := b.log(inside)
	s := b.sqrt(b.mul(log, -2.0))
	y := b.sub(b.div(b.add(b.log(s), halfLog2Pi), s), s)
	for range 4 {
		p := b.Emit(LogNdtr, y)
		slope := b.exp(b.sub(b.mul(b.sq(y), -0.5), b.add(p, halfLog2Pi)))
		y = b.sub(y, b.div(b.sub(p, log), slope))
	}
	y = b.where(b.lt(low, 0.1), y, near)
	y = b.where(b.eq(low, 0.0), math.Inf(-1), b.where(b.lt(low, 0.0), math.NaN(), y))
	return b.cast(b.where(b.gt(wide, 0.5), b.neg(y), y), d)
}

func isInfinite(b B, c *Call, sign int) Value {
	x := In[SelfArgs](c).Self.Value()
	if !x.TensorMeta().DType.IsFloat() {
		return b.Emit(ZerosLike, x, Bool)
	}
	return b.eq(x, math.Inf(sign))
}

func specialPairRows() []*Op {
	xlog := func(id ID, name string, log ID, back func(b B, x, y Arg) Value) *Op {
		return binaryRow(id, name, twoOperands, floatType, pairBack(
			func(b B, g Value, x, y Arg, _ Value) Value {
				l := b.Emit(log, b.cast(tensorOf(b, y, g), g.TensorMeta().DType))
				return b.mul(
					g,
					b.where(b.and(b.eq(x, 0.0), b.le(tensorOf(b, y, g), map[ID]float64{Log: 0, Log1p: -1}[log])), scalarLike(l, 0), l),
				)
			},
			func(b B, g Value, x, y Arg, _ Value) Value { return back(b, b.mul(g, x), y) }),
			nil)
	}
	// fmax and fmin: equal operands share the gradient, a NaN gets none beside a
	// number; of two the first gets it.
	pick := func(id ID, name string, prefer func(b B, x, y Arg) Value) *Op {
		return binaryRow(id, name, twoTensors, keepType, pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
			a := In[SelfOtherArgs](c.Call)
			x, y := a.Self.Value(), a.Other.Value()
			first := b.or(prefer(b, x, y), b.ne(y, y))
			if i == 1 {
				first = b.not(first)
			}
			return b.where(b.eq(x, y), b.mul(g, 0.5), b.mask(g, first))
		}), nil)
	}
	rows := []*Op{
		xlog(Xlogy, "xlogy", Log, func(b B, x, y Arg) Value { return b.div(x, y) }).and(TagHasInPlace),
		xlog(Xlog1py, "special.xlog1py", Log1p, func(b B, x, y Arg) Value { return b.div(x, b.add(y, 1)) }),
		pick(Fmax, "fmax", B.gt), pick(Fmin, "fmin", B.lt),
		binaryRow(Nextafter, "nextafter", twoTensors, floatsOnly, nil, nil).and(TagHasInPlace),
		checked(binaryRow(Heaviside, "heaviside", twoTensors, keepType, nil, func(b B, x, y Arg) Value {
			d := x.(Value).TensorMeta().DType
			return b.where(b.eq(x, 0), y, b.cast(b.gt(x, 0), d))
		}).and(TagHasInPlace), func(c *Call) error {
			a := In[SelfOtherArgs](c)
			if a.Self.Meta().DType != a.Other.Meta().DType {
				return Errorf("heaviside is not yet implemented for tensors with different dtypes.")
			}
			return nil
		}),
		binaryRow(Gcd, "gcd", twoTensors, notFor(isntIntOnly), nil, nil).and(TagHasInPlace),
		binaryRow(Lcm, "lcm", twoTensors, notFor(isntIntOnly), nil, nil).and(TagHasInPlace),
		binaryRow(Igamma, "igamma", twoTensors, floatType, nil, nil).and(TagHasInPlace),
		binaryRow(Igammac, "igammac", twoTensors, floatType, nil, nil).and(TagHasInPlace),
		binaryRow(Zeta, "special.zeta", tensorOperand, floatType, pairBack(
			func(b B, g Value, x, y Arg, _ Value) Value {
				refuse(Errorf("special.zeta is not differentiable in its first argument"))
				return nil
			},
			func(b B, g Value, x, y Arg, _ Value) Value {
				return b.neg(b.mul(g, b.mul(x, b.Emit(Zeta, b.add(x, 1.0), y))))
			}), nil),
		binaryRow(Logaddexp2, "logaddexp2", twoTensors, floatsOnly, pairBack(
			func(b B, g Value, x, y Arg, _ Value) Value { return b.div(g, b.add(b.Emit(Exp2, b.sub(y, x)), 1)) },
			func(b B, g Value, x, y Arg, _ Value) Value { return b.div(g, b.add(b.Emit(Exp2, b.sub(x, y)), 1)) }), nil),
		composite(FloatPower, "float_power", "(Operand self, Operand exponent) -> Tensor", TagPointwise, func(b B, c *Call) Value {
			in := In[FloatPowerArgs](c)
			wide := func(a Arg) Arg {
				if MetaOf(a) != nil {
					return b.cast(a.(Value), Float64)
				}
				return NumberOf(a)
			}
			return b.pow(wide(in.Self.Arg), wide(in.Exponent.Arg))
		}).and(TagHasInPlace),
		ldexpRow(),
	}
	for _, r := range rows {
		if r.ID == Zeta || r.ID == Xlog1py {
			r.Tags |= TagNotMethod
		}
	}
	rows[len(rows)-4].Schema = twoOperands
	return rows
}

// ldexpRow has a derivative of its own: PyTorch takes that of other from the result.
func ldexpRow() *Op {
	row := composite(Ldexp, "ldexp", "(Tensor self, Tensor other) -> Tensor", TagPointwise, func(b B, c *Call) Value {
		a := In[LdexpArgs](c)
		out := b.mul(a.Self.Value(), b.pow(2.0, a.Other.Value()))
		if x := a.Self.Meta().DType; x.IsFloat() && !isFloaty(a.Other.Meta().DType) { // whole exponents leave x its type
			return b.cast(out, x)
		}
		return out
	}).and(TagHasInPlace | TagComplex)
	row.Backward = pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
		if i == 0 {
			return b.mul(g, b.pow(2.0, In[LdexpArgs](c.Call).Other.Value()))
		}
		return b.mul(b.mul(g, c.Outs[0]), math.Ln2)
	})
	return row
}

// tensorOf makes a number a 0-dim tensor of like's dtype.
func tensorOf(b B, a Arg, like Value) Value {
	if MetaOf(a) != nil {
		return a.(Value)
	}
	return b.full(nil, NumberOf(a), NewMeta(like.TensorMeta().DType, CPU, nil))
}

func testRows() []*Op {
	const schema = "(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor"
	isclose := func(b B, c *Call) Value {
		a := In[IscloseArgs](c)
		x, y := a.Self.Value(), a.Other.Value()
		d := a.Self.Meta().DType
		if other := a.Other.Meta().DType; d != other {
			refuse(Errorf("%s did not match %s", d.ScalarType(), other.ScalarType()))
		}
		if a.Rtol.Float() < 0 || a.Atol.Float() < 0 {
			refuse(Errorf("rtol and atol must be greater than or equal to zero, but got %v and %v", a.Rtol.Float(), a.Atol.Float()))
		}
		close := b.eq(x, y)
		if a.EqualNan.Bool() && d.IsFloat() {
			close = b.or(close, b.and(b.Emit(Isnan, x), b.Emit(Isnan, y)))
		}
		if a.Rtol.Float() == 0 && a.Atol.Float() == 0 {
			return close
		}
		wide := func(v Value) Value {
			if d.IsFloat() {
				return v
			}
			return b.cast(v, Float64)
		}
		x, y = wide(x), wide(y)
		allowed := b.add(b.Emit(Abs, b.mul(y, a.Rtol.Arg)), a.Atol.Arg)
		diff := b.Emit(Abs, b.sub(x, y))
		return b.or(close, b.and(b.Emit(Isfinite, diff), b.le(diff, allowed)))
	}
	return []*Op{
		composite(Isclose, "isclose", schema, TagNoGrad, isclose).and(TagComplex),
		composite(Allclose, "allclose", schema, TagNoGrad,
			func(b B, c *Call) Value { return b.Emit(AllOf, isclose(b, c)) }).and(TagComplex),
		composite(Equal, "equal", "(Tensor self, Tensor other) -> Tensor", TagNoGrad, func(b B, c *Call) Value {
			a := In[EqualArgs](c)
			if !equalShape(a.Self.Meta().Shape, a.Other.Meta().Shape) {
				return b.full(nil, 0, NewMeta(Bool, CPU, nil))
			}
			return b.Emit(AllOf, b.eq(a.Self.Value(), a.Other.Value()))
		}).and(TagComplex),
		composite(Isin, "isin", "(Operand elements, Operand test_elements, *, bool assume_unique=False, "+
			"bool invert=False) -> Tensor", TagNoGrad|TagNotMethod, func(b B, c *Call) Value {
			a := In[IsinArgs](c)
			x, t := a.Elements.Arg, a.TestElements.Arg
			if v := a.TestElements.Value(); v != nil {
				t = b.reshape(v, numel(a.TestElements.Meta().Shape))
			}
			if v := a.Elements.Value(); v != nil && a.TestElements.Value() != nil {
				x = b.unsqueeze(v, len(a.Elements.Meta().Shape))
			}
			hit := b.eq(x, t)
			if a.TestElements.Value() != nil {
				hit = b.Emit(Any, hit, []int{-1})
			}
			if a.Invert.Bool() {
				return b.not(hit)
			}
			return hit
		}),
	}
}

func besselRows() []*Op {
	row := func(id ID, name string, back func(b B, g, x, y Value) Value) *Op {
		var bk backFn
		if back != nil {
			bk = unaryBack(back)
		}
		r := unaryRow(id, "special."+name, floatType, bk, nil)
		r.Tags |= TagNotMethod
		return r
	}
	// over is f/x with its limit at zero.
	over := func(b B, f, x Value, limit float64) Value {
		return b.where(b.eq(x, 0.0), limit, b.div(f, x))
	}
	return []*Op{
		row(BesselJ0, "bessel_j0", func(b B, g, x, _ Value) Value { return b.neg(b.mul(g, b.Emit(BesselJ1, x))) }),
		row(BesselJ1, "bessel_j1", func(b B, g, x, y Value) Value {
			return b.mul(g, b.sub(b.Emit(BesselJ0, x), over(b, y, x, 0.5)))
		}),
		row(BesselY0, "bessel_y0", func(b B, g, x, _ Value) Value { return b.neg(b.mul(g, b.Emit(BesselY1, x))) }),
		row(BesselY1, "bessel_y1", func(b B, g, x, y Value) Value {
			return b.mul(g, b.sub(b.Emit(BesselY0, x), b.div(y, x)))
		}),
		row(ModifiedBesselI0, "modified_bessel_i0", func(b B, g, x, _ Value) Value { return b.mul(g, b.Emit(ModifiedBesselI1, x)) }),
		row(ModifiedBesselI1, "modified_bessel_i1", func(b B, g, x, y Value) Value {
			return b.mul(g, b.sub(b.Emit(ModifiedBesselI0, x), over(b, y, x, 0.5)))
		}),
		row(ModifiedBesselK0, "modified_bessel_k0", func(b B, g, x, _ Value) Value { return b.neg(b.mul(g, b.Emit(ModifiedBesselK1, x))) }),
		row(ModifiedBesselK1, "modified_bessel_k1", func(b B, g, x, y Value) Value {
			return b.neg(b.mul(g, b.add(b.Emit(ModifiedBesselK0, x), b.div(y, x))))
		}),
		row(ScaledModifiedBesselK0, "scaled_modified_bessel_k0", nil),
		row(ScaledModifiedBesselK1, "scaled_modified_bessel_k1", nil),
		row(SphericalBesselJ0, "spherical_bessel_j0", nil),
		row(AiryAi, "airy_ai", nil),
	}
}

func polynomialRows() []*Op {
	var rows []*Op
	for _, p := range []struct {
		id   ID
		name string
	}{
		{ChebyshevT, "chebyshev_polynomial_t"},
		{ChebyshevU, "chebyshev_polynomial_u"},
		{ChebyshevV, "chebyshev_polynomial_v"},
		{ChebyshevW, "chebyshev_polynomial_w"},
		{ShiftedChebyshevT, "shifted_chebyshev_polynomial_t"},
		{ShiftedChebyshevU, "shifted_chebyshev_polynomial_u"},
		{ShiftedChebyshevV, "shifted_chebyshev_polynomial_v"},
		{ShiftedChebyshevW, "shifted_chebyshev_polynomial_w"},
		{HermiteH, "hermite_polynomial_h"},
		{HermiteHe, "hermite_polynomial_he"},
		{LaguerreL, "laguerre_polynomial_l"},
		{LegendreP, "legendre_polynomial_p"},
	} {
		rows = append(rows, &Op{
			ID: p.id, Name: "special." + p.name, Schema: "(Operand x, Operand n) -> Tensor",
			Tags: TagPointwise | TagNoGrad | TagNotMethod, Meta: pointwise(floatType),
		})
	}
	return rows
}
