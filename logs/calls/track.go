package calls

import "slices"

// This file is how a reader keeps the runs of one function: bounded, with what was merged
// or lost counted.

// MaxRuns is how many runs of one function are kept.
const MaxRuns = 1024

// Track is the runs of one function, oldest first. The zero value is empty.
type Track struct {
	runs  []Run
	open  *Run
	every int64 // calls up to which runs of different outcomes are merged
	snap  []Run // what Runs gave, nil where something came since
}

// Put adds a part of a record.
func (t *Track) Put(p *Part) {
	t.snap = nil
	for i := range p.Runs {
		t.add(p.Runs[i])
	}
	t.open = p.Open
}

// Runs are the runs so far; the list is not changed later.
func (t *Track) Runs() []Run {
	if t.snap == nil {
		t.snap = slices.Clone(t.runs)
		if t.open != nil {
			t.snap = append(t.snap, *t.open)
		}
	}
	return t.snap
}

func (t *Track) add(r Run) {
	if n := len(t.runs); n > 0 && t.joins(&t.runs[n-1], &r) {
		t.runs[n-1].merge(&r, Mixed)
		return
	}
	t.runs = append(t.runs, r)
	if len(t.runs) >= MaxRuns {
		t.coarsen()
	}
}

// joins reports whether two runs that follow are one, as coarse as the track is by now.
func (t *Track) joins(a, b *Run) bool {
	return mergeable(a) && mergeable(b) && a.Count+b.Count <= t.every
}

// mergeable runs have no compile, which are kept as long as there is room.
func mergeable(r *Run) bool { return r.Outcome != Compiled && r.Outcome != Lost }

// coarsen makes room for a quarter of the runs: by merging calls of different outcomes, and
// where that does not do, by counting the compiles in the middle only.
func (t *Track) coarsen() {
	room := MaxRuns * 3 / 4
	for len(t.runs) > room {
		before := len(t.runs)
		t.every = max(2, 2*t.every)
		t.runs = t.mergeAll()
		if len(t.runs) == before && t.every > t.calls() {
			break
		}
	}
	if len(t.runs) <= room {
		return
	}
	keep := MaxRuns / 4
	lost := t.runs[keep]
	for i := keep + 1; i < len(t.runs)-keep; i++ {
		lost.merge(&t.runs[i], Lost)
	}
	lost.Outcome = Lost
	t.runs = slices.Concat(t.runs[:keep], []Run{lost}, t.runs[len(t.runs)-keep:])
}

func (t *Track) calls() (n int64) {
	for i := range t.runs {
		n += t.runs[i].Count
	}
	return n
}

// mergeAll is the runs with those merged that are one.
func (t *Track) mergeAll() []Run {
	out := t.runs[:0]
	for _, r := range t.runs {
		if n := len(out); n > 0 && t.joins(&out[n-1], &r) {
			out[n-1].merge(&r, Mixed)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Len is the number of runs.
func (t *Track) Len() int {
	if t.open != nil {
		return len(t.runs) + 1
	}
	return len(t.runs)
}
