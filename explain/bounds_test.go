package explain

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"tcdbg/logs"
)

// TestGuardsAreBounded: of a log of nothing but guards on sizes so many are
// kept, and the report says how many are not.
func TestGuardsAreBounded(t *testing.T) {
	const beyond = 3
	line := `V1121 12:00:00.000000 7 torch/a.py:1] {"guard_added_fast": {"expr": "s0 > 1"}, "frame_id": %d, "frame_compile_id": 0, "attempt": 0}` + "\n"
	log := strings.Repeat(fmt.Sprintf(line, 0), maxShapeGuards/2) + strings.Repeat(fmt.Sprintf(line, 1), maxShapeGuards/2+beyond)
	st, err := logs.Open([]string{"-"}, logs.Options{Stdin: strings.NewReader(log)})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	fold := NewFold(st)
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
	if err := WriteText(&text, r); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&doc, r); err != nil {
		t.Fatal(err)
	}
	if want := "! 3 guards on sizes that are left out"; !strings.Contains(text.String(), want) {
		t.Errorf("the report lacks %q:\n%s", want, text.String()[:300])
	}
	if want := `"unlisted_guards": 3`; !strings.Contains(doc.String(), want) {
		t.Errorf("the JSON lacks %s", want)
	}
}

// TestNothingBorrowedIsKept: the report of records whose memory is overwritten
// as soon as they were taken is the report of the log.
func TestNothingBorrowedIsKept(t *testing.T) {
	for _, path := range traces(t) {
		var want, got bytes.Buffer
		if err := WriteText(&want, report(t, path)); err != nil {
			t.Fatal(err)
		}
		st := openStore(t, path)
		fold := NewFold(st)
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
		if err := WriteText(&got, fold.Snapshot()); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%s: the report shows memory that was lent", path)
		}
	}
}
