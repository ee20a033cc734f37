package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds norms, powers and products of matrices.

func matrixFunctionRows() []*Op {
	return append(matrixNormRows(), matrixProductRows()...)
}

func matrixNormRows() []*Op {
	return []*Op{
		composite(LinalgVectorNorm, "linalg.vector_norm",
			"(Tensor x, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor", TagNotMethod,
			func(b B, c *Call) Value {
				return b.Emit(Norm, c.Args...)
			}),
		composite(LinalgMatrixNorm, "linalg.matrix_norm",
			"(Tensor self, Scalar|str ord='fro', int[] dim=[-2,-1], bool keepdim=False, *, dtype? dtype=None) -> Tensor",
			TagNotMethod, func(b B, c *Call) Value {
				a := In[LinalgMatrixNormArgs](c)
				m := a.Self.Meta()
				if len(m.Shape) < 2 {
					refuse(Errorf("linalg.matrix_norm: The input tensor A must have at least 2 dimensions."))
				}
				if len(a.Dim.Nums()) != 2 {
					refuse(Errorf("linalg.matrix_norm: dim must be a 2-tuple. Got %s", ShapeText(a.Dim.Ints())))
				}
				return matrixNorm(b, b.cast(a.Self.Value(), a.DType.Or(m.DType)), a.Ord.Arg, a.Dim.Nums(), a.Keepdim.Bool())
			}),
		composite(
			LinalgNorm, "linalg.norm",
			"(Tensor self, Scalar|str? ord=None, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
			TagNotMethod, linalgNorm,
		),
		composite(LinalgCond, "linalg.cond", "(Tensor self, Scalar|str? p=None) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			a := In[LinalgCondArgs](c)
			m := a.Self.Meta()
			order, isNumber := 2.0, true
			switch p := a.P.Arg.(type) {
			case nil:
			case string:
				isNumber = false
			default:
				order = NumberOf(p)
			}
			if isNumber && math.Abs(order) == 2 {
				refuse(checkMatrix("linalg.cond", m, false))
				if sym.Is(numel(m.Shape[len(m.Shape)-2:]), 0) {
					return b.full(m.Shape[:len(m.Shape)-2], 0, m)
				}
				s := b.Emit(LinalgSvdvals, a.Self.Value())
				first, last := b.sel(s, -1, symZero), b.sel(s, -1, sym.Const(-1))
				if order < 0 {
					first, last = last, first
				}
				return b.div(first, last)
			}
			refuse(checkMatrix("linalg.cond", m, true))
			x := a.Self.Value()
			inverse := b.EmitN(InvEx, x)[0]
			dims := []int{-2, -1}
			return b.mul(matrixNorm(b, x, a.P.Arg, dims, false), matrixNorm(b, inverse, a.P.Arg, dims, false))
		}),
	}
}

// matrixNorm is a norm of the matrices that two dimensions hold.
func matrixNorm(b B, x Value, ord Arg, dims []int, keep bool) Value {
	m := x.TensorMeta()
	row, err := wrapDim(dims[0], len(m.Shape))
	refuse(err)
	col, err := wrapDim(dims[1], len(m.Shape))
	refuse(err)
	if row == col {
		refuse(Errorf("linalg.matrix_norm: dims must be different. Got (%d, %d)", dims[0], dims[1]))
	}
	if !m.DType.IsFloat() {
		refuse(Errorf("linalg.matrix_norm: Expected a floating point or complex tensor as input. Got %s", m.DType.ScalarType()))
	}
	name, isName := ord.(string)
	if isName && name == "fro" {
		return b.Emit(Norm, x, 2, []int{row, col}, keep)
	}
	order := 0.0
	if !isName {
		order = NumberOf(ord)
	}
	switch {
	case isName && name == "nuc", math.Abs(order) == 2:
		moved := b.Emit(Movedim, x, []int{row, col}, []int{-2, -1})
		s := b.Emit(LinalgSvdvals, moved)
		var out Value
		switch sm := s.TensorMeta(); {
		case isName:
			out = b.sum(s, false, -1)
		case order > 0 && sym.Is(sm.Shape[len(sm.Shape)-1], 0): // no values: zero
			out = b.sum(s, false, -1)
		case order > 0:
			out = b.amax(s, false, -1)
		default:
			out = b.Emit(Amin, s, []int{-1})
		}
		if keep {
			out = b.reshape(out, replaced(replaced(m.Shape, row, symOne), col, symOne)...)
		}
		return out
	case isName:
		refuse(Errorf("linalg.matrix_norm: Order %s not supported.", name))
	case math.Abs(order) == 1, math.IsInf(order, 0):
		inner, outer := row, col
		if math.IsInf(order, 0) {
			inner, outer = col, row
		}
		sums := b.Emit(Norm, x, 1, []int{inner}, keep)
		if !keep && inner < outer {
			outer--
		}
		pick := Amax
		if sm := sums.TensorMeta(); order > 0 && sym.Is(sm.Shape[outer], 0) { // no values: zero
			return b.sum(sums, keep, outer)
		}
		if order < 0 {
			pick = Amin
		}
		return b.Emit(pick, sums, []int{outer}, keep)
	}
	refuse(Errorf("linalg.matrix_norm: Order %v not supported.", order))
	return nil
}

