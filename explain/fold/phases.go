package fold

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tcdbg/explain"
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

// keepPhase adds a phase that ended to those of its rank. The longest are kept, as what lies within a phase is no longer
// than it.
func (f *Fold) keepPhase(p explain.Phase) {
	f.extend(p.Start, p.Dur)
	key := phaseOwner{p.Source, p.ID.Rank}
	l := f.phases[key]
	if l == nil {
		f.hold(heldStage)
		l = &phaseList{cut: -1}
		f.phases[key] = l
		f.phaseLists = append(f.phaseLists, l)
	}
	if p.Depth == 0 {
		l.took += p.Dur
	}
	if p.Dur <= l.cut {
		f.phasesLeftOut++
		return
	}
	l.kept = append(l.kept, p)
	if f.phasesKept++; f.phasesKept > maxPhases+maxPhases/2 {
		f.cutPhases()
	}
}

// cutPhases leaves out the shortest phases of each rank that has more than its share.
func (f *Fold) cutPhases() {
	if f.phasesKept <= maxPhases {
		return
	}
	share := evenShare(f.phaseLists, maxPhases/2)
	rest := maxPhases
	for _, l := range f.phaseLists {
		rest -= min(share, len(l.kept))
	}
	byTime := slices.Clone(f.phaseLists)
	slices.SortStableFunc(byTime, func(a, b *phaseList) int { return cmp.Compare(b.took, a.took) })
	for _, l := range byTime {
		more := max(0, min(rest, len(l.kept)-share))
		rest -= more
		if n := len(l.kept) - share - more; n > 0 {
			l.longest(share + more)
			f.phasesLeftOut += int64(n)
			f.phasesKept -= n
		}
	}
}

// evenShare is how many of its phases each list may have, so that there are so many in all.
func evenShare(lists []*phaseList, all int) int {
	counts := make([]int, len(lists))
	for i, l := range lists {
		counts[i] = len(l.kept)
	}
	slices.Sort(counts)
	for i, n := range counts {
		if share := all / (len(counts) - i); n > share {
			return share
		}
		all -= n
	}
	return math.MaxInt32
}

// longest leaves the n longest of a list, of those that took equally long the first.
func (l *phaseList) longest(n int) {
	times := make([]time.Duration, len(l.kept))
	for i := range l.kept {
		times[i] = l.kept[i].Dur
	}
	slices.Sort(times)
	l.cut = times[len(times)-n-1]
	equal := n // how many that took as long as the longest that is left out are kept
	for _, t := range slices.Backward(times) {
		if t == l.cut {
			break
		}
		equal--
	}
	kept := make([]explain.Phase, 0, n)
	for i := range l.kept {
		switch p := &l.kept[i]; {
		case p.Dur == l.cut && equal > 0:
			equal--
			kept = append(kept, *p)
		case p.Dur > l.cut:
			kept = append(kept, *p)
		}
	}
	l.kept = kept
}
