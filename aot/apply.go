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

// This file takes functions with a derivative of their own, calls of
// autograd_function_apply. The operators of the forward body are put into the graph;
// where gradients are required a node stays that ties them to the backward body
// (graph.Apply.Tie), through functionalization up to the joint graph, in which the
// backward body stands for derivative rules and the tie dissolves.

// inlineForward replaces all calls in g by the operators of their forward bodies, with
// a tie where gradients are wanted.
func inlineForward(g *graph.Graph, train bool) {
	for _, n := range g.Nodes() {
		a := n.Apply
		if a == nil {
			continue
		}
		vals := n.Inline()
		outs := vals[:a.Outputs:a.Outputs]
		if train {
			outs = tie(g, n, outs, vals[a.Outputs:])
		}
		takeApart(n, outs)
	}
}

// tie puts the tie of a call in front of it and returns the values that it gives.
func tie(g *graph.Graph, n *graph.Node, outs, saved []*graph.Node) []*graph.Node {
	inputs := make([]*graph.Node, n.Apply.Inputs)
	for i := range inputs {
		inputs[i], _ = n.Args[i].(*graph.Node)
	}
	t := n.Apply.Tie(g.Env, inputs, outs, saved)
	t.Stack = n.Stack
	g.Insert(t, n)
	b := &graph.Builder{G: g, Before: n}
	items := slices.Clone(outs)
	for i := range n.Apply.Constant { // what else the call gives has no gradient: it is the value itself
		items[i] = b.Item(t, i)
	}
	return items
}

// takeApart replaces the values of a call and removes it.
func takeApart(n *graph.Node, outs []*graph.Node) {
	for _, u := range n.Users() {
		_, i := u.Item()
		u.ReplaceUses(outs[i])
		n.Graph().Erase(u)
	}
	n.Graph().Erase(n)
}

// tied are the arguments of a tie, by what they are.
func tied(n *graph.Node) (inputs, outs, saved []ops.Arg) {
	k := n.Apply.Inputs
	return n.Args[:k], n.Args[k : k+n.Apply.Outputs], n.Args[k+n.Apply.Outputs:]
}

// retie makes a tie again, in g at its end, of what value gives for its arguments, which
// may be laid out otherwise than they were.
func retie(g *graph.Graph, n *graph.Node, value func(*graph.Node) *graph.Node) *graph.Node {
	nodes := func(args []ops.Arg) []*graph.Node {
		out := make([]*graph.Node, len(args))
		for i, a := range args {
			if x, ok := a.(*graph.Node); ok {
				out[i] = value(x)
			}
		}
		return out
	}
	inputs, outs, saved := tied(n)
	t := n.Apply.Tie(g.Env, nodes(inputs), nodes(outs), nodes(saved))
	t.Stack = n.Stack
	return g.Append(t)
}

// shown is an argument's memory as an output shows it.
type shown struct {
	arg   int
	chain []viewStep
}

// noteShown notes that n, a result of a tie, shows memory of an argument: itself, or
// what an earlier tie gave of it.
func (f *functionalizer) noteShown(n *graph.Node) {
	of, i := n.Item()
	_, outs, _ := tied(of)
	a, tensor := f.alias[outs[i].(*graph.Node)]
	from, again := f.shown[a.root]
	switch {
	case !tensor:
	case a.input >= 0 && a.root.fixed:
		f.shown[f.alias[n].root] = shown{a.input, a.user}
	case again:
		f.shown[f.alias[n].root] = from.then(a.user)
	}
}

func (s shown) then(chain []viewStep) shown { return shown{s.arg, slices.Concat(s.chain, chain)} }

// show notes that output index, the value n, shows memory of an argument although its
// gradients come from a function of its own. An argument that the graph writes may be
// shown no more, and none where some are bases of inputs: the tracer breaks there.
func (f *functionalizer) show(n *graph.Node, index int) {
	a, tensor := f.alias[n]
	if !tensor || slices.ContainsFunc(f.res.inputs, func(a argument) bool { return a.base != nil }) {
		return
	}
	if s, ok := f.shown[a.root]; ok && a.root.mem.version == 0 {
		f.res.shows[index] = s.then(a.user)
	}
}

// of is the output in one call.
func (s shown) of(in []torch.Value, sizes func(sym.Int) sym.Int) *torch.Tensor {
	v := torch.Value(in[s.arg].(*torch.Tensor).Detach())
	for _, step := range s.chain {
		v = runView(step, v, sizes)
	}
	return v.(*torch.Tensor).Detach()
}

// deriveApply appends the backward body of a tie and gives its inputs the gradients.
func (j *joint) deriveApply(n *graph.Node) error {
	needs, grads := j.pass.Needs, j.pass.Grads
	given := make([]ops.Value, n.Apply.Outputs)
	reached := false
	for _, u := range n.Users() {
		_, i := u.Item()
		if needs[u] && grads[u] != nil {
			given[i], reached = grads[u], true
		}
	}
	if !reached {
		return nil
	}
	inputs, _, saved := tied(n)
	b := &graph.Builder{G: j.g, Stack: n.Stack}
	var args []*graph.Node
	for i := range n.Apply.Constant {
		if !n.Differentiable(i) {
			args = append(args, nil) // nobody reads it
			continue
		}
		if given[i] == nil { // its gradient counts as zero
			m := n.Meta.([]ops.Result)[i].(*ops.TensorMeta)
			z := b.Emit(ops.Full, m.Shape, 0.0, m.DType, m.Device).(*graph.Node)
			given[i] = z
			j.made[z] = given
		}
		args = append(args, given[i].(*graph.Node))
	}
	for _, s := range saved {
		args = append(args, s.(*graph.Node))
	}
	ds, err := inlineBackward(b, n.Apply.Backward, args)
	if err != nil {
		return err
	}
	open := j.gateOf(n, given)
	for i, a := range inputs {
		x, ok := a.(*graph.Node)
		if !ok || !needs[x] || ds[i] == nil {
			continue
		}
		d := ds[i]
		if open != nil {
			d = b.Emit(ops.Where, open, d, 0.0).(*graph.Node)
		}
		d = b.Emit(ops.Alias, d).(*graph.Node) // a value of its own: it depends on all results
		j.made[d] = given
		j.pass.Add(x, d)
	}
	return nil
}

