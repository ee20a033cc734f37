package tracer

import (
	"runtime"
	"slices"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
)

// This file writes what a captured graph is compiled with: of its inputs what its text does not
// say, and what was asked of the compiler. From these the graph can be compiled again.

// smallInput is how many numbers of a tensor of floats are looked at.
const smallInput = 1 << 16

// inputs writes them.
func (r *recorder) inputs(q *Request, o options) {
	g := q.Module.G
	v := logs.GraphInputs{
		Graph: g.Name, NoGrad: !torch.GradEnabled(), Backend: o.backendName(), Mode: q.Mode, Options: q.Options.Asked(),
		Budget: 1, Untaped: g.Untaped, Trace: q.Options.Trace, Hints: hints(g),
	}
	if q.MemoryBudget != nil {
		v.Budget = *q.MemoryBudget
	}
	if v.Mode == modes.ReduceOverhead && q.Options.CUDAGraphs { // which the option has set
		v.Mode = ""
	}
	if !v.NoGrad {
		for _, n := range g.Nodes() {
			if n.NoGrad {
				v.Ungraded = append(v.Ungraded, n.Name)
			}
		}
	}
	for i, p := range g.Placeholders() {
		if i < len(q.Example) {
			v.Inputs = append(v.Inputs, inputOf(p, q.Example[i], v.Inputs, q.Example))
		}
	}
	r.t.sink.Emit(logs.Artifact(r.id, v))
}

// hints are the sizes that symbols stand for.
func hints(g *graph.Graph) map[string]int64 {
	out := map[string]int64{}
	if g.Env == nil {
		return nil
	}
	for _, x := range g.Env.Symbols {
		if v, fixed := x.Fixed(); fixed || !x.Unbacked {
			out[x.Name] = v
		}
	}
	return out
}

// DescribeInput says of a tensor what a trace says of an input of a graph.
func DescribeInput(p *graph.Node, t *torch.Tensor) logs.GraphInput { return inputOf(p, t, nil, nil) }

func inputOf(p *graph.Node, v torch.Value, before []logs.GraphInput, values []torch.Value) logs.GraphInput {
	in := logs.GraphInput{Name: p.Name, Source: p.Source}
	if n, ok := v.(int); ok {
		in.Range = []int64{int64(n), int64(n)}
	}
	t, _ := v.(*torch.Tensor)
	if t == nil {
		return in
	}
	in.Grad, in.Leaf = t.RequiresGrad(), t.IsLeaf()
	if t.Fake() != nil || t.Device() == ops.Meta || t.Storage() == nil {
		return in
	}
	for i := range before {
		if other, _ := values[i].(*torch.Tensor); other != nil && other.Fake() == nil && other.Storage() == t.Storage() {
			in.Shares = before[i].Name
			break
		}
	}
	switch d := t.DType(); {
	case t.Numel() == 0 || d.IsComplex():
	case !d.IsFloat():
		list := t.Int64s()
		in.Range = []int64{slices.Min(list), slices.Max(list)}
	case t.Numel() <= smallInput:
		in.Positive = noneNegative(t)
	}
	return in
}

// noneNegative reports whether no number of t, a tensor of floats, is negative or NaN. Most weights have one among their
// first numbers, which is found without a copy of all.
func noneNegative(t *torch.Tensor) bool {
	if t.DType() != ops.Float32 || !t.IsContiguous() {
		return !slices.ContainsFunc(t.Float64s(), func(x float64) bool { return !(x >= 0) })
	}
	defer runtime.KeepAlive(t)
	return !slices.ContainsFunc(unsafe.Slice((*float32)(t.Ptr()), t.Numel()), func(x float32) bool { return !(x >= 0) })
}
