package aot

import (
	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file adds what is scattered straight into the sum that it becomes part of:
//
//	add(x, index_add(zeros, dim, index, source))  ->  index_add(x, dim, index, source)
//
// Weights that an embedding shares with another layer get their gradient this way. The embedding's
// part is a table of zeros but for a few rows: it was filled, and read again for the sum.

// scatterIntoSum returns how many sums it removed.
func scatterIntoSum(g *graph.Graph) int {
	count := 0
	for _, n := range g.Nodes() {
		if n.Op != ops.Add || ops.NumberOf(argOf(n, "alpha", 1.0)) != 1 {
			continue
		}
		for i := range 2 {
			part, ok := n.Args[i].(*graph.Node)
			rest, ok2 := n.Args[1-i].(*graph.Node)
			if !ok || !ok2 || !scattersIntoZeros(part) || part.NumUsers() != 1 || !sameLayout(rest, n) || !sameLayout(part, n) {
				continue
			}
			args := append([]ops.Arg{rest}, part.Args[1:]...)
			m := g.Insert(&graph.Node{Name: part.Name, Kind: graph.CallFunction, Op: part.Op, Args: args, Meta: n.Meta, Stack: part.Stack}, n)
			n.ReplaceUses(m)
			g.Erase(n)
			g.Erase(part)
			count++
			break
		}
	}
	return count
}

// scattersIntoZeros reports an index_add or scatter_add whose first argument is zero everywhere.
func scattersIntoZeros(n *graph.Node) bool {
	if n.Op != ops.IndexAdd && n.Op != ops.ScatterAdd {
		return false
	}
	zeros, ok := n.Args[0].(*graph.Node)
	if !ok {
		return false
	}
	switch zeros.Op {
	case ops.Zeros, ops.ZerosLike:
		return true
	case ops.Full, ops.FullLike:
		switch v := argOf(zeros, "fill_value", nil).(type) {
		case float64, bool:
			return ops.NumberOf(v) == 0
		case sym.Int:
			return sym.Is(v, 0)
		}
	}
	return false
}

// argOf is the argument bound to the named parameter, def where it was left out.
func argOf(n *graph.Node, name string, def ops.Arg) ops.Arg {
	for i, p := range n.OpRow().Params() {
		if p.Name == name && i < len(n.Args) && n.Args[i] != nil {
			return n.Args[i]
		}
	}
	return def
}

// sameLayout reports tensors of one type and shape, laid out the same way.
func sameLayout(a, b *graph.Node) bool {
	x, ok := a.Meta.(*ops.TensorMeta)
	y, ok2 := b.Meta.(*ops.TensorMeta)
	return ok && ok2 && x.DType == y.DType && x.DType.IsFloat() && sym.AllSame(x.Shape, y.Shape) && sym.AllSame(x.Stride, y.Stride)
}
