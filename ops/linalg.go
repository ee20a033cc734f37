package ops

import "tcdbg/ops/sym"

// This file holds the factorizations of torch.linalg and what solves with
// them. Their kernels compute in float64; derivatives and everything else are
// compositions.

func linalgRows() []*Op {
	rows := append(factorRows(), solveRows()...)
	return append(append(rows, spectralRows()...), matrixFunctionRows()...)
}

// checkMatrix refuses what is no batch of matrices of real numbers.
func checkMatrix(name string, m *TensorMeta, square bool) error {
	n := len(m.Shape)
	if n < 2 {
		return Errorf("%s: The input tensor A must have at least 2 dimensions.", name)
	}
	if square && sym.Ne(m.Shape[n-2], m.Shape[n-1]) {
		return Errorf("%s: A must be batches of square matrices, but they are %s by %s matrices", name, m.Shape[n-2], m.Shape[n-1])
	}
	switch {
	case (m.DType == Float16 || m.DType == BFloat16) && name != "linalg.matrix_exp":
		return &Error{Kind: "NotImplementedError", Msg: name + ": Low precision dtypes not supported. Got " + m.DType.ScalarType()}
	case m.DType.IsComplex():
		return &Error{Kind: "NotImplementedError", Msg: name + ": complex tensors are not supported"}
	case !m.DType.IsFloat():
		return &Error{
			Kind: "NotImplementedError",
			Msg:  name + ": Expected a floating point or complex tensor as input. Got " + m.DType.ScalarType(),
		}
	}
	return nil
}

// matrixRow is a factorization of argument 0; shapes lists what it returns.
func matrixRow(
	id ID, name, schema string, square bool, shapes func(c *Call, m *TensorMeta) []Result,
	back func(b B, c *BackwardCall) []Value,
) *Op {
	row := &Op{ID: id, Name: name, Schema: schema, Tags: TagNotMethod}
	row.Meta = func(c *Call) ([]Result, error) {
		a := In[SelfArgs](c)
		if err := checkMatrix(row.Name, a.Self.Meta(), square); err != nil {
			return nil, err
		}
		return shapes(c, a.Self.Meta()), nil
	}
	if back != nil {
		row.Backward = backOf(back)
	} else {
		row.Tags |= TagNoGrad
	}
	return row
}

// like describes a result with m's dtype and the batch of m.
func (m *TensorMeta) batched(tail ...sym.Int) *TensorMeta {
	return NewMeta(m.DType, m.Device, append(cloneInts(m.Shape[:len(m.Shape)-2]), tail...))
}

// of is batched with another dtype.
func (m *TensorMeta) of(d DType, tail ...sym.Int) *TensorMeta {
	out := m.batched(tail...)
	out.DType = d
	return out
}

// matrixSize are the rows and columns of a matrix.
func matrixSize(m *TensorMeta) (rows, cols sym.Int) {
	n := len(m.Shape)
	return m.Shape[n-2], m.Shape[n-1]
}

// mt transposes matrices; dotm multiplies them.
func mt(b B, x Value) Value { return b.transpose(x, -2, -1) }

func dotm(b B, x, y Value, more ...Value) Value {
	p := b.Emit(Matmul, x, y)
	for _, z := range more {
		p = b.Emit(Matmul, p, z)
	}
	return p
}

// column2 and row2 make the last dimension one of columns or of rows.
func column2(b B, v Value) Value { return b.unsqueeze(v, len(v.TensorMeta().Shape)) }
func row2(b B, v Value) Value    { return b.unsqueeze(v, len(v.TensorMeta().Shape)-1) }

