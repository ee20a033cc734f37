package fold

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/explain/gate"
	"tcdbg/explain/render"
	"tcdbg/logs"

	"github.com/klauspost/compress/zstd"
)

// seed gives a fuzzer pieces of real traces: whole records, as they are.
func seed(f *testing.F, add func(text string), match ...string) {
	f.Helper()
	for _, name := range []string{
		"pytorch-2.11/trace_00_gb_cpu.log", "pytorch-2.11/trace_0rccpu.log",
		"pytorch-2.11/trace_7fucuda.log", "pytorch-2.15/loops.log", "pytorch-2.15/loops.txt", "pytorch-2.11/logs_02_ex_cpu.txt",
		"pytorch-2.11/logs_2fucuda.txt", "pytorch-2.11/logs_03_fg_cpu.txt",
	} {
		b, err := os.ReadFile(filepath.Join("../testdata/traces", name+".zst"))
		if err != nil {
			f.Fatal(err)
		}
		d, err := zstd.NewReader(nil)
		if err != nil {
			f.Fatal(err)
		}
		text, err := d.DecodeAll(b, nil)
		if err != nil {
			f.Fatal(err)
		}
		n := 0
		for part := range strings.SplitSeq(string(text), "\nV1") {
			for _, m := range match {
				if strings.Contains(part, m) && n < 12 && len(part) < 20_000 {
					n++
					add(strings.ReplaceAll(part, "\n\t", "\n"))
				}
			}
		}
		d.Close()
	}
}

func FuzzBreakText(f *testing.F) {
	f.Add(breakOf215)
	seed(f, func(s string) { f.Add(s) }, "dynamo_graph_break_reason", "dynamo_error")
	f.Fuzz(func(t *testing.T, text string) {
		fold := New(nil)
		b := fold.newBreak(explain.ParseBreak(text), text)
		if b.Pos.Col > 0 && b.Pos.EndCol <= b.Pos.Col {
			t.Errorf("marked part %d-%d", b.Pos.Col, b.Pos.EndCol)
		}
		explain.ParseError(text)
		diagnose.StableKey(b)
		diagnose.FixBreak(b, "PyTorch 2.15.0")
	})
}

func FuzzRecompileReason(f *testing.F) {
	f.Add("0/1: tensor 'x' size mismatch at index 1. expected 4, actual 5")
	seed(f, func(s string) { f.Add(s) }, "recompile_reasons")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range explain.ParseReasons(text) {
			g := explain.ParseReason(r)
			rc := &explain.Recompile{Compile: &explain.Compile{Frame: &explain.Frame{}}, Failures: []explain.GuardFailure{g}}
			diagnose.FixRecompile(rc, "")
			explain.FailureText(&g)
		}
	})
}

func FuzzGuardTree(f *testing.F) {
	f.Add(guards1)
	seed(f, func(s string) { f.Add(s) }, "TREE_GUARD_MANAGER")
	f.Fuzz(func(t *testing.T, text string) {
		explain.ScanGuards(text)
		root := explain.ParseGuards(text)
		if d := explain.DiffGuards(root, explain.ParseGuards(text)); len(d) != 0 {
			t.Errorf("a tree differs from itself: %+v", d)
		}
	})
}

func FuzzOutputCode(f *testing.F) {
	f.Add(wrapper)
	seed(f, func(s string) { f.Add(s) }, "AOT ID")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + 1
		for _, k := range splitKernels(text) {
			if k.from < 1 || k.to < k.from || k.to > lines {
				t.Errorf("kernel %s at lines %d-%d of %d", k.name, k.from, k.to, lines)
			}
			sliceLines(text, k.from, k.to)
			opsFromName(k.name, operatorsIn(text))
		}
		aotID(text)
	})
}

// FuzzFold: any bytes, as a trace or as text, give a report in every form.
func FuzzFold(f *testing.F) {
	seed(f, func(s string) { f.Add([]byte("V1" + strings.ReplaceAll(s, "\n", "\n\t"))) }, "dynamo_start",
		"compilation_metrics_runtime", "create_symbol", "chromium_event", "symbolic_shape", "triton_kernel_info")
	seed(f, func(s string) { f.Add([]byte("V1" + s)) }, "__fusion", "Graph Count", "EXC <class")
	seed(f, func(s string) { f.Add([]byte("V1" + strings.ReplaceAll(s, "\n", "\n\t"))) }, "inductor_provenance_tracking",
		"_cache_miss", "describe_tensor", "dynamo_guards", "compiled_autograd")
	ours, err := os.ReadFile("../../tui/testdata/bar.log")
	if err != nil {
		f.Fatal(err)
	}
	for part := range bytes.SplitSeq(ours, []byte("\nV")) {
		if len(part) < 4000 && bytes.Contains(part, []byte(`"tcdbg_`)) {
			f.Add(append([]byte("V"), part...))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		st, err := logs.Open([]string{"-"}, logs.Options{Stdin: bytes.NewReader(data)})
		if err != nil {
			return
		}
		defer st.Close()
		fold := New(st)
		if err := st.Read(context.Background(), fold.Add); err != nil {
			return
		}
		r := fold.Snapshot()
		var b bytes.Buffer
		for _, write := range []func() error{
			func() error { return render.WriteText(&b, r) }, func() error { return render.WriteJSON(&b, r) },
			func() error { return render.WriteHTML(&b, r) }, func() error { return render.WriteChrome(&b, r) },
		} {
			if err := write(); err != nil {
				t.Error(err)
			}
		}
		if bytes.ContainsAny(b.Bytes(), "\x1b\x07") {
			t.Error("a control character comes through")
		}
		if d := gate.Diff(r, r); !d.Empty() {
			t.Errorf("a report differs from itself: %+v", d)
		}
	})
}

// FuzzBaseline: any bytes are refused, or a baseline that a report can be
// checked against.
func FuzzBaseline(f *testing.F) {
	r := &explain.Report{Engine: "PyTorch"}
	var b bytes.Buffer
	if err := gate.WriteBaseline(&b, gate.NewBaseline(r)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"version": 1, "breaks": [{"key": "GB0059|a.py|f|print(x)", "file": "a.py", "line": 3, "func": "f", "code": ` +
		`"print(x)", "count": 1, "cause": "GB0059x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		base, err := gate.ReadBaseline(bytes.NewReader(data))
		if err != nil {
			return
		}
		if found := gate.Check(r, gate.NoLimits, base); len(found) != 0 {
			t.Errorf("an empty report violates a baseline: %+v", found)
		}
	})
}
