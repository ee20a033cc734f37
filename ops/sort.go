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
	selectBack := func(keep bool) backFn {
		return backOf(func(b B, c *BackwardCall) []Value { return []Value{valueSelectBackAt(b, c, keep)} })
	}
	return []*Op{
		{
			ID: Topk, Name: "topk", Schema: "(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
			Meta: func(c *Call) ([]Result, error) {
				m := c.Tensor(0)
				d, err := WrapDim(c.Int(2), len(m.Shape))
				if err != nil {
					return nil, err
				}
				n := symOne
				if len(m.Shape) > 0 {
					n = m.Shape[d]
				}
				if sym.Lt(c.Int(1), symZero) || sym.Gt(c.Int(1), n) {
					return nil, Errorf("selected index k out of range")
				}
				if len(m.Shape) == 0 {
					return withIndices(m, nil), nil
				}
				return withIndices(m, replaced(m.Shape, d, c.Int(1))), nil
			},
			Backward: selectBack(true),
		},
		{
			ID: Sort, Name: "sort", Schema: "(Tensor self, int dim=-1, bool descending=False, bool stable=False) -> (Tensor values, Tensor indices)",
			Meta: func(c *Call) ([]Result, error) {
				m := c.Tensor(0)
				if _, err := WrapDim(c.Int(1), len(m.Shape)); err != nil {
					return nil, err
				}
				return withIndices(m, m.Shape), nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value { return []Value{valueSelectBack(b, c, true)} }),
		},
		compositeN(Argsort, "argsort", "(Tensor self, int dim=-1, bool descending=False, bool stable=False) -> Tensor", TagNoGrad, func(b B, c *Call) []Value {
			return b.EmitN(Sort, c.Args...)[1:]
		}),
		composite(Msort, "msort", selfOnly, 0, func(b B, c *Call) Value {
			return b.EmitN(Sort, c.Value(0), 0)[0]
		}),
		{
			ID: Kthvalue, Name: "kthvalue", Schema: "(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
			Meta: func(c *Call) ([]Result, error) {
				m := c.Tensor(0)
				d, err := WrapDim(c.Int(2), len(m.Shape))
				if err != nil {
					return nil, err
				}
				n := symOne
				if len(m.Shape) > 0 {
					n = m.Shape[d]
				}
				if sym.Lt(c.Int(1), symOne) || sym.Gt(c.Int(1), n) {
					return nil, Errorf("kthvalue(): selected number k out of range for dimension %d", d)
				}
				mask := make([]bool, len(m.Shape))
				if len(mask) > 0 {
					mask[d] = true
				}
				return withIndices(m, reducedShape(m.Shape, mask, c.Bool(3))), nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value { return []Value{valueSelectBackAt(b, c, c.Bool(3))} }),
		},
		cummaxRow(Cummax, "cummax"), cummaxRow(Cummin, "cummin"),
		medianRow(),
		{
			ID: Searchsorted, Name: "searchsorted", Tags: TagNoGrad | TagNotMethod,
			Schema: "(Tensor sorted_sequence, Operand input, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
			Meta: func(c *Call) ([]Result, error) {
				var shape []sym.Int
				if m := c.Tensor(1); m != nil {
					shape = m.Shape
				}
				return one(NewMeta(indexType(c.Bool(2)), c.Tensor(0).Device, shape)), nil
			},
		},
		composite(Bucketize, "bucketize", "(Operand input, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", TagNoGrad|TagNotMethod, func(b B, c *Call) Value {
			if len(c.Tensor(1).Shape) != 1 {
				refuse(Errorf("boundaries tensor must be 1 dimension, but got dim(%d)", len(c.Tensor(1).Shape)))
			}
			return b.Emit(Searchsorted, c.Args[1], c.Args[0], c.Args[2], c.Args[3])
		}),
	}
}

func indexType(small bool) DType {
	if small {
		return Int32
	}
	return Int64
}

// valueSelectBackAt is valueSelectBack with the dimension in argument 2.
func valueSelectBackAt(b B, c *BackwardCall, keep bool) Value {
	moved := *c
	moved.Call = &Call{c.Op, []Arg{c.Args[0], c.Args[2]}}
	return valueSelectBack(b, &moved, keep)
}

func cummaxRow(id ID, name string) *Op {
	return &Op{
		ID: id, Name: name, Schema: "(Tensor self, int dim) -> (Tensor values, Tensor indices)",
		Meta: func(c *Call) ([]Result, error) {
			m := c.Tensor(0)
			if _, err := WrapDim(c.Int(1), len(m.Shape)); err != nil {
				return nil, err
			}
			return withIndices(m, m.Shape), nil
		},
		Backward: backOf(func(b B, c *BackwardCall) []Value {
			g := c.Grads[0]
			if g == nil || len(c.Tensor(0).Shape) == 0 {
				return []Value{g}
			}
			return []Value{b.Emit(ScatterAdd, b.zeros(likeGrad(c, g)), c.Args[1], c.Outs[1], g)}
		}),
	}
}

// medianRow is median along a dimension: the lower of the two middle values.
func medianRow() *Op {
	return &Op{
		ID: MedianDim, Name: "median", Overload: "dim", Schema: "(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
		Meta: func(c *Call) ([]Result, error) {
			res, err := dimResult(c, c.Tensor(0).DType, false)
			if err != nil {
				return nil, err
			}
			idx := *res[0].(*TensorMeta)
			idx.DType = Int64
			return []Result{res[0], &idx}, nil
		},
		Backward: backOf(func(b B, c *BackwardCall) []Value { return []Value{valueSelectBack(b, c, c.Bool(2))} }),
	}
}

// middleRow is the median of all elements, whose gradient equal ones share.
func middleRow(id ID, name string, along ID) *Op {
	row := composite(id, name, selfOnly, 0, func(b B, c *Call) Value {
		return b.EmitN(along, b.reshape(c.Value(0), numel(c.Tensor(0).Shape)), 0)[0]
	})
	row.Backward = chosenBack()
	return row
}

func dynamicRows() []*Op {
	dyn := func(id ID, name, schema string, tags Tag) *Op {
		return &Op{ID: id, Name: name, Schema: schema, Tags: tags | TagDataDependent, Meta: dataDependent}
	}
	masked := dyn(MaskedSelect, "masked_select", "(Tensor self, Tensor mask) -> Tensor", 0)
	masked.Backward = backOf(func(b B, c *BackwardCall) []Value {
		g := c.Grads[0]
		if g == nil {
			return []Value{nil, nil}
		}
		m := c.Tensor(0)
		shape, err := broadcast2(m.Shape, c.Tensor(1).Shape)
		refuse(err)
		if len(shape) == 0 {
			return []Value{b.where(c.Value(1), b.reshape(b.sum(g, false)), scalarLike(g, 0)), nil}
		}
		wide := b.full(shape, 0, g.TensorMeta())
		mask := expandIf(b, c.Value(1), shape)
		return []Value{b.sumTo(b.Emit(IndexPut, wide, []Value{mask}, g), m.Shape), nil}
	})
	return []*Op{
		masked,
		dyn(Nonzero, "nonzero", selfOnly, TagNoGrad),
		dyn(Unique, "unique", "(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor[]", TagNoGrad),
		dyn(UniqueConsecutive, "unique_consecutive", "(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor[]", TagNoGrad),
		dyn(Bincount, "bincount", "(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor", TagNoGrad),
		dyn(RepeatIndex, "_repeat_index", "(Tensor repeats, int? size=None) -> Tensor", TagNoGrad|TagInternal),
	}
}
