package ops

import "tcdbg/ops/sym"

// This file holds the operators that lead from real numbers to complex ones
// and back, and the gradient convention of complex numbers.

func complexRows() []*Op {
	conj := unaryRow(ConjCopy, "_conj_copy", keepType, unaryBack(func(b B, g, x, y Value) Value { return b.conj(g) }),
		nil).and(TagComplex | TagComplexGrad)
	conj.GradName, conj.Tags = "ConjBackward0", conj.Tags|TagInternal
	return []*Op{
		conj,
		composite(Conj, "conj", selfOnly, TagMaybeView, func(b B, c *Call) Value {
			a := In[ConjArgs](c)
			if !a.Self.Meta().DType.IsComplex() {
				return b.Emit(Alias, a.Self.Value())
			}
			return b.conj(a.Self.Value())
		}).and(TagComplex),
		composite(ConjPhysical, "conj_physical", selfOnly, TagMaybeView,
			func(b B, c *Call) Value { return b.conj(In[ConjPhysicalArgs](c).Self.Value()) }).and(TagHasInPlace | TagComplex),
		composite(Real, "real", selfOnly, TagMaybeView, func(b B, c *Call) Value {
			a := In[RealArgs](c)
			if !a.Self.Meta().DType.IsComplex() {
				return b.Emit(Alias, a.Self.Value())
			}
			return complexPart(b, a.Self.Value(), 0)
		}).and(TagComplex),
		composite(Imag, "imag", selfOnly, TagMaybeView, func(b B, c *Call) Value {
			a := In[ImagArgs](c)
			if !a.Self.Meta().DType.IsComplex() {
				refuse(Errorf("imag is not implemented for tensors with non-complex dtypes."))
			}
			return complexPart(b, a.Self.Value(), 1)
		}).and(TagComplex),
		unaryRow(Angle, "angle", angleType, unaryBack(angleBack), nil).and(TagComplex | TagComplexGrad),
		complexRow(),
		polarFormRow(), viewAsRealRow(), viewAsComplexRow(),
	}
}

// polarFormRow is abs*(cos(angle) + i*sin(angle)). Its derivative by abs points along the
// result, and is zero where that is.
func polarFormRow() *Op {
	row := composite(Polar, "polar", "(Tensor abs, Tensor angle) -> Tensor", TagNotMethod|TagComplexGrad, func(b B, c *Call) Value {
		a := In[PolarArgs](c)
		r, angle := a.Abs.Value(), a.Angle.Value()
		refuse(checkParts(a.Abs.Meta(), a.Angle.Meta()))
		return b.Emit(Complex, b.mul(r, b.Emit(Cos, angle)), b.mul(r, b.Emit(Sin, angle)))
	})
	row.Backward = pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
		along := b.conj(b.Emit(Sgn, c.Outs[0]))
		if i == 1 {
			along = b.conj(b.mul(c.Outs[0], 1i))
		}
		return complexPart(b, b.mul(g, along), 0)
	})
	return row
}

// conj is the complex conjugate; x itself where x is real.
func (b B) conj(x Value) Value {
	if !x.TensorMeta().DType.IsComplex() {
		return x
	}
	return b.Emit(ConjCopy, x)
}

// complexPart is the view of the real (0) or imaginary (1) parts of x.
func complexPart(b B, x Value, i int) Value { return b.sel(b.Emit(ViewAsReal, x), -1, sym.C(i)) }

// sgn is x/|x| of a complex x, zero at zero.
func (b B) sgn(x Value) Value {
	r := b.Emit(Abs, x)
	zero := b.eq(r, 0.0)
	return b.div(b.where(zero, 0.0, x), b.where(zero, 1.0, r))
}

// toReal is the dtype rule of functions that measure complex numbers.
func toReal(rule dtypeRule) dtypeRule {
	return func(op *Op, d DType) (DType, error) {
		if d.IsComplex() {
			return Float32, nil
		}
		return rule(op, d)
	}
}

// realType is the type of measures of numbers of type d.
func realType(d DType) DType {
	if d.IsComplex() {
		return Float32
	}
	return d
}

// IsZero reports whether a number argument is zero, real or complex.
func IsZero(a Arg) bool {
	if z, ok := a.(complex128); ok {
		return z == 0
	}
	return NumberOf(a) == 0
}

func angleType(op *Op, d DType) (DType, error) { return toReal(floatType)(op, d) }

// angleBack is g/|z|^2 * (-im + i re), zero at zero; real numbers turn by none.
func angleBack(b B, g, x, _ Value) Value {
	if !x.TensorMeta().DType.IsComplex() {
		return b.zeros(g.TensorMeta())
	}
	re, im := complexPart(b, x, 0), complexPart(b, x, 1)
	square := b.add(b.sq(re), b.sq(im))
	scale := b.where(b.eq(square, 0.0), 0.0, b.div(g, square))
	return b.Emit(Complex, b.neg(b.mul(scale, im)), b.mul(scale, re))
}

// checkParts refuses what cannot be the two parts of one complex64 tensor.
func checkParts(x, y *TensorMeta) error {
	for _, m := range []*TensorMeta{x, y} {
		switch {
		case m.DType == Float64:
			return &Error{Kind: "NotImplementedError", Msg: "the complex type of Double is not supported, complex64 is"}
		case m.DType == Float16:
			return &Error{Kind: "NotImplementedError", Msg: "the complex type of Half is not supported, complex64 is"}
		case m.DType != Float32:
			return Errorf(
				"Expected both inputs to be Half, Float or Double tensors but got %s and %s", x.DType.ScalarType(),
				y.DType.ScalarType(),
			)
		}
	}
	return nil
}

