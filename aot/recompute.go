package aot

import (
	"slices"

	"tcdbg/aot/remat"
	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
)

// This file decides which forward values are kept for the backward graph and which operators run
// again in it (rematerialisation): package remat finds the choice, here is what it chooses among.

// choice is what the backward graph gets from the forward graph and what it computes again.
type choice struct {
	saved   []*graph.Node
	again   map[*graph.Node]bool
	counted map[*graph.Node]bool
	size    logs.SavedValues // what the trace says of it
}

// rematerialiser looks at one joint graph.
type rematerialiser struct {
	j          *joint
	late, need map[*graph.Node]bool
	nodes      []*graph.Node // of the forward part, in order
	index      map[*graph.Node]int
	wanted     map[*graph.Node]bool // forward values that a derivative reads
	forward    *kernels
	stored     map[*graph.Node]bool // the forward graph writes them to memory in any case
	readers    map[*graph.Node]*readers
	held       map[*graph.Node]bool // the program has them and may change them
	forwards   map[*graph.Node]bool // the forward graph computes them in any case
}

// choose decides for a budget: the part of the bytes that the choice of least time saves.
func (j *joint) choose(late, need map[*graph.Node]bool, read []*graph.Node, budget float64) *choice {
	r := &rematerialiser{
		j: j, late: late, need: need, index: map[*graph.Node]int{}, wanted: map[*graph.Node]bool{}, stored: map[*graph.Node]bool{},
		readers: map[*graph.Node]*readers{}, held: map[*graph.Node]bool{}, forwards: map[*graph.Node]bool{},
	}
	for _, n := range read {
		r.wanted[n] = true
	}
	for n := j.g.First(); n != nil; n = n.Next() {
		if !late[n] {
			r.index[n] = len(r.nodes)
			r.nodes = append(r.nodes, n)
		}
	}
	r.look()
	r.ofForward()
	values := r.values(false)
	best := remat.Choose(values)
	size := logs.SavedValues{Budget: budget, Read: r.readBytes(values)}
	if budget < 1 {
		size.Limit = int64(budget * float64(best.Memory))
		var fits bool
		best, fits = remat.Within(r.values(true), size.Limit)
		size.Over = !fits
	}
	return r.choice(best, size)
}

// look finds who reads what in which kernel.
func (r *rematerialiser) look() {
	r.forward = kernelsOf(r.nodes, func(*graph.Node) bool { return false })
	for _, n := range r.nodes {
		for _, in := range n.Inputs() {
			if x := r.forward.root(in); r.forward.kind[n] != viewing && r.forward.at[n] > r.forward.at[x] {
				r.stored[x] = true
			}
		}
	}
	hold := func(n *graph.Node) { r.held[r.forward.root(n)], r.stored[r.forward.root(n)] = true, true }
	for _, n := range r.j.inputs {
		hold(n)
	}
	for _, a := range r.j.outs {
		if n, ok := a.(*graph.Node); ok && !r.late[n] {
			hold(n)
		}
	}
	var after []*graph.Node
	for n := r.j.g.First(); n != nil; n = n.Next() {
		if r.late[n] && r.need[n] {
			after = append(after, n)
		}
	}
	backward := kernelsOf(after, func(*graph.Node) bool { return false })
	for _, n := range after {
		for _, in := range n.Inputs() {
			if !r.late[in] {
				r.reader(in, backward.at[n], backward.kind[n])
				if x := r.forward.root(in); x != in {
					r.reader(x, backward.at[n], backward.kind[n])
				}
			}
		}
	}
}

func (r *rematerialiser) reader(n *graph.Node, kernel int, s loopKind) {
	if r.readers[n] == nil {
		r.readers[n] = &readers{}
	}
	r.readers[n].add(kernel, s)
}

// values are the forward nodes as remat takes them; all: operators that take long may run again, too.
func (r *rematerialiser) values(all bool) []remat.Value {
	open := r.readByDerivatives()
	out := make([]remat.Value, len(r.nodes))
	for i, n := range r.nodes {
		v := &out[i]
		base := r.forward.root(n)
		for _, in := range n.Inputs() {
			v.From = append(v.From, r.index[in])
		}
		v.Wanted, v.Again, v.Keep = r.wanted[n], r.again(n, all), r.keep(n)
		if !r.held[base] {
			v.Memory = bytesOf(base)
		} else if !open[base] && !r.j.one {
			v.Keep = remat.Never
		}
	}
	return out
}

