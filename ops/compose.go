package ops

import (
	"math"
	"strconv"

	"tcdbg/ops/sym"
)

// This file holds operators that are compositions of others: stacking,
// products, differences, and reductions of two kinds at once.

func composeRows() []*Op {
	rows := append(stackRows(), productRows()...)
	return append(append(rows, sequenceRows()...), pairReductionRows()...)
}

func atLeast(b B, x Value, n int) Value {
	m := x.TensorMeta()
	switch k := len(m.Shape); {
	case k >= n:
		return x
	case n == 1:
		return view2(b, x, []sym.Int{symOne})
	case k == 0:
		return view2(b, x, []sym.Int{symOne, symOne, symOne}[:n])
	case k == 1 && n == 2:
		return b.unsqueeze(x, 0)
	case k == 1:
		return b.unsqueeze(b.unsqueeze(x, 0), 2)
	}
	return b.unsqueeze(x, 2)
}

func stackRows() []*Op {
	stack := func(id ID, name string, low int, dim func(first Value) int) *Op {
		return composite(id, name, "(Tensor[] tensors) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			a := In[TensorsArgs](c)
			if len(a.Tensors.Values()) == 0 {
				refuse(Errorf("%s expects a non-empty TensorList", name))
			}
			var xs []Value
			for _, x := range a.Tensors.Values() {
				xs = append(xs, atLeast(b, x, low))
			}
			return b.cat(dim(xs[0]), xs...)
		})
	}
	at := func(d int) func(Value) int { return func(Value) int { return d } }
	least := func(id ID, n int) *Op {
		name := "atleast_" + strconv.Itoa(n) + "d"
		return composite(id, name, selfOnly, TagNotMethod|TagMaybeView, func(b B, c *Call) Value { return atLeast(b, In[SelfArgs](c).Self.Value(), n) })
	}
	split := func(id ID, name string, low int, dim func(rank int) int) *Op {
		return compositeN(id, name, "(Tensor self, int[] indices_or_sections) -> Tensor[]", TagMaybeView, func(b B, c *Call) []Value {
			a := In[SelfIndicesOrSectionsArgs](c)
			n := len(a.Self.Meta().Shape)
			if n < low {
				refuse(Errorf("torch.%s requires a tensor with at least %d dimension, but got a tensor with %d dimensions!", name, low, n))
			}
			d := dim(n)
			if list := a.IndicesOrSections.Nums(); len(list) == 1 {
				if size := sym.Force(a.Self.Meta().Shape[d]); list[0] == 0 || size%int64(list[0]) != 0 {
					refuse(Errorf(
						"torch.%s attempted to split along dimension %d, but the size of the dimension %d is not divisible by the split_size %d!",
						name, d, size, list[0],
					))
				}
			}
			return b.EmitN(TensorSplit, a.Self.Value(), a.IndicesOrSections.Arg, d)
		})
	}
	return []*Op{
		stack(Hstack, "hstack", 1, func(x Value) int { return min(len(x.TensorMeta().Shape)-1, 1) }).and(TagComplex),
		stack(Vstack, "vstack", 2, at(0)).and(TagComplex), stack(Dstack, "dstack", 3, at(2)).and(TagComplex),
		composite(ColumnStack, "column_stack", "(Tensor[] tensors) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			var xs []Value
			for _, x := range In[ColumnStackArgs](c).Tensors.Values() {
				if m := x.TensorMeta(); len(m.Shape) <= 1 {
					x = b.reshape(x, numel(m.Shape), symOne)
				}
				xs = append(xs, x)
			}
			return b.cat(1, xs...)
		}).and(TagComplex),
		least(Atleast1d, 1).and(TagComplex), least(Atleast2d, 2).and(TagComplex), least(Atleast3d, 3).and(TagComplex),
		compositeN(TensorSplit, "tensor_split", "(Tensor self, int[] indices_or_sections, int dim=0) -> Tensor[]", TagMaybeView, tensorSplit).and(TagComplex),
		split(Hsplit, "hsplit", 1, func(n int) int { return min(n-1, 1) }).and(TagComplex),
		split(Vsplit, "vsplit", 2, func(int) int { return 0 }).and(TagComplex),
		split(Dsplit, "dsplit", 3, func(int) int { return 2 }).and(TagComplex),
		composite(BlockDiag, "block_diag", "(Tensor[] tensors) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			rows, cols := symZero, symZero
			var xs, out []Value
			for _, x := range In[BlockDiagArgs](c).Tensors.Values() {
				x = atLeast(b, x, 2)
				xs = append(xs, x)
				cols = sym.Add(cols, x.TensorMeta().Shape[1])
			}
			at := symZero
			for _, x := range xs {
				w := x.TensorMeta().Shape[1]
				out = append(out, b.Emit(ConstantPadNd, x, []sym.Int{at, sym.Sub(cols, sym.Add(at, w))}))
				at = sym.Add(at, w)
			}
			_ = rows
			return b.cat(0, out...)
		}).and(TagComplex),
		composite(CartesianProd, "cartesian_prod", "(Tensor[] tensors) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			a := In[CartesianProdArgs](c)
			if len(a.Tensors.Values()) == 1 {
				return b.Emit(Alias, a.Tensors.Values()[0])
			}
			var flat []Value
			for _, g := range b.EmitN(Meshgrid, a.Tensors.Values(), "ij") {
				flat = append(flat, b.reshape(g, numel(g.TensorMeta().Shape)))
			}
			return b.Emit(Stack, flat, 1)
		}).and(TagComplex),
	}
}

