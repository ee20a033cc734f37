package gate

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/internal/test/traces"
	"tcdbg/logs"
)

// These tests hold what the gates of a project's CI see: a comparison of two runs,
// a baseline, and limits that name what they counted.

// often repeats a program's breaks in so many functions.
func often(t testing.TB, n int, list ...program) *explain.Report {
	return traceOf(t, func(w *logs.Writer) {
		for i, p := range list {
			for k := range n {
				w.Emit(logs.Out{
					Kind: "dynamo_start", ID: id(100*i+k, 0),
					Meta: map[string]any{"stack": w.Stack([]logs.Frame{{File: "/u/m.py", Line: p.line - 1, Name: p.fn}})},
				})
				w.Emit(logs.Text(id(100*i+k, 0), "dynamo_graph_break_reason",
					fmt.Sprintf("Graph break in user code at /u/m.py:%d\nGraph Break Reason: Encountered graph break when "+
						"attempting to trace CALL: a function call, e.g. f(x, y):\n\nFailed to trace builtin operator\n  "+
						"Explanation: x\n\nUser code traceback:\n  File \"/u/m.py\", line %d, in %s\n    %s\n", p.line, p.line,
						p.fn, p.code)))
			}
		}
	})
}

// failing is a report with failures of function g at the given lines.
func failing(lines ...int) *explain.Report {
	fr := &explain.Frame{Name: "g"}
	r := &explain.Report{Frames: []*explain.Frame{fr}}
	for _, line := range lines {
		fr.Compiles = append(fr.Compiles, &explain.Compile{Frame: fr, Status: explain.Failed})
		r.Failures = append(r.Failures, &explain.Failure{
			Type: "TorchRuntimeError", Code: explain.OperatorFailed, Frame: "g",
			Pos: logs.Pos{File: "/w/m.py", Line: line, Code: "return x @ y"},
		})
	}
	r.Totals.Failures = len(lines)
	return r
}

// throughFile writes a baseline and reads it again.
func throughFile(t *testing.T, b *Baseline) *Baseline {
	t.Helper()
	var file bytes.Buffer
	if err := WriteBaseline(&file, b); err != nil {
		t.Fatal(err)
	}
	out, err := ReadBaseline(&file)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestGatesSeeWhatGotWorse: more of a break or a failure, a new failure and a new
// recompile are worse; less of it, and the same elsewhere, is not. The comparison and
// the baseline agree.
func TestGatesSeeWhatGotWorse(t *testing.T) {
	p := program{fn: "f", code: "print('a')", line: 10}
	moved := program{fn: "f", code: "print('a')", line: 30}
	for _, c := range []struct {
		name  string
		a, b  *explain.Report
		worse string // words of the violation; "": it is not
	}{
		{"the same", often(t, 2, p), often(t, 2, p), ""},
		{"twice, then 20 times", often(t, 2, p), often(t, 20, p), "20 times, 2 in the baseline"},
		{"20 times, then twice", often(t, 20, p), often(t, 2, p), ""},
		{"moved", often(t, 2, p), often(t, 2, moved), ""},
		{"moved and more", often(t, 2, p), often(t, 3, moved), "3 times, 2 in the baseline"},
		{"a failure", failing(), failing(3), "new failure: GB4315 TorchRuntimeError"},
		{"the failure again", failing(3), failing(3), ""},
		{"a failure at another line of the same text", failing(3), failing(3, 9), "new failure: GB4315"},
		{"a failure twice", failing(3), failing(3, 3), "2 times, 1 in the baseline"},
		{"a failure that is gone", failing(3), failing(), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Diff(c.a, c.b).Worse(); got != (c.worse != "") {
				t.Errorf("worse: %v", got)
			}
			v := Check(c.b, NoLimits, throughFile(t, NewBaseline(c.a)))
			if (len(v) > 0) != (c.worse != "") || c.worse != "" && !strings.Contains(v[0].Message, c.worse) {
				t.Errorf("violations %+v, want %q", v, c.worse)
			}
		})
	}
}

// TestFullgraphIsWorse: the same program under fullgraph=True fails 13 times, and no gate
// lets it through.
func TestFullgraphIsWorse(t *testing.T) {
	a, b := report(t, "../testdata/traces/pytorch-2.11/trace_02_ex_cpu.log.zst"),
		report(t, "../testdata/traces/pytorch-2.11/trace_03_fg_cpu.log.zst")
	if d := Diff(a, b); !d.Worse() || len(d.Failures.New) != 13 {
		t.Errorf("worse: %v, %d new failures", d.Worse(), len(d.Failures.New))
	}
	if v := Check(b, NoLimits, throughFile(t, NewBaseline(a))); len(v) != 13 {
		t.Errorf("%d violations of the baseline: %+v", len(v), v)
	}
}

