package oracle

import (
	"errors"
	"fmt"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// Compiled runs each call as a graph of one node through a compiler backend.
// Calls that no graph can hold, because data decides the shape of their
// result, because it is a number or because a tensor gets another shape in place, run eagerly:
// the tracer breaks there.
func Compiled(b tracer.Backend) Backend {
	return Backend{Name: b.Name(), Call: func(op *ops.Op, args []ops.Arg) []torch.Value {
		if op.ID == ops.Item || ops.Reshapes(op) {
			return torch.Call(op.ID, args)
		}
		g := &oneCall{g: graph.New("oracle", &sym.Env{}), nodes: map[*torch.Tensor]*graph.Node{}}
		bound := g.bind(args)
		builder := &graph.Builder{G: g.g}
		n, err := builder.Call(op, bound, graph.CallFunction)
		var unknown *ops.DataDependentError
		if errors.As(err, &unknown) {
			return torch.Call(op.ID, args)
		}
		if err != nil {
			panic(&torch.Error{Op: op.FullName(), Kind: "RuntimeError", Msg: err.Error()})
		}
		g.output(builder, n)
		run, err := b.Compile(&tracer.Request{ID: logs.CompileID{}, Module: graph.NewModule(g.g), Example: g.inputs})
		if err != nil {
			panic(&torch.Error{Op: op.FullName(), Kind: "BackendError", Msg: fmt.Sprintf("%s: %v", b.Name(), err)})
		}
		return run(g.inputs)
	}}
}

// oneCall is a graph under construction: its tensors become placeholders.
type oneCall struct {
	g      *graph.Graph
	nodes  map[*torch.Tensor]*graph.Node
	inputs []torch.Value
}

func (c *oneCall) bind(args []ops.Arg) []ops.Arg {
	out := make([]ops.Arg, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case *torch.Tensor:
			out[i] = c.input(a)
		case []ops.Value:
			list := make([]ops.Value, len(a))
			for j, v := range a {
				if t, ok := v.(*torch.Tensor); ok && t != nil {
					list[j] = c.input(t)
				}
			}
			out[i] = list
		default:
			out[i] = a
		}
	}
	return out
}

func (c *oneCall) input(t *torch.Tensor) *graph.Node {
	if n, ok := c.nodes[t]; ok {
		return n
	}
	name := fmt.Sprintf("l_x%d_", len(c.inputs))
	n := c.g.Input(name, name, "L.x", t.TensorMeta())
	c.nodes[t] = n
	c.inputs = append(c.inputs, t)
	return n
}

func (c *oneCall) output(b *graph.Builder, n *graph.Node) {
	list, several := n.Meta.([]ops.Result)
	if !several {
		c.g.SetOutput([]ops.Arg{n})
		return
	}
	outs := make([]ops.Arg, len(list))
	for i := range list {
		outs[i] = b.Item(n, i)
	}
	c.g.SetOutput(outs)
}
