package fold

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/render"
)

// TestUnclosedAndInstants: a trace that was cut off keeps its phases without an end apart from
// those that ended, and events without a length.
func TestUnclosedAndInstants(t *testing.T) {
	event := func(name, ph, ts string) string {
		return payload(`{"chromium_event": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0`,
			`{"name": "`+name+`", "ts": `+ts+`, "args": {}, "ph": "`+ph+`", "cat": "dynamo_timed", "tid": 0, "pid": 0}`)
	}
	r := foldText(t, event("dynamo", "B", "1000000")+event("backend_compile", "B", "1200000")+
		event("autograd_cache_miss", "i", "1300000")+event("backend_compile", "E", "1500000"))
	if len(r.Phases) != 1 || r.Phases[0].Name != "backend_compile" {
		t.Errorf("%d phases", len(r.Phases))
	}
	if len(r.Unclosed) != 1 || r.Unclosed[0].Name != "dynamo" || r.Unclosed[0].Dur.Milliseconds() != 500 || !r.Unclosed[0].Open {
		t.Errorf("unclosed: %+v", r.Unclosed)
	}
	if len(r.Instants) != 1 || r.Instants[0].Name != "autograd_cache_miss" || r.Instants[0].ID.Frame != 0 {
		t.Errorf("instants: %+v", r.Instants)
	}
}

// Phases beyond the bound are counted, and the report says so.
func TestPhasesBeyondTheBoundAreCounted(t *testing.T) {
	f := New(nil)
	f.sumPhase("brief", 1000, 1000)
	for range maxPhases + 6 {
		f.keepPhase(explain.Phase{Name: "brief", Start: time.Unix(1, 0), Dur: time.Millisecond})
	}
	f.keepPhase(explain.Phase{Name: "long", Start: time.Unix(1, 0), Dur: time.Second}) // is kept in the place of a brief one
	r := f.Snapshot()
	if len(r.Phases) != maxPhases || r.PhasesLeftOut != 7 {
		t.Errorf("%d phases, %d left out", len(r.Phases), r.PhasesLeftOut)
	}
	if !slices.ContainsFunc(r.Phases, func(p *explain.Phase) bool { return p.Name == "long" }) {
		t.Error("the longest phase is left out")
	}
	var text strings.Builder
	if err := render.WriteText(&text, r); err != nil || !strings.Contains(text.String(), "7 phases are not kept one by one") {
		t.Error(err, text.String())
	}
	checkWritten(t, r, `"phases_left_out": 7`, "7 phases are not kept one by one; the table has them", `"phases_left_out":7`)
}

// checkWritten looks for a text in the JSON report, the HTML report and the Chrome trace of a report.
func checkWritten(t *testing.T, r *explain.Report, inJSON, inHTML, inChrome string) {
	t.Helper()
	for _, c := range []struct {
		name, want string
		write      func(io.Writer, *explain.Report) error
	}{{"JSON", inJSON, render.WriteJSON}, {"HTML", inHTML, render.WriteHTML}, {"Chrome", inChrome, render.WriteChrome}} {
		var b strings.Builder
		if err := c.write(&b, r); err != nil || !strings.Contains(b.String(), c.want) {
			t.Errorf("%s lacks %s: %v", c.name, c.want, err)
		}
	}
}

// chromeLine is a record of an event at so many microseconds.
func chromeLine(name, ph string, ts int) string {
	return payload(`{"chromium_event": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0`,
		fmt.Sprintf(`{"name": %q, "ts": %d, "args": {}, "ph": %q, "cat": "dynamo_timed", "tid": 0, "pid": 0}`, name, ts, ph))
}

