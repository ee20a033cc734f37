package ops

import (
	"tcdbg/ops/sym"
)

// This file holds gather, the scatters and their kin, which pick and place along one
// dimension, and what places slabs and views into a copy.

func indexRows() []*Op {
	rows := append(append(gatherRows(), scatterRows()...), reorderRows()...)
	return append(append(rows, advancedRows()...), maskRows()...)
}

// contiguousLike is a rule whose result has m's dtype and the given shape.
func contiguousLike(m *TensorMeta, shape []sym.Int) []Result {
	return one(NewMeta(m.DType, m.Device, shape))
}

func checkIndexType(name string, m *TensorMeta) error {
	if m.DType != Int64 && m.DType != Int32 && !sym.Is(numel(m.Shape), 0) {
		return Errorf("%s(): Expected dtype int32/int64 for index", name)
	}
	return nil
}

func gatherRows() []*Op {
	return []*Op{
		{
			ID: Gather, Name: "gather", Schema: "(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
			Tags: TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[GatherArgs](c)
				m, idx := a.Self.Meta(), a.Index.Meta()
				d, err := WrapDim(a.Dim.Int(), len(m.Shape))
				if err != nil {
					return nil, err
				}
				if err := checkIndexType("gather", idx); err != nil {
					return nil, err
				}
				if max(len(m.Shape), 1) != max(len(idx.Shape), 1) && !sym.Is(numel(idx.Shape), 0) {
					return nil, Errorf("Index tensor must have the same number of dimensions as input tensor")
				}
				for i := range idx.Shape {
					if i != d && i < len(m.Shape) && !sym.Is(numel(idx.Shape), 0) && sym.Gt(idx.Shape[i], m.Shape[i]) {
						return nil, Errorf(
							"Size does not match at dimension %d expected index %s to be no larger than self %s apart from dimension %d",
							i, ShapeText(idx.Shape), ShapeText(m.Shape), d,
						)
					}
				}
				return contiguousLike(m, idx.Shape), nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[GatherArgs](c.Call)
				if c.Grads[0] == nil {
					return []Value{nil, nil}
				}
				return []Value{b.Emit(ScatterAdd, b.zeros(likeGrad(c, c.Grads[0])), a.Dim.Arg, a.Index.Value(), c.Grads[0]), nil}
			}),
		},
		{
			ID: IndexSelect, Name: "index_select", Schema: "(Tensor self, int dim, Tensor index) -> Tensor", Tags: TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[IndexSelectArgs](c)
				m, idx := a.Self.Meta(), a.Index.Meta()
				d, err := WrapDim(a.Dim.Int(), len(m.Shape))
				if err != nil {
					return nil, err
				}
				if len(idx.Shape) > 1 {
					return nil, IndexErrorf("index_select(): Index is supposed to be a vector")
				}
				if err := checkIndexType("index_select", idx); err != nil {
					return nil, err
				}
				if len(m.Shape) == 0 {
					return contiguousLike(m, nil), nil
				}
				return contiguousLike(m, replaced(m.Shape, d, numel(idx.Shape))), nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[IndexSelectArgs](c.Call)
				g := c.Grads[0]
				if g == nil {
					return []Value{nil, nil}
				}
				if len(a.Self.Meta().Shape) == 0 {
					return []Value{g, nil}
				}
				return []Value{b.Emit(IndexAdd, b.zeros(likeGrad(c, g)), a.Dim.Arg, a.Index.Value(), g), nil}
			}),
		},
	}
}

// sameAsSelf is a rule whose result describes a changed copy of argument 0.
func sameAsSelf(check func(c *Call) error) func(*Call) ([]Result, error) {
	return func(c *Call) ([]Result, error) {
		if check != nil {
			if err := check(c); err != nil {
				return nil, err
			}
		}
		return selfLike(c)
	}
}

func checkDim1(c *Call) error {
	a := In[IndexAddArgs](c)
	_, err := WrapDim(a.Dim.Int(), len(a.Self.Meta().Shape))
	return err
}

