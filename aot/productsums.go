package aot

import (
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file makes sums of products with few terms along k one product:
//
//	add(mm(a.t(), b), mm(c.t(), d))  ->  mm(cat([a, c]).t(), cat([b, d]))
//
// The gradient of a recurrent net's weight is such a sum, with a product for each step: of as many terms as the batch
// has rows, each of which read the whole sum so far and wrote it again.

// fewProducts is how many products are added up as they are.
const fewProducts = 3

// sumProducts returns how many products it removed.
func sumProducts(g *graph.Graph) int {
	count := 0
	for _, n := range g.Nodes() {
		if n.Op != ops.Add || n.NumUsers() == 1 && addends(n.Users()[0]) != nil {
			continue // no sum, or not the last
		}
		if s := sumOf(n); s.worthIt() {
			s.replace(g)
			count += len(s.left) - 1
		}
	}
	return count
}

// productSum is a sum of products left[i].t() @ right[i], or of those turned around, and of what else is added.
type productSum struct {
	sum         *graph.Node
	left, right []*graph.Node // of the last product first
	turned      bool
	rest        []*graph.Node
}

// sumOf takes apart a sum.
func sumOf(n *graph.Node) *productSum {
	s := &productSum{sum: n}
	for open := []*graph.Node{n}; len(open) > 0; {
		x := open[len(open)-1]
		open = open[:len(open)-1]
		if pair := addends(x); pair != nil && (x == n || x.NumUsers() == 1) {
			open = append(open, pair...)
			continue
		}
		left, right, turned, ok := transposedProduct(x)
		if !ok || len(s.left) > 0 && (turned != s.turned || !sameBut(left, s.left[0], 0) || !sameBut(right, s.right[0], 0)) {
			s.rest = append(s.rest, x)
			continue
		}
		s.left, s.right, s.turned = append(s.left, left), append(s.right, right), turned
	}
	return s
}

// addends are the operands of a sum of two tensors of one layout; nil for anything else.
func addends(n *graph.Node) []*graph.Node {
	if n.Op != ops.Add {
		return nil
	}
	a := ops.In[ops.AddArgs](&ops.Call{Op: n.OpRow(), Args: n.Args})
	x, ok := a.Self.Arg.(*graph.Node)
	y, ok2 := a.Other.Arg.(*graph.Node)
	if !ok || !ok2 || x == y || a.Alpha.Arg != nil && a.Alpha.Float() != 1 || !sameLayout(x, n) || !sameLayout(y, n) {
		return nil
	}
	return []*graph.Node{x, y}
}

// transposedProduct takes apart left.t() @ right, or that turned around, that nobody else reads.
func transposedProduct(n *graph.Node) (left, right *graph.Node, turned, ok bool) {
	for n != nil && n.NumUsers() == 1 && n.Op == ops.T {
		n, turned = selfOf(n), !turned
	}
	if n == nil || n.Op != ops.Mm || n.NumUsers() != 1 {
		return nil, nil, false, false
	}
	a := ops.In[ops.MmArgs](&ops.Call{Op: n.OpRow(), Args: n.Args})
	l, isNode := a.Self.Arg.(*graph.Node)
	right, alsoNode := a.Mat2.Arg.(*graph.Node)
	if !isNode || !alsoNode || l.Op != ops.T {
		return nil, nil, false, false
	}
	left = selfOf(l)
	m := left.TensorMeta()
	return left, right, turned, m != nil && m.DType.IsFloat() && len(m.Shape) == 2
}

func selfOf(n *graph.Node) *graph.Node {
	x, _ := ops.In[ops.SelfArgs](&ops.Call{Op: n.OpRow(), Args: n.Args}).Self.Arg.(*graph.Node)
	return x
}

// worthIt reports products that together have fewer numbers to put side by side than the sums between them read and
// write.
func (s *productSum) worthIt() bool {
	if len(s.left) <= fewProducts {
		return false
	}
	operands, sums := int64(0), int64(0)
	for i := range s.left {
		l, r := s.left[i].TensorMeta().Shape, s.right[i].TensorMeta().Shape
		k, known := l[0].IsConst()
		m, known2 := l[1].IsConst()
		n, known3 := r[1].IsConst()
		if !known || !known2 || !known3 {
			return false
		}
		operands, sums = operands+k*(m+n), sums+m*n
	}
	return operands < sums
}

// replace makes the products one, and adds what else was added.
func (s *productSum) replace(g *graph.Graph) {
	b := &graph.Builder{G: g, Before: s.sum, Stack: s.sum.Stack, NoGrad: s.sum.NoGrad}
	s.order()
	y := b.Emit(ops.Mm, b.Emit(ops.T, b.Emit(ops.Cat, listOf(s.left), sym.C(0))), b.Emit(ops.Cat, listOf(s.right), sym.C(0)))
	if s.turned {
		y = b.Emit(ops.T, y)
	}
	for _, x := range s.rest {
		y = b.Emit(ops.Add, y, x)
	}
	s.sum.ReplaceUses(y.(*graph.Node))
}

// order puts the operands in the order in which the left ones are concatenated anyway, as the gradient of all steps'
// inputs has them: that is then computed once.
func (s *productSum) order() {
	at := map[*graph.Node]int{}
	for i, l := range s.left {
		at[l] = i
	}
	if len(at) < len(s.left) {
		return
	}
	for _, u := range s.left[0].Users() {
		if u.Op != ops.Cat {
			continue
		}
		a := ops.In[ops.CatArgs](&ops.Call{Op: u.OpRow(), Args: u.Args})
		if !sym.Is(a.Dim.Int(), 0) || len(u.Inputs()) != len(s.left) {
			continue
		}
		left := slices.Clone(u.Inputs())
		right := make([]*graph.Node, 0, len(left))
		for _, l := range left {
			if i, ok := at[l]; ok {
				right = append(right, s.right[i])
			}
		}
		if len(right) == len(left) {
			s.left, s.right = left, right
			return
		}
	}
}

func listOf(list []*graph.Node) []ops.Value {
	out := make([]ops.Value, len(list))
	for i, n := range list {
		out[i] = n
	}
	return out
}
