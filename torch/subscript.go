package torch

import (
	"tcdbg/ops"
	"tcdbg/torch/internal/refusal"
)

// This file is Python's x[...] : ints, slices, None, Ellipsis and tensors.

// Slice_ is start:stop:step of a subscript; nil parts are left out.
type Slice_ struct{ Start, Stop, Step any }

// Range is start:stop of a subscript. Use End for an open end.
func Range(start, stop int) Slice_ {
	s := Slice_{Start: start, Stop: stop}
	if stop == End {
		s.Stop = nil
	}
	return s
}

// End leaves the end of a Range open.
const End = int(^uint(0) >> 1)

type colon struct{}

// Colon is a : alone, a whole dimension.
var Colon = colon{}

type ellipsis struct{}

// Ellipsis stands for as many full dimensions as fit.
var Ellipsis = ellipsis{}

// At is x[subscripts]: an int selects, a Slice_ (Range) cuts, Colon keeps a
// dimension, nil adds one, Ellipsis skips some, and a tensor or list of integers or
// a tensor of bools gathers. What integers, slices and nil leave is a view; what a
// tensor gathers is a copy.
//
//	x.At(0)                                 // x[0]
//	x.At(torch.Colon, -1)                   // x[:, -1]
//	x.At(torch.Range(1, torch.End))         // x[1:]
//	x.At(torch.Slice_{Step: 2})             // x[::2]
//	x.At(torch.Ellipsis, torch.Range(0, 3)) // x[..., :3]
//	x.At(nil, rows)                         // x[None, rows]
func (t *Tensor) At(subscripts ...any) *Tensor {
	x, indices := t.basic(subscripts)
	for _, i := range indices {
		if i != nil {
			return invoke1(ops.Index, nil, x, indices)
		}
	}
	return x
}

// basic applies all subscripts that are views; tensors are collected by the
// dimension that they index.
func (t *Tensor) basic(subscripts []any) (*Tensor, []*Tensor) {
	used := 0
	for _, s := range subscripts {
		switch s := s.(type) {
		case nil, ellipsis:
		case *Tensor:
			used += max(1, boolDims(s))
		default:
			used++
		}
	}
	if used > len(t.array.Shape) {
		refusal.Fail("index", "IndexError", "too many indices for tensor of dimension %d", len(t.array.Shape))
	}
	x, dim, left := t, 0, len(t.array.Shape)-used
	var indices []*Tensor
	for _, s := range subscripts {
		switch s := s.(type) {
		case nil:
			x = x.Unsqueeze(dim)
			dim++
		case ellipsis:
			dim += left
			left = 0
		case int:
			x = x.Select(dim, s)
		case Slice_:
			x = sliceBy(x, dim, s)
			dim++
		case colon:
			x = sliceBy(x, dim, Slice_{})
			dim++
		case bool:
			x = x.Unsqueeze(dim)
			indices = place(indices, dim, NewTensor([]bool{s}))
			dim++
		case *Tensor:
			indices = place(indices, dim, s)
			dim += max(1, boolDims(s))
		case []int:
			indices = place(indices, dim, NewTensor(s))
			dim++
		default:
			refusal.Fail(
				"index", "TypeError",
				"only integers, slices, ellipsis, None and long or byte Variables are valid indices (got %T)", s,
			)
		}
	}
	return x, indices
}

// boolDims is the number of dimensions that a mask covers.
func boolDims(t *Tensor) int {
	if t.array.DType == ops.Bool || t.array.DType == ops.Uint8 {
		return len(t.array.Shape)
	}
	return 0
}

func place(list []*Tensor, dim int, t *Tensor) []*Tensor {
	for len(list) <= dim {
		list = append(list, nil)
	}
	list[dim] = t
	return list
}

func sliceBy(x *Tensor, dim int, s Slice_) *Tensor {
	step := s.Step
	if step == nil {
		step = 1
	}
	return invoke1(ops.Slice, nil, x, dim, s.Start, s.Stop, step)
}

// SetAt is x[subscripts] = value, with the subscripts of At; value is a tensor that
// broadcasts to what they show, a number, or a list of them.
func (t *Tensor) SetAt(value any, subscripts ...any) {
	x, indices := t.basic(subscripts)
	v, ok := value.(*Tensor)
	if !ok {
		v = NewTensor(value, Option{"dtype", t.array.DType})
	}
	for _, i := range indices {
		if i != nil {
			invoke(ops.InPlace(ops.IndexPut), nil, x, indices, v.To(t.array.DType))
			return
		}
	}
	x.Copy_(v)
}