// checkScatter checks (self, dim, index, src).
func checkScatter(c *Call) error {
	a := In[ScatterSrcArgs](c)
	m, idx := a.Self.Meta(), a.Index.Meta()
	d, err := WrapDim(a.Dim.Int(), len(m.Shape))
	if err != nil {
		return err
	}
	if err := checkIndexType("scatter", idx); err != nil {
		return err
	}
	if max(len(m.Shape), 1) != max(len(idx.Shape), 1) && !sym.Is(numel(idx.Shape), 0) {
		return Errorf("Index tensor must have the same number of dimensions as self tensor")
	}
	src := a.Src.Meta()
	if src != nil && src.DType != m.DType {
		return Errorf("%s(): Expected self.dtype to be equal to src.dtype", c.Op.Name)
	}
	if src != nil && max(len(src.Shape), 1) != max(len(idx.Shape), 1) && !sym.Is(numel(idx.Shape), 0) {
		return Errorf("Index tensor must have the same number of dimensions as src tensor")
	}
	for i := range idx.Shape {
		if sym.Is(numel(idx.Shape), 0) || i >= len(m.Shape) {
			break
		}
		if i != d && sym.Gt(idx.Shape[i], m.Shape[i]) || src != nil && i < len(src.Shape) && sym.Gt(idx.Shape[i], src.Shape[i]) {
			text := ""
			if src != nil {
				text = " and to be no larger size than src " + ShapeText(src.Shape)
			}
			return Errorf(
				"Expected index %s to be no larger than self %s apart from dimension %d%s", ShapeText(idx.Shape),
				ShapeText(m.Shape), d, text,
			)
		}
	}
	return nil
}

func scatterRows() []*Op {
	return []*Op{
		{
			ID: Scatter, Name: "scatter", Schema: "(Tensor self, int dim, Tensor index, Operand src) -> Tensor",
			Tags: TagHasInPlace | TagComplex, Meta: sameAsSelf(checkScatter),
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[ScatterArgs](c.Call)
				out := []Value{nil, nil, nil}
				g := c.Grads[0]
				if g == nil {
					return out
				}
				if c.Needs[0] {
					out[0] = b.Emit(Scatter, g, a.Dim.Arg, a.Index.Value(), scalarLike(g, 0))
				}
				if c.Needs[3] {
					out[2] = b.Emit(Gather, g, a.Dim.Arg, a.Index.Value())
				}
				return out
			}),
		},
		{
			ID: ScatterAdd, Name: "scatter_add", Schema: "(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
			Tags: TagHasInPlace | TagComplex, Meta: sameAsSelf(checkScatter),
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[ScatterAddArgs](c.Call)
				out := []Value{nil, nil, nil}
				g := c.Grads[0]
				if g == nil {
					return out
				}
				out[0] = g
				if c.Needs[3] {
					out[2] = b.Emit(Gather, g, a.Dim.Arg, a.Index.Value())
				}
				return out
			}),
		},
		{
			ID: IndexAdd, Name: "index_add", Schema: "(Tensor self, int dim, Tensor index, Tensor source, *, " +
				"Scalar alpha=1) -> Tensor", Tags: TagHasInPlace | TagComplex,
			Meta: sameAsSelf(func(c *Call) error {
				a := In[IndexAddArgs](c)
				if err := checkDim1(c); err != nil {
					return err
				}
				if src := a.Source.Meta(); src.DType != a.Self.Meta().DType {
					return Errorf(
						"index_add_(): self (%s) and source (%s) must have the same scalar type",
						a.Self.Meta().DType.ScalarType(), src.DType.ScalarType(),
					)
				}
				if len(a.Index.Meta().Shape) > 1 {
					return IndexErrorf(
						"index_add_(): Index is supposed to be a vector, but got dim: %d with type: %s and size: %s",
						len(a.Index.Meta().Shape), a.Index.Meta().DType.ScalarType(), ShapeText(a.Index.Meta().Shape),
					)
				}
				if err := checkSource(c, "source"); err != nil {
					return err
				}
				return checkIndexType("index_add_", a.Index.Meta())
			}),
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[IndexAddArgs](c.Call)
				out := []Value{nil, nil, nil}
				g := c.Grads[0]
				if g == nil {
					return out
				}
				out[0] = g
				if c.Needs[3] {
					src := a.Source.Meta()
					picked := b.Emit(IndexSelect, g, a.Dim.Arg, a.Index.Value())
					out[2] = timesAlpha(b, view2(b, picked, src.Shape), a.Alpha.Arg)
				}
				return out
			}),
		},
		composite(ScatterBy, "scatter.reduce", "(Tensor self, int dim, Tensor index, Operand src, *, str reduce) -> Tensor",
			TagInternal, scatterBy).and(TagHasInPlace | TagComplex),
		placeRow(SliceScatter, "slice_scatter", "(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, "+
			"int step=1) -> Tensor", func(b B, c *Call, x Value) Value {
			a := In[SliceScatterArgs](c)
			return b.Emit(Slice, x, a.Dim.Arg, a.Start.Arg, a.End.Arg, a.Step.Arg)
		}).and(TagComplex),
		placeRow(SelectScatter, "select_scatter", "(Tensor self, Tensor src, int dim, int index) -> Tensor",
			func(b B, c *Call, x Value) Value {
				a := In[SelectScatterArgs](c)
				return b.Emit(Select, x, a.Dim.Arg, a.Index.Arg)
			}).and(TagComplex),
	}
}