func factorRows() []*Op {
	return []*Op{
		matrixRow(CholeskyEx, "linalg.cholesky_ex",
			"(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", true,
			func(c *Call, m *TensorMeta) []Result {
				n, _ := matrixSize(m)
				return []Result{m.batched(n, n), m.of(Int32)}
			}, choleskyBack),
		firstOf(LinalgCholesky, "linalg.cholesky", "(Tensor self, *, bool upper=False) -> Tensor", 0, func(b B, c *Call) []Value {
			a := In[LinalgCholeskyArgs](c)
			return b.EmitN(CholeskyEx, a.Self.Arg, a.Upper.Arg, true)
		}),
		firstOf(Cholesky, "cholesky", "(Tensor self, bool upper=False) -> Tensor", 0, func(b B, c *Call) []Value {
			a := In[CholeskyArgs](c)
			return b.EmitN(CholeskyEx, a.Self.Arg, a.Upper.Arg, true)
		}),
		matrixRow(LinalgQr, "linalg.qr", "(Tensor self, str mode='reduced') -> (Tensor Q, Tensor R)", false,
			func(c *Call, m *TensorMeta) []Result {
				rows, cols := matrixSize(m)
				k := sym.Min(rows, cols)
				switch In[LinalgQrArgs](c).Mode.Str() {
				case "complete":
					return []Result{m.batched(rows, rows), m.batched(rows, cols)}
				case "r":
					return []Result{NewMeta(m.DType, m.Device, []sym.Int{symZero}), m.batched(k, cols)}
				}
				return []Result{m.batched(rows, k), m.batched(k, cols)}
			}, qrBack),
		householderRow(),
	}
}

// householderRow multiplies reflections; its derivative is that of the product
// written out.
func householderRow() *Op {
	row := matrixRow(HouseholderProduct, "linalg.householder_product", "(Tensor input, Tensor tau) -> Tensor", false,
		func(c *Call, m *TensorMeta) []Result {
			rows, cols := matrixSize(m)
			if sym.Lt(rows, cols) {
				refuse(Errorf("torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"))
			}
			t := In[HouseholderProductArgs](c).Tau.Meta()
			if len(t.Shape) != len(m.Shape)-1 {
				refuse(Errorf(
					"torch.linalg.householder_product: Expected tau to have one dimension less than input, "+
						"but got tau.ndim equal to %d and input.ndim is equal to %d",
					len(t.Shape), len(m.Shape),
				))
			}
			if sym.Gt(t.Shape[len(t.Shape)-1], cols) {
				refuse(Errorf("torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]"))
			}
			return one(m.batched(rows, cols))
		}, nil)
	row.Tags &^= TagNoGrad
	row.Decompose = decomp(func(b B, c *Call) Value {
		a := In[HouseholderProductArgs](c)
		m, k := a.Input.Meta(), a.Tau.Meta().Shape
		rows, cols := matrixSize(m)
		eye := b.Emit(Eye, rows, cols, m.DType)
		vs := b.add(b.Emit(Tril, a.Input.Value(), -1), eye)
		q := expandIf(b, eye, m.Shape)
		for i := int(sym.Force(k[len(k)-1])) - 1; i >= 0; i-- {
			v := column2(b, b.sel(vs, -1, sym.C(i)))
			tau := column2(b, column2(b, b.sel(a.Tau.Value(), -1, sym.C(i))))
			q = b.sub(q, b.mul(tau, dotm(b, v, dotm(b, mt(b, v), q))))
		}
		return q
	})
	return row
}

// firstOf is a row with the first result of another operator.
func firstOf(id ID, name, schema string, tags Tag, f func(b B, c *Call) []Value) *Op {
	return composite(id, name, schema, TagNotMethod|tags, func(b B, c *Call) Value { return f(b, c)[0] })
}

// lowerHalf keeps the lower triangle with half of the diagonal.
func lowerHalf(b B, x Value) Value {
	low := b.Emit(Tril, x)
	return b.sub(low, b.mul(b.Emit(DiagEmbed, b.Emit(Diagonal, x, 0, -2, -1)), 0.5))
}

// choleskyBack: with P the lower half of L^T gL, the gradient is the symmetric
// part of L^-T P L^-1.
func choleskyBack(b B, c *BackwardCall) []Value {
	g := c.Grads[0]
	if g == nil {
		return []Value{nil}
	}
	l := c.Outs[0]
	if In[CholeskyExArgs](c.Call).Upper.Bool() {
		g, l = mt(b, g), mt(b, l)
	}
	p := lowerHalf(b, dotm(b, mt(b, l), g))
	p = b.mul(b.add(p, mt(b, p)), 0.5)
	x := b.Emit(SolveTriangular, mt(b, l), p, true)
	return []Value{b.Emit(SolveTriangular, l, x, false, false)}
}

