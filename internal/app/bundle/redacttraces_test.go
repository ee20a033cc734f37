package bundle

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/explain/render"
	"tcdbg/internal/test/traces"
)

// TestRedactedTracesHaveNoSource: of real programs no line is left in what is redacted.
func TestRedactedTracesHaveNoSource(t *testing.T) {
	tested := 0
	for _, path := range traces.Files(t, "../../../explain/testdata/traces") {
		name := strings.TrimSuffix(strings.TrimSuffix(path, ".zst"), ".log")
		src, err := os.ReadFile(name + ".py")
		if err != nil {
			src, err = os.ReadFile("../../../fixtures/" + filepath.Base(name) + "/model.go")
		}
		if err != nil || !strings.HasSuffix(path, ".log.zst") {
			continue
		}
		text := traces.Unpacked(t, path)
		var out bytes.Buffer
		if err := Redact(&out, bytes.NewReader(text)); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for l := range strings.SplitSeq(string(src), "\n") {
			l = strings.TrimSpace(l)
			if strings.HasSuffix(l, "dynamo.graph_break()") || strings.HasSuffix(l, "dynamo.step_unsupported()") {
				continue // words of PyTorch's messages as well
			}
			if len(l) < 12 || !bytes.Contains(text, []byte(l)) {
				continue
			}
			tested++
			if i := bytes.Index(out.Bytes(), []byte(l)); i >= 0 {
				t.Errorf("%s: %q is left: %q", filepath.Base(path), l, out.Bytes()[max(0, i-200):min(out.Len(), i+100)])
			}
		}
	}
	if tested < 100 {
		t.Errorf("only %d lines were looked for", tested)
	}
}

// TestRedactFindsEveryForm: lines of source within JSON in a string, in the stacks of exception groups, in messages on
// conditions, and where a break's detail is its line; what stands beside them stays.
func TestRedactFindsEveryForm(t *testing.T) {
	const hash = `, "has_payload": "00"}`
	record := func(head, payload string) string {
		return "V1120 20:59:19.936000 400 torch/a.py:28] " + head + "\n\t" + strings.ReplaceAll(payload, "\n", "\n\t") + "\n"
	}
	for name, c := range map[string]struct{ text, kept string }{
		"JSON in a string": {
			record(`{"compilation_metrics": {"inductor_provenance": `+
				`["{\"k:1\": [\"  File \\\"/m.py\\\", line 2, in f\\n    secret = 1\\n\"]}"]}}`, ""),
			`k:1`,
		},
		"exception group": {
			record(`{"dynamo_error": {}`+hash,
				"  | Traceback:\n  |   File \"/m.py\", line 2, in f\n  |     secret = 1\n  | Error: no"),
			"  | Error: no",
		},
		"condition": {
			record(`{"dynamo_error": {}`+hash,
				"Caused by: secret = 1  # m.py:2 in f (torch/a.py:3 in g)\nnext"),
			"Caused by: # m.py:2 in f (torch/a.py:3 in g)",
		},
		"condition without a place": {record(`{"dynamo_error": {}`+hash,
			"Caused by: secret = 1\nnext"), "next"},
		"two comments": {
			record(`{"artifact": {"name": "recompile_reasons"}`+hash,
				`["x == 1  # secret = 1  # m.py:2 in f (first use) and secret = 1  # m.py:3 in g"]`),
			"x == 1  # m.py:2 in f (first use) # m.py:3 in g",
		},
		"detail": {
			record(`{"tcdbg_break": {}`+hash,
				`{"code":"GB9002","detail":"secret = 1","pos":{"code":"\tsecret = 1","func":"f"}}`),
			`"code":"GB9002","detail":"","pos":{"code":"","func":"f"}`,
		},
		"key of next year": {record(`{"graph_dump": {"name": "g"}, "frame_id": 3, "source_of": {"a": "secret = 1"}}`, ""), `"frame_id": 3`},
		"kind of next year": {
			record(`{"str": ["/m.py", 1]}`, "") + record(`{"of_next_year": {"text": "secret = 1"}, "frame_id": 7}`, ""), `"str"`,
		},
		"context": {
			record(`{"artifact": {"name": "dynamo_graph_break_reason"}`+hash,
				"context: secret = 1\n  File \"/m.py\", line 2, in f\n    secret = 1"),
			"context:",
		},
	} {
		var b bytes.Buffer
		if err := Redact(&b, strings.NewReader(c.text)); err != nil || strings.Contains(b.String(), "secret") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
		if !strings.Contains(b.String(), c.kept) {
			t.Errorf("%s: %q is gone:\n%s", name, c.kept, b.String())
		}
	}
}

