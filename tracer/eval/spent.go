package eval

import (
	"tcdbg/graph"
	"tcdbg/torch"
)

// This file is what is left of a graph's history when backward passes were captured in
// it: eager mode has freed it, so that nothing that leaves the graph may still have one.

// settle returns the outputs whose history a captured pass has freed, and takes all
// calls off the tape. Where an output has a history that none has freed the trace is to
// be made again with a break before the first pass.
func (tr *Trace) settle(outs []*torch.Tensor) (spent []int) {
	if len(tr.passes.calls) == 0 {
		return nil
	}
	f := tr.flowOf()
	again := func(why string) { tr.retry, tr.retryWhy = tr.passes.calls[0], why }
	if f.tangled != "" {
		again(f.tangled)
	}
	for i, t := range outs {
		n := tr.outward(t, tr.Nodes[t])
		if !f.needs[n] {
			continue
		}
		switch {
		case f.root(n).Kind == graph.Placeholder:
			again(n.Name + ", a view of an input that requires gradients, is used after the graph")
		case !f.freed(n, tr.passes.spent):
			again("gradients may still be asked for through " + n.Name)
		}
		spent = append(spent, i)
	}
	for n := tr.Graph.First(); n != nil; n = n.Next() {
		n.NoGrad = n.Kind != graph.Placeholder && n.Kind != graph.Output
	}
	tr.Graph.Untaped = true
	return spent
}

// freed reports whether a pass has freed what lies between n and every leaf.
func (f *flow) freed(n *graph.Node, spent map[*graph.Node]bool) bool {
	if !f.needs[n] {
		return true
	}
	if n.Kind == graph.Placeholder {
		return false
	}
	for _, u := range n.Users() {
		if _, writes := f.before[u]; writes && u.Args[0] == any(n) && !spent[u] {
			for _, in := range u.GradInputs() {
				if in != n && !f.freed(in, spent) {
					return false
				}
			}
		}
	}
	if spent[n] {
		return true
	}
	for _, in := range n.GradInputs() {
		if !f.freed(in, spent) {
			return false
		}
	}
	return true
}
