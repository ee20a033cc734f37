package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds the operators that only change how memory is looked at.

// asView copies what a view keeps of its base.
func asView(m *TensorMeta, shape, stride []sym.Int, offset sym.Int) []Result {
	return one(&TensorMeta{DType: m.DType, Device: m.Device, Shape: shape, Stride: stride, Offset: offset})
}

func viewRow(
	id ID, name, schema string, meta func(c *Call, m *TensorMeta) ([]Result, error),
	back func(b B, c *BackwardCall, g Value) Value,
) *Op {
	return &Op{
		ID: id, Name: name, Schema: schema, Tags: TagView,
		Meta:     func(c *Call) ([]Result, error) { return meta(c, In[SelfArgs](c).Self.Meta()) },
		Backward: viewBack(back),
	}
}

func viewBack(back func(b B, c *BackwardCall, g Value) Value) backFn {
	if back == nil {
		return nil
	}
	return backOf(func(b B, c *BackwardCall) []Value {
		if c.Grads[0] == nil {
			return []Value{nil}
		}
		return []Value{back(b, c, c.Grads[0])}
	})
}

// InferShape replaces the -1 of a requested shape.
func InferShape(want []sym.Int, total sym.Int) ([]sym.Int, error) {
	hole := -1
	known := symOne
	for i, s := range want {
		switch {
		case sym.Is(s, -1):
			if hole >= 0 {
				return nil, Errorf("only one dimension can be inferred")
			}
			hole = i
		default:
			if v, ok := s.IsConst(); ok && v < 0 {
				return nil, Errorf("invalid shape dimension %d", v)
			}
			known = sym.Mul(known, s)
		}
	}
	bad := func() error { return Errorf("shape '%s' is invalid for input of size %s", ShapeText(want), total) }
	if hole < 0 {
		if sym.Ne(known, total) {
			return nil, bad()
		}
		return want, nil
	}
	if sym.Is(known, 0) {
		if !sym.Is(total, 0) {
			return nil, bad()
		}
		return nil, Errorf(
			"cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size -1 can be any value and is ambiguous",
			ShapeText(want),
		)
	}
	q := sym.FloorDiv(total, known)
	if sym.Ne(sym.Mul(q, known), total) {
		return nil, bad()
	}
	return replaced(want, hole, q), nil
}

// ViewStrides are the strides with which memory of m is seen in another shape;
// ok is false when that needs a copy.
func ViewStrides(m *TensorMeta, shape []sym.Int) (stride []sym.Int, ok bool) {
	if sym.Is(numel(m.Shape), 0) {
		if equalShape(m.Shape, shape) {
			return m.Stride, true
		}
		return ContiguousStrides(shape), true
	}
	if IsContiguous(m) {
		return ContiguousStrides(shape), true
	}
	if len(m.Shape) == 0 {
		out := make([]sym.Int, len(shape))
		for i := range out {
			out[i] = symOne
		}
		return out, true
	}
	return chunkStrides(m, shape)
}

// chunkStrides walks both shapes from the right: dimensions that are laid out
// as one run of memory may be cut again, others may not.
func chunkStrides(m *TensorMeta, shape []sym.Int) ([]sym.Int, bool) {
	out := make([]sym.Int, len(shape))
	v := len(shape) - 1
	base := m.Stride[len(m.Stride)-1]
	tensorNumel, viewNumel := symOne, symOne
	for d := len(m.Shape) - 1; d >= 0; d-- {
		tensorNumel = sym.Mul(tensorNumel, m.Shape[d])
		if d > 0 && (sym.Is(m.Shape[d-1], 1) || sym.Eq(m.Stride[d-1], sym.Mul(tensorNumel, base))) {
			continue
		}
		for v >= 0 && (sym.Is(shape[v], 1) || sym.Lt(viewNumel, tensorNumel)) {
			out[v] = sym.Mul(viewNumel, base)
			viewNumel = sym.Mul(viewNumel, shape[v])
			v--
		}
		if sym.Ne(viewNumel, tensorNumel) {
			return nil, false
		}
		if d > 0 {
			base = m.Stride[d-1]
			tensorNumel, viewNumel = symOne, symOne
		}
	}
	return out, v == -1
}

