// Package exported writes a program that PyTorch exported as a graph: each of its calls
// becomes one of our operators, with the line of Python that it comes from.
//
// It imports graph, ops, torch and torch/export; never aot or tracer. Open this file first, then capture.go (the other way) and flow.go.
package exported

import (
	"fmt"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/export"
)

// Build writes p as a graph of that name. Its placeholders are p's inputs but those of kind Fixed,
// in order; its outputs are p's outputs. inputs are the values of a call (of p's inputs), whose sizes become
// the hints of the symbols.
func Build(p *torch.ExportedProgram, name string, inputs []torch.Value, sizes map[string]int64) (*graph.Graph, error) {
	prog := p.Program()
	env, symbol := symbols(prog, sizes)
	g := graph.New(name, env)
	vals := make([]any, len(prog.Inputs))
	for i := range prog.Inputs {
		v, err := input(g, prog, i, p.Stored()[i], inputs[i], symbol)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", prog.Inputs[i].Name, err)
		}
		vals[i] = v
	}
	out, err := prog.Walk(NewMaker(g), vals, symbol)
	if err != nil {
		return nil, err
	}
	args := make([]ops.Arg, len(out))
	copy(args, out)
	g.SetOutput(args)
	g.EliminateDead()
	return g, g.Check()
}

// symbols are those of a program with the sizes of a call as hints. A size of 0 or 1 is a constant, and
// another is taken to be neither, as when PyTorch compiles.
func symbols(prog *export.Program, sizes map[string]int64) (*sym.Env, func(name string) (sym.Int, error)) {
	env, symbol := prog.Env(func(s *export.Symbol) int64 {
		if v, ok := sizes[s.Name]; ok {
			return v
		}
		return max(s.Hint, min(2, s.Max))
	})
	for _, s := range env.Symbols {
		s.Min = max(s.Min, min(2, s.Max))
	}
	return env, func(name string) (sym.Int, error) {
		if v, ok := sizes[name]; ok && v < 2 {
			return sym.Const(v), nil
		}
		return symbol(name)
	}
}

// input makes the placeholder of an input of the program.
func input(
	g *graph.Graph, prog *export.Program, i int, stored *torch.Tensor, given torch.Value, symbol func(string) (sym.Int, error),
) (any, error) {
	in := &prog.Inputs[i]
	meta, err := prog.InputMeta(in, symbol)
	if err != nil || in.Kind == export.Fixed {
		return meta, err
	}
	source := "L." + in.Name
	switch t, ok := given.(*torch.Tensor); {
	case stored != nil:
		meta, source = stored.TensorMeta(), "L.self."+in.Target
	case ok:
		m := *meta.(*ops.TensorMeta)
		m.RequiresGrad = t.RequiresGrad()
		meta = &m
	}
	n := g.Input(in.Name, in.Name, source, meta)
	if x, ok := meta.(sym.Int); ok {
		return x, nil
	}
	return n, nil
}

// Maker writes the calls of a program into a graph.
type Maker struct {
	// Stack gives the lines of a call.
	Stack func(n *export.Node) []graph.Frame

	g *graph.Graph
	b *graph.Builder
}

// NewMaker makes calls at the end of g.
func NewMaker(g *graph.Graph) *Maker { return &Maker{Stack: Stack, g: g, b: &graph.Builder{G: g}} }

// Call implements export.Maker.
func (m *Maker) Call(n *export.Node, row *ops.Op, args []ops.Arg) ([]ops.Value, error) {
	m.b.Stack = m.Stack(n)
	node, err := m.b.Call(row, args, graph.CallFunction)
	if err != nil {
		return nil, err
	}
	if n.Name != "" {
		m.g.Rename(node, n.Name)
	}
	list, several := node.Meta.([]ops.Result)
	if !several {
		return []ops.Value{node}, nil
	}
	out := make([]ops.Value, len(list))
	for i := range list {
		out[i] = m.b.Item(node, i)
	}
	return out, nil
}

// Stack is the lines of Python that a call comes from.
func Stack(n *export.Node) []graph.Frame {
	out := make([]graph.Frame, len(n.Stack))
	for i, f := range n.Stack {
		out[i] = graph.Frame{File: f.File, Line: f.Line, Func: f.Func, Code: f.Code}
	}
	return out
}
