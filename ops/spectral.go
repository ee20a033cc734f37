package ops

import (
	"tcdbg/ops/sym"
)

// This file holds eigenvalues and singular values, and what is made of them.

func spectralRows() []*Op {
	return append(eigenRows(), inverseRows()...)
}

func eigenRows() []*Op {
	return []*Op{
		matrixRow(LinalgEigh, "linalg.eigh", "(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)", true,
			func(c *Call, m *TensorMeta) []Result {
				if u := In[LinalgEighArgs](c).UPLO.Str(); u != "L" && u != "U" && u != "l" && u != "u" {
					refuse(Errorf("Expected UPLO argument to be 'L' or 'U', but got %s", u))
				}
				n, _ := matrixSize(m)
				return []Result{m.batched(n), m.batched(n, n)}
			}, eighBack),
		firstOf(LinalgEigvalsh, "linalg.eigvalsh", "(Tensor self, str UPLO='L') -> Tensor", 0,
			func(b B, c *Call) []Value { return b.EmitN(LinalgEigh, c.Args...) }),
		matrixRow(LinalgSvd, "linalg.svd", "(Tensor self, bool full_matrices=True) -> (Tensor U, Tensor S, Tensor Vh)", false,
			func(c *Call, m *TensorMeta) []Result {
				rows, cols := matrixSize(m)
				k := sym.Min(rows, cols)
				if In[LinalgSvdArgs](c).FullMatrices.Bool() {
					return []Result{m.batched(rows, rows), m.batched(k), m.batched(cols, cols)}
				}
				return []Result{m.batched(rows, k), m.batched(k), m.batched(k, cols)}
			}, svdBack),
		firstOf(LinalgSvdvals, "linalg.svdvals", "(Tensor self) -> Tensor", 0,
			func(b B, c *Call) []Value { return b.EmitN(LinalgSvd, In[LinalgSvdvalsArgs](c).Self.Arg, false)[1:] }),
		compositeN(Svd, "svd", "(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", 0,
			func(b B, c *Call) []Value {
				a := In[SvdArgs](c)
				out := b.EmitN(LinalgSvd, a.Self.Arg, !a.Some.Bool())
				if !a.ComputeUv.Bool() {
					return []Value{b.Emit(ZerosLike, out[0]), out[1], b.Emit(ZerosLike, mt(b, out[2]))}
				}
				return []Value{out[0], out[1], mt(b, out[2])}
			}),
		matrixSqrthRow(),
		polarRow(),
	}
}

// matrixSqrthRow is the symmetric square root X of a positive matrix; the
// gradient G of A solves XG + GX = g.
func matrixSqrthRow() *Op {
	row := composite(MatrixSqrth, "linalg.matrix_sqrth", "(Tensor self) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
		a := In[MatrixSqrthArgs](c)
		refuse(checkMatrix("linalg.matrix_sqrth", a.Self.Meta(), true))
		lv := b.EmitN(LinalgEigh, a.Self.Arg)
		return dotm(b, b.mul(lv[1], row2(b, b.sqrt(lv[0]))), mt(b, lv[1]))
	})
	row.Backward = backOf(func(b B, c *BackwardCall) []Value {
		g := c.Grads[0]
		if g == nil {
			return []Value{nil}
		}
		lv := b.EmitN(LinalgEigh, c.Outs[0])
		x, v := lv[0], lv[1]
		g = b.mul(b.add(g, mt(b, g)), 0.5)
		inner := b.div(dotm(b, mt(b, v), g, v), b.add(row2(b, x), column2(b, x)))
		return []Value{dotm(b, v, inner, mt(b, v))}
	})
	return row
}

// adjacentDifferences is s_j - s_i with one on the diagonal.
func adjacentDifferences(b B, s Value) Value {
	d := b.sub(row2(b, s), column2(b, s))
	n := s.TensorMeta().Shape[len(s.TensorMeta().Shape)-1]
	eye := b.cast(b.Emit(Eye, n, nil, s.TensorMeta().DType), Bool)
	return b.where(eye, 1.0, d)
}

// eighBack is V ((V^T gV)/E + diag(gL)) V^T with E the differences of the
// eigenvalues.
func eighBack(b B, c *BackwardCall) []Value {
	gl, gv := c.Grads[0], c.Grads[1]
	l, v := c.Outs[0], c.Outs[1]
	var inner Value
	if gv != nil {
		inner = b.div(dotm(b, mt(b, v), gv), adjacentDifferences(b, l))
		inner = b.sub(inner, b.Emit(DiagEmbed, b.Emit(Diagonal, inner, 0, -2, -1)))
	}
	if gl != nil {
		d := b.Emit(DiagEmbed, gl)
		if inner != nil {
			d = b.add(inner, d)
		}
		inner = d
	}
	if inner == nil {
		return []Value{nil}
	}
	return []Value{dotm(b, v, inner, mt(b, v))}
}