// qrBack is the derivative of the reduced factorization of a matrix that is
// at least as tall as wide.
func qrBack(b B, c *BackwardCall) []Value {
	a := In[LinalgQrArgs](c.Call)
	gq, gr := c.Grads[0], c.Grads[1]
	if gq == nil && gr == nil {
		return []Value{nil}
	}
	m := a.Self.Meta()
	rows, cols := matrixSize(m)
	switch {
	case a.Mode.Str() == "r":
		refuse(Errorf("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, " +
			"mode='reduced') if you are going to require gradients"))
	case sym.Lt(rows, cols) || a.Mode.Str() == "complete" && sym.Ne(rows, cols):
		refuse(Errorf("The QR decomposition is not differentiable when mode='complete' and nrows > ncols, nor for nrows < ncols"))
	}
	q, r := c.Outs[0], c.Outs[1]
	var p Value
	if gr != nil {
		p = dotm(b, r, mt(b, gr))
	}
	if gq != nil {
		t := dotm(b, mt(b, gq), q)
		if p == nil {
			p = b.neg(t)
		} else {
			p = b.sub(p, t)
		}
	}
	low := b.Emit(Tril, p, -1)
	sym2 := b.add(b.add(low, mt(b, low)), b.Emit(DiagEmbed, b.Emit(Diagonal, p, 0, -2, -1)))
	x := dotm(b, q, sym2)
	if gq != nil {
		x = b.add(x, gq)
	}
	return []Value{b.Emit(SolveTriangular, mt(b, r), x, false, false)}
}

