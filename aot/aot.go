// Package aot is our AOTAutograd: it turns a captured graph into pure graphs
// of core operators that a compiler can take: views and in-place operators are
// functionalized, operators are decomposed, and where gradients are wanted the
// joint forward and backward graph is traced and cut in two.
//
// It imports graph, ops, sym, torch and logs; never tracer or inductor. Open
// this file first, then functionalize.go (with bases.go and views.go), joint.go
// and cut.go.
package aot

import (
	"fmt"
	"slices"

	"tcdbg/graph"
	"tcdbg/graph/pass"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// Runnable runs a compiled graph.
type Runnable = func([]torch.Value) []torch.Value

// Request is one captured graph with the compiler of its pure parts.
type Request struct {
	ID      logs.CompileID
	Graph   *graph.Graph
	Example []torch.Value
	Log     logs.Sink
	Check   bool // verify graphs after every pass
	// Keep tells which operators the compiler takes as they are although they
	// have a decomposition.
	Keep func(ops.ID) bool
	// Compile compiles a pure graph; stage is inference, forward or backward.
	Compile func(g *graph.Graph, stage string) (Runnable, error)
	// Written is set by Compile: the placeholders of pure graphs, by name, whose
	// tensors change after every run.
	Written map[string]bool
	// Replaces is set by Compile: outputs of the pure graph that do nothing but
	// replace the content of a placeholder, by the placeholder's position. A
	// compiled graph may write them where the argument lies and return that.
	Replaces map[int]int
	// Wrap is set by Compile where no gradients are wanted: it makes another
	// runnable of the pure graph one of the captured graph.
	Wrap func(Runnable) Runnable
}

// Compile compiles a captured graph. What it returns takes the inputs of the
// captured graph, applies its mutations and gives its outputs, which carry
// gradients when those of the inputs are wanted.
func Compile(r *Request) (Runnable, error) {
	train := torch.GradEnabled() && wantsGrad(r.Example)
	f, err := functionalize(r.Graph, r.Example, train)
	if err != nil {
		return nil, err
	}
	r.Written = f.written()
	if train {
		return r.training(f)
	}
	r.Replaces = f.replaced(false)
	run, err := r.pure(f.graph, "inference", f.fresh())
	if err != nil {
		return nil, err
	}
	r.Wrap = f.wrap
	return f.wrap(run), nil
}

func wantsGrad(example []torch.Value) bool {
	for _, v := range example {
		if t, ok := v.(*torch.Tensor); ok && t.RequiresGrad() {
			return true
		}
	}
	return false
}

// pure runs the pass table on a graph and compiles it. The outputs named by
// fresh go to the program: each needs memory of its own.
func (r *Request) pure(g *graph.Graph, stage string, fresh []int) (Runnable, error) {
	run := &pass.Runner{Stage: "aot " + stage, ID: r.ID, Log: r.Log, Check: r.Check}
	if err := run.Run(g, r.passes()); err != nil {
		return nil, err
	}
	if r.Log != nil {
		r.Log.Emit(logs.Out{Kind: "aot_" + stage + "_graph", ID: r.ID, Payload: []byte(g.Code()), Place: logs.Here()})
	}
	compiled, err := r.Compile(g, stage)
	if err != nil {
		return nil, err
	}
	return separate(compiled, notTheirOwn(g, fresh)), nil
}

// passes is the table of rewrites between functionalization and the compiler.
// Order matters once: cse runs on core operators, so after decompose.
func (r *Request) passes() []pass.Pass {
	return []pass.Pass{
		{Name: "decompose", Doc: "express operators through core ones", Run: r.decompose},
		{Name: "cse", Doc: "compute equal pure values once", Run: cse},
		{Name: "dead_code", Doc: "drop values that nobody reads", Run: (*graph.Graph).EliminateDead},
	}
}

// decompose expands every operator that has a decomposition and that the
// compiler does not take as it is.
func (r *Request) decompose(g *graph.Graph) int {
	count := 0
	moved := map[*graph.Node]bool{}
	for n := g.First(); n != nil; {
		next := n.Next()
		row := n.OpRow()
		if row != nil && row.Decompose != nil && (r.Keep == nil || !r.Keep(row.ID)) {
			if first := expand(g, n, row, moved); first != nil {
				next = first
				count++
			}
		}
		n = next
	}
	settle(g, moved)
	return count
}

// settle brings the example values of what follows moved nodes, which are laid out
// otherwise than what they replaced, up to date.
func settle(g *graph.Graph, moved map[*graph.Node]bool) {
	if len(moved) == 0 {
		return
	}
	for n := g.First(); n != nil; n = n.Next() {
		if n.Kind == graph.Placeholder || n.Kind == graph.Output || !slices.ContainsFunc(n.Inputs(), func(in *graph.Node) bool { return moved[in] }) {
			continue
		}
		switch {
		case n.Apply != nil:
			refreshTie(n)
			moved[n] = true
			continue
		case n.Op == ops.None:
			n.Meta, moved[n] = itemMeta(n), true
			continue
		}
		old := n.Meta
		err := n.Remeta()
		if err != nil && n.Op == ops.View { // a copy does what the view no longer can
			n.Op = ops.Reshape
			err = n.Remeta()
		}
		if err != nil {
			panic(fmt.Sprintf("%s does not fit its arguments any more: %v", n.Name, err))
		}
		moved[n] = moved[n] || !sameLayout(old, n.Meta) // a new node may lie otherwise than what it replaced
	}
}

// itemMeta is the example value of a getitem.
func itemMeta(n *graph.Node) any {
	i, _ := n.Args[1].(sym.Int).IsConst()
	return n.Args[0].(*graph.Node).Meta.([]ops.Result)[i]
}

// sameLayout compares the strides of example values.
func sameLayout(a, b any) bool {
	x, ok1 := a.(*ops.TensorMeta)
	y, ok2 := b.(*ops.TensorMeta)
	return ok1 && ok2 && sym.AllSame(x.Stride, y.Stride) && x.DType == y.DType
}

// expand replaces n by its decomposition and returns the first new node, so
// that what was made is looked at too. It adds to moved what does not lie as
// what it replaces.
func expand(g *graph.Graph, n *graph.Node, row *ops.Op, moved map[*graph.Node]bool) *graph.Node {
	before := n.Prev()
	b := &graph.Builder{G: g, Before: n, Stack: n.Stack, NoGrad: n.NoGrad}
	vals := row.Decompose(b, &ops.Call{Op: row, Args: n.Args})
	if vals == nil {
		return nil // this call does not decompose (a dtype, a mode)
	}
	for i, v := range vals {
		old := n.Meta
		if list, several := old.([]ops.Result); several {
			old = list[i]
		}
		if v != nil && (moved[n] || !sameLayout(old, v.(*graph.Node).Meta)) {
			moved[v.(*graph.Node)] = true
		}
	}
	replace(n, vals)
	first := g.First()
	if before != nil {
		first = before.Next()
	}
	for _, u := range n.Users() { // getitem nodes
		if u.NumUsers() == 0 {
			if u == first {
				first = u.Next()
			}
			g.Erase(u)
		}
	}
	if first == n {
		first = n.Next()
	}
	g.Erase(n)
	return first
}

// replace makes the users of n (through getitem where it has several results)
// use vals.
func replace(n *graph.Node, vals []ops.Value) {
	if _, several := n.Meta.([]ops.Result); !several {
		n.ReplaceUses(vals[0].(*graph.Node))
		return
	}
	for _, u := range n.Users() {
		i, _ := u.Args[1].(interface{ IsConst() (int64, bool) }).IsConst()
		u.ReplaceUses(vals[i].(*graph.Node))
	}
}

// cse makes equal calls of pure operators one node.
func cse(g *graph.Graph) int {
	seen := map[string]*graph.Node{}
	count := 0
	for _, n := range g.Nodes() {
		if n.Kind == graph.Placeholder || n.Kind == graph.Output {
			continue
		}
		if row := n.OpRow(); row != nil && (row.Tags.Has(ops.TagRandom) || row.Tags.Has(ops.TagInPlace)) {
			continue
		}
		key := fmt.Sprintf("%d %s %s", n.Op, n.Target, n.ArgsText())
		if old := seen[key]; old != nil {
			n.ReplaceUses(old)
			g.Erase(n)
			count++
			continue
		}
		seen[key] = n
	}
	return count
}
