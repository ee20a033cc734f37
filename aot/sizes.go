package aot

import (
	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file finds the sizes that a backward graph computes with and that none of
// its inputs shows: the forward graph hands them over as numbers.

// hiddenSizes lists them for the nodes of the backward graph, in the order of their first use.
func (j *joint) hiddenSizes(backward func(*graph.Node) bool, saved []*graph.Node) []*sym.Symbol {
	shown := map[*sym.Symbol]bool{}
	show := func(n *graph.Node) {
		m, ok := n.Meta.(*ops.TensorMeta)
		if !ok {
			return
		}
		for _, xs := range [][]sym.Int{m.Shape, m.Stride} {
			for _, x := range xs {
				if s, ok := x.AsSymbol(); ok {
					shown[s] = true
				}
			}
		}
	}
	for _, n := range append(append([]*graph.Node(nil), saved...), j.tangents...) {
		show(n)
	}
	var list []*sym.Symbol
	use := func(x sym.Int) {
		for _, s := range x.Symbols() {
			if _, fixed := s.Fixed(); !fixed && !shown[s] {
				shown[s] = true
				list = append(list, s)
			}
		}
	}
	for n := j.g.First(); n != nil; n = n.Next() {
		if backward(n) {
			for _, a := range n.Args {
				eachSize(a, use)
			}
			eachMetaSize(n.Meta, use)
			eachBodySize(n, use)
		}
	}
	for _, n := range saved {
		eachMetaSize(n.Meta, use)
	}
	return list
}

// eachSize calls f with the sizes among an argument.
func eachSize(a ops.Arg, f func(sym.Int)) {
	switch a := a.(type) {
	case sym.Int:
		f(a)
	case []sym.Int:
		for _, x := range a {
			f(x)
		}
	}
}

// eachMetaSize calls f with the sizes of an example value.
func eachMetaSize(meta any, f func(sym.Int)) {
	switch m := meta.(type) {
	case *ops.TensorMeta:
		for _, xs := range [][]sym.Int{m.Shape, m.Stride} {
			for _, x := range xs {
				f(x)
			}
		}
	case []ops.Result:
		for _, r := range m {
			eachMetaSize(r, f)
		}
	}
}

// eachBodySize calls use for the sizes that bodies of n read.
func eachBodySize(n *graph.Node, use func(sym.Int)) {
	if n.Flow == nil {
		return
	}
	for _, b := range n.Flow.Bodies {
		for m := b.First(); m != nil; m = m.Next() {
			for _, a := range m.Args {
				eachSize(a, use)
			}
			eachMetaSize(m.Meta, use)
			eachBodySize(m, use)
		}
	}
}
