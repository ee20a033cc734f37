package aot

import (
	"cmp"
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file makes sums of neighbouring slices one sum:
//
//	add(a[:, 0:4], b[:, 0:4]), add(a[:, 4:8], b[:, 4:8])  ->  s = add(a[:, 0:8], b[:, 0:8]); s[:, 0:4], s[:, 4:8]
//
// A network that concatenates what it has so far for each layer, as DenseNet does, adds up gradients
// this way: without it a block of n layers has n*n/2 sums, and none is as wide as what computes it.

// piece is the sum of a slice of a and a slice of b: elements [at, at+size) of a along a dimension,
// and as many of b.
type piece struct {
	sum      *graph.Node
	a, b     *graph.Node
	dim      int64
	at, from int64 // where the slices begin in a and in b
	size     int64
}

// sumSlices returns how many sums it removed.
func sumSlices(g *graph.Graph) int {
	count := 0
	done := map[*graph.Node]bool{}
	for _, n := range g.Nodes() {
		if done[n] {
			continue
		}
		p, ok := pieceOf(n)
		if !ok {
			continue
		}
		beside := p.beside()
		for _, q := range beside {
			done[q.sum] = true
		}
		for len(beside) > 0 {
			k := 1
			for k < len(beside) && beside[k].at == beside[k-1].at+beside[k-1].size {
				k++
			}
			if k > 1 && sumWhole(g, n, beside[:k]) {
				count += k - 1
			}
			beside = beside[k:]
		}
	}
	return count
}

// pieceOf takes apart a sum of two slices that nobody else reads.
func pieceOf(n *graph.Node) (p piece, ok bool) {
	if n.Op != ops.Add {
		return piece{}, false
	}
	args := ops.In[ops.AddArgs](&ops.Call{Op: n.OpRow(), Args: n.Args})
	x, isNode := args.Self.Arg.(*graph.Node)
	y, alsoNode := args.Other.Arg.(*graph.Node)
	if !isNode || !alsoNode || x == y || args.Alpha.Arg != nil && args.Alpha.Float() != 1 {
		return piece{}, false
	}
	a, dim, at, size, ok := sliceOf(x)
	b, other, from, length, ok2 := sliceOf(y)
	if !ok || !ok2 || dim != other || size != length || a == b || !sameBut(a, b, dim) {
		return piece{}, false
	}
	return piece{n, a, b, dim, at, from, size}, true
}

// sliceOf takes apart a slice in steps of one, with one reader and bounds that are known.
func sliceOf(n *graph.Node) (x *graph.Node, dim, at, size int64, ok bool) {
	if n.Op != ops.Slice || n.NumUsers() != 1 {
		return nil, 0, 0, 0, false
	}
	a := ops.In[ops.SliceArgs](&ops.Call{Op: n.OpRow(), Args: n.Args})
	x, isNode := a.Self.Arg.(*graph.Node)
	start, known := a.Start.Arg.(sym.Int)
	dim, isConst := a.Dim.Int().IsConst()
	step, one := a.Step.Int().IsConst()
	if !isNode || !known || !isConst || !one || step != 1 || dim < 0 {
		return nil, 0, 0, 0, false
	}
	at, fromConst := start.IsConst()
	size, sizeConst := n.TensorMeta().Shape[dim].IsConst()
	return x, dim, at, size, fromConst && at >= 0 && sizeConst
}

// sameBut reports tensors of one type whose sizes are equal but along one dimension.
func sameBut(a, b *graph.Node, dim int64) bool {
	x, y := a.TensorMeta(), b.TensorMeta()
	if x == nil || y == nil || x.DType != y.DType || len(x.Shape) != len(y.Shape) {
		return false
	}
	for i := range x.Shape {
		if int64(i) != dim && !sym.Same(x.Shape[i], y.Shape[i]) {
			return false
		}
	}
	return true
}

// beside are the sums of slices of the same two tensors that lie the same way, from the first on.
func (p piece) beside() []piece {
	var out []piece
	for _, s := range p.a.Users() {
		if _, _, _, _, ok := sliceOf(s); !ok {
			continue
		}
		q, ok := pieceOf(s.Users()[0])
		if !ok {
			continue
		}
		if q.a == p.b { // a sum may name them the other way round
			q.a, q.b, q.at, q.from = q.b, q.a, q.from, q.at
		}
		if q.a == p.a && q.b == p.b && q.dim == p.dim && q.from-q.at == p.from-p.at {
			out = append(out, q)
		}
	}
	slices.SortFunc(out, func(x, y piece) int { return cmp.Compare(x.at, y.at) })
	return out
}

// sumWhole makes neighbours one sum, before the node first. It reports false, and changes nothing,
// where a reader of one of them would get another layout by it.
func sumWhole(g *graph.Graph, first *graph.Node, ps []piece) bool {
	b := &graph.Builder{G: g, Before: first, Stack: first.Stack, NoGrad: first.NoGrad}
	last := ps[len(ps)-1]
	all := last.at + last.size - ps[0].at
	cut := func(x ops.Value, dim, at, size int64) ops.Value {
		if whole, ok := x.(*graph.Node).TensorMeta().Shape[dim].IsConst(); ok && at == 0 && size == whole {
			return x
		}
		return b.Emit(ops.Slice, x, sym.Const(dim), sym.Const(at), sym.Const(at+size), sym.Const(1))
	}
	sum := b.Emit(ops.Add, cut(ps[0].a, ps[0].dim, ps[0].at, all), cut(ps[0].b, ps[0].dim, ps[0].from, all))
	parts := make([]*graph.Node, len(ps))
	fits := true
	for i, p := range ps {
		parts[i] = cut(sum, p.dim, p.at-ps[0].at, p.size).(*graph.Node)
		fits = fits && readsAs(p.sum, parts[i])
	}
	if !fits {
		for n := first.Prev(); n != nil && n.NumUsers() == 0 && slices.Contains(parts, n); n = first.Prev() {
			g.Erase(n)
		}
		eraseUnread(g, sum.(*graph.Node))
		return false
	}
	for i, p := range ps {
		p.sum.ReplaceUses(parts[i])
		eraseUnread(g, p.sum)
	}
	return true
}

// eraseUnread erases a sum and the slices that it alone read.
func eraseUnread(g *graph.Graph, sum *graph.Node) {
	in := sum.Inputs()
	g.Erase(sum)
	for _, n := range in {
		if n.Op == ops.Slice && n.NumUsers() == 0 {
			g.Erase(n)
		}
	}
}

// readsAs reports whether every reader of x gives what it gives, in the same layout, if it reads y.
// An output does not: its strides were promised.
func readsAs(x, y *graph.Node) bool {
	return !slices.ContainsFunc(x.Users(), func(u *graph.Node) bool { return !u.SameWith(x, y) })
}
