package fold

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/render"
	"tcdbg/logs"
	"tcdbg/logs/calls"
)

// frameOut begins a compile and says what it is of.
func frameOut(w *logs.Writer, frame, compile int, name string) {
	id := logs.CompileID{Frame: frame, Compile: compile}
	w.Emit(logs.Out{Kind: "dynamo_start", ID: id, Meta: map[string]any{"stack": []any{}}})
	w.Emit(logs.Artifact(id, logs.FrameInfo{Name: name, Pos: logs.Pos{File: "/u/model.go", Line: 10 + frame, Func: name}, Parent: -1}))
}

func calledRun(first, count int64, o calls.Outcome, entry int) calls.Run {
	return calls.Run{First: first, Count: count, Outcome: o, Entry: entry, Start: first}
}

func marks(t *explain.CallTrack) string {
	s := t.Name + " "
	for i := range t.Runs {
		s += string(t.Mark(&t.Runs[i]))
	}
	return s
}

// TestTracksOfCalls: parts of tracks are put together, an open run is replaced by its later
// form, a track finds its function's compiles, and functions of which no call was recorded
// have their compiles.
func TestTracksOfCalls(t *testing.T) {
	r := traceOf(t, func(w *logs.Writer) {
		open := calledRun(2, 1, calls.Hit, 0)
		w.Emit(logs.Artifact(logs.NoCompile, calls.Record{Process: 7, Parts: []calls.Part{
			{Frame: 0, Name: "f", Runs: []calls.Run{calledRun(1, 1, calls.Compiled, 0)}, Open: &open},
		}}))
		frameOut(w, 0, 0, "f")
		frameOut(w, 0, 1, "f")
		frameOut(w, 1, 0, "g")
		at := logs.Pos{File: "/u/model.go", Line: 12}
		w.Emit(logs.Artifact(logs.CompileID{Frame: 0, Compile: 1}, logs.Break{Code: "GB0170", Pos: at, Stack: []logs.Pos{at}, Resume: "r"}))
		for _, id := range []logs.CompileID{{Frame: 0}, {Frame: 0, Compile: 1}, {Frame: 1}} {
			name := map[int]string{0: "f", 1: "g"}[id.Frame]
			w.Emit(logs.Out{Kind: "compilation_metrics", ID: id, Meta: map[string]any{"co_name": name, "fail_type": nil}})
		}
		eager := calledRun(9, 3, calls.Eager, -1)
		eager.Why = calls.AtLimit
		w.Emit(logs.Artifact(logs.NoCompile, calls.Record{Process: 7, Engine: "PyTorch 2.6.0", Missing: "some of it", Parts: []calls.Part{
			{Frame: 0, Name: "f", Open: &eager, Runs: []calls.Run{
				calledRun(2, 4, calls.Hit, 0), calledRun(6, 1, calls.Compiled, 1), calledRun(7, 2, calls.Hit, 1),
			}},
			{Frame: -1, Name: "lost", File: "/u/x.py", Line: 3, Open: &eager},
		}}))
	})
	var got []string
	for _, k := range r.Calls.Tracks {
		got = append(got, marks(k))
	}
	if text := strings.Join(got, ", "); text != "f C0Cbe, g C, lost e" {
		t.Errorf("tracks: %s", text)
	}
	f := r.Calls.Tracks[0]
	if f.Calls() != 11 || f.Frame != r.Frames[0] || f.Derived || !r.Calls.Tracks[1].Derived {
		t.Errorf("f: %d calls, %+v", f.Calls(), f)
	}
	if at := f.At(&f.Runs[3]); at.Line != 12 {
		t.Errorf("the arrow of a call that breaks is at line %d", at.Line)
	}
	if lost := r.Calls.Tracks[2]; lost.Frame != nil || lost.Pos.Line != 3 {
		t.Errorf("a function without compiles: %+v", lost)
	}
	if r.Engine != "PyTorch 2.6.0" {
		t.Errorf("the engine is %q", r.Engine)
	}
	if !r.Calls.Recorded || fmt.Sprint(r.Calls.Missing) != "[some of it]" {
		t.Errorf("recorded %v, missing %q", r.Calls.Recorded, r.Calls.Missing)
	}
}