// linalgNorm is a norm of a vector or of a matrix, as order and dim say.
func linalgNorm(b B, c *Call) Value {
	a := In[LinalgNormArgs](c)
	m := a.Self.Meta()
	x := a.Self.Value()
	if d, ok := a.DType.Arg.(DType); ok {
		x = b.cast(x, d)
	}
	if a.Ord.IsNone() {
		return b.Emit(Norm, x, 2, a.Dim.Arg, a.Keepdim.Arg)
	}
	dims := a.Dim.Nums()
	if a.Dim.IsNone() {
		if len(m.Shape) != 1 && len(m.Shape) != 2 {
			refuse(Errorf("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got %dD.", len(m.Shape)))
		}
		dims = seq(0, len(m.Shape))
	}
	if len(dims) == 2 {
		return matrixNorm(b, x, a.Ord.Arg, dims, a.Keepdim.Bool())
	}
	if name, isName := a.Ord.Arg.(string); isName {
		refuse(Errorf("linalg.norm: Order %s is a norm of matrices, but one dimension was given", name))
	}
	return b.Emit(Norm, x, a.Ord.Arg, dims, a.Keepdim.Arg)
}

func matrixProductRows() []*Op {
	power := func(id ID, name string) *Op {
		return composite(id, name, "(Tensor self, int n) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[SelfNArgs](c)
			return matrixPower(b, a.Self.Value(), a.N.Num())
		})
	}
	linalgPower := power(LinalgMatrixPower, "linalg.matrix_power").and(TagComplex)
	linalgPower.Tags |= TagNotMethod
	exponential := &Op{
		ID: MatrixExp, Name: "matrix_exp", Schema: selfOnly,
		Meta: func(c *Call) ([]Result, error) {
			m := In[MatrixExpArgs](c).Self.Meta()
			if err := checkMatrix("linalg.matrix_exp", m, true); err != nil {
				return nil, err
			}
			return one(NewMeta(m.DType, m.Device, m.Shape)), nil
		},
		Backward: backOf(func(b B, c *BackwardCall) []Value {
			a := In[MatrixExpArgs](c.Call)
			g := c.Grads[0]
			if g == nil {
				return []Value{nil}
			}
			// The exponential of [[A^T, G], [0, A^T]] holds the derivative.
			at := mt(b, a.Self.Value())
			n, _ := matrixSize(a.Self.Meta())
			top := b.cat(-1, at, g)
			bottom := b.cat(-1, b.Emit(ZerosLike, at), at)
			e := b.Emit(MatrixExp, b.cat(-2, top, bottom))
			return []Value{b.slice(b.slice(e, -2, symZero, n), -1, n, sym.Mul(sym.C(2), n))}
		}),
	}
	return []*Op{
		power(MatrixPower, "matrix_power"), linalgPower, exponential,
		composite(LinalgMatrixExp, "linalg.matrix_exp", "(Tensor self) -> Tensor", TagNotMethod,
			func(b B, c *Call) Value { return b.Emit(MatrixExp, c.Args...) }),
		composite(LinalgVecdot, "linalg.vecdot", "(Tensor x, Tensor y, *, int dim=-1) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			a := In[LinalgVecdotArgs](c)
			shape, err := broadcast2(a.X.Meta().Shape, a.Y.Meta().Shape)
			refuse(err)
			d, err := WrapDim(a.Dim.Int(), len(shape))
			refuse(err)
			x, y := b.conj(a.X.Value()), a.Y.Value()
			t := ResultType(x, y)
			return b.Emit(Sum, b.mul(b.cast(x, OpMath(t)), b.cast(y, OpMath(t))), []int{d}, false, t)
		}).and(TagComplex),
		composite(LinalgMultiDot, "linalg.multi_dot", "(Tensor[] tensors) -> Tensor", TagNotMethod, multiDot).and(TagComplex),
		composite(LinalgCross, "linalg.cross", "(Tensor self, Tensor other, *, int dim=-1) -> Tensor", TagNotMethod,
			func(b B, c *Call) Value {
				a := In[LinalgCrossArgs](c)
				x, y := a.Self.Meta(), a.Other.Meta()
				if len(x.Shape) != len(y.Shape) {
					refuse(Errorf("linalg.cross: inputs must have the same number of dimensions."))
				}
				d := a.Dim.of(a.Self)
				if sym.Ne(x.Shape[d], sym.C(3)) || sym.Ne(y.Shape[d], sym.C(3)) {
					refuse(Errorf("linalg.cross: inputs dimension %s must have length 3. Got %s and %s", a.Dim.Int(), x.Shape[d],
						y.Shape[d]))
				}
				return b.Emit(Cross, a.Self.Arg, a.Other.Arg, d)
			}).and(TagComplex),
	}
}

