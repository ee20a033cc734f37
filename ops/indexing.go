package ops

import "tcdbg/ops/sym"

// This file holds the rarer ways to pick and place elements, all of them
// compositions of index, index_put, gather and the scatters.

func indexingRows() []*Op {
	return append(append(slabRows(), maskedIndexRows()...), constantIndexRows()...)
}

// fillDiagonal puts a number where all subscripts are equal; with wrap the
// diagonal of a tall matrix begins again below its end, one row apart.
func fillDiagonal(b B, c *Call) Value {
	a := In[FillDiagonalArgs](c)
	m := a.Self.Meta()
	rank := len(m.Shape)
	if rank < 2 {
		refuse(Errorf("dimensions must larger than 1"))
	}
	at := func(d int) Value {
		shape := make([]sym.Int, rank)
		for i := range shape {
			shape[i] = symOne
		}
		shape[d] = m.Shape[d]
		return b.view(b.arange(m.Shape[d], m), shape...)
	}
	first := at(0)
	if rank == 2 && a.Wrap.Bool() {
		first = b.Emit(Remainder, first, sym.Add(m.Shape[1], symOne))
	}
	on := b.eq(first, at(1))
	for d := 2; d < rank; d++ {
		if sym.Ne(m.Shape[d], m.Shape[0]) || sym.Ne(m.Shape[1], m.Shape[0]) {
			refuse(Errorf("all dimensions of input must be of equal length"))
		}
		on = b.and(on, b.eq(at(0), at(d)))
	}
	return b.Emit(MaskedFill, a.Self.Value(), on, a.FillValue.Arg)
}

// slabRows place whole slabs of a dimension.
func slabRows() []*Op {
	return []*Op{
		composite(FillDiagonal, "fill_diagonal", "(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor", TagNotFunction|TagNotMethod, fillDiagonal).and(TagHasInPlace | TagComplex),
		composite(IndexCopy, "index_copy", "(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[IndexCopyArgs](c)
			m, src := a.Self.Meta(), a.Source.Meta()
			d := a.Dim.of(a.Self)
			if m.DType != src.DType {
				refuse(Errorf(
					"index_copy_(): self and source expected to have the same dtype, but got (self) %s and (source) %s",
					m.DType.ScalarType(), src.DType.ScalarType(),
				))
			}
			if len(a.Index.Meta().Shape) > 1 {
				refuse(IndexErrorf("index_copy_(): Index should have dimension 1 or 0 (got %d)", len(a.Index.Meta().Shape)))
			}
			if a.Index.Meta().DType != Int64 {
				refuse(IndexErrorf("index_copy_(): Expected a long tensor for index, but got %s", a.Index.Meta().DType.ScalarType()))
			}
			refuse(checkSource(c, "source"))
			return placeSlabs(b, a.Self.Value(), d, a.Index.Value(), a.Source.Value())
		}).and(TagHasInPlace | TagComplex),
		composite(IndexFill, "index_fill", "(Tensor self, int dim, Tensor index, Operand value) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[IndexFillArgs](c)
			m := a.Self.Meta()
			d := a.Dim.of(a.Self)
			if v := a.Value.Meta(); v != nil && len(v.Shape) > 0 {
				refuse(Errorf("index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).", len(v.Shape)))
			}
			if a.Index.Meta().DType != Int64 && a.Index.Meta().DType != Int32 {
				refuse(IndexErrorf("index_fill_(): Expected dtype int64 for index."))
			}
			var v Value
			if v = a.Value.Value(); v == nil {
				v = b.full(nil, elementOf(m.DType, a.Value.Arg), m)
			}
			// A mask, so that the gradient of the value counts no place twice.
			on := placeSlabs(
				b, b.full(m.Shape, 0, NewMeta(Bool, m.Device, nil)), d, a.Index.Value(),
				b.full(nil, 1, NewMeta(Bool, m.Device, nil)),
			)
			return b.where(on, b.cast(v, m.DType), a.Self.Value())
		}).and(TagHasInPlace | TagComplex),
		composite(IndexReduce, "index_reduce", "(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[IndexReduceArgs](c)
			m, src := a.Self.Meta(), a.Source.Meta()
			d := a.Dim.of(a.Self)
			switch a.Reduce.Str() {
			case "prod", "mean", "amax", "amin":
			default:
				refuse(Errorf("index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got %s", a.Reduce.Str()))
			}
			if m.DType != src.DType {
				refuse(Errorf(
					"index_reduce(): Expected self.dtype to be equal to source.dtype, but got %s and %s",
					m.DType.ScalarType(), src.DType.ScalarType(),
				))
			}
			refuse(checkSource(c, "source"))
			idx := b.reshape(a.Index.Value(), numel(a.Index.Meta().Shape))
			if len(src.Shape) == 0 {
				return b.Emit(ScatterReduce, a.Self.Value(), 0, b.reshape(idx), a.Source.Value(), a.Reduce.Arg, a.IncludeSelf.Arg)
			}
			if a.Reduce.Str() == "mean" {
				return indexMean(b, c, d, idx)
			}
			wide := b.expand(alongOnly(b, idx, d, len(src.Shape)), src.Shape)
			return b.Emit(ScatterReduce, a.Self.Value(), d, wide, a.Source.Value(), a.Reduce.Arg, a.IncludeSelf.Arg)
		}).and(TagHasInPlace),
		composite(Put, "put", "(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", TagNotFunction, func(b B, c *Call) Value {
			a := In[PutArgs](c)
			m, idx, src := a.Self.Meta(), a.Index.Meta(), a.Source.Meta()
			if idx.DType != Int64 {
				refuse(Errorf("put_(): Expected a long tensor for index, but got %s", idx.DType.ScalarType()))
			}
			if m.DType != src.DType {
				refuse(Errorf(
					"put_(): self and source expected to have the same dtype, but got self.dtype = %s and source.dtype = %s",
					m.DType.ScalarType(), src.DType.ScalarType(),
				))
			}
			if sym.Ne(numel(idx.Shape), numel(src.Shape)) {
				refuse(Errorf(
					"put_(): Expected source and index to have the same number of elements, but got source.numel() = %s, index.numel() = %s",
					numel(src.Shape), numel(idx.Shape),
				))
			}
			flat := b.reshape(a.Self.Value(), numel(m.Shape))
			at := b.reshape(a.Index.Value(), numel(idx.Shape))
			out := b.Emit(IndexPut, flat, []Value{at}, b.reshape(a.Source.Value(), numel(src.Shape)), a.Accumulate.Arg)
			return b.reshape(out, m.Shape...)
		}).and(TagHasInPlace | TagComplex),
		asStridedScatterRow(),
	}
}

