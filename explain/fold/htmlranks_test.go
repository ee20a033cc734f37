package fold

import (
	"bytes"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/render"
)

// TestHTMLReportGroupsRanks: ranks that did the same are one row, and the others tell what parted them.
func TestHTMLReportGroupsRanks(t *testing.T) {
	r := rankRun(6, func(_ *explain.Report, step, _ *explain.Frame) { addBreak(step, 12) })
	r.Stragglers = []explain.Straggler{{Rank: 5, Seconds: 9, Usual: 1}}
	var b bytes.Buffer
	if err := render.WriteHTML(&b, r); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	at := 0
	for _, want := range []string{
		"ranks 0, 2-5 (5 alike): each ", `id="rank-1"`, "rank 1: ", "first difference (break): ", "straggler: rank 5 takes 9.00 s",
	} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or not in its order", want)
		}
		at += i
	}
	if n := strings.Count(page, "first difference"); n != 1 {
		t.Errorf("%d first differences of one group", n)
	}
}