func tensorSplit(b B, c *Call) []Value {
	a := In[TensorSplitArgs](c)
	x := a.Self.Value()
	if len(a.Self.Meta().Shape) == 0 {
		refuse(Errorf("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"))
	}
	d := a.Dim.of(a.Self)
	n := sym.Force(a.Self.Meta().Shape[d])
	var cuts []int64
	if list := a.IndicesOrSections.Nums(); len(list) == 1 {
		k := int64(list[0])
		if k <= 0 {
			refuse(Errorf("number of sections must be larger than 0, got %d", k))
		}
		at := int64(0)
		for i := range k - 1 {
			at += n / k
			if i < n%k {
				at++
			}
			cuts = append(cuts, at)
		}
	} else {
		for _, v := range list {
			cuts = append(cuts, int64(v))
		}
	}
	var out []Value
	from := int64(0)
	for _, to := range append(cuts, n) {
		out = append(out, b.slice(x, d, sym.Const(from), sym.Const(to)))
		from = to
	}
	return out
}

func productRows() []*Op {
	mixed := func(b B, prod, x Value, beta, alpha Arg) Value {
		d := prod.TensorMeta().DType
		p := timesAlpha(b, prod, numberAs(d, alpha))
		if IsZero(numberAs(d, beta)) { // NaN in self must not show, its gradient is zero
			return b.add(b.where(b.full(nil, 0, NewMeta(Bool, CPU, nil)), x, scalarLike(x, 0)), p)
		}
		return b.add(timesAlpha(b, x, numberAs(d, beta)), p)
	}
	const tail = ", *, Scalar beta=1, Scalar alpha=1) -> Tensor"
	return []*Op{
		composite(Addbmm, "addbmm", "(Tensor self, Tensor batch1, Tensor batch2"+tail, 0, func(b B, c *Call) Value {
			a := In[AddbmmArgs](c)
			d := a.Batch1.Meta().DType
			n, known := a.Batch1.Meta().Shape[0].IsConst()
			if known && n > 0 && (OpMath(d) != d || n <= addedAtMost) {
				return addedInTurn(b, c, int(n))
			}
			p := b.sum(b.Emit(Bmm, a.Batch1.Value(), a.Batch2.Value()), false, 0)
			return mixed(b, p, a.Self.Value(), a.Beta.Arg, a.Alpha.Arg)
		}).and(TagHasInPlace | TagComplex),
		composite(Addmv, "addmv", "(Tensor self, Tensor mat, Tensor vec"+tail, 0, func(b B, c *Call) Value {
			a := In[AddmvArgs](c)
			return mixed(b, b.Emit(Mv, a.Mat.Value(), a.Vec.Value()), a.Self.Value(), a.Beta.Arg, a.Alpha.Arg)
		}).and(TagHasInPlace | TagComplex),
		addrRow("(Tensor self, Tensor vec1, Tensor vec2"+tail, mixed),
		composite(Inner, "inner", "(Tensor self, Tensor other) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[InnerArgs](c)
			m, n := a.Self.Meta(), a.Other.Meta()
			if len(m.Shape) == 0 || len(n.Shape) == 0 {
				return b.mul(a.Self.Value(), a.Other.Value())
			}
			k := m.Shape[len(m.Shape)-1]
			if sym.Ne(k, n.Shape[len(n.Shape)-1]) {
				refuse(Errorf(
					"inner() the last dimension must match on both input tensors but got shapes %s and %s",
					ShapeText(m.Shape), ShapeText(n.Shape),
				))
			}
			rows, cols := m.Shape[:len(m.Shape)-1], n.Shape[:len(n.Shape)-1]
			p := b.mm(b.reshape(a.Self.Value(), numel(rows), k), b.t(b.reshape(a.Other.Value(), numel(cols), k)))
			return b.reshape(p, append(cloneInts(rows), cols...)...)
		}).and(TagComplex),
		composite(Vdot, "vdot", "(Tensor self, Tensor other) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[VdotArgs](c)
			return b.Emit(Dot, b.conj(a.Self.Value()), a.Other.Value())
		}).and(TagComplex),
		composite(Kron, "kron", "(Tensor self, Tensor other) -> Tensor", 0, kron).and(TagComplex),
		composite(Trace, "trace", selfOnly, 0, func(b B, c *Call) Value {
			a := In[TraceArgs](c)
			if n := len(a.Self.Meta().Shape); n != 2 {
				refuse(Errorf("trace: expected a matrix, but got tensor with dim %d", n))
			}
			return b.sum(b.Emit(Diagonal, a.Self.Value()), false)
		}).and(TagComplex),
		composite(MT, "mT", selfOnly, TagView|TagInternal, func(b B, c *Call) Value {
			a := In[MTArgs](c)
			if len(a.Self.Meta().Shape) < 2 {
				refuse(Errorf("tensor.mT is only supported on matrices or batches of matrices. Got %d-D tensor.", len(a.Self.Meta().Shape)))
			}
			return b.transpose(a.Self.Value(), -2, -1)
		}),
		composite(Cross, "cross", "(Tensor self, Tensor other, int? dim=None) -> Tensor", 0, cross).and(TagComplex),
		composite(Dist, "dist", "(Tensor self, Tensor other, Scalar p=2) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[DistArgs](c)
			return b.Emit(Norm, b.sub(a.Self.Value(), a.Other.Value()), a.P.Arg)
		}).and(TagComplex),
		composite(Diagflat, "diagflat", "(Tensor self, int offset=0) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[DiagflatArgs](c)
			return b.Emit(DiagEmbed, b.reshape(a.Self.Value(), numel(a.Self.Meta().Shape)), a.Offset.Arg)
		}).and(TagComplex),
		composite(Renorm, "renorm", "(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[RenormArgs](c)
			m := a.Self.Meta()
			if len(m.Shape) < 2 {
				refuse(Errorf("renorm: input needs at least 2 dimensions, got %d dimensions", len(m.Shape)))
			}
			d := a.Dim.of(a.Self)
			dims := without(seq(0, len(m.Shape)), d)
			n := b.Emit(Norm, b.cast(a.Self.Value(), OpMath(m.DType)), a.P.Arg, dims, true)
			factor := b.where(b.gt(n, a.Maxnorm.Arg), b.div(a.Maxnorm.Arg, b.add(n, 1e-7)), 1.0)
			return b.mul(a.Self.Value(), b.cast(factor, m.DType))
		}).and(TagHasInPlace),
		composite(Cov, "cov", "(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor", 0, covariance).and(TagComplex),
		composite(Corrcoef, "corrcoef", selfOnly, 0, func(b B, c *Call) Value {
			v := b.Emit(Cov, In[CorrcoefArgs](c).Self.Value())
			if len(v.TensorMeta().Shape) == 0 {
				return b.div(v, v)
			}
			sd := b.sqrt(b.Emit(Diagonal, v))
			r := b.div(b.div(v, b.unsqueeze(sd, 1)), b.unsqueeze(sd, 0))
			return b.Emit(Clamp, r, -1.0, 1.0)
		}).and(TagComplex),
	}
}

