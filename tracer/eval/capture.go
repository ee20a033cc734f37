package eval

import (
	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file answers what the tracer asks of a captured graph: which inputs are no
// parameters, and how a value came about.

// Changing are the sources of the trace's inputs that are no parameters: what was
// computed from one (an activation that a break has made an input), what hangs below
// no object of an object, and what the compiled function itself sets.
func (c *capture) Changing(set map[value.FieldID]bool) map[string]bool {
	out := map[string]bool{}
	for t, in := range c.inputOf {
		switch {
		case t.RequiresGrad():
			out[in.src.Name] = !t.IsLeaf()
		case in.src.Fields() < 2:
			out[in.src.Name] = true
		default:
			out[in.src.Name] = in.src.IsSet(set)
		}
	}
	return out
}

func (c *capture) TensorOf(v ssa.Value) (*torch.Tensor, bool) {
	if !isTensor(v.Type()) {
		return nil, false
	}
	t := c.frames.tensorAt(v)
	return t, c.Nodes[t] != nil
}

// ValueChain is how a node's value came about: from an input down, each step
// with its line. Where an operator has several tensor inputs the first is
// followed.
func ValueChain(n *graph.Node) []logs.Pos {
	var out []logs.Pos
	for n != nil && len(out) < 64 {
		p := logs.Pos{Func: n.Name}
		if n.Kind == graph.Placeholder {
			p.Func = n.Source
		} else if row := n.OpRow(); row != nil {
			p.Func = row.Name
		}
		if len(n.Stack) > 0 {
			f := n.Stack[len(n.Stack)-1]
			p.File, p.Line, p.Col, p.Code = f.File, f.Line, f.Col, f.Code
		}
		out = append([]logs.Pos{p}, out...)
		ins := n.Inputs()
		if len(ins) == 0 {
			break
		}
		n = ins[0]
	}
	return out
}
