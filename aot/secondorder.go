package aot

import (
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/torch"
)

// This file is gradients that are to be differentiated once more (create_graph): a
// compiled backward graph leaves nothing on the tape, so the forward graph is run
// again with eager operators, and the tape that this makes gives the gradients.

// rerun returns what computes the gradients of the inputs in p.needs by running the
// pure graph g once more on the arguments of a call. Its answer is nil where a
// second run would not compute what the first did: the graph draws random numbers,
// or an argument has been written to since.
func (p *parts) rerun(g *graph.Graph, in []torch.Value, ins []*torch.Tensor) func(ds []*torch.Tensor) []*torch.Tensor {
	versions := versionsOf(in)
	return func(ds []*torch.Tensor) []*torch.Tensor {
		if draws(g) || !slices.Equal(versions, versionsOf(in)) {
			return nil
		}
		var out []*torch.Tensor
		torch.EnableGrad(func() { out = p.differentiate(g, in, ins, ds) })
		return out
	}
}

// differentiate takes gradients by aliases of the inputs: one input may have been
// computed from another, and each gradient is that of this graph alone.
func (p *parts) differentiate(g *graph.Graph, in []torch.Value, ins, ds []*torch.Tensor) []*torch.Tensor {
	args := slices.Clone(in)
	aliases := make([]*torch.Tensor, len(ins))
	for i, at := range p.needs {
		aliases[i] = torch.Alias(ins[i])
		args[at] = aliases[i]
	}
	vals := g.Run(args)
	var outs, grads []*torch.Tensor
	for i, at := range p.wants {
		if ds[i] != nil && vals[at].(*torch.Tensor).RequiresGrad() {
			outs, grads = append(outs, vals[at].(*torch.Tensor)), append(grads, ds[i])
		}
	}
	if len(outs) == 0 {
		return make([]*torch.Tensor, len(ins))
	}
	return torch.Grad(outs, aliases, torch.Option{Name: "grad_outputs", Value: grads},
		torch.Option{Name: "create_graph", Value: true}, torch.Option{Name: "allow_unused", Value: true})
}

// draws reports whether g has an operator that draws random numbers.
func draws(g *graph.Graph) bool {
	for n := g.First(); n != nil; n = n.Next() {
		if row := n.OpRow(); row != nil && row.Tags.Has(ops.TagRandom) {
			return true
		}
	}
	return false
}
