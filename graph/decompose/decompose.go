// Package decompose expresses operators of a graph through others, by the
// decompositions of the operator table. aot and the inductor use it with different
// answers to the one question which calls it is for.
//
// It imports graph, ops and sym of ours. Open this file.
package decompose

import (
	"fmt"
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Expand replaces every call that has a decomposition and is wanted by what it
// decomposes into, until none is left, and returns how many it replaced.
func Expand(g *graph.Graph, wanted func(*graph.Node) bool) int { return ExpandTold(g, wanted, nil) }

// ExpandTold is Expand that tells what took the place of each value that is no more;
// told may be nil.
func ExpandTold(g *graph.Graph, wanted func(*graph.Node) bool, told func(old, now *graph.Node)) int {
	count := 0
	moved := map[*graph.Node]bool{}
	for n := g.First(); n != nil; {
		next := n.Next()
		if n.Flow != nil {
			count += expandBodies(n, wanted, moved)
		}
		if row := n.OpRow(); row != nil && row.Decompose != nil && wanted(n) {
			if first := expand(g, n, row, moved, told); first != nil {
				next = first
				count++
			}
		}
		n = next
	}
	Repropagate(g, moved)
	return count
}

// expandBodies is Expand of the bodies of n, whose value may be laid out otherwise then.
func expandBodies(n *graph.Node, wanted func(*graph.Node) bool, moved map[*graph.Node]bool) int {
	count := 0
	for _, b := range n.Flow.Bodies {
		count += Expand(b, wanted)
	}
	if count > 0 {
		RefreshFlow(n)
		moved[n] = true
	}
	return count
}

// RefreshFlow brings the bodies and the value of a node of control flow up to date with the
// layouts of its operands.
func RefreshFlow(n *graph.Node) { n.RefreshFlow(Repropagate) }

// Repropagate propagates metadata once more: it brings the example values of what
// follows moved nodes, which are laid out otherwise than what they replaced, up to
// date.
func Repropagate(g *graph.Graph, moved map[*graph.Node]bool) {
	if len(moved) == 0 {
		return
	}
	for n := g.First(); n != nil; n = n.Next() {
		if n.Kind == graph.Placeholder || n.Kind == graph.Output ||
			!slices.ContainsFunc(n.Inputs(), func(in *graph.Node) bool { return moved[in] }) {
			continue
		}
		switch {
		case n.Apply != nil:
			refreshTie(n)
			moved[n] = true
			continue
		case n.Flow != nil:
			RefreshFlow(n)
			moved[n] = true
			continue
		case n.Op == ops.None:
			n.Meta, moved[n] = ItemMeta(n), true
			continue
		}
		old := n.Meta
		err := n.Repropagate()
		if err != nil && n.Op == ops.View { // a copy does what the view no longer can
			n.Op = ops.Reshape
			err = n.Repropagate()
		}
		if err != nil {
			panic(fmt.Sprintf("%s does not fit its arguments any more: %v", n.Name, err))
		}
		moved[n] = moved[n] || !SameLayout(old, n.Meta) // a new node may be laid out otherwise than what it replaced
	}
}

// ItemMeta is the example value of a getitem.
func ItemMeta(n *graph.Node) any {
	from, i := n.Item()
	return from.Meta.([]ops.Result)[i]
}

// SameLayout compares the strides of example values.
func SameLayout(a, b any) bool {
	x, ok1 := a.(*ops.TensorMeta)
	y, ok2 := b.(*ops.TensorMeta)
	return ok1 && ok2 && sym.AllSame(x.Stride, y.Stride) && x.DType == y.DType
}

// expand replaces n by its decomposition and returns the first new node, so
// that what was made is looked at too. It adds to moved what is
// laid out otherwise than what it replaces.
func expand(
	g *graph.Graph, n *graph.Node, row *ops.Op, moved map[*graph.Node]bool, told func(old, now *graph.Node),
) *graph.Node {
	before := n.Prev()
	b := &graph.Builder{G: g, Before: n, Stack: n.Stack, NoGrad: n.NoGrad, Derivative: n.Derivative}
	vals := row.Decompose(b, &ops.Call{Op: row, Args: n.Args})
	if vals == nil {
		return nil // this call does not decompose (a dtype, a mode)
	}
	for i, v := range vals {
		old := n.Meta
		if list, several := old.([]ops.Result); several {
			old = list[i]
		}
		if v != nil && (moved[n] || !SameLayout(old, v.(*graph.Node).Meta)) {
			moved[v.(*graph.Node)] = true
		}
	}
	replace(n, vals, told)
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
func replace(n *graph.Node, vals []ops.Value, told func(old, now *graph.Node)) {
	use := func(old *graph.Node, v ops.Value) {
		now := v.(*graph.Node)
		old.ReplaceUses(now)
		if told != nil {
			told(old, now)
		}
	}
	if _, several := n.Meta.([]ops.Result); !several {
		use(n, vals[0])
		return
	}
	for _, u := range n.Users() {
		_, i := u.Item()
		use(u, vals[i])
	}
}

// refreshTie brings the example values of a tie up to date with those of its arguments.
func refreshTie(n *graph.Node) {
	outs := n.Args[n.Apply.Inputs : n.Apply.Inputs+n.Apply.Outputs]
	metas := make([]ops.Result, len(outs))
	for i, o := range outs {
		metas[i] = o.(*graph.Node).Meta
	}
	n.Meta = metas
	phs := n.Apply.Forward.Placeholders()
	for _, a := range n.Args {
		if x, ok := a.(*graph.Node); ok {
			phs[0].Meta, phs = x.Meta, phs[1:]
		}
	}
}
