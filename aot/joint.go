package aot

import (
	"fmt"

	"tcdbg/graph"
	"tcdbg/graph/pass"
	"tcdbg/internal/ops"
	"tcdbg/internal/sym"
	"tcdbg/logs"
	"tcdbg/torch"
)

// This file traces the joint graph: the forward operators, then, with the
// gradients of the outputs as further inputs (tangents), the gradients of the
// inputs by the operators' derivative rules; and cuts it in two.

// joint is a forward graph with its gradients.
type joint struct {
	g        *graph.Graph
	inputs   []*graph.Node // placeholders of the forward graph
	outs     []ops.Arg     // forward outputs
	tangents []*graph.Node // one for each differentiable output
	wants    []int         // the outputs that tangents belong to
	grads    []ops.Arg     // one for each input, nil where none
	last     *graph.Node   // last forward node
}

// training compiles forward and backward of a functional graph.
func (r *Request) training(f *functional) (Runnable, error) {
	run := &pass.Runner{Stage: "aot", ID: r.ID, Log: r.Log, Check: r.Check}
	pre := []pass.Pass{{Name: "decompose_without_derivative", Doc: "expand operators that have no derivative of their own", Run: decomposeUnderivable}}
	if err := run.Run(f.graph, pre); err != nil {
		return nil, err
	}
	j, err := trace(f.graph, r.Example)
	if err != nil {
		return nil, err
	}
	if r.Log != nil {
		r.Log.Emit(logs.Out{Kind: "aot_joint_graph", ID: r.ID, Payload: []byte(j.g.Code()), Place: "aot/joint.go:40"})
	}
	p := j.cut()
	fw, err := r.pure(p.forward, "forward")
	if err != nil {
		return nil, err
	}
	if len(p.wants) == 0 {
		return f.wrap(func(in []torch.Value) []torch.Value { return fw(in)[:p.outs] }), nil
	}
	bw, err := r.pure(p.backward, "backward")
	if err != nil {
		return nil, err
	}
	return f.wrap(p.runnable(fw, bw)), nil
}

// decomposeUnderivable expands operators that have a decomposition but no
// derivative rule.
func decomposeUnderivable(g *graph.Graph) int {
	r := Request{Keep: func(id ops.ID) bool { return ops.Get(id).Backward != nil }}
	return r.decompose(g)
}

// trace builds the joint graph of g for the given example inputs.
func trace(g *graph.Graph, example []torch.Value) (*joint, error) {
	h, m := g.Clone(g.Name + "_joint")
	j := &joint{g: h, inputs: h.Placeholders()}
	out := h.OutputNode()
	j.outs = append([]ops.Arg(nil), out.Args...)
	h.Erase(out)
	j.last = h.Last()
	_ = m
	needs := map[*graph.Node]bool{}
	for i, p := range j.inputs {
		if t, ok := example[i].(*torch.Tensor); ok && t.RequiresGrad() {
			needs[p] = true
		}
	}
	propagate(h, needs)
	grads := map[*graph.Node]ops.Value{}
	for i, a := range j.outs {
		n, ok := a.(*graph.Node)
		if !ok || !needs[n] {
			continue
		}
		meta := *n.TensorMeta()
		meta.RequiresGrad = false
		meta.Stride, meta.Offset = denseStrides(meta.Shape), sym.C(0)
		t := h.Insert(&graph.Node{Name: fmt.Sprintf("tangents_%d", len(j.tangents)+1), Kind: graph.Placeholder, Target: fmt.Sprintf("tangents_%d", len(j.tangents)+1), Meta: &meta}, firstCall(h))
		j.tangents = append(j.tangents, t)
		j.wants = append(j.wants, i)
		accumulate(h, grads, n, t)
	}
	return j, j.backward(needs, grads)
}

func denseStrides(shape []sym.Int) []sym.Int {
	out := make([]sym.Int, len(shape))
	acc := sym.C(1)
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = acc
		acc = sym.Mul(acc, shape[i])
	}
	return out
}

func firstCall(g *graph.Graph) *graph.Node {
	n := g.First()
	for n != nil && n.Kind == graph.Placeholder {
		n = n.Next()
	}
	return n
}