// matrixPower multiplies by squaring; a negative power is one of the inverse.
func matrixPower(b B, x Value, n int) Value {
	m := x.TensorMeta()
	refuse(squareMatrix("linalg.matrix_power", m))
	size, _ := matrixSize(m)
	switch {
	case n == 0:
		return b.Emit(Copy, x, b.Emit(Eye, size, nil, m.DType)) // of x in name: its gradient is zero
	case n < 0:
		x, n = b.Emit(LinalgInv, x), -n
	}
	if n == 1 {
		return b.Emit(Clone, x)
	}
	var out Value
	for square := x; ; square = dotm(b, square, square) {
		if n&1 == 1 {
			if out == nil {
				out = square
			} else {
				out = dotm(b, out, square)
			}
		}
		if n >>= 1; n == 0 {
			return out
		}
	}
}

// squareMatrix refuses what is no batch of square matrices, of any type.
func squareMatrix(name string, m *TensorMeta) error {
	f := *m
	f.DType = Float32
	return checkMatrix(name, &f, true)
}

// multiDot multiplies a chain of matrices in the cheapest order.
func multiDot(b B, c *Call) Value {
	xs := append([]Value{}, In[LinalgMultiDotArgs](c).Tensors.Values()...)
	if len(xs) < 2 {
		refuse(Errorf("multi_dot(): expected at least 2 tensors but got %d", len(xs)))
	}
	rank := func(i int) int { return len(xs[i].TensorMeta().Shape) }
	last := len(xs) - 1
	firstVector, lastVector := rank(0) == 1, rank(last) == 1
	if firstVector {
		xs[0] = b.unsqueeze(xs[0], 0)
	}
	if lastVector {
		xs[last] = b.unsqueeze(xs[last], 1)
	}
	sizes := make([]int64, len(xs)+1)
	for i, x := range xs {
		m := x.TensorMeta()
		if len(m.Shape) != 2 {
			refuse(Errorf("multi_dot(): tensor %d must be 2D but got %dD", i, len(m.Shape)))
		}
		if i > 0 && sym.Ne(m.Shape[0], xs[i-1].TensorMeta().Shape[1]) {
			refuse(Errorf(
				"multi_dot(): tensors %d and %d with shapes %s and %s cannot be multiplied", i-1, i,
				ShapeText(xs[i-1].TensorMeta().Shape), ShapeText(m.Shape),
			))
		}
		sizes[i], sizes[i+1] = sym.Force(m.Shape[0]), sym.Force(m.Shape[1])
	}
	cuts := chainOrder(sizes)
	var product func(i, j int) Value
	product = func(i, j int) Value {
		if i == j {
			return xs[i]
		}
		return b.mm(product(i, cuts[i][j]), product(cuts[i][j]+1, j))
	}
	out := product(0, last)
	if lastVector {
		out = b.squeeze(out, 1)
	}
	if firstVector {
		out = b.squeeze(out, 0)
	}
	return out
}

// chainOrder says where to cut the product of matrices i..j: the cheapest
// order by the classical table over all i and j.
func chainOrder(sizes []int64) [][]int {
	n := len(sizes) - 1
	cost, cut := make([][]int64, n), make([][]int, n)
	for i := range cost {
		cost[i], cut[i] = make([]int64, n), make([]int, n)
	}
	for span := 1; span < n; span++ {
		for i := 0; i+span < n; i++ {
			j := i + span
			cost[i][j] = math.MaxInt64
			for k := i; k < j; k++ {
				if total := cost[i][k] + cost[k+1][j] + sizes[i]*sizes[k+1]*sizes[j+1]; total < cost[i][j] {
					cost[i][j], cut[i][j] = total, k
				}
			}
		}
	}
	return cut
}