func complexRow() *Op {
	rule := func(c *Call) ([]Result, error) {
		a := In[ComplexArgs](c)
		if err := checkParts(a.Real.Meta(), a.Imag.Meta()); err != nil {
			return nil, err
		}
		return pointwise(func(*Op, DType) (DType, error) { return Complex64, nil })(c)
	}
	return &Op{
		ID: Complex, Name: "complex", Schema: "(Tensor real, Tensor imag) -> Tensor",
		Tags: TagPointwise | TagNotMethod | TagComplex | TagComplexGrad, Meta: rule,
		Backward: pointwiseBack(func(b B, _ *BackwardCall, g Value, i int) Value { return complexPart(b, g, i) }),
	}
}

func viewAsRealRow() *Op {
	row := viewRow(ViewAsReal, "view_as_real", selfOnly, func(c *Call, m *TensorMeta) ([]Result, error) {
		if !m.DType.IsComplex() {
			return nil, Errorf("view_as_real is only supported for complex tensors")
		}
		two := sym.C(2)
		stride := make([]sym.Int, len(m.Stride), len(m.Stride)+1)
		for i, s := range m.Stride {
			stride[i] = sym.Mul(s, two)
		}
		out := asView(m, append(cloneInts(m.Shape), two), append(stride, symOne), sym.Mul(m.Offset, two))
		out[0].(*TensorMeta).DType = Float32
		return out, nil
	}, func(b B, c *BackwardCall, g Value) Value { return b.Emit(ViewAsComplex, b.Emit(Contiguous, g)) })
	row.Tags |= TagNotMethod
	return row
}

func viewAsComplexRow() *Op {
	row := viewRow(ViewAsComplex, "view_as_complex", selfOnly, viewAsComplexMeta,
		func(b B, c *BackwardCall, g Value) Value { return b.Emit(ViewAsReal, g) })
	row.Tags |= TagNotMethod
	return row
}

func viewAsComplexMeta(_ *Call, m *TensorMeta) ([]Result, error) {
	last := len(m.Shape) - 1
	switch {
	case m.DType == Float64 || m.DType == Float16:
		return nil, checkParts(m, m)
	case m.DType != Float32:
		return nil, Errorf(
			"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: %s",
			m.DType.ScalarType(),
		)
	case last < 0:
		return nil, Errorf("Input tensor must have one or more dimensions")
	case sym.Ne(m.Shape[last], sym.C(2)):
		return nil, Errorf("Tensor must have a last dimension of size 2")
	case sym.Ne(m.Stride[last], symOne):
		return nil, Errorf("Tensor must have a last dimension with stride 1")
	}
	two := sym.C(2)
	half := func(n sym.Int, what string) (sym.Int, error) {
		q := sym.FloorDiv(n, two)
		if sym.Ne(sym.Mul(q, two), n) {
			return q, Errorf("Tensor must have a %s", what)
		}
		return q, nil
	}
	stride := make([]sym.Int, last)
	for i := range stride {
		var err error
		if stride[i], err = half(m.Stride[i], "stride divisible by 2 for all but last dimension"); err != nil {
			return nil, err
		}
	}
	offset, err := half(m.Offset, "storage_offset divisible by 2")
	if err != nil {
		return nil, err
	}
	out := asView(m, m.Shape[:last], stride, offset)
	out[0].(*TensorMeta).DType = Complex64
	return out, nil
}

// conjugated makes a derivative that of a complex function. The gradient of a
// real loss L by z = a + ib is dL/da + i dL/db, so a holomorphic f sends g to
// g*conj(f'), where the formulas of the table, which are linear in g, say g*f'.
// Real gradients go through as they are: functions from complex to real
// numbers have formulas of their own.
func conjugated(f backFn) backFn {
	return func(bb Builder, c *BackwardCall) []Value {
		isComplex := false
		for _, g := range c.Grads {
			isComplex = isComplex || g != nil && g.TensorMeta().DType.IsComplex()
		}
		if !isComplex {
			return f(bb, c)
		}
		b, call := B{bb}, *c
		call.Grads = make([]Value, len(c.Grads))
		for i, g := range c.Grads {
			if g != nil {
				call.Grads[i] = b.conj(g)
			}
		}
		out := f(bb, &call)
		for i, v := range out {
			if v != nil {
				out[i] = b.conj(v)
			}
		}
		return out
	}
}

// holomorphic reports whether conjugated applies to a row: not to views and
// what takes complex numbers apart, whose formulas speak of complex gradients.
func holomorphic(row *Op) bool {
	return row.Backward != nil && row.Tags&(TagComplexGrad|TagView|TagInPlace) == 0
}

// CheckComplex refuses a call that touches complex tensors where the operator
// has no right answer for them.
func CheckComplex(row *Op, args []Arg) error {
	if Get(Functional(row.ID)).Tags&(TagComplex|TagView) != 0 || !TouchesComplex(args) {
		return nil
	}
	return &Error{Kind: "NotImplementedError", Msg: `"` + row.Name + `" not implemented for '` + Complex64.ScalarType() + "'"}
}

// TouchesComplex reports whether an argument is complex or asks for it.
func TouchesComplex(args []Arg) bool {
	for _, a := range args {
		switch x := a.(type) {
		case complex128:
			return true
		case DType:
			if x.IsComplex() {
				return true
			}
		case []Value:
			for _, v := range x {
				if m := MetaOf(v); m != nil && m.DType.IsComplex() {
					return true
				}
			}
		case Value:
			if m := MetaOf(x); m != nil && m.DType.IsComplex() {
				return true
			}
		}
	}
	return false
}
