package graph

import (
	"io"
	"strings"

	"tcdbg/ops"
	"tcdbg/torch"
)

// Module is a finished graph. It implements torch.GraphImpl, so that a user's
// backend meets it as a torch.GraphModule.
type Module struct {
	G *Graph
}

var _ torch.GraphImpl = (*Module)(nil)

// NewModule wraps a graph.
func NewModule(g *Graph) *Module { return &Module{g} }

// Name is the graph's name.
func (m *Module) Name() string { return m.G.Name }

// PrintTabular writes the graph as PyTorch's table.
func (m *Module) PrintTabular(w io.Writer) { _, _ = io.WriteString(w, m.G.Table()) }

// Code is the graph as FX Python text.
func (m *Module) Code() string { return m.G.Code() }

// GoCode is the graph as a Go function.
func (m *Module) GoCode() string { return m.G.GoCode() }

// Ops lists the operators in order, by PyTorch's names.
func (m *Module) Ops() []string { return m.G.OpNames() }

// Run interprets the graph.
func (m *Module) Run(inputs []torch.Value) []torch.Value { return m.G.Run(inputs) }

// OpNames lists the operators in order, by PyTorch's names with overload:
// "add", "max.dim".
func (g *Graph) OpNames() []string {
	var out []string
	for n := g.first; n != nil; n = n.next {
		switch {
		case n.higherOrder() != "":
			out = append(out, n.higherOrder())
		case n.Op != ops.None:
			out = append(out, rowName(n.OpRow()))
		}
	}
	return out
}

func rowName(op *ops.Op) string {
	if op.Overload != "" {
		return op.Name + "." + op.Overload
	}
	return op.Name
}

// NumOps is the number of operator calls.
func (g *Graph) NumOps() int {
	n := 0
	for m := g.first; m != nil; m = m.next {
		if m.Op != ops.None || m.higherOrder() != "" {
			n++
		}
	}
	return n
}

// Dot is the graph in Graphviz's language.
func (g *Graph) Dot() string {
	var sb strings.Builder
	sb.WriteString("digraph " + identifier(g.Name) + " {\n  node [shape=box];\n")
	for n := g.first; n != nil; n = n.next {
		label := n.Name + "\\n" + n.Kind.String()
		if t := typeText(n.Meta); t != "" {
			label += "\\n" + t
		}
		sb.WriteString("  " + n.Name + " [label=\"" + strings.ReplaceAll(label, `"`, `\"`) + "\"];\n")
		for _, in := range n.Inputs() {
			sb.WriteString("  " + in.Name + " -> " + n.Name + ";\n")
		}
	}
	sb.WriteString("}\n")
	return sb.String()
}
