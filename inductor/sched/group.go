// Package sched decides what runs together: it builds groups of loop nodes,
// fuses them (vertically along a buffer, horizontally along a shared input, as
// epilogue of a template), orders them, turns each group into a kernel and plans
// the memory of what lies between. Every decision is recorded.
//
// It imports ir, ops, sym and logs; never codegen. Open fuse.go first (the
// rounds), then unify.go (when two loop nests are one), kernel.go and plan.go.
package sched

import (
	"slices"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/ops/sym"
)

// Var is a loop of a group. Loops of one iteration do not exist.
type Var struct {
	Size  sym.Int
	Inner bool // walked by a reduction
	Col   bool // the column loop of a template
}

// Item is a node in a group, its body rewritten over the group's loops.
type Item struct {
	Node  *ir.Node
	Body  []ir.Value
	Out   ir.Index // of a template: address of its result
	Inner bool     // walks the inner loops; else it runs once an outer iteration
}

// Group is a set of nodes that becomes one kernel or one extern call.
type Group struct {
	Vars     []Var
	Items    []*Item
	Template bool
	Extern   bool
	Hoisted  bool // depends on parameters alone
	// Before makes the image of the template, in loops of its own: images, blocks of channels,
	// pixels and the channels of a block. Nil for none.
	Before *Group

	first, last int // range of program positions
	preds       map[*Group]bool
	succs       map[*Group]bool
	dead        bool // merged into another group
	name        string
	named       int      // items when name was made
	uses        []access // what accesses found; nil where g has changed since
	place       int      // in the topological order
	visited     int      // stamp of the last search that came by
}

// access is one use of a buffer by a group.
type access struct {
	buf   *ir.Buffer
	index *ir.Index // nil: the whole buffer in an order of its own
	write bool
}

// newGroup makes the group of one node.
func newGroup(n *ir.Node, at int) *Group {
	g := &Group{
		Template: n.Kind == ir.Matmul, Extern: n.Kind == ir.Extern, first: at, last: at,
		Hoisted: n.Hoisted, preds: map[*Group]bool{}, succs: map[*Group]bool{},
	}
	it := &Item{Node: n, Inner: n.Kind == ir.Reduction || n.Kind == ir.Sequential, Body: n.Body}
	if n.Kind == ir.Matmul {
		it.Out = n.MM.OutIdx
	}
	old := make([]Var, 0, len(n.Outer)+len(n.Inner))
	for k, s := range n.Outer {
		old = append(old, Var{Size: s, Col: g.Template && k == len(n.Outer)-1})
	}
	for _, s := range n.Inner {
		old = append(old, Var{Size: s, Inner: true})
	}
	g.Items = []*Item{it}
	t := make(transform, len(old))
	for k, v := range old {
		if sym.Is(v.Size, 1) && !v.Col {
			continue
		}
		t[k] = []piece{{len(g.Vars), sym.Const(1)}}
		g.Vars = append(g.Vars, v)
	}
	g.rewrite(t, len(g.Vars))
	return g
}

// piece says that a loop contributes mult times the new loop v.
type piece struct {
	v    int
	mult sym.Int
}

// transform expresses each old loop as a sum of new ones.
type transform [][]piece

// rewrite expresses all addresses of g over n new loops.
func (g *Group) rewrite(t transform, n int) {
	g.uses = nil
	for _, it := range g.Items {
		body := make([]ir.Value, len(it.Body))
		copy(body, it.Body)
		for i := range body {
			if len(body[i].Index.Coef) > 0 || body[i].Accesses() || body[i].Op == ir.IndexOf {
				body[i].Index = t.apply(body[i].Index, n)
			}
		}
		it.Body = body
		if it.Node.Kind == ir.Matmul {
			it.Out = t.apply(it.Out, n)
		}
	}
}

func (t transform) apply(x ir.Index, n int) ir.Index {
	y := ir.Index{Off: x.Off, Coef: make([]sym.Int, n)}
	for k, c := range x.Coef {
		if sym.Is(c, 0) {
			continue
		}
		for _, p := range t[k] {
			y.Coef[p.v] = sym.Add(y.Coef[p.v], sym.Mul(c, p.mult))
		}
	}
	return y
}

// accesses lists how g uses buffers. It is asked of every pair that is tried, and kept until g changes.
func (g *Group) accesses() []access {
	if g.uses != nil {
		return g.uses
	}
	var out []access
	if g.Before != nil {
		for _, x := range g.Before.accesses() {
			out = append(out, access{buf: x.buf, write: x.write})
		}
	}
	for _, it := range g.Items {
		out = it.accesses(out)
	}
	g.uses = out
	return out
}

// accesses adds how a node uses buffers.
func (it *Item) accesses(out []access) []access {
	switch it.Node.Kind {
	case ir.Matmul:
		out = append(out, access{buf: it.Node.MM.A}, access{buf: it.Node.MM.B}, access{it.Node.MM.Out, &it.Out, true})
	case ir.Extern:
		it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) { out = append(out, access{buf: b}) })
		it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { out = append(out, access{buf: b, write: true}) })
	}
	for i := range it.Body {
		switch v := &it.Body[i]; v.Op {
		case ir.Load, ir.Store:
			out = append(out, access{v.Buf, &v.Index, v.Op == ir.Store})
		case ir.LoadAt:
			out = append(out, access{buf: v.Buf})
		case ir.StoreAt, ir.FoldAt:
			out = append(out, access{buf: v.Buf}, access{buf: v.Buf, write: true})
		}
	}
	return out
}

// typed reports whether a reduction has divided the loops into outer and inner.
func (g *Group) typed() bool { return slices.ContainsFunc(g.Vars, func(v Var) bool { return v.Inner }) }

