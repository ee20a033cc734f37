// Package remat decides which values of a forward pass are kept for the backward pass and which
// the backward pass computes again (rematerialisation). Choose looks for the least time, by a
// smallest cut; Within for little time in a bounded memory.
//
// A value is in one of three states. Kept: the backward pass reads it, which costs Keep.
// Computed again: it costs Again, and what it is computed from has to be there as well. Neither.
// As a network each value is two nodes: the edge between them is Keep, one from the source to the
// first is Again, and one from a value to what is computed from it cannot be cut. What lies on the
// sink's side of a smallest cut is computed again; edges between the two nodes of a value that the
// cut crosses are what is kept. (Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016,
// has the idea to compute again; the cut is Inductor's, with a price for computing.)
//
// It imports nothing of ours. Open this file first, then flow.go.
package remat

import (
	"cmp"
	"math"
	"slices"
)

// Never is a cost that is too high for anything.
const Never = -1

// Value is a value of the forward pass. Values are listed after those that they are computed from.
type Value struct {
	From []int // values that it is computed from
	// Keep is what it costs to keep it, Again what it costs to compute it once more, in one
	// unit of time; Never where that cannot be.
	Keep, Again int64
	Memory      int64 // bytes that it holds between the passes if it is kept
	Wanted      bool  // the backward pass reads it
}

// Choice is what becomes of each value.
type Choice struct {
	Kept, Again []bool // [] /* value */
	Memory      int64  // bytes of what is kept
	Cost        int64  // of computing again
}

// cheap is the price of a byte of memory, in units of time, where time is what counts: between
// choices that take about as long the smaller one is taken. At dear nothing else counts.
const (
	cheap = 1.0 / 16
	dear  = 1 << 20
)

// Choose is the choice that takes the least time.
func Choose(values []Value) *Choice { return choose(values, cheap) }

// Within is a choice that keeps no more than limit bytes, or the one that keeps the least; fits
// tells which. Of the choices that a price for memory leads to it is the fastest that fits, and what
// room that leaves goes to values that take long to compute again. (This is a Lagrangian
// relaxation of the knapsack; what is best for each number of bytes may lie between two prices.)
func Within(values []Value, limit int64) (c *Choice, fits bool) {
	low, high := float64(cheap), float64(dear)
	if c = choose(values, low); c.Memory <= limit {
		return c, true
	}
	values = unequal(values)
	if c = choose(values, high); c.Memory > limit {
		return c, false
	}
	for high > low*1.00001 { // low keeps too much, high does not
		mid := math.Sqrt(low * high)
		if m := choose(values, mid); m.Memory <= limit {
			high, c = mid, m
		} else {
			low = mid
		}
	}
	c.fill(values, limit)
	return c, true
}

// unequal makes equal layers of a network differ a little, else one price would keep all of them or
// none. The first ones are computed again rather than the last: that comes when most of the memory
// of the backward pass is free.
func unequal(values []Value) []Value {
	out := slices.Clone(values)
	for i := range out {
		if v := &out[i]; v.Again > 0 {
			v.Again += v.Again * int64(i) / int64(20*len(out))
		}
	}
	return out
}

// fill keeps more values as long as they fit, first those that take longest for their memory.
func (c *Choice) fill(values []Value, limit int64) {
	var list []int
	for i, v := range values {
		if c.Again[i] && v.Keep != Never && v.Again > v.Keep && v.Memory > 0 {
			list = append(list, i)
		}
	}
	worth := func(i int) float64 { return float64(values[i].Again) / float64(values[i].Memory) }
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(worth(b), worth(a)) })
	for _, i := range list {
		if v := values[i]; c.Memory+v.Memory <= limit {
			c.Kept[i], c.Again[i] = true, false
			c.Memory += v.Memory
			c.Cost -= v.Again
		}
	}
}

// choose is the choice of least time where a byte that is kept costs so much time.
func choose(values []Value, price float64) *Choice {
	needed := reaches(values)
	source, sink := 2*len(values), 2*len(values)+1
	w := newNetwork(2*len(values)+2, 4*len(values))
	for i := range values {
		if v := &values[i]; needed[i] {
			w.edge(2*i, 2*i+1, capacity(v.Keep)+price*float64(v.Memory))
			w.edge(source, 2*i, capacity(v.Again))
			for _, j := range v.From {
				w.edge(2*j+1, 2*i, never)
			}
			if v.Wanted {
				w.edge(2*i+1, sink, never)
			}
		}
	}
	early := w.cut(source, sink)
	c := &Choice{Kept: make([]bool, len(values)), Again: make([]bool, len(values))}
	for i := range values {
		if !needed[i] || early[2*i+1] {
			continue
		}
		if early[2*i] {
			c.Kept[i] = true
			c.Memory += values[i].Memory
		} else {
			c.Again[i] = true
			c.Cost += max(values[i].Again, 0)
		}
	}
	return c
}

func capacity(cost int64) float64 {
	if cost == Never {
		return never
	}
	return float64(cost)
}

// reaches marks the values that wanted ones are computed from, and these.
func reaches(values []Value) []bool {
	out := make([]bool, len(values))
	for i := len(values) - 1; i >= 0; i-- {
		out[i] = out[i] || values[i].Wanted
		if out[i] {
			for _, j := range values[i].From {
				out[j] = true
			}
		}
	}
	return out
}
