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
	m := c.Tensor(0)
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
	if rank == 2 && c.Bool(2) {
		first = b.Emit(Remainder, first, sym.Add(m.Shape[1], symOne))
	}
	on := b.eq(first, at(1))
	for d := 2; d < rank; d++ {
		if sym.Ne(m.Shape[d], m.Shape[0]) || sym.Ne(m.Shape[1], m.Shape[0]) {
			refuse(Errorf("all dimensions of input must be of equal length"))
		}
		on = b.and(on, b.eq(at(0), at(d)))
	}
	return b.Emit(MaskedFill, c.Value(0), on, c.Args[1])
}

// slabRows place whole slabs of a dimension.
func slabRows() []*Op {
	return []*Op{
		composite(FillDiagonal, "fill_diagonal", "(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor", TagNotFunction|TagNotMethod, fillDiagonal),
		composite(IndexCopy, "index_copy", "(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", 0, func(b B, c *Call) Value {
			m, src := c.Tensor(0), c.Tensor(3)
			d := dimOf(c, 1)
			if m.DType != src.DType {
				refuse(Errorf("index_copy_(): self and source expected to have the same dtype, but got (self) %s and (source) %s", m.DType.ScalarType(), src.DType.ScalarType()))
			}
			if len(c.Tensor(2).Shape) > 1 {
				refuse(IndexErrorf("index_copy_(): Index should have dimension 1 or 0 (got %d)", len(c.Tensor(2).Shape)))
			}
			if c.Tensor(2).DType != Int64 {
				refuse(IndexErrorf("index_copy_(): Expected a long tensor for index, but got %s", c.Tensor(2).DType.ScalarType()))
			}
			refuse(checkSource(c, "source"))
			return placeSlabs(b, c.Value(0), d, c.Value(2), c.Value(3))
		}),
		composite(IndexFill, "index_fill", "(Tensor self, int dim, Tensor index, Operand value) -> Tensor", 0, func(b B, c *Call) Value {
			m := c.Tensor(0)
			d := dimOf(c, 1)
			if v := c.Tensor(3); v != nil && len(v.Shape) > 0 {
				refuse(Errorf("index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).", len(v.Shape)))
			}
			if c.Tensor(2).DType != Int64 && c.Tensor(2).DType != Int32 {
				refuse(IndexErrorf("index_fill_(): Expected dtype int64 for index."))
			}
			var v Value
			if v = c.Value(3); v == nil {
				v = b.full(nil, elementOf(m.DType, c.Args[3]), m)
			}
			// A mask, so that the gradient of the value counts no place twice.
			on := placeSlabs(b, b.full(m.Shape, 0, NewMeta(Bool, m.Device, nil)), d, c.Value(2), b.full(nil, 1, NewMeta(Bool, m.Device, nil)))
			return b.where(on, b.cast(v, m.DType), c.Value(0))
		}),
		composite(IndexReduce, "index_reduce", "(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor", 0, func(b B, c *Call) Value {
			m, src := c.Tensor(0), c.Tensor(3)
			d := dimOf(c, 1)
			switch c.Str(4) {
			case "prod", "mean", "amax", "amin":
			default:
				refuse(Errorf("index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got %s", c.Str(4)))
			}
			if m.DType != src.DType {
				refuse(Errorf("index_reduce(): Expected self.dtype to be equal to source.dtype, but got %s and %s", m.DType.ScalarType(), src.DType.ScalarType()))
			}
			refuse(checkSource(c, "source"))
			idx := b.reshape(c.Value(2), numel(c.Tensor(2).Shape))
			if len(src.Shape) == 0 {
				return b.Emit(ScatterReduce, c.Value(0), 0, b.reshape(idx), c.Value(3), c.Args[4], c.Args[5])
			}
			if c.Str(4) == "mean" {
				return indexMean(b, c, d, idx)
			}
			wide := b.expand(alongOnly(b, idx, d, len(src.Shape)), src.Shape)
			return b.Emit(ScatterReduce, c.Value(0), d, wide, c.Value(3), c.Args[4], c.Args[5])
		}),
		composite(Put, "put", "(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", TagNotFunction, func(b B, c *Call) Value {
			m, idx, src := c.Tensor(0), c.Tensor(1), c.Tensor(2)
			if idx.DType != Int64 {
				refuse(Errorf("put_(): Expected a long tensor for index, but got %s", idx.DType.ScalarType()))
			}
			if m.DType != src.DType {
				refuse(Errorf("put_(): self and source expected to have the same dtype, but got self.dtype = %s and source.dtype = %s", m.DType.ScalarType(), src.DType.ScalarType()))
			}
			if sym.Ne(numel(idx.Shape), numel(src.Shape)) {
				refuse(Errorf("put_(): Expected source and index to have the same number of elements, but got source.numel() = %s, index.numel() = %s", numel(src.Shape), numel(idx.Shape)))
			}
			flat := b.reshape(c.Value(0), numel(m.Shape))
			at := b.reshape(c.Value(1), numel(idx.Shape))
			out := b.Emit(IndexPut, flat, []Value{at}, b.reshape(c.Value(2), numel(src.Shape)), c.Args[3])
			return b.reshape(out, m.Shape...)
		}),
		asStridedScatterRow(),
	}
}

