package derive

import (
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file differentiates what calls a body for each slice of its operands, as PyTorch does
// it: the gradient of a map is a map of the body's gradient; that of a scan is a scan from
// the last slice to the first, which carries the gradients of what the scan carried, and of
// what all its calls read, and is given what the scan carried into each call.

// permuted is g with its placeholders in another order: the k-th is the order[k]-th of g,
// and those of -1 are new ones like the tensors of further, one after the other.
func permuted(g *graph.Graph, order []int, further []*ops.TensorMeta) (h *graph.Graph, added []*graph.Node) {
	h = graph.New(g.Name, g.Env)
	h.Aten, h.Untaped = g.Aten, g.Untaped
	phs, in := g.Placeholders(), map[*graph.Node]*graph.Node{}
	for _, i := range order {
		if i >= 0 {
			in[phs[i]] = h.Input(phs[i].Name, phs[i].Target, "", phs[i].Meta)
			continue
		}
		m := *further[len(added)]
		m.RequiresGrad, m.Offset = false, sym.C(0)
		added = append(added, h.Input("sum", "sum", "", &m))
	}
	for n := g.First(); n != nil; n = n.Next() {
		if n.Kind != graph.Placeholder {
			in[n] = n.CopyInto(h, func(x *graph.Node) *graph.Node { return in[x] })
		}
	}
	return h, added
}

// through are numbers from a to b.
func through(a, b int) []int {
	var out []int
	for i := a; i < b; i++ {
		out = append(out, i)
	}
	return out
}

// sliceMetas are what the slices of tensors look like.
func sliceMetas(ns []*graph.Node) []*ops.TensorMeta {
	out := make([]*ops.TensorMeta, len(ns))
	for i, n := range ns {
		out[i] = graph.SliceMeta(n.TensorMeta())
	}
	return out
}

// flipped are tensors from their last slice to the first.
func flipped(b *graph.Builder, ns []*graph.Node) []ops.Value {
	var out []ops.Value
	for _, n := range ns {
		out = append(out, b.Emit(ops.Flip, n, []sym.Int{sym.C(0)}))
	}
	return out
}

// mapped differentiates a map: what all calls read has the sum of the gradients of each.
func (p *Pass) mapped(n *graph.Node, tangents []*graph.Node) {
	operands, m := n.Operands(), n.Sliced()
	var wanted []int
	for i, x := range operands {
		if p.wants(x) {
			wanted = append(wanted, i)
		}
	}
	g, reached := p.gradientBody(n.Flow.Bodies[0], wanted, sliceMetas(tangents))
	t := len(operands)
	order := append(append(through(0, m), through(t, t+len(tangents))...), through(m, t)...)
	g, _ = permuted(g, order, nil)
	sliced := append(values(operands[:m]), values(tangents)...)
	ds := p.append(n, &graph.Flow{Op: n.Flow.Op, Bodies: []*graph.Graph{g}}, sliced, values(operands[m:]))
	for k, i := range wanted {
		if !reached[k] {
			continue
		}
		var d ops.Value = ds(k)
		if i >= m {
			d = p.Builder(n).Emit(ops.Sum, d, []sym.Int{sym.C(0)})
		}
		p.Add(operands[i], d)
	}
}

// backScan is a scan that differentiates another.
type backScan struct {
	body    *graph.Graph  // what is differentiated
	carry   []int         // floats that it carries
	wanted  []int         // other inputs that want a gradient: slices, then what all calls read
	sliced  []*graph.Node // what is taken apart: the inputs but for those of rest, which come last
	rest    []*graph.Node // what all calls read
	first   []ops.Value   // gradients of what is carried out of the last call
	results []*graph.Node // gradients of what is stacked
}

// append appends the scan. It returns the gradients of what is carried into the first call,
// and of the other wanted inputs: stacked, from the first slice on, or sums.
func (s *backScan) append(p *Pass, n *graph.Node) (carried, others []ops.Value) {
	b := p.Builder(n)
	in := len(s.sliced) + len(s.rest)
	var tangents []*ops.TensorMeta
	for _, t := range s.first {
		tangents = append(tangents, t.(*graph.Node).TensorMeta())
	}
	tangents = append(tangents, sliceMetas(s.results)...)
	g, _ := p.gradientBody(s.body, append(append([]int{}, s.carry...), s.wanted...), tangents)
	var sums []*ops.TensorMeta
	start := append([]ops.Value{}, s.first...)
	for _, i := range s.wanted {
		if i >= len(s.sliced) {
			m := s.body.Placeholders()[i].TensorMeta()
			sums = append(sums, m)
			start = append(start, b.Emit(ops.Full, m.Shape, 0.0, m.DType, m.Device))
		}
	}
	// The body takes the gradients that are carried, the sums, slices of what the scan was
	// given and of the gradients of its results, and what all calls read.
	order := through(in, in+len(s.first))
	for range sums {
		order = append(order, -1)
	}
	order = append(order, through(0, len(s.sliced))...)
	order = append(order, through(in+len(s.first), in+len(tangents))...)
	order = append(order, through(len(s.sliced), in)...)
	g, added := permuted(g, order, sums)
	s.accumulate(g, added)
	sliced := flipped(b, append(append([]*graph.Node{}, s.sliced...), s.results...))
	ds := p.append(n, &graph.Flow{Op: graph.ScanTarget, Bodies: []*graph.Graph{g}}, start, sliced, values(s.rest))
	for k := range s.first {
		carried = append(carried, ds(k))
	}
	sum, stack := len(s.first), len(s.first)+len(sums)
	for _, i := range s.wanted {
		if i >= len(s.sliced) {
			others = append(others, ds(sum))
			sum++
			continue
		}
		others = append(others, flipped(p.Builder(n), []*graph.Node{ds(stack)})[0])
		stack++
	}
	return carried, others
}

// accumulate has the body carry sums of gradients: its results are gradients of what is
// carried, sums, then gradients of slices.
func (s *backScan) accumulate(g *graph.Graph, sums []*graph.Node) {
	out := g.OutputNode()
	grads := append([]ops.Arg{}, out.Args...)
	g.Erase(out)
	b := &graph.Builder{G: g}
	carried, slices := grads[:len(s.carry):len(s.carry)], []ops.Arg{}
	k := 0
	for j, i := range s.wanted {
		d := grads[len(s.carry)+j]
		if i < len(s.sliced) {
			slices = append(slices, d)
			continue
		}
		carried = append(carried, b.Emit(ops.Add, sums[k], d))
		k++
	}
	g.SetOutput(append(carried, slices...))
}

// scanned differentiates a scan, which is made to give what it carried into each call, too.
func (p *Pass) scanned(n *graph.Node, tangents []*graph.Node) {
	operands, k, m := n.Operands(), n.Carried(), n.Sliced()
	body, _ := n.Flow.Bodies[0].Clone(n.Flow.Bodies[0].Name)
	s := &backScan{body: body, rest: operands[k+m:]}
	for i := range k {
		if operands[i].TensorMeta().DType.IsFloat() {
			s.carry = append(s.carry, i)
			s.first = append(s.first, tangents[len(s.first)])
		}
	}
	s.results = tangents[len(s.first):]
	s.sliced = append(p.carriedInto(n), operands[k:k+m]...)
	for i, x := range operands[k:] {
		if p.wants(x) {
			s.wanted = append(s.wanted, k+i)
		}
	}
	carried, others := s.append(p, n)
	for j, i := range s.carry {
		if p.wants(operands[i]) {
			p.Add(operands[i], carried[j])
		}
	}
	for j, i := range s.wanted {
		p.Add(operands[i], others[j])
	}
}

// carriedInto has a scan give what it carried into each call, too, and returns that.
func (p *Pass) carriedInto(n *graph.Node) []*graph.Node {
	k, had := n.Carried(), len(n.Meta.([]ops.Result))
	body := n.Flow.Bodies[0]
	copies := make([]*graph.Node, k)
	at := &graph.Builder{G: body, Before: body.OutputNode()}
	for i := range copies {
		copies[i] = at.Emit(ops.Clone, body.Placeholders()[i]).(*graph.Node)
	}
	n.AddResults(copies)
	out := make([]*graph.Node, k)
	items := &graph.Builder{G: p.G, Before: n.Next(), Stack: n.Stack, NoGrad: n.NoGrad}
	for i := range out {
		out[i] = items.Item(n, had+i)
	}
	return out
}

// associated differentiates a scan that puts any two neighbours together: as one that
// carries what it has come to, which is what it gives, from the second slice on.
func (p *Pass) associated(n *graph.Node, tangents []*graph.Node) {
	operands, m := n.Operands(), n.Sliced()
	b := p.Builder(n)
	if k, known := n.Length().IsConst(); known && k == 1 {
		for k, i := range floats(operands[:m]) {
			if p.wants(operands[i]) {
				p.Add(operands[i], tangents[k])
			}
		}
		return
	}
	all := sym.Sub(n.Length(), sym.C(1))
	part := func(x *graph.Node, from int) *graph.Node {
		return b.Emit(ops.Narrow, x, sym.C(0), sym.C(from), all).(*graph.Node)
	}
	s := &backScan{body: twice(n.Flow.Bodies[0]), rest: operands[m:], carry: floats(operands[:m])}
	items := &graph.Builder{G: p.G, Before: n.Next(), Stack: n.Stack, NoGrad: n.NoGrad}
	for i := range m {
		s.sliced = append(s.sliced, part(items.Item(n, i), 0))
	}
	for i := range m {
		s.sliced = append(s.sliced, part(operands[i], 1))
	}
	for _, t := range tangents {
		row := graph.SliceMeta(t.TensorMeta())
		s.first = append(s.first, b.Emit(ops.Full, row.Shape, 0.0, row.DType, row.Device))
		s.results = append(s.results, part(t, 1))
	}
	for i, x := range operands {
		if p.wants(x) {
			s.wanted = append(s.wanted, m+i)
		}
	}
	carried, others := s.append(p, n)
	b = p.Builder(n)
	for j, i := range s.wanted {
		d := others[j]
		if k := slices.Index(s.carry, i-m); k >= 0 {
			first := b.Emit(ops.Add, carried[k], b.Emit(ops.Select, tangents[k], sym.C(0), sym.C(0)))
			d = b.Emit(ops.Cat, []ops.Value{b.Emit(ops.Unsqueeze, first, sym.C(0)), d}, sym.C(0))
		}
		p.Add(operands[i-m], d)
	}
}

// floats are the places of floats among some values.
func floats(ns []*graph.Node) []int {
	var out []int
	for i, x := range ns {
		if x.TensorMeta().DType.IsFloat() {
			out = append(out, i)
		}
	}
	return out
}

// twice is a body that gives everything twice: to the next call, and to be stacked.
func twice(body *graph.Graph) *graph.Graph {
	g, _ := body.Clone(body.Name)
	args := g.Outputs()
	g.OutputNode().SetArgs(append(args[:len(args):len(args)], args...))
	return g
}
