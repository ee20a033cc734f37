package timeline

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs/chrome"
)

// rankTrace is the Chrome trace of a rank: operators on one thread, and what runs on either of two others. Polls are calls that
// a thread makes while it waits.
func rankTrace(t *testing.T, rank, polls int, ops ...string) *chrome.Tracks {
	t.Helper()
	var events []string
	add := func(cat, name string, tid, ts, dur int) {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":%d,"tid":%d,"ts":%d,"dur":%d}`,
			cat, name, 1000+rank, tid, ts, dur))
	}
	for i, name := range ops {
		add("cpu_op", name, 7000+rank, 1000*i, 500+100*rank)
		add("user_annotation", "gloo:all_reduce", 8000+rank*(i%2), 1000*i+100, 10)
	}
	for i := range polls {
		add("cuda_runtime", "cudaEventQuery", 9000+rank, 1000*i, 5)
	}
	tracks, err := chrome.ReadTracks(strings.NewReader(`{"traceEvents":[` + strings.Join(events, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return tracks
}

// Chrome traces of ranks that did the same are one track, that of the longest; what a rank did otherwise is told.
func TestTracesFoldByRank(t *testing.T) {
	usual := []string{"aten::mm", "c10d::allreduce_", "aten::add"}
	r := &explain.Report{}
	var traces []*chrome.Tracks
	for rank := range 7 {
		ops := usual
		switch rank {
		case 3:
			ops = append([]string{"aten::sin"}, usual...)
		case 5:
			ops = []string{"c10d::allreduce_", "aten::mm", "aten::add"}
		}
		r.Traces = append(r.Traces, explain.ChromeTrace{Rank: rank, File: fmt.Sprintf("%d.json", rank)})
		traces = append(traces, rankTrace(t, rank, rank, ops...))
	}
	ix := Of(r, Wish{}, traces)
	want := []struct{ ranks, parted string }{
		{"0-2, 4, 6", ""},
		{"3", "has 1 span of aten::sin, rank 0 has 0"},
		{"5", "does the same as rank 0 in another order, or divided otherwise among threads"},
	}
	if len(ix.Groups) != len(want) {
		t.Fatalf("%d groups: %+v", len(ix.Groups), ix.Groups)
	}
	for i, w := range want {
		if g := ix.Groups[i]; explain.RankRanges(g.Ranks) != w.ranks || g.Parted.Text != w.parted {
			t.Errorf("ranks %s: %q; want %s: %q", explain.RankRanges(g.Ranks), g.Parted.Text, w.ranks, w.parted)
		}
	}
	if g := ix.Groups[0]; g.Stands != 6 || !g.Longest {
		t.Errorf("rank %d stands for the others", g.Stands)
	}
	names := ix.FoldNames()
	on := map[string]bool{}
	for _, name := range names {
		if name != "" {
			on[name] = true
		}
	}
	folds := FoldsOf(ix, names, on)
	shown := ix.Folded(Folding{Hidden: folds.Hidden(-1), Selected: -1, Width: 80})
	got := map[int]bool{}
	for _, p := range shown.rows {
		got[ix.RankOf(p.track)] = true
		if label := shown.labels[p.track]; ix.RankOf(p.track) == 6 && !strings.HasPrefix(label, "▹5 ranks") {
			t.Errorf("a track of five ranks is called %q", label)
		}
	}
	if len(got) != 3 || !got[6] || !got[3] || !got[5] {
		t.Errorf("drawn are ranks %v", got)
	}
	if note := folds.Note(); !strings.Contains(note, "5 ranks alike, with the times of rank 6, which took longest") {
		t.Error(note)
	}
}

// Of more spans than there may be each trace keeps its longest, is compared by all, and the screen says how many went.
func TestSpansOfManyTracesAreBounded(t *testing.T) {
	defer func(n int) { maxSpans = n }(maxSpans)
	maxSpans = 12
	r, f := &explain.Report{}, &Files{have: map[string]*file{}}
	for rank := range 4 {
		name := fmt.Sprint(rank)
		ops := []string{"a", "b", "c", "d"}
		if rank == 3 {
			ops[3] = "e"
		}
		r.Traces = append(r.Traces, explain.ChromeTrace{Rank: rank, File: name})
		f.have[name] = &file{tracks: rankTrace(t, rank, 3, ops...)}
		f.bound()
	}
	traces := f.Of(r)
	for rank, tr := range traces {
		if len(tr.Spans) != 3 || tr.Left != 8 {
			t.Errorf("rank %d: %d spans, %d left out", rank, len(tr.Spans), tr.Left)
		}
		for _, s := range tr.Spans {
			if tr.Cats[s.Cat] != "cpu_op" {
				t.Errorf("rank %d keeps a span of %d ns", rank, s.Dur)
			}
		}
	}
	ix := Of(r, Wish{}, traces)
	if len(ix.Groups) != 2 || ix.Groups[1].Parted.Text != "does not do the same as rank 0" {
		t.Errorf("%+v", ix.Groups)
	}
	if text := Missing(r, Wish{}, traces); !strings.Contains(text, "32 spans are not kept, the shortest of each trace") {
		t.Error(text)
	}
}
