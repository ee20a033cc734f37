// Package graph is the FX-like intermediate representation: a list of nodes in
// execution order, each a placeholder, an operator call or the output. It
// prints as a table, FX Python text, Go code and dot, parses its own text,
// checks itself and interprets itself through torch's eager operators.
//
// It imports ops, ops/sym, torch and logs; never tracer, aot or
// inductor. Open node.go first, then module.go.
package graph

import (
	"fmt"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Kind is what a node does.
type Kind uint8

// The kinds of nodes, as FX names them.
const (
	Placeholder Kind = iota
	GetAttr
	CallFunction
	CallMethod
	CallModule
	Output
)

// String is FX's opcode: placeholder, call_function, ...
func (k Kind) String() string {
	return [...]string{"placeholder", "get_attr", "call_function", "call_method", "call_module", "output"}[k]
}

// Frame is one level of the user's stack, outermost first in a Stack.
type Frame struct {
	File string
	Line int
	Col  int
	Func string // Decoder.Forward
	Code string // the source line, trimmed
}

// Node is one step of a graph. A call of an operator holds all its arguments
// bound in schema order (ops.Bind); printing leaves out those at their default.
type Node struct {
	Name   string
	Kind   Kind
	Target string // placeholder: L_a_; get_attr: path; call of no operator: getitem, ...
	Op     ops.ID // ops.None where the node calls no operator
	Args   []ops.Arg
	// Meta is the example value: *ops.TensorMeta, sym.Int, ops.ScalarMeta, or
	// []ops.Result for an operator with several results, which getitem nodes
	// (Args: node, index) take apart.
	Meta  any
	Stack []Frame
	// Source says where a placeholder's value comes from: L.x, G.table, L.net.Weight.
	Source string
	// NoGrad marks calls made under torch.NoGrad: no gradient flows through.
	NoGrad bool
	// Derivative marks what a captured backward pass has written.
	Derivative bool
	// Apply is set on calls of a function with a derivative of its own.
	Apply *Apply
	// Flow is set on nodes of control flow.
	Flow *Flow

	graph      *Graph
	prev, next *Node
	users      map[*Node]int // how often each uses this node
}

// TensorMeta implements ops.Value. It panics for nodes that are no tensor.
func (n *Node) TensorMeta() *ops.TensorMeta {
	m, ok := n.Meta.(*ops.TensorMeta)
	if !ok {
		panic(fmt.Sprintf("graph: %s is no tensor", n.Name))
	}
	return m
}

// IsTensor reports whether n's value is one tensor.
func (n *Node) IsTensor() bool { _, ok := n.Meta.(*ops.TensorMeta); return ok }

// Graph returns the graph that holds n.
func (n *Node) Graph() *Graph { return n.graph }

// Next returns the node after n, nil at the end.
func (n *Node) Next() *Node { return n.next }

// Prev returns the node before n, nil at the start.
func (n *Node) Prev() *Node { return n.prev }

// NumUsers is the number of distinct nodes that use n.
func (n *Node) NumUsers() int { return len(n.users) }

// Users returns the nodes that use n, in graph order.
func (n *Node) Users() []*Node {
	var out []*Node
	for m := n.next; m != nil && len(out) < len(n.users); m = m.next {
		if n.users[m] > 0 {
			out = append(out, m)
		}
	}
	return out
}

// Inputs returns the nodes that n uses, in argument order, with repetitions.
func (n *Node) Inputs() []*Node {
	var out []*Node
	eachNode(n.Args, func(m *Node) { out = append(out, m) })
	return out
}

// OpRow returns the operator that n calls, nil when it calls none.
func (n *Node) OpRow() *ops.Op {
	if n.Op == ops.None {
		return nil
	}
	return ops.Get(n.Op)
}

func eachNode(a any, f func(*Node)) {
	switch a := a.(type) {
	case *Node:
		if a != nil {
			f(a)
		}
	case []ops.Value:
		for _, v := range a {
			if v != nil {
				f(v.(*Node))
			}
		}
	case []any:
		for _, b := range a {
			eachNode(b, f)
		}
	}
}

func mapNodes(a any, f func(*Node) *Node) any {
	switch a := a.(type) {
	case *Node:
		if a == nil {
			return a
		}
		return f(a)
	case []ops.Value:
		out := make([]ops.Value, len(a))
		for i, v := range a {
			if v != nil {
				out[i] = f(v.(*Node))
			}
		}
		return out
	case []any:
		out := make([]any, len(a))
		for i, b := range a {
			out[i] = mapNodes(b, f)
		}
		return out
	}
	return a
}

// Graph is a list of nodes. The zero Graph is not usable; call New.
type Graph struct {
	Name        string // __compiled_fn_1
	Env         *sym.Env
	Aten        bool // operators are printed as torch.ops.aten calls (after aot)
	Untaped     bool // no gradient leaves it: what its inputs get is computed in it
	first, last *Node
	input       *Node // the placeholder that was added last, after which the next one comes
	count       int
	names       map[string]int // suffix last used for a base name
	taken       map[string]bool
}

// New returns an empty graph. env may be nil when all sizes are constants.
func New(name string, env *sym.Env) *Graph {
	return &Graph{Name: name, Env: env, names: map[string]int{}, taken: map[string]bool{}}
}

// First returns the first node, nil when the graph is empty.
func (g *Graph) First() *Node { return g.first }

// Last returns the last node.
func (g *Graph) Last() *Node { return g.last }

// Len is the number of nodes.
func (g *Graph) Len() int { return g.count }

// Nodes returns the nodes in order.
func (g *Graph) Nodes() []*Node {
	out := make([]*Node, 0, g.count)
	for n := g.first; n != nil; n = n.next {
		out = append(out, n)
	}
	return out
}

// Placeholders returns the inputs in order.
func (g *Graph) Placeholders() []*Node {
	var out []*Node
	for n := g.first; n != nil && n.Kind == Placeholder; n = n.next {
		out = append(out, n)
	}
	return out
}

// OutputNode returns the output node, nil while the graph is being built.
func (g *Graph) OutputNode() *Node {
	if g.last != nil && g.last.Kind == Output {
		return g.last
	}
	return nil
}

// Outputs returns the arguments of the output node: *Node, sym.Int, float64,
// bool or nil.
func (g *Graph) Outputs() []ops.Arg {
	if o := g.OutputNode(); o != nil {
		return o.Args
	}
	return nil
}

// Insert puts n before the node before, or at the end when that is nil, and
// gives it a unique name made from n.Name (see uniqueName). It returns n.
func (g *Graph) Insert(n *Node, before *Node) *Node {
	n.graph = g
	n.Name = g.uniqueName(n.Name)
	g.link(n, before)
	eachNode(n.Args, func(m *Node) { m.use(n, 1) })
	return n
}

// Append is Insert at the end.
func (g *Graph) Append(n *Node) *Node { return g.Insert(n, nil) }

func (g *Graph) link(n, before *Node) {
	n.next = before
	if before != nil {
		n.prev = before.prev
		before.prev = n
	} else {
		n.prev = g.last
		g.last = n
	}
	if n.prev != nil {
		n.prev.next = n
	} else {
		g.first = n
	}
	g.count++
}

// Erase removes n, which must have no users.
func (g *Graph) Erase(n *Node) {
	if len(n.users) > 0 {
		panic("graph: erasing " + n.Name + ", which is in use")
	}
	eachNode(n.Args, func(m *Node) { m.use(n, -1) })
	if n.prev != nil {
		n.prev.next = n.next
	} else {
		g.first = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	} else {
		g.last = n.prev
	}
	delete(g.taken, n.Name)
	n.graph, n.prev, n.next = nil, nil, nil
	g.count--
}

// SetArgs replaces n's arguments.
func (n *Node) SetArgs(args []ops.Arg) {
	eachNode(n.Args, func(m *Node) { m.use(n, -1) })
	n.Args = args
	eachNode(n.Args, func(m *Node) { m.use(n, 1) })
}

// ReplaceUses makes all users of n use m instead.
func (n *Node) ReplaceUses(m *Node) {
	for _, u := range n.Users() {
		if u == m {
			continue
		}
		u.Replace(n, m)
	}
}

// Replace makes n use y where it uses x.
func (n *Node) Replace(x, y *Node) {
	n.SetArgs(mapNodes(n.Args, func(m *Node) *Node {
		if m == x {
			return y
		}
		return m
	}).([]any))
}

func (n *Node) use(by *Node, d int) {
	if n.users == nil {
		n.users = map[*Node]int{}
	}
	n.users[by] += d
	if n.users[by] == 0 {
		delete(n.users, by)
	}
}

// Rename gives n the name base, made unique.
func (g *Graph) Rename(n *Node, base string) {
	if n.Name == base {
		return
	}
	delete(g.taken, n.Name)
	n.Name = g.uniqueName(base)
}

// pythonNames are the names that FX never gives to a node as they are, because
// they mean something in the Python text: abs becomes abs_1.
var pythonNames = wordSet(`abs all any bin bool bytes chr complex dict dir divmod
	enumerate filter float format getattr hash hex id input int iter len list map max min
	next object oct ord pow print range repr reversed round set slice sorted str sum super
	tuple type vars zip and as assert break class continue def del elif else except finally
	for from global if import in is lambda nonlocal not or pass raise return try while with
	yield None True False inf nan torch device NoneType`)

func wordSet(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// uniqueName follows FX: the base itself when it is free and no Python name,
// else base_1, base_2, ...
func (g *Graph) uniqueName(base string) string {
	base = identifier(base)
	if !g.taken[base] && !pythonNames[base] {
		g.taken[base] = true
		return base
	}
	if i := strings.LastIndexByte(base, '_'); i > 0 && isDigits(base[i+1:]) {
		base = base[:i]
	}
	for {
		g.names[base]++
		name := fmt.Sprintf("%s_%d", base, g.names[base])
		if !g.taken[name] {
			g.taken[name] = true
			return name
		}
	}
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// identifier replaces what a Python identifier cannot hold.
func identifier(s string) string {
	s = Word(s)
	if s == "" || s[0] <= '9' {
		s = "_" + s
	}
	return s
}

// Word is s with an underscore for all but ASCII letters and digits, which names in C
// and Python and those of files can hold.
func Word(s string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}