// TestEveryTracePassesItsOwnBaseline: a run is never worse than itself.
func TestEveryTracePassesItsOwnBaseline(t *testing.T) {
	for _, path := range traces.Files(t, "../testdata/traces") {
		r := report(t, path)
		if v := Check(r, NoLimits, throughFile(t, NewBaseline(r))); len(v) != 0 {
			t.Errorf("%s: %+v", path, v)
		}
		if d := Diff(r, r); d.Worse() || !d.Empty() {
			t.Errorf("%s differs from itself", path)
		}
	}
}

// version1 is a baseline as version 1 wrote it.
const version1 = `{"version": 1,
"breaks": [{"key": "GB0059|m.py|f|print('a')", "what": "GB0059", "file": "m.py", "line": 10, "func": "f", "code": "print('a')", "count": 2, "cause": "GB0059Failed to trace builtin operator"}],
"recompiles": [{"key": "m.py|f|size|x|0|", "what": "recompile of f", "file": "m.py", "line": 9, "func": "f", "code": "L['x']|", "count": 1, "cause": "size|0"}]}`

// TestOldBaselines: version 1 is read; it has counts, but no failures, and says so.
func TestOldBaselines(t *testing.T) {
	old, err := ReadBaseline(strings.NewReader(version1))
	if err != nil {
		t.Fatal(err)
	}
	p := program{fn: "f", code: "print('a')", line: 10}
	if v := Check(often(t, 2, p), NoLimits, old); len(v) != 0 {
		t.Errorf("%+v", v)
	}
	if v := Check(often(t, 3, p), NoLimits, old); len(v) != 1 || v[0].Rule != "baseline-break" {
		t.Errorf("%+v", v)
	}
	if v := Check(failing(3), NoLimits, old); len(v) != 1 || !strings.Contains(v[0].Message, "version 1 holds no failures") {
		t.Errorf("%+v", v)
	}
	if _, err := ReadBaseline(strings.NewReader(`{"version": 3}`)); err == nil || !strings.Contains(err.Error(), "reads 1 to 2") {
		t.Errorf("a later version: %v", err)
	}
}

// TestOldBaselinesOfRecompiles: version 1 counted the recompiles of all ranks together.
func TestOldBaselinesOfRecompiles(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/ddp_train")
	old := &Baseline{Version: 1}
	at := map[string]int{}
	for _, rc := range r.Recompiles {
		c := recompileCause(rc)
		key := c.function[:strings.IndexByte(c.function, '|')] + "|" + diagnose.CauseOfRecompile(rc)
		i, known := at[key]
		if !known {
			i = len(old.Recompiles)
			at[key] = i
			k := knownOf([]Cause{c})[0]
			k.Key, k.Cause = key, c.Code[strings.IndexByte(c.Code, '|')+1:]
			old.Recompiles = append(old.Recompiles, k)
		}
		old.Recompiles[i].Count++
	}
	old.Breaks = knownOf(breakCauses(r))
	if v := Check(r, NoLimits, old); len(v) != 0 {
		t.Errorf("%+v", v)
	}
	old.Recompiles[0].Count--
	if v := Check(r, NoLimits, old); len(v) != 1 || v[0].Rule != "baseline-recompile" {
		t.Errorf("one more: %+v", v)
	}
}

// TestKeysOfFindings: every finding of a trace has a key of its own, and a renamed file
// changes none.
func TestKeysOfFindings(t *testing.T) {
	for _, path := range traces.Files(t, "../testdata/traces") {
		r := report(t, path)
		places := map[string]string{}
		check := func(key, place string) {
			if was, known := places[key]; known && was != place {
				t.Errorf("%s: %q is at %s and at %s", path, key, was, place)
			}
			places[key] = place
		}
		for _, g := range r.Breaks {
			check("break "+g.Key, diagnose.BreakKey(g.Lead))
		}
		for _, rc := range r.Recompiles {
			fr := rc.Compile.Frame
			check("recompile "+rc.Key, fmt.Sprint(fr.ID, fr.Pos.File, fr.Pos.Line, diagnose.CauseOfRecompile(rc)))
			if strings.Contains(rc.Key, ".py") && !strings.Contains(diagnose.CauseOfRecompile(rc), ".py") {
				t.Errorf("%s: the key %q has a file's name", path, rc.Key)
			}
		}
	}
}

