// Package fx reads the text of FX graphs as PyTorch prints it, in its three
// forms: Python code (class GraphModule with type and File comments), the
// table of print_tabular, and the "graph():" listing.
//
// It imports nothing of ours. Open this file first, then code.go (Python form)
// and table.go (the other two).
package fx

import "strings"

// Graph is one parsed graph.
type Graph struct {
	Name  string // class name; "" for tables
	Nodes []Node
	Subs  []*Graph // graphs of nested classes, in order
}

// Node is one node.
type Node struct {
	Name   string
	Op     string // placeholder, get_attr, call_function, call_method, call_module, output
	Target string // torch.sin, sin, L_x_, operator.add
	Args   []string
	Text   string // the arguments as printed
	Type   string // f32[4, 4][4, 1]cpu; "" when not printed
	Source Source
}

// Source is the line of the user's program that made a node.
type Source struct {
	File string
	Line int
	Func string
	Code string
}

// Operator is the node's operator in short: silu for
// torch.nn.functional.silu, aten.mm.default for torch.ops.aten.mm.default.
// It is empty for nodes that compute nothing.
func (n *Node) Operator() string {
	switch n.Op {
	case "call_function", "call_method", "call_module":
	default:
		return ""
	}
	return Short(n.Target)
}

// Short drops the path of an operator's name where the name alone tells it.
func Short(target string) string {
	if rest, ok := strings.CutPrefix(target, "torch.ops."); ok {
		return rest
	}
	if strings.HasPrefix(target, "aten.") || strings.HasPrefix(target, "prims.") {
		return target
	}
	if i := strings.LastIndexByte(target, '.'); i >= 0 && i+1 < len(target) {
		return target[i+1:]
	}
	return target
}

// Operators lists the operators of the graph in order. Taking one of an
// operator's several results is none; indexing a tensor is.
func (g *Graph) Operators() []string {
	var out []string
	tensors := map[string]bool{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		tensors[n.Name] = n.Type != ""
		if op := n.Operator(); op != "" && (op != "getitem" || len(n.Args) > 0 && tensors[n.Args[0]]) {
			out = append(out, op)
		}
	}
	return out
}

// Placeholders counts the inputs.
func (g *Graph) Placeholders() int {
	n := 0
	for i := range g.Nodes {
		if g.Nodes[i].Op == "placeholder" {
			n++
		}
	}
	return n
}

// Parse reads a graph in any of the forms; nil when text holds none.
func Parse(text string) *Graph {
	if i := strings.Index(text, "graph():"); i >= 0 && (i == 0 || text[i-1] == '\n') {
		return parseListing(text[i:])
	}
	if strings.Contains(text, "def forward(") {
		return parseCode(text)
	}
	return parseTable(text)
}
