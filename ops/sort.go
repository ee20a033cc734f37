package ops

import "tcdbg/ops/sym"

// This file holds sorting, searching and what depends on data for its shape.

func dataDependent(c *Call) ([]Result, error) { return nil, &DataDependentError{Op: c.Op.FullName()} }

func sortRows() []*Op {
	return append(orderedRows(), dynamicRows()...)
}

func withIndices(m *TensorMeta, shape []sym.Int) []Result {
	return []Result{NewMeta(m.DType, m.Device, shape), NewMeta(Int64, m.Device, shape)}
}

func orderedRows() []*Op {
	return []*Op{
		{
			ID: Topk, Name: "topk", Schema: "(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor " +
				"values, Tensor indices)",
			Meta: func(c *Call) ([]Result, error) {
				a := In[TopkArgs](c)
				m := a.Self.Meta()
				d, err := WrapDim(a.Dim.Int(), len(m.Shape))
				if err != nil {
					return nil, err
				}
				n := symOne
				if len(m.Shape) > 0 {
					n = m.Shape[d]
				}
				if sym.Lt(a.K.Int(), symZero) || sym.Gt(a.K.Int(), n) {
					return nil, Errorf("selected index k out of range")
				}
				if len(m.Shape) == 0 {
					return withIndices(m, nil), nil
				}
				return withIndices(m, replaced(m.Shape, d, a.K.Int())), nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[TopkArgs](c.Call)
				return []Value{valueSelectBack(b, c, a.Self, a.Dim, true)}
			}),
		},
		{
			ID: Sort, Name: "sort", Schema: "(Tensor self, int dim=-1, bool descending=False, bool stable=False) -> (Tensor values, " +
				"Tensor indices)",
			Meta: func(c *Call) ([]Result, error) {
				a := In[SortArgs](c)
				m := a.Self.Meta()
				if _, err := WrapDim(a.Dim.Int(), len(m.Shape)); err != nil {
					return nil, err
				}
				return withIndices(m, m.Shape), nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[SortArgs](c.Call)
				return []Value{valueSelectBack(b, c, a.Self, a.Dim, true)}
			}),
		},
		compositeN(Argsort, "argsort", "(Tensor self, int dim=-1, bool descending=False, bool stable=False) -> Tensor", TagNoGrad,
			func(b B, c *Call) []Value {
				return b.EmitN(Sort, c.Args...)[1:]
			}),
		composite(Msort, "msort", selfOnly, 0, func(b B, c *Call) Value {
			return b.EmitN(Sort, In[MsortArgs](c).Self.Value(), 0)[0]
		}),
		{
			ID: Kthvalue, Name: "kthvalue", Schema: "(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, " +
				"Tensor indices)",
			Meta: func(c *Call) ([]Result, error) {
				a := In[KthvalueArgs](c)
				m := a.Self.Meta()
				d, err := WrapDim(a.Dim.Int(), len(m.Shape))
				if err != nil {
					return nil, err
				}
				n := symOne
				if len(m.Shape) > 0 {
					n = m.Shape[d]
				}
				if sym.Lt(a.K.Int(), symOne) || sym.Gt(a.K.Int(), n) {
					return nil, Errorf("kthvalue(): selected number k out of range for dimension %d", d)
				}
				mask := make([]bool, len(m.Shape))
				if len(mask) > 0 {
					mask[d] = true
				}
				return withIndices(m, reducedShape(m.Shape, mask, a.Keepdim.Bool())), nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[KthvalueArgs](c.Call)
				return []Value{valueSelectBack(b, c, a.Self, a.Dim, a.Keepdim.Bool())}
			}),
		},
		cummaxRow(Cummax, "cummax"), cummaxRow(Cummin, "cummin"),
		medianRow(),
		{
			ID: Searchsorted, Name: "searchsorted", Tags: TagNoGrad | TagNotMethod,
			Schema: "(Tensor sorted_sequence, Operand input, *, bool out_int32=False, bool right=False, str? side=None, " +
				"Tensor? sorter=None) -> Tensor",
			Meta: func(c *Call) ([]Result, error) {
				a := In[SearchsortedArgs](c)
				var shape []sym.Int
				if m := a.Input.Meta(); m != nil {
					shape = m.Shape
				}
				return one(NewMeta(indexType(a.OutInt32.Bool()), a.SortedSequence.Meta().Device, shape)), nil
			},
		},
		composite(Bucketize, "bucketize", "(Operand input, Tensor boundaries, *, bool out_int32=False, "+
			"bool right=False) -> Tensor", TagNoGrad|TagNotMethod, func(b B, c *Call) Value {
			a := In[BucketizeArgs](c)
			if len(a.Boundaries.Meta().Shape) != 1 {
				refuse(Errorf("boundaries tensor must be 1 dimension, but got dim(%d)", len(a.Boundaries.Meta().Shape)))
			}
			return b.Emit(Searchsorted, a.Boundaries.Arg, a.Input.Arg, a.OutInt32.Arg, a.Right.Arg)
		}),
	}
}

