package aot

import (
	"fmt"
	"slices"

	"tcdbg/graph"
	"tcdbg/graph/decompose"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file removes mutation from a captured graph. Every tensor belongs to a
// root (the tensor whose memory it is, memoryroot.go); a view knows the chain of views
// that leads to it. An in-place operator gives its root a new value; a view that
// is read after that is made again from it. Inputs that show the same memory, of
// which one is written, have one root: the memory itself (bases.go).

// functional is a captured graph without mutation.
type functional struct {
	graph     *graph.Graph
	writes    bool // the captured graph writes inputs in place; else it does not matter which memory they show
	inputs    []argument
	mutations []mutation
	outputs   []output
	// layouts are the orders of dimensions in memory that outputs of the pure
	// graph must have, by index: views are taken of them at run time.
	layouts map[int][]int
	metas   []any // of the captured graph's inputs, which carry the sizes' symbols
	// shows are the outputs of functions with a derivative of their own that lie in an
	// argument's memory, by index: eager mode lets the program see that.
	shows map[int]shown
	// places are the outputs that a compiled graph may write where the argument
	// lies that they replace, by that argument.
	places map[int]int
}

// mutation says that output index of the pure graph replaces the content of
// argument arg.
type mutation struct {
	arg, index int
	// grad: the change is one that gradients flow through; else it was made
	// under torch.NoGrad or through a detached view.
	grad bool
}

// output says how an output of the captured graph is made from the pure one's.
type output struct {
	index int        // output of the pure graph, -1 when it aliases an input
	input int        // the aliased input
	chain []viewStep // views to take at run time
	tape  int        // output of the pure graph whose gradients the view carries, -1: none of its own
	value any        // a constant, when index and input are -1
}

// alias is what a tensor of the captured graph shows.
type alias struct {
	root  *root
	chain []viewStep // from the root
	// store is the way back of what is written, each step with a known inverse;
	// chain, unless that shows one place twice. noStore says why there is none.
	store   []viewStep
	noStore error
	twice   bool       // shows one place of memory twice
	input   int        // the input that user starts at, -1: the root
	user    []viewStep // the views as the program took them
}

// made is the value of a tensor at a version of its root.
type made struct {
	node    *graph.Node
	version int
}

type functionalizer struct {
	old, g *graph.Graph
	res    *functional
	writes bool // the graph has operators in place
	// written are the inputs that they write; nil stands for values of the graph.
	written map[*graph.Node]bool
	train   bool
	roots   []*root // arguments, in order
	alias   map[*graph.Node]alias
	made    map[*graph.Node]made
	shown   map[*root]shown      // results of functions with a derivative of their own that show an argument
	wants   map[*graph.Node]bool // of the pure graph's nodes, whether gradients flow through
}

// functionalize rewrites g, which prepare has made, for inputs that alias as example's do; it fails for
// mutations that have no pure form.
func functionalize(g *graph.Graph, example []torch.Value, train bool) (*functional, error) {
	f := &functionalizer{
		old: g, g: graph.New(g.Name, g.Env), res: &functional{layouts: map[int][]int{}, shows: map[int]shown{}}, train: train,
		alias: map[*graph.Node]alias{}, made: map[*graph.Node]made{}, shown: map[*root]shown{}, wants: map[*graph.Node]bool{},
	}
	f.g.Aten = true
	f.res.graph = f.g
	if err := f.inputs(example); err != nil {
		return nil, err
	}
	for _, n := range f.old.Nodes() {
		switch n.Kind {
		case graph.Placeholder:
		case graph.Output:
			f.finish(n)
			return f.res, nil
		default:
			if err := f.node(n); err != nil {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("aot: graph %s has no output", g.Name)
}

func (f *functionalizer) node(n *graph.Node) error {
	row := n.OpRow()
	switch {
	case n.Apply != nil:
		f.define(n, retie(f.g, n, f.value))
		return nil
	case n.Flow != nil:
		return f.flow(n)
	case n.IsResultOfFlow():
		f.define(n, f.piece(n))
		return nil
	case n.IsResultOfApply():
		f.define(n, f.piece(n))
		f.noteShown(n)
		return nil
	case row == nil: // getitem
		if src, _ := viewed(n); src.OpRow().Tags.Has(ops.TagView) {
			return f.view(n)
		}
	case row.Tags.Has(ops.TagInPlace):
		return f.inPlace(n, row)
	case row.Tags.Has(ops.TagView):
		if _, several := n.Meta.([]ops.Result); !several {
			return f.view(n)
		}
	}
	if row == nil {
		f.define(n, f.piece(n))
		return nil
	}
	val := n.CopyInto(f.g, f.value)
	if f.writes { // the arguments may be laid out otherwise than they were captured
		if err := val.Repropagate(); err != nil {
			return fmt.Errorf("aot: %s: %w", n.Name, err)
		}
	}
	f.define(n, val)
	return nil
}

// piece copies a getitem.
func (f *functionalizer) piece(n *graph.Node) *graph.Node {
	v := n.CopyInto(f.g, f.value)
	v.Meta = decompose.ItemMeta(v)
	return v
}

// define makes n a root of its own, unless it is no single tensor.
func (f *functionalizer) define(n, val *graph.Node) {
	f.made[n] = made{val, 0}
	if n.IsTensor() {
		f.alias[n] = alias{root: newRoot(n.TensorMeta(), val, -1), input: -1}
	}
}

// view registers a view: of a tensor, or as a piece that split has cut.
func (f *functionalizer) view(n *graph.Node) error {
	src, _ := viewed(n)
	if n.Op == ops.None {
		src, _ = viewed(src)
	}
	from, ok := f.alias[src]
	if !ok {
		return fmt.Errorf("aot: %s views %s, which is no tensor", n.Name, src.Name)
	}
	step := stepOf(n)
	a := from
	a.user = extend(from.user, step)
	switch {
	case from.root.fixed:
	case f.train && step.op == ops.Detach:
		a.root = from.root.detach()
	default:
		f.route(&a, n, step)
	}
	f.alias[n] = a
	f.made[n] = made{f.firstView(n, src, step, a), a.root.mem.version}
	return nil
}

// route finds the ways from the root to the view n and back.
func (f *functionalizer) route(a *alias, n *graph.Node, step viewStep) {
	steps, err := stridedSteps(a.root.meta, n)
	if slices.ContainsFunc(a.chain, viewStep.cutsGrad) {
		steps = append([]viewStep{{op: ops.Detach, args: []ops.Arg{nil}, stack: n.Stack}}, steps...)
	}
	switch {
	case plainView[step.op]:
		a.chain = extend(a.chain, step)
	case err == nil:
		a.chain = steps
	default: // only a write could be lost, and that is refused
		a.chain = extend(a.chain, step)
	}
	if a.twice || !plainView[step.op] {
		a.store, a.noStore = steps, err
	} else {
		a.store = extend(a.store, step)
	}
	m := n.TensorMeta()
	a.twice = strided{m.Shape, m.Stride, sym.C(0)}.overlaps()
}

// firstView is the value of a new view. The operator stays as it was captured
// where that is possible: a split is one, not as many slices.
func (f *functionalizer) firstView(n, src *graph.Node, step viewStep, a alias) *graph.Node {
	switch {
	case !f.writes || a.root.fixed: // every value lies as it was captured
		return n.CopyInto(f.g, f.value)
	case n.Op == ops.None && a.root.mem.version == 0:
		return f.piece(n)
	case plainView[step.op]:
		v := take(&graph.Builder{G: f.g}, step, f.value(src))
		f.g.Rename(v, n.Name)
		return v
	}
	return f.current(a)
}

func extend(chain []viewStep, s viewStep) []viewStep {
	return append(append([]viewStep(nil), chain...), s)
}

// current makes the tensor of an alias from what its root holds now.
func (f *functionalizer) current(a alias) *graph.Node {
	v := f.content(a.root)
	for _, s := range a.chain {
		v = take(&graph.Builder{G: f.g}, s, v)
	}
	return v
}

// value is the node in the new graph that holds what n holds now.
func (f *functionalizer) value(n *graph.Node) *graph.Node {
	a, tensor := f.alias[n]
	if !tensor || f.made[n].version == a.root.mem.version {
		return f.made[n].node
	}
	v := f.current(a)
	f.made[n] = made{v, a.root.mem.version}
	return v
}

// rewritten is the tensor that an operator in place writes.
func rewritten(n *graph.Node) *graph.Node {
	return ops.In[ops.SelfArgs](&ops.Call{Op: n.OpRow(), Args: n.Args}).Self.Arg.(*graph.Node)
}

// inPlace computes the operator purely and makes its result the new content of
// the root.
func (f *functionalizer) inPlace(n *graph.Node, row *ops.Op) error {
	self := rewritten(n)
	a := f.alias[self]
	grad := !n.NoGrad && !ops.KeepsTape(row)
	for _, s := range a.chain {
		grad = grad && !s.cutsGrad()
	}
	b := &graph.Builder{G: f.g, Stack: n.Stack, NoGrad: n.NoGrad}
	val, err := f.pureForm(b, n, self, row)
	if err != nil {
		return err
	}
	if f.train && !grad && !n.NoGrad && f.wantsGrad(val) && !f.wantsGrad(f.value(self)) {
		return fmt.Errorf("aot: %s stores a value that requires gradients through a view taken under torch.NoGrad", row.Name)
	}
	old := f.content(a.root)
	now, err := f.write(b, a, val)
	if err != nil {
		return fmt.Errorf("aot: %s: %w", row.Name, err)
	}
	if !grad && f.train { // the data changes; where gradients go does not
		now = (&graph.Builder{G: f.g, Stack: n.Stack}).Emit(ops.WithData, old, now).(*graph.Node)
	}
	a.root.write(now, grad && (!a.root.detached || f.wantsGrad(now)))
	if grad || !f.train {
		f.made[self] = made{val, a.root.mem.version}
		f.made[n] = f.made[self]
	} else {
		f.made[n] = made{nil, -1}
	}
	f.alias[n] = a
	return nil
}

// wantsGrad reports whether gradients flow through a node of the pure graph to an
// input.
func (f *functionalizer) wantsGrad(n *graph.Node) bool {
	if m, ok := n.Meta.(*ops.TensorMeta); ok && n.Kind == graph.Placeholder {
		return m.RequiresGrad
	}
	if known, ok := f.wants[n]; ok {
		return known
	}
	row := n.OpRow()
	wants := !n.NoGrad && n.Op != ops.Detach && (row == nil || !row.Tags.Has(ops.TagNoGrad)) &&
		slices.ContainsFunc(n.GradInputs(), f.wantsGrad)
	f.wants[n] = wants
	return wants
}

// write is the content of the root after val was stored through a's views.
func (f *functionalizer) write(b *graph.Builder, a alias, val *graph.Node) (*graph.Node, error) {
	if a.noStore != nil {
		return nil, a.noStore
	}
	bases := []*graph.Node{f.content(a.root)}
	for _, s := range a.store[:max(len(a.store)-1, 0)] {
		bases = append(bases, take(b, s, bases[len(bases)-1]))
	}
	for i := len(a.store) - 1; i >= 0; i-- {
		var err error
		if val, err = put(b, a.store[i], bases[i], val); err != nil {
			return nil, err
		}
	}
	return val, nil
}

// pureForm is the value that an in-place call stores: cast to the dtype and
// broadcast to the shape of what it is stored into.
func (f *functionalizer) pureForm(b *graph.Builder, n, self *graph.Node, row *ops.Op) (*graph.Node, error) {
	args := append([]ops.Arg{}, ops.PureArgs(row, n.Args)...)
	for i, a := range args {
		args[i] = f.arg(a)
	}
	pure := ops.Get(ops.Functional(row.ID))
	var val *graph.Node
	switch pure.ID {
	case ops.Copy:
		a := ops.In[ops.CopyArgs](&ops.Call{Op: pure, Args: args})
		if f.train && !n.NoGrad && f.wantsGrad(f.value(self)) { // which gets a gradient of zeros, not none
			val = b.Emit(ops.Copy, a.Self.Arg, a.Src.Arg).(*graph.Node)
			break
		}
		val = a.Src.Arg.(*graph.Node)
		if f.alias[self].root.arg < 0 { // a value of its own, which may leave the graph
			val = b.Emit(ops.Clone, val).(*graph.Node)
		}
	default:
		var err error
		if val, err = b.Call(pure, args, graph.CallFunction); err != nil {
			return nil, fmt.Errorf("aot: %s: %w", row.Name, err)
		}
	}
	want := self.TensorMeta()
	if val.TensorMeta().DType != want.DType {
		val = b.Emit(ops.To, val, want.DType).(*graph.Node)
	}
	if !sym.AllSame(val.TensorMeta().Shape, want.Shape) {
		val = b.Emit(ops.Expand, val, want.Shape).(*graph.Node)
	}
	if f.train && isComparison[pure.ID] {
		val = f.withoutSlope(b, val, ops.In[ops.SelfOtherArgs](&ops.Call{Op: pure, Args: args}).Other.Arg)
	}
	return val, nil
}

var isComparison = map[ops.ID]bool{ops.Lt: true, ops.Le: true, ops.Gt: true, ops.Ge: true, ops.Eq: true, ops.Ne: true}

// withoutSlope gives the other operand of a comparison in place the gradient that
// it has in eager mode: zero, not none.
func (f *functionalizer) withoutSlope(b *graph.Builder, val *graph.Node, other ops.Arg) *graph.Node {
	o, ok := other.(*graph.Node)
	if !ok || !o.IsTensor() || !o.TensorMeta().DType.IsFloat() || !f.wantsGrad(o) {
		return val
	}
	never := b.Emit(ops.Ne, val, val)
	return b.Emit(ops.Where, never, b.Emit(ops.To, o, val.TensorMeta().DType), val).(*graph.Node)
}

func (f *functionalizer) arg(a ops.Arg) ops.Arg {
	switch a := a.(type) {
	case *graph.Node:
		return f.value(a)
	case []ops.Value:
		out := make([]ops.Value, len(a))
		for i, v := range a {
			if v != nil {
				out[i] = f.value(v.(*graph.Node))
			}
		}
		return out
	}
	return a
}

// finish lays out the pure graph's outputs: new contents of mutated arguments,
// then values. An output that views an input, or shares its memory with another
// output, is made at run time from what it views, so that aliases stay aliases.
func (f *functionalizer) finish(out *graph.Node) {
	var vals []ops.Arg
	place := map[*graph.Node]int{}
	put := func(v *graph.Node) int {
		if i, ok := place[v]; ok {
			return i
		}
		place[v] = len(vals)
		vals = append(vals, v)
		return len(vals) - 1
	}
	for _, r := range f.roots {
		if r != nil && r.mem.version > 0 {
			f.res.mutations = append(f.res.mutations, mutation{r.arg, put(f.content(r)), r.grad})
		}
	}
	shared := f.sharedMemory(out)
	for _, a := range out.Args {
		n, isNode := a.(*graph.Node)
		if _, isSize := a.(sym.Int); isSize { // the compiled graph knows the sizes of a call
			vals = append(vals, a)
			f.res.outputs = append(f.res.outputs, output{index: len(vals) - 1, input: -1, tape: -1})
			continue
		}
		if !isNode {
			f.res.outputs = append(f.res.outputs, output{index: -1, input: -1, tape: -1, value: a})
			continue
		}
		al, tensor := f.alias[n]
		o := output{index: -1, input: -1, tape: -1, chain: al.user}
		switch {
		case tensor && al.input >= 0:
			o.input = al.input
		case tensor && shared[al.root.mem] > 1:
			o.index = put(f.content(al.root.mem.owner))
			f.res.layouts[o.index], _ = memoryOrder(al.root.meta)
		default:
			index := put(f.value(n))
			f.show(n, index)
			f.res.outputs = append(f.res.outputs, output{index: index, input: -1, tape: -1})
			continue
		}
		if al.root.detached && al.root.grad {
			o.tape = put(f.value(n))
		}
		f.res.outputs = append(f.res.outputs, o)
	}
	f.g.SetOutput(vals)
	f.g.EliminateDead()
}

// sharedMemory counts how many outputs show each piece of memory.
func (f *functionalizer) sharedMemory(out *graph.Node) map[*memory]int {
	count := map[*memory]int{}
	for _, a := range out.Args {
		if n, ok := a.(*graph.Node); ok {
			if al, ok := f.alias[n]; ok {
				count[al.root.mem]++
			}
		}
	}
	return count
}