// TestRedactRefuses: text logs, Chrome traces and packed traces are refused, and say why; nothing of them is written. A line of
// text that ends in JSON is no record.
func TestRedactRefuses(t *testing.T) {
	packed, err := os.ReadFile("../../../explain/testdata/traces/tcdbg/bar.log.zst")
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(aTrace)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const notOne = "in this file no record is one"
	for name, c := range map[string]struct{ text, want string }{
		"zstd":   {string(packed), "packed by zstd"},
		"gzip":   {zipped.String(), "packed by gzip"},
		"chrome": {`{"traceEvents": [{"name": "secret = 1"}]}`, notOne},
		"text":   {"V1120 20:59:19.936000 400 torch/a.py:28] [0/0] [__graph_code] secret = 1\n", notOne},
		"JSON":   {"V1120 20:59:19.936000 400 torch/a.py:28] [0/0] secret = a[k] {\"b\": 1}\n", notOne},
		"print":  {"secret = a[k] {\"b\": 1}\n", notOne},
		"empty":  {"", notOne},
	} {
		var b bytes.Buffer
		if err := Redact(&b, strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) || b.Len() > 0 {
			t.Errorf("%s: %v, %d bytes", name, err, b.Len())
		}
	}
}

// counts are what a report counts, by its frames and in all; kernels are read from code.
func counts(t *testing.T, path string) (string, *explain.Report) {
	t.Helper()
	st := traces.Open(t, path)
	f := fold.New(st)
	if err := st.Read(context.Background(), f.Add); err != nil {
		t.Fatal(err)
	}
	r := f.Snapshot()
	var md bytes.Buffer
	if err := render.WriteMarkdown(&md, r, render.Origin{}); err != nil || md.Len() >= 65_000 {
		t.Errorf("%s: %d bytes of Markdown, %v", path, md.Len(), err)
	}
	n := r.Totals
	n.Records, n.UnexplainedRecords, n.Kernels = 0, 0, 0
	var b strings.Builder
	fmt.Fprintf(&b, "%+v, %d break groups, %d recompiles\n", n, len(r.Breaks), len(r.Recompiles))
	for _, fr := range r.Frames {
		fmt.Fprintf(&b, "%s %s %s:%d %s\n", idOf(fr.ID), fr.Title(), fr.Pos.File, fr.Pos.Line, fr.Status)
		for _, c := range fr.Compiles {
			guards := -1
			if c.Guards != nil {
				guards = c.Guards.Leaves
			}
			fmt.Fprintf(&b, "  %s %s, %d operators, %d guards, %d breaks, recompile %v, failure %v\n",
				idOf(c.ID), c.Status, c.Ops, guards, len(c.Breaks), c.Recompile != nil, c.Failure != nil)
		}
	}
	for _, fl := range r.Failures {
		fmt.Fprintf(&b, "%s %s %s:%d\n", idOf(fl.ID), fl.Code, fl.Pos.File, fl.Pos.Line)
	}
	return b.String(), r
}

func idOf(id explain.ID) string {
	return fmt.Sprintf("%d %d/%d", id.Rank, id.CompileID.Frame, id.Compile)
}

// TestRedactedTracesCountTheSame: without their code traces have the frames, compiles, graphs, breaks, recompiles,
// guards and failures that they have with it.
func TestRedactedTracesCountTheSame(t *testing.T) {
	examples, err := filepath.Glob("../../../explain/testdata/advice/*/trace.log.zst")
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, path := range append(traces.Files(t, "../../../explain/testdata/traces"), examples...) {
		if !strings.HasSuffix(path, ".log.zst") {
			continue
		}
		whole, redacted := filepath.Join(t.TempDir(), "t.log"), filepath.Join(t.TempDir(), "t.log")
		text := traces.Unpacked(t, path)
		var out bytes.Buffer
		err := Redact(&out, bytes.NewReader(text))
		var again bytes.Buffer
		if err == nil {
			err = Redact(&again, bytes.NewReader(out.Bytes()))
		}
		if err == nil && again.String() != out.String() {
			t.Errorf("%s: redacted again it differs: %s", path, firstDifference(out.String(), again.String()))
		}
		if err == nil {
			err = os.WriteFile(whole, text, 0o600)
		}
		if err == nil {
			err = os.WriteFile(redacted, out.Bytes(), 0o600)
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		tested++
		was, of := counts(t, whole)
		now, told := counts(t, redacted)
		if now != was {
			t.Errorf("%s: %s", path, firstDifference(was, now))
		}
		if of.Totals.Kernels > 0 && !told.Untold(told.Totals.Kernels, "kernel") {
			t.Errorf("%s: %d kernels, and redacted %d", path, of.Totals.Kernels, told.Totals.Kernels)
		}
	}
	if tested < 150 {
		t.Errorf("only %d traces", tested)
	}
}
