package ops

import "tcdbg/ops/sym"

// This file holds the operators that pick and place elements by position.

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
			ID: Gather, Name: "gather", Schema: "(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", Tags: TagComplex,
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
			ID: Scatter, Name: "scatter", Schema: "(Tensor self, int dim, Tensor index, Operand src) -> Tensor", Tags: TagHasInPlace | TagComplex, Meta: sameAsSelf(checkScatter),
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
			ID: ScatterAdd, Name: "scatter_add", Schema: "(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", Tags: TagHasInPlace | TagComplex, Meta: sameAsSelf(checkScatter),
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
			ID: IndexAdd, Name: "index_add", Schema: "(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", Tags: TagHasInPlace | TagComplex,
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
		composite(ScatterBy, "scatter.reduce", "(Tensor self, int dim, Tensor index, Operand src, *, str reduce) -> Tensor", TagInternal, scatterBy).and(TagHasInPlace | TagComplex),
		placeRow(SliceScatter, "slice_scatter", "(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor", func(b B, c *Call, x Value) Value {
			a := In[SliceScatterArgs](c)
			return b.Emit(Slice, x, a.Dim.Arg, a.Start.Arg, a.End.Arg, a.Step.Arg)
		}).and(TagComplex),
		placeRow(SelectScatter, "select_scatter", "(Tensor self, Tensor src, int dim, int index) -> Tensor", func(b B, c *Call, x Value) Value {
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
