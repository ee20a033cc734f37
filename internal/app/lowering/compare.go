package lowering

import (
	"cmp"
	"slices"
	"strings"

	"tcdbg/backends"
	"tcdbg/logs"
)

// This file holds our kernels beside PyTorch's. Only nodes are compared that both compilers
// name in a kernel, and only where PyTorch's trace says which nodes each call of a kernel computes.

// group is the nodes that one kernel computes.
type group struct {
	kernel string
	nodes  []string
}

// compare says what each compiler put together that the other did not.
func compare(t *Task, l *backends.Lowered) logs.Lowered {
	out := logs.Lowered{Of: t.Of, Device: l.Device, Ours: len(l.Kernels), Theirs: len(t.Launches)}
	var ours, theirs []group
	for _, k := range l.Kernels {
		ours = append(ours, group{k.Name, k.Nodes})
	}
	for _, k := range t.Launches {
		theirs = append(theirs, group{k.Kernel, k.Nodes})
	}
	if out.Silent = silent(t); out.Silent != "" {
		return out
	}
	pos := func(nodes []string) []logs.Pos { return places(l, nodes) }
	out.Apart = regrouped(theirs, ours, pos)
	out.Joined = regrouped(ours, theirs, pos)
	return out
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
