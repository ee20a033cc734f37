package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tcdbg/explain"
)

// This file makes groups of the ranks that did the same, and finds those that took longer.

// rankGroups groups the ranks, the largest group first, and fills in what each group's ranks
// did first otherwise than the usual one.
func rankGroups(r *explain.Report, work map[int]*worked, functions []told) []*explain.RankGroup {
	slow := map[int]*explain.Straggler{}
	for i := range r.Stragglers {
		slow[r.Stragglers[i].Rank] = &r.Stragglers[i]
	}
	groups := map[string]*explain.RankGroup{}
	var out []*explain.RankGroup
	for _, rk := range r.Ranks { // by rank
		key := work[rk.Rank].signature(functions) + fmt.Sprint(slow[rk.Rank] != nil)
		g := groups[key]
		if g == nil {
			g = &explain.RankGroup{}
			groups[key] = g
			out = append(out, g)
		}
		g.Ranks = append(g.Ranks, rk.Rank)
	}
	slices.SortStableFunc(out, func(a, b *explain.RankGroup) int { return cmp.Compare(len(b.Ranks), len(a.Ranks)) })
	out[0].Usual = true
	usual := out[0].Ranks[0]
	byRank := map[int]*explain.Rank{}
	for _, rk := range r.Ranks {
		byRank[rk.Rank] = rk
	}
	for _, g := range out[1:] {
		first := g.Ranks[0]
		g.Parted = parting(work[first].events, work[usual].events, usual, r.Live)
		if s := slow[first]; g.Parted.Text == "" && s != nil {
			g.Parted = explain.Parting{Kind: explain.PartTime, Text: s.Text()}
		}
		g.Differs = byRank[first].Diverged
		for _, rank := range g.Ranks {
			rk := byRank[rank]
			if len(rk.Diverged) == 0 && g.Parted.Text != "" {
				rk.Diverged = []string{g.Parted.Text}
				g.Differs = rk.Diverged
			}
		}
	}
	r.Divergence = divergence(r, out)
	return out
}

// divergence words what first parted each rank from the usual one, by rank.
func divergence(r *explain.Report, groups []*explain.RankGroup) []string {
	text := map[int]string{}
	for _, g := range groups {
		for _, rank := range g.Ranks {
			text[rank] = g.Parted.Text
		}
	}
	var out []string
	for _, rk := range r.Ranks {
		if s := text[rk.Rank]; s != "" {
			out = append(out, fmt.Sprintf("rank %d %s", rk.Rank, s))
		}
	}
	return out
}

// signature is equal where two ranks did the same.
func (w *worked) signature(functions []told) string {
	h := newHistory()
	for i := range w.events {
		h.add(&w.events[i])
	}
	for _, fn := range functions {
		h.list([]string{w.functions[fn.key].signature()})
	}
	return h.sum()
}

// A straggler's compiles take half as long again as the usual rank's, and a second more: less is what machines and
// their disks differ by.
const (
	slowShare   = 1.5
	slowSeconds = 1.0
)

// stragglers finds the ranks whose compiles took far longer, with the phases where the time went.
func stragglers(r *explain.Report) []explain.Straggler {
	seconds := make([]float64, len(r.Ranks))
	for i, rk := range r.Ranks {
		seconds[i] = rk.Totals.CompileSeconds
	}
	usual := median(seconds)
	var out []explain.Straggler
	var phases map[int]map[string]float64
	var usually map[string]float64
	for i, rk := range r.Ranks {
		if seconds[i] < usual*slowShare || seconds[i] < usual+slowSeconds {
			continue
		}
		if phases == nil {
			phases = phasesByRank(r)
			usually = usualPhases(phases, len(r.Ranks))
		}
		out = append(out, explain.Straggler{
			Rank: rk.Rank, Seconds: seconds[i], Usual: usual, Phases: slowPhases(phases[rk.Rank], usually),
		})
	}
	slices.SortStableFunc(out, func(a, b explain.Straggler) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return out
}

// median is the middle of some numbers, the lower of the middle two.
func median(list []float64) float64 {
	s := slices.Clone(list)
	slices.Sort(s)
	return s[(len(s)-1)/2]
}

// slowPhases are the phases in which a rank spent more time than the usual one, by what it was.
func slowPhases(mine, usual map[string]float64) []explain.SlowPhase {
	var out []explain.SlowPhase
	for name, took := range mine {
		if took-usual[name] > noticed {
			out = append(out, explain.SlowPhase{Name: name, Seconds: took, Usual: usual[name]})
		}
	}
	slices.SortFunc(out, func(a, b explain.SlowPhase) int {
		return cmp.Or(cmp.Compare(b.Seconds-b.Usual, a.Seconds-a.Usual), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// noticed is how much more a phase takes before it is named.
const noticed = 0.05

// usualPhases is what the usual rank spends in each phase.
func usualPhases(phases map[int]map[string]float64, ranks int) map[string]float64 {
	all := map[string][]float64{}
	for _, of := range phases {
		for name, took := range of {
			all[name] = append(all[name], took)
		}
	}
	out := map[string]float64{}
	for name, list := range all {
		if 2*len(list) > ranks { // of the others it is nothing
			out[name] = median(append(list, make([]float64, ranks-len(list))...))
		}
	}
	return out
}

// phasesByRank is what each rank spent in each phase itself, and not in those within. A report does not keep all phases
// one by one, and of each rank others.
func phasesByRank(r *explain.Report) map[int]map[string]float64 {
	out := map[int]map[string]float64{}
	for _, rk := range r.Ranks {
		of := map[string]float64{}
		maps.Copy(of, rk.Self)
		out[rk.Rank] = of
	}
	for _, p := range r.Phases {
		if of := out[p.ID.Rank]; p.Open && of != nil {
			of[p.Name] += p.Self.Seconds()
		}
	}
	return out
}

// sharedFixes is the advice on recompiles of ranks that did the same: it is found once, and not
// for each of a thousand ranks, whose guards would all be read.
type sharedFixes struct {
	group map[int]int // by rank
	have  map[sharedFix]explain.Fix
}

// sharedFix names a recompile among the ranks of a group.
type sharedFix struct {
	group, epoch, frame, compile int
	cause                        string
}

func rankFixes(r *explain.Report) sharedFixes {
	s := sharedFixes{map[int]int{}, map[sharedFix]explain.Fix{}}
	for i, g := range r.RankGroups {
		for _, rank := range g.Ranks {
			s.group[rank] = i
		}
	}
	return s
}

// of is the advice on a recompile: that of a rank that did the same, or what find finds.
func (s sharedFixes) of(rc *explain.Recompile, find func() explain.Fix) explain.Fix {
	id := rc.Compile.ID
	group, ok := s.group[id.Rank]
	if !ok {
		return find()
	}
	key := sharedFix{group, id.Epoch, id.Frame, id.Compile, causeWords(rc.Compile)}
	fix, ok := s.have[key]
	if !ok {
		fix = find()
		s.have[key] = fix
	}
	return fix
}