// The self time of a phase is that in which it began last; what overlaps on one thread is counted once.
func TestSelfTimesOfWhatOverlaps(t *testing.T) {
	event := func(name, ph string, ms int) string { return chromeLine(name, ph, 1_000_000+1000*ms) }
	r := foldText(t, event("load", "B", 0)+event("compile_file", "B", 10)+event("wait", "B", 17)+event("compile_file", "B", 18)+
		event("compile_file", "E", 110)+event("compile_file", "E", 160)+event("wait", "E", 170)+event("load", "E", 175))
	var got []string
	all := time.Duration(0)
	for _, p := range r.Phases {
		got = append(got, fmt.Sprintf("%s %v of %v", p.Name, p.Self, p.Dur))
		all += p.Self
	}
	want := []string{"load 15ms of 175ms", "compile_file 7ms of 150ms", "wait 61ms of 153ms", "compile_file 92ms of 92ms"}
	if !slices.Equal(got, want) || all != 175*time.Millisecond {
		t.Errorf("%q, %v in all", got, all)
	}
	for _, s := range r.PhaseSums {
		for _, p := range r.Phases {
			if p.Name == s.Name {
				s.Self -= p.Self.Seconds()
			}
		}
		if s.Self > 1e-9 || s.Self < -1e-9 {
			t.Errorf("the sum of %s differs by %v", s.Name, s.Self)
		}
	}
}

// A phase without an end does not keep those of its name within it out of the sums.
func TestSumsWithinWhatNeverEnds(t *testing.T) {
	event := func(name, ph string, ms int) string { return chromeLine(name, ph, 1_000_000+1000*ms) }
	r := foldText(t, event("dynamo", "B", 0)+event("dynamo", "B", 10)+event("dynamo", "E", 30)+
		event("dynamo", "B", 40)+event("dynamo", "E", 41))
	if s := r.PhaseSums[0]; s.Count != 2 || s.Seconds != 0.021 || s.Self != 0.021 {
		t.Errorf("%+v", s)
	}
}

// Instants beyond the bound are counted, and the reports say so.
func TestInstantsBeyondTheBoundAreCounted(t *testing.T) {
	var b strings.Builder
	for i := range maxInstants + 5 {
		b.WriteString(chromeLine("miss", "i", 1_000_000+i))
	}
	r := foldText(t, b.String())
	if len(r.Instants) != maxInstants || r.InstantsLeftOut != 5 {
		t.Errorf("%d instants, %d left out", len(r.Instants), r.InstantsLeftOut)
	}
	told := "5 instant events that are left out, there are too many"
	if !slices.Contains(r.Damage(), told) {
		t.Errorf("%q", r.Damage())
	}
	checkWritten(t, r, `"instants_left_out": 5`, told, `"instants_left_out":5`)
}

// Phases within too many others are counted, and the ends of these are not taken for those of others.
func TestPhasesTooDeepAreCounted(t *testing.T) {
	var b strings.Builder
	at := 0
	event := func(name, ph string) {
		at += 1000
		b.WriteString(chromeLine(name, ph, 1_000_000+at))
	}
	for range maxOpen {
		event("again", "B")
	}
	for range 3 {
		event("again", "B")
	}
	event("other", "B")
	event("other", "E")
	for range maxOpen + 3 {
		event("again", "E")
	}
	r := foldText(t, b.String())
	if len(r.Phases) != maxOpen || r.DeepPhases != 4 || len(r.Unclosed) != 0 {
		t.Errorf("%d phases, %d too deep, %d unclosed", len(r.Phases), r.DeepPhases, len(r.Unclosed))
	}
	if first := r.Phases[0]; first.Dur != time.Duration(at-1000)*time.Microsecond {
		t.Errorf("the outermost took %v of %v", first.Dur, time.Duration(at)*time.Microsecond)
	}
	if last := r.Phases[maxOpen-1]; last.Dur != 9*time.Millisecond {
		t.Errorf("the innermost took %v", last.Dur)
	}
	told := "4 phases within 1024 others that are left out"
	if !slices.Contains(r.Damage(), told) {
		t.Errorf("%q", r.Damage())
	}
	checkWritten(t, r, `"deep_phases_left_out": 4`, told, `"deep_phases_left_out":4`)
}
