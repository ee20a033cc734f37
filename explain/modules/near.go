package modules

// This file is what lies around a node.

// Way is the direction in which neighbours are looked for.
type Way int

// The directions.
const (
	Both Way = iota
	Upstream
	Downstream
)

// Near are the nodes within hops of a node, all of them where hops is 0. Parameters and buffers are left
// out, which every module has of its own; so is the output.
func (g *Graph) Near(node, hops int, way Way) map[int]bool {
	seen := map[int]bool{node: true}
	if way != Downstream {
		g.walk(seen, node, hops, g.args)
	}
	if way != Upstream {
		g.walk(seen, node, hops, g.users)
	}
	return seen
}

// walk adds what is reached from a node along edges.
func (g *Graph) walk(seen map[int]bool, from, hops int, edges [][]int32) {
	held := g.heldInputs()
	own := map[int]bool{from: true}
	front := []int{from}
	for step := 0; len(front) > 0 && (hops == 0 || step < hops); step++ {
		var next []int
		for _, i := range front {
			for _, j := range edges[i] {
				k := int(j)
				if own[k] || held[k] || g.Nodes[k].Op == "output" {
					continue
				}
				own[k], seen[k] = true, true
				next = append(next, k)
			}
		}
		front = next
	}
}

// heldInputs are the inputs that a module holds.
func (g *Graph) heldInputs() map[int]bool {
	held := map[int]bool{}
	for i := range g.Inputs {
		if g.Inputs[i].Kind != Argument {
			held[g.Inputs[i].Node] = true
		}
	}
	return held
}

// Between are the nodes on the paths from one node to another, whichever comes first; nil where there is none.
func (g *Graph) Between(a, b int) map[int]bool {
	a, b = min(a, b), max(a, b)
	down, up := g.Near(a, 0, Downstream), g.Near(b, 0, Upstream)
	if !down[b] {
		return nil
	}
	out := map[int]bool{}
	for i := range down {
		if up[i] {
			out[i] = true
		}
	}
	return out
}