func viewRows() []*Op {
	return append(append(shapeRows(), orderRows()...), sliceRows()...)
}

func shapeRows() []*Op {
	reshapeBack := func(b B, c *BackwardCall, g Value) Value {
		return b.reshape(g, In[ViewArgs](c.Call).Self.Meta().Shape...)
	}
	view := viewRow(View, "view", "(Tensor self, int[] size) -> Tensor", func(c *Call, m *TensorMeta) ([]Result, error) {
		shape, err := InferShape(In[ViewArgs](c).Size.Ints(), numel(m.Shape))
		if err != nil {
			return nil, err
		}
		stride, ok := ViewStrides(m, shape)
		if !ok {
			return nil, Errorf(
				"view size is not compatible with input tensor's size and stride (at least one dimension spans across two " +
					"contiguous subspaces). Use .reshape(...) instead.",
			)
		}
		return asView(m, shape, stride, m.Offset), nil
	}, reshapeBack)
	view.Tags |= TagNotFunction
	expand := viewRow(Expand, "expand", "(Tensor self, int[] size, *, bool implicit=False) -> Tensor", expandMeta,
		func(b B, c *BackwardCall, g Value) Value { return b.sumTo(g, In[ExpandArgs](c.Call).Self.Meta().Shape) })
	expand.Tags |= TagNotFunction
	return []*Op{
		view, expand,
		{
			ID: Reshape, Name: "reshape", Schema: "(Tensor self, int[] shape) -> Tensor", Tags: TagMaybeView | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[ReshapeArgs](c)
				m := a.Self.Meta()
				shape, err := InferShape(a.Shape.Ints(), numel(m.Shape))
				if err != nil {
					return nil, err
				}
				if stride, ok := ViewStrides(m, shape); ok {
					return asView(m, shape, stride, m.Offset), nil
				}
				return one(NewMeta(m.DType, m.Device, shape)), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[ReshapeArgs](c)
				x := a.Self.Value()
				m := x.TensorMeta()
				shape, err := InferShape(a.Shape.Ints(), numel(m.Shape))
				if err != nil {
					panic(err)
				}
				if _, ok := ViewStrides(m, shape); !ok {
					x = b.Emit(Clone, x, "contiguous_format")
				}
				return b.view(x, shape...)
			}),
		},
		{
			ID: Flatten, Name: "flatten", Schema: "(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor",
			Tags: TagMaybeView | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				shape, err := flattenShape(c)
				if err != nil {
					return nil, err
				}
				m := In[FlattenArgs](c).Self.Meta()
				if stride, ok := ViewStrides(m, shape); ok {
					return asView(m, shape, stride, m.Offset), nil
				}
				return one(NewMeta(m.DType, m.Device, shape)), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[FlattenArgs](c)
				shape, err := flattenShape(c)
				if err != nil {
					panic(err)
				}
				if len(shape) == len(a.Self.Meta().Shape) {
					return b.Emit(Alias, a.Self.Value())
				}
				return b.reshape(a.Self.Value(), shape...)
			}),
		},
	}
}

func flattenShape(c *Call) ([]sym.Int, error) {
	a := In[FlattenArgs](c)
	s := a.Self.Meta().Shape
	if len(s) == 0 {
		return []sym.Int{symOne}, nil
	}
	from, err := WrapDim(a.StartDim.Int(), len(s))
	if err != nil {
		return nil, err
	}
	to, err := WrapDim(a.EndDim.Int(), len(s))
	if err != nil {
		return nil, err
	}
	if from > to {
		return nil, Errorf("flatten() has invalid args: start_dim cannot come after end_dim")
	}
	out := append(cloneInts(s[:from]), numel(s[from:to+1]))
	return append(out, s[to+1:]...), nil
}

