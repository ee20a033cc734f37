package sched

import (
	"slices"

	"tcdbg/inductor/ir"
)

// This file finds the nodes that do nothing but bring arguments up to date: the step of
// an optimizer. It walks memory that nothing else of the graph touches (a parameter and
// its moments), as much as comes in, which is fast in one go and slow in a template's
// tiles: the gradient is an output as long as the program may read it, and a tile that writes
// it walks four arrays whose rows fall into the same sets of a cache (docs/tried.md).

// updatesOf are the nodes of which all that comes is the new content of an input that
// one of them reads, as AdamW reads a parameter first to shrink it; replaces maps positions of outputs to those of the
// inputs.
func updatesOf(p *ir.Program, replaces map[int]int) map[*ir.Node]bool {
	if len(replaces) == 0 {
		return nil
	}
	over := map[*ir.Buffer]*ir.Buffer{} // the input that a result replaces
	for i, in := range replaces {
		if b := p.Outputs[i].Buf; b != nil && p.Inputs[in] != nil {
			over[b] = p.Inputs[in]
		}
	}
	readers, writer := map[*ir.Buffer][]*ir.Node{}, map[*ir.Buffer]*ir.Node{}
	for _, n := range p.Nodes {
		n.Reads(func(b *ir.Buffer, _ *ir.Index) { readers[b] = append(readers[b], n) })
		n.Writes(func(b *ir.Buffer, _ *ir.Index) { writer[b] = n })
	}
	var reads func(n *ir.Node, input *ir.Buffer) bool
	reads = func(n *ir.Node, input *ir.Buffer) (found bool) {
		n.Reads(func(b *ir.Buffer, _ *ir.Index) {
			if w := writer[b]; b == input {
				found = true
			} else if w != nil && !found && b.Kind == ir.Temp && w.Kind == ir.Pointwise && len(readers[b]) == 1 {
				found = reads(w, input)
			}
		})
		return found
	}
	out := map[*ir.Node]bool{}
	for _, n := range slices.Backward(p.Nodes) {
		if n.Kind != ir.Pointwise {
			continue
		}
		only := true
		n.Writes(func(b *ir.Buffer, _ *ir.Index) {
			rs := readers[b]
			switch {
			case slices.ContainsFunc(rs, func(r *ir.Node) bool { return !out[r] }):
				only = false
			case b.Kind == ir.Result:
				only = only && over[b] != nil && (len(rs) > 0 || reads(n, over[b]))
			default:
				only = only && len(rs) > 0
			}
		})
		if only {
			out[n] = true
		}
	}
	return out
}

// isUpdate reports whether all nodes of a group are such.
func (s *scheduler) isUpdate(g *Group) bool {
	return !slices.ContainsFunc(g.Items, func(it *Item) bool { return !s.updates[it.Node] })
}