func indexType(small bool) DType {
	if small {
		return Int32
	}
	return Int64
}

func cummaxRow(id ID, name string) *Op {
	return &Op{
		ID: id, Name: name, Schema: "(Tensor self, int dim) -> (Tensor values, Tensor indices)",
		Meta: func(c *Call) ([]Result, error) {
			a := In[SelfDimArgs](c)
			m := a.Self.Meta()
			if _, err := WrapDim(a.Dim.Int(), len(m.Shape)); err != nil {
				return nil, err
			}
			return withIndices(m, m.Shape), nil
		},
		Backward: backOf(func(b B, c *BackwardCall) []Value {
			a := In[SelfDimArgs](c.Call)
			g := c.Grads[0]
			if g == nil || len(a.Self.Meta().Shape) == 0 {
				return []Value{g}
			}
			return []Value{b.Emit(ScatterAdd, b.zeros(likeGrad(c, g)), a.Dim.Arg, c.Outs[1], g)}
		}),
	}
}

// medianRow is median along a dimension: the lower of the two middle values.
func medianRow() *Op {
	return &Op{
		ID: MedianDim, Name: "median", Overload: "dim",
		Schema: "(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
		Meta: func(c *Call) ([]Result, error) {
			res, err := dimResult(c, In[MedianDimArgs](c).Self.Meta().DType, false)
			if err != nil {
				return nil, err
			}
			idx := *res[0].(*TensorMeta)
			idx.DType = Int64
			return []Result{res[0], &idx}, nil
		},
		Backward: backOf(func(b B, c *BackwardCall) []Value {
			a := In[MedianDimArgs](c.Call)
			return []Value{valueSelectBack(b, c, a.Self, a.Dim, a.Keepdim.Bool())}
		}),
	}
}

// middleRow is the median of all elements, whose gradient equal ones share.
func middleRow(id ID, name string, along ID) *Op {
	row := composite(id, name, selfOnly, 0, func(b B, c *Call) Value {
		a := In[SelfArgs](c)
		return b.EmitN(along, b.reshape(a.Self.Value(), numel(a.Self.Meta().Shape)), 0)[0]
	})
	row.Backward = chosenBack()
	return row
}

func dynamicRows() []*Op {
	dyn := func(id ID, name, schema string, tags Tag) *Op {
		return &Op{ID: id, Name: name, Schema: schema, Tags: tags | TagDataDependent, Meta: dataDependent}
	}
	masked := dyn(MaskedSelect, "masked_select", "(Tensor self, Tensor mask) -> Tensor", 0).and(TagComplex)
	masked.Backward = backOf(func(b B, c *BackwardCall) []Value {
		a := In[MaskedSelectArgs](c.Call)
		g := c.Grads[0]
		if g == nil {
			return []Value{nil, nil}
		}
		m := a.Self.Meta()
		shape, err := broadcast2(m.Shape, a.Mask.Meta().Shape)
		refuse(err)
		if len(shape) == 0 {
			return []Value{b.where(a.Mask.Value(), b.reshape(b.sum(g, false)), scalarLike(g, 0)), nil}
		}
		wide := b.full(shape, 0, g.TensorMeta())
		mask := expandIf(b, a.Mask.Value(), shape)
		return []Value{b.sumTo(b.Emit(IndexPut, wide, []Value{mask}, g), m.Shape), nil}
	})
	return []*Op{
		masked,
		dyn(Nonzero, "nonzero", selfOnly, TagNoGrad).and(TagComplex),
		dyn(
			Unique, "unique",
			"(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor[]",
			TagNoGrad,
		),
		dyn(
			UniqueConsecutive, "unique_consecutive",
			"(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor[]", TagNoGrad,
		),
		dyn(Bincount, "bincount", "(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor", TagNoGrad),
		dyn(RepeatIndex, "_repeat_index", "(Tensor repeats, int? size=None) -> Tensor", TagNoGrad|TagInternal),
	}
}