// propagate marks the nodes through which gradients flow.
func propagate(g *graph.Graph, needs map[*graph.Node]bool) {
	for n := g.First(); n != nil; n = n.Next() {
		if row := n.OpRow(); n.NoGrad || (row != nil && row.Backward == nil) {
			continue
		}
		if m, ok := n.Meta.(*ops.TensorMeta); ok && !m.DType.IsFloat() && !m.DType.IsComplex() {
			continue
		}
		for _, in := range n.Inputs() {
			if needs[in] {
				needs[n] = true
			}
		}
	}
}

func accumulate(g *graph.Graph, grads map[*graph.Node]ops.Value, n *graph.Node, d ops.Value) {
	if d == nil {
		return
	}
	if old := grads[n]; old != nil {
		d = (&graph.Builder{G: g, Stack: n.Stack}).Emit(ops.Add, old, d)
	}
	grads[n] = d
}

// backward appends the derivatives of all forward nodes, last first.
func (j *joint) backward(needs map[*graph.Node]bool, grads map[*graph.Node]ops.Value) error {
	for n := j.last; n != nil; n = n.Prev() {
		if n.Kind == graph.Placeholder {
			break
		}
		if !needs[n] || n.Op == ops.None {
			continue
		}
		if err := j.derive(n, needs, grads); err != nil {
			return err
		}
	}
	for _, p := range j.inputs {
		var d ops.Arg
		if needs[p] && grads[p] != nil {
			d = grads[p].(*graph.Node)
		}
		j.grads = append(j.grads, d)
	}
	return nil
}

func (j *joint) derive(n *graph.Node, needs map[*graph.Node]bool, grads map[*graph.Node]ops.Value) error {
	row := n.OpRow()
	outs, outGrads, any := results(n, grads)
	if !any {
		return nil
	}
	call := &ops.BackwardCall{Call: &ops.Call{Op: row, Args: n.Args}, Outs: outs, Grads: outGrads, Needs: make([]bool, len(n.Args))}
	for i, a := range n.Args {
		switch a := a.(type) {
		case *graph.Node:
			call.Needs[i] = needs[a]
		case []ops.Value:
			for _, v := range a {
				call.Needs[i] = call.Needs[i] || (v != nil && needs[v.(*graph.Node)])
			}
		}
	}
	b := &graph.Builder{G: j.g, Stack: n.Stack}
	ds := row.Backward(b, call)
	return j.spread(n, row, ds, needs, grads)
}

// spread gives each tensor argument its gradient. A rule answers one value for
// each tensor parameter; those of a list follow each other.
func (j *joint) spread(n *graph.Node, row *ops.Op, ds []ops.Value, needs map[*graph.Node]bool, grads map[*graph.Node]ops.Value) error {
	k := 0
	give := func(a ops.Value) {
		if k < len(ds) && a != nil && needs[a.(*graph.Node)] {
			accumulate(j.g, grads, a.(*graph.Node), ds[k])
		}
		k++
	}
	for i, p := range row.Params() {
		switch a := n.Args[i].(type) {
		case []ops.Value:
			for _, v := range a {
				give(v)
			}
		case *graph.Node:
			give(a)
		default:
			if isTensorParam(p.Type) {
				k++
			}
		}
	}
	return nil
}

func isTensorParam(t string) bool {
	return t == "Tensor" || t == "Tensor?" || t == "Operand"
}

// results collects the outputs of a forward node and their gradients.
func results(n *graph.Node, grads map[*graph.Node]ops.Value) (outs, ds []ops.Value, any bool) {
	list, several := n.Meta.([]ops.Result)
	if !several {
		return []ops.Value{n}, []ops.Value{grads[n]}, grads[n] != nil
	}
	outs, ds = make([]ops.Value, len(list)), make([]ops.Value, len(list))
	for _, u := range n.Users() {
		if i, ok := u.Args[1].(sym.Int); ok && u.Target == "getitem" {
			k, _ := i.IsConst()
			outs[k], ds[k] = u, grads[u]
			any = any || grads[u] != nil
		}
	}
	return outs, ds, any
}

// parts is a joint graph cut in two.
type parts struct {
	forward, backward *graph.Graph
	outs              int   // forward outputs before the saved values
	saved             int   // number of saved values
	wants             []int // outputs whose tangents the backward graph takes
	grads             []int // input of each gradient
}