// svdBack is the derivative of the reduced factorization.
func svdBack(b B, c *BackwardCall) []Value {
	a := In[LinalgSvdArgs](c.Call)
	gu, gs, gvh := c.Grads[0], c.Grads[1], c.Grads[2]
	if gu == nil && gs == nil && gvh == nil {
		return []Value{nil}
	}
	u, s, vh := c.Outs[0], c.Outs[1], c.Outs[2]
	rows, cols := matrixSize(a.Self.Meta())
	k := sym.Min(rows, cols)
	if a.FullMatrices.Bool() && sym.Ne(rows, cols) { // the further vectors have no derivative
		u, vh = b.slice(u, -1, symZero, k), b.slice(vh, -2, symZero, k)
		if gu != nil {
			gu = b.slice(gu, -1, symZero, k)
		}
		if gvh != nil {
			gvh = b.slice(gvh, -2, symZero, k)
		}
	}
	skew := func(x Value) Value { return b.sub(x, mt(b, x)) }
	e := adjacentDifferences(b, b.sq(s))
	var inner Value
	plus := func(x, y Value) Value {
		if x == nil {
			return y
		}
		return b.add(x, y)
	}
	if gu != nil {
		inner = plus(inner, b.mul(b.div(skew(dotm(b, mt(b, u), gu)), e), row2(b, s)))
	}
	if gvh != nil {
		inner = plus(inner, b.mul(column2(b, s), b.div(skew(dotm(b, vh, mt(b, gvh))), e)))
	}
	if gs != nil {
		inner = plus(inner, b.Emit(DiagEmbed, gs))
	}
	out := dotm(b, u, inner, vh)
	if gu != nil && sym.Gt(rows, k) {
		part := b.div(gu, row2(b, s))
		out = b.add(out, dotm(b, b.sub(part, dotm(b, u, mt(b, u), part)), vh))
	}
	if gvh != nil && sym.Gt(cols, k) {
		part := b.div(gvh, column2(b, s))
		out = b.add(out, dotm(b, u, b.sub(part, dotm(b, part, mt(b, vh), vh))))
	}
	return []Value{out}
}

// polarRow is A = U H with orthonormal columns U and symmetric H.
func polarRow() *Op {
	row := &Op{ID: LinalgPolar, Name: "linalg.polar", Schema: "(Tensor self) -> (Tensor U, Tensor H)", Tags: TagNotMethod}
	row.Decompose = func(bb Builder, c *Call) []Value {
		a := In[LinalgPolarArgs](c)
		b := B{bb}
		refuse(checkMatrix("linalg.polar", a.Self.Meta(), false))
		if rows, cols := matrixSize(a.Self.Meta()); sym.Lt(rows, cols) {
			refuse(Errorf("linalg.polar: A must have at least as many rows as columns, but it is %s by %s", rows, cols))
		}
		f := b.EmitN(LinalgSvd, a.Self.Arg, false)
		return []Value{dotm(b, f[0], f[2]), dotm(b, b.mul(mt(b, f[2]), row2(b, f[1])), f[2])}
	}
	row.Meta = metaOfDecomposition(row)
	row.Backward = backOf(func(b B, c *BackwardCall) []Value {
		gu, gh := c.Grads[0], c.Grads[1]
		if gu == nil && gh == nil {
			return []Value{nil}
		}
		u, h := c.Outs[0], c.Outs[1]
		// In the basis of H's eigenvectors the rotation of U is a quotient.
		lv := b.EmitN(LinalgEigh, h)
		s, v := lv[0], lv[1]
		var k, out Value
		if gu != nil {
			k = dotm(b, mt(b, u), gu)
		}
		if gh != nil {
			t := dotm(b, gh, h)
			if k == nil {
				k = b.neg(t)
			} else {
				k = b.sub(k, t)
			}
		}
		k = dotm(b, mt(b, v), k, v)
		k = b.div(b.sub(k, mt(b, k)), b.add(row2(b, s), column2(b, s)))
		k = dotm(b, v, k, mt(b, v))
		if gh != nil {
			k = b.add(k, gh)
		}
		out = dotm(b, u, k)
		if rows, cols := matrixSize(In[LinalgPolarArgs](c.Call).Self.Meta()); gu != nil && sym.Gt(rows, cols) {
			rest := b.sub(gu, dotm(b, u, mt(b, u), gu))
			out = b.add(out, b.EmitN(SolveEx, h, rest, false)[0])
		}
		return []Value{out}
	})
	return row
}