func expandMeta(c *Call, m *TensorMeta) ([]Result, error) {
	size := In[ExpandArgs](c).Size.Ints()
	lead := len(size) - len(m.Shape)
	if lead < 0 {
		return nil, expandError(m.Shape, size)
	}
	shape, stride := cloneInts(size), make([]sym.Int, len(size))
	for i := range size {
		j := i - lead
		if j < 0 {
			if sym.Is(size[i], -1) {
				return nil, Errorf("The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension %d", i)
			}
			continue
		}
		switch {
		case sym.Is(size[i], -1):
			shape[i], stride[i] = m.Shape[j], m.Stride[j]
		case sym.Same(size[i], m.Shape[j]):
			stride[i] = m.Stride[j]
		case sym.Is(m.Shape[j], 1):
			stride[i] = symZero
		case sym.Eq(size[i], m.Shape[j]):
			shape[i], stride[i] = m.Shape[j], m.Stride[j]
		case sym.Eq(m.Shape[j], symOne):
			stride[i] = symZero
		default:
			return nil, expandError(m.Shape, size)
		}
	}
	for i := lead - 1; i >= 0; i-- {
		stride[i] = symZero
		if sym.Is(shape[i], 1) && i+1 < len(shape) {
			stride[i] = sym.Mul(shape[i+1], stride[i+1])
		}
	}
	return asView(m, shape, stride, m.Offset), nil
}

func orderRows() []*Op {
	transpose := func(id ID, name string) *Op {
		return viewRow(id, name, "(Tensor self, int dim0, int dim1) -> Tensor", func(c *Call, m *TensorMeta) ([]Result, error) {
			a := In[SelfDim0Dim1Args](c)
			i, err := WrapDim(a.Dim0.Int(), len(m.Shape))
			if err != nil {
				return nil, err
			}
			j, err := WrapDim(a.Dim1.Int(), len(m.Shape))
			if err != nil {
				return nil, err
			}
			shape, stride := cloneInts(m.Shape), cloneInts(m.Stride)
			if len(shape) > 0 {
				shape[i], shape[j] = shape[j], shape[i]
				stride[i], stride[j] = stride[j], stride[i]
			}
			return asView(m, shape, stride, m.Offset), nil
		}, func(b B, c *BackwardCall, g Value) Value {
			a := In[SelfDim0Dim1Args](c.Call)
			return b.Emit(Transpose, g, a.Dim0.Arg, a.Dim1.Arg)
		})
	}
	return []*Op{
		transpose(Transpose, "transpose").and(TagHasInPlace),
		viewRow(T, "t", selfOnly, func(c *Call, m *TensorMeta) ([]Result, error) {
			switch len(m.Shape) {
			case 0, 1:
				return asView(m, m.Shape, m.Stride, m.Offset), nil
			case 2:
				return asView(m, []sym.Int{m.Shape[1], m.Shape[0]}, []sym.Int{m.Stride[1], m.Stride[0]}, m.Offset), nil
			}
			return nil, Errorf("t() expects a tensor with <= 2 dimensions, but self is %dD", len(m.Shape))
		}, func(b B, c *BackwardCall, g Value) Value { return b.t(g) }).and(TagHasInPlace),
		viewRow(Permute, "permute", "(Tensor self, int[] dims) -> Tensor", permuteMeta, func(b B, c *BackwardCall, g Value) Value {
			a := In[PermuteArgs](c.Call)
			n := len(a.Self.Meta().Shape)
			inv := make([]int, n)
			for i, d := range a.Dims.Nums() {
				d, _ := wrapDim(d, n)
				inv[d] = i
			}
			return b.permute(g, inv...)
		}),
		viewRow(Unsqueeze, "unsqueeze", "(Tensor self, int dim) -> Tensor", func(c *Call, m *TensorMeta) ([]Result, error) {
			d, err := WrapDim(In[UnsqueezeArgs](c).Dim.Int(), len(m.Shape)+1)
			if err != nil {
				return nil, err
			}
			step := symOne
			if d < len(m.Shape) {
				step = sym.Mul(m.Shape[d], m.Stride[d])
			}
			return asView(m, inserted(m.Shape, d, symOne), inserted(m.Stride, d, step), m.Offset), nil
		}, func(b B, c *BackwardCall, g Value) Value {
			a := In[UnsqueezeArgs](c.Call)
			d, _ := WrapDim(a.Dim.Int(), len(a.Self.Meta().Shape)+1)
			return b.squeeze(g, d)
		}).and(TagHasInPlace),
		viewRow(Squeeze, "squeeze", "(Tensor self, int[]? dim=None) -> Tensor", squeezeMeta, func(b B, c *BackwardCall, g Value) Value {
			return b.reshape(g, In[SqueezeArgs](c.Call).Self.Meta().Shape...)
		}).and(TagHasInPlace),
		viewRow(Detach, "detach", selfOnly, aliasMeta, nil).and(TagComplex),
		viewRow(Alias, "alias", selfOnly, aliasMeta, func(b B, c *BackwardCall, g Value) Value { return g }),
		withDataRow(),
	}
}