// addrRow is beta*self + alpha*(vec1 outer vec2); bools are joined by and and or.
func addrRow(schema string, mixed func(b B, prod, x Value, beta, alpha Arg) Value) *Op {
	row := composite(Addr, "addr", schema, 0, func(b B, c *Call) Value {
		a := In[AddOuterArgs](c)
		d := ResultType(a.Self.Arg, a.Vec1.Arg, a.Vec2.Arg)
		if d == Bool {
			p := b.mul(b.Emit(Outer, a.Vec1.Value(), a.Vec2.Value()), a.Alpha.Float() != 0)
			return b.or(b.mul(a.Self.Value(), a.Beta.Float() != 0), p)
		}
		x := timesAlpha(b, a.Vec1.Value(), roundedTo(d, a.Alpha.Arg)) // each step rounds, the numbers too
		return mixed(b, b.Emit(Outer, x, a.Vec2.Value()), a.Self.Value(), roundedTo(d, a.Beta.Arg), symOne)
	}).and(TagHasInPlace | TagComplex)
	row.Backward = backOf(func(b B, c *BackwardCall) []Value {
		a := In[AddOuterArgs](c.Call)
		out := []Value{nil, nil, nil}
		g := c.Grads[0]
		if g == nil {
			return out
		}
		if c.Needs[0] {
			out[0] = b.back(timesAlpha(b, g, a.Beta.Arg), a.Self.Meta())
		}
		if c.Needs[1] {
			out[1] = timesAlpha(b, b.Emit(Mv, g, a.Vec2.Value()), a.Alpha.Arg)
		}
		if c.Needs[2] {
			out[2] = timesAlpha(b, b.Emit(Mv, b.t(g), a.Vec1.Value()), a.Alpha.Arg)
		}
		return out
	})
	return row
}

