package ops

import (
	"tcdbg/ops/sym"
)

// This file holds indexing by tensors of positions and by masks, and what takes positions
// apart or lists them.

// indexedDims finds which dimensions a list of index tensors covers, and
// whether they are neighbours.
func indexedDims(indices []Value) (first, count int, adjacent bool) {
	first, last := -1, -1
	for i, v := range indices {
		if v == nil {
			continue
		}
		if first < 0 {
			first = i
		}
		count++
		last = i
	}
	return first, count, count > 0 && last-first+1 == count
}

// IndexShape is the shape of x[indices] for integer indices: the broadcast of
// the indices stays where they were when they are neighbours, else in front.
func IndexShape(m *TensorMeta, indices []Value) (shape, picked []sym.Int, err error) {
	if len(indices) > len(m.Shape) {
		return nil, nil, IndexErrorf("too many indices for tensor of dimension %d (got %d)", len(m.Shape), len(indices))
	}
	var shapes [][]sym.Int
	for _, v := range indices {
		if v != nil {
			shapes = append(shapes, v.TensorMeta().Shape)
		}
	}
	if picked, err = Broadcast(shapes...); err != nil {
		text := ""
		for i, s := range shapes {
			if i > 0 {
				text += ", "
			}
			text += ShapeText(s)
		}
		return nil, nil, IndexErrorf("shape mismatch: indexing tensors could not be broadcast together with shapes %s", text)
	}
	first, _, adjacent := indexedDims(indices)
	if !adjacent {
		shape = cloneInts(picked)
	}
	for i, n := range m.Shape {
		switch {
		case i < len(indices) && indices[i] != nil:
			if adjacent && i == first {
				shape = append(shape, picked...)
			}
		default:
			shape = append(shape, n)
		}
	}
	return shape, picked, nil
}

func hasMask(indices []Value) bool {
	for _, v := range indices {
		if v != nil && (v.TensorMeta().DType == Bool || v.TensorMeta().DType == Uint8) {
			return true
		}
	}
	return false
}

func advancedRows() []*Op {
	return []*Op{
		{
			ID: Index, Name: "index", Schema: "(Tensor self, Tensor?[] indices) -> Tensor", Tags: TagNotFunction | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[IndexArgs](c)
				if hasMask(a.Indices.Values()) {
					return nil, &DataDependentError{Op: "index"}
				}
				shape, _, err := IndexShape(a.Self.Meta(), a.Indices.Values())
				if err != nil {
					return nil, err
				}
				return contiguousLike(a.Self.Meta(), shape), nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[IndexArgs](c.Call)
				out := make([]Value, 1+len(a.Indices.Values()))
				if g := c.Grads[0]; g != nil {
					out[0] = b.Emit(IndexPut, b.zeros(likeGrad(c, g)), a.Indices.Arg, g, true)
				}
				return out
			}),
		},
		{
			ID: IndexPut, Name: "index_put", Schema: "(Tensor self, Tensor?[] indices, Tensor values, " +
				"bool accumulate=False) -> Tensor", Tags: TagHasInPlace | TagComplex,
			Meta: sameAsSelf(func(c *Call) error {
				a := In[IndexPutArgs](c)
				if v, m := a.Values.Meta(), a.Self.Meta(); v.DType != m.DType {
					return Errorf(
						"Index put requires the source and destination dtypes match, got %s for the destination and %s for the source.",
						m.DType.ScalarType(), v.DType.ScalarType(),
					)
				}
				return nil
			}),
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[IndexPutArgs](c.Call)
				n := len(a.Indices.Values())
				out := make([]Value, n+2)
				g := c.Grads[0]
				if g == nil {
					return out
				}
				if c.Needs[0] {
					out[0] = g
					if !a.Accumulate.Bool() {
						out[0] = b.Emit(IndexPut, g, a.Indices.Arg, b.full(nil, 0, g.TensorMeta()))
					}
				}
				if c.Needs[2] {
					out[n+1] = pickedGrad(b, c, g)
				}
				return out
			}),
		},
		composite(TakeAlongDim, "take_along_dim", "(Tensor self, Tensor indices, int? dim=None) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[TakeAlongDimArgs](c)
			x, idx := a.Self.Value(), a.Indices.Value()
			if a.Dim.IsNone() {
				return b.Emit(Gather, b.reshape(x, numel(a.Self.Meta().Shape)), 0, b.reshape(idx, numel(a.Indices.Meta().Shape)))
			}
			m, im := a.Self.Meta(), a.Indices.Meta()
			if len(m.Shape) != len(im.Shape) {
				refuse(Errorf(
					"torch.take_along_dim(): input and indices should have the same number of dimensions, "+
						"but got %d dimensions for input, and %d dimensions for indices",
					len(m.Shape), len(im.Shape),
				))
			}
			if im.DType != Int64 {
				refuse(Errorf("torch.take_along_dim(): dtype of indices should be Long but got %s", im.DType.ScalarType()))
			}
			d := a.Dim.of(a.Self)
			full, err := broadcast2(replaced(m.Shape, d, symOne), replaced(im.Shape, d, symOne))
			refuse(err)
			x = expandIf(b, x, replaced(full, d, m.Shape[d]))
			idx = expandIf(b, idx, replaced(full, d, im.Shape[d]))
			idx = b.where(b.lt(idx, 0), b.add(idx, m.Shape[d]), idx)
			return b.Emit(Gather, x, d, idx)
		}).and(TagComplex),
		composite(Take, "take", "(Tensor self, Tensor index) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[TakeArgs](c)
			idx := a.Index.Meta()
			flat := b.Emit(Index, b.reshape(a.Self.Value(), numel(a.Self.Meta().Shape)), []Value{a.Index.Value()})
			return b.reshape(flat, idx.Shape...)
		}).and(TagComplex),
		embeddingRow(),
	}
}

