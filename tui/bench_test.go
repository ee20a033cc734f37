package tui

import (
	"fmt"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
)

// hugeFeed is a report of about 100,000 rows on every screen.
func hugeFeed(n int) *fakeFeed {
	f := richFeed()
	r := f.report
	lead := r.Breaks[0].Lead
	nodes := make([]explain.GraphNode, n)
	for i := range nodes {
		nodes[i] = explain.GraphNode{
			Name: fmt.Sprintf("add_%d", i), Op: "call_function", Target: "aten.add", Type: "f32[8]",
			Args: []string{fmt.Sprintf("add_%d", i-1)}, Pos: logs.Pos{File: modelFile, Line: i%80 + 1},
		}
	}
	steps := make([]logs.FusionStep, n)
	for i := range steps {
		steps[i] = logs.FusionStep{
			Round: i / 1000, A: fmt.Sprintf("buf%d", i), B: fmt.Sprintf("buf%d", i+1), Fused: i%3 == 0,
			Reason: "no shared data",
		}
	}
	r.Fusions = append(r.Fusions, &explain.Fusion{ID: cid(5, 0), Graph: "huge", Steps: steps})
	for i := range n {
		id := cid(10+i, 0)
		fr := &explain.Frame{
			ID: id, Name: fmt.Sprintf("f%d", i),
			Pos: logs.Pos{File: fmt.Sprintf("/home/ann/captioner/m%d.go", i%50), Line: i + 1}, Status: explain.Compiled, Calls: -1,
			EagerOps: -1,
		}
		g := &explain.Graph{ID: id, Name: fmt.Sprintf("g%d", i), Ops: []string{"add", "mul"}}
		c := &explain.Compile{ID: id, Frame: fr, Graph: g, Status: explain.Compiled, Guards: r.Frames[1].Compiles[0].Guards}
		fr.Compiles = []*explain.Compile{c}
		r.Frames = append(r.Frames, fr)
		r.Graphs = append(r.Graphs, g)
		b := *lead
		b.Pos.Line, b.Compile = i, c
		r.Breaks = append(r.Breaks, &explain.BreakGroup{Key: fmt.Sprint("k", i), Lead: &b, Breaks: []*explain.Break{&b}})
		r.Recompiles = append(r.Recompiles, &explain.Recompile{Key: fmt.Sprint(i), Compile: c, Failures: r.Recompiles[0].Failures})
		r.Kernels = append(r.Kernels, &explain.Kernel{
			ID: id, Name: fmt.Sprintf("fused_%d", i), Lang: "c",
			Pos: []logs.Pos{{File: modelFile, Line: i}}, Bytes: -1, Nanos: -1,
		})
		r.Phases = append(r.Phases, &explain.Phase{Name: "inductor", ID: id, Start: r.Start, Dur: 1000, Depth: i % 5})
		f.records = append(f.records, Record{Time: "12:00:00.000", Kind: "chromium_event", ID: "1/0", Rank: -1, Bytes: 100})
		f.output = append(f.output, OutputLine{Text: "a line of output"})
	}
	r.Graphs[0].LoadNodes = func() []explain.GraphNode { return nodes }
	return f
}

// BenchmarkKeyToFrame is what a user feels: a key, Update and the frame, on
// every screen of a report of 100,000 rows.
func BenchmarkKeyToFrame(b *testing.B) {
	t := &testing.T{}
	d := newDriver(t, hugeFeed(100_000), Options{Colour: true}, 200, 60)
	for s := range len(screens()) - 1 {
		b.Run(title(keys.Screen(s)).Name, func(b *testing.B) {
			d.send(keyMsg(title(keys.Screen(s)).Key))
			press := []string{"j", "pgdown", "G", "k", "pgup", "g"}
			for i := 0; b.Loop(); i++ {
				d.m.Update(keyMsg(press[i%len(press)]))
				_ = d.m.View()
			}
		})
	}
}

// BenchmarkOpenScreen is the first frame of a screen, with the selection
// looked up among all its rows.
func BenchmarkOpenScreen(b *testing.B) {
	t := &testing.T{}
	d := newDriver(t, hugeFeed(100_000), Options{Colour: true}, 200, 60)
	for s := range len(screens()) - 1 {
		d.send(keyMsg(title(keys.Screen(s)).Key))
	}
	for s := range len(screens()) - 1 {
		b.Run(title(keys.Screen(s)).Name, func(b *testing.B) {
			for b.Loop() {
				d.m.at = keys.Screen((s + 1) % (len(screens()) - 1))
				d.m.sc.selGen++
				d.m.Update(keyMsg(title(keys.Screen(s)).Key))
				_ = d.m.View()
			}
		})
	}
}

// BenchmarkFirstFrame is from a report of 100,000 rows to the first frame.
func BenchmarkFirstFrame(b *testing.B) {
	t := &testing.T{}
	f := hugeFeed(100_000)
	for b.Loop() {
		d := newDriver(t, f, Options{Colour: true}, 200, 60)
		_ = d.frame()
	}
}
