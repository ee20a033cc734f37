package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	trace "tcdbg/logs/calls"
)

// callsFeed is the captioner with its calls recorded: the decoder breaks in each call, step is
// compiled three times, hits an older entry, and runs eagerly in the end; decode was never
// compiled.
func callsFeed() *fakeFeed {
	f := richFeed()
	r := f.report
	t0 := r.Start.UnixNano()
	ms := func(n int64) int64 { return t0 + n*1_000_000 }
	run := func(o trace.Outcome, first, n int64, entry int, from, to int64) trace.Run {
		return trace.Run{First: first, Count: n, Outcome: o, Entry: entry, Start: ms(from), End: ms(to)}
	}
	timed := func(r trace.Run, total, least, most int64) trace.Run {
		r.Timed, r.Nanos, r.Min, r.Max = r.Count, total, least, most
		return r
	}
	eager := run(trace.Eager, 9, 4, trace.NoEntryNumber, 2400, 2700)
	eager.Why = trace.AtLimit
	sized := timed(run(trace.Hit, 6, 3, 2, 1900, 2300), 2_400_000, 600_000, 1_000_000)
	sized.Sizes = []trace.Size{{Name: "L['x'].size()[0]", Min: 10, Max: 12}}
	disabled := run(trace.Eager, 0, 2, trace.NoEntryNumber, 2800, 2800)
	disabled.Why = trace.Disabled
	step := r.Frames[3]
	step.Compiles[1].Recompile.Call = 3
	r.Calls = explain.Calls{Recorded: true, Tracks: []*explain.CallTrack{
		{Frame: r.Frames[1], Name: "Decoder.Forward", Pos: r.Frames[1].Pos, Process: 7, Runs: []trace.Run{
			run(trace.Compiled, 1, 1, 0, 200, 410), timed(run(trace.Hit, 2, 11, 0, 500, 2600), 11_000_000, 900_000, 1_300_000),
		}},
		{Frame: step, Name: "step", Pos: step.Pos, Process: 7, Runs: []trace.Run{
			run(trace.Compiled, 1, 1, 0, 900, 960), run(trace.Hit, 2, 1, 0, 1000, 1001), run(trace.Compiled, 3, 1, 1, 1300, 1360),
			timed(run(trace.Hit, 4, 1, 0, 1500, 1501), 700_000, 700_000, 700_000), run(trace.Compiled, 5, 1, 2, 1800, 1860), sized, eager,
		}},
		{Name: "decode", Pos: at(70, "decode", ""), Process: 7, Runs: []trace.Run{disabled}},
	}}
	return f
}

// TestCallsScreen: every call of every function is on its track, a cursor goes through them,
// and says which entry, why none, how long and with what sizes.
func TestCallsScreen(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {160, 50}} {
		d := newDriver(t, callsFeed(), Options{}, size[0], size[1])
		d.script(`
			keys @
			screen Calls
			expect 26 calls of 3 functions
			expect calls 2-12 of Decoder.Forward
			expect hit of entry [1/0]
			keys j
			expect calls 9-12 of step
			expect the recompile limit is reached
			expect how long: not recorded
			keys left
			expect calls 6-8 of step
			expect x.size()[0] = 10 to 12
			keys left
			expect call 5 of step
			expect no entry fitted: compiled entry [3/2]
			expect compiling
			expect WHAT CHANGED
			keys left
			expect call 4 of step
			expect hit of entry [3/0]
			keys j
			expect 2 calls without a number of decode
			expect called where compiling is disabled
		`)
		d.script("keys k")
		golden(t, fmt.Sprintf("calls-%dx%d.txt", size[0], size[1]), trimmed(d.plain()))
		checkFrame(t, d.frame(), size[0], size[1])
	}
}