// pickedGrad is the gradient of the values of index_put. A mask picks as many
// places as data says; how many values there are says it without.
func pickedGrad(b B, c *BackwardCall, g Value) Value {
	a := In[IndexPutArgs](c.Call)
	list, v := a.Indices.Values(), a.Values.Meta()
	if !hasMask(list) {
		return b.sumTo(b.Emit(Index, g, list), v.Shape)
	}
	at, mask, others := maskedPlace(list)
	m := a.Self.Meta()
	if others || mask.TensorMeta().DType != Bool {
		refuse(&DataDependentError{Op: "index_put"})
	}
	k := len(mask.TensorMeta().Shape)
	rest := len(m.Shape) - at - k // dimensions after the mask
	count := symOne
	if i := len(v.Shape) - rest - 1; i >= 0 {
		count = v.Shape[i]
	}
	if sym.Is(count, 1) { // one value for all places
		on := mask
		for range rest {
			on = b.unsqueeze(on, len(on.TensorMeta().Shape))
		}
		kept := b.mask(g, on)
		dims := seq(at, at+k)
		sum := b.sum(kept, false, dims...)
		return b.sumTo(b.unsqueeze(sum, at), v.Shape)
	}
	places := b.Emit(NonzeroStatic, mask, count, 0)
	idx := make([]Value, at+k)
	for i := range k {
		idx[at+i] = b.sel(places, 1, sym.C(i))
	}
	return b.sumTo(b.Emit(Index, g, idx), v.Shape)
}

// maskedPlace finds the only index of a list; others says that there are more.
func maskedPlace(list []Value) (at int, mask Value, others bool) {
	for i, v := range list {
		switch {
		case v == nil:
		case mask == nil:
			at, mask = i, v
		default:
			others = true
		}
	}
	return at, mask, others
}

