package fold

import (
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
	for range maxPhases + 7 {
		f.keepPhase(explain.Phase{Name: "brief", Start: time.Unix(1, 0), Dur: time.Millisecond})
	}
	f.keepPhase(explain.Phase{Name: "long", Start: time.Unix(1, 0), Dur: time.Second}) // has room kept for it
	r := f.Snapshot()
	if len(r.Phases) != maxPhases+1 || r.PhasesLeftOut != 7 {
		t.Errorf("%d phases, %d left out", len(r.Phases), r.PhasesLeftOut)
	}
	var text strings.Builder
	if err := render.WriteText(&text, r); err != nil || !strings.Contains(text.String(), "7 phases are not kept one by one") {
		t.Error(err, text.String())
	}
}