// addedAtMost is the batch up to which addbmm adds product after product, as
// PyTorch does, though its numbers need no such order.
const addedAtMost = 16

// addedInTurn is addbmm as PyTorch sums it: it rounds after each product.
func addedInTurn(b B, c *Call, n int) Value {
	a := In[AddbmmArgs](c)
	out, beta := a.Self.Value(), a.Beta.Arg
	for i := range n {
		x, y := b.sel(a.Batch1.Value(), 0, sym.C(i)), b.sel(a.Batch2.Value(), 0, sym.C(i))
		out, beta = b.Emit(Addmm, out, x, y, beta, a.Alpha.Arg), symOne
	}
	return out
}

func kron(b B, c *Call) Value {
	a := In[KronArgs](c)
	m, n := a.Self.Meta().Shape, a.Other.Meta().Shape
	rank := max(len(m), len(n))
	var sx, sy, out []sym.Int
	for i := range rank {
		p, q := symOne, symOne
		if j := i - (rank - len(m)); j >= 0 {
			p = m[j]
		}
		if j := i - (rank - len(n)); j >= 0 {
			q = n[j]
		}
		sx, sy, out = append(sx, p, symOne), append(sy, symOne, q), append(out, sym.Mul(p, q))
	}
	return b.reshape(b.mul(b.reshape(a.Self.Value(), sx...), b.reshape(a.Other.Value(), sy...)), out...)
}

func cross(b B, c *Call) Value {
	a := In[CrossArgs](c)
	x, y := a.Self.Value(), a.Other.Value()
	shape, err := broadcast2(a.Self.Meta().Shape, a.Other.Meta().Shape)
	refuse(err)
	x, y = expandIf(b, x, shape), expandIf(b, y, shape)
	d := -1
	if !a.Dim.IsNone() {
		d, err = WrapDim(a.Dim.Int(), len(shape))
		refuse(err)
	} else {
		for i, s := range shape {
			if sym.Eq(s, sym.C(3)) {
				d = i
				break
			}
		}
	}
	if d < 0 || sym.Ne(shape[d], sym.C(3)) {
		refuse(Errorf("linalg.cross: inputs dimension %d must have length 3. Got %s and %s", d, shape[max(d, 0)], shape[max(d, 0)]))
	}
	turn := func(v Value, k int) Value { return b.Emit(Roll, v, k, d) }
	return b.sub(b.mul(turn(x, -1), turn(y, 1)), b.mul(turn(x, 1), turn(y, -1)))
}