// singularValues returns the singular values of matrices, or the magnitudes of the
// eigenvalues of symmetric ones.
func singularValues(b B, x Value, symmetric bool) Value {
	if symmetric {
		return b.Emit(Abs, b.Emit(LinalgEigvalsh, x))
	}
	return b.Emit(LinalgSvdvals, x)
}

// rankBound is max(atol, rtol * greatest), with PyTorch's default of rtol.
func rankBound(b B, m *TensorMeta, absolute, relative TensorArg, s Value) Value {
	rows, cols := matrixSize(m)
	size := float64(max(sym.Force(rows), sym.Force(cols)))
	eps := map[DType]float64{Float32: 1.1920928955078125e-07, Float64: 2.220446049250313e-16}[m.DType]
	number := func(a TensorArg, v float64) Value {
		if x := a.Value(); x != nil {
			return b.cast(x, m.DType)
		}
		if !a.IsNone() {
			v = a.Float()
		}
		return b.full(nil, v, NewMeta(m.DType, m.Device, nil))
	}
	rtol := size * eps
	atol := number(absolute, 0)
	if !absolute.IsNone() && relative.IsNone() {
		rtol = 0
		if absolute.Value() != nil || absolute.Float() <= 0 {
			// An absolute bound of zero leaves the default relative one.
			r := b.where(b.gt(atol, 0.0), 0.0, size*eps)
			return b.Emit(Maximum, atol, b.mul(r, b.amax(s, false, -1)))
		}
	}
	return b.Emit(Maximum, atol, b.mul(number(relative, rtol), b.amax(s, false, -1)))
}

func inverseRows() []*Op {
	const tolerances = "*, Operand? atol=None, Operand? rtol=None, bool hermitian=False) -> Tensor"
	pinv := composite(LinalgPinv, "linalg.pinv", "(Tensor self, Operand? rcond=None, "+tolerances, TagNotMethod, pseudoInverse)
	pinv.Backward = backOf(func(b B, c *BackwardCall) []Value {
		out := make([]Value, len(TensorArgs(c.Op, c.Args)))
		if g := c.Grads[0]; g != nil && c.Needs[0] {
			out[0] = pinvBack(b, g, c.Outs[0], In[LinalgPinvArgs](c.Call).Self.Value())
		}
		return out
	})
	return []*Op{
		pinv,
		composite(Pinverse, "pinverse", "(Tensor self, float rcond=1e-15) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[PinverseArgs](c)
			return b.Emit(LinalgPinv, a.Self.Arg, a.Rcond.Arg)
		}),
		composite(LinalgMatrixRank, "linalg.matrix_rank", "(Tensor self, Operand? tol=None, "+tolerances, TagNotMethod|TagNoGrad,
			func(b B, c *Call) Value {
				a := In[LinalgMatrixRankArgs](c)
				m := a.Self.Meta()
				refuse(checkMatrix("linalg.matrix_rank", m, a.Hermitian.Bool()))
				atol, rtol := a.Atol, a.Rtol
				if !a.Tol.IsNone() { // the old name of atol
					atol, rtol = a.Tol, TensorArg{arg{Arg: 0.0}}
				}
				if sym.Is(numel(m.Shape), 0) {
					return b.full(m.Shape[:len(m.Shape)-2], 0, NewMeta(Int64, m.Device, nil))
				}
				s := singularValues(b, a.Self.Value(), a.Hermitian.Bool())
				return b.sum(b.gt(s, column2(b, rankBound(b, m, atol, rtol, s))), false, -1)
			}).and(TagComplex),
		lstsqRow(), lstsqKernelRow(),
	}
}

// pseudoInverse inverts the singular values above the bound.
func pseudoInverse(b B, c *Call) Value {
	a := In[LinalgPinvArgs](c)
	m := a.Self.Meta()
	refuse(checkMatrix("linalg.pinv", m, a.Hermitian.Bool()))
	rows, cols := matrixSize(m)
	if sym.Is(numel(m.Shape), 0) {
		return b.full(append(cloneInts(m.Shape[:len(m.Shape)-2]), cols, rows), 0, m)
	}
	atol, rtol := a.Atol, a.Rtol
	if !a.Rcond.IsNone() { // the old name of rtol
		atol, rtol = TensorArg{}, a.Rcond
	}
	if a.Hermitian.Bool() {
		lv := b.EmitN(LinalgEigh, a.Self.Arg)
		l, v := lv[0], lv[1]
		s := b.Emit(Abs, l)
		inv := b.where(b.gt(s, column2(b, rankBound(b, m, atol, rtol, s))), b.inv(l), 0.0)
		return dotm(b, b.mul(v, row2(b, inv)), mt(b, v))
	}
	f := b.EmitN(LinalgSvd, a.Self.Arg, false)
	inv := b.where(b.gt(f[1], column2(b, rankBound(b, m, atol, rtol, f[1]))), b.inv(f[1]), 0.0)
	return dotm(b, b.mul(mt(b, f[2]), row2(b, inv)), mt(b, f[0]))
}