// indexMean is index_reduce's mean: sums and counts by index, in the type of self.
func indexMean(b B, c *Call, d int, idx Value) Value {
	a := In[IndexReduceArgs](c)
	m, x, first := a.Self.Meta(), a.Self.Value(), 1.0
	if !a.IncludeSelf.Bool() {
		x, first = b.Emit(IndexFill, x, d, idx, 0), 0
	}
	sums := b.Emit(IndexAdd, x, d, idx, a.Source.Value())
	counts := b.Emit(IndexAdd, b.full(m.Shape, first, m), d, idx, b.full(a.Source.Meta().Shape, 1, m))
	if !a.IncludeSelf.Bool() {
		counts = b.where(b.eq(counts, 0), 1, counts) // what no index names stays
	}
	if m.DType.IsInt() {
		return b.Emit(Div, sums, counts, "floor")
	}
	return b.div(sums, counts)
}

// elementOf is a number as an element of type d.
func elementOf(d DType, a Arg) Arg {
	switch {
	case d == Bool:
		return NumberOf(a) != 0
	case d.IsInt():
		return numberAs(d, a)
	}
	if z, ok := a.(complex128); ok && d.IsComplex() {
		return z
	}
	return NumberOf(a)
}

// placeSlabs writes src at the positions idx of dimension d.
func placeSlabs(b B, x Value, d int, idx, src Value) Value {
	m := x.TensorMeta()
	idx = b.reshape(idx, numel(idx.TensorMeta().Shape))
	if len(m.Shape) == 0 {
		return b.reshape(b.Emit(IndexPut, b.reshape(x, symOne), []Value{idx}, src))
	}
	list := make([]Value, d+1)
	list[d] = idx
	return b.Emit(IndexPut, x, list, src)
}

// asStridedScatterRow hands self the gradient of the places that were written,
// where the others are those that depend on it: PyTorch's numbers, which count.
func asStridedScatterRow() *Op {
	row := composite(AsStridedScatter, "as_strided_scatter", "(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor", 0, asStridedScatter).and(TagComplex)
	row.Backward = backOf(func(b B, c *BackwardCall) []Value {
		a := In[AsStridedScatterArgs](c.Call)
		g := c.Grads[0]
		if g == nil {
			return []Value{nil, nil}
		}
		m := a.Self.Meta()
		at := stridedPlaces(b, c.Call)
		part := b.Emit(IndexSelect, b.reshape(g, numel(m.Shape)), 0, at)
		whole := b.Emit(IndexPut, b.full([]sym.Int{numel(m.Shape)}, 0, m), []Value{at}, part)
		return []Value{b.view(whole, m.Shape...), b.view(part, a.Size.Ints()...)}
	})
	return row
}

