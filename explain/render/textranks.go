package render

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/explain"
)

// This file folds what ranks of a job did alike: a report that leaves things out lists the frames,
// graphs and kernels of one rank of each group.

// standing are the ranks that stand for others and those that others stand for.
type standing struct {
	hidden map[int]bool
	text   string // says which ranks are listed and for how many each; "" where all are
}

// mostGroups bounds the groups of which the line above a list tells.
const mostGroups = 4

func standingRanks(r *explain.Report) standing {
	s := standing{hidden: map[int]bool{}}
	has := func(int) bool { return true }
	var told []string
	for _, g := range r.RankGroups {
		rank, _, ok := r.Standing(g, has)
		if !ok || len(g.Ranks) < 2 {
			continue
		}
		for _, n := range g.Ranks {
			s.hidden[n] = n != rank
		}
		told = append(told, fmt.Sprintf("rank %d of %d", rank, len(g.Ranks)))
	}
	if n := len(told) - mostGroups; n > 0 {
		told = append(told[:mostGroups], explain.Count(n, "more group"))
	}
	if len(told) > 0 {
		s.text = "of ranks that did the same one is listed: " + strings.Join(told, ", ")
	}
	return s
}

// listed are those of a list whose ranks are shown, after a line that says which these are.
func listed[T any](t *TextWriter, list []T, id func(T) explain.ID) []T {
	if t.all || t.stand.text == "" {
		return list
	}
	t.line("  %s", t.stand.text)
	return slices.DeleteFunc(slices.Clone(list), func(v T) bool { return t.stand.hidden[id(v).Rank] })
}
