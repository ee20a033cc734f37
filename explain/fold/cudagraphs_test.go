package fold

import (
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
)

// TestCudaGraphNotes reads the messages as PyTorch 2.11 and 2.15 write them. Nothing is
// advised on them: no such advice has been tried.
func TestCudaGraphNotes(t *testing.T) {
	const mutated = "skipping cudagraphs due to mutated inputs (1 instances). Found from : \n   File \"/w/cg.py\", line 10, in " +
		"mutates\n    buf.add_(x)\n"
	for _, c := range []struct {
		text, title string
		pos         logs.Pos
	}{
		{mutated, "no CUDA graph: an input is written to", logs.Pos{File: "/w/cg.py", Line: 10, Func: "mutates", Code: "buf.add_(x)"}},
		{"skipping cudagraphs due to cpu device (arg1_1)", "no CUDA graph: cpu device (arg1_1)", logs.Pos{}},
		{
			"skipping cudagraphs due to multiple devices: device(type='cuda', index=0), device(type='cuda', index=1)",
			"multiple devices: device(type='cuda', index=0)",
			logs.Pos{},
		},
		{"disabling cudagraphs due to incompatible op aten.nonzero.default Found from", "incompatible op aten.nonzero.default", logs.Pos{}},
		{"skipping cudagraph due to function 3 exceeding max re-recording limit (=128) on cudagraph node 4 due to static input data " +
			"pointer changed.", "function 3 exceeding max re-recording limit", logs.Pos{}},
		{
			"CUDAGraph supports dynamic shapes by recording a new graph for each distinct input size. Recording too many CUDAGraphs " +
				"may lead to extra overhead. We have observed 9 distinct sizes. Please", "9 CUDA graphs recorded, one for each size",
			logs.Pos{},
		},
	} {
		n, ok := diagnose.ReadCudaGraphNote(c.text)
		a := n.Advice()
		if !ok || n.Pos != c.pos || !strings.Contains(a.Text, c.title) || a.Fix.Text != "" || a.Cost == "" {
			t.Errorf("%q: %v, %+v", c.text, ok, a)
		}
	}
	for _, text := range []string{
		"Recording cudagraph tree for graph without symints",
		"Created 1 graph partitions: 1 cudagraphable, 0 non-cudagraphable", "",
	} {
		if _, ok := diagnose.ReadCudaGraphNote(text); ok {
			t.Errorf("%q tells of a loss", text)
		}
	}
}

// TestCudaGraphAdvice: each reason once at each place, found by the compile or by the
// function; what has no place is told only where no place is known.
func TestCudaGraphAdvice(t *testing.T) {
	const skip = "skipping cudagraphs due to "
	at := func(frame int) explain.ID {
		return explain.ID{Rank: -1, CompileID: logs.CompileID{Frame: frame, Compile: 1}}
	}
	none := explain.ID{Rank: -1, CompileID: logs.NoCompile}
	place := ". Found from : \n   File \"/w/a.py\", line 12, in g\n    y.add_(1)\n"
	f := &explain.Frame{Name: "f", ID: at(0), Pos: posAt("/w/a.py", 3)}
	g := &explain.Frame{Name: "g", ID: at(1), Pos: posAt("/w/a.py", 10)}
	r := &explain.Report{Frames: []*explain.Frame{f, g}, Side: []explain.SideNote{
		{ID: none, Kind: "cudagraphs", Text: skip + "cpu device (arg1_1)", Pos: logs.Pos{}},
		{ID: at(0), Kind: "cudagraphs", Text: skip + "cpu device (arg1_1)", Pos: logs.Pos{}},
		{ID: none, Kind: "cudagraphs", Text: skip + "mutated inputs (1 instances)" + place, Pos: logs.Pos{}},
		{ID: at(1), Kind: "cudagraphs", Text: skip + "mutated inputs (1 instances)" + place, Pos: logs.Pos{}},
		{ID: none, Kind: "cudagraphs", Text: "Running warmup function=partition_0", Pos: logs.Pos{}},
		{ID: none, Kind: "perf_hints", Text: skip + "what is no message of CUDA graphs", Pos: logs.Pos{}},
	}}
	got := diagnose.CudaGraphAdvice(r)
	if len(got) != 2 {
		t.Fatalf("%d: %+v", len(got), got)
	}
	if got[0].Frame != f || got[0].Pos.Line != 3 {
		t.Errorf("by its compile: %+v", got[0])
	}
	if got[1].Frame != g || got[1].Pos.Line != 12 {
		t.Errorf("by its function: %+v", got[1])
	}
}

// TestCudaGraphsOfSizes: the function is the only one that was timed as often as graphs
// were recorded.
func TestCudaGraphsOfSizes(t *testing.T) {
	at := func(frame int) explain.ID { return explain.ID{Rank: -1, CompileID: logs.CompileID{Frame: frame}} }
	f := &explain.Frame{Name: "f", ID: at(0), Pos: posAt("/w/a.py", 3)}
	g := &explain.Frame{Name: "g", ID: at(1), Pos: posAt("/w/a.py", 10)}
	r := &explain.Report{
		Frames: []*explain.Frame{f, g},
		Side: []explain.SideNote{{
			ID: explain.ID{Rank: -1, CompileID: logs.NoCompile}, Kind: "cudagraphs",
			Text: "CUDAGraph supports dynamic shapes by recording a new graph. We have observed 3 distinct sizes.",
		}},
	}
	for range 3 {
		r.Side = append(r.Side, explain.SideNote{ID: at(1), Kind: "runtime"})
	}
	r.Side = append(r.Side, explain.SideNote{ID: at(0), Kind: "runtime"})
	if got := diagnose.CudaGraphAdvice(r); len(got) != 1 || got[0].Frame != g || got[0].Pos.Line != 10 {
		t.Errorf("%+v", got)
	}
	r.Side = append(r.Side, r.Side[4], r.Side[4])
	if got := diagnose.CudaGraphAdvice(r); len(got) != 1 || got[0].Frame != nil {
		t.Errorf("of two that were timed as often: %+v", got)
	}
}
