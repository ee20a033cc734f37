// Package derive writes the derivatives of a graph's operators behind them, by the
// derivative rules of the operator table. aot makes its joint graph with it, the tracer
// a backward pass that is captured with what it differentiates.
//
// It imports graph, graph/decompose and ops of ours. Open this file.
package derive

import (
	"tcdbg/graph"
	"tcdbg/ops"
)

// Pass is one backward pass over a graph, which grows at its end.
type Pass struct {
	G     *graph.Graph
	Needs map[*graph.Node]bool      // the values through which gradients flow
	Grads map[*graph.Node]ops.Value // what their gradients have come to so far
	// NoGrad marks what is written as a captured pass has it: made under torch.NoGrad, and a derivative.
	NoGrad bool
	// Stack, where it is set, is the place in the program of what is written; else
	// each derivative has that of its operator.
	Stack []graph.Frame
	// Missing names the first operator that has no derivative although a gradient
	// reached it.
	Missing string
	// Taken, where it is set, may take the gradient d of n in place of Grads.
	Taken func(n *graph.Node, d ops.Value) bool
}

// Builder writes at the end of the graph what differentiates n.
func (p *Pass) Builder(n *graph.Node) *graph.Builder {
	b := &graph.Builder{G: p.G, Stack: p.Stack, NoGrad: p.NoGrad, Derivative: p.NoGrad}
	if b.Stack == nil {
		b.Stack = n.Stack
	}
	return b
}

// Add adds d, nil for nothing, to the gradient of n.
func (p *Pass) Add(n *graph.Node, d ops.Value) {
	if d == nil || p.Taken != nil && p.Taken(n, d) {
		return
	}
	if old := p.Grads[n]; old != nil {
		d = p.Builder(n).Emit(ops.Add, old, d)
	}
	p.Grads[n] = d
}

// Operator differentiates a call of an operator by the gradients of its results, and
// adds what comes of it to those of its arguments. It returns the gradients of the
// results, false where there is none or no derivative.
func (p *Pass) Operator(n *graph.Node) (grads []ops.Value, ok bool) {
	outs, grads, ok := p.Results(n)
	row := n.OpRow()
	if !ok || row.Backward == nil {
		return grads, false
	}
	p.Call(n, &ops.BackwardCall{Call: &ops.Call{Op: row, Args: n.Args}, Outs: outs, Grads: grads})
	return grads, true
}

// Call differentiates what n does, given as the call of a functional operator.
func (p *Pass) Call(n *graph.Node, c *ops.BackwardCall) {
	c.Needs = make([]bool, len(c.Args))
	for i, a := range c.Args {
		switch a := a.(type) {
		case *graph.Node:
			c.Needs[i] = p.Needs[a]
		case []ops.Value:
			for _, v := range a {
				c.Needs[i] = c.Needs[i] || (v != nil && p.Needs[v.(*graph.Node)])
			}
		}
	}
	p.spread(c, p.rule(n, c))
}

// rule applies the derivative of an operator; one that the table refuses (zeta by
// its first argument) is missing.
func (p *Pass) rule(n *graph.Node, c *ops.BackwardCall) (ds []ops.Value) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *ops.Error:
			p.Lacks(c.Op)
		default:
			panic(r)
		}
	}()
	return c.Op.Backward(p.Builder(n), c)
}

// Lacks notes an operator without derivative.
func (p *Pass) Lacks(row *ops.Op) {
	if p.Missing == "" {
		p.Missing = row.FullName()
	}
}

// spread gives each tensor argument its gradient. A rule answers one value for
// each tensor parameter; those of a list follow each other.
func (p *Pass) spread(c *ops.BackwardCall, ds []ops.Value) {
	k := 0
	give := func(a ops.Value) {
		if k < len(ds) && a != nil && p.Needs[a.(*graph.Node)] {
			p.Add(a.(*graph.Node), ds[k])
		}
		k++
	}
	for i, par := range c.Op.Params() {
		switch a := c.Args[i].(type) {
		case []ops.Value:
			for _, v := range a {
				give(v)
			}
		case *graph.Node:
			give(a)
		default:
			if isTensorParam(par.Type) {
				k++
			}
		}
	}
}

func isTensorParam(t string) bool {
	return t == "Tensor" || t == "Tensor?" || t == "Operand"
}

// Results are the results of a call and their gradients, false where there is none.
func (p *Pass) Results(n *graph.Node) (outs, ds []ops.Value, ok bool) {
	list, several := n.Meta.([]ops.Result)
	if !several {
		return []ops.Value{n}, []ops.Value{p.Grads[n]}, p.Grads[n] != nil
	}
	outs, ds = make([]ops.Value, len(list)), make([]ops.Value, len(list))
	for _, u := range n.Users() {
		if u.Target == "getitem" {
			_, k := u.Item()
			outs[k] = u
			if p.Grads[u] != nil {
				ds[k], ok = p.Grads[u], true
			}
		}
	}
	for k := range outs { // a derivative may use results that the program did not
		if ok && outs[k] == nil {
			outs[k] = (&graph.Builder{G: n.Graph(), Before: n.Next()}).Item(n, k)
		}
	}
	return outs, ds, ok
}
