package lowering

import (
	"cmp"
	"slices"
	"strings"

	"tcdbg/backends"
	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/fx"
)

// This file holds our kernels beside PyTorch's. Only nodes are compared that both compilers
// name in a kernel, and only where PyTorch's trace says which nodes each call of a kernel computes.

// group is the nodes that one kernel computes.
type group struct {
	kernel string
	nodes  []string
}

// compare says what each compiler put together that the other did not.
func compare(t *Task, g *fx.Graph, l *backends.Lowered) logs.Lowered {
	out := logs.Lowered{Of: t.Of, Device: l.Device, Ours: len(l.Kernels), Theirs: len(t.Launches)}
	var ours, theirs []group
	for _, k := range l.Kernels {
		ours = append(ours, group{k.Name, k.Nodes})
	}
	for _, k := range t.Launches {
		theirs = append(theirs, group{k.Kernel, computed(k, libraryNodes(g))})
	}
	if out.Silent = silent(t); out.Silent != "" {
		return out
	}
	pos := func(nodes []string) []logs.Pos { return places(l, nodes) }
	out.Apart = regrouped(theirs, ours, pos)
	out.Joined = regrouped(ours, theirs, pos)
	return out
}

// libraryCalls are operators that PyTorch's Inductor has a library or a template compute.
var libraryCalls = []string{
	"aten.mm.", "aten.addmm.", "aten.bmm.", "aten.baddbmm.", "aten.convolution.", "aten.convolution_backward.", "aten._scaled_mm.",
	"aten._scaled_dot_product_", "aten._int_mm.",
}

// libraryNodes are the nodes of a graph that call one.
func libraryNodes(g *fx.Graph) map[string]bool {
	out := map[string]bool{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		out[n.Name] = slices.ContainsFunc(libraryCalls, func(op string) bool { return strings.HasPrefix(n.Operator(), op) })
	}
	return out
}

// computed are the nodes that a call of PyTorch's computes. A kernel of loops to which PyTorch ascribes a product or a
// convolution may do no more than bring operands into order, whatever else is ascribed to it: nothing is said of it.
// Of what is ascribed to a call of a library, that call computes the product alone.
func computed(k explain.Launch, library map[string]bool) []string {
	switch {
	case strings.Contains(k.Kernel, "_tem_") || strings.Contains(k.Kernel, "gemm"): // a template with its epilogue
		return k.Nodes
	case strings.HasPrefix(k.Kernel, "extern_kernels.") || strings.HasPrefix(k.Kernel, "torch.ops."):
		return slices.DeleteFunc(slices.Clone(k.Nodes), func(n string) bool { return !library[n] })
	}
	if slices.ContainsFunc(k.Nodes, func(n string) bool { return library[n] }) {
		return nil
	}
	return k.Nodes
}

// silent says why nothing can be compared, "" where it can.
func silent(t *Task) string {
	switch {
	case t.Stage != postGrad:
		return "PyTorch's kernels are of the post-grad graph: lower that form to compare"
	case !t.HasOutput:
		return "the trace does not say which generated code is of this graph"
	case len(t.Launches) == 0:
		return "the trace does not say which nodes PyTorch's kernels compute: for C++ code PyTorch writes it under " +
			"INDUCTOR_PROVENANCE=1, of forward and inference graphs"
	}
	return ""
}

// regrouped lists the kernels of whole whose nodes are in no one kernel of parts.
func regrouped(whole, parts []group, pos func([]string) []logs.Pos) []logs.Regrouped {
	known := map[string]bool{}
	for _, p := range parts {
		for _, n := range p.nodes {
			known[n] = true
		}
	}
	var out []logs.Regrouped
	for _, w := range whole {
		var common []string
		for _, n := range w.nodes {
			if known[n] {
				common = append(common, n)
			}
		}
		if list := split(common, parts); len(list) > 1 {
			r := logs.Regrouped{Kernel: w.kernel}
			for _, p := range list {
				r.Parts = append(r.Parts, logs.LoweredPart{Kernel: p.kernel, Nodes: p.nodes, Pos: pos(p.nodes)})
			}
			out = append(out, r)
		}
	}
	return out
}

// split puts nodes into as few kernels of parts as a greedy choice takes: a node that several kernels
// compute again is in the one that has most of the others.
func split(nodes []string, parts []group) []group {
	var out []group
	left := slices.Clone(nodes)
	for len(left) > 0 {
		best := group{}
		for _, p := range parts {
			var in []string
			for _, n := range left {
				if slices.Contains(p.nodes, n) {
					in = append(in, n)
				}
			}
			if len(in) > len(best.nodes) {
				best = group{p.kernel, in}
			}
		}
		if len(best.nodes) == 0 {
			return out
		}
		out = append(out, best)
		left = slices.DeleteFunc(left, func(n string) bool { return slices.Contains(best.nodes, n) })
	}
	return out
}

// places are the lines of nodes, each once.
func places(l *backends.Lowered, nodes []string) []logs.Pos {
	var out []logs.Pos
	for _, n := range nodes {
		s := l.Source[n]
		p := logs.Pos{File: s.File, Line: s.Line, Func: s.Func, Code: s.Code}
		if s.File != "" && !slices.ContainsFunc(out, func(q logs.Pos) bool { return q.File == p.File && q.Line == p.Line }) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b logs.Pos) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return out
}