// stridedPlaces are the flat positions in a contiguous self.
func stridedPlaces(b B, c *Call) Value {
	a := In[AsStridedScatterArgs](c)
	m, offset := a.Self.Meta(), symZero
	if !a.StorageOffset.IsNone() {
		offset = sym.Sub(a.StorageOffset.Int(), m.Offset)
	}
	return b.reshape(storagePlaces(b, a.Size.Ints(), a.Stride.Ints(), offset, m), numel(a.Size.Ints()))
}

// asStridedScatter writes src where as_strided looks. The positions count in
// the memory of a contiguous self.
func asStridedScatter(b B, c *Call) Value {
	a := In[AsStridedScatterArgs](c)
	x, m := a.Self.Value(), a.Self.Meta()
	if !IsContiguous(m) {
		refuse(Errorf("as_strided_scatter is supported for contiguous tensors, but got one with strides %s", ShapeText(m.Stride)))
	}
	size, stride := a.Size.Ints(), a.Stride.Ints()
	if len(size) != len(stride) {
		refuse(Errorf("mismatch in length of strides and shape"))
	}
	if !equalShape(size, a.Src.Meta().Shape) {
		refuse(Errorf(
			"expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
			ShapeText(a.Src.Meta().Shape), ShapeText(size),
		))
	}
	offset := m.Offset
	if !a.StorageOffset.IsNone() {
		offset = a.StorageOffset.Int()
	}
	item := sym.C(m.DType.Size())
	refuse(checkStrided(stride, offset))
	refuse(CheckWithin(size, stride, offset, item, sym.Mul(sym.Add(m.Offset, numel(m.Shape)), item)))
	at := stridedPlaces(b, c)
	flat := b.Emit(IndexPut, b.reshape(x, numel(m.Shape)), []Value{at}, b.reshape(a.Src.Value(), numel(size)))
	return b.view(flat, m.Shape...)
}

// maskedIndexRows are steered by masks.
func maskedIndexRows() []*Op {
	return []*Op{
		composite(MaskedScatter, "masked_scatter", "(Tensor self, Tensor mask, Tensor source) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[MaskedScatterArgs](c)
			m, mask, src := a.Self.Meta(), a.Mask.Meta(), a.Source.Meta()
			if mask.DType != Bool {
				refuse(Errorf("masked_scatter_ only supports boolean masks, but got mask with dtype %s", mask.DType.ScalarType()))
			}
			if m.DType != src.DType {
				refuse(Errorf(
					"masked_scatter: expected self and source to have same dtypes but got %s and %s",
					m.DType.ScalarType(), src.DType.ScalarType(),
				))
			}
			shape, err := broadcast2(m.Shape, mask.Shape)
			refuse(err)
			on := expandIf(b, a.Mask.Value(), shape)
			flat := b.reshape(on, numel(shape))
			// The i-th true place takes the i-th element.
			at := b.where(flat, b.sub(b.Emit(Cumsum, flat, 0), 1), symZero)
			if sym.Is(numel(src.Shape), 0) {
				if sym.Is(numel(shape), 0) {
					return b.Emit(Clone, expandIf(b, a.Self.Value(), shape))
				}
				refuse(Errorf("masked_scatter: expected the source to have elements, but got size %s", ShapeText(src.Shape)))
			}
			got := b.Emit(IndexSelect, b.reshape(a.Source.Value(), numel(src.Shape)), 0, at)
			return b.where(on, b.reshape(got, shape...), expandIf(b, a.Self.Value(), shape))
		}).and(TagHasInPlace | TagComplex),
		composite(UnsafeMaskedIndex, "_unsafe_masked_index", "(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor", TagInternal, func(b B, c *Call) Value {
			a := In[UnsafeMaskedIndexArgs](c)
			got := b.Emit(Index, a.Self.Value(), clampedIndices(b, c, a.Indices.Values()))
			return b.Emit(MaskedFill, got, b.not(a.Mask.Value()), a.Fill.Arg)
		}),
		composite(UnsafeMaskedIndexPut, "_unsafe_masked_index_put_accumulate", "(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor", TagInternal, func(b B, c *Call) Value {
			a := In[UnsafeMaskedIndexPutArgs](c)
			v := b.Emit(MaskedFill, a.Values.Value(), b.not(a.Mask.Value()), 0)
			return b.Emit(IndexPut, a.Self.Value(), clampedIndices(b, c, a.Indices.Values()), v, true)
		}),
		composite(NonzeroStatic, "nonzero_static", "(Tensor self, *, int size, int fill_value=-1) -> Tensor", TagNoGrad, nonzeroStatic).and(TagComplex),
	}
}

// clampedIndices brings positions inside the tensor: those outside are masked.
func clampedIndices(b B, c *Call, list []Value) []Value {
	out := make([]Value, len(list))
	for i, v := range list {
		if v != nil {
			n := In[UnsafeMaskedIndexArgs](c).Self.Meta().Shape[i]
			out[i] = b.Emit(Clamp, v, sym.Neg(n), sym.Sub(n, symOne))
		}
	}
	return out
}

