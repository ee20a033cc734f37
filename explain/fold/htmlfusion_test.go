package fold

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tcdbg/explain/render"
)

// TestReportsHaveWhatStayedApart: of PyTorch's fusion log JSON and HTML have the pairs of all graphs, the costliest first:
// a relu of 2x8x16x16 numbers that a mean reads after pooling, 4 bytes each, and two of 32x48 numbers that are moved as one or two buffers.
func TestReportsHaveWhatStayedApart(t *testing.T) {
	r := report(t, "../testdata/traces/pytorch-2.15/fusion_small.txt.zst")
	var data bytes.Buffer
	if err := render.WriteJSON(&data, r); err != nil {
		t.Fatal(err)
	}
	var j struct {
		NotFused struct {
			Pairs, Unknown int
			List           []struct {
				A, B struct {
					Node, Ops string
					Pos       []struct{ Line int }
				}
				Bytes int64
			}
		} `json:"not_fused"`
	}
	if err := json.Unmarshal(data.Bytes(), &j); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range j.NotFused.List {
		got = append(got, fmt.Sprint(p.Bytes, " ", p.A.Node[:3], " ", p.B.Node[:3], " ", p.A.Pos[0].Line, " ", p.B.Pos[0].Line))
	}
	want := "[16384 op3 op4 23 23; 12288 op1 op1 8 10; 6144 op1 op1 14 8]"
	if s := "[" + strings.Join(got, "; ") + "]"; s != want || j.NotFused.Pairs != 3 || j.NotFused.Unknown != 0 {
		t.Errorf("%s, want %s, of %d pairs", s, want, j.NotFused.Pairs)
	}
	page := htmlOf(t, r)
	at := 0
	for _, want := range []string{
		"Not fused (3 pairs)</h2>", "up to 16 KB", "relu + mean: no shared data", "fusion_small.py:23", "up to 12 KB", "up to 6 KB",
		`<section id="fusion"`,
	} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or not in its order", want)
		}
		at += i
	}
}
