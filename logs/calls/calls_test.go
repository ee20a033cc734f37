package calls

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func hit(call int64, entry int, ns int64) *Run {
	at := call * 1000
	return &Run{First: call, Count: 1, Start: at, End: at + ns, Outcome: Hit, Entry: entry, Timed: 1, Nanos: ns, Min: ns, Max: ns}
}

func compiled(call int64, entry int) *Run {
	r := hit(call, entry, 5)
	r.Outcome = Compiled
	return r
}

func eager(call int64) *Run {
	return &Run{First: call, Count: 1, Start: call * 1000, End: call * 1000, Outcome: Eager, Entry: NoEntryNumber, Why: AtLimit}
}

func spell(runs []Run) string {
	var out []string
	for _, r := range runs {
		s := fmt.Sprintf("%d+%d %s %d", r.First, r.Count, r.Outcome, r.Entry)
		for _, x := range r.Shares {
			s += fmt.Sprintf(" (%s %d: %d)", x.Outcome, x.Entry, x.Count)
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// take moves all that a recorder has into a track.
func take(r *Recorder, t *Track, all bool) int {
	closed, open, any := r.Take(time.Unix(0, 1), all)
	if any {
		t.Put(&Part{Runs: closed, Open: open})
	}
	return len(closed)
}

// TestRunsOfAlike: calls that go alike one after the other are one run, however often the
// recorder is asked in between; others begin a new one.
func TestRunsOfAlike(t *testing.T) {
	for _, every := range []int{1, 2, 100} {
		var r Recorder
		var track Track
		all := []*Run{compiled(1, 0), hit(2, 0, 3), hit(3, 0, 9), compiled(4, 1), hit(5, 0, 1), hit(6, 1, 1), eager(7), eager(8)}
		for i, c := range all {
			if !r.Again(c.First, c.Entry, c.Start, c.Nanos) || c.Outcome != Hit {
				r.Add(c)
			}
			if i%every == 0 {
				take(&r, &track, true)
			}
		}
		take(&r, &track, true)
		want := "1+1 compile 0, 2+2 hit 0, 4+1 compile 1, 5+1 hit 0, 6+1 hit 1, 7+2 eager -1"
		if got := spell(track.Runs()); got != want {
			t.Errorf("taken every %d calls:\n got %s\nwant %s", every, got, want)
		}
		if run := track.Runs()[1]; run.Min != 3 || run.Max != 9 || run.Nanos != 12 || run.Timed != 2 || run.End != 3009 {
			t.Errorf("the run of two hits: %+v", run)
		}
	}
}

// TestSizesPartRuns: calls of other sizes are another run; merged, they are a range.
func TestSizesPartRuns(t *testing.T) {
	var r Recorder
	for i := range int64(3) {
		c := hit(i+1, 0, 1)
		c.Sizes = []Size{{"x", 4 + i/2, 4 + i/2}}
		r.Add(c)
	}
	var track Track
	take(&r, &track, true)
	runs := track.Runs()
	if got := spell(runs); got != "1+2 hit 0, 3+1 hit 0" {
		t.Fatal(got)
	}
	a := runs[0]
	a.merge(&runs[1], Mixed)
	if a.Outcome != Hit || a.Count != 3 || len(a.Sizes) != 1 || a.Sizes[0] != (Size{"x", 4, 5}) {
		t.Errorf("merged: %+v", a)
	}
}

// TestBoundedForever: calls that never go alike twice are few runs for the writer and the
// reader, each call is counted once, and every compile is kept.
func TestBoundedForever(t *testing.T) {
	const n = 400_000
	var r Recorder
	var track Track
	written := 0
	for i := int64(1); i <= n; i++ {
		switch {
		case i%40_000 == 1:
			r.Add(compiled(i, int(i/40_000)))
		default:
			r.Add(hit(i, int(i%3), 1))
		}
		if i%1000 == 0 {
			written += take(&r, &track, false)
		}
	}
	take(&r, &track, true)
	if written > 4000 {
		t.Errorf("%d runs were written for %d calls", written, n)
	}
	runs := track.Runs()
	if len(runs) > MaxRuns+1 {
		t.Errorf("%d runs are kept", len(runs))
	}
	total, compiles := int64(0), 0
	for i := range runs {
		total += runs[i].Count
		if runs[i].Outcome == Compiled {
			compiles++
		}
		parts := int64(0)
		for _, s := range runs[i].Parts() {
			parts += s.Count
		}
		if parts != runs[i].Count {
			t.Errorf("the parts of %+v are %d", runs[i], parts)
		}
		if i > 0 && runs[i].First != runs[i-1].First+runs[i-1].Count {
			t.Fatalf("run %d begins with call %d after %d+%d", i, runs[i].First, runs[i-1].First, runs[i-1].Count)
		}
	}
	if total != n || compiles != 10 {
		t.Errorf("%d calls and %d compiles, want %d and 10", total, compiles, n)
	}
}

// TestLostIsSaid: where there is no room for compiles themselves, those in the middle are
// counted by what they were.
func TestLostIsSaid(t *testing.T) {
	var track Track
	const n = 5000
	for i := int64(1); i <= n; i++ {
		track.Put(&Part{Runs: []Run{*compiled(i, int(i))}})
	}
	runs := track.Runs()
	if len(runs) > MaxRuns {
		t.Fatalf("%d runs", len(runs))
	}
	lost, told := int64(0), int64(0)
	for i := range runs {
		if runs[i].Outcome == Lost {
			for _, s := range runs[i].Shares {
				lost += s.Count
				if s.Outcome != Compiled {
					t.Errorf("lost: %+v", s)
				}
			}
		} else {
			told += runs[i].Count
		}
	}
	if lost == 0 || lost+told != n {
		t.Errorf("%d lost and %d told of %d", lost, told, n)
	}
	if runs[0].First != 1 || runs[len(runs)-1].First != n {
		t.Error("the first and the last are not kept")
	}
}

// TestLongRunIsWrittenSeldom: a run that goes on is given less and less often, and at the end.
func TestLongRunIsWrittenSeldom(t *testing.T) {
	var r Recorder
	taken := 0
	for i := int64(1); i <= 10_000; i++ { // 100 ms apart: 17 minutes
		at := i * 100_000_000
		if !r.Again(i, 0, at, 1) {
			c := hit(i, 0, 1)
			c.Start, c.End = at, at+1
			r.Add(c)
		}
		if _, _, any := r.Take(time.Unix(0, at), false); any {
			taken++
		}
	}
	if taken < 900 || taken > 1100 { // once a second
		t.Errorf("written %d times", taken)
	}
	if _, open, _ := r.Take(time.Unix(0, 1), true); open == nil || open.Count != 10_000 {
		t.Errorf("at the end: %+v", open)
	}
}

// BenchmarkHit is what a hit costs.
func BenchmarkHit(b *testing.B) {
	var r Recorder
	r.Add(hit(1, 0, 1))
	for i := int64(2); b.Loop(); i++ {
		if !r.Again(i, 0, i, 1) {
			b.Fatal("not alike")
		}
	}
}