// checkSource checks that (self, dim, index, source) fit together.
func checkSource(c *Call, name string) error {
	a := In[IndexSourceArgs](c)
	m, idx, src := a.Self.Meta(), a.Index.Meta(), a.Source.Meta()
	d, err := WrapDim(a.Dim.Int(), len(m.Shape))
	if err != nil {
		return err
	}
	mismatch := Errorf(
		"%s tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = %s %s.shape = %s",
		name, ShapeText(m.Shape), name, ShapeText(src.Shape),
	)
	if max(len(src.Shape), 1) != max(len(m.Shape), 1) {
		return mismatch
	}
	for i := range src.Shape {
		if i != d && i < len(m.Shape) && sym.Ne(src.Shape[i], m.Shape[i]) {
			return mismatch
		}
	}
	n := symOne
	if len(src.Shape) > 0 {
		n = src.Shape[d]
	}
	if sym.Ne(n, numel(idx.Shape)) {
		return Errorf("Number of indices (%s) should be equal to %s.size(dim): (%s)", numel(idx.Shape), name, n)
	}
	return nil
}

// scatterBy is scatter that adds or multiplies.
func scatterBy(b B, c *Call) Value {
	a := In[ScatterByArgs](c)
	how, known := map[string]string{"add": "sum", "multiply": "prod"}[a.Reduce.Str()]
	if !known {
		refuse(Errorf("reduce argument must be either add or multiply."))
	}
	src := a.Src.Value()
	if src == nil {
		m := a.Self.Meta()
		src = b.full(a.Index.Meta().Shape, numberAs(m.DType, a.Src.Arg), m)
	}
	return b.Emit(ScatterReduce, a.Self.Value(), a.Dim.Arg, a.Index.Value(), src, how, true)
}

// placeRow is a copy of argument 0 with a part, seen through view, replaced by
// argument 1.
func placeRow(id ID, name, schema string, view func(b B, c *Call, x Value) Value) *Op {
	return &Op{
		ID: id, Name: name, Schema: schema,
		Meta: func(c *Call) ([]Result, error) {
			m := In[SelfArgs](c).Self.Meta()
			return contiguousLike(m, m.Shape), nil
		},
		Backward: backOf(func(b B, c *BackwardCall) []Value {
			out := []Value{nil, nil}
			g := c.Grads[0]
			if g == nil {
				return out
			}
			if c.Needs[0] {
				src := b.zeros(In[SelfSrcArgs](c.Call).Src.Meta())
				out[0] = b.Emit(id, c.with("self", g).with("src", src).Args...)
			}
			if c.Needs[1] {
				out[1] = view(b, c.Call, g)
			}
			return out
		}),
	}
}