// indexMean is index_reduce's mean: sums and counts by index, in the type of self.
func indexMean(b B, c *Call, d int, idx Value) Value {
	m, x, first := c.Tensor(0), c.Value(0), 1.0
	if !c.Bool(5) {
		x, first = b.Emit(IndexFill, x, d, idx, 0), 0
	}
	sums := b.Emit(IndexAdd, x, d, idx, c.Value(3))
	counts := b.Emit(IndexAdd, b.full(m.Shape, first, m), d, idx, b.full(c.Tensor(3).Shape, 1, m))
	if !c.Bool(5) {
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
	row := composite(AsStridedScatter, "as_strided_scatter", "(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor", 0, asStridedScatter)
	row.Backward = backOf(func(b B, c *BackwardCall) []Value {
		g := c.Grads[0]
		if g == nil {
			return []Value{nil, nil}
		}
		m := c.Tensor(0)
		at := stridedPlaces(b, c.Call)
		part := b.Emit(IndexSelect, b.reshape(g, numel(m.Shape)), 0, at)
		whole := b.Emit(IndexPut, b.full([]sym.Int{numel(m.Shape)}, 0, m), []Value{at}, part)
		return []Value{b.view(whole, m.Shape...), b.view(part, c.Ints(2)...)}
	})
	return row
}

// stridedPlaces are the flat positions in a contiguous self.
func stridedPlaces(b B, c *Call) Value {
	m, offset := c.Tensor(0), symZero
	if !c.IsNone(4) {
		offset = sym.Sub(c.Int(4), m.Offset)
	}
	return b.reshape(storagePlaces(b, c.Ints(2), c.Ints(3), offset, m), numel(c.Ints(2)))
}

// asStridedScatter writes src where as_strided looks. The positions count in
// the memory of a contiguous self.
func asStridedScatter(b B, c *Call) Value {
	x, m := c.Value(0), c.Tensor(0)
	if !IsContiguous(m) {
		refuse(Errorf("as_strided_scatter is supported for contiguous tensors, but got one with strides %s", ShapeText(m.Stride)))
	}
	size, stride := c.Ints(2), c.Ints(3)
	if len(size) != len(stride) {
		refuse(Errorf("mismatch in length of strides and shape"))
	}
	if !equalShape(size, c.Tensor(1).Shape) {
		refuse(Errorf("expected src to have a size equal to the slice of self. src size = %s, slice size = %s", ShapeText(c.Tensor(1).Shape), ShapeText(size)))
	}
	offset := m.Offset
	if !c.IsNone(4) {
		offset = c.Int(4)
	}
	item := sym.C(m.DType.Size())
	refuse(checkStrided(stride, offset))
	refuse(CheckWithin(size, stride, offset, item, sym.Mul(sym.Add(m.Offset, numel(m.Shape)), item)))
	at := stridedPlaces(b, c)
	flat := b.Emit(IndexPut, b.reshape(x, numel(m.Shape)), []Value{at}, b.reshape(c.Value(1), numel(size)))
	return b.view(flat, m.Shape...)
}

// maskedIndexRows are steered by masks.
func maskedIndexRows() []*Op {
	return []*Op{
		composite(MaskedScatter, "masked_scatter", "(Tensor self, Tensor mask, Tensor source) -> Tensor", 0, func(b B, c *Call) Value {
			m, mask, src := c.Tensor(0), c.Tensor(1), c.Tensor(2)
			if mask.DType != Bool {
				refuse(Errorf("masked_scatter_ only supports boolean masks, but got mask with dtype %s", mask.DType.ScalarType()))
			}
			if m.DType != src.DType {
				refuse(Errorf("masked_scatter: expected self and source to have same dtypes but got %s and %s", m.DType.ScalarType(), src.DType.ScalarType()))
			}
			shape, err := broadcast2(m.Shape, mask.Shape)
			refuse(err)
			on := expandIf(b, c.Value(1), shape)
			flat := b.reshape(on, numel(shape))
			// The i-th true place takes the i-th element.
			at := b.where(flat, b.sub(b.Emit(Cumsum, flat, 0), 1), symZero)
			if sym.Is(numel(src.Shape), 0) {
				if sym.Is(numel(shape), 0) {
					return b.Emit(Clone, expandIf(b, c.Value(0), shape))
				}
				refuse(Errorf("masked_scatter: expected the source to have elements, but got size %s", ShapeText(src.Shape)))
			}
			got := b.Emit(IndexSelect, b.reshape(c.Value(2), numel(src.Shape)), 0, at)
			return b.where(on, b.reshape(got, shape...), expandIf(b, c.Value(0), shape))
		}),
		composite(UnsafeMaskedIndex, "_unsafe_masked_index", "(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor", TagInternal, func(b B, c *Call) Value {
			got := b.Emit(Index, c.Value(0), clampedIndices(b, c, c.Values(2)))
			return b.Emit(MaskedFill, got, b.not(c.Value(1)), c.Args[3])
		}),
		composite(UnsafeMaskedIndexPut, "_unsafe_masked_index_put_accumulate", "(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor", TagInternal, func(b B, c *Call) Value {
			v := b.Emit(MaskedFill, c.Value(3), b.not(c.Value(1)), 0)
			return b.Emit(IndexPut, c.Value(0), clampedIndices(b, c, c.Values(2)), v, true)
		}),
		composite(NonzeroStatic, "nonzero_static", "(Tensor self, *, int size, int fill_value=-1) -> Tensor", TagNoGrad, nonzeroStatic),
	}
}

// clampedIndices brings positions inside the tensor: those outside are masked.
func clampedIndices(b B, c *Call, list []Value) []Value {
	out := make([]Value, len(list))
	for i, v := range list {
		if v != nil {
			n := c.Tensor(0).Shape[i]
			out[i] = b.Emit(Clamp, v, sym.Neg(n), sym.Sub(n, symOne))
		}
	}
	return out
}

// nonzeroStatic keeps the first size places of nonzero and fills up the rest,
// so that no shape depends on data.
func nonzeroStatic(b B, c *Call) Value {
	m, size := c.Tensor(0), c.Int(1)
	if sym.Lt(size, symZero) {
		refuse(Errorf("nonzero_static: 'size' must be an non-negative integer"))
	}
	n := numel(m.Shape)
	flat := b.reshape(b.ne(c.Value(0), 0), n)
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
		cols[i] = b.where(found, at, c.Int(2))
		step = sym.Mul(step, m.Shape[i])
	}
	return b.Emit(Stack, cols, 1)
}