// withDataRow is a tensor after its data was replaced behind autograd's back
// (in place, under no_grad or through detach): the value is that of the second
// argument, the gradient goes where that of the first goes.
func withDataRow() *Op {
	return &Op{
		ID: WithData, Name: "_with_data", Schema: "(Tensor self, Tensor data) -> Tensor", Tags: TagInternal | TagNotMethod,
		Meta:      func(c *Call) ([]Result, error) { return laidOutLike(In[WithDataArgs](c).Data.Meta()), nil },
		Backward:  backOf(func(b B, c *BackwardCall) []Value { return []Value{c.Grads[0], nil} }),
		Decompose: decomp(func(b B, c *Call) Value { return In[WithDataArgs](c).Data.Value() }),
	}
}

func aliasMeta(_ *Call, m *TensorMeta) ([]Result, error) {
	return asView(m, m.Shape, m.Stride, m.Offset), nil
}

func permuteMeta(c *Call, m *TensorMeta) ([]Result, error) {
	dims := In[PermuteArgs](c).Dims.Nums()
	n := len(m.Shape)
	if len(dims) != n {
		return nil, Errorf(
			"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "+
				"dimensions i.e. input.dim() = %d is not equal to len(dims) = %d",
			n, len(dims),
		)
	}
	shape, stride, seen := make([]sym.Int, n), make([]sym.Int, n), make([]bool, n)
	for i, d := range dims {
		d, err := wrapDim(d, n)
		if err != nil {
			return nil, err
		}
		if seen[d] {
			return nil, Errorf("permute(): duplicate dims are not allowed.")
		}
		seen[d] = true
		shape[i], stride[i] = m.Shape[d], m.Stride[d]
	}
	return asView(m, shape, stride, m.Offset), nil
}

func squeezeMeta(c *Call, m *TensorMeta) ([]Result, error) {
	a := In[SqueezeArgs](c)
	drop, err := wrapDims(a.Dim.Ints(), len(m.Shape), a.Dim.IsNone())
	if err != nil {
		return nil, err
	}
	var shape, stride []sym.Int
	for i := range m.Shape {
		if drop[i] && sym.Eq(m.Shape[i], symOne) {
			continue
		}
		shape, stride = append(shape, m.Shape[i]), append(stride, m.Stride[i])
	}
	return asView(m, shape, stride, m.Offset), nil
}

func sliceRows() []*Op {
	sl := viewRow(Slice, "slice", "(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor", sliceMeta,
		func(b B, c *BackwardCall, g Value) Value {
			a := In[SliceArgs](c.Call)
			return b.Emit(SliceScatter, b.zeros(likeGrad(c, g)), g, a.Dim.Arg, a.Start.Arg, a.End.Arg, a.Step.Arg)
		})
	return []*Op{
		sl,
		viewRow(Select, "select", "(Tensor self, int dim, int index) -> Tensor", selectMeta, func(b B, c *BackwardCall, g Value) Value {
			a := In[SelectArgs](c.Call)
			return b.Emit(SelectScatter, b.zeros(likeGrad(c, g)), g, a.Dim.Arg, a.Index.Arg)
		}),
		{
			ID: Narrow, Name: "narrow", Schema: "(Tensor self, int dim, int start, int length) -> Tensor", Tags: TagView,
			Meta: narrowMeta,
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[NarrowArgs](c)
				start := a.Start.Int()
				d, _ := WrapDim(a.Dim.Int(), len(a.Self.Meta().Shape))
				if sym.Lt(start, symZero) {
					start = sym.Add(start, a.Self.Meta().Shape[d])
				}
				return b.slice(a.Self.Value(), d, start, sym.Add(start, a.Length.Int()))
			}),
		},
		viewRow(AsStrided, "as_strided", "(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
			func(c *Call, m *TensorMeta) ([]Result, error) {
				a := In[AsStridedArgs](c)
				if len(a.Size.Ints()) != len(a.Stride.Ints()) {
					return nil, Errorf("mismatch in length of strides and shape")
				}
				off := m.Offset
				if !a.StorageOffset.IsNone() {
					off = a.StorageOffset.Int()
				}
				if err := checkStrided(a.Stride.Ints(), off); err != nil {
					return nil, err
				}
				return asView(m, a.Size.Ints(), a.Stride.Ints(), off), nil
			}, asStridedBack).and(TagHasInPlace),
	}
}

