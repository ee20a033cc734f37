package sched

import (
	"cmp"
	"fmt"
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/ops/sym"
)

// This file decides whether the loops of two groups can be the same loops. An
// address that both use (the pivot) shows which loops correspond; loops of
// different sizes are split until they match, so that (4, 8, 16) and (32, 16)
// meet at (4, 8, 16). Addresses stay affine throughout, since loops are only
// ever split.

// union is how two groups share loops.
type union struct {
	vars   []Var
	ta, tb transform
	// aInner and bInner tell whether the pointwise nodes of a, of b walk the
	// inner loops; they hold for groups that have no reduction of their own.
	aInner, bInner bool
}

// fusionRefusal says in PyTorch's words and in a sentence why groups do not share loops.
type fusionRefusal struct{ reason, why string }

// pivots finds the pairs of addresses into a common buffer, best first.
func pivots(a, b *Group) []pivot {
	var out []pivot
	bs := b.accesses()
	for _, x := range a.accesses() {
		for _, y := range bs {
			if x.buf != y.buf || x.index == nil || y.index == nil || x.write && y.write {
				continue
			}
			p := pivot{x: *x.index, y: *y.index, buf: x.buf, write: x.write || y.write}
			p.rank = 4 * min(used(p.x), used(p.y))
			if p.write {
				p.rank += 2
			}
			if used(p.x) == used(p.y) {
				p.rank++
			}
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(p, q pivot) int { return q.rank - p.rank })
	return out
}

type pivot struct {
	x, y ir.Index
	buf  *ir.Buffer
	// write: one side writes what the other reads.
	write bool
	rank  int
}

func used(x ir.Index) int {
	n := 0
	for k := range x.Coef {
		if x.Uses(k) {
			n++
		}
	}
	return n
}

// unify finds common loops for a and b, where neither is extern.
func unify(a, b *Group) (*union, *fusionRefusal) {
	ps := pivots(a, b)
	if len(ps) == 0 {
		return nil, &fusionRefusal{"no shared data due to indexing mismatch", "no buffer is addressed by loops of both"}
	}
	m := &matcher{a: a, b: b}
	if !m.match(ps[0]) {
		reason := "no shared data due to indexing mismatch"
		if ps[0].write {
			reason = "memory deps did not match"
		}
		return nil, &fusionRefusal{
			reason,
			fmt.Sprintf("the loops %s and %s do not access %s alike: %s", a.Ranges(), b.Ranges(), ps[0].buf.Name, ps[0].told(a, b)),
		}
	}
	if f := m.leftovers(ps[0]); f != nil {
		return nil, f
	}
	u, f := m.union()
	if f != nil {
		return nil, f
	}
	return u, m.dependencies(u)
}

// matcher collects matched loops.
type matcher struct {
	a, b   *Group
	pieces []matched
	aInner bool
	bInner bool
}

// matched is a new loop: part of loop av of a and of loop bv of b (-1: none).
type matched struct {
	size   sym.Int
	av, bv int
	am, bm sym.Int // how much one step of it advances av, bv
}

// part is what is left of a loop while it is being split from its inner end.
type part struct {
	v          int
	size       sym.Int
	mult, coef sym.Int
}

func parts(g *Group, x ir.Index, wantUsed bool) []part {
	var out []part
	for k := range g.Vars {
		if x.Uses(k) == wantUsed && !sym.Is(g.Vars[k].Size, 1) {
			p := part{v: k, size: g.Vars[k].Size, mult: sym.Const(1)}
			if wantUsed {
				p.coef = x.Coef[k]
			}
			out = append(out, p)
		}
	}
	if wantUsed {
		slices.SortStableFunc(out, func(p, q part) int { return cmp.Compare(abs64(ir.HintOf(p.coef)), abs64(ir.HintOf(q.coef))) })
		return out
	}
	slices.Reverse(out)
	return out
}

func abs64(a int64) int64 { return max(a, -a) }

// match finds the loops by which both walk the pivot. A loop of length one walks nothing: a
// template keeps its columns as one.
func (m *matcher) match(p pivot) bool {
	m.single(m.a, false)
	m.single(m.b, true)
	return m.zip(parts(m.a, p.x, true), parts(m.b, p.y, true), true)
}

// zip splits the loops of both lists, innermost first, into common ones.
func (m *matcher) zip(xs, ys []part, strict bool) bool {
	i, j := 0, 0
	for i < len(xs) && j < len(ys) {
		x, y := &xs[i], &ys[j]
		if strict && !sym.Same(x.coef, y.coef) {
			return false
		}
		size, ok := common(x.size, y.size)
		if !ok {
			return false
		}
		m.pieces = append(m.pieces, matched{size, x.v, y.v, x.mult, y.mult})
		if !x.take(size) {
			i++
		}
		if !y.take(size) {
			j++
		}
	}
	return i == len(xs) && j == len(ys)
}

// common is the size of the innermost loop into which both can be split.
func common(x, y sym.Int) (sym.Int, bool) {
	switch {
	case sym.Same(x, y):
		return x, true
	case sym.Is(x, 0) || sym.Is(y, 0):
		return sym.Int{}, false
	case sym.Is(sym.Mod(x, y), 0):
		return y, true
	case sym.Is(sym.Mod(y, x), 0):
		return x, true
	}
	return sym.Int{}, false
}

// take removes the innermost size iterations' worth; false when none is left.
func (p *part) take(size sym.Int) bool {
	if sym.Same(p.size, size) {
		return false
	}
	p.size = sym.FloorDiv(p.size, size)
	p.mult = sym.Mul(p.mult, size)
	p.coef = sym.Mul(p.coef, size)
	return true
}

// leftovers deals with loops that the pivot does not depend on: those of a
// reduction whose result is read, or those along which both broadcast.
func (m *matcher) leftovers(p pivot) *fusionRefusal {
	m.aInner, m.bInner = true, true
	xs, ys := parts(m.a, p.x, false), parts(m.b, p.y, false)
	switch {
	case len(xs) == 0 && len(ys) == 0:
		return nil
	case len(xs) > 0 && len(ys) > 0:
		if !m.zip(xs, ys, false) {
			return m.sizes()
		}
		return nil
	case len(ys) == 0:
		if m.b.typed() || m.onInner(m.a, false) || !m.keep(m.a, xs, false) {
			return m.sizes()
		}
		m.bInner = false
	default:
		if m.a.typed() || m.onInner(m.b, true) || !m.keep(m.b, ys, true) {
			return m.sizes()
		}
		m.aInner = false
	}
	return nil
}

// onInner reports whether a loop matched so far is an inner one of g: what
// walks some of the inner loops only can run neither inside nor outside them.
func (m *matcher) onInner(g *Group, second bool) bool {
	return slices.ContainsFunc(m.pieces, func(p matched) bool {
		v := p.av
		if second {
			v = p.bv
		}
		return v >= 0 && g.Vars[v].Inner // a loop of length one is of one side alone
	})
}

func (m *matcher) sizes() *fusionRefusal {
	return &fusionRefusal{
		"nodes numel/rnumel incompatibility",
		fmt.Sprintf("the loops are %s and %s", m.a.Ranges(), m.b.Ranges()),
	}
}

// keep takes over loops of one side alone; all must be inner.
func (m *matcher) keep(g *Group, ps []part, second bool) bool {
	for _, p := range ps {
		if !g.Vars[p.v].Inner {
			return false
		}
		x := matched{p.size, p.v, -1, sym.Const(1), sym.Int{}}
		if second {
			x = matched{p.size, -1, p.v, sym.Int{}, sym.Const(1)}
		}
		m.pieces = append(m.pieces, x)
	}
	return true
}

// single takes over the loops of one side that have the length one.
func (m *matcher) single(g *Group, second bool) {
	for k, v := range g.Vars {
		if !sym.Is(v.Size, 1) {
			continue
		}
		x := matched{v.Size, k, -1, sym.Const(1), sym.Int{}}
		if second {
			x = matched{v.Size, -1, k, sym.Int{}, sym.Const(1)}
		}
		m.pieces = append(m.pieces, x)
	}
}

// union labels the new loops and builds the transforms.
func (m *matcher) union() (*union, *fusionRefusal) {
	u := &union{ta: make(transform, len(m.a.Vars)), tb: make(transform, len(m.b.Vars)), aInner: m.aInner, bInner: m.bInner}
	slices.Reverse(m.pieces) // outermost first
	at, bt := m.a.typed(), m.b.typed()
	for k, p := range m.pieces {
		v := Var{Size: p.size}
		if p.av >= 0 {
			u.ta[p.av] = append(u.ta[p.av], piece{k, p.am})
			v.Inner = m.a.Vars[p.av].Inner
			v.Col = m.a.Vars[p.av].Col
		}
		if p.bv >= 0 {
			u.tb[p.bv] = append(u.tb[p.bv], piece{k, p.bm})
			inner := m.b.Vars[p.bv].Inner
			if at && bt && p.av >= 0 && inner != v.Inner {
				return nil, &fusionRefusal{
					"numel/rnumel mismatch (reduce)",
					fmt.Sprintf("a loop that is reduced in one is not in the other: %s and %s", m.a.Ranges(), m.b.Ranges()),
				}
			}
			v.Inner = v.Inner || inner
			v.Col = v.Col || m.b.Vars[p.bv].Col
		}
		u.vars = append(u.vars, v)
	}
	return u, nil
}

// dependencies checks that every buffer that one writes and the other reads is
// addressed alike, so that the value is there in the same iteration.
func (m *matcher) dependencies(u *union) *fusionRefusal {
	bs := m.b.accesses()
	for _, x := range m.a.accesses() {
		for _, y := range bs {
			if x.buf != y.buf || x.write == y.write {
				continue
			}
			if x.index == nil || y.index == nil || !u.place(u.ta, *x.index).Equal(u.place(u.tb, *y.index)) {
				return &fusionRefusal{
					"memory deps did not match",
					fmt.Sprintf("%s is written and read at different addresses in one iteration: %s", x.buf.Name, told(m.a, m.b, x, y)),
				}
			}
		}
	}
	return nil
}

// place is an address over the new loops, of which those of length one do not move it.
func (u *union) place(t transform, x ir.Index) ir.Index {
	at := t.apply(x, len(u.vars))
	for k, v := range u.vars {
		if sym.Is(v.Size, 1) {
			at.Coef[k] = sym.Const(0)
		}
	}
	return at
}

// join fuses b into a along u.
func (u *union) join(a, b *Group) {
	at, bt := a.typed(), b.typed()
	a.rewrite(u.ta, len(u.vars))
	b.rewrite(u.tb, len(u.vars))
	typed := slices.ContainsFunc(u.vars, func(v Var) bool { return v.Inner })
	mark := func(g *Group, wasTyped, inner bool) {
		for _, it := range g.Items {
			if !wasTyped && typed {
				it.Inner = inner
			}
		}
	}
	mark(a, at, u.aInner)
	mark(b, bt, u.bInner)
	a.Vars = u.vars
	merge(a, b)
	a.Template = a.Template || b.Template
}

// follow renumbers the new loops in the order of a's, whose rows a template
// counts; the pivot may have been another buffer, which is walked in another
// order. It reports whether a has all loops that are longer than one.
func (u *union) follow(a *Group) bool {
	order := make([]int, 0, len(u.vars)) // old numbers by new ones
	seen := make([]bool, len(u.vars))
	for v := range a.Vars {
		for _, p := range u.ta[v] {
			order = append(order, p.v)
			seen[p.v] = true
		}
	}
	for k, v := range u.vars {
		if seen[k] {
			continue
		}
		if !sym.Is(v.Size, 1) {
			return false
		}
		order = append([]int{k}, order...)
	}
	vars, number := make([]Var, len(order)), make([]int, len(order))
	for i, k := range order {
		vars[i], number[k] = u.vars[k], i
	}
	u.vars = vars
	for _, t := range []transform{u.ta, u.tb} {
		for _, pieces := range t {
			for i := range pieces {
				pieces[i].v = number[pieces[i].v]
			}
		}
	}
	return true
}
