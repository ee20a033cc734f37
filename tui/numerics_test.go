package tui

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/explain/numerics"
	"tcdbg/logs"
)

// numericsFeed is the captioner beside eager execution: the encoder is equal, the decoder differs in
// generated code and makes a NaN, step hangs by a rounding error, and one graph was not called.
func numericsFeed() *fakeFeed {
	f := richFeed()
	value := func(what string, worst float64, beyond int64) logs.NumericsValue {
		v := logs.NumericsValue{What: what, DType: "float32", Shape: []int{4, 8}, Worst: worst, Beyond: beyond, Elems: 32}
		if worst > 0 {
			v.At, v.Compiled, v.Eager = []int{1, 3}, "-1.99814796", "-1.99822235"
		}
		if beyond > 0 {
			v.Exact, v.Excused = "-1.9982224354826792", 1
		}
		return v
	}
	line := at(57, "Decoder.Forward", "h = h.Mul(gate).Tanh()")
	kernel := value("tc_fused_mul_tanh_0", 22.9, 30)
	kernel.Ops, kernel.Note = "[mul tanh]", "writes buf2; eager is here the interpreter"
	decoder := logs.Numerics{
		Compile: "1/0", Graph: "__compiled_fn_1", Backend: "inductor", Result: logs.NumericsDiffers, Calls: 12, Compared: 1,
		Values: []logs.NumericsValue{value("output 0", 5.9, 26), value("gradient of l_self_w", 0, 0)},
		Fault: &logs.NumericsFault{
			Call: 1, Stage: "code", Part: "forward", Node: "tanh_1", Op: "tanh", Alone: true, Pos: &line,
			Kernel: "tc_fused_mul_tanh_0",
			Value:  value("output 0", 5.9, 26),
			Ran: []string{
				"AOT: equal", "decomposition: equal", "lowering, forward graph: equal", "fusion, forward graph: equal",
				"code, forward graph: output 0 differs by 5.9 tolerances",
				"the part of the graph up to tanh_1 is the smallest that differs",
				"tanh_1 alone, on the inputs that it has there: output 0 differs by 22.9 tolerances",
			},
			Nodes: []logs.NumericsValue{value("tc_fused_linear_0", 0.2, 0), kernel},
		},
		Born:  &logs.NumericsBorn{Call: 1, What: "3 NaN", Node: "log_2", Op: "log", Pos: &line},
		Repro: "/home/me/.local/state/tcdbg/runs/20261122-a/repro/graph-1-0",
	}
	f.report.Numerics = &numerics.Report{
		Graphs: []*numerics.Graph{
			{Rank: -1, Function: "Encoder.Forward", Numerics: logs.Numerics{
				Compile: "0/0", Graph: "__compiled_fn_0", Backend: "inductor", Result: logs.NumericsEqual, Calls: 12, Compared: 5,
				Values: []logs.NumericsValue{value("output 0", 0.34, 0)},
			}},
			{Rank: -1, Function: "Decoder.Forward", Numerics: decoder},
			{Rank: -1, Function: "step", Numerics: logs.Numerics{
				Compile: "3/0", Graph: "__compiled_fn_3", Backend: "inductor", Result: logs.NumericsUndecided, Calls: 3, Compared: 3,
				Values:      []logs.NumericsValue{value("output 0", 1e30, 2)},
				NotCompared: []string{"output 0 of call 2: rounding alone moves the eager result as far"},
			}},
			{Rank: -1, Numerics: logs.Numerics{
				Compile: "4/0", Graph: "__compiled_fn_4", Backend: "inductor", Result: logs.NumericsNone, Why: "it was not called",
			}},
		},
		Capture: &logs.NumericsCapture{Result: logs.NumericsEqual, Calls: 24, Limits: []string{"calls whose results nobody uses"}},
	}
	return f
}

// The screen has a row for each graph, those that differ first; their detail says where, with both
// values, how it was searched, what made a NaN, and where the reproducer is.
func TestNumericsScreen(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {160, 50}} {
		d := newDriver(t, numericsFeed(), Options{}, size[0], size[1])
		d.script(`
			keys #
			screen Numerics
			expect results differ: 1/0 Decoder.Forward, first in code of the forward graph
			expect 9 of 27 calls
		`)
		golden(t, fmt.Sprintf("numerics-%dx%d.txt", size[0], size[1]), trimmed(d.plain()))
		checkFrame(t, d.frame(), size[0], size[1])
		d.script(`
			keys enter
			screen Graph
			keys #
			keys tab
			keys G
			expect REPRODUCER
			keys tab
			keys G
			expect capture: equal
			expect 24 calls of compiled functions give the same
		`)
	}
}

func TestNumericsSaysThatNothingDiffers(t *testing.T) {
	f := numericsFeed()
	f.report.Numerics.Graphs = f.report.Numerics.Graphs[:1]
	d := newDriver(t, f, Options{}, 100, 30)
	d.script(`
		keys #
		expect nothing differs by more than its dtype allows
	`)
}

// A run in which nothing was compared has no tab for it, and the screen says how to have one.
func TestNumericsOfOtherRuns(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 160, 50)
	if strings.Contains(d.frame(), "Numerics") {
		t.Error("there is a tab")
	}
	d.script(`
		keys #
		expect tcdbg check --numerics
	`)
}

// A capture that differs is the first row, with the place where it does below it.
func TestNumericsOfACapture(t *testing.T) {
	f := numericsFeed()
	line := at(41, "Captioner.Forward", "h := x.Add(x)")
	f.report.Numerics.Capture = &logs.NumericsCapture{
		Result: logs.NumericsDiffers, First: "call 1 of Captioner.Forward, output is 12.79, and without a compiler 12.85",
		Fault: &logs.CaptureFault{
			Call: 1, Captured: "mul(float32[4, 4], 1.01)", Node: "y_1", CapturedPos: &line, Eager: "cos(float32[4, 4])", EagerPos: &line,
		},
	}
	d := newDriver(t, f, Options{}, 120, 40)
	d.script(`
		keys #
		expect mul(float32[4, 4], 1.01)
	`)
	frame := d.plain()
	if i, j := strings.Index(frame, "✗ capture"), strings.Index(frame, "Decoder.Forward   "); i < 0 || j < i {
		t.Errorf("the capture is not first:\n%s", frame)
	}
}
