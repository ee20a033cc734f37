package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs/chrome"
)

// This file finds the ranks whose Chrome traces say that they did the same.

// ofTraces is the run of all Chrome traces: that of the report is 0, the one before 1.
const ofTraces = 2

// tracedRank is what the traces of one rank say.
type tracedRank struct {
	rank   int
	traces []*chrome.Tracks
	did    []string // of each trace
	took   int64
}

// traceGroups are the groups of the ranks that traces are of, and where each rank is in them, from first on. The first
// group is that of the most ranks. A rank that no other is beside has none.
func traceGroups(r *explain.Report, traces []*chrome.Tracks, first int) ([]Group, map[int]int32) {
	byRank := map[int]*tracedRank{}
	for i, t := range traces {
		n := r.Traces[i].Rank
		if t == nil || n < 0 {
			continue
		}
		k := byRank[n]
		if k == nil {
			k = &tracedRank{rank: n}
			byRank[n] = k
		}
		k.traces, k.took = append(k.traces, t), k.took+t.Extent()
	}
	if len(byRank) < 2 {
		return nil, nil
	}
	ranks := make([]*tracedRank, 0, len(byRank))
	for _, k := range byRank {
		for _, t := range k.traces {
			k.did = append(k.did, t.Did())
		}
		ranks = append(ranks, k)
	}
	slices.SortFunc(ranks, func(a, b *tracedRank) int { return cmp.Compare(a.rank, b.rank) })
	lists := map[string][]*tracedRank{}
	var order []string
	for _, k := range ranks {
		key := strings.Join(k.did, " ")
		if lists[key] == nil {
			order = append(order, key)
		}
		lists[key] = append(lists[key], k)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(len(lists[b]), len(lists[a])) })
	var out []Group
	of := map[int]int32{}
	for _, key := range order {
		list := lists[key]
		g := Group{RankGroup: &explain.RankGroup{Usual: len(out) == 0}, Run: ofTraces}
		longest, least := list[0], list[0]
		for _, k := range list {
			g.Ranks = append(g.Ranks, k.rank)
			of[k.rank] = int32(first + len(out))
			if k.took > longest.took {
				longest = k
			}
			if k.took < least.took {
				least = k
			}
		}
		g.Stands, g.Longest = longest.rank, longest.took > least.took
		if usual := lists[order[0]][0]; !g.Usual {
			g.Parted.Text = partedBy(list[0], usual)
		}
		out = append(out, g)
	}
	return out, of
}

// partedBy says in what the spans of a rank differ most from those of another.
func partedBy(k, usual *tracedRank) string {
	if k.left()+usual.left() > 0 { // what they differ in may be what is not kept
		return fmt.Sprintf("does not do the same as rank %d", usual.rank)
	}
	mine, other := k.counts(), usual.counts()
	most, at := 0, ""
	differs := func(name string) {
		n := max(mine[name]-other[name], other[name]-mine[name])
		if n > most || n == most && n > 0 && name < at {
			most, at = n, name
		}
	}
	for name := range mine {
		differs(name)
	}
	for name := range other {
		differs(name)
	}
	if at == "" {
		return fmt.Sprintf("does the same as rank %d in another order, or divided otherwise among threads", usual.rank)
	}
	return fmt.Sprintf("has %s of %s, rank %d has %d", explain.Count(mine[at], "span"), at, usual.rank, other[at])
}

func (k *tracedRank) left() (n int64) {
	for _, t := range k.traces {
		n += t.Left
	}
	return n
}

func (k *tracedRank) counts() map[string]int {
	out := map[string]int{}
	for _, t := range k.traces {
		for name, n := range t.Counts() {
			out[name] += n
		}
	}
	return out
}
