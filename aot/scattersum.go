package aot

import (
	"slices"

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
		if n.Op != ops.Add {
			continue
		}
		a := ops.In[ops.AddArgs](&ops.Call{Op: n.OpRow(), Args: n.Args})
		x, ok := a.Self.Arg.(*graph.Node)
		y, ok2 := a.Other.Arg.(*graph.Node)
		if !ok || !ok2 || x == y || a.Alpha.Arg != nil && a.Alpha.Float() != 1 || !sameLayout(x, n) || !sameLayout(y, n) {
			continue
		}
		if scattersIntoZeros(x) {
			x, y = y, x
		} else if !scattersIntoZeros(y) {
			continue
		}
		into := slices.Clone(y.Args)
		into[0] = x
		m := g.Insert(&graph.Node{Name: y.Name, Kind: graph.CallFunction, Op: y.Op, Args: into, Meta: n.Meta, Stack: y.Stack}, n)
		n.ReplaceUses(m)
		g.Erase(n)
		g.Erase(y)
		count++
	}
	return count
}

// scattersIntoZeros reports an index_add or scatter_add into zeros that has one reader.
func scattersIntoZeros(n *graph.Node) bool {
	if n.Op != ops.IndexAdd && n.Op != ops.ScatterAdd || n.NumUsers() != 1 {
		return false
	}
	return isZeros(ops.In[ops.SelfArgs](&ops.Call{Op: n.OpRow(), Args: n.Args}).Self.Arg)
}

// isZeros reports a tensor of nothing but zeros.
func isZeros(a ops.Arg) bool {
	zeros, ok := a.(*graph.Node)
	if !ok {
		return false
	}
	var fill ops.Arg
	call := &ops.Call{Op: zeros.OpRow(), Args: zeros.Args}
	switch zeros.Op {
	case ops.Zeros, ops.ZerosLike:
		return true
	case ops.Full:
		fill = ops.In[ops.FullArgs](call).FillValue.Arg
	case ops.FullLike:
		fill = ops.In[ops.FullLikeArgs](call).FillValue.Arg
	}
	switch v := fill.(type) {
	case float64, bool:
		return ops.NumberOf(v) == 0
	case sym.Int:
		return sym.Is(v, 0)
	}
	return false
}

// sameLayout reports tensors of one type and shape, laid out the same way.
func sameLayout(a, b *graph.Node) bool {
	x, ok := a.Meta.(*ops.TensorMeta)
	y, ok2 := b.Meta.(*ops.TensorMeta)
	return ok && ok2 && x.DType == y.DType && x.DType.IsFloat() && sym.AllSame(x.Shape, y.Shape) && sym.AllSame(x.Stride, y.Stride)
}
