package aot

import (
	"slices"

	"tcdbg/graph"
)

// This file is about a graph that has its backward pass in it. What derivatives read of the forward pass is kept for them or
// computed again where they read it, by the same choice as where the backward pass is a graph of its own (recompute.go):
// otherwise each normalisation would write what it made of its input, and each activation its mask, long before they are read.

// computeAgain returns how many operators it had derivatives compute again.
func computeAgain(g *graph.Graph) int {
	first := g.First()
	for first != nil && !first.Derivative {
		first = first.Next()
	}
	if first == nil || first.Prev() == nil {
		return 0
	}
	j := &joint{g: g, inputs: g.Placeholders(), last: first.Prev(), one: true}
	late := afterSeed(first)
	for _, a := range g.Outputs() {
		if n, ok := a.(*graph.Node); ok && late[n] {
			j.grads = append(j.grads, n)
		} else {
			j.outs = append(j.outs, a)
		}
	}
	need := j.reachable()
	again := j.choose(late, need, j.read(late, need), 1).again
	copies := map[*graph.Node]*graph.Node{}
	for n := first; n != nil && n.Kind != graph.Output; n = n.Next() {
		for _, in := range n.Inputs() {
			if late[n] && again[in] {
				n.Replace(in, copyBefore(n, in, again, copies))
			}
		}
	}
	return len(copies)
}

// afterSeed are the nodes that depend on what the backward pass starts with, which is the first of them, and what is made of
// nothing. A view of a value of the forward pass counts as one of its values, wherever it is taken.
func afterSeed(first *graph.Node) map[*graph.Node]bool {
	late := map[*graph.Node]bool{first: true}
	for n := first.Next(); n != nil; n = n.Next() {
		late[n] = kindOf(n) == making || slices.ContainsFunc(n.Inputs(), func(in *graph.Node) bool { return late[in] })
	}
	return late
}

// copyBefore is the copy of n that derivatives from at on read; what it is computed from is computed again in front of it.
func copyBefore(at, n *graph.Node, again map[*graph.Node]bool, copies map[*graph.Node]*graph.Node) *graph.Node {
	if copies[n] == nil {
		for _, in := range n.Inputs() {
			if again[in] {
				copyBefore(at, in, again, copies)
			}
		}
		copies[n] = n.CopyBefore(at, func(x *graph.Node) *graph.Node {
			if c := copies[x]; c != nil {
				return c
			}
			return x
		})
	}
	return copies[n]
}
