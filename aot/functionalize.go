package aot

import (
	"fmt"
	"strings"

	"tcdbg/graph"
	"tcdbg/internal/ops"
	"tcdbg/internal/sym"
	"tcdbg/torch"
)

// This file removes mutation from a captured graph. Every tensor belongs to a
// root (the tensor whose memory it is); a view knows the chain of view
// operators that leads to it. An in-place operator gives its root a new value;
// a view that is read after that is made again from it.

// functional is a captured graph without mutation.
type functional struct {
	graph     *graph.Graph
	mutations []mutation
	outputs   []output
}

// mutation says that output index of the pure graph replaces the content of an
// input.
type mutation struct{ input, index int }

// output says how an output of the captured graph is made from the pure one's.
type output struct {
	index int        // output of the pure graph, -1 when it aliases an input
	input int        // the aliased input
	chain []viewStep // views to take at run time
	value any        // a constant, when index and input are -1
}

// viewStep is one view operator with its arguments; the viewed tensor is nil.
type viewStep struct {
	op   ops.ID
	at   int // which argument is the viewed tensor
	args []ops.Arg
	node *graph.Node // of the captured graph
}

// alias is what a tensor of the captured graph is a view of.
type alias struct {
	root  *graph.Node
	chain []viewStep
}

type functionalizer struct {
	old, g  *graph.Graph
	alias   map[*graph.Node]alias
	current map[*graph.Node]*graph.Node // newest value of a root
	version map[*graph.Node]int         // of a root
	made    map[*graph.Node]*graph.Node // value of a node ...
	at      map[*graph.Node]int         // ... at this version of its root
	changed map[*graph.Node]bool
}