// TestTwoLambdas: two functions of one name in one file recompile for the same reason, on
// two lines or on one; they are two findings, as those of two ranks and epochs are.
func TestTwoLambdas(t *testing.T) {
	list := func(frames ...*explain.Frame) *explain.Report {
		r := &explain.Report{}
		for _, fr := range frames {
			fr.Name, fr.Pos.File = "<lambda>", "/w/m.py"
			rc := &explain.Recompile{Failures: []explain.GuardFailure{explain.ParseReason("0/0: tensor 'x' size mismatch at index " +
				"0. expected 4, actual 5")}}
			c := &explain.Compile{ID: fr.ID, Frame: fr, Recompile: rc}
			c.ID.Compile = 1
			rc.Compile = c
			fr.Compiles = []*explain.Compile{c}
			r.Frames = append(r.Frames, fr)
		}
		diagnose.ListRecompiles(r)
		return r
	}
	at := func(rank, epoch, frame, line int) *explain.Frame {
		return &explain.Frame{ID: explain.ID{Rank: rank, Epoch: epoch, CompileID: logs.CompileID{Frame: frame}}, Pos: logs.Pos{Line: line}}
	}
	for name, r := range map[string]*explain.Report{
		"two lines": list(at(-1, 0, 0, 3), at(-1, 0, 1, 4)), "one line": list(at(-1, 0, 0, 3), at(-1, 0, 1, 3)),
		"two ranks": list(at(0, 0, 0, 3), at(1, 0, 0, 3)), "two epochs": list(at(-1, 0, 0, 3), at(-1, 1, 0, 3)),
	} {
		if a, b := r.Recompiles[0].Key, r.Recompiles[1].Key; a == b {
			t.Errorf("%s share the key %s", name, a)
		}
		if n := len(recompileCauses(r)); n != 2 {
			t.Errorf("%s: %d causes", name, n)
		}
	}
	if d := Diff(list(at(0, 0, 0, 3)), list(at(0, 0, 0, 3), at(1, 0, 0, 3))); len(d.Recompiles.New) != 1 || !d.Worse() {
		t.Errorf("a recompile on a second rank: %+v", d.Recompiles)
	}
	if d := Diff(list(at(0, 0, 0, 3)), list(at(0, 1, 0, 3))); d.Worse() || len(d.Recompiles.Moved) != 1 {
		t.Errorf("the same after a reset: %+v", d.Recompiles)
	}
}

// TestRenamedFile: what is in a file of another name has moved.
func TestRenamedFile(t *testing.T) {
	a, b := often(t, 2, program{fn: "f", code: "print('a')", line: 10}), often(t, 2, program{fn: "f", code: "print('a')", line: 10})
	for _, g := range b.Breaks {
		g.Lead.Pos.File = "/u/renamed.py"
	}
	if a.Breaks[0].Key != b.Breaks[0].Key {
		t.Errorf("%q and %q", a.Breaks[0].Key, b.Breaks[0].Key)
	}
	if d := Diff(a, b); d.Worse() || len(d.Breaks.Moved) != 1 {
		t.Errorf("%+v", d.Breaks)
	}
}

// TestFailedChecksNameWhatTheyCounted: of every trace, what the lines of a failed limit
// say adds up to what the limit counted, breaks inside the framework too.
func TestFailedChecksNameWhatTheyCounted(t *testing.T) {
	l := NoLimits
	l.MaxBreaks, l.MaxRecompiles, l.MaxFailures = 0, 0, 0
	for _, path := range traces.Files(t, "../testdata/traces") {
		r := report(t, path)
		got := map[string]int{}
		for _, v := range Check(r, l, nil) {
			got[v.Rule] += v.Times
			if v.Times > 0 && v.Rule != "failure" && !strings.Contains(v.Message, explain.Count(v.Times, "time")) {
				t.Errorf("%s: %q does not say %d", path, v.Message, v.Times)
			}
		}
		if got["break"] != r.Totals.Breaks || got["recompile"] != r.Totals.Recompiles || got["failure"] != r.Totals.Failures {
			t.Errorf("%s: named %v, counted %d, %d, %d", path, got, r.Totals.Breaks, r.Totals.Recompiles, r.Totals.Failures)
		}
	}
}

// TestCheckOfCompileTime: a limit on compile time that is violated names the functions that
// took it, the longest first, and the times add up.
func TestCheckOfCompileTime(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/python.log.zst")
	limits := NoLimits
	limits.MaxCompileTime = time.Millisecond
	found := Check(r, limits, nil)
	if len(found) < 3 || found[0].Rule != "max-compile-time" {
		t.Fatalf("%+v", found)
	}
	sum, last := 0.0, math.Inf(1)
	for i, v := range found[1:] {
		_, s, _ := strings.Cut(v.Message, ", ")
		s, _, _ = strings.Cut(s, " s")
		took, err := strconv.ParseFloat(s, 64)
		if err != nil || v.Rule != "compile-time" {
			t.Fatalf("%+v", v)
		}
		if sum += took; i < longestListed && (took > last || v.Place == "") {
			t.Errorf("%d: %+v after %v s", i, v, last)
		}
		last = took
	}
	if math.Abs(sum-r.Totals.CompileSeconds) > 0.05 {
		t.Errorf("%v s of %v s", sum, r.Totals.CompileSeconds)
	}
}
