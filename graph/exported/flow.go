package exported

import (
	"errors"
	"fmt"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/torch/export"
)

// This file is control flow: graphs that a call takes become bodies of a node, and the other way round.

// operand describes what a body takes.
type operand struct{ meta *ops.TensorMeta }

// TensorMeta implements ops.Value.
func (o operand) TensorMeta() *ops.TensorMeta { return o.meta }

// Flow implements export.FlowMaker.
func (m *Maker) Flow(n *export.Node, c *export.FlowCall) ([]ops.Value, error) {
	f := &graph.Flow{Op: c.Op}
	for i, b := range c.Bodies {
		g, err := m.body(fmt.Sprintf("%s_%d", graph.Word(n.Name), i), f, b, c)
		if err != nil {
			return nil, err
		}
		f.Bodies = append(f.Bodies, g)
	}
	node := &graph.Node{Name: n.Name, Kind: graph.CallFunction, Target: c.Op, Stack: m.Stack(n)}
	if c.Predicate != nil {
		node.Args = append(node.Args, c.Predicate)
	}
	for _, list := range c.Lists {
		node.Args = append(node.Args, append([]ops.Value{}, list...))
	}
	m.g.Append(node)
	node.SetFlow(f)
	m.b.Stack = node.Stack
	list := node.Meta.([]ops.Result)
	out := make([]ops.Value, len(list))
	for i := range list {
		out[i] = m.b.Item(node, i)
	}
	return out, nil
}

// body is a graph that a call takes. It has the symbols of the whole.
func (m *Maker) body(name string, f *graph.Flow, b export.Body, c *export.FlowCall) (*graph.Graph, error) {
	g := graph.New(name, m.g.Env)
	slice := func(x ops.Value) ops.Value { return operand{f.Slice(x.TensorMeta())} }
	var args []any
	for i, x := range c.Taken(slice) {
		meta := *x.(ops.Value).TensorMeta()
		arg := fmt.Sprintf("arg%d_1", i)
		args = append(args, g.Input(arg, arg, "", &meta))
	}
	inner := &Maker{Stack: m.Stack, g: g, b: &graph.Builder{G: g}}
	vals, err := b(inner, args)
	if err != nil {
		return nil, err
	}
	out := make([]ops.Arg, len(vals))
	for i, v := range vals {
		x, ok := v.(*graph.Node)
		if !ok {
			return nil, errors.New("a graph gives what is no tensor")
		}
		if x.Kind == graph.Placeholder {
			x = inner.b.Emit(ops.Clone, x).(*graph.Node)
		}
		out[i] = x
	}
	g.SetOutput(out)
	return g, nil
}

// flow writes a node of control flow.
func (c *capturer) flow(n *graph.Node) {
	target := export.FlowTarget(n.Flow.Op)
	if target == "" {
		c.lacks(n, n.Target)
		return
	}
	out := export.Node{Target: target, Stack: stackOf(n.Stack)}
	add := func(a export.Arg) { out.Args = append(out.Args, export.NamedArg{Value: a}) }
	args := n.Args
	if p := n.Predicate(); p != nil {
		a, err := c.arg(p, nil)
		if err != nil {
			c.lacks(n, fmt.Sprintf("%s: %v", n.Target, err))
			return
		}
		add(a)
		args = args[1:]
	}
	names := n.BodyNames()
	for i, b := range n.Flow.Bodies {
		s, err := c.sub(names[i], b)
		if err != nil {
			c.lacks(n, fmt.Sprintf("%s: %v", n.Target, err))
			return
		}
		s.Single = n.Flow.Op == graph.WhileTarget && i == 0
		add(s)
	}
	for _, list := range args {
		a, err := c.arg(list, nil)
		if err != nil {
			c.lacks(n, fmt.Sprintf("%s: %v", n.Target, err))
			return
		}
		add(a)
	}
	out.Name = c.name(n.Name)
	results, err := c.results(n, out.Name)
	if err != nil {
		c.lacks(n, fmt.Sprintf("%s: %v", n.Target, err))
		return
	}
	out.Outs = results
	c.prog.Nodes = append(c.prog.Nodes, out)
}

// sub writes a body.
func (c *capturer) sub(name string, g *graph.Graph) (*export.Sub, error) {
	numbersAsTensors(g)
	g.EliminateDead()
	inner := newCapturer(g, &Spec{Symbols: c.spec.Symbols})
	inner.missing = c.missing
	for _, p := range g.Placeholders() {
		m := p.TensorMeta()
		inner.spec.Inputs = append(inner.spec.Inputs, Input{Input: export.Input{Name: p.Name}, Node: p, Meta: m})
	}
	inner.inputs()
	inner.nodes()
	for _, v := range g.Outputs() {
		a, err := inner.arg(v, nil)
		if err != nil {
			return nil, err
		}
		inner.prog.Outputs = append(inner.prog.Outputs, export.Output{Value: a})
	}
	return &export.Sub{Name: name, Body: export.Make(inner.prog, inner.tensors, inner.numbers)}, nil
}
