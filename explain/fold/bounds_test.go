package fold

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"tcdbg/explain/render"
	"tcdbg/internal/test/traces"
	"tcdbg/logs"
)

// TestGuardsAreBounded: of a log of nothing but guards on sizes so many are
// kept, and the report says how many are not.
func TestGuardsAreBounded(t *testing.T) {
	const beyond = 3
	line := `V1121 12:00:00.000000 7 torch/a.py:1] {"guard_added_fast": {"expr": "s0 > 1"}, "frame_id": %d, "frame_compile_id": 0, ` +
		`"attempt": 0}` + "\n"
	start := strings.ReplaceAll(line, `"guard_added_fast": {"expr": "s0 > 1"}`, `"dynamo_start": {"stack": []}`)
	log := fmt.Sprintf(start+start, 0, 1) + strings.Repeat(fmt.Sprintf(line, 0), maxShapeGuards/2) +
		strings.Repeat(fmt.Sprintf(line, 1), maxShapeGuards/2+beyond)
	st, err := logs.Open([]string{"-"}, logs.Options{Stdin: strings.NewReader(log)})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	fold := New(st)
	if err := st.Read(context.Background(), fold.Add); err != nil {
		t.Fatal(err)
	}
	r := fold.Snapshot()
	kept := 0
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			kept += len(c.ShapeGuards)
		}
	}
	if kept != maxShapeGuards || r.UnlistedGuards != beyond {
		t.Errorf("%d guards are kept and %d are not, want %d and %d", kept, r.UnlistedGuards, maxShapeGuards, beyond)
	}
	var text, doc bytes.Buffer
	if err := render.WriteText(&text, r); err != nil {
		t.Fatal(err)
	}
	if err := render.WriteJSON(&doc, r); err != nil {
		t.Fatal(err)
	}
	if want := "! 3 guards on sizes that are left out"; !strings.Contains(text.String(), want) {
		t.Errorf("the report lacks %q:\n%s", want, text.String()[:300])
	}
	if want := `"unlisted_guards": 3`; !strings.Contains(doc.String(), want) {
		t.Errorf("the JSON lacks %s", want)
	}
}

// TestFoldIsBounded: logs of nothing but tiny records, each of which wants a place
// of its own in the report, fill it up to its bound; the rest is counted.
func TestFoldIsBounded(t *testing.T) {
	const bound, records = 1 << 20, 20_000
	id := `, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}`
	for name, line := range map[string]string{
		"compiles":  `{"dynamo_start": {}, "frame_id": %d, "frame_compile_id": 0, "attempt": 0}`,
		"epochs":    `{"dynamo_start": {}` + id,
		"ranks":     `{"str": ["a", %d], "rank": %[1]d}`,
		"stages":    `{"inductor_post_grad_graph": {}` + id,
		"code":      `{"inductor_output_code": {}` + id,
		"caches":    `{"artifact": {"name": "fx_graph_cache_hit", "encoding": "json"}}`,
		"symbols":   `{"create_symbol": {"symbol": "s%d", "val": "3"}` + id,
		"functions": `{"artifact": {"name": "recompile_reasons", "function": "f%d"}}`,
	} {
		if !strings.Contains(line, "%") {
			line += "%.0d"
		}
		var log strings.Builder
		for i := range records {
			fmt.Fprintf(&log, "V1121 12:00:00.000000 7 torch/a.py:1] "+line+"\n", i)
		}
		st, err := logs.Open([]string{"-"}, logs.Options{Stdin: strings.NewReader(log.String())})
		if err != nil {
			t.Fatal(err)
		}
		fold := New(st)
		fold.maxHeld = bound
		if err := st.Read(context.Background(), fold.Add); err != nil {
			t.Fatal(err)
		}
		r := fold.Snapshot()
		if r.Totals.Records != records || r.LeftOut < records/2 || r.LeftOut > records*99/100 {
			t.Errorf("%s: of %d records %d are left out", name, r.Totals.Records, r.LeftOut)
		}
		var text, doc bytes.Buffer
		if err := errors.Join(render.WriteText(&text, r), render.WriteJSON(&doc, r), st.Close()); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("! %d records that are counted and left out", r.LeftOut); !strings.Contains(text.String(), want) {
			t.Errorf("%s: the report lacks %q:\n%.300s", name, want, text.String())
		}
		if want := fmt.Sprintf(`"left_out": %d`, r.LeftOut); !strings.Contains(doc.String(), want) {
			t.Errorf("%s: the JSON lacks %s", name, want)
		}
	}
}