// checkStrided refuses strides and offsets that lead in front of the storage.
func checkStrided(stride []sym.Int, offset sym.Int) error {
	for _, s := range stride {
		if sym.Lt(s, symZero) {
			return Errorf("as_strided: Negative strides are not supported at the moment, got strides: %s", ShapeText(stride))
		}
	}
	if sym.Lt(offset, symZero) {
		return Errorf("Tensor: invalid storage offset %s", offset)
	}
	return nil
}

// CheckWithin refuses a view that reaches beyond its storage: one of elements of
// itemsize bytes, where the storage has that many bytes in all.
func CheckWithin(size, stride []sym.Int, offset sym.Int, itemsize, bytes sym.Int) error {
	end := sym.Add(offset, symOne)
	for i, n := range size {
		if sym.Is(n, 0) {
			return nil
		}
		end = sym.Add(end, sym.Mul(sym.Sub(n, symOne), stride[i]))
	}
	if need := sym.Mul(end, itemsize); sym.Gt(need, bytes) {
		return Errorf("setStorage: sizes %s, strides %s, storage offset %s, and itemsize %s requiring a storage size of %s are out "+
			"of bounds for storage of size %s",
			ShapeText(size), ShapeText(stride), offset, itemsize, need, bytes)
	}
	return nil
}

// likeGrad describes the input of a view with the gradient's dtype.
func likeGrad(c *BackwardCall, g Value) *TensorMeta {
	m := In[SelfArgs](c.Call).Self.Meta()
	return NewMeta(g.TensorMeta().DType, m.Device, m.Shape)
}

// asStridedBack adds each element of the gradient to the storage element that
// it came from, then reads the input's elements from there.
func asStridedBack(b B, c *BackwardCall, g Value) Value {
	a := In[AsStridedArgs](c.Call)
	m := a.Self.Meta()
	off := m.Offset
	if !a.StorageOffset.IsNone() {
		off = a.StorageOffset.Int()
	}
	base := sym.Min(off, m.Offset)
	size := sym.Sub(sym.Max(extent(a.Size.Ints(), a.Stride.Ints(), off), extent(m.Shape, m.Stride, m.Offset)), base)
	flat := b.full([]sym.Int{size}, 0, g.TensorMeta())
	at := storagePlaces(b, a.Size.Ints(), a.Stride.Ints(), sym.Sub(off, base), g.TensorMeta())
	flat = b.Emit(IndexAdd, flat, 0, at, b.reshape(g, numel(a.Size.Ints())))
	from := storagePlaces(b, m.Shape, m.Stride, sym.Sub(m.Offset, base), g.TensorMeta())
	return b.view(b.Emit(IndexSelect, flat, 0, from), m.Shape...)
}

// extent is one more than the largest storage index of a layout.
func extent(shape, stride []sym.Int, offset sym.Int) sym.Int {
	end := sym.Add(offset, symOne)
	for i := range shape {
		end = sym.Add(end, sym.Mul(sym.Sub(shape[i], symOne), stride[i]))
	}
	return end
}

// storagePlaces lists the storage index of every element of a layout, in order.
func storagePlaces(b B, shape, stride []sym.Int, offset sym.Int, like *TensorMeta) Value {
	at := b.Emit(Full, []sym.Int{}, offset, Int64, like.Device)
	for i := range shape {
		step := b.mul(b.arange(shape[i], like), stride[i])
		at = b.add(b.unsqueeze(at, i), step)
	}
	return b.reshape(at, numel(shape))
}