func sequenceRows() []*Op {
	return []*Op{
		composite(Diff, "diff", "(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[DiffArgs](c)
			if len(a.Self.Meta().Shape) == 0 {
				refuse(Errorf("diff expects input to be at least one-dimensional"))
			}
			d := a.Dim.of(a.Self)
			if sym.Is(a.N.Int(), 0) { // what stands before and after does not count then
				return b.Emit(Clone, a.Self.Value())
			}
			var parts []Value
			for _, v := range []Value{a.Prepend.Value(), a.Self.Value(), a.Append.Value()} {
				if v != nil {
					parts = append(parts, v)
				}
			}
			x := parts[0]
			if len(parts) > 1 {
				x = b.cat(d, parts...)
			}
			if a.N.Num() < 0 {
				refuse(Errorf("order must be non-negative but got %d", a.N.Num()))
			}
			for range a.N.Num() {
				n := x.TensorMeta().Shape[d]
				if sym.Is(n, 0) {
					break
				}
				hi, lo := b.slice(x, d, symOne, n), b.slice(x, d, symZero, sym.Sub(n, symOne))
				if x.TensorMeta().DType == Bool {
					x = b.Emit(LogicalXor, hi, lo)
				} else {
					x = b.sub(hi, lo)
				}
			}
			return x
		}).and(TagComplex),
		composite(Trapezoid, "trapezoid", "(Tensor y, Tensor? x=None, *, Scalar dx=1, int dim=-1) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			areas, d := trapezoids(b, c)
			return b.div(b.sum(areas, false, d), 2.0)
		}).and(TagComplex),
		composite(CumulativeTrapezoid, "cumulative_trapezoid", "(Tensor y, Tensor? x=None, *, Scalar dx=1, int dim=-1) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			areas, d := trapezoids(b, c)
			return b.div(b.Emit(Cumsum, areas, d), 2.0)
		}).and(TagComplex),
		{ID: Argwhere, Name: "argwhere", Schema: selfOnly, Tags: TagNoGrad | TagDataDependent | TagComplex, Meta: dataDependent},
		logcumsumexpRow(),
		composite(
			TrilIndices, "tril_indices", "(int row, int col, int offset=0, "+factoryTail,
			TagFactory|TagNotMethod|TagNoGrad, triangleIndices(Tril),
		),
		composite(
			TriuIndices, "triu_indices", "(int row, int col, int offset=0, "+factoryTail,
			TagFactory|TagNotMethod|TagNoGrad, triangleIndices(Triu),
		),
		composite(Logspace, "logspace", "(Scalar start, Scalar end, int steps, Scalar base=10.0, "+factoryTail, TagFactory|TagNotMethod|TagNoGrad, func(b B, c *Call) Value {
			a := In[LogspaceArgs](c)
			from, to, d := a.Start.Float(), a.End.Float(), a.DType.Or(Float32)
			if d.IsInt() { // the bounds are converted first
				from, to = math.Trunc(from), math.Trunc(to)
			}
			if n, known := a.Steps.Int().IsConst(); !known || n != 1 { // a single step is not rounded before
				from, to = asStored(d, from), asStored(d, to)
			}
			e := b.Emit(Linspace, from, to, a.Steps.Arg, Float64)
			return b.cast(b.pow(a.Base.Float(), e), d)
		}),
		composite(ScalarTensor, "scalar_tensor", "(Scalar s, "+factoryTail, TagFactory|TagNotMethod|TagNoGrad, func(b B, c *Call) Value {
			a := In[ScalarTensorArgs](c)
			return b.Emit(Full, []sym.Int{}, a.S.Arg, a.DType.Or(Float32), a.Device.Or(CPU))
		}).and(TagComplex),
		composite(Vander, "vander", "(Tensor x, int? n=None, bool increasing=False) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			a := In[VanderArgs](c)
			x, m := a.X.Value(), a.X.Meta()
			if len(m.Shape) == 0 {
				x = b.unsqueeze(x, 0)
			}
			if !isFloaty(m.DType) {
				x = b.cast(x, Int64)
			}
			m = x.TensorMeta()
			n := m.Shape[len(m.Shape)-1]
			if !a.N.IsNone() {
				n = a.N.Int()
			}
			e := b.arange(n, m)
			if !a.Increasing.Bool() {
				e = b.Emit(Flip, e, []int{0})
			}
			return b.pow(b.unsqueeze(x, len(m.Shape)), b.cast(e, m.DType))
		}).and(TagComplex),
	}
}

