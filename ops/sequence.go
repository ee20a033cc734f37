package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds operators along a dimension: differences, gradients and areas, runs and
// pieces, rows and triangles of numbers.

func sequenceRows() []*Op {
	return []*Op{
		composite(Diff, "diff", "(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", 0,
			func(b B, c *Call) Value {
				a := In[DiffArgs](c)
				if len(a.Self.Meta().Shape) == 0 {
					refuse(Errorf("diff expects input to be at least one-dimensional"))
				}
				d := a.Dim.of(a.Self)
				if sym.Is(a.N.Int(), 0) { // what comes before and after does not count then
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
		composite(Trapezoid, "trapezoid", "(Tensor y, Tensor? x=None, *, Scalar dx=1, int dim=-1) -> Tensor", TagNotMethod,
			func(b B, c *Call) Value {
				areas, d := trapezoids(b, c)
				return b.div(b.sum(areas, false, d), 2.0)
			}).and(TagComplex),
		composite(CumulativeTrapezoid, "cumulative_trapezoid", "(Tensor y, Tensor? x=None, *, Scalar dx=1, int dim=-1) -> Tensor",
			TagNotMethod, func(b B, c *Call) Value {
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
		composite(Logspace, "logspace", "(Scalar start, Scalar end, int steps, Scalar base=10.0, "+factoryTail,
			TagFactory|TagNotMethod|TagNoGrad, func(b B, c *Call) Value {
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

func runRows() []*Op {
	return []*Op{
		compositeN(Gradient, "gradient", "(Tensor self, *, Scalar? spacing=None, float[]? spacings=None, "+
			"Tensor[]? coordinates=None, int[]? dim=None, int edge_order=1) -> Tensor[]", TagNotMethod, gradient).and(TagComplex),
		composite(ChunkCat, "_chunk_cat", "(Tensor[] tensors, int dim, int num_chunks) -> Tensor", TagInternal, chunkCat).and(TagComplex),
		composite(
			SegmentReduce, "segment_reduce",
			"(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, "+
				"bool unsafe=False, Scalar? initial=None) -> Tensor",
			TagNotMethod, segmentReduce,
		),
	}
}

// gradient estimates derivatives by central differences inside and one-sided
// ones of the given order on the edges.
func gradient(b B, c *Call) []Value {
	a := In[GradientArgs](c)
	m := a.Self.Meta()
	dims := a.Dim.of(a.Self)
	if ds := a.Dim.Nums(); len(ds) > 0 {
		dims = nil
		for _, d := range ds {
			w, err := wrapDim(d, len(m.Shape))
			refuse(err)
			dims = append(dims, w)
		}
	}
	order := a.EdgeOrder.Num()
	if order != 1 && order != 2 {
		refuse(Errorf("torch.gradient only supports edge_order=1 and edge_order=2."))
	}
	steps, _ := a.Spacings.Arg.([]float64)
	coords := a.Coordinates.Values()
	for i, n := range map[string]int{"spacing": len(steps), "coordinates": len(coords)} {
		if n > 0 && n != len(dims) {
			refuse(Errorf(
				"torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same "+
					"length, but got a %s argument of length %d and a dim argument of length %d.",
				i, n, len(dims),
			))
		}
	}
	out := make([]Value, len(dims))
	for i, d := range dims {
		if n := m.Shape[d]; sym.Lt(n, sym.C(order+1)) {
			refuse(Errorf("torch.gradient expected each dimension size to be at least edge_order+1"))
		}
		var h Arg = 1.0
		switch {
		case len(steps) > 0:
			h = steps[i]
		case len(coords) > 0:
			out[i] = unevenDifferences(b, a.Self.Value(), coords[i], d, order)
			continue
		case !a.Spacing.IsNone():
			h = a.Spacing.Float()
		}
		out[i] = evenDifferences(b, a.Self.Value(), NumberOf(h), d, order)
	}
	return out
}

// elementAt is element i of dimension d, counted from the end where negative.
func elementAt(b B, x Value, d, i int) Value {
	n := x.TensorMeta().Shape[d]
	from := sym.C(i)
	if i < 0 {
		from = sym.Add(n, sym.C(i))
	}
	return b.slice(x, d, from, sym.Add(from, symOne))
}

// innerRange drops a elements at the start and z at the end of dimension d.
func innerRange(b B, x Value, d, a, z int) Value {
	return b.slice(x, d, sym.C(a), sym.Sub(x.TensorMeta().Shape[d], sym.C(z)))
}

func evenDifferences(b B, x Value, h float64, d, order int) Value {
	mid := b.div(b.sub(innerRange(b, x, d, 2, 0), innerRange(b, x, d, 0, 2)), 2*h)
	if order == 1 {
		first := b.div(b.sub(elementAt(b, x, d, 1), elementAt(b, x, d, 0)), h)
		last := b.div(b.sub(elementAt(b, x, d, -1), elementAt(b, x, d, -2)), h)
		return b.cat(d, first, mid, last)
	}
	// Three points at either end, added in the order of their places.
	edge := func(from int, w [3]float64) Value {
		s := b.add(b.mul(elementAt(b, x, d, from), w[0]), b.mul(elementAt(b, x, d, from+1), w[1]))
		return b.div(b.add(s, b.mul(elementAt(b, x, d, from+2), w[2])), h)
	}
	return b.cat(d, edge(0, [3]float64{-1.5, 2, -0.5}), mid, edge(-3, [3]float64{0.5, -2, 1.5}))
}

func unevenDifferences(b B, x, at Value, d, order int) Value {
	rank := len(x.TensorMeta().Shape)
	h := b.Emit(Diff, at)
	left, right := innerRange(b, h, 0, 0, 1), innerRange(b, h, 0, 1, 0)
	col := func(v Value) Value { return alongOnly(b, v, d, rank) }
	sum := b.add(left, right)
	wa := col(b.neg(b.div(right, b.mul(left, sum))))
	wb := col(b.div(b.sub(right, left), b.mul(left, right)))
	wc := col(b.div(left, b.mul(right, sum)))
	mid := b.add(b.add(b.mul(innerRange(b, x, d, 0, 2), wa), b.mul(innerRange(b, x, d, 1, 1), wb)), b.mul(innerRange(b, x, d, 2, 0), wc))
	if order == 1 {
		first := b.div(b.sub(elementAt(b, x, d, 1), elementAt(b, x, d, 0)), col(elementAt(b, h, 0, 0)))
		last := b.div(b.sub(elementAt(b, x, d, -1), elementAt(b, x, d, -2)), col(elementAt(b, h, 0, -1)))
		return b.cat(d, first, mid, last)
	}
	edge := func(near, far Value, p, q, r int, sign float64) Value {
		both := b.add(near, far)
		c0 := b.mul(b.div(b.add(b.mul(near, 2.0), far), b.mul(near, both)), -sign)
		c1 := b.mul(b.div(both, b.mul(near, far)), sign)
		c2 := b.mul(b.div(near, b.mul(far, both)), -sign)
		return b.add(
			b.add(b.mul(elementAt(b, x, d, p), col(c0)), b.mul(elementAt(b, x, d, q), col(c1))),
			b.mul(elementAt(b, x, d, r), col(c2)),
		)
	}
	first := edge(elementAt(b, h, 0, 0), elementAt(b, h, 0, 1), 0, 1, 2, 1)
	last := edge(elementAt(b, h, 0, -1), elementAt(b, h, 0, -2), -1, -2, -3, -1)
	return b.cat(d, first, mid, last)
}

// chunkCat pads each tensor along a dimension to whole chunks, cuts it, and
// joins the chunks of all tensors.
func chunkCat(b B, c *Call) Value {
	a := In[ChunkCatArgs](c)
	xs, n := a.Tensors.Values(), a.NumChunks.Num()
	if len(xs) == 0 {
		refuse(Errorf("_chunk_cat expects a non-empty input tensor list"))
	}
	if n <= 0 {
		refuse(Errorf("_chunk_cat expects positive num_chunks"))
	}
	d := a.Dim.Num()
	for _, x := range xs {
		if len(x.TensorMeta().Shape) != len(xs[0].TensorMeta().Shape) && d < 0 {
			refuse(Errorf("_chunk_cat expects non-negative dim when input tensors have different ndims"))
		}
	}
	if d < 0 {
		d += len(xs[0].TensorMeta().Shape)
	}
	var parts []Value
	for _, x := range xs {
		m := x.TensorMeta()
		if d >= len(m.Shape) || d < 0 {
			refuse(Errorf("_chunk_cat expects dim < ndim for all input tensors"))
		}
		size := int(sym.Force(m.Shape[d]))
		if size == 0 {
			refuse(Errorf("_chunk_cat expects non-empty tensor"))
		}
		if !equalShape(m.Shape[:d], xs[0].TensorMeta().Shape[:d]) {
			refuse(Errorf("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors"))
		}
		each := (size + n - 1) / n
		if gap := each*n - size; gap > 0 {
			pad := make([]sym.Int, 2*(len(m.Shape)-d))
			for i := range pad {
				pad[i] = symZero
			}
			pad[len(pad)-1] = sym.C(gap)
			x = b.Emit(ConstantPadNd, x, pad)
		}
		parts = append(parts, b.reshape(x, append(cloneInts(m.Shape[:d]), sym.C(n), sym.Const(-1))...))
	}
	return b.cat(d+1, parts...)
}

// segmentReduce reduces runs of a dimension, given by lengths or offsets.
func segmentReduce(b B, c *Call) Value {
	a := In[SegmentReduceArgs](c)
	x, m := a.Data.Value(), a.Data.Meta()
	axis, err := wrapDim(a.Axis.Num(), len(m.Shape))
	refuse(err)
	lengths := a.Lengths.Value()
	switch {
	case lengths == nil && a.Offsets.Value() == nil:
		refuse(Errorf("segment_reduce(): Either lengths or offsets must be defined."))
	case lengths == nil:
		o := a.Offsets.Value()
		n := o.TensorMeta().Shape[axis]
		lengths = b.sub(b.slice(o, axis, symOne, n), b.slice(o, axis, symZero, sym.Sub(n, symOne)))
	}
	lm := lengths.TensorMeta()
	if len(lm.Shape) != axis+1 {
		refuse(Errorf("segment_reduce(): Expected axis to be the last dimension of lengths but got %d.", axis))
	}
	n, segments := m.Shape[axis], lm.Shape[axis]
	// The segment of an element is the number of segments that end at or before it.
	ends := b.Emit(Cumsum, lengths, axis)
	steps := b.arange(n, m)
	where := b.Emit(Searchsorted, ends, b.expand(steps, append(cloneInts(lm.Shape[:axis]), n)), false, true)
	inside := b.lt(where, segments)
	where = b.where(inside, where, sym.Sub(segments, symOne))
	for range len(m.Shape) - axis - 1 {
		r := len(where.TensorMeta().Shape)
		where, inside, lengths = b.unsqueeze(where, r), b.unsqueeze(inside, r), b.unsqueeze(lengths, r)
	}
	where = expandIf(b, where, m.Shape)
	return foldSegments(b, c, expandIf(b, inside, m.Shape), where, lengths, axis, replaced(m.Shape, axis, segments), x)
}

// foldSegments folds the elements x into their segments.
func foldSegments(b B, c *Call, inside, where, lengths Value, axis int, shape []sym.Int, x Value) Value {
	a := In[SegmentReduceArgs](c)
	m := a.Data.Meta()
	how, known := map[string]string{"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}[a.Reduce.Str()]
	if !known {
		refuse(Errorf("Expected one of 'max', 'mean', 'min', 'sum', or 'prod' but got %s", a.Reduce.Str()))
	}
	start := map[string]float64{"sum": 0, "prod": 1, "amax": -inf, "amin": inf}[how]
	out := b.Emit(ScatterReduce, b.full(shape, start, m), axis, where, b.where(inside, x, start), how, true)
	first := start
	if !a.Initial.IsNone() {
		first = a.Initial.Float()
	}
	empty := b.eq(lengths, 0)
	switch a.Reduce.Str() {
	case "max":
		return b.where(b.lt(out, first), first, out)
	case "min":
		return b.where(b.gt(out, first), first, out)
	case "prod":
		return b.mul(out, first)
	case "mean":
		mean := b.div(b.add(out, first), b.cast(b.where(empty, symOne, lengths), m.DType))
		if a.Initial.IsNone() {
			return b.where(empty, nan, mean)
		}
		return b.where(empty, first, mean)
	}
	return b.add(out, first)
}