func solveRows() []*Op {
	return []*Op{
		{
			ID: SolveTriangular, Name: "linalg.solve_triangular",
			Schema: "(Tensor self, Tensor other, bool upper, bool left=True, bool unitriangular=False) -> Tensor", Tags: TagNotMethod,
			Meta: func(c *Call) ([]Result, error) {
				return solvedMeta("linalg.solve_triangular", c, In[SolveTriangularArgs](c).Left.Bool(), false)
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				in := In[SolveTriangularArgs](c.Call)
				g := c.Grads[0]
				if g == nil {
					return []Value{nil, nil}
				}
				a, x, left := in.Self.Value(), c.Outs[0], in.Left.Bool()
				gb := b.Emit(SolveTriangular, mt(b, a), g, !in.Upper.Bool(), left, in.Unitriangular.Arg)
				ga := b.neg(dotm(b, gb, mt(b, x)))
				if !left {
					ga = b.neg(dotm(b, mt(b, x), gb))
				}
				tri, k := Tril, 0
				if in.Upper.Bool() {
					tri = Triu
				}
				if in.Unitriangular.Bool() {
					k = -1
					if in.Upper.Bool() {
						k = 1
					}
				}
				return []Value{b.sumTo(b.Emit(tri, ga, k), in.Self.Meta().Shape), b.sumTo(gb, in.Other.Meta().Shape)}
			}),
		},
		{
			ID: SolveEx, Name: "linalg.solve_ex",
			Schema: "(Tensor self, Tensor other, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
			Tags:   TagNotMethod,
			Meta: func(c *Call) ([]Result, error) {
				a := In[SolveExArgs](c)
				res, err := solvedMeta("linalg.solve", c, a.Left.Bool(), true)
				if err != nil {
					return nil, err
				}
				return append(res, a.Self.Meta().of(Int32)), nil
			},
			Backward: backOf(solveBack),
		},
		firstOf(LinalgSolve, "linalg.solve", "(Tensor self, Tensor other, *, bool left=True) -> Tensor", 0, func(b B, c *Call) []Value {
			a := In[LinalgSolveArgs](c)
			return b.EmitN(SolveEx, a.Self.Arg, a.Other.Arg, a.Left.Arg, true)
		}),
		matrixRow(InvEx, "linalg.inv_ex", "(Tensor self, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", true,
			func(c *Call, m *TensorMeta) []Result {
				n, _ := matrixSize(m)
				return []Result{m.batched(n, n), m.of(Int32)}
			}, func(b B, c *BackwardCall) []Value {
				if c.Grads[0] == nil {
					return []Value{nil}
				}
				t := mt(b, c.Outs[0])
				return []Value{b.neg(dotm(b, t, c.Grads[0], t))}
			}),
		firstOf(LinalgInv, "linalg.inv", "(Tensor self) -> Tensor", 0, func(b B, c *Call) []Value {
			return b.EmitN(
				InvEx, In[LinalgInvArgs](c).Self.Arg, true,
			)
		}),
		firstOf(Inverse, "inverse", selfOnly, 0, func(b B, c *Call) []Value { return b.EmitN(InvEx, In[InverseArgs](c).Self.Arg, true) }),
		matrixRow(LinalgDet, "linalg.det", "(Tensor self) -> Tensor", true,
			func(c *Call, m *TensorMeta) []Result { return one(m.batched()) }, func(b B, c *BackwardCall) []Value {
				if c.Grads[0] == nil {
					return []Value{nil}
				}
				return []Value{detBack(b, c, b.mul(c.Grads[0], c.Outs[0]))}
			}),
		firstOf(Det, "det", selfOnly, 0, func(b B, c *Call) []Value { return b.EmitN(LinalgDet, c.Args...) }),
		matrixRow(LinalgSlogdet, "linalg.slogdet", "(Tensor self) -> (Tensor sign, Tensor logabsdet)", true,
			func(c *Call, m *TensorMeta) []Result {
				return []Result{m.batched(), m.batched()}
			}, func(b B, c *BackwardCall) []Value {
				if c.Grads[1] == nil {
					return []Value{nil}
				}
				return []Value{detBack(b, c, c.Grads[1])}
			}),
		compositeN(Slogdet, "slogdet", "(Tensor self) -> (Tensor sign, Tensor logabsdet)", TagNotMethod,
			func(b B, c *Call) []Value { return b.EmitN(LinalgSlogdet, c.Args...) }),
		composite(Logdet, "logdet", selfOnly, TagNotMethod, func(b B, c *Call) Value {
			out := b.EmitN(LinalgSlogdet, c.Args...)
			return b.where(b.eq(out[0], -1.0), nan, out[1])
		}),
		choleskySolveRow(),
		composite(CholeskyInverse, "cholesky_inverse", "(Tensor self, bool upper=False) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			a := In[CholeskyInverseArgs](c)
			m := a.Self.Meta()
			refuse(checkMatrix("cholesky_inverse", m, true))
			n, _ := matrixSize(m)
			return b.Emit(CholeskySolve, b.expand(b.Emit(Eye, n, nil, m.DType), m.Shape), a.Self.Value(), a.Upper.Arg)
		}),
		composite(LinalgTensorinv, "linalg.tensorinv", "(Tensor self, int ind=2) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			a := In[LinalgTensorinvArgs](c)
			m, k := a.Self.Meta(), a.Ind.Num()
			if k <= 0 {
				refuse(Errorf("Expected a strictly positive integer for 'ind'"))
			}
			k = min(k, len(m.Shape))
			left, right := m.Shape[:k], m.Shape[k:]
			if sym.Ne(numel(left), numel(right)) {
				refuse(Errorf(
					"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got %s != %s",
					numel(right), numel(left),
				))
			}
			inverse := b.Emit(LinalgInv, b.reshape(a.Self.Value(), numel(left), numel(right)))
			return b.reshape(inverse, append(cloneInts(right), left...)...)
		}),
		composite(LinalgTensorsolve, "linalg.tensorsolve", "(Tensor self, Tensor other, int[]? dims=None) -> Tensor", TagNotMethod,
			func(b B, c *Call) Value {
				in := In[LinalgTensorsolveArgs](c)
				a, y := in.Self.Value(), in.Other.Meta()
				if dims := in.Dims.Nums(); len(dims) > 0 {
					to := seq(len(in.Self.Meta().Shape)-len(dims), len(in.Self.Meta().Shape))
					a = b.Emit(Movedim, a, dims, to)
				}
				right := a.TensorMeta().Shape[len(y.Shape):]
				if n := numel(a.TensorMeta().Shape[:len(y.Shape)]); sym.Ne(n, numel(right)) {
					refuse(Errorf(
						"Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "+
							"but got %s != %s",
						numel(right), n,
					))
				}
				n := numel(right)
				x := b.Emit(LinalgSolve, b.reshape(a, n, n), b.reshape(in.Other.Value(), n))
				return b.reshape(x, right...)
			}),
	}
}

