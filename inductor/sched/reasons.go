package sched

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/logs"
)

// This file words what the scheduler decided: which buffer, who writes it and who
// reads it, where, and from which lines of the program.

// sameLoops says which loops two groups share.
func sameLoops(a, b *Group) string {
	switch {
	case a.Ranges() != b.Ranges():
		return fmt.Sprintf("the loops %s and %s become the same", a.Ranges(), b.Ranges())
	case len(a.Vars) == 1 && !a.typed():
		return "both loop over " + a.Vars[0].Size.String() + " elements"
	}
	return "both loop over " + a.Ranges()
}

// told says who writes and who reads the buffer of a pivot.
func (p *pivot) told(a, b *Group) string {
	x, y := access{buf: p.buf, index: &p.x}, access{buf: p.buf, index: &p.y}
	x.write = p.write && a.writes(p.buf)
	y.write = p.write && !x.write
	return told(a, b, x, y)
}

// told says how a addresses a buffer as x, and b as y.
func told(a, b *Group, x, y access) string {
	return a.doing(x) + ", " + b.doing(y)
}

// writes says whether a group writes a buffer.
func (g *Group) writes(b *ir.Buffer) bool {
	for _, x := range g.accesses() {
		if x.buf == b && x.write {
			return true
		}
	}
	return false
}

// doing is "written at 4*i0 by add: model.go:3 y := x.Add(1)".
func (g *Group) doing(x access) string { return g.touching(x) + " by " + g.by(x) }

// touching is "written at [4*i0]".
func (g *Group) touching(x access) string {
	verb := "read"
	if x.write {
		verb = "written"
	}
	at := "as a whole"
	if x.index != nil {
		at = "at [" + g.address(*x.index) + "]"
	}
	return verb + " " + at
}

// address is an address over the group's loops: i0, i1, ... parallel ones, r0, ... those
// of a reduction.
func (g *Group) address(x ir.Index) string {
	outer, inner := g.loops()
	names := map[int]string{}
	for i, k := range outer {
		names[k] = "i" + strconv.Itoa(i)
	}
	for i, k := range inner {
		names[k] = "r" + strconv.Itoa(i)
	}
	return x.Text(func(k int) string { return names[k] })
}

// by names the first node of the group that accesses a buffer in this way, with the
// operator and the line that it comes from.
func (g *Group) by(x access) string {
	var room [16]access
	for _, it := range g.Items {
		for _, y := range it.accesses(room[:0]) {
			if y.buf == x.buf && y.write == x.write {
				if n := len(it.Node.Origins); n > 0 {
					return it.Node.Name + ", " + it.Node.Origins[n-1].Comment()
				}
				return it.Node.Name
			}
		}
	}
	return g.Name()
}

// maxUses is how many buffers of a refused pair are told.
const maxUses = 2

// sharedUses are the largest buffers that both groups use, with how each addresses it.
func sharedUses(a, b *Group) []logs.SharedUse {
	type both struct{ x, y access }
	var uses []both
	seen := map[*ir.Buffer]bool{}
	first := map[*ir.Buffer]access{}
	for _, y := range b.accesses() {
		if _, known := first[y.buf]; !known {
			first[y.buf] = y
		}
	}
	for _, x := range a.accesses() {
		if y, ok := first[x.buf]; ok && !seen[x.buf] {
			seen[x.buf] = true
			uses = append(uses, both{x, y})
		}
	}
	slices.SortStableFunc(uses, func(u, v both) int { return cmp.Compare(v.x.buf.Bytes(), u.x.buf.Bytes()) })
	var out []logs.SharedUse
	for _, u := range uses[:min(maxUses, len(uses))] {
		out = append(out, logs.SharedUse{
			Buffer: u.x.buf.Name, Bytes: u.x.buf.Bytes(), A: a.over(u.x), B: b.over(u.y),
		})
	}
	return out
}

// over is "written at [4*i0] over [8] by op1".
func (g *Group) over(x access) string {
	node, _, _ := strings.Cut(g.by(x), ",")
	return g.touching(x) + " over " + g.Ranges() + " by " + node
}