// cut splits the joint graph: what depends on a tangent is backward, and the
// forward values that it reads are saved.
func (j *joint) cut() *parts {
	late := map[*graph.Node]bool{}
	for _, t := range j.tangents {
		late[t] = true
	}
	for n := j.g.First(); n != nil; n = n.Next() {
		for _, in := range n.Inputs() {
			if late[in] {
				late[n] = true
			}
		}
	}
	p := &parts{outs: len(j.outs), wants: j.wants}
	need := j.reachable()
	var saved []*graph.Node
	seen := map[*graph.Node]bool{}
	save := func(n *graph.Node) {
		if !late[n] && !seen[n] {
			seen[n] = true
			saved = append(saved, n)
		}
	}
	for n := j.g.First(); n != nil; n = n.Next() {
		if late[n] && need[n] {
			for _, in := range n.Inputs() {
				save(in)
			}
		}
	}
	for _, d := range j.grads {
		if n, ok := d.(*graph.Node); ok {
			save(n)
		}
	}
	p.forward = j.forwardGraph(late, saved)
	p.backward = j.backwardGraph(late, need, saved, p)
	p.saved = len(saved)
	return p
}

// reachable marks what the gradients need.
func (j *joint) reachable() map[*graph.Node]bool {
	need := map[*graph.Node]bool{}
	for _, d := range j.grads {
		if n, ok := d.(*graph.Node); ok {
			need[n] = true
		}
	}
	for n := j.g.Last(); n != nil; n = n.Prev() {
		if need[n] {
			for _, in := range n.Inputs() {
				need[in] = true
			}
		}
	}
	return need
}

func (j *joint) forwardGraph(late map[*graph.Node]bool, saved []*graph.Node) *graph.Graph {
	g := graph.New(j.g.Name+"_forward", j.g.Env)
	g.Aten = true
	m := map[*graph.Node]*graph.Node{}
	for n := j.g.First(); n != nil; n = n.Next() {
		if !late[n] {
			m[n] = n.CopyInto(g, func(x *graph.Node) *graph.Node { return m[x] })
		}
	}
	var outs []ops.Arg
	for _, a := range j.outs {
		if n, ok := a.(*graph.Node); ok {
			a = m[n]
		}
		outs = append(outs, a)
	}
	for _, n := range saved {
		outs = append(outs, m[n])
	}
	g.SetOutput(outs)
	g.EliminateDead()
	return g
}

func (j *joint) backwardGraph(late, need map[*graph.Node]bool, saved []*graph.Node, p *parts) *graph.Graph {
	g := graph.New(j.g.Name+"_backward", j.g.Env)
	g.Aten = true
	m := map[*graph.Node]*graph.Node{}
	for _, n := range saved {
		m[n] = g.Input(n.Name, n.Name, "", n.Meta)
	}
	for _, t := range j.tangents {
		m[t] = g.Input(t.Name, t.Target, "", t.Meta)
	}
	for n := j.g.First(); n != nil; n = n.Next() {
		if late[n] && need[n] && m[n] == nil {
			m[n] = n.CopyInto(g, func(x *graph.Node) *graph.Node { return m[x] })
		}
	}
	var outs []ops.Arg
	for i, d := range j.grads {
		if n, ok := d.(*graph.Node); ok {
			outs = append(outs, m[n])
			p.grads = append(p.grads, i)
		}
	}
	g.SetOutput(outs)
	g.EliminateDead()
	return g
}

// runnable runs the forward graph and hangs the backward graph on its outputs.
func (p *parts) runnable(fw, bw Runnable) Runnable {
	return func(in []torch.Value) []torch.Value {
		vals := fw(in)
		outs, saved := vals[:p.outs:p.outs], vals[p.outs:]
		var ins, res []*torch.Tensor
		for _, i := range p.grads {
			ins = append(ins, in[i].(*torch.Tensor))
		}
		for _, i := range p.wants {
			res = append(res, outs[i].(*torch.Tensor))
		}
		torch.WithBackward("CompiledFunctionBackward", ins, res, func(ds []*torch.Tensor) []*torch.Tensor {
			return p.gradients(bw, saved, res, ds)
		})
		return outs
	}
}

// gradients runs the backward graph; an output that got no gradient counts as
// zero.
func (p *parts) gradients(bw Runnable, saved []torch.Value, res, ds []*torch.Tensor) []*torch.Tensor {
	args := append([]torch.Value(nil), saved...)
	for i, d := range ds {
		if d == nil {
			d = torch.ZerosLike(res[i])
		}
		args = append(args, d.Contiguous())
	}
	var out []*torch.Tensor
	for _, v := range bw(args) {
		out = append(out, v.(*torch.Tensor))
	}
	return out
}
