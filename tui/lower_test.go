package tui

import (
	"errors"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// loweringFeed lowers as the real one does: by showing another report.
type loweringFeed struct {
	*fakeFeed
	lowered *explain.Report
	shown   bool
	err     error
	asked   []int
}

func (f *loweringFeed) Snapshot() *explain.Report {
	if f.shown {
		return f.lowered
	}
	return f.fakeFeed.Snapshot()
}

func (f *loweringFeed) Forms(_ *explain.Graph, out *explain.OutputCode) ([]string, int) {
	if out != nil {
		return []string{"dynamo", "joint", "post-grad"}, 2
	}
	return []string{"dynamo", "joint", "post-grad"}, 1
}

func (f *loweringFeed) Lower(_ *explain.Graph, form int) (string, error) {
	f.asked = append(f.asked, form)
	f.shown = f.err == nil
	return "cuda:0", f.err
}

func (f *loweringFeed) Lowered() string {
	if f.shown {
		return "joint"
	}
	return ""
}

func (f *loweringFeed) Unlower() { f.shown = false }

// lowering is a feed of PyTorch's trace with one graph, and of what became of it.
func lowering() *loweringFeed {
	id := explain.ID{Rank: -1, CompileID: logs.CompileID{}}
	of := &explain.Report{Title: "train.log", Engine: "PyTorch 2.15.0", Graphs: []*explain.Graph{{ID: id, Name: "g", Ops: []string{"mm"}}}}
	of.Totals.Graphs = 1
	ours := &explain.Report{Title: "train.log joint", Engine: "tcdbg 0", Graphs: of.Graphs, Totals: of.Totals}
	part := func(kernel, node string) logs.LoweredPart {
		return logs.LoweredPart{Kernel: kernel, Nodes: []string{node}, Pos: []logs.Pos{{File: "/u/m.py", Line: 8, Code: "h = relu(x @ w)"}}}
	}
	ours.Lowered = &explain.Lowered{ID: id, Lowered: logs.Lowered{
		Of: "joint", Device: "cuda:0", Ours: 3, Theirs: 2,
		Apart: []logs.Regrouped{{
			Kernel: "triton_poi_fused_0", Parts: []logs.LoweredPart{part("fused_mm_relu_0", "relu"), part("fused_sum_1", "sum_1")},
		}},
		Joined: []logs.Regrouped{{
			Kernel: "fused_mm_relu_0", Parts: []logs.LoweredPart{part("extern_kernels.mm", "mm"), part("triton_poi_fused_0", "relu")},
		}},
	}}
	f := richFeed()
	f.report = of
	return &loweringFeed{fakeFeed: f, lowered: ours}
}

// TestLower: I asks for a form, shows what our Inductor makes of it beside PyTorch's kernels, and goes back.
func TestLower(t *testing.T) {
	for _, size := range []string{"80x24", "160x50"} {
		f := lowering()
		d := newDriver(t, f, Options{}, 80, 24)
		d.script("size " + size + `
			keys 6
			expect I lower
			keys I
			expect Lower [0/0] with our own Inductor: which form?
			expect ▸ 2  joint
			keys enter
			poll
			expect lowered: 6 graph, 7 fusion, 8 kernels; I goes back to PyTorch
			keys 7
			expect PyTorch fused, we did not
			expect we fused, PyTorch did not
			expect triton_poi_fused_0  in 2 of ours
			expect fused_mm_relu_0  in 2 of PyTorch's
			keys j
			expect What our kernel computes is in 2 of PyTorch's:
			expect extern_kernels.mm
			expect m.py:8
			keys I
			poll
			refute in 2 of ours
			keys 6 I 3
			poll
			keys I`)
		if len(f.asked) != 2 || f.asked[0] != 1 || f.asked[1] != 2 {
			t.Errorf("the forms %v were lowered", f.asked)
		}
	}
}

// TestNotLowered: why not is shown whole, and any key closes it; nothing is lowered of our own compiles.
func TestNotLowered(t *testing.T) {
	f := lowering()
	f.err = errors.New("2 operators are not supported: aten.lstm.input (3), mylib.\x1b[31mfoo.default (1)")
	d := newDriver(t, f, Options{}, 80, 24)
	d.script(`
		keys 6 I 1
		expect dynamo is not lowered
		expect 2 operators are not supported: aten.lstm.input (3)
		expect mylib.␛[31mfoo.default
		keys esc
		expect g`)
	checkFrame(t, d.frame(), 80, 24)
	f.report.Engine = "tcdbg 0"
	d = newDriver(t, f, Options{}, 80, 24)
	d.script(`
		keys 6
		refute I lower
		keys I
		expect this is our own Inductor's compile`)
	plain := richFeed()
	d = newDriver(t, plain, Options{}, 80, 24)
	d.script(`
		keys 6 I
		expect graphs of this trace cannot be lowered`)
}

// TestLoweredAlike: a comparison without a difference says so, and one that cannot be made why.
func TestLoweredAlike(t *testing.T) {
	f := lowering()
	f.lowered.Lowered.Apart, f.lowered.Lowered.Joined = nil, nil
	d := newDriver(t, f, Options{}, 80, 24)
	d.script(`
		keys 6 I enter
		poll
		keys 7
		expect PyTorch's kernels put the same nodes together.`)
	f = lowering()
	f.lowered.Lowered.Silent = "the trace does not say which nodes PyTorch's kernels compute"
	d = newDriver(t, f, Options{}, 80, 24)
	d.script(`
		keys 6 I enter
		poll
		keys 7
		expect not compared with PyTorch: the trace does not say which`)
}
