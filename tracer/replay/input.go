package replay

import (
	"slices"

	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/value"
)

// This file makes the inputs of a graph.

// SeenNumber is a number that a cache entry has as a constant.
type SeenNumber struct {
	Src *value.Source
	Val value.Scalar
}

// GraphInput is how an input of a graph is made.
type GraphInput struct {
	Tensor bool
	Src    *value.Source // of a tensor, or of an int
	Expr   *value.Expr   // else of a number, for a tensor without dimensions
	Dtype  ops.DType
	At     []logs.Pos // the user's stack where the number was met
}

// value is the input in one call; every call asks for it. at is its place, where the guards find it.
func (g *GraphInput) value(a *guard.Addresses, at guard.Place) torch.Value {
	switch {
	case g.Tensor:
		return *(**torch.Tensor)(a.Reach(at, g.Src))
	case g.Expr != nil:
		v, _ := g.Expr.Eval(a)
		return torch.ScalarTensor(v.F, torch.Option{Name: "dtype", Value: g.Dtype})
	}
	return int(value.KindOf(g.Src.Type).Load(a.At(g.Src)).I)
}

// inputPlaces finds the places of the inputs among what the guards find.
func (e *Entry) inputPlaces() []guard.Place {
	out := make([]guard.Place, len(e.Inputs))
	for i := range e.Inputs {
		if g := &e.Inputs[i]; g.Tensor {
			out[i] = e.tests.Place(g.Src)
		}
	}
	return out
}

// Opens reports whether a change of the number at src makes it an input.
func (e *Entry) Opens(src *value.Source) bool {
	return value.Openable(src) || slices.ContainsFunc(e.Writes, func(w WriteBack) bool { return w.Loc == src })
}