// gate is an input of the backward graph, a bool: whether a gradient reached a function
// with a derivative of its own. Where none did eager mode does not call its Backward,
// which need not give zeros for zeros.
type gate struct {
	node    *graph.Node
	reached []bool // by the gradients of which outputs
}

// gateOf makes the gate of tie n, whose results have the gradients given; nil where
// every backward pass reaches it.
func (j *joint) gateOf(n *graph.Node, given []ops.Value) *graph.Node {
	if len(j.tangents) == 1 {
		return nil
	}
	reached := make([]bool, len(j.tangents))
	on := j.dependence()
	for _, v := range given {
		if d, ok := v.(*graph.Node); ok {
			for i, b := range on[d] {
				reached[i] = reached[i] || b
			}
		}
	}
	if !slices.Contains(reached, false) {
		return nil
	}
	name := fmt.Sprintf("reached_%d", len(j.gates)+1)
	meta := &ops.TensorMeta{
		DType: ops.Bool, Device: n.Meta.([]ops.Result)[0].(*ops.TensorMeta).Device, Shape: []sym.Int{},
		Stride: []sym.Int{}, Offset: sym.C(0),
	}
	g := j.g.Input(name, name, "", meta)
	j.gates = append(j.gates, gate{g, reached})
	return g
}

// value is the gate in a backward pass that gives gradients for these outputs.
func (g gate) value(given []bool) *torch.Tensor {
	open := false
	for i, b := range given {
		open = open || b && g.reached[i]
	}
	return torch.NewTensor(open)
}

// inlineBackward appends the operators of a backward body and returns the gradients of
// the inputs, nil for none.
func inlineBackward(b *graph.Builder, body *graph.Graph, args []*graph.Node) ([]*graph.Node, error) {
	f, err := functionalize(body, nil, false)
	if err != nil {
		return nil, err
	}
	if len(f.mutations) > 0 {
		return nil, fmt.Errorf("aot: Backward of an autograd.Function writes to what it was given")
	}
	at := map[*graph.Node]*graph.Node{}
	for i, p := range f.graph.Placeholders() {
		at[p] = args[f.inputs[i].input]
	}
	var vals []ops.Arg
	for n := f.graph.First(); n != nil; n = n.Next() {
		switch n.Kind {
		case graph.Placeholder:
		case graph.Output:
			vals = n.Args
		default:
			if at[n], err = appendLaid(b.G, n, at); err != nil {
				return nil, err
			}
		}
	}
	out := make([]*graph.Node, len(f.outputs))
	for i, o := range f.outputs {
		switch {
		case o.index >= 0:
			out[i] = at[vals[o.index].(*graph.Node)]
		case o.input >= 0:
			out[i] = args[o.input]
		}
		for _, s := range o.chain {
			out[i] = take(b, s, out[i])
		}
	}
	return out, nil
}

// appendLaid appends a copy of n, whose arguments may be laid out otherwise than n's.
func appendLaid(g *graph.Graph, n *graph.Node, at map[*graph.Node]*graph.Node) (*graph.Node, error) {
	c := n.CopyInto(g, func(x *graph.Node) *graph.Node { return at[x] })
	if c.Op == ops.None {
		c.Meta = decompose.ItemMeta(c)
		return c, nil
	}
	err := c.Repropagate()
	if err != nil && c.Op == ops.View { // a copy does what the view cannot
		c.Op = ops.Reshape
		err = c.Repropagate()
	}
	if err != nil {
		return nil, fmt.Errorf("aot: %s in Backward of an autograd.Function: %w", n.Name, err)
	}
	return c, nil
}

// dissolve removes the ties: what they gave are the values themselves.
func (j *joint) dissolve() {
	now := map[*graph.Node]*graph.Node{}
	for n := j.g.First(); n != nil; n = n.Next() {
		if n.Apply == nil {
			continue
		}
		_, outs, _ := tied(n)
		for _, u := range n.Users() {
			_, i := u.Item()
			now[u] = outs[i].(*graph.Node)
		}
		now[n] = nil
	}
	final := func(a ops.Arg) ops.Arg {
		n, ok := a.(*graph.Node)
		for ok && now[n] != nil { // the value of a tie may be that of another
			n = now[n]
			a = n
		}
		return a
	}
	for i, a := range j.outs {
		j.outs[i] = final(a)
	}
	for i, a := range j.grads {
		j.grads[i] = final(a)
	}
	for n := j.g.First(); n != nil; {
		next := n.Next()
		if to, gone := now[n]; gone && to != nil {
			n.ReplaceUses(to)
		}
		n = next
	}
	for n := j.g.Last(); n != nil; {
		prev := n.Prev()
		if _, gone := now[n]; gone {
			if n == j.last {
				j.last = prev
			}
			j.g.Erase(n)
		}
		n = prev
	}
}
