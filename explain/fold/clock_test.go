package fold

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/render"
	"tcdbg/logs"
)

// dayOfJumps is the trace of a process that compiles for 24 hours and whose clock is set
// again and again, back and forward, between compiles and within them.
func dayOfJumps(frames int) string {
	var b strings.Builder
	clock := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i := range frames {
		clock = clock.Add(24 * time.Hour / time.Duration(frames))
		switch i % 50 {
		case 20:
			clock = clock.Add(-2 * time.Hour)
		case 40:
			clock = clock.Add(2 * time.Hour)
		}
		took := 250 * time.Millisecond
		switch i % 10 {
		case 3:
			took = -time.Hour
		case 7:
			took = 400 * 24 * time.Hour
		}
		id := fmt.Sprintf(`"frame_id": %d, "frame_compile_id": 0, "attempt": 0`, i)
		stamp := clock.Format("V0102 15:04:05.000000 7 torch/a.py:1] ")
		event := func(ph string, at time.Time) {
			fmt.Fprintf(&b, "%s{\"chromium_event\": {}, %s, \"has_payload\": \"x\"}\n", stamp, id)
			fmt.Fprintf(&b, "\t{\"name\": \"entire_frame_compile\", \"ts\": %d, \"ph\": %q}\n", at.UnixMicro(), ph)
		}
		fmt.Fprintf(&b, "%s{\"dynamo_start\": {\"stack\": []}, %s}\n", stamp, id)
		event("B", clock)
		end := clock.Add(took)
		event("E", end)
		for _, kind := range []string{"compilation_metrics", "bwd_compilation_metrics"} {
			fmt.Fprintf(&b, "%s{%q: {\"co_name\": \"f\", \"entire_frame_compile_time_s\": %f, ", stamp, kind, took.Seconds())
			fmt.Fprintf(&b, "\"duration_us\": %d, \"start_time_us\": %d}, %s}\n", took.Microseconds(), clock.UnixMicro(), id)
		}
	}
	return b.String()
}

// TestTheClockIsSet: however the clock of a program is set while it runs, nothing has taken
// less than no time or longer than anything can, and the run spans what the clock showed.
// Of what cannot be known, nothing is said.
func TestTheClockIsSet(t *testing.T) {
	const frames = 1000
	st, err := logs.Open([]string{"-"}, logs.Options{Stdin: strings.NewReader(dayOfJumps(frames))})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	f := New(st)
	f.SetLive(true)
	n := 0
	check := func(r *explain.Report) {
		t.Helper()
		if span := r.End.Sub(r.Start); span < 0 || span > 27*time.Hour {
			t.Fatalf("after %d records the run spans %v, from %v", n, span, r.Start)
		}
		for _, p := range r.Phases {
			if p.Dur < 0 || p.Dur > longest {
				t.Fatalf("after %d records %s of %v took %v", n, p.Name, p.ID, p.Dur)
			}
		}
		for _, p := range r.PhaseSums {
			if p.Seconds < 0 || p.Self < 0 || p.Self > p.Seconds || p.Seconds > frames {
				t.Fatalf("after %d records all of %s took %v s, itself %v s", n, p.Name, p.Seconds, p.Self)
			}
		}
		for _, fr := range r.Frames {
			for _, c := range fr.Compiles {
				if c.Seconds < 0 || c.Seconds > 1 {
					t.Fatalf("after %d records %v took %v s", n, c.ID, c.Seconds)
				}
			}
		}
		if s := r.Totals.CompileSeconds; s < 0 || s > frames {
			t.Fatalf("after %d records %v s of compiling", n, s)
		}
	}
	err = st.Read(context.Background(), func(r *logs.Record) {
		f.Add(r)
		if n++; n%97 == 0 {
			check(f.Snapshot())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	f.SetLive(false)
	r := f.Snapshot()
	check(r)
	if r.Totals.Compiles != frames || r.Totals.CompileSeconds < frames/10 {
		t.Errorf("%d compiles, %v s", r.Totals.Compiles, r.Totals.CompileSeconds)
	}
	if err := render.WriteChrome(io.Discard, r); err != nil {
		t.Error(err)
	}
}
