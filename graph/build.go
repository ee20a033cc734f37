package graph

import (
	"fmt"
	"slices"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Builder makes operator nodes: it implements ops.Builder, so that derivatives
// and decompositions can be written into a graph.
type Builder struct {
	G      *Graph
	Before *Node   // insert in front of this node; nil: at the end
	Stack  []Frame // given to every node
	NoGrad bool    // given to every node
	// Derivative is given to every node, too.
	Derivative bool
}

var _ ops.Builder = (*Builder)(nil)

// Emit appends a call of op and returns its first result. It panics with the
// operator's message when the arguments do not fit: rules call it, and a rule
// that misuses an operator is a bug.
func (b *Builder) Emit(op ops.ID, args ...ops.Arg) ops.Value {
	return b.EmitN(op, args...)[0]
}

// EmitN is Emit for operators with several results.
func (b *Builder) EmitN(op ops.ID, args ...ops.Arg) []ops.Value {
	row := ops.Get(op)
	bound, err := ops.Bind(row, args, nil)
	if err != nil {
		panic(fmt.Sprintf("graph: %s: %v", row.Name, err))
	}
	n, err := b.Call(row, bound, CallFunction)
	if err != nil {
		panic(fmt.Sprintf("graph: %s: %v", row.Name, err))
	}
	return b.results(n)
}

// Call inserts a call with bound arguments and returns its node; the error is
// that of the operator's shape rule.
func (b *Builder) Call(row *ops.Op, bound []ops.Arg, kind Kind) (*Node, error) {
	if err := ops.CheckDevices(row, bound); err != nil {
		return nil, err
	}
	res, err := row.Meta(&ops.Call{Op: row, Args: anyNumbers(bound)})
	if err != nil {
		return nil, err
	}
	n := &Node{
		Name: row.Name, Kind: kind, Op: row.ID, Args: bound, Meta: metaOf(res), Stack: b.Stack, NoGrad: b.NoGrad, Derivative: b.Derivative,
	}
	return b.G.Insert(n, b.Before), nil
}

// results returns the tensors that n yields, through getitem nodes where there
// are several.
func (b *Builder) results(n *Node) []ops.Value {
	list, ok := n.Meta.([]ops.Result)
	if !ok {
		return []ops.Value{n}
	}
	out := make([]ops.Value, len(list))
	for i := range list {
		out[i] = b.Item(n, i)
	}
	return out
}

// Item inserts a getitem node for result i of n.
func (b *Builder) Item(n *Node, i int) *Node {
	list := n.Meta.([]ops.Result)
	return b.G.Insert(&Node{
		Name: "getitem", Kind: CallFunction, Target: "getitem",
		Args: []ops.Arg{n, sym.C(i)}, Meta: list[i], Stack: n.Stack, NoGrad: n.NoGrad, Derivative: n.Derivative,
	}, b.Before)
}

// Input adds a placeholder, after those that are there and before all calls.
func (g *Graph) Input(name, target, source string, meta any) *Node {
	n := &Node{Name: name, Kind: Placeholder, Target: target, Source: source, Meta: meta}
	g.input = g.Insert(n, g.firstCall()) // at the end where there is none
	return n
}

func (g *Graph) firstCall() *Node {
	n := g.first
	if in := g.input; in != nil && in.graph == g { // a network has hundreds of inputs
		n = in.next
	}
	for n != nil && n.Kind == Placeholder {
		n = n.next
	}
	return n
}

// SetOutput appends the output node.
func (g *Graph) SetOutput(args []ops.Arg) *Node {
	return g.Append(&Node{Name: "output", Kind: Output, Target: "output", Args: args})
}

// Clone copies the graph. The map takes old nodes to new ones.
func (g *Graph) Clone(name string) (*Graph, map[*Node]*Node) {
	h := New(name, g.Env)
	h.Aten, h.Untaped = g.Aten, g.Untaped
	m := make(map[*Node]*Node, g.count)
	for n := g.first; n != nil; n = n.next {
		m[n] = h.Append(n.copyWith(func(x *Node) *Node { return m[x] }))
	}
	return h, m
}

// copyWith returns an unlinked copy of n with its inputs mapped.
func (n *Node) copyWith(f func(*Node) *Node) *Node {
	c := &Node{
		Name: n.Name, Kind: n.Kind, Target: n.Target, Op: n.Op, Meta: n.Meta, Stack: n.Stack, Source: n.Source,
		NoGrad: n.NoGrad, Derivative: n.Derivative, Apply: n.Apply, Flow: n.Flow.clone(),
	}
	c.Args = mapNodes(n.Args, f).([]any)
	return c
}

// CopyInto appends a copy of n to h with its inputs mapped by f.
func (n *Node) CopyInto(h *Graph, f func(*Node) *Node) *Node { return h.Append(n.copyWith(f)) }

// CopyBefore puts a copy of n with its inputs mapped by f in front of the node at.
func (n *Node) CopyBefore(at *Node, f func(*Node) *Node) *Node {
	return n.graph.Insert(n.copyWith(f), at)
}

// Repropagate computes the example value of a call again from those of its arguments.
func (n *Node) Repropagate() error {
	row := n.OpRow()
	res, err := row.Meta(&ops.Call{Op: row, Args: anyNumbers(n.Args)})
	if err != nil {
		return err
	}
	n.Meta = metaOf(res)
	return nil
}

// SameWith reports whether a call gives the same shapes, types and strides if it reads y where it
// reads x.
func (n *Node) SameWith(x, y *Node) bool {
	row := n.OpRow()
	if row == nil {
		return false
	}
	args := mapNodes(n.Args, func(m *Node) *Node {
		if m == x {
			return y
		}
		return m
	}).([]any)
	res, err := row.Meta(&ops.Call{Op: row, Args: anyNumbers(args)})
	return err == nil && sameMeta(metaOf(res), n.Meta)
}

// EliminateDead removes nodes whose values nobody uses and that do not mutate,
// and returns how many.
func (g *Graph) EliminateDead() int {
	removed := 0
	for n := g.last; n != nil; {
		prev := n.prev
		if n.Kind != Output && n.Kind != Placeholder && len(n.users) == 0 && !n.impure() {
			g.Erase(n)
			removed++
		}
		n = prev
	}
	return removed
}

// impure reports whether n has an effect besides its value.
func (n *Node) impure() bool {
	row := n.OpRow()
	if n.Target == AssertScalar {
		return true
	}
	if row != nil && row.Tags.Has(ops.TagDataDependent) { // shapes name what it gives
		return true
	}
	return row != nil && (row.Tags.Has(ops.TagInPlace) || row.Tags.Has(ops.TagRandom) || len(n.Statistics()) > 0)
}

// Statistics are what the call writes beside its result: the running statistics
// of a normalisation that trains, a table whose rows are held short.
func (n *Node) Statistics() []*Node {
	row := n.OpRow()
	if row == nil {
		return nil
	}
	var out []*Node
	for _, i := range ops.Mutated(row, n.Args) {
		if m, ok := n.Args[i].(*Node); ok {
			out = append(out, m)
		}
	}
	return out
}

// Sized are arguments with the values that symbols have in a call.
func Sized(args []ops.Arg, values map[*sym.Symbol]int64) []ops.Arg {
	fix := func(x sym.Int) sym.Int {
		return sym.Const(x.Eval(func(s *sym.Symbol) int64 {
			if v, ok := s.Fixed(); ok {
				return v
			}
			return values[s]
		}))
	}
	out := slices.Clone(args)
	for i, a := range out {
		switch a := a.(type) {
		case sym.Int:
			out[i] = fix(a)
		case []sym.Int:
			list := make([]sym.Int, len(a))
			for k, x := range a {
				list[k] = fix(x)
			}
			out[i] = list
		}
	}
	return out
}
