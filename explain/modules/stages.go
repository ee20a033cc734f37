package modules

import (
	"fmt"
	"slices"

	"tcdbg/explain"
)

// This file lists the stages of a graph whose texts are graphs.

// Stages are the stages of a graph that hold nodes.
type Stages struct {
	Of    []explain.Stage
	Names []string
}

// graphStages are the names of stages whose text is a graph.
var graphStages = []string{
	"pre-grad before", "pre-grad", "joint", "joint passes before", "joint passes", "inference", "forward", "backward",
	"post-grad before", "post-grad", "compiled autograd",
}

// StagesOf lists them; the second of a name, of the backward graph, has a number.
func StagesOf(g *explain.Graph) Stages {
	out := Stages{Of: []explain.Stage{{}}, Names: []string{"captured"}}
	seen := map[string]int{}
	for _, s := range g.Stages {
		if !slices.Contains(graphStages, s.Name) {
			continue
		}
		seen[s.Name]++
		label := s.Name
		if n := seen[s.Name]; n > 1 {
			label = fmt.Sprintf("%s %d", s.Name, n)
		}
		out.Of, out.Names = append(out.Of, s), append(out.Names, label)
	}
	return out
}

// Last is the stage that captured is compared with at first: the last of the first graph that was compiled.
func (s *Stages) Last() int {
	best := len(s.Names) - 1
	for _, want := range []string{"joint", "forward", "inference", "post-grad"} {
		for i, name := range s.Names {
			if name == want {
				best = i
			}
		}
	}
	return best
}

// Read reads stage i of a graph: captured is stage 0.
func (s *Stages) Read(i int, captured *Graph) *Graph {
	if i == 0 {
		return captured
	}
	g := Later(s.Of[i].Nodes(), captured)
	g.roots = captured.roots
	g.tell(s.Of[i].LoadModules)
	return g
}
