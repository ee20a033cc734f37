package tui

import (
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/internal/test/traces"
)

// block is PyTorch's log of a transformer's block, forward and backward.
const block = "../testdata/walk/fusion.txt.zst"

func blockFeed(t *testing.T) *fakeFeed {
	t.Helper()
	st := traces.Open(t, block)
	r, err := fold.All(st, "fusion_block.py")
	if err != nil {
		t.Fatal(err)
	}
	return &fakeFeed{report: r, run: Run{Title: "fusion_block.py"}}
}

// TestNotFusedByBytes: the pair that costs most is in the lead; v lists all of them, and says of each
// PyTorch's reason, what it means, both indexings, lines, loops, reads and writes.
func TestNotFusedByBytes(t *testing.T) {
	d := newDriver(t, blockFeed(t), Options{}, 160, 50)
	d.script(`
		keys 7
		expect ✓ 21 fused  ✗ 47 not fused · 177.2 KB of memory traffic saved
		expect not fused and most moved: up to 24.25 KB by sum·add
		expect ✗ 24 × intermediate nodes between node1 & node2
		refute ✗ var_mean + rsqrt·add
		keys z
		expect intermediate nodes between node1 & node2
		keys z v
		expect NOT FUSED, BY BYTES LOST
		expect No value is read or written by both at the same index
		expect one kernel would save up to 24.25 KB of memory traffic
		expect WHAT BOTH USE
		expect read at c0 over [c0: 2048] by op7, op8, op11
		expect read at c0 + 64*c1 over [c0: 64, c1: 32] by
		expect fusion_block.py:19  in forward
		expect buf11 written at c0 over [c0: 2048], 8 KB
		expect 17 × no shared data, up to 24.25 KB a pair
		keys v
		expect fusion round 1 · schedule 1 of 2   28 → 15 nodes
	`)
}

// TestNotFusedAtEverySize: the pair with the reason is on the screen however small it is.
func TestNotFusedAtEverySize(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {160, 50}, {250, 80}} {
		d := newDriver(t, blockFeed(t), Options{}, size[0], size[1])
		d.script("keys 7 v\nexpect ✗   24.25 KB\nkeys enter\nexpect ✗ not fused sum·add\nkeys esc\nexpect ✗   24.25 KB")
	}
}

// TestUnknownReasonOnTheScreen: words that no row explains are shown, without control characters.
func TestUnknownReasonOnTheScreen(t *testing.T) {
	f := blockFeed(t)
	f.report.Fusions[0].Steps = f.report.Fusions[0].Steps[:1]
	s := &f.report.Fusions[0].Steps[0]
	s.Fused, s.Reason, s.A, s.B = false, "a new \x1b[31mreason (3)", "op1", "op99"
	f.report.Fusions = f.report.Fusions[:1]
	d := newDriver(t, f, Options{}, 160, 50)
	d.script("keys 7\nexpect a new ␛[31mreason (3)\nexpect TORCH_LOGS=ir_pre_fusion writes it")
}

// sixtyFunctions is a report of sixty functions in eight files and three epochs.
func sixtyFunctions(t *testing.T) *explain.Report {
	t.Helper()
	r, err := fold.All(traces.Open(t, "../testdata/walk/frames.log.zst"), "train.py")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestManyFunctions: what to do first stands first at every size, the functions follow by cost, those
// of several epochs in one row, and what does not fit is one line; z opens it, by file.
func TestManyFunctions(t *testing.T) {
	r := sixtyFunctions(t)
	for _, size := range [][2]int{{60, 15}, {80, 24}, {160, 50}, {250, 80}} {
		d := newDriver(t, &fakeFeed{report: r, run: Run{Title: "train.py"}}, Options{}, size[0], size[1])
		d.script("expect FIRST\nexpect ▸ 1 ✂ common.py:5\nexpect the same at 8 more places, in 9 files\nkeys / part0_0 enter")
	}
	d := newDriver(t, &fakeFeed{report: r, run: Run{Title: "train.py"}}, Options{}, 160, 50)
	d.script(`
		expect part0_0 3 epochs
		expect 35 more, 26.8 s compiling (z lists them)
		refute layer4.py:6
		keys z
		expect layer4.py:6
	`)
	in := &input{report: r, facts: &facts{}, width: 160, height: 50}
	in.facts.collect(in)
	roots := in.facts.roots
	if len(roots) != 61 {
		t.Errorf("%d functions", len(roots))
	}
	var sum float64
	for i, f := range roots {
		sum += f.seconds
		if i > 0 && f.cost() > roots[i-1].cost() {
			t.Errorf("%s costs more than the row above", f.frame.Title())
		}
	}
	if diff := sum - r.Totals.CompileSeconds; diff > 0.5 || diff < -0.5 {
		t.Errorf("the functions took %.2f s, the run %.2f s", sum, r.Totals.CompileSeconds)
	}
}