// nonzeroStatic keeps the first size places of nonzero and fills up the rest,
// so that no shape depends on data.
func nonzeroStatic(b B, c *Call) Value {
	a := In[NonzeroStaticArgs](c)
	m, size := a.Self.Meta(), a.Size.Int()
	if sym.Lt(size, symZero) {
		refuse(Errorf("nonzero_static: 'size' must be an non-negative integer"))
	}
	n := numel(m.Shape)
	flat := b.reshape(b.ne(a.Self.Value(), 0), n)
	rank := b.sub(b.Emit(Cumsum, flat, 0), 1)
	// Place size catches what is false or comes too late.
	to := b.where(b.and(flat, b.lt(rank, size)), rank, size)
	long := NewMeta(Int64, m.Device, []sym.Int{sym.Add(size, symOne)})
	from := b.Emit(Scatter, b.zeros(long), 0, to, b.arange(n, m))
	from = b.slice(from, 0, symZero, size)
	found := b.lt(b.arange(size, m), b.sum(flat, false))
	if len(m.Shape) == 0 {
		return b.Emit(Zeros, []sym.Int{size, symZero}, Int64)
	}
	cols := make([]Value, len(m.Shape))
	step := symOne
	for i := len(m.Shape) - 1; i >= 0; i-- {
		at := b.Emit(Remainder, b.Emit(Div, from, sym.Max(step, symOne), "floor"), sym.Max(m.Shape[i], symOne))
		cols[i] = b.where(found, at, a.FillValue.Int())
		step = sym.Mul(step, m.Shape[i])
	}
	return b.Emit(Stack, cols, 1)
}

// constantIndexRows pick by positions that sizes alone decide.
func constantIndexRows() []*Op {
	return []*Op{
		{
			ID: IntTensor, Name: "_int_tensor", Schema: "(int[] data, int[] size) -> Tensor", Tags: TagFactory | TagInternal | TagNoGrad,
			Meta: func(c *Call) ([]Result, error) {
				return one(NewMeta(Int64, CPU, In[IntTensorArgs](c).Size.Ints())), nil
			},
		},
		composite(Combinations, "combinations", "(Tensor self, int r=2, bool with_replacement=False) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			a := In[CombinationsArgs](c)
			m, r := a.Self.Meta(), a.R.Num()
			if len(m.Shape) != 1 {
				refuse(Errorf("Expect a 1D vector, but got shape %s", ShapeText(m.Shape)))
			}
			if r < 0 {
				refuse(Errorf("Expect a non-negative number, but got %d", r))
			}
			if r == 0 {
				return b.Emit(Empty, []int{0}, m.DType)
			}
			rows := chosen(int(sym.Force(m.Shape[0])), r, a.WithReplacement.Bool())
			idx := intTensor(b, rows, len(rows))
			return b.reshape(b.Emit(IndexSelect, a.Self.Value(), 0, idx), sym.C(len(rows)/r), sym.C(r))
		}).and(TagComplex),
		compositeN(UnravelIndex, "unravel_index", "(Tensor indices, int[] shape) -> Tensor[]", TagNotMethod|TagNoGrad, func(b B, c *Call) []Value {
			a := In[UnravelIndexArgs](c)
			if d := a.Indices.Meta().DType; !d.IsInt() {
				refuse(&Error{Kind: "TypeError", Msg: "expected 'indices' to be integer dtype, but got " + d.String()})
			}
			size, at := a.Shape.Ints(), b.cast(a.Indices.Value(), Int64)
			out := make([]Value, len(size))
			step := symOne
			for i := len(size) - 1; i >= 0; i-- {
				if sym.Lt(size[i], symZero) {
					refuse(&Error{Kind: "ValueError", Msg: "'shape' cannot have negative values, but got " + ShapeText(size)})
				}
				out[i] = b.Emit(Remainder, b.Emit(Div, at, step, "floor"), size[i])
				step = sym.Mul(step, size[i])
			}
			return out
		}),
	}
}

// intTensor is a constant tensor of int64.
func intTensor(b B, data []int, size ...int) Value { return b.Emit(IntTensor, data, size) }

// chosen lists the combinations of r out of n positions in lexical order, one
// after the other.
func chosen(n, r int, again bool) []int {
	var out []int
	pick := make([]int, r)
	var extend func(k, from int)
	extend = func(k, from int) {
		if k == r {
			out = append(out, pick...)
			return
		}
		for i := from; i < n; i++ {
			pick[k] = i
			next := i + 1
			if again {
				next = i
			}
			extend(k+1, next)
		}
	}
	extend(0, 0)
	return out
}
