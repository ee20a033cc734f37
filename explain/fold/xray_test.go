package fold

import (
	"testing"

	"tcdbg/explain/xray"
	"tcdbg/internal/test/traces"
)

// TestXRayOfPyTorch: the line of the first captured node of a trace has nodes in later graphs
// and a kernel; every row is of the line.
func TestXRayOfPyTorch(t *testing.T) {
	st := traces.Open(t, "../testdata/traces/pytorch-2.15/fusion_small.log.zst")
	r, err := All(st, "fusion_small")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, g := range r.Graphs {
		for _, n := range g.Nodes() {
			if n.Pos.Line == 0 || len(r.Kernels) == 0 || looked > 20 {
				continue
			}
			looked++
			id := g.ID
			titles := map[string]int{}
			for _, s := range xray.Of(r, xray.Subject{Pos: n.Pos, ID: &id}).Sections {
				titles[s.Title] = len(s.Rows)
				for _, row := range s.Rows {
					if row.Pos.Line != 0 && row.Pos.Line != n.Pos.Line {
						t.Errorf("line %d has a row of line %d: %+v", n.Pos.Line, row.Pos.Line, row)
					}
					if row.ID != nil && row.ID.CompileID.Frame != id.CompileID.Frame {
						t.Errorf("%v has a row of %v", id, *row.ID)
					}
				}
			}
			if titles["CAPTURED"] == 0 {
				t.Errorf("line %d of %v: %v", n.Pos.Line, id, titles)
			}
			if n.Op == "call_function" && titles["IN LATER GRAPHS"] == 0 {
				t.Errorf("line %d of %v, %s, is in no later graph: %v", n.Pos.Line, id, n.Target, titles)
			}
		}
	}
	if looked == 0 {
		t.Error("no node has a line")
	}
}
