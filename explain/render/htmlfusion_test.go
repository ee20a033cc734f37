package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// refused is a refusal whose bytes our own engine has counted.
func refused(a, b string, bytes int64) logs.FusionStep {
	return logs.FusionStep{
		A: a, B: b, Kind: "vertical", Reason: "memory deps did not match", Score: bytes,
		Uses: []logs.SharedUse{{Buffer: "buf0", Bytes: bytes, A: "written at [i0] over [8]", B: "read at [i1] over [8]"}},
	}
}

// apartReport has two graphs: the second has the costliest pair, and one of which the log tells nothing.
func apartReport() *explain.Report {
	id := func(frame int) explain.ID { return explain.ID{Rank: -1, CompileID: logs.CompileID{Frame: frame}} }
	return &explain.Report{Fusions: []*explain.Fusion{
		{ID: id(0), Before: 4, After: 3, Steps: []logs.FusionStep{
			refused("op0", "op1", 512),
			{A: "op2", B: "op3", Fused: true, Kind: "vertical", Score: 64, Result: "op2_op3"},
			refused("op0", "op1", 1024), // again: the last one counts
		}},
		{ID: id(1), Graph: "backward", Before: 3, After: 3, Ops: []string{"relu", "sum", "mm"}, Steps: []logs.FusionStep{
			refused("op0", "op1", 4096), {A: "op1", B: "op2", Reason: "a new reason"},
		}},
	}}
}

type apartJSON struct {
	Fusions []struct {
		Graph   string
		Saved   *int64 `json:"saved_bytes"`
		Reasons []struct {
			Reason       string
			Times, Pairs int
			Bytes        *int64
		}
	}
	NotFused *struct {
		Pairs, Unknown int
		List           []struct {
			ID       string
			Graph    string
			A, B     struct{ Node, Ops string }
			Reason   string
			Refusals int
			Bytes    *int64
			Shared   []struct {
				Buffer string
				Bytes  int64
			}
		}
	} `json:"not_fused"`
}

func apartOf(t *testing.T, r *explain.Report) (j apartJSON, page string) {
	t.Helper()
	var data, html bytes.Buffer
	if err := WriteJSON(&data, r); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data.Bytes(), &j); err != nil {
		t.Fatal(err)
	}
	if err := WriteHTML(&html, r); err != nil {
		t.Fatal(err)
	}
	return j, html.String()
}

// TestJSONHasWhatStayedApart: pairs of all graphs by the bytes that they cost, as the Fusion screen lists them.
func TestJSONHasWhatStayedApart(t *testing.T) {
	j, _ := apartOf(t, apartReport())
	if j.NotFused == nil || j.NotFused.Pairs != 3 || j.NotFused.Unknown != 1 {
		t.Fatalf("%+v", j.NotFused)
	}
	var got []string
	for _, p := range j.NotFused.List {
		bytes := "?"
		if p.Bytes != nil {
			bytes = fmt.Sprint(*p.Bytes)
		}
		got = append(got, fmt.Sprintf("%s %s %s(%s)+%s(%s) %s x%d %s %d", p.ID, p.Graph, p.A.Node, p.A.Ops, p.B.Node, p.B.Ops, p.Reason,
			p.Refusals, bytes, len(p.Shared)))
	}
	want := []string{
		"1/0 backward op0(relu)+op1(sum) memory deps did not match x1 4096 1",
		"0/0  op0()+op1() memory deps did not match x2 1024 1",
		"1/0 backward op1(sum)+op2(mm) a new reason x1 ? 0",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	f := j.Fusions
	if f[0].Saved == nil || *f[0].Saved != 64 || f[1].Saved != nil || f[1].Graph != "backward" {
		t.Errorf("%+v", f)
	}
	if r := f[0].Reasons; len(r) != 1 || r[0].Times != 2 || r[0].Pairs != 1 || r[0].Bytes == nil || *r[0].Bytes != 1024 {
		t.Errorf("%+v", r)
	}
	if j, _ := apartOf(t, &explain.Report{}); j.NotFused != nil {
		t.Error("pairs of a trace without decisions")
	}
}

// TestHTMLHasWhatStayedApart: the page has the same pairs in the same order, each with an address of its own.
func TestHTMLHasWhatStayedApart(t *testing.T) {
	_, page := apartOf(t, apartReport())
	_, section, found := strings.Cut(page, `<section id="not-fused"`)
	section, _, _ = strings.Cut(section, "</section>")
	if !found || !strings.Contains(page, `<a href="#not-fused">Not fused (3 pairs)</a>`) {
		t.Fatal("no section, or none that the page's list names")
	}
	at := 0
	for _, want := range []string{
		`<details class="row" id="apart-relu-sum-`, "up to 4 KB", "relu + sum: memory deps did not match", `<a href="#fusion-1-0">`,
		`<details class="row" id="apart-op0-op1-`, "up to 1 KB", "refused: </span><span>2 times", `<a href="#fusion-0-0">`,
		`<details class="row" id="apart-sum-mm-`, "not known", "sum + mm: a new reason",
	} {
		i := strings.Index(section[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or not in its order:\n%s", want, section)
		}
		at += i
	}
	for _, id := range []string{"fusion-0-0", "fusion-1-0"} {
		if !strings.Contains(page, `id="`+id+`"`) {
			t.Errorf("no row %s", id)
		}
	}
}

// TestWhatStayedApartIsBounded: of many pairs with long and hostile names the costliest are listed and the others counted.
func TestWhatStayedApartIsBounded(t *testing.T) {
	const pairs = 1200
	r := apartReport()
	long := strings.Repeat("<script>\x1b[2J&", 300)
	for i := range pairs {
		s := refused(fmt.Sprintf("op%d%s", i, long), fmt.Sprintf("op%d", pairs+i), int64(1_000_000+i))
		s.Uses = nil
		r.Fusions[0].Steps = append(r.Fusions[0].Steps, s)
	}
	j, page := apartOf(t, r)
	if j.NotFused.Pairs != pairs+3 || len(j.NotFused.List) != mostApart || *j.NotFused.List[0].Bytes != 1_000_000+pairs-1 {
		t.Errorf("%d pairs, %d listed, first %v", j.NotFused.Pairs, len(j.NotFused.List), *j.NotFused.List[0].Bytes)
	}
	if n := len(regexp.MustCompile(`id="apart-`).FindAllString(page, -1)); n != apartShown {
		t.Errorf("%d rows, not %d", n, apartShown)
	}
	if want := fmt.Sprintf("Left out here: %d more pairs", pairs+3-apartShown); !strings.Contains(page, want) {
		t.Errorf("%q is missing", want)
	}
	if len(page) > maxPage || strings.Contains(page, "&<script>") || strings.ContainsRune(page, '\x1b') {
		t.Errorf("a page of %d bytes, or text of the trace as markup", len(page))
	}
}
