package explain

import (
	"tcdbg/logs"
	"tcdbg/logs/fx"
)

// This file makes nodes of a report of a graph's text.

// NodesOf are the nodes of a parsed graph as a report has them.
func NodesOf(g *fx.Graph) []GraphNode {
	if g == nil {
		return nil
	}
	out := make([]GraphNode, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		out[i] = GraphNode{Name: n.Name, Op: n.Op, Target: n.Target, Type: n.Type, Args: n.Args, Text: n.Text}
		if n.Source.File != "" {
			out[i].Pos = logs.Pos{File: n.Source.File, Line: n.Source.Line, Func: n.Source.Func, Code: n.Source.Code}
		}
		if n.Op == "get_attr" {
			for _, body := range g.Subs {
				if body.Name == n.Target {
					out[i].Body = NodesOf(body)
				}
			}
		}
	}
	return out
}

// Nodes reads and parses the stage's graph; nil where it is the text of something else.
func (s *Stage) Nodes() []GraphNode {
	if s.Load == nil {
		return nil
	}
	return NodesOf(fx.Parse(s.Load()))
}
