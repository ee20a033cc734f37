package graph

import (
	"fmt"
	"maps"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file runs control flow.

// flow runs the bodies that the data wants.
func (in *interp) flow(n *Node) []torch.Value {
	var args []torch.Value
	for _, x := range n.Operands() {
		args = append(args, in.env[x])
	}
	switch n.Flow.Op {
	case WhileTarget:
		return in.loop(n, args)
	case MapTarget, ScanTarget, AssocTarget:
		return in.ownResults(in.slices(n, args), args, resultMetas(n))
	}
	vals := in.ownResults(in.body(in.chosen(n), args), args, resultMetas(n))
	if in.taping == recorded && !n.NoGrad {
		withAllGradients(vals, args)
	}
	return vals
}

// chosen is the body that a choice takes.
func (in *interp) chosen(n *Node) *Graph {
	f, by := n.Flow, in.env[n.Predicate()].(*torch.Tensor)
	if f.Op == SwitchTarget {
		return f.Bodies[min(max(by.ItemInt(), 0), len(f.Bodies)-1)]
	}
	if by.Bool() {
		return f.Bodies[0]
	}
	return f.Bodies[1]
}

// loop runs rounds until the condition fails.
func (in *interp) loop(n *Node, args []torch.Value) []torch.Value {
	f, k, rounds := n.Flow, n.Carried(), 0
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

// slices calls a body for each slice of what is taken apart, and stacks what that gives.
func (in *interp) slices(n *Node, args []torch.Value) []torch.Value {
	k, m, body := n.Carried(), n.Sliced(), n.Flow.Bodies[0]
	carry, whole, rest := args[:k], args[k:k+m], args[k+m:]
	var stacks [][]ops.Value
	for i := range in.size(n.Length()) {
		var given []torch.Value
		for _, x := range whole {
			given = append(given, in.emit(n, ops.Select, x, sym.C(0), sym.Const(i)))
		}
		var out []torch.Value
		switch {
		case n.Flow.Op != AssocTarget:
			out = in.body(body, append(append(append([]torch.Value{}, carry...), given...), rest...))
		case i == 0:
			out = given
		default:
			out = in.body(body, append(append(append([]torch.Value{}, carry...), given...), rest...))
		}
		if n.Flow.Op == AssocTarget {
			carry = out
		} else {
			carry, out = out[:k], out[k:]
		}
		if stacks == nil {
			stacks = make([][]ops.Value, len(out))
		}
		for j, y := range out {
			stacks[j] = append(stacks[j], y.(*torch.Tensor))
		}
	}
	var out []torch.Value
	if n.Flow.Op != AssocTarget {
		out = append(out, carry...)
	}
	for _, list := range stacks {
		out = append(out, in.emit(n, ops.Stack, list, sym.C(0)))
	}
	return out
}

// emit calls an operator for n.
func (in *interp) emit(n *Node, id ops.ID, args ...ops.Arg) torch.Value {
	bound, err := ops.Bind(ops.Get(id), args, nil)
	if err != nil {
		panic(fmt.Sprintf("graph: %s: %v", n.Name, err))
	}
	switch {
	case n.NoGrad || in.taping == noGrad:
		return torch.CallUntaped(id, bound)[0]
	case in.taping == unrecorded:
		return torch.CallUnrecorded(id, bound)[0]
	}
	return torch.Call(id, bound)[0]
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
