package fold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
