package tui

import (
	"fmt"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// walkFeed is the captioner, of whose decoder the steps of the trace are recorded.
func walkFeed(logged bool) *fakeFeed {
	f := richFeed()
	steps := &logs.TraceSteps{
		Places: []logs.Pos{
			at(44, "Decoder.Forward", "\th := d.attn.Forward(x)"), at(45, "Decoder.Forward", "\th = h.Add(x)"),
			at(52, "Decoder.Forward", "\tif b.Sum().Lt(0).Bool() {"),
		},
		Steps: []logs.StepOnce{
			{At: 0, Instr: "FieldAddr", On: []string{"LazyVariableTracker(L['d'])"}, Set: "d.attn", As: "PointerVariable(L['d'].attn)"},
			{
				At: 0, Depth: 2, Instr: "Call", Set: "h", As: "TensorVariable(attention)",
				Nodes: []string{"l_x_", "attention = attention(l_x_)"}, Guards: []string{"check_tensor(L['x'])"},
			},
			{At: 1, Instr: "Load", On: []string{"PointerVariable(h)"}},
			{At: 1, Instr: "Call", Set: "h", As: "TensorVariable(add)", Nodes: []string{"add = attention + l_x_"}},
			{At: 2, Instr: "Call", On: []string{"UserFunctionVariable(Tensor.Bool)", "TensorVariable(lt)"}},
		},
		Left: 3, End: "GB0170 Data-dependent branching: branch on the value of lt",
	}
	f.report.Frames[1].Compiles[0].Trace = &explain.Trace{Count: 5, Logged: logged, Load: func() *logs.TraceSteps { return steps }}
	return f
}

// TestWalkThroughATrace: ] and [ go through the steps of a compile's trace, { and } to those that
// add something; the arrow is at the step's line, and beside it is what there is so far.
func TestWalkThroughATrace(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {160, 50}} {
		d := newDriver(t, walkFeed(false), Options{}, size[0], size[1])
		d.script(`
			keys 2 ]
			expect step 1 of 5 of the trace of Decoder.Forward [1/0]
			expect 44→
			expect d.attn = PointerVariable(L['d'].attn)
			keys [
			expect this is the first step of the trace
			keys ]
			expect Call, 2 calls deep
			expect + attention = attention(l_x_)
			keys }
			expect step 4 of 5
			expect 45→
			refute 44→
			expect h = TensorVariable(add)
		`)
		golden(t, fmt.Sprintf("tracewalk-%dx%d.txt", size[0], size[1]), trimmed(d.plain()))
		checkFrame(t, d.frame(), size[0], size[1])
		d.script(`
			keys ]
			expect 52→
			expect the trace ends here: GB0170
			keys ]
			expect the trace ends here
			keys { {
			expect step 2 of 5
			keys j
			expect step 2 of 5
			refute Call, 2 calls deep
			keys esc
			refute of the trace of
			refute 44→
		`)
	}
	d := newDriver(t, walkFeed(false), Options{}, 160, 50)
	d.script(`
		keys 2 ] } }
		expect VALUES SO FAR: 2, the newest first
		expect h = TensorVariable(add)
		refute h = TensorVariable(attention)
		expect GRAPH SO FAR: 3, the newest first
		expect GUARDS SO FAR: 1, the newest first
		expect d.attn = PointerVariable(L['d'].attn)
	`)
}

// TestWalkOfALog: what PyTorch's logs do not tell is said; where nothing is recorded, that.
func TestWalkOfALog(t *testing.T) {
	d := newDriver(t, walkFeed(true), Options{}, 160, 50)
	d.script(`
		keys 2 ]
		expect STACK
		expect guards and nodes it adds is not
		refute SO FAR
	`)
	f := richFeed()
	d = newDriver(t, f, Options{}, 100, 30)
	d.script(`
		keys 2 ]
		expect steps of traces are not recorded
		refute exec --pause
	`)
	f.report.Engine = "PyTorch 2.15.0"
	d = newDriver(t, f, Options{}, 100, 30)
	d.script(`
		keys 2 ]
		expect tcdbg exec --pause records them
	`)
	f.report.StepsMissing = "PyTorch 9.9 has no loop over instructions that can be hooked"
	d = newDriver(t, f, Options{}, 140, 30)
	d.script(`
		keys 2 ]
		expect steps of traces are not recorded: PyTorch 9.9 has no loop
	`)
}

// TestWalkOfDynamo: of a PyTorch program what is on the symbolic stack, what an instruction leaves there,
// and that the program stands still amid the trace.
func TestWalkOfDynamo(t *testing.T) {
	f := richFeed()
	f.report.Engine = "PyTorch 2.15.0"
	steps := &logs.TraceSteps{
		Places: []logs.Pos{at(44, "Decoder.forward", "    h = self.attn(x)")}, Amid: true,
		Steps: []logs.StepOnce{
			{Instr: "LOAD_FAST x", As: "LazyVariableTracker(L['x'])"},
			{
				Instr: "BINARY_OP +", On: []string{"TensorVariable(h)", "TensorVariable(x)"}, As: "TensorVariable(add)",
				Nodes: []string{"add = h + x"},
			},
			{Instr: "STORE_FAST h", On: []string{"TensorVariable(add)"}, Set: "h", As: "TensorVariable(add)"},
		},
	}
	f.report.Frames[1].Compiles[0].Trace = &explain.Trace{Count: 3, Load: func() *logs.TraceSteps { return steps }}
	d := newDriver(t, f, Options{}, 160, 50)
	d.script(`
		keys 2 ] ]
		expect gives TensorVariable(add)
		expect STACK
		refute OPERANDS
		refute VALUES SO FAR
		keys ]
		expect h = TensorVariable(add)
		expect VALUES SO FAR: 1
		expect GRAPH SO FAR: 1
		expect as far as the trace had come where the program stood
		keys ]
		expect as far as the trace had come where the program stood
	`)
	steps.Amid, steps.End = false, "graph break: generic_jump TensorVariable()"
	f.report.Frames[1].Compiles[0].Breaks = []*explain.Break{{Code: "GB0170"}}
	d.script(`
		keys ]
		expect the trace ends here: GB0170, graph break
	`)
}
