package fusion

import (
	"slices"
	"strconv"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/fx"
)

// This file finds the lines of a scheduler's nodes: PyTorch prints them with the nodes where
// INDUCTOR_PROVENANCE is set, else they are those of the post-grad graph's nodes.

// Lines are the lines of the program by node of the scheduler.
type Lines map[string][]logs.Pos

// maxGraphText bounds a graph's text that is parsed for its lines.
const maxGraphText = 64 << 20

// LinesOf reads the lines of a graph's nodes.
func LinesOf(r *explain.Report, f *explain.Fusion) Lines {
	out := Lines{}
	missing := false
	for i, o := range f.Origins {
		if len(o.Pos) > 0 {
			out[nodeName(i)] = o.Pos
		} else if len(o.Nodes) > 0 {
			missing = true
		}
	}
	if !missing {
		return out
	}
	places := bestGraph(r, f)
	for i, o := range f.Origins {
		if len(o.Pos) > 0 {
			continue
		}
		for _, n := range o.Nodes {
			if p, ok := places[n]; ok && !slices.Contains(out[nodeName(i)], p) {
				out[nodeName(i)] = append(out[nodeName(i)], p)
			}
		}
	}
	return out
}

// bestGraph are the places of the post-grad graph that has most of the nodes: a compile with a
// backward pass has two.
func bestGraph(r *explain.Report, f *explain.Fusion) map[string]logs.Pos {
	var best map[string]logs.Pos
	most := 0
	for _, g := range r.Graphs {
		if !g.ID.SameCompile(f.ID) {
			continue
		}
		for _, s := range g.Stages {
			if s.Name != "post-grad" || s.Load == nil {
				continue
			}
			text := s.Load()
			if len(text) > maxGraphText {
				continue
			}
			places := placesIn(explain.NodesOf(fx.Parse(text)))
			if n := common(places, f); n > most {
				best, most = places, n
			}
		}
	}
	return best
}

func placesIn(nodes []explain.GraphNode) map[string]logs.Pos {
	out := map[string]logs.Pos{}
	for i := range nodes {
		if nodes[i].Pos.File != "" {
			out[nodes[i].Name] = nodes[i].Pos
		}
	}
	return out
}

func common(places map[string]logs.Pos, f *explain.Fusion) int {
	n := 0
	for _, o := range f.Origins {
		for _, name := range o.Nodes {
			if _, ok := places[name]; ok {
				n++
			}
		}
	}
	return n
}

// Of are the lines of a node or group.
func (l Lines) Of(name string) []logs.Pos {
	var out []logs.Pos
	for _, m := range members(name) {
		for _, p := range l[m] {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

func nodeName(i int) string { return "op" + strconv.Itoa(i) }