// trimmed is a frame without blanks at the ends of lines.
func trimmed(frame string) string {
	var b strings.Builder
	for _, l := range strings.Split(frame, "\n") {
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	return b.String()
}

// TestCallsByEvent: [ and ] go to what is no hit, in all functions, and say where there is no more.
func TestCallsByEvent(t *testing.T) {
	d := newDriver(t, callsFeed(), Options{}, 140, 40)
	d.script(`
		keys @ [
		expect call 1 of Decoder.Forward
		keys [
		expect no further compile, error or eager call before
		keys ]
		expect call 1 of step
		keys ]
		expect call 3 of step
		keys ]
		expect call 5 of step
		keys ]
		expect calls 9-12 of step
		keys ]
		expect 2 calls without a number of decode
		keys ]
		expect no further compile, error or eager call after
		keys [
		expect calls 9-12 of step
		keys right
		expect this is its last call
	`)
}

// TestScreensFollowACall: Source has an arrow where the call left at its break or at its
// function, Guards what its guards gave then, Graph the graph that ran.
func TestScreensFollowACall(t *testing.T) {
	f := callsFeed()
	d := newDriver(t, f, Options{}, 140, 40)
	d.script(`
		keys @
		keys k k
		expect calls 2-12 of Decoder.Forward
		keys 2
		expect → calls 2-12 of Decoder.Forward: hit of entry [1/0]
		expect 52→
		keys 5
		expect all of these held, and this entry served it
		expect ✓ TENSOR_MATCH
		keys 6
		expect → calls 2-12 of Decoder.Forward
		expect Decoder.Forward [1/0]
		keys @ j left left
		expect call 5 of step
		keys 6
		expect step [3/2]
		keys 2
		expect 77→
		refute 52→
	`)
	// the guards of another entry, at a miss
	step := f.report.Frames[3]
	addGuards(step.Compiles[0])
	addGuards(step.Compiles[1])
	d = newDriver(t, f, Options{}, 140, 40)
	d.script(`
		keys @ j left left
		expect call 5 of step
		keys 5 G
		expect [3/1] 4 guards
		expect call 5: 1 guard failed
		expect expected 9, was 10
		keys k
		expect [3/0] 4 guards
		expect is not recorded
	`)
}

// Where the call left at a break, the rest of its function begins at the same line: Guards shows those of the
// entry that served the call.
func TestGuardsOfACallThatBreaks(t *testing.T) {
	f := callsFeed()
	addGuards(f.report.Frames[2].Compiles[0]) // from the break on
	d := newDriver(t, f, Options{}, 140, 40)
	d.script(`
		keys @ k k
		expect calls 2-12 of Decoder.Forward
		keys 5
		expect → calls 2-12 of Decoder.Forward
		expect [1/0] 4 guards
	`)
}

// TestCallsNotRecorded: a trace without records of calls shows its compiles, and says that
// calls were not recorded, and why where that is known.
func TestCallsNotRecorded(t *testing.T) {
	f := richFeed()
	r := f.report
	r.Calls = explain.Calls{Missing: []string{"PyTorch 2.6.0 has no guard-complete hook"}, Tracks: []*explain.CallTrack{{
		Frame: r.Frames[0], Name: "Encoder.Forward", Pos: r.Frames[0].Pos, Derived: true,
		Runs: []trace.Run{{Count: 1, Outcome: trace.Compiled, Start: r.Start.Add(time.Second).UnixNano()}},
	}}}
	d := newDriver(t, f, Options{}, 120, 30)
	d.script(`
		keys @
		expect calls were not recorded: only the compiles are known · PyTorch 2.6.0 has no guard-complete hook
		expect a call of Encoder.Forward
		expect first compile: entry [0/0]
		expect WHAT IS NOT KNOWN
	`)
}

// TestLiveCallsKeepTheCall: the cursor stays on its call while newer ones come; untouched, it
// is on the newest.
func TestLiveCallsKeepTheCall(t *testing.T) {
	f := callsFeed()
	d := newDriver(t, f, Options{}, 120, 30)
	more := func(first int64) {
		cp := *f.report
		tracks := append([]*explain.CallTrack(nil), cp.Calls.Tracks...)
		dec := *tracks[0]
		at := cp.Start.Add(time.Duration(first) * time.Second).UnixNano()
		dec.Runs = append(append([]trace.Run(nil), dec.Runs...), trace.Run{First: first, Count: 1, Outcome: trace.Hit, Start: at, End: at})
		tracks[0] = &dec
		cp.Calls.Tracks = tracks
		f.report = &cp
	}
	d.script("keys @")
	more(13)
	d.script(`
		poll
		expect call 13 of Decoder.Forward
		keys left
		expect calls 2-12 of Decoder.Forward
	`)
	more(14)
	d.script(`
		poll
		expect 28 calls
		expect calls 2-12 of Decoder.Forward
	`)
}