// TestManyBreaks: a report lists 20,000 breaks in as many functions, with the frames that
// resume after them.
func TestManyBreaks(t *testing.T) {
	const n = 20_000
	pr, pw := io.Pipe()
	go func() {
		w := bufio.NewWriter(pw)
		for i := range n {
			fn, line := fmt.Sprintf("forward_of_layer_%d", i), 10*i+29
			record := func(frame int, json string, payload ...string) {
				fmt.Fprintf(w, `V1121 12:00:00.000000 7 torch/a.py:1] %s, "frame_id": %d, "frame_compile_id": 0, "attempt": 0`, json, frame)
				if len(payload) > 0 {
					text := payload[0]
					fmt.Fprintf(w, ", \"has_payload\": \"%x\"}\n\t%s\n", md5.Sum([]byte(text)), strings.ReplaceAll(text, "\n", "\n\t"))
				} else {
					fmt.Fprintln(w, "}")
				}
			}
			compile := func(frame int, name string) {
				record(frame, fmt.Sprintf(
					`{"dynamo_start": {"stack": [{"line": %d, "name": %q, "filename": "/home/user/m.py", "loc": "y = f(x)"}]}`, line, name))
			}
			graph := func(frame int, name string) {
				record(frame, `{"dynamo_output_graph": {"sizes": {"l_x_": [4, 4], "y": [4, 4]}}`,
					"class GraphModule(torch.nn.Module):\n    def forward(self, L_x_: \"f32[4, 4]\"):\n        return (L_x_.sin(),)")
				record(frame, fmt.Sprintf(`{"compilation_metrics": {"compile_id": "%d/0", "co_name": %q, `+
					`"co_filename": "/home/user/m.py", "co_firstlineno": %d, "entire_frame_compile_time_s": 0.1}`, frame, name, line-2))
			}
			compile(2*i, fn)
			record(2*i, `{"artifact": {"name": "dynamo_graph_break_reason", "encoding": "string"}`,
				fmt.Sprintf("Graph break in user code at /home/user/m.py:%d\nGraph Break Reason: Failed to trace builtin operator\n"+
					"  Developer debug context: print\nUser code traceback:\n  File \"/home/user/m.py\", line %[1]d", line)+
					strings.Repeat("\n  File \"/home/user/framework/trainer/loop.py\", line 118, in run_one_step\n    x = f(x)", 9))
			graph(2*i, fn)
			resume := fmt.Sprintf("torch_dynamo_resume_in_%s_at_%d", fn, line)
			compile(2*i+1, resume)
			graph(2*i+1, resume)
		}
		_ = pw.CloseWithError(w.Flush())
	}()
	st, err := logs.Open([]string{"-"}, logs.Options{Stdin: pr})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	fold := New(st)
	if err := st.Read(context.Background(), fold.Add); err != nil {
		t.Fatal(err)
	}
	r := fold.Snapshot()
	breaks := 0
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			breaks += len(c.Breaks)
		}
	}
	if breaks != n || len(r.Frames) != 2*n || r.LeftOut != 0 {
		t.Errorf("%d breaks in %d frames, %d records left out; %d of %d MB are held",
			breaks, len(r.Frames), r.LeftOut, fold.held>>20, fold.maxHeld>>20)
	}
}

// TestNothingBorrowedIsKept: the report of records whose memory is overwritten
// as soon as they were taken is the report of the log.
func TestNothingBorrowedIsKept(t *testing.T) {
	for _, path := range traces.Files(t, "../testdata/traces") {
		var want, got bytes.Buffer
		if err := render.WriteText(&want, report(t, path)); err != nil {
			t.Fatal(err)
		}
		st := traces.Open(t, path)
		fold := New(st)
		fold.SetTitle(report(t, path).Title)
		if err := st.Read(context.Background(), func(r *logs.Record) {
			r = r.Keep()
			fold.Add(r)
			for _, b := range [][]byte{r.Meta(), r.RawPayload()} {
				for i := range b {
					b[i] = '#'
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := render.WriteText(&got, fold.Snapshot()); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%s: the report shows memory that was lent", path)
		}
	}
}
