package fold

import (
	"fmt"
	"testing"

	"tcdbg/logs"
)

// stop is one stop of a thread.
func stop(id, pid int, thread string) logs.Out {
	return logs.Artifact(logs.NoCompile, logs.Stop{
		ID: id, Process: pid, Thread: thread, Kind: logs.StopBreak, Why: fmt.Sprintf("stop %d", id),
		Where: &logs.Pos{File: "/u/model.go", Line: id},
		Stack: []logs.StackFrame{{
			Pos:    logs.Pos{File: "/u/model.go", Line: id, Func: "step"},
			Locals: []logs.Value{{Name: "x", Tensor: &logs.TensorValue{Dtype: "float32", Shape: []string{"2"}}}},
		}},
	})
}

// TestStops: a thread is stopped at its newest stop until it continues, the others stay stopped, and the
// values of a stop are read from the trace.
func TestStops(t *testing.T) {
	r := traceOf(t, func(w *logs.Writer) {
		w.Emit(stop(1, 7, ""))
		w.Emit(stop(1, 8, ""))
		w.Emit(stop(1, 8, "worker"))
		w.Emit(stop(2, 7, ""))
		w.Emit(logs.Artifact(logs.NoCompile, logs.State{State: "running", Process: 8, Thread: "worker"}))
	})
	got := ""
	for _, s := range r.Session.Standing() {
		got += fmt.Sprintf("%d/%d%s:%d ", s.Process, s.ID, s.Thread, s.Where.Line)
	}
	if got != "8/1:1 7/2:2 " {
		t.Errorf("standing at %q", got)
	}
	if s := r.Session.Stops[3].Load(); s.Why != "stop 2" || s.Stack[0].Locals[0].Tensor.Dtype != "float32" {
		t.Errorf("loaded %+v", s)
	}
	r = traceOf(t, func(w *logs.Writer) {
		w.Emit(stop(1, 7, ""))
		w.Emit(logs.Artifact(logs.NoCompile, logs.State{State: "running"}))
	})
	if n := len(r.Session.Standing()); n != 0 {
		t.Errorf("%d threads stand although all of them go on", n)
	}
}

// TestManyStops: the newest stops and answers are kept, the others counted.
func TestManyStops(t *testing.T) {
	const n = 3*maxStops + 5
	r := traceOf(t, func(w *logs.Writer) {
		for i := range n {
			w.Emit(stop(i+1, 7, ""))
			w.Emit(logs.Artifact(logs.NoCompile, logs.Answer{Command: i, Expr: "x"}))
		}
	})
	s := r.Session
	if len(s.Stops) != maxStops || s.Earlier != n-maxStops || s.Stops[maxStops-1].ID != n {
		t.Errorf("%d stops, %d earlier, the last is %d", len(s.Stops), s.Earlier, s.Stops[len(s.Stops)-1].ID)
	}
	if len(s.Answers) != maxAnswers || s.Answers[maxAnswers-1].Command != n-1 {
		t.Errorf("%d answers", len(s.Answers))
	}
}

// TestPoints: a breakpoint is known by its id, in each process, until it is cleared.
func TestPoints(t *testing.T) {
	r := traceOf(t, func(w *logs.Writer) {
		for _, p := range []logs.Point{
			{ID: 1, Process: 7, Spec: "break"},
			{ID: 2, Process: 7, Spec: "model.go:900", Error: "model.go has 80 lines"},
			{ID: 1, Process: 8, Spec: "break"},
			{ID: 1, Process: 7, Spec: "break", Places: 3},
			{ID: 1, Process: 8, Cleared: true},
			{ID: 9, Process: 8, Cleared: true},
		} {
			w.Emit(logs.Artifact(logs.NoCompile, p))
		}
	})
	if p := r.Session.Points; len(p) != 2 || p[0].Places != 3 || p[1].Error == "" {
		t.Errorf("points %+v", p)
	}
}