// constantIndexRows pick by positions that sizes alone decide.
func constantIndexRows() []*Op {
	return []*Op{
		{
			ID: IntTensor, Name: "_int_tensor", Schema: "(int[] data, int[] size) -> Tensor", Tags: TagFactory | TagInternal | TagNoGrad,
			Meta: func(c *Call) ([]Result, error) { return one(NewMeta(Int64, CPU, c.Ints(1))), nil },
		},
		composite(Combinations, "combinations", "(Tensor self, int r=2, bool with_replacement=False) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			m, r := c.Tensor(0), c.Num(1)
			if len(m.Shape) != 1 {
				refuse(Errorf("Expect a 1D vector, but got shape %s", ShapeText(m.Shape)))
			}
			if r < 0 {
				refuse(Errorf("Expect a non-negative number, but got %d", r))
			}
			if r == 0 {
				return b.Emit(Empty, []int{0}, m.DType)
			}
			rows := chosen(int(sym.Force(m.Shape[0])), r, c.Bool(2))
			idx := intTensor(b, rows, len(rows))
			return b.reshape(b.Emit(IndexSelect, c.Value(0), 0, idx), sym.C(len(rows)/r), sym.C(r))
		}),
		compositeN(UnravelIndex, "unravel_index", "(Tensor indices, int[] shape) -> Tensor[]", TagNotMethod|TagNoGrad, func(b B, c *Call) []Value {
			if d := c.Tensor(0).DType; !d.IsInt() {
				refuse(&Error{Kind: "TypeError", Msg: "expected 'indices' to be integer dtype, but got " + d.String()})
			}
			size, at := c.Ints(1), b.cast(c.Value(0), Int64)
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
