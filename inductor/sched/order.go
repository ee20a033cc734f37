package sched

// This file keeps the groups in a topological order while they are fused (a dynamic
// one, after Pearce and Kelly: only what lies between two places moves). It bounds
// searches: whatever lies between two groups
// in the dependencies lies between them in the order as well.

// topoOrder holds groups by Group.place; nil where one was merged away.
type topoOrder struct {
	groups []*Group
	stamp  int
}

func newTopoOrder(groups []*Group) *topoOrder {
	l := &topoOrder{groups: append([]*Group{}, groups...)}
	for i, g := range groups {
		g.place = i
	}
	return l
}

// between reports whether a path leads from one of a and b to the other through
// a third group.
func (l *topoOrder) between(a, b *Group) bool {
	if a.place > b.place {
		a, b = b, a
	}
	l.stamp++
	stack := []*Group{a}
	for len(stack) > 0 {
		g := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for s := range g.succs {
			switch {
			case s == b && g != a:
				return true
			case s.place >= b.place || s.visited == l.stamp:
			default:
				s.visited = l.stamp
				stack = append(stack, s)
			}
		}
	}
	return false
}

// merge makes room for the union of a and b, which no path may connect through a
// third group: what depends on the earlier one moves after the later one's
// place, all else before it.
func (l *topoOrder) merge(a, b *Group) {
	lo, hi := a, b
	if lo.place > hi.place {
		lo, hi = hi, lo
	}
	first, last := lo.place, hi.place
	l.between(lo, hi) // marks what depends on lo, up to hi
	var before, after []*Group
	for _, g := range l.groups[first+1 : last] {
		switch {
		case g == nil:
		case g.visited == l.stamp:
			after = append(after, g)
		default:
			before = append(before, g)
		}
	}
	at := first
	put := func(g *Group) {
		l.groups[at] = g
		g.place = at
		at++
	}
	for _, g := range before {
		put(g)
	}
	put(a)
	for _, g := range after {
		put(g)
	}
	for ; at <= last; at++ {
		l.groups[at] = nil
	}
}