func trapezoids(b B, c *Call) (areas Value, d int) {
	a := In[TrapezoidArgs](c)
	y := a.Y.Value()
	d = a.Dim.of(a.Y)
	n := a.Y.Meta().Shape[d]
	sum := b.add(b.slice(y, d, symOne, n), b.slice(y, d, symZero, sym.Sub(n, symOne)))
	x := a.X.Value()
	if x == nil {
		return b.mul(sum, a.Dx.Arg), d
	}
	xm := a.X.Meta()
	xd := len(xm.Shape) - 1
	if len(xm.Shape) == len(a.Y.Meta().Shape) {
		xd = d
	}
	k := xm.Shape[xd]
	dx := b.sub(b.slice(x, xd, symOne, k), b.slice(x, xd, symZero, sym.Sub(k, symOne)))
	if len(xm.Shape) == 1 {
		dx = alongOnly(b, dx, d, len(a.Y.Meta().Shape))
	}
	return b.mul(sum, dx), d
}

func triangleIndices(tri ID) func(b B, c *Call) Value {
	return func(b B, c *Call) Value {
		a := In[TrilIndicesArgs](c)
		rows, cols, off := a.Row.Num(), a.Col.Num(), a.Offset.Num()
		var r, q []int
		for i := range rows {
			for j := range cols {
				if tri == Tril && j-i <= off || tri == Triu && j-i >= off {
					r, q = append(r, i), append(q, j)
				}
			}
		}
		d := a.DType.Or(Int64)
		n := len(r)
		out := b.Emit(Zeros, []int{2, n}, d)
		if n == 0 {
			return out
		}
		parts := make([]Value, 0, 2*n)
		for _, v := range append(r, q...) {
			parts = append(parts, b.Emit(Full, []sym.Int{symOne}, v, d))
		}
		return b.view(b.cat(0, parts...), sym.C(2), sym.C(n))
	}
}

func pairReductionRows() []*Op {
	return []*Op{
		compositeN(Aminmax, "aminmax", "(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", 0, func(b B, c *Call) []Value {
			a := In[AminmaxArgs](c)
			dims := []sym.Int{}
			if !a.Dim.IsNone() {
				a.Dim.of(a.Self)
			}
			if m := a.Self.Meta(); sym.Is(numel(m.Shape), 0) && (a.Dim.IsNone() || len(m.Shape) > 0 && sym.Is(m.Shape[a.Dim.of(a.Self)], 0)) {
				if a.Dim.IsNone() {
					refuse(Errorf("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."))
				}
				refuse(IndexErrorf("aminmax: Expected reduction dim %d to have non-zero size.", a.Dim.of(a.Self)))
			}
			if !a.Dim.IsNone() && len(a.Self.Meta().Shape) > 0 {
				dims = []sym.Int{a.Dim.Int()}
			}
			return []Value{b.Emit(Amin, a.Self.Value(), dims, a.Keepdim.Arg), b.Emit(Amax, a.Self.Value(), dims, a.Keepdim.Arg)}
		}),
		stdMeanRow(),
		composite(Nanmean, "nanmean", dimsDSchema, 0, func(b B, c *Call) Value {
			a := In[NanmeanArgs](c)
			ok := b.not(b.Emit(Isnan, a.Self.Value()))
			n := b.Emit(Sum, ok, a.Dim.Arg, a.Keepdim.Arg)
			s := b.Emit(Nansum, c.Args...)
			return b.div(s, b.cast(n, s.TensorMeta().DType))
		}),
		middleRow(Median, "median", MedianDim),
		composite(Tensordot, "tensordot", "(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			a := In[TensordotArgs](c)
			m, n := len(a.Self.Meta().Shape), len(a.Other.Meta().Shape)
			dx, dy := a.DimsSelf.Nums(), a.DimsOther.Nums()
			if len(dx) != len(dy) {
				refuse(Errorf("both dimension lists should have same length"))
			}
			label := func(i int) byte { return byte('a' + i) }
			x, y := make([]byte, m), make([]byte, n)
			for i := range x {
				x[i] = label(i)
			}
			for i := range y {
				y[i] = label(m + i)
			}
			for i := range dx {
				y[(dy[i]+n)%n] = x[(dx[i]+m)%m]
			}
			var out []byte
			for _, l := range x {
				if indexByte(y, l) < 0 {
					out = append(out, l)
				}
			}
			for _, l := range y {
				if indexByte(x, l) < 0 {
					out = append(out, l)
				}
			}
			return b.Emit(Einsum, string(x)+","+string(y)+"->"+string(out), []Value{a.Self.Value(), a.Other.Value()})
		}).and(TagComplex),
	}
}