// functionalize rewrites g; it fails for mutations that have no pure form.
func functionalize(g *graph.Graph) (*functional, error) {
	f := &functionalizer{
		old: g, g: graph.New(g.Name, g.Env), alias: map[*graph.Node]alias{},
		current: map[*graph.Node]*graph.Node{}, version: map[*graph.Node]int{},
		made: map[*graph.Node]*graph.Node{}, at: map[*graph.Node]int{}, changed: map[*graph.Node]bool{},
	}
	f.g.Aten = true
	for _, n := range g.Nodes() {
		if n.Kind == graph.Output {
			return f.finish(n), nil
		}
		if err := f.node(n); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("aot: graph %s has no output", g.Name)
}

func (f *functionalizer) node(n *graph.Node) error {
	row := n.OpRow()
	switch {
	case row != nil && row.Tags.Has(ops.TagInPlace):
		return f.inPlace(n, row)
	case row != nil && (row.Tags.Has(ops.TagView) || f.isAlias(n, row)):
		f.view(n, row)
	default:
		f.define(n, n.CopyInto(f.g, f.value))
	}
	return nil
}

// isAlias decides for operators that may return a view whether this call does:
// its result then has the layout of a view of the same memory.
func (f *functionalizer) isAlias(n *graph.Node, row *ops.Op) bool {
	if !row.Tags.Has(ops.TagMaybeView) {
		return false
	}
	src, _ := viewed(n)
	if src == nil || !n.IsTensor() {
		return false
	}
	from, to := src.TensorMeta(), n.TensorMeta()
	switch row.Name {
	case "contiguous":
		return sameShape(from.Stride, to.Stride)
	case "to":
		return from.DType == to.DType && from.Device == to.Device
	}
	return contiguous(from) || !contiguous(to) // a copy is always contiguous
}

func contiguous(m *ops.TensorMeta) bool {
	want := sym.C(1)
	for i := len(m.Shape) - 1; i >= 0; i-- {
		if !sym.Is(m.Shape[i], 1) && !sym.Same(m.Stride[i], want) {
			return false
		}
		want = sym.Mul(want, m.Shape[i])
	}
	return true
}

// define makes n a root of its own.
func (f *functionalizer) define(n, val *graph.Node) {
	f.alias[n] = alias{root: n}
	f.current[n] = val
	f.made[n] = val
}

// viewed returns the tensor argument that a view operator views.
func viewed(n *graph.Node) (*graph.Node, int) {
	for i, a := range n.Args {
		if m, ok := a.(*graph.Node); ok {
			return m, i
		}
	}
	return nil, -1
}

func (f *functionalizer) view(n *graph.Node, row *ops.Op) {
	src, i := viewed(n)
	a := f.alias[src]
	args := append([]ops.Arg(nil), n.Args...)
	args[i] = nil
	step := viewStep{n.Op, i, args, n}
	f.alias[n] = alias{a.root, append(append([]viewStep(nil), a.chain...), step)}
	f.made[n] = n.CopyInto(f.g, f.value)
	f.at[n] = f.version[a.root]
}

// value is the node in the new graph that holds what n holds now.
func (f *functionalizer) value(n *graph.Node) *graph.Node {
	a, ok := f.alias[n]
	if !ok {
		return f.made[n] // no tensor
	}
	if f.at[n] == f.version[a.root] {
		return f.made[n]
	}
	v := f.current[a.root]
	for _, s := range a.chain {
		v = f.apply(s, v)
	}
	f.made[n], f.at[n] = v, f.version[a.root]
	return v
}

func (f *functionalizer) apply(s viewStep, v *graph.Node) *graph.Node {
	args := append([]ops.Arg(nil), s.args...)
	args[s.at] = v
	b := &graph.Builder{G: f.g, Stack: s.node.Stack}
	out, err := b.Call(ops.Get(s.op), args, graph.CallFunction)
	if err != nil {
		panic(fmt.Sprintf("aot: replaying %s: %v", s.node.Name, err))
	}
	return out
}

// inPlace computes the operator purely and makes its result the new content of
// the root.
func (f *functionalizer) inPlace(n *graph.Node, row *ops.Op) error {
	name := strings.TrimSuffix(row.Name, "_")
	if row.Overload != "" {
		name += "." + row.Overload
	}
	self := n.Args[0].(*graph.Node)
	b := &graph.Builder{G: f.g, Stack: n.Stack}
	val, err := f.pureForm(b, n, self, name)
	if err != nil {
		return err
	}
	a := f.alias[self]
	root := val
	for i := len(a.chain) - 1; i >= 0; i-- {
		base := f.current[a.root]
		for _, s := range a.chain[:i] {
			base = f.apply(s, base)
		}
		if root, err = f.unview(b, a.chain[i], base, root); err != nil {
			return err
		}
	}
	f.version[a.root]++
	f.current[a.root] = root
	f.changed[a.root] = true
	f.made[a.root], f.at[a.root] = root, f.version[a.root]
	f.made[self], f.at[self] = val, f.version[a.root]
	f.alias[n] = a
	f.made[n], f.at[n] = val, f.version[a.root]
	return nil
}

// pureForm is the value that an in-place call stores: cast to the dtype and
// broadcast to the shape of what it is stored into.
func (f *functionalizer) pureForm(b *graph.Builder, n, self *graph.Node, name string) (*graph.Node, error) {
	args := make([]ops.Arg, len(n.Args))
	for i, a := range n.Args {
		args[i] = f.arg(a)
	}
	var val *graph.Node
	switch name {
	case "copy":
		val = args[1].(*graph.Node)
	case "zero":
		val = b.Emit(ops.Mul, f.value(self), sym.C(0)).(*graph.Node)
	default:
		row, ok := ops.Lookup(name)
		if !ok {
			return nil, fmt.Errorf("aot: %s_ has no functional form", name)
		}
		var err error
		if val, err = b.Call(row, args, graph.CallFunction); err != nil {
			return nil, fmt.Errorf("aot: %s: %w", name, err)
		}
	}
	want := self.TensorMeta()
	if val.TensorMeta().DType != want.DType {
		val = b.Emit(ops.To, val, want.DType).(*graph.Node)
	}
	if !sameShape(val.TensorMeta().Shape, want.Shape) {
		val = b.Emit(ops.Expand, val, want.Shape).(*graph.Node)
	}
	return val, nil
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

func sameShape(a, b []sym.Int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sym.Same(a[i], b[i]) {
			return false
		}
	}
	return true
}

// unview gives the content of base after val was written through one view of it.
func (f *functionalizer) unview(b *graph.Builder, s viewStep, base, val *graph.Node) (*graph.Node, error) {
	row := ops.Get(s.op)
	shape := base.TensorMeta().Shape
	switch row.Name {
	case "view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "contiguous", "view_as":
		return b.Emit(ops.Reshape, val, shape).(*graph.Node), nil
	case "transpose", "swapaxes", "t":
		args := append([]ops.Arg(nil), s.args...)
		args[s.at] = val
		return b.Call(row, args, graph.CallFunction)
	case "permute":
		return b.Emit(ops.Permute, val, inverse(s.args[1].([]sym.Int))).(*graph.Node), nil
	case "detach", "alias", "to":
		return val, nil
	}
	if scatter, ok := ops.Lookup(row.Name + "_scatter"); ok {
		args := append([]ops.Arg{base, val}, s.args[1:]...)
		return b.Call(scatter, args, graph.CallFunction)
	}
	return nil, fmt.Errorf("aot: in-place change of a tensor made by %s cannot be functionalized", row.Name)
}

func inverse(perm []sym.Int) []sym.Int {
	out := make([]sym.Int, len(perm))
	for i, p := range perm {
		v, _ := p.IsConst()
		if v < 0 {
			v += int64(len(perm))
		}
		out[v] = sym.C(i)
	}
	return out
}

// finish lays out the pure graph's outputs: new contents of mutated inputs,
// then values. An output that views an input, or shares its memory with another
// output, is made at run time from what it views, so that aliases stay aliases.
func (f *functionalizer) finish(out *graph.Node) *functional {
	res := &functional{graph: f.g}
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
	inputs := map[*graph.Node]int{}
	for i, p := range f.old.Placeholders() {
		inputs[p] = i
		if f.changed[p] {
			res.mutations = append(res.mutations, mutation{i, put(f.current[p])})
		}
	}
	shared := f.sharedRoots(out)
	for _, a := range out.Args {
		n, isNode := a.(*graph.Node)
		if _, isSize := a.(sym.Int); isSize { // the compiled graph knows the sizes of a call
			vals = append(vals, a)
			res.outputs = append(res.outputs, output{index: len(vals) - 1, input: -1})
			continue
		}
		if !isNode {
			res.outputs = append(res.outputs, output{index: -1, input: -1, value: a})
			continue
		}
		al, tensor := f.alias[n]
		i, fromInput := inputs[al.root]
		switch {
		case tensor && fromInput:
			res.outputs = append(res.outputs, output{index: -1, input: i, chain: al.chain})
		case tensor && shared[al.root] > 1:
			res.outputs = append(res.outputs, output{index: put(f.current[al.root]), input: -1, chain: al.chain})
		default:
			res.outputs = append(res.outputs, output{index: put(f.value(n)), input: -1})
		}
	}
	f.g.SetOutput(vals)
	f.g.EliminateDead()
	return res
}

// sharedRoots counts how many outputs are views of each root.
func (f *functionalizer) sharedRoots(out *graph.Node) map[*graph.Node]int {
	count := map[*graph.Node]int{}
	for _, a := range out.Args {
		if n, ok := a.(*graph.Node); ok {
			if al, ok := f.alias[n]; ok {
				count[al.root]++
			}
		}
	}
	return count
}

// wrap applies mutations and run-time views around a pure graph.
func (f *functional) wrap(run Runnable) Runnable {
	if len(f.mutations) == 0 && f.plain() {
		return run
	}
	return func(in []torch.Value) []torch.Value {
		return f.results(in, run(in))
	}
}

func (f *functional) plain() bool {
	for i, o := range f.outputs {
		if o.index != i || len(o.chain) > 0 {
			return false
		}
	}
	return true
}

func (f *functional) results(in, vals []torch.Value) []torch.Value {
	for _, m := range f.mutations {
		dst := in[m.input].(*torch.Tensor)
		torch.CallInto(ops.Clone, cloneArgs(vals[m.index].(*torch.Tensor)), []*torch.Tensor{dst})
		dst.Storage().Bump()
	}
	out := make([]torch.Value, len(f.outputs))
	for i, o := range f.outputs {
		var v torch.Value
		switch {
		case o.index >= 0:
			v = vals[o.index]
		case o.input >= 0:
			v = in[o.input]
		default:
			v = o.value
		}
		for _, s := range o.chain {
			args := append([]ops.Arg(nil), s.args...)
			args[s.at] = v
			v = torch.Call(s.op, args)[0]
		}
		out[i] = v
	}
	return out
}

// cloneArgs are the bound arguments of a plain clone of t.
func cloneArgs(t *torch.Tensor) []ops.Arg {
	args, err := ops.Bind(ops.Get(ops.Clone), []ops.Arg{t}, nil)
	if err != nil {
		panic("aot: clone: " + err.Error())
	}
	return args
}