// readByDerivatives are values, by whose memory they show, that derivative rules read: eager mode
// keeps them, so that the program may not change them before the backward pass either way.
func (r *rematerialiser) readByDerivatives() map[*graph.Node]bool {
	open := map[*graph.Node]bool{}
	for n := range r.wanted {
		open[r.forward.root(n)] = true
	}
	for n := r.j.last.Next(); n != nil; n = n.Next() {
		for _, in := range n.Inputs() {
			if r.need[n] && !r.late[in] {
				open[r.forward.root(in)] = true
			}
		}
	}
	return open
}

// keep is the time in which n is written for the backward graph, and read there.
func (r *rematerialiser) keep(n *graph.Node) int64 {
	if _, several := n.Meta.([]ops.Result); several {
		return remat.Never
	}
	times := int64(1)
	if x := r.readers[n]; x != nil {
		times = int64(len(x.kernels))
	}
	if !r.stored[r.forward.root(n)] {
		times++
	}
	cost := times * bytesOf(n)
	if !r.forwards[n] {
		cost += computing(n)
	}
	return cost
}

// ofForward marks what the results of the forward graph are computed from. What derivatives alone read, as the exponential of
// log_softmax, is computed for them wherever that is.
func (r *rematerialiser) ofForward() {
	for _, a := range r.j.outs {
		if n, ok := a.(*graph.Node); ok {
			r.forwards[n] = true
		}
	}
	for _, n := range r.nodes { // without a result of its own a forward part is there for what is not computed again
		if r.j.one && r.need[n] && r.again(n, false) == remat.Never {
			r.forwards[n] = true
		}
	}
	for _, n := range slices.Backward(r.nodes) {
		for _, in := range n.Inputs() {
			r.forwards[in] = r.forwards[in] || r.forwards[n]
		}
	}
}

// again is the time in which the backward graph computes n once more, with what it is computed from
// at hand. What several of its kernels read is written to memory there.
func (r *rematerialiser) again(n *graph.Node, all bool) int64 {
	row := n.OpRow()
	s := r.forward.kind[n]
	switch {
	case n.Kind == graph.Placeholder, n.Flow != nil, n.IsResultOfFlow():
		return remat.Never
	case row != nil && row.Tags&(ops.TagRandom|ops.TagInPlace|ops.TagMutates|ops.TagDataDependent) != 0:
		return remat.Never
	case s == viewing, s == making:
		return 0
	case s != pointwise && !all:
		return remat.Never
	}
	cost := computing(n)
	if x := r.readers[n]; x != nil && (len(x.kernels) > 1 || x.heavy) {
		cost += int64(len(x.kernels)) * bytesOf(n)
	}
	return cost
}

// count adds what is saved, and nobody has besides, to the size of a choice; views of one memory once.
func (r *rematerialiser) count(c *choice, n *graph.Node) {
	base := r.forward.root(n)
	if r.held[base] || c.counted[base] {
		return
	}
	c.counted[base] = true
	c.size.Values++
	c.size.Bytes += bytesOf(base)
}

// readBytes are the bytes between the passes if every value that is read were kept.
func (r *rematerialiser) readBytes(values []remat.Value) int64 {
	sum := int64(0)
	counted := map[*graph.Node]bool{}
	for i := range values {
		if base := r.forward.root(r.nodes[i]); values[i].Wanted && !counted[base] {
			counted[base] = true
			sum += values[i].Memory
		}
	}
	return sum
}

// choice is the remat choice in nodes: what is saved in the order in which it is read first, and of
// the operators those that something in the backward graph needs.
func (r *rematerialiser) choice(best *remat.Choice, size logs.SavedValues) *choice {
	c := &choice{again: map[*graph.Node]bool{}, counted: map[*graph.Node]bool{}, size: size}
	used := make([]bool, len(r.nodes))
	for i := len(r.nodes) - 1; i >= 0; i-- {
		n := r.nodes[i]
		if used[i] = used[i] || r.wanted[n]; !used[i] || best.Kept[i] {
			continue
		}
		c.again[n] = true
		if r.forward.kind[n] != viewing {
			c.size.Again++
		}
		for _, in := range n.Inputs() {
			used[r.index[in]] = true
		}
	}
	seen := map[*graph.Node]bool{}
	var save func(n *graph.Node)
	save = func(n *graph.Node) {
		if seen[n] || r.late[n] {
			return
		}
		seen[n] = true
		if !c.again[n] {
			c.saved = append(c.saved, n)
			r.count(c, n)
			return
		}
		for _, in := range n.Inputs() {
			save(in)
		}
	}
	for n := r.j.g.First(); n != nil; n = n.Next() {
		if r.late[n] && r.need[n] {
			for _, in := range n.Inputs() {
				save(in)
			}
		}
	}
	for _, d := range r.j.grads {
		if n, ok := d.(*graph.Node); ok {
			save(n)
		}
	}
	return c
}
