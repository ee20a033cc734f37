// Package modules finds the modules of a model in its graphs: which nodes belong to
// layers.0.attn, what they add up to, which lie around one, what became of them in
// the next stage; and writes such a graph as DOT, SVG and JSON.
//
// PyTorch's traces do not name the module of a node. It is read from the parameters: their
// names are paths, and what computes with one belongs to the module that holds it. Nodes
// without a parameter belong to the modules around them, as far as those agree. Under
// tcdbg exec the program also writes the module in which each captured node was traced,
// which counts more; later stages have it through the lines of the program.
//
// Open this file first, then tree.go.
package modules

import (
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
)

// Graph is the nodes of one stage with the modules that they belong to.
type Graph struct {
	Nodes  []explain.GraphNode
	Module []string // of every node; "" for the root
	Inputs []Input
	Cost   []Cost // of every node

	at    map[string]int // node of a name
	users [][]int32
	args  [][]int32
	lines lines
	roots int // objects whose modules hold inputs
}

// Captured reads the captured graph.
func Captured(own *explain.Graph) *Graph {
	g := index(own.Nodes())
	g.readInputs(own)
	g.place(g.held(nil), nil)
	g.tell(own.LoadModules)
	g.learn()
	return g
}

// Later reads a stage after the captured graph; its inputs are those of captured, by their numbers.
func Later(nodes []explain.GraphNode, captured *Graph) *Graph {
	g := index(nodes)
	g.readInputs(nil)
	g.numbered(captured)
	g.place(g.held(captured), captured)
	return g
}

func index(nodes []explain.GraphNode) *Graph {
	g := &Graph{
		Nodes: nodes, Module: make([]string, len(nodes)), Cost: make([]Cost, len(nodes)),
		at: make(map[string]int, len(nodes)), users: make([][]int32, len(nodes)), args: make([][]int32, len(nodes)),
	}
	for i := range nodes {
		for _, a := range nodes[i].Args {
			if j, ok := g.at[a]; ok {
				g.args[i] = append(g.args[i], int32(j))
				g.users[j] = append(g.users[j], int32(i))
			}
		}
		g.at[nodes[i].Name] = i
	}
	for i := range nodes {
		g.Cost[i] = g.costOf(i)
	}
	return g
}

// Find is the node of a name, -1 for none.
func (g *Graph) Find(name string) int {
	if i, ok := g.at[name]; ok {
		return i
	}
	return -1
}

// Args are the nodes that node i reads.
func (g *Graph) Args(i int) []int32 { return g.args[i] }

// numbered gives inputs that have only a number, as primals_7, what the captured graph says of its
// seventh input. Where one of them has another type there, the numbers are of something else.
func (g *Graph) numbered(captured *Graph) {
	if captured == nil {
		return
	}
	of := make([]int, len(g.Inputs))
	for i := range g.Inputs {
		of[i] = -1
		n := &g.Nodes[g.Inputs[i].Node]
		at, ok := inputNumber(n.Name)
		if !ok {
			continue
		}
		if at >= len(captured.Inputs) || !sameShape(n.Type, captured.Nodes[captured.Inputs[at].Node].Type) {
			return
		}
		of[i] = at
	}
	for i, at := range of {
		if at >= 0 {
			node := g.Inputs[i].Node
			g.Inputs[i] = captured.Inputs[at]
			g.Inputs[i].Node = node
		}
	}
}