// choleskySolveRow solves with the factor of a positive matrix. The factor's
// gradient is that of a full matrix, as in PyTorch.
func choleskySolveRow() *Op {
	row := composite(CholeskySolve, "cholesky_solve", "(Tensor self, Tensor input2, bool upper=False) -> Tensor", TagNotMethod,
		func(b B, c *Call) Value {
			a := In[CholeskySolveArgs](c)
			l := a.Input2.Value()
			if a.Upper.Bool() {
				l = mt(b, l)
			}
			y := b.Emit(SolveTriangular, l, a.Self.Value(), false)
			return b.Emit(SolveTriangular, mt(b, l), y, true)
		})
	row.Backward = backOf(func(b B, c *BackwardCall) []Value {
		a := In[CholeskySolveArgs](c.Call)
		g := c.Grads[0]
		if g == nil {
			return []Value{nil, nil}
		}
		l := a.Input2.Value()
		gb := b.Emit(CholeskySolve, g, l, a.Upper.Arg)
		common := dotm(b, gb, mt(b, c.Outs[0]))
		common = b.add(common, mt(b, common))
		gl := b.neg(dotm(b, common, l))
		if a.Upper.Bool() {
			gl = b.neg(dotm(b, l, common))
		}
		return []Value{b.sumTo(gb, a.Self.Meta().Shape), b.sumTo(gl, a.Input2.Meta().Shape)}
	})
	return row
}

// vectorRight reports whether B of a solver is a vector, or a batch of them.
func vectorRight(a, y *TensorMeta) bool {
	if len(y.Shape) == 1 {
		return true
	}
	return len(a.Shape)-1 == len(y.Shape) && equalShape(a.Shape[:len(a.Shape)-1], y.Shape)
}

// solvedMeta is the rule of the solution X of AX = B or XA = B.
func solvedMeta(name string, c *Call, left, vectors bool) ([]Result, error) {
	in := In[SelfOtherArgs](c)
	a, y := in.Self.Meta(), in.Other.Meta()
	if err := checkMatrix(name, a, true); err != nil {
		return nil, err
	}
	if a.DType != y.DType {
		return nil, Errorf(
			"%s: Expected A and B to have the same dtype, but found A of type %s and B of type %s instead", name,
			a.DType.ScalarType(), y.DType.ScalarType(),
		)
	}
	n, _ := matrixSize(a)
	if vectors && vectorRight(a, y) {
		if !left {
			return nil, Errorf(
				"%s: Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve is "+
					"equivalent to B / A.squeeze(-1)",
				name,
			)
		}
		if len(y.Shape) == 1 && sym.Ne(y.Shape[0], n) {
			return nil, Errorf("%s: Incompatible shapes of A and B for the equation AX = B (%sx%s and %sx1)", name, n, n, y.Shape[0])
		}
		return one(a.batched(n)), nil
	}
	if len(y.Shape) < 2 {
		return nil, Errorf("%s: The input tensor B must have at least 2 dimensions.", name)
	}
	rows, cols := matrixSize(y)
	side, equation := rows, "AX = B"
	if !left {
		side, equation = cols, "XA = B"
	}
	if sym.Ne(side, n) {
		return nil, Errorf("%s: Incompatible shapes of A and B for the equation %s (%sx%s and %sx%s)", name, equation, n, n, rows, cols)
	}
	batch, err := broadcast2(a.Shape[:len(a.Shape)-2], y.Shape[:len(y.Shape)-2])
	if err != nil {
		return nil, err
	}
	return one(NewMeta(a.DType, a.Device, append(cloneInts(batch), rows, cols))), nil
}

// solveBack: gB solves with A transposed, gA is -gB X^T.
func solveBack(b B, c *BackwardCall) []Value {
	in := In[SolveExArgs](c.Call)
	g := c.Grads[0]
	if g == nil {
		return []Value{nil, nil}
	}
	a, x := in.Self.Value(), c.Outs[0]
	vector := vectorRight(in.Self.Meta(), in.Other.Meta())
	gb := b.EmitN(SolveEx, mt(b, a), g, in.Left.Arg)[0]
	var ga Value
	switch {
	case vector:
		ga = b.neg(b.mul(column2(b, gb), row2(b, x)))
	case in.Left.Bool():
		ga = b.neg(dotm(b, gb, mt(b, x)))
	default:
		ga = b.neg(dotm(b, mt(b, x), gb))
	}
	return []Value{b.sumTo(ga, in.Self.Meta().Shape), b.sumTo(gb, in.Other.Meta().Shape)}
}

// detBack is d A^-T, where d is the gradient of the logarithm.
func detBack(b B, c *BackwardCall, d Value) Value {
	a := In[SelfArgs](c.Call)
	n, _ := matrixSize(a.Self.Meta())
	d = column2(b, column2(b, d))
	eye := b.Emit(Eye, n, nil, a.Self.Meta().DType)
	return b.EmitN(SolveEx, mt(b, a.Self.Value()), b.mul(eye, d))[0]
}
