package render

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
)

// A job has a chart for each group of ranks, with the times of one of them: those of all lay over each other.
func TestHTMLHasAChartForEachGroupOfRanks(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	r := &explain.Report{Title: "job", Start: start, End: start.Add(9 * time.Second), RankGroups: []*explain.RankGroup{
		{Usual: true}, {Ranks: []int{200}, Parted: explain.Parting{Kind: explain.PartTime, Text: "takes 9.00 s to compile"}},
	}}
	for rank := range 256 {
		took := 3 * time.Second
		switch rank {
		case 200:
			took *= 3
		case 213:
			took += time.Second
		}
		if rank != 200 {
			r.RankGroups[0].Ranks = append(r.RankGroups[0].Ranks, rank)
		}
		r.Ranks = append(r.Ranks, &explain.Rank{Rank: rank, Totals: explain.Totals{CompileSeconds: took.Seconds()}})
		r.Phases = append(r.Phases, &explain.Phase{
			Name: fmt.Sprintf("dynamo of %d", rank), ID: explain.ID{Rank: rank}, Start: start, Dur: took,
		})
	}
	var b bytes.Buffer
	if err := WriteHTML(&b, r); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		"255 ranks alike, with the times of rank 213, which took longest: ranks 0-199, 201-255",
		"rank 200: takes 9.00 s to compile", ">dynamo of 213</i>", ">dynamo of 200</i>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if n := strings.Count(page, `<div class="flame"`); n != 2 || strings.Contains(page, ">dynamo of 0</i>") {
		t.Errorf("%d charts", n)
	}
}
