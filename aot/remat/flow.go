package remat

import "math"

// This file finds a greatest flow through a network and with it a smallest cut, by Dinic's
// algorithm: rounds of flows along shortest ways that block each other.

// never is the capacity of an edge that no cut may cross.
var never = math.Inf(1)

// network is a directed graph with capacities. Edges 2k and 2k+1 are each other's reverse.
type network struct {
	first []int32 // [] /* node */ its last edge, -1 for none
	next  []int32 // [] /* edge */ the one before it of the same node
	to    []int32
	room  []float64 // [] /* edge */ capacity that is left
}

func newNetwork(nodes, edges int) *network {
	w := &network{
		first: make([]int32, nodes), next: make([]int32, 0, 2*edges), to: make([]int32, 0, 2*edges), room: make([]float64, 0, 2*edges),
	}
	for i := range w.first {
		w.first[i] = -1
	}
	return w
}

func (w *network) edge(from, to int, capacity float64) {
	for _, e := range [][2]int{{from, to}, {to, from}} {
		w.next = append(w.next, w.first[e[0]])
		w.first[e[0]] = int32(len(w.to))
		w.to = append(w.to, int32(e[1]))
		w.room = append(w.room, capacity)
		capacity = 0
	}
}

// cut saturates the network and returns the nodes that can still be reached from s: of all smallest
// cuts the one that is nearest to s.
func (w *network) cut(s, t int) []bool {
	level := make([]int32, len(w.first))
	for w.levels(s, t, level) {
		w.block(s, t, level)
	}
	reached := make([]bool, len(level))
	for i, l := range level {
		reached[i] = l >= 0
	}
	return reached
}

// levels finds the distance of each node from s, -1 for those that are not reached, and reports
// whether t is.
func (w *network) levels(s, t int, level []int32) bool {
	for i := range level {
		level[i] = -1
	}
	level[s] = 0
	queue := []int32{int32(s)}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for e := w.first[n]; e >= 0; e = w.next[e] {
			if m := w.to[e]; w.room[e] > 0 && level[m] < 0 {
				level[m] = level[n] + 1
				queue = append(queue, m)
			}
		}
	}
	return level[t] >= 0
}

// block sends flow along shortest ways until each has a full edge. It keeps the way that it is on:
// after a flow it goes on from the first full edge.
func (w *network) block(s, t int, level []int32) {
	at := append([]int32(nil), w.first...) // [] /* node */ the edge to try next
	var way []int32
	for n := int32(s); ; {
		if n == int32(t) {
			n = w.send(&way)
			continue
		}
		e := at[n]
		for e >= 0 && (w.room[e] == 0 || level[w.to[e]] != level[n]+1) {
			e = w.next[e]
		}
		at[n] = e
		switch {
		case e >= 0:
			way = append(way, e)
			n = w.to[e]
		case len(way) == 0:
			return
		default: // a dead end
			back := way[len(way)-1]
			way = way[:len(way)-1]
			n = w.to[back^1]
			at[n] = w.next[back]
		}
	}
}

// send sends what fits along a way, shortens it to what comes before its first full edge, and
// returns the node where it ends then.
func (w *network) send(way *[]int32) int32 {
	least := never
	for _, e := range *way {
		least = min(least, w.room[e])
	}
	full := -1
	for i, e := range *way {
		w.room[e] -= least
		w.room[e^1] += least
		if full < 0 && w.room[e] == 0 {
			full = i
		}
	}
	e := (*way)[full]
	*way = (*way)[:full]
	return w.to[e^1]
}
