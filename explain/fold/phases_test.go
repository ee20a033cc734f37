package fold

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
)

// jobOfPhases is the trace of so many ranks, one after the other, each with a compile of n phases of 11 ms or more. The
// last rank takes 20 s longer in one of them.
func jobOfPhases(ranks, n int) string {
	var b strings.Builder
	for rank := range ranks {
		took := 12 * time.Millisecond * time.Duration(n)
		ts := 1_000_000.0
		event := func(name, ph string) {
			fmt.Fprintf(&b, `V1121 12:00:00.000000 7 torch/a.py:1] {"chromium_event": {}, "rank": %d, "frame_id": 0, `+
				`"frame_compile_id": 0, "attempt": 0, "has_payload": "00"}`+"\n\t"+`{"name": %q, "ts": %.1f, "ph": %q}`+"\n",
				rank, name, ts, ph)
		}
		event("dynamo", "B")
		for i := range n {
			name := fmt.Sprintf("part %d", i%3)
			if i == 10 {
				name = "wait"
			}
			event(name, "B")
			ts += 11_000 + float64(i)
			if i == 10 && rank == ranks-1 {
				ts += 20e6
				took += 20 * time.Second
			}
			event(name, "E")
		}
		event("dynamo", "E")
		fmt.Fprintf(&b, `V1121 12:00:00.000000 7 torch/a.py:1] {"compilation_metrics": {"compile_id": "0/0", "co_name": "f", `+
			`"entire_frame_compile_time_s": %g}, "rank": %d, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}`+"\n",
			took.Seconds(), rank)
	}
	return b.String()
}

// TestStragglerAmongManyPhases: of a job with more phases than are kept each rank has its longest, and the last rank all,
// which is a straggler for what it spent its time in and nothing else.
func TestStragglerAmongManyPhases(t *testing.T) {
	const ranks, parts = 1024, 150
	r := foldText(t, jobOfPhases(ranks, parts))
	of := make([]int, ranks)
	longest := make([]time.Duration, ranks)
	for _, p := range r.Phases {
		of[p.ID.Rank]++
		longest[p.ID.Rank] = max(longest[p.ID.Rank], p.Dur)
	}
	const fewest = maxPhases / 2 / ranks
	for rank, n := range of {
		if n < fewest {
			t.Fatalf("%d phases of rank %d are kept, want %d", n, rank, fewest)
		}
		if longest[rank] < parts*11*time.Millisecond {
			t.Fatalf("of rank %d no phase of more than %v is kept", rank, longest[rank])
		}
	}
	if of[ranks-1] != parts+1 {
		t.Errorf("%d phases of the rank that took longest are kept, want %d", of[ranks-1], parts+1)
	}
	if n := len(r.Phases); n > maxPhases || int64(n)+r.PhasesLeftOut != ranks*(parts+1) {
		t.Errorf("%d phases are kept and %d left out, of %d", n, r.PhasesLeftOut, ranks*(parts+1))
	}
	if len(r.Stragglers) != 1 || r.Stragglers[0].Rank != ranks-1 {
		t.Fatalf("stragglers: %+v", r.Stragglers)
	}
	slow := r.Stragglers[0].Phases
	if len(slow) != 1 || slow[0].Name != "wait" || math.Abs(slow[0].Seconds-slow[0].Usual-20) > 0.01 || slow[0].Usual < 0.011 {
		t.Errorf("where it spent its time: %+v", slow)
	}
}

// TestOneRankKeepsAll: without others a rank has as many phases as there may be, whose order does not matter.
func TestOneRankKeepsAll(t *testing.T) {
	f := New(nil)
	for i := range 3 * maxPhases {
		dur := time.Duration(i*7919%(3*maxPhases)) * time.Millisecond // each number once
		f.keepPhase(explain.Phase{Name: "p", Start: time.Unix(1, 0), Dur: dur})
	}
	r := f.Snapshot()
	if len(r.Phases) != maxPhases || r.PhasesLeftOut != 2*maxPhases {
		t.Fatalf("%d phases, %d left out", len(r.Phases), r.PhasesLeftOut)
	}
	for _, p := range r.Phases {
		if p.Dur < 2*maxPhases*time.Millisecond {
			t.Fatalf("one of %v is kept", p.Dur)
		}
	}
}