// pinvBack is the derivative of P = pinv(A) where the rank is constant.
func pinvBack(b B, g, p, a Value) Value {
	gt, pt := mt(b, g), mt(b, p)
	k := dotm(b, p, gt) // n by n
	left := b.neg(mt(b, dotm(b, k, p)))
	right := dotm(b, b.sub(gt, dotm(b, a, k)), p, pt)
	ptk := dotm(b, pt, k)
	return b.add(b.add(left, right), b.sub(ptk, dotm(b, ptk, p, a)))
}

func lstsqRow() *Op {
	row := compositeN(LinalgLstsq, "linalg.lstsq",
		"(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, "+
			"Tensor singular_values)", TagNotMethod, func(b B, c *Call) []Value {
			a := In[LinalgLstsqArgs](c)
			m, y := a.Self.Meta(), a.B.Meta()
			if len(m.Shape) < 2 {
				refuse(Errorf("torch.linalg.lstsq: input must have at least 2 dimensions."))
			}
			if len(y.Shape) < 1 {
				refuse(Errorf("torch.linalg.lstsq: other must have at least 1 dimension."))
			}
			rows, cols := matrixSize(m)
			vector := vectorRight(&TensorMeta{Shape: m.Shape}, y)
			right := a.B.Value()
			if vector {
				right = column2(b, right)
			}
			if got, _ := matrixSize(right.TensorMeta()); sym.Ne(got, rows) {
				refuse(Errorf("torch.linalg.lstsq: input.size(-2) should match other.size(-2)"))
			}
			driver := a.Driver.Str()
			switch driver {
			case "", "gels", "gelsy", "gelsd", "gelss":
			default:
				refuse(Errorf("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"))
			}
			out := b.EmitN(LstsqSolution, a.Self.Arg, right, a.Rcond.Arg)
			none := func(d DType) Value { return b.full([]sym.Int{symZero}, 0, NewMeta(d, m.Device, nil)) }
			x, rank, values := out[0], out[1], out[2]
			flat := b.reshape(x, numel(x.TensorMeta().Shape))
			rest := b.slice(flat, 0, symZero, symZero) // none, but part of the tape
			if sym.Gt(rows, cols) && driver != "" && driver != "gelsy" {
				rest = b.sum(b.sq(b.sub(dotm(b, a.Self.Value(), x), right)), false, -2)
			}
			switch driver {
			case "gels":
				rank, values = none(Int64), none(m.DType)
			case "", "gelsy":
				values = none(m.DType)
			}
			if vector {
				x = b.squeeze(x, -1)
			}
			return []Value{x, rest, rank, values}
		})
	return row
}

// lstsqKernelRow solves by singular values; its derivative is that of pinv(A) B.
func lstsqKernelRow() *Op {
	return &Op{
		ID: LstsqSolution, Name: "_lstsq", Schema: "(Tensor self, Tensor b, float? rcond=None) -> (Tensor, Tensor, Tensor)",
		Tags: TagInternal | TagNotMethod,
		Meta: func(c *Call) ([]Result, error) {
			a := In[LstsqSolutionArgs](c)
			m, y := a.Self.Meta(), a.B.Meta()
			if err := checkMatrix("linalg.lstsq", m, false); err != nil {
				return nil, err
			}
			if m.DType != y.DType {
				return nil, Errorf(
					"torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype %s and other's dtype %s",
					m.DType.ScalarType(), y.DType.ScalarType(),
				)
			}
			rows, cols := matrixSize(m)
			_, k := matrixSize(y)
			batch, err := broadcast2(m.Shape[:len(m.Shape)-2], y.Shape[:len(y.Shape)-2])
			if err != nil {
				return nil, err
			}
			full := NewMeta(m.DType, m.Device, append(cloneInts(batch), cols, k))
			return []Result{full, m.of(Int64), m.batched(sym.Min(rows, cols))}, nil
		},
		Backward: backOf(func(b B, c *BackwardCall) []Value {
			a := In[LstsqSolutionArgs](c.Call)
			g := c.Grads[0]
			if g == nil {
				return []Value{nil, nil}
			}
			p := b.Emit(LinalgPinv, a.Self.Arg)
			gp := b.sumTo(dotm(b, g, mt(b, a.B.Value())), p.TensorMeta().Shape)
			return []Value{pinvBack(b, gp, p, a.Self.Value()), b.sumTo(dotm(b, mt(b, p), g), a.B.Meta().Shape)}
		}),
	}
}
