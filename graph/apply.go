package graph

import (
	"fmt"
	"maps"
	"slices"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file is the higher-order operator autograd_function_apply: a call of a function
// with a derivative of its own. Its node holds both bodies as graphs.

// ApplyTarget is the name of the higher-order operator.
const ApplyTarget = "autograd_function_apply"

// Apply is what a node of autograd_function_apply calls. The node's arguments are what
// the function was given (nil for no tensor), then what its bodies read besides.
type Apply struct {
	Name   string // of the tape's node: CubeBackward
	Inputs int    // arguments that the function was given: gradients go to them
	// Constant says for each result of the function whether no gradient flows through.
	Constant []bool
	// Outputs is the number of the node's values: the results, then tensors that were
	// made on the way and outlive the call, without gradients.
	Outputs int
	// Forward takes the arguments that are tensors to the outputs and, after them,
	// what Backward reads.
	Forward *Graph
	// Backward takes the gradients of the results and what Forward left for it to the
	// gradients of the inputs, nil for none.
	Backward *Graph
}

// Differentiable reports whether a gradient flows through value i of the node n.
func (n *Node) Differentiable(i int) bool {
	a := n.Apply
	if i >= len(a.Constant) || a.Constant[i] {
		return false
	}
	m := n.Meta.([]ops.Result)[i].(*ops.TensorMeta)
	return m.DType.IsFloat() || m.DType.IsComplex()
}

// GradInputs are the inputs of n from which gradients may come: of a function with a
// derivative of its own, and of its results, what it was given.
func (n *Node) GradInputs() []*Node {
	switch {
	case n.Op == ops.WithData:
		return n.Inputs()[:1]
	case n.Apply != nil:
		return nodesOf(n.Args[:n.Apply.Inputs])
	case n.Flow != nil:
		return n.Operands()
	case n.Op == ops.None && n.Kind == CallFunction:
		if from, i := n.Item(); from.Apply != nil && !from.Differentiable(i) {
			return nil
		}
	}
	return n.Inputs()
}

// Item is what a getitem takes apart, and which piece it is.
func (n *Node) Item() (*Node, int) {
	i, _ := n.Args[1].(sym.Int).IsConst()
	return n.Args[0].(*Node), int(i)
}

// IsResultOfApply reports whether n is one result of a function with a derivative of
// its own.
func (n *Node) IsResultOfApply() bool {
	if n.Kind != CallFunction || n.Op != ops.None || n.higherOrder() != "" {
		return false
	}
	from, _ := n.Item()
	return from.Apply != nil
}

func nodesOf(args []ops.Arg) []*Node {
	var out []*Node
	eachNode(args, func(n *Node) { out = append(out, n) })
	return out
}

// Metas are the example values of nodes.
func Metas(ns []*Node) []ops.Result {
	out := make([]ops.Result, len(ns))
	for i, n := range ns {
		out[i] = n.Meta
	}
	return out
}

// Inline puts a copy of the forward body of n, a call, in front of n and returns the
// body's outputs.
func (n *Node) Inline() []*Node {
	m, args := map[*Node]*Node{}, nodesOf(n.Args)
	for i, p := range n.Apply.Forward.Placeholders() {
		m[p] = args[i]
	}
	for c := n.Apply.Forward.First(); c != nil; c = c.Next() {
		switch c.Kind {
		case Placeholder:
		case Output:
			out := make([]*Node, len(c.Args))
			for i, v := range c.Args {
				out[i] = m[v.(*Node)]
			}
			return out
		default:
			m[c] = n.graph.Insert(c.copyWith(func(x *Node) *Node { return m[x] }), n)
			m[c].NoGrad = true
		}
	}
	panic("graph: " + n.Apply.Forward.Name + " has no output")
}

// Tie makes a the plain form whose operators are in the graph already: a node
// whose outputs are values of the graph and which says no more than how gradients
// flow. It takes the function's inputs (nil where there is none), its outputs and what
// Backward reads.
func (a *Apply) Tie(env *sym.Env, inputs, outputs, saved []*Node) *Node {
	body := New(a.Forward.Name, env)
	n := &Node{Name: ApplyTarget, Kind: CallFunction, Target: ApplyTarget, Meta: Metas(outputs)}
	var outs []ops.Arg
	for i, v := range slices.Concat(inputs, outputs, saved) {
		if v == nil {
			n.Args = append(n.Args, nil)
			continue
		}
		n.Args = append(n.Args, v)
		p := body.Input(v.Name, v.Name, "", v.Meta)
		if i >= len(inputs) {
			outs = append(outs, p)
		}
	}
	body.SetOutput(outs)
	tied := *a
	tied.Forward = body
	n.Apply = &tied
	return n
}

// body is a name that stands for itself in a text.
type body string

// applyArgs are the arguments as the graph's text has them.
func (n *Node) applyArgs() (pos []ops.Arg, kw []kwarg) {
	for _, b := range n.BodyNames() {
		pos = append(pos, body(b))
	}
	constant, saved := []sym.Int{}, []sym.Int{}
	for i, c := range n.Apply.Constant {
		if c {
			constant = append(constant, sym.C(i))
		}
	}
	for i := range n.Apply.saved() {
		saved = append(saved, sym.C(i))
	}
	return append(pos, n.Args...), []kwarg{{"non_differentiable_idx", constant}, {"saved_for_backward_idx", saved}}
}

// apply checks that both bodies fit the node and each other.
func (c *checker) apply(n *Node) error {
	a := n.Apply
	for _, body := range []*Graph{a.Forward, a.Backward} {
		inner := newChecker(body)
		maps.Copy(inner.bound, c.bound)
		if err := inner.check(); err != nil {
			return err
		}
	}
	results := len(a.Constant)
	if a.Inputs > len(n.Args) || results > a.Outputs || a.Outputs > len(a.Forward.Outputs()) {
		return fmt.Errorf("%d inputs, %d results and %d outputs do not fit", a.Inputs, results, a.Outputs)
	}
	args, given := nodesOf(n.Args), append(resultMetas(n)[:results:results], Metas(a.saved())...)
	switch {
	case !takes(a.Forward, Metas(args)):
		return fmt.Errorf("%s does not take the arguments", a.Forward.Name)
	case !takes(a.Backward, given):
		return fmt.Errorf("%s does not take the gradients of the results and what %s saves", a.Backward.Name, a.Forward.Name)
	case len(a.Backward.Outputs()) != a.Inputs:
		return fmt.Errorf("%s gives %d gradients for %d inputs", a.Backward.Name, len(a.Backward.Outputs()), a.Inputs)
	case !sameMeta(n.Meta, Metas(nodesOf(a.Forward.Outputs()[:a.Outputs]))):
		return fmt.Errorf("its values are not those of %s", a.Forward.Name)
	}
	for i, d := range a.Backward.Outputs() {
		if d == nil {
			continue
		}
		x, given := n.Args[i].(*Node)
		if !given || !likeInput(d.(*Node), x) {
			return fmt.Errorf("gradient %d of %s is not like the input", i, a.Backward.Name)
		}
	}
	return nil
}

// likeInput reports whether d can be the gradient of x.
func likeInput(d, x *Node) bool {
	m, of := d.TensorMeta(), x.TensorMeta()
	return m.DType == of.DType && sym.AllSame(m.Shape, of.Shape)
}

func resultMetas(n *Node) []ops.Result { return n.Meta.([]ops.Result) }

// saved are the outputs of Forward that Backward reads.
func (a *Apply) saved() []*Node { return nodesOf(a.Forward.Outputs()[a.Outputs:]) }

// takes reports whether the placeholders of g have the shapes and types of metas.
func takes(g *Graph, metas []ops.Result) bool {
	phs := g.Placeholders()
	if len(phs) != len(metas) {
		return false
	}
	for i, p := range phs {
		x, y := p.TensorMeta(), metas[i].(*ops.TensorMeta)
		if x.DType != y.DType || !sym.AllSame(x.Shape, y.Shape) {
			return false
		}
	}
	return true
}

// apply runs the forward body without tape and hangs the backward body on its results.
func (in *interp) apply(n *Node) []torch.Value {
	a := n.Apply
	var args []torch.Value
	inputs := make([]*torch.Tensor, a.Inputs)
	for i, v := range n.Args {
		x, ok := v.(*Node)
		if !ok {
			continue
		}
		args = append(args, in.env[x])
		if i < a.Inputs {
			inputs[i] = in.env[x].(*torch.Tensor)
		}
	}
	vals := a.Forward.runIn(&interp{env: make(map[*Node]any, a.Forward.count), syms: in.syms, taping: noGrad, wide: in.wide}, args)
	outs, saved := vals[:a.Outputs:a.Outputs], vals[a.Outputs:]
	if in.taping == recorded {
		in.tie(n, inputs, outs, saved)
	}
	return outs
}

// tie makes the results of one call those of a node of the tape.
func (in *interp) tie(n *Node, inputs []*torch.Tensor, outs, saved []torch.Value) {
	a := n.Apply
	results := make([]*torch.Tensor, len(a.Constant))
	for i := range results {
		if n.Differentiable(i) {
			results[i] = outs[i].(*torch.Tensor)
		}
	}
	versions := make([]uint64, len(saved))
	for i, v := range saved {
		versions[i] = v.(*torch.Tensor).Storage().Version()
	}
	torch.WithBackward(a.Name, inputs, results, func(grads []*torch.Tensor) []*torch.Tensor {
		var args []torch.Value
		for i, d := range grads {
			if d == nil && results[i] != nil {
				d = torch.ZerosLike(results[i].Detach())
			}
			args = append(args, d)
		}
		for i, v := range saved {
			t := v.(*torch.Tensor)
			if now := t.Storage().Version(); now != versions[i] {
				panic(torch.Overwritten(t, now, versions[i]))
			}
			args = append(args, t)
		}
		out := make([]*torch.Tensor, a.Inputs)
		back := &interp{env: make(map[*Node]any, a.Backward.count), syms: in.syms, wide: in.wide}
		for i, d := range a.Backward.runIn(back, args) {
			out[i], _ = d.(*torch.Tensor)
		}
		return out
	})
}

// AddOutput makes v, a value of n's forward body, one more value of n and returns its
// index.
func (n *Node) AddOutput(v *Node) int {
	a := n.Apply
	out := a.Forward.OutputNode()
	out.SetArgs(slices.Insert(slices.Clone(out.Args), a.Outputs, ops.Arg(v)))
	n.Meta = append(slices.Clip(resultMetas(n)), v.Meta)
	a.Outputs++
	return a.Outputs - 1
}