func maskRows() []*Op {
	triangle := func(id ID, name string, keep func(b B, row, col Value) Value) *Op {
		return &Op{
			ID: id, Name: name, Schema: "(Tensor self, int diagonal=0) -> Tensor",
			Meta: func(c *Call) ([]Result, error) {
				m := In[SelfArgs](c).Self.Meta()
				if len(m.Shape) < 2 {
					return nil, Errorf("%s: input tensor must have at least 2 dimensions", name)
				}
				return contiguousLike(m, m.Shape), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[SelfDiagonalArgs](c)
				m := a.Self.Meta()
				n := len(m.Shape)
				row := b.unsqueeze(b.arange(m.Shape[n-2], m), 1)
				col := b.sub(b.arange(m.Shape[n-1], m), a.Diagonal.Arg)
				x := b.where(keep(b, row, col), a.Self.Value(), scalarLike(a.Self.Value(), 0))
				return b.cast(x, m.DType)
			}),
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				if c.Grads[0] == nil {
					return []Value{nil}
				}
				return []Value{b.Emit(id, c.Grads[0], In[SelfDiagonalArgs](c.Call).Diagonal.Arg)}
			}),
		}
	}
	return []*Op{
		triangle(Tril, "tril", func(b B, row, col Value) Value { return b.le(col, row) }).and(TagHasInPlace | TagComplex),
		triangle(Triu, "triu", func(b B, row, col Value) Value { return b.ge(col, row) }).and(TagHasInPlace | TagComplex),
		{
			ID: MaskedFill, Name: "masked_fill", Schema: "(Tensor self, Tensor mask, Operand value) -> Tensor",
			Tags: TagPointwise | TagHasInPlace | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[MaskedFillArgs](c)
				m, mask := a.Self.Meta(), a.Mask.Meta()
				if mask.DType != Bool {
					return nil, Errorf("masked_fill_ only supports boolean masks, but got mask with dtype %s", mask.DType.Name())
				}
				if v := a.Value.Meta(); v != nil && len(v.Shape) > 0 {
					return nil, Errorf(
						"masked_fill only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
						len(v.Shape),
					)
				}
				d := ResultType(a.Self.Arg, a.Value.Arg)
				if d != m.DType && !CanCast(d, m.DType) && m.DType != Bool {
					return nil, Errorf("value cannot be converted to type %s without overflow", cppName(m.DType))
				}
				shape, err := broadcast2(m.Shape, mask.Shape)
				if err != nil {
					return nil, err
				}
				return contiguousLike(m, shape), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[MaskedFillArgs](c)
				var v Arg
				if x := a.Value.Value(); x != nil {
					v = b.cast(x, a.Self.Meta().DType)
				} else if v = scalarOf(a.Self.Meta().DType, a.Value.Float()); a.Self.Meta().DType == Bool {
					v = a.Value.Float() != 0
				}
				return b.contiguous(b.where(a.Mask.Value(), v, a.Self.Value()))
			}),
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
				a := In[MaskedFillArgs](c.Call)
				if i == 0 {
					return b.where(a.Mask.Value(), scalarLike(g, 0), g)
				}
				return b.mask(g, a.Mask.Value())
			}),
		},
		scatterReduceRow(),
	}
}

func indexingRows() []*Op {
	return append(append(slabRows(), maskedIndexRows()...), constantIndexRows()...)
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
		composite(UnsafeMaskedIndex, "_unsafe_masked_index",
			"(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor", TagInternal, func(b B, c *Call) Value {
				a := In[UnsafeMaskedIndexArgs](c)
				got := b.Emit(Index, a.Self.Value(), clampedIndices(b, c, a.Indices.Values()))
				return b.Emit(MaskedFill, got, b.not(a.Mask.Value()), a.Fill.Arg)
			}),
		composite(UnsafeMaskedIndexPut, "_unsafe_masked_index_put_accumulate",
			"(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor", TagInternal, func(b B, c *Call) Value {
				a := In[UnsafeMaskedIndexPutArgs](c)
				v := b.Emit(MaskedFill, a.Values.Value(), b.not(a.Mask.Value()), 0)
				return b.Emit(IndexPut, a.Self.Value(), clampedIndices(b, c, a.Indices.Values()), v, true)
			}),
		composite(NonzeroStatic, "nonzero_static", "(Tensor self, *, int size, int fill_value=-1) -> Tensor", TagNoGrad,
			nonzeroStatic).and(TagComplex),
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
		composite(Combinations, "combinations", "(Tensor self, int r=2, bool with_replacement=False) -> Tensor", TagNotMethod,
			func(b B, c *Call) Value {
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
		compositeN(UnravelIndex, "unravel_index", "(Tensor indices, int[] shape) -> Tensor[]", TagNotMethod|TagNoGrad,
			func(b B, c *Call) []Value {
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