func stdMeanRow() *Op {
	row := compositeN(StdMean, "std_mean", "(Tensor self, int[]? dim=None, *, Scalar? correction=1, bool keepdim=False) -> (Tensor, Tensor)", TagNotMethod, func(b B, c *Call) []Value {
		a := In[StdMeanArgs](c)
		v := b.Emit(Std, c.Args...)
		return []Value{v, b.Emit(Mean, a.Self.Value(), a.Dim.Arg, a.Keepdim.Arg)}
	}).and(TagComplex | TagComplexGrad)
	row.Backward = backOf(func(b B, c *BackwardCall) []Value {
		g := c.Grads[0]
		if g != nil {
			g = ofVariance(b, g, c.Outs[0])
		}
		return momentsBack(b, c, g)
	})
	return row
}

// logcumsumexpRow has its derivative in logarithms too: of what is positive and
// of what is negative in the gradient.
func logcumsumexpRow() *Op {
	row := composite(Logcumsumexp, "logcumsumexp", "(Tensor self, int dim) -> Tensor", 0, nil)
	row.Decompose = decomp(func(b B, c *Call) Value {
		a := In[LogcumsumexpArgs](c)
		if len(a.Self.Meta().Shape) == 0 {
			return b.Emit(Clone, a.Self.Value())
		}
		d := a.Dim.of(a.Self)
		n := int(sym.Force(a.Self.Meta().Shape[d]))
		// Runs of 2, 4, 8, ... terms: sums relative to one maximum would lose
		// all that lies a hundred below it. They are rounded once, since the
		// derivative takes differences of them.
		x := b.cast(a.Self.Value(), Float64)
		for run := 1; run < n; run *= 2 {
			late := b.Emit(Logaddexp, b.slice(x, d, sym.C(run), sym.C(n)), b.slice(x, d, symZero, sym.C(n-run)))
			x = b.cat(d, b.slice(x, d, symZero, sym.C(run)), late)
		}
		if n < 2 {
			return b.Emit(Clone, a.Self.Value())
		}
		return b.cast(x, a.Self.Meta().DType)
	})
	row.Meta = func(c *Call) ([]Result, error) {
		a := In[LogcumsumexpArgs](c)
		m := a.Self.Meta()
		if _, err := WrapDim(a.Dim.Int(), len(m.Shape)); err != nil {
			return nil, err
		}
		if !isFloaty(m.DType) {
			return nil, &Error{
				Kind: "NotImplementedError",
				Msg:  `"logcumsumexp_out_cpu" not implemented for '` + m.DType.ScalarType() + "'",
			}
		}
		return one(NewMeta(m.DType, m.Device, m.Shape)), nil
	}
	row.Backward = backOf(func(b B, c *BackwardCall) []Value {
		a := In[LogcumsumexpArgs](c.Call)
		g := c.Grads[0]
		if g == nil || len(a.Self.Meta().Shape) == 0 {
			return []Value{g}
		}
		d := []int{a.Dim.of(a.Self)}
		size := b.log(b.Emit(Abs, g))
		part := func(side Value) Value {
			v := b.Emit(Flip, b.sub(b.where(side, size, -inf), b.Emit(Logcumsumexp, a.Self.Value(), d[0])), d)
			return b.exp(b.add(b.Emit(Flip, b.Emit(Logcumsumexp, v, d[0]), d), a.Self.Value()))
		}
		return []Value{b.sub(part(b.gt(g, 0.0)), part(b.lt(g, 0.0)))}
	})
	return row
}