// TestGivenUp: of a function that its last compile leaves to eager execution, calls after that
// are not told, and the report says so; of one that is compiled it says nothing.
func TestGivenUp(t *testing.T) {
	for _, c := range []struct {
		untold []string
		fail   any
		text   string
	}{
		{[]string{calls.UntoldGivenUp}, "Unsupported", "CALLS: at least 3 calls of 1 function"},
		{[]string{calls.UntoldGivenUp}, nil, "CALLS: 3 calls of 1 function"},
		{nil, "Unsupported", "CALLS: 3 calls of 1 function"},
	} {
		r := traceOf(t, func(w *logs.Writer) {
			runs := []calls.Run{calledRun(1, 1, calls.Compiled, 0), calledRun(2, 1, calls.Hit, 0)}
			last := calledRun(3, 1, calls.Compiled, 1)
			if c.fail != nil {
				last = calledRun(3, 1, calls.Eager, -1)
				last.Why = calls.Skipped
			}
			w.Emit(logs.Artifact(logs.NoCompile, calls.Record{
				Process: 7, Untold: c.untold, Parts: []calls.Part{{Frame: 0, Name: "f", Runs: append(runs, last)}},
			}))
			for i, fail := range []any{nil, c.fail} {
				id := logs.CompileID{Compile: i}
				frameOut(w, 0, i, "f")
				if fail != nil {
					w.Emit(logs.Artifact(id, logs.Break{Code: "GB0088", Pos: logs.Pos{File: "/u/model.go", Line: 12}}))
				}
				w.Emit(logs.Out{Kind: "compilation_metrics", ID: id, Meta: map[string]any{"co_name": "f", "fail_type": fail}})
			}
		})
		var text strings.Builder
		if err := render.WriteText(&text, r); err != nil {
			t.Fatal(err)
		}
		given := strings.Contains(c.text, "at least")
		if !strings.Contains(text.String(), c.text+"\n") || strings.Contains(text.String(), "later calls run eagerly") != given {
			t.Errorf("untold %q, failed with %v:\n%s", c.untold, c.fail, text.String())
		}
	}
}

// TestUnseenLimit: where PyTorch did not tell of the call that reached the recompile limit, it does
// not tell of later ones.
func TestUnseenLimit(t *testing.T) {
	for _, seen := range []bool{true, false} {
		r := traceOf(t, func(w *logs.Writer) {
			runs := []calls.Run{calledRun(1, 1, calls.Compiled, 0)}
			if seen {
				runs = append(runs, calledRun(2, 9, calls.Eager, -1))
				runs[1].Why = calls.AtLimit
			}
			w.Emit(logs.Artifact(logs.NoCompile, calls.Record{
				Process: 7, Untold: []string{calls.UntoldGivenUp}, Parts: []calls.Part{{Frame: 0, Name: "f", Runs: runs}},
			}))
			for i, fail := range []any{nil, "FailOnRecompileLimitHit"} {
				id := logs.CompileID{Compile: i}
				frameOut(w, 0, i, "f")
				w.Emit(logs.Out{Kind: "compilation_metrics", ID: id, Meta: map[string]any{"co_name": "f", "fail_type": fail}})
			}
		})
		if k := r.Calls.Tracks[0]; k.Frame.Compiles[1].Status != explain.Limit || k.GivenUp == seen {
			t.Errorf("seen %v: %s, given up %v", seen, k.Frame.Compiles[1].Status, k.GivenUp)
		}
	}
}