func reorderRows() []*Op {
	return []*Op{
		{
			ID: Flip, Name: "flip", Schema: "(Tensor self, int[] dims) -> Tensor", Tags: TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[FlipArgs](c)
				m := a.Self.Meta()
				if _, err := wrapDims(a.Dims.Ints(), len(m.Shape), false); err != nil {
					return nil, err
				}
				return selfLike(c)
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				if c.Grads[0] == nil {
					return []Value{nil}
				}
				return []Value{b.Emit(Flip, c.Grads[0], In[FlipArgs](c.Call).Dims.Arg)}
			}),
		},
	}
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
		composite(FillDiagonal, "fill_diagonal", "(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor",
			TagNotFunction|TagNotMethod, fillDiagonal).and(TagHasInPlace | TagComplex),
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
		composite(IndexReduce, "index_reduce", "(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "+
			"bool include_self=True) -> Tensor", 0, func(b B, c *Call) Value {
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
		composite(Put, "put", "(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", TagNotFunction,
			func(b B, c *Call) Value {
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
						"put_(): Expected source and index to have the same number of elements, but got source.numel() = %s, "+
							"index.numel() = %s",
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
	row := composite(AsStridedScatter, "as_strided_scatter",
		"(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor", 0, asStridedScatter).and(TagComplex)
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

func scatterReduceRow() *Op {
	return &Op{
		ID: ScatterReduce, Name: "scatter_reduce",
		Schema: "(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor", Tags: TagHasInPlace,
		Meta: sameAsSelf(func(c *Call) error {
			a := In[ScatterReduceArgs](c)
			switch a.Reduce.Str() {
			case "sum", "prod", "mean", "amax", "amin":
			default:
				return Errorf("reduce argument must be either sum, prod, mean, amax or amin, got %s", a.Reduce.Str())
			}
			return checkScatter(c)
		}),
		Backward: backOf(scatterReduceBack),
	}
}

func scatterReduceBack(b B, c *BackwardCall) []Value {
	a := In[ScatterReduceArgs](c.Call)
	g := c.Grads[0]
	if g == nil {
		return []Value{nil, nil, nil}
	}
	self, dim, idx, src, out := a.Self.Value(), a.Dim.Arg, a.Index.Value(), a.Src.Value(), c.Outs[0]
	var gs, gv Value
	gather := func(x Value) Value { return b.Emit(Gather, x, dim, idx) }
	zeros := func(x Value) Value { return b.zeros(likeGrad(c, x)) }
	switch a.Reduce.Str() {
	case "sum":
		gs, gv = g, gather(g)
	case "mean":
		n := zeros(g)
		if a.IncludeSelf.Bool() {
			n = b.Emit(OnesLike, n)
		}
		n = b.Emit(ScatterAdd, n, dim, idx, b.Emit(OnesLike, src))
		n = b.Emit(Clamp, n, 1.0)
		gs, gv = b.div(g, n), b.div(gather(g), gather(n))
	case "prod":
		gs, gv = scatterProdBack(b, c, g)
	default:
		value := gather(out)
		selfHit, srcHit := b.eq(self, out), b.eq(src, value)
		// an element of self takes its share even where include_self leaves it out
		hits := b.Emit(ScatterAdd, b.cast(selfHit, g.TensorMeta().DType), dim, idx, b.cast(srcHit, g.TensorMeta().DType))
		share := b.div(g, b.Emit(Clamp, hits, 1.0))
		gs, gv = b.mask(share, selfHit), b.mask(gather(share), srcHit)
	}
	if !a.IncludeSelf.Bool() {
		gs = b.Emit(Scatter, gs, dim, idx, 0.0)
	}
	return []Value{gs, nil, gv}
}

// scatterProdBack divides the product by each factor; single zeros are
// replaced by one, several make everything zero.
func scatterProdBack(b B, c *BackwardCall, g Value) (gs, gv Value) {
	a := In[ScatterReduceArgs](c.Call)
	self, dim, idx, src, out := a.Self.Value(), a.Dim.Arg, a.Index.Value(), a.Src.Value(), c.Outs[0]
	d := g.TensorMeta().DType
	zeroSelf := b.eq(self, 0.0)
	maskedSelf := b.where(zeroSelf, 1.0, self)
	maskedOut := b.Emit(ScatterReduce, maskedSelf, dim, idx, src, "prod", a.IncludeSelf.Arg)
	gs = b.div(b.mul(g, maskedOut), maskedSelf)
	zeroSrc := b.eq(src, 0.0)
	count := b.Emit(ScatterAdd, b.cast(zeroSelf, d), dim, idx, b.cast(zeroSrc, d))
	if !a.IncludeSelf.Bool() {
		count = b.Emit(ScatterAdd, b.Emit(Scatter, b.cast(zeroSelf, d), dim, idx, 0.0), dim, idx, b.cast(zeroSrc, d))
	}
	single := b.and(zeroSrc, b.eq(b.Emit(Gather, count, dim, idx), 1.0))
	maskedSrc := b.where(single, 1.0, src)
	maskedProd := b.Emit(ScatterReduce, self, dim, idx, maskedSrc, "prod", a.IncludeSelf.Arg)
	one := b.Emit(Gather, b.mul(g, maskedProd), dim, idx)
	safe := b.where(zeroSrc, 1.0, src)
	other := b.div(b.Emit(Gather, b.mul(g, out), dim, idx), safe)
	gv = b.where(single, one, b.where(zeroSrc, 0.0, other))
	return gs, gv
}
