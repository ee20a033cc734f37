package fold

import (
	"cmp"
	"slices"
	"time"

	"tcdbg/explain"
	"tcdbg/logs/bounds"
)

// This file keeps the phases of the flame chart, and bounds them so that no rank is left out because others were read
// before it.

// maxPhases bounds the phases that are kept one by one. Half of them are shared among the ranks, of which each has as
// many of its longest; the other half goes to those that took longest, which stand for others in the chart.
const maxPhases = 120_000

// phaseOwner is whose phases are bounded together: a rank of a file, or a file without ranks.
type phaseOwner struct{ source, rank int }

// phaseList is the phases of one owner, as they ended.
type phaseList struct {
	kept []explain.Phase
	took time.Duration // of those that lie within no other, kept or not
	cut  time.Duration // what took no longer was left out, -1: nothing was
}

// phaseLists are the phases of all owners, of which kept are kept; left are only summed.
type phaseLists struct {
	of    map[phaseOwner]*phaseList
	order []*phaseList
	kept  int
	left  int64
}

// keepPhase adds a phase that ended to those of its rank. The longest are kept, as what lies within a phase is no longer
// than it.
func (f *Fold) keepPhase(p explain.Phase) {
	f.extend(p.Start, p.Dur)
	key := phaseOwner{p.Source, p.ID.Rank}
	l := f.phases.of[key]
	if l == nil {
		f.hold(heldStage)
		l = &phaseList{cut: -1}
		f.phases.of[key] = l
		f.phases.order = append(f.phases.order, l)
	}
	if p.Depth == 0 {
		l.took += p.Dur
	}
	if p.Dur <= l.cut {
		f.phases.left++
		return
	}
	l.kept = append(l.kept, p)
	if f.phases.kept++; f.phases.kept > maxPhases+maxPhases/2 {
		f.phases.bound()
	}
}

// bound leaves out the shortest phases of each rank that has more than its share.
func (all *phaseLists) bound() {
	if all.kept <= maxPhases {
		return
	}
	counts := make([]int, len(all.order))
	for i, l := range all.order {
		counts[i] = len(l.kept)
	}
	share := bounds.EvenShare(counts, maxPhases/2)
	rest := maxPhases
	for _, l := range all.order {
		rest -= min(share, len(l.kept))
	}
	byTime := slices.Clone(all.order)
	slices.SortStableFunc(byTime, func(a, b *phaseList) int { return cmp.Compare(b.took, a.took) })
	for _, l := range byTime {
		more := max(0, min(rest, len(l.kept)-share))
		rest -= more
		if n := len(l.kept) - share - more; n > 0 {
			l.kept, l.cut = bounds.Longest(l.kept, share+more, func(p *explain.Phase) time.Duration { return p.Dur })
			all.left += int64(n)
			all.kept -= n
		}
	}
}
