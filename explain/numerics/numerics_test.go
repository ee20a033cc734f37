package numerics

import (
	"strings"
	"testing"

	"tcdbg/logs"
)

// TestText: the text says of each graph what came out, and of one that differs where, both values,
// the search and the reproducer; a summary counts.
func TestText(t *testing.T) {
	r := &Report{
		Graphs: []*Graph{
			{Function: "f", Numerics: logs.Numerics{
				Compile: "0/0", Result: logs.NumericsEqual, Calls: 8, Compared: 4,
				Values: []logs.NumericsValue{{What: "output 0", DType: "float32", Worst: 0.25, Elems: 4}},
			}},
			{Function: "g", Numerics: logs.Numerics{
				Compile: "1/0", Result: logs.NumericsDiffers, Calls: 1, Compared: 1,
				Fault: &logs.NumericsFault{
					Stage: "code", Part: "backward", Node: "mul_3", Op: "mul", Kernel: "k0", Call: 1, Ran: []string{"AOT: equal"},
					Pos: &logs.Pos{File: "model.go", Line: 7, Code: "\ty := x.Mul(w)"},
					Value: logs.NumericsValue{
						What: "output 0", DType: "float32", Shape: []int{2, 3}, Worst: 1e30, Beyond: 2, Elems: 6,
						At: []int{1, 2}, Compiled: "1", Eager: "nan",
					},
				},
				Born: &logs.NumericsBorn{Call: 1, What: "1 NaN", Node: "log", Op: "log"}, Repro: "/r",
				NotCompared: []string{"gradients: inputs share memory"},
			}},
			{Numerics: logs.Numerics{Compile: "2/0", Result: logs.NumericsNone, Why: "it was not called"}},
		},
		Capture: &logs.NumericsCapture{Result: logs.NumericsDiffers, First: "call 1 of f, output: other"},
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"5 of 9 calls of 3 graphs compared with eager execution: 1 equal, 1 differs, 1 not compared\n",
		"4 of 8 calls, 0.25x of what float32 allows", "first in code of the backward graph, at mul_3 (mul), kernel k0, in call 1",
		"model.go:7  y := x.Mul(w)", "output 0 float32[2, 3]: 2 of 6 elements differ by more than is allowed, without bound at most",
		"at [1, 2] compiled 1, eager nan", "        AOT: equal", "log gives 1 NaN in call 1", "reproducer: /r",
		"not compared: gradients: inputs share memory", "it was not called", "call 1 of f, output: other",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, b.String())
		}
	}
	r.Graphs[0].Values[0].Worst = 76
	if text := r.Graphs[0].WorstText(); text != "76.0x of what float32 allows, as near to double precision as eager" {
		t.Error(text)
	}
	if (*Report)(nil).Differs() || !r.Differs() || (&Report{Graphs: r.Graphs[:1]}).Differs() {
		t.Error("what differs is not what differs")
	}
}

// Results stand in one column, however long the names of functions are.
func TestResultsInOneColumn(t *testing.T) {
	r := &Report{Graphs: []*Graph{
		{Numerics: logs.Numerics{Compile: "0/0", Result: logs.NumericsEqual}, Function: "f"},
		{Numerics: logs.Numerics{Compile: "1/0", Result: logs.NumericsEqual}, Function: "Net.Forward from line 23 on"},
	}, Capture: &logs.NumericsCapture{Result: logs.NumericsEqual}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	at := map[int]bool{}
	for _, l := range strings.Split(strings.TrimSpace(b.String()), "\n")[1:] {
		at[strings.Index(l, " equal ")] = true
	}
	if len(at) != 1 {
		t.Errorf("results are not in one column:\n%s", b.String())
	}
}