// sliceBounds clamps start and end as Python does.
func sliceBounds(c *Call, size sym.Int) (start, end sym.Int) {
	a := In[SliceArgs](c)
	start, end = symZero, size
	if !a.Start.IsNone() {
		start = clampIndex(a.Start.Int(), size)
	}
	if !a.End.IsNone() {
		end = clampIndex(a.End.Int(), size)
	}
	if !sym.Is(start, 0) && !sym.Same(start, end) && sym.Lt(end, start) {
		end = start
	}
	return start, end
}

func clampIndex(i, size sym.Int) sym.Int {
	if v, ok := i.IsConst(); ok && v == math.MaxInt64 {
		return size
	}
	if sym.Lt(i, symZero) {
		i = sym.Add(i, size)
		if sym.Lt(i, symZero) {
			return symZero
		}
		return i
	}
	if sym.Same(i, size) || sym.Is(i, 0) {
		return i
	}
	if sym.Gt(i, size) {
		return size
	}
	return i
}

func sliceMeta(c *Call, m *TensorMeta) ([]Result, error) {
	a := In[SliceArgs](c)
	if len(m.Shape) == 0 {
		return nil, Errorf("slice() cannot be applied to a 0-dim tensor.")
	}
	d, err := WrapDim(a.Dim.Int(), len(m.Shape))
	if err != nil {
		return nil, err
	}
	step := a.Step.Int()
	if sym.Le(step, symZero) {
		return nil, Errorf("slice step must be positive")
	}
	start, end := sliceBounds(c, m.Shape[d])
	size := sym.FloorDiv(sym.Add(sym.Sub(end, start), sym.Sub(step, symOne)), step)
	off := sym.Add(m.Offset, sym.Mul(start, m.Stride[d]))
	return asView(m, replaced(m.Shape, d, size), replaced(m.Stride, d, sym.Mul(m.Stride[d], step)), off), nil
}

func selectMeta(c *Call, m *TensorMeta) ([]Result, error) {
	a := In[SelectArgs](c)
	if len(m.Shape) == 0 {
		return nil, IndexErrorf("select() cannot be applied to a 0-dim tensor.")
	}
	d, err := WrapDim(a.Dim.Int(), len(m.Shape))
	if err != nil {
		return nil, err
	}
	i, size := a.Index.Int(), m.Shape[d]
	if sym.Lt(i, sym.Neg(size)) || sym.Ge(i, size) {
		return nil, IndexErrorf("select(): index %s out of range for tensor of size %s at dimension %d", i, ShapeText(m.Shape), d)
	}
	if sym.Lt(i, symZero) {
		i = sym.Add(i, size)
	}
	return asView(m, without(m.Shape, d), without(m.Stride, d), sym.Add(m.Offset, sym.Mul(i, m.Stride[d]))), nil
}

func narrowMeta(c *Call) ([]Result, error) {
	a := In[NarrowArgs](c)
	m := a.Self.Meta()
	if len(m.Shape) == 0 {
		return nil, Errorf("narrow() cannot be applied to a 0-dim tensor.")
	}
	d, err := WrapDim(a.Dim.Int(), len(m.Shape))
	if err != nil {
		return nil, err
	}
	start, length, size := a.Start.Int(), a.Length.Int(), m.Shape[d]
	if sym.Lt(length, symZero) {
		return nil, Errorf("narrow(): length must be non-negative.")
	}
	if sym.Lt(start, sym.Neg(size)) || sym.Gt(start, size) {
		return nil, IndexErrorf("start out of range (expected to be in range of [-%s, %s], but got %s)", size, size, start)
	}
	if sym.Lt(start, symZero) {
		start = sym.Add(start, size)
	}
	if sym.Gt(sym.Add(start, length), size) {
		return nil, Errorf("start (%s) + length (%s) exceeds dimension size (%s).", start, length, size)
	}
	return asView(m, replaced(m.Shape, d, length), m.Stride, sym.Add(m.Offset, sym.Mul(start, m.Stride[d]))), nil
}