// TestStrangersTrace: of a trace without records of calls the compiles are known, with what
// they were for, and that calls were not recorded.
func TestStrangersTrace(t *testing.T) {
	r := traceOf(t, func(w *logs.Writer) {
		frameOut(w, 0, 0, "f")
		w.Emit(logs.Out{Kind: "compilation_metrics", ID: logs.CompileID{}, Meta: map[string]any{"co_name": "f", "fail_type": nil}})
		id := logs.CompileID{Compile: 1}
		frameOut(w, 0, 1, "f")
		w.Emit(logs.Artifact(id, logs.GuardMiss{Call: 5, Failures: []logs.GuardFailure{{Message: "x differs"}}}))
		w.Emit(logs.Out{Kind: "compilation_metrics", ID: id, Meta: map[string]any{"co_name": "f", "fail_type": nil}})
	})
	if r.Calls.Recorded || len(r.Calls.Tracks) != 1 || marks(r.Calls.Tracks[0]) != "f CC" {
		t.Fatalf("%+v", r.Calls)
	}
	k := r.Calls.Tracks[0]
	if k.Miss(&k.Runs[1]) == nil || k.Runs[1].First != 5 {
		t.Errorf("the miss: %+v", k.Runs[1])
	}
}

// TestTrackOfARank: a process that knows its rank before PyTorch does has one track of a
// function, with its compiles.
func TestTrackOfARank(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.log")
	w, err := logs.Create(file, logs.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	frameOut(w, 0, 0, "f")
	w.Emit(logs.Out{Kind: "compilation_metrics", ID: logs.CompileID{}, Meta: map[string]any{"co_name": "f", "fail_type": nil}})
	ours := filepath.Join(filepath.Dir(file), "tcdbg_hooks_1.log")
	v, err := logs.Create(ours, logs.WriterOptions{HasRank: true})
	if err != nil {
		t.Fatal(err)
	}
	v.Emit(logs.Artifact(logs.NoCompile, calls.Record{Process: 7, Parts: []calls.Part{
		{Frame: 0, Name: "f", File: "/u/model.py", Runs: []calls.Run{calledRun(1, 1, calls.Compiled, 0), calledRun(2, 3, calls.Hit, 0)}},
		{Frame: 0, Epoch: 1, Name: "other", File: "/u/model.py", Runs: []calls.Run{calledRun(1, 1, calls.Hit, 0)}},
	}}))
	if err := errors.Join(w.Close(), v.Close()); err != nil {
		t.Fatal(err)
	}
	st, err := logs.Open([]string{file, ours}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r, err := All(st, "two files")
	if err != nil || len(r.Calls.Tracks) != 2 {
		t.Fatalf("%v, %+v", err, r.Calls)
	}
	if k := r.Calls.Tracks[0]; marks(k) != "f C0" || k.Frame == nil || k.Derived {
		t.Errorf("%+v", k)
	}
	if k := r.Calls.Tracks[1]; k.Frame != nil || k.Name != "other" {
		t.Errorf("of another epoch: %+v", k)
	}
}

// TestHostileTracks: a record that no engine writes makes a report, too.
func TestHostileTracks(t *testing.T) {
	many := make([]calls.Size, 100_000)
	r := traceOf(t, func(w *logs.Writer) {
		w.Emit(logs.Artifact(logs.NoCompile, calls.Record{Parts: []calls.Part{{Frame: -7, Epoch: -3, Runs: []calls.Run{
			{First: -5, Count: -9, Start: -1, End: 1 << 62, Entry: 1 << 40, Outcome: "?", Sizes: many},
			{First: 1 << 62, Count: 1 << 62, Outcome: calls.Mixed},
			{Outcome: calls.Lost},
			{},
		}}}}))
	})
	k := r.Calls.Tracks[0]
	if len(k.Runs) != 4 || len(k.Runs[0].Sizes) > maxOfRun || k.Calls() < 0 || k.Runs[0].Count != 0 {
		t.Errorf("%d runs, %d sizes, %d calls", len(k.Runs), len(k.Runs[0].Sizes), k.Calls())
	}
	for i := range k.Runs {
		k.Mark(&k.Runs[i])
		k.Miss(&k.Runs[i])
		explain.CallNumbers(&k.Runs[i])
	}
}