// sequential reports whether the inner loops must run in their order.
func (g *Group) sequential() bool {
	return slices.ContainsFunc(g.Items, func(it *Item) bool { return it.Node.Kind == ir.Sequential })
}

// Name joins the names of the nodes: op4_op5.
func (g *Group) Name() string {
	items := g.Members()
	if g.named == len(items) {
		return g.name
	}
	var parts []string
	for _, it := range items {
		parts = append(parts, it.Node.Name)
	}
	if len(parts) > 8 {
		parts = append(append(parts[:4:4], "to"), parts[len(parts)-3:]...)
	}
	g.name, g.named = strings.Join(parts, "_"), len(items)
	return g.name
}

// loops are the numbers of g's loops: parallel ones, then those of a reduction.
func (g *Group) loops() (outer, inner []int) {
	for k, v := range g.Vars {
		if v.Inner {
			inner = append(inner, k)
		} else {
			outer = append(outer, k)
		}
	}
	return outer, inner
}

// sizes are those of the loops with these numbers.
func (g *Group) sizes(loops []int) []sym.Int {
	out := make([]sym.Int, len(loops))
	for i, k := range loops {
		out[i] = g.Vars[k].Size
	}
	return out
}

// Ranges prints the loops for people: [4096 | 4096].
func (g *Group) Ranges() string {
	outer, inner := g.loops()
	s := listText(g.sizes(outer))
	if len(inner) > 0 {
		s += " | " + listText(g.sizes(inner))
	}
	return "[" + s + "]"
}

func listText(sizes []sym.Int) string {
	parts := make([]string, len(sizes))
	for i, x := range sizes {
		parts[i] = x.String()
	}
	return strings.Join(parts, ", ")
}

// link enters the dependencies between the groups of a program. Draws of the
// generator depend on those before them, which move its state.
func link(groups []*Group) {
	writers := map[*ir.Buffer][]*Group{}
	var draw *Group
	for _, g := range groups {
		if g.draws() {
			if draw != nil {
				g.preds[draw], draw.succs[g] = true, true
			}
			draw = g
		}
		for _, a := range g.accesses() {
			if !a.write {
				for _, w := range writers[a.buf] {
					if w != g {
						g.preds[w] = true
						w.succs[g] = true
					}
				}
			}
		}
		for _, a := range g.accesses() {
			if a.write {
				writers[a.buf] = append(writers[a.buf], g)
			}
		}
	}
}

// draws reports whether a group, which is a node still, asks the generator.
func (g *Group) draws() bool {
	x := g.Items[0].Node.Ext
	return x != nil && x.Reason == ir.ReasonRandom
}

// merge makes a the union of a and b.
func merge(a, b *Group) {
	a.Items, a.uses = append(a.Items, b.Items...), nil
	slices.SortStableFunc(a.Items, func(x, y *Item) int { return position(x) - position(y) })
	absorb(a, b)
}

// absorb gives a the place of b among the groups.
func absorb(a, b *Group) {
	a.first, a.last = min(a.first, b.first), max(a.last, b.last)
	for p := range b.preds {
		delete(p.succs, b)
		if p != a {
			a.preds[p] = true
			p.succs[a] = true
		}
	}
	for s := range b.succs {
		delete(s.preds, b)
		if s != a {
			a.succs[s] = true
			s.preds[a] = true
		}
	}
	delete(a.preds, b)
	delete(a.succs, b)
	b.dead = true
}

// position orders nodes as the program does: their names are numbered.
func position(it *Item) int {
	n := 0
	for _, c := range it.Node.Name[2:] {
		n = n*10 + int(c-'0')
	}
	return n
}

// String prints the group: its loops, and each node with its body over them.
func (g *Group) String() string { return string(g.Append(nil)) }

// Append is String at the end of b.
func (g *Group) Append(b []byte) []byte {
	b = append(append(append(b, g.Name()...), ' '), g.Ranges()...)
	b = append(b, '\n')
	if g.Before != nil {
		b = append(append(append(b, "  before it "...), g.Before.Ranges()...), '\n')
		b = g.Before.appendBodies(b)
	}
	return g.appendBodies(b)
}

// appendBodies prints the nodes with their bodies over the group's loops.
func (g *Group) appendBodies(b []byte) []byte {
	outer, inner := g.loops()
	order := slices.Concat(outer, inner)
	view := ir.Node{Outer: g.sizes(outer), Inner: g.sizes(inner)}
	for _, it := range g.Items {
		if it.Node.Kind == ir.Matmul || it.Node.Kind == ir.Extern {
			b = append(it.Node.AppendHead(append(b, "  "...)), '\n')
		}
		view.Body = slices.Clone(it.Body)
		for i := range view.Body {
			view.Body[i].Index = inOrder(view.Body[i].Index, order)
			b = append(append(append(b, "  "...), it.Node.Name...), ": "...)
			b = append(view.AppendValue(b, i), '\n')
		}
	}
	return b
}

// inOrder is the address x with its loops in another order.
func inOrder(x ir.Index, order []int) ir.Index {
	if len(x.Coef) == 0 {
		return x
	}
	y := ir.Index{Off: x.Off, Coef: make([]sym.Int, len(order))}
	for i, k := range order {
		y.Coef[i] = x.Coef[k]
	}
	return y
}

// TemplateNode is the node of a group that is a template; nil where there is none.
func (g *Group) TemplateNode() *ir.Node {
	for _, it := range g.Items {
		if it.Node.Kind == ir.Matmul {
			return it.Node
		}
	}
	return nil
}
