package graph

import (
	"fmt"
	"maps"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file is control flow in a graph: nodes that hold graphs, of which the data decides
// which run, and how often.

// The higher-order operators of control flow.
const (
	CondTarget  = "cond"
	WhileTarget = "while_loop"
)

// Flow is what a node of control flow calls. Its arguments are, of cond, the predicate and
// the list of what both branches take; of while_loop the lists of what is carried from
// round to round and of what both bodies read besides. Its value is a list.
type Flow struct {
	Op string
	// Bodies are, of cond, the branches for true and false; of while_loop its condition and
	// what a round does.
	Bodies []*Graph
}

// bodyWords are the names of an operator's bodies, as Dynamo and as AOTAutograd give them.
var bodyWords = map[string][2][]string{
	CondTarget:  {{"cond_true", "cond_false"}, {"true_graph", "false_graph"}},
	WhileTarget: {{"cond_fn", "body_fn"}, {"while_loop_cond_graph", "while_loop_body_graph"}},
}

// flowParts are the predicate of a choice, nil for a loop, and the lists of operands.
func (n *Node) flowParts() (predicate *Node, lists []ops.Arg) {
	if n.Flow.Op == CondTarget {
		return n.Args[0].(*Node), n.Args[1:]
	}
	return nil, n.Args
}

// Predicate is what a choice goes by, nil for a loop.
func (n *Node) Predicate() *Node {
	p, _ := n.flowParts()
	return p
}

// Operands are what the bodies of a node of control flow take, in their order.
func (n *Node) Operands() []*Node {
	_, lists := n.flowParts()
	return nodesOf(lists)
}

// Carried is how many operands of a loop each round replaces: the first ones.
func (n *Node) Carried() int {
	if n.Flow.Op != WhileTarget {
		return 0
	}
	_, lists := n.flowParts()
	for _, carried := range lists {
		return len(carried.([]ops.Value)) // the first
	}
	return 0
}

// SetFlow gives n the bodies and sets its value by them.
func (n *Node) SetFlow(f *Flow) {
	n.Kind, n.Target, n.Flow = CallFunction, f.Op, f
	n.Meta = n.flowMeta()
}

// flowMeta is the value that the bodies give: that of the first branch, which the other's is
// laid out like; of a loop what it carries.
func (n *Node) flowMeta() []ops.Result {
	if n.Flow.Op == CondTarget {
		return Metas(nodesOf(n.Flow.Bodies[0].Outputs()))
	}
	var out []ops.Result
	for _, p := range n.Flow.Bodies[1].Placeholders()[:n.Carried()] {
		m := *p.TensorMeta()
		m.Offset, m.RequiresGrad = sym.C(0), false
		out = append(out, &m)
	}
	return out
}

// RefreshFlow brings bodies and value up to date with operands that are laid out otherwise
// than the bodies take them; repropagate does so for what follows some nodes of a graph.
func (n *Node) RefreshFlow(repropagate func(g *Graph, moved map[*Node]bool)) {
	for _, b := range n.Flow.Bodies {
		moved := map[*Node]bool{}
		for i, p := range b.Placeholders() {
			if x := n.Operands()[i]; !sameMeta(p.Meta, x.Meta) {
				p.Meta, moved[p] = x.Meta, true
			}
		}
		repropagate(b, moved)
	}
	n.Meta = n.flowMeta()
}

// clone copies the bodies, so that a pass that changes them in one graph leaves other
// graphs alone.
func (f *Flow) clone() *Flow {
	if f == nil {
		return nil
	}
	c := &Flow{Op: f.Op}
	for _, b := range f.Bodies {
		g, _ := b.Clone(b.Name)
		c.Bodies = append(c.Bodies, g)
	}
	return c
}

// FlowBodies are the bodies of all control flow in g, without those that are in bodies.
func (g *Graph) FlowBodies() []*Graph {
	var out []*Graph
	for n := g.first; n != nil; n = n.next {
		if n.Flow != nil {
			out = append(out, n.Flow.Bodies...)
		}
	}
	return out
}

// IsResultOfFlow reports whether n is one value of a node of control flow.
func (n *Node) IsResultOfFlow() bool {
	if n.Kind != CallFunction || n.Op != ops.None || n.Target != "getitem" {
		return false
	}
	from, _ := n.Item()
	return from.Flow != nil
}

// bare is the pair of a body that returns a tensor, not a tuple: the condition of a loop.
const bare = -1

// namedBody is a body as the text of a graph has it; pair is how many of its outputs are a
// tuple of their own, 0 for none.
type namedBody struct {
	name string
	g    *Graph
	pair int
}

// bodies are those of n, nil where it calls no higher-order operator.
func (n *Node) bodies() []namedBody {
	switch {
	case n.Apply != nil:
		k := n.before(func(m *Node) bool { return m.Apply != nil })
		return []namedBody{
			{fmt.Sprintf("fwd_body_%d", k), n.Apply.Forward, n.Apply.Outputs}, {fmt.Sprintf("bwd_body_%d", k), n.Apply.Backward, 0},
		}
	case n.Flow != nil:
		k := n.before(func(m *Node) bool { return m.Flow != nil && m.Flow.Op == n.Flow.Op })
		style := 0
		if n.graph.Aten {
			style = 1
		}
		var out []namedBody
		for i, b := range n.Flow.Bodies {
			pair := 0
			if n.Flow.Op == WhileTarget && i == 0 {
				pair = bare
			}
			out = append(out, namedBody{fmt.Sprintf("%s_%d", bodyWords[n.Flow.Op][style][i], k), b, pair})
		}
		return out
	}
	return nil
}

// before counts the nodes in front of n that are of some kind.
func (n *Node) before(is func(*Node) bool) int {
	k := 0
	for m := n.prev; m != nil; m = m.prev {
		if is(m) {
			k++
		}
	}
	return k
}

// BodyNames are the names under which the module of n's graph holds the bodies of n.
func (n *Node) BodyNames() []string {
	var out []string
	for _, b := range n.bodies() {
		out = append(out, b.name)
	}
	return out
}

// higherOrder is the name of the higher-order operator that n calls, "" for none.
func (n *Node) higherOrder() string {
	switch {
	case n.Apply != nil:
		return ApplyTarget
	case n.Flow != nil:
		return n.Flow.Op
	}
	return ""
}

// flowArgs are the arguments as the graph's text has them.
func (n *Node) flowArgs() []ops.Arg {
	var pos []ops.Arg
	predicate, args := n.flowParts()
	if predicate != nil {
		pos = append(pos, predicate)
	}
	for _, b := range n.BodyNames() {
		pos = append(pos, body(b))
	}
	for _, a := range args {
		list := tuple{}
		for _, v := range a.([]ops.Value) {
			list = append(list, v)
		}
		pos = append(pos, list)
	}
	return pos
}

// flow checks that the bodies fit the node and each other.
func (c *checker) flow(n *Node) error {
	f := n.Flow
	words, known := bodyWords[f.Op]
	if !known || len(f.Bodies) != len(words[0]) || len(n.Args) != 2 {
		return fmt.Errorf("%d bodies and %d arguments do not fit %s", len(f.Bodies), len(n.Args), f.Op)
	}
	for _, b := range f.Bodies {
		inner := newChecker(b)
		maps.Copy(inner.bound, c.bound)
		if err := inner.check(); err != nil {
			return err
		}
		if !takesAll(b, n.Operands()) {
			return fmt.Errorf("%s does not take the operands", b.Name)
		}
		for _, a := range b.Outputs() {
			if x, ok := a.(*Node); !ok || !x.IsTensor() {
				return fmt.Errorf("%s gives %v, which is no tensor", b.Name, a)
			}
		}
	}
	if p := n.Predicate(); p != nil && !p.IsTensor() {
		return fmt.Errorf("the predicate is no tensor")
	}
	outs := nodesOf(f.Bodies[1].Outputs())
	if len(outs) != len(n.flowMeta()) {
		return fmt.Errorf("%s gives %d tensors where %d are wanted", f.Bodies[1].Name, len(outs), len(n.flowMeta()))
	}
	for i, m := range n.flowMeta() {
		if x, y := m.(*ops.TensorMeta), outs[i].TensorMeta(); x.DType != y.DType || !sym.AllSame(x.Shape, y.Shape) {
			return fmt.Errorf("%s gives %s where %s is wanted", f.Bodies[1].Name, typeText(y), typeText(x))
		}
	}
	if !sameMeta(n.Meta, n.flowMeta()) {
		return fmt.Errorf("holds %s where its bodies give %s", describe(n.Meta), describe(n.flowMeta()))
	}
	return nil
}

// takesAll reports whether the placeholders of g have the shapes and types of some values.
func takesAll(g *Graph, values []*Node) bool {
	phs := g.Placeholders()
	if len(phs) != len(values) {
		return false
	}
	for i, p := range phs {
		x, ok1 := p.Meta.(*ops.TensorMeta)
		y, ok2 := values[i].Meta.(*ops.TensorMeta)
		if ok1 != ok2 || ok1 && (x.DType != y.DType || !sym.AllSame(x.Shape, y.Shape)) {
			return false
		}
	}
	return true
}

// flow runs the bodies that the data wants.
func (in *interp) flow(n *Node) []torch.Value {
	var args []torch.Value
	for _, x := range n.Operands() {
		args = append(args, in.env[x])
	}
	f := n.Flow
	if f.Op == CondTarget {
		b := f.Bodies[1]
		if in.env[n.Predicate()].(*torch.Tensor).Bool() {
			b = f.Bodies[0]
		}
		vals := in.ownResults(in.body(b, args), args, resultMetas(n))
		if in.taping == recorded && !n.NoGrad {
			withAllGradients(vals, args)
		}
		return vals
	}
	k := n.Carried()
	rounds := 0
	for ; in.body(f.Bodies[0], args)[0].(*torch.Tensor).Bool(); rounds++ {
		copy(args[:k], in.ownResults(in.body(f.Bodies[1], args), args, resultMetas(n)))
	}
	if rounds > 0 {
		return args[:k:k]
	}
	var out []torch.Value
	for _, v := range args[:k] {
		shape, stride, _ := v.(*torch.Tensor).Layout()
		out = append(out, relaid(v.(*torch.Tensor), shape, stride))
	}
	return out
}

// withAllGradients has every operand of a choice get a gradient, zeros where the branch that
// ran has none for it: which branch it was a compiled backward pass does not know.
func withAllGradients(vals, operands []torch.Value) {
	var floats []*torch.Tensor
	for _, v := range operands {
		if t, ok := v.(*torch.Tensor); ok && t.DType().IsFloat() && t.RequiresGrad() {
			floats = append(floats, t)
		}
	}
	if len(floats) == 0 {
		return
	}
	for i, v := range vals {
		y := v.(*torch.Tensor)
		if !y.DType().IsFloat() {
			continue
		}
		z := y.Detach()
		inputs := append([]*torch.Tensor{y}, floats...)
		torch.WithBackward("CondBackward", inputs, []*torch.Tensor{z}, func(grads []*torch.Tensor) []*torch.Tensor {
			out := []*torch.Tensor{grads[0]}
			for _, t := range floats {
				out = append(out, torch.ZerosLike(t.Detach()))
			}
			return out
		})
		vals[i] = z
	}
}

// body runs a body with what is known in the graph that it is in.
func (in *interp) body(g *Graph, args []torch.Value) []torch.Value {
	return g.runIn(&interp{env: make(map[*Node]any, g.count), syms: in.syms, taping: in.taping, wide: in.wide}, args)
}

// ownResults gives values that nothing is recorded of the strides that the graph counts on,
// and memory of their own: an expanded operator may leave them laid out otherwise, and a
// copy that is gone leaves an operand.
func (in *interp) ownResults(vals, operands []torch.Value, metas []ops.Result) []torch.Value {
	if in.taping == recorded {
		return vals
	}
	taken := map[*torch.Storage]bool{}
	for _, v := range operands {
		if t, ok := v.(*torch.Tensor); ok {
			taken[t.Storage()] = true
		}
	}
	out := make([]torch.Value, len(vals))
	for i, m := range metas {
		t := vals[i].(*torch.Tensor)
		shape, stride, _ := t.Layout()
		var want []int
		for _, s := range m.(*ops.TensorMeta).Stride {
			want = append(want, int(in.size(s)))
		}
		if out[i] = t; taken[t.Storage()] || !sameLayout(shape, stride, want) {
			out[i] = relaid(t, shape, want)
		}
		taken[t.Storage()] = true
	}
	return out
}

// relaid copies t into memory of its own that has these strides.
func relaid(t *torch.Tensor, shape, stride []int) *torch.Tensor {
	span := 1
	for i, n := range shape {
		span += (n - 1) * stride[i]
	}
	out := torch.FromStorage(torch.NewStorage(span*t.DType().Size()), t.DType(), shape, stride, 0)
	args, err := ops.Bind(ops.Get(ops.Clone), []ops.Arg{t}, nil)
	if err != nil {
		panic("graph: clone: " + err.Error())
	}
	torch.CallInto(ops.Clone, args, []*torch.Tensor{out})
	return out
}

// sameLayout reports whether both strides walk elements of a shape alike.
func sameLayout(shape, a, b []int) bool {
	for i, n := range shape {
		if n == 0 {
			return true
		}
		if n > 1 && a[i] != b[i] {
			return false
		}
	}
	return true
}

// RunSized is RunUntaped of a body: syms are the sizes that are known outside of it.
func (g *Graph) RunSized(inputs []torch.Value, syms map[*sym.Symbol]int64) []torch.Value {
	return g.runIn(&interp{env: make(map[*Node]any, g.count), syms: maps.Clone(syms), taping: unrecorded}, inputs)
}
