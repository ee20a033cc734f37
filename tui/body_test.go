package tui

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// TestLinesOfBodies wants the operators of a higher-order operator's bodies at their own
// lines, and not the names of the bodies at the call's.
func TestLinesOfBodies(t *testing.T) {
	at := func(line int) logs.Pos { return logs.Pos{File: "model.go", Line: line} }
	g := &explain.Graph{LoadNodes: func() []explain.GraphNode {
		return []explain.GraphNode{
			{Name: "fwd_body_0", Op: "get_attr", Pos: at(9), Body: []explain.GraphNode{
				{Name: "x", Op: "placeholder", Pos: at(3)}, {Name: "sin", Op: "call_method", Pos: at(3)},
			}},
			{Name: "call", Op: "call_function", Pos: at(9)},
		}
	}}
	got := (&parsed{nodes: map[string][]nodeAt{}}).nodesOf(g)
	if len(got) != 2 || got[0].name != "sin" || got[0].pos.Line != 3 || got[1].name != "call" {
		t.Errorf("got %v", got)
	}
}