// inputNumber reads primals_7 and arg6_1, both the seventh: 6.
func inputNumber(name string) (int, bool) {
	if rest, ok := strings.CutPrefix(name, "primals_"); ok {
		n, err := strconv.Atoi(rest)
		return n - 1, err == nil && n > 0
	}
	if rest, ok := strings.CutPrefix(name, "arg"); ok {
		if num, ok := strings.CutSuffix(rest, "_1"); ok {
			n, err := strconv.Atoi(num)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

// sameShape compares dtype and sizes, where both are printed.
func sameShape(a, b string) bool {
	if a == "" || b == "" {
		return true
	}
	a, _, _ = strings.Cut(a, "]")
	b, _, _ = strings.Cut(b, "]")
	return a == b
}

// anchor says what a node's own operands tell of its module.
type anchor struct {
	known bool
	path  string // of the module that holds the parameter
	param string // its name there
}

// held finds the nodes that compute with a parameter, or its gradient, or in a backward graph with a
// value that the forward graph's module saved.
func (g *Graph) held(captured *Graph) []anchor {
	out := make([]anchor, len(g.Nodes))
	only := make([]bool, len(g.Nodes)) // a parameter, or a view of one
	for k := range g.Inputs {
		if in := &g.Inputs[k]; in.Kind != Argument {
			out[in.Node] = anchor{true, in.Module, in.Name}
			only[in.Node] = true
		}
	}
	g.gradients(captured, out)
	shared := g.tied()
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Op == "placeholder" || n.Op == "output" || out[i].known {
			continue
		}
		all := len(g.args[i]) > 0
		for _, a := range g.args[i] {
			all = all && only[a]
			if !only[a] || shared[[2]int{int(a), i}] {
				continue
			}
			if !out[i].known {
				out[i] = out[a]
			} else if out[i].path != out[a].path {
				out[i] = anchor{true, common(out[i].path, out[a].path), ""}
			}
		}
		only[i] = all && isView(n0(g.Nodes[i].Target))
	}
	return out
}

// tied are the uses of a parameter by another module than the one that it is named after, as an output layer uses the
// weight of an embedding: the code names the holder at one use, and does not at the other. Pairs of input and node.
func (g *Graph) tied() map[[2]int]bool {
	out := map[[2]int]bool{}
	for k := range g.Inputs {
		in := &g.Inputs[k]
		if in.Kind == Argument {
			continue
		}
		named := func(i int) bool {
			code, holder := g.Nodes[i].Pos.Code, in.Module[strings.LastIndexByte(in.Module, '.')+1:]
			return mentions(code, in.Name) || holder != "" && mentions(code, holder)
		}
		users := g.users[in.Node]
		any := slices.ContainsFunc(users, func(i int32) bool { return named(int(i)) })
		for _, i := range users {
			if any && !named(int(i)) {
				out[[2]int{in.Node, int(i)}] = true
			}
		}
	}
	return out
}

// gradients marks what makes the gradient of a parameter: the last outputs of a graph with tangents are those
// of the captured inputs, in their order.
func (g *Graph) gradients(captured *Graph, out []anchor) {
	inputs := g.Inputs
	if captured != nil {
		inputs = captured.Inputs
	}
	tangents := false
	for i := range g.Inputs {
		tangents = tangents || strings.HasPrefix(g.Nodes[g.Inputs[i].Node].Name, "tangents_")
	}
	if !tangents || len(g.Nodes) == 0 {
		return
	}
	values := outputs(&g.Nodes[len(g.Nodes)-1])
	if len(values) < len(inputs) {
		return
	}
	values = values[len(values)-len(inputs):]
	for k, name := range values {
		typ := g.typeAt(inputs[k].Node, captured)
		if i, ok := g.at[name]; ok && !sameShape(g.Nodes[i].Type, typ) {
			return // they are of something else
		}
	}
	for k, name := range values {
		i, ok := g.at[name]
		for in := &inputs[k]; ok && in.Kind == Parameter && computes(&g.Nodes[i]) && !out[i].known; i = int(g.args[i][0]) {
			out[i] = anchor{true, in.Module, in.Name}
			if !isView(n0(g.Nodes[i].Target)) || len(g.args[i]) == 0 {
				break
			}
		}
	}
}

// typeAt is the type of a node of the captured graph, of g where there is no other.
func (g *Graph) typeAt(i int, captured *Graph) string {
	if captured == nil {
		return g.Nodes[i].Type
	}
	return captured.Nodes[i].Type
}

// outputs are the names that a return lists, "None" among them.
func outputs(n *explain.GraphNode) []string {
	if n.Op != "output" {
		return nil
	}
	from, to := strings.IndexAny(n.Text, "(["), strings.LastIndexAny(n.Text, ")]")
	if from < 0 || to <= from {
		return nil
	}
	text := n.Text[from+1 : to]
	if at := strings.IndexByte(text, '['); at >= 0 { // pytree.tree_unflatten([a, b], spec)
		text, _, _ = strings.Cut(text[at+1:], "]")
	}
	values := strings.Split(text, ",")
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	for len(values) > 0 && values[len(values)-1] == "" {
		values = values[:len(values)-1]
	}
	return values
}
