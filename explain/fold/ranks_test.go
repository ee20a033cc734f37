package fold

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
)

// rankRun is a run of n ranks that each compile step and its helper, step
// first; change alters what one rank did.
func rankRun(n int, change func(r *explain.Report, step, helper *explain.Frame)) *explain.Report {
	r := &explain.Report{}
	for rank := range n {
		r.Ranks = append(r.Ranks, &explain.Rank{Rank: rank})
		var frames []*explain.Frame
		for i, name := range []string{"step", "helper"} {
			fr := &explain.Frame{
				ID: explain.ID{Rank: rank, CompileID: logs.CompileID{Frame: i}}, Name: name,
				Pos: logs.Pos{File: "/w/train.py", Line: 10 * (i + 1)},
			}
			fr.Compiles = []*explain.Compile{{
				ID: fr.ID, Frame: fr, Status: explain.Compiled, Start: time.Unix(int64(i), 0),
				Graph: &explain.Graph{ID: fr.ID, Ops: []string{"add", "mul"}},
			}}
			frames = append(frames, fr)
			r.Caches = append(r.Caches, explain.CacheEvent{ID: fr.ID, Cache: "fx_graph", Hit: "miss"})
		}
		r.Frames = append(r.Frames, frames...)
	}
	if change != nil {
		change(r, r.Frames[2], r.Frames[3])
	}
	diagnose.CompareRanks(r)
	return r
}

func addBreak(fr *explain.Frame, line int) {
	c := fr.Compiles[0]
	c.Breaks = append(c.Breaks, &explain.Break{Code: "GB0025", Pos: logs.Pos{File: "/w/train.py", Line: line}, Compile: c})
}

// TestRanksAreCompared: what one rank did otherwise is told at that rank, by
// function and place, and where it first parted from the others.
func TestRanksAreCompared(t *testing.T) {
	for _, c := range []struct {
		name    string
		ranks   int
		change  func(r *explain.Report, step, helper *explain.Frame)
		differs map[int]string // of a rank, joined
		parting string
	}{
		{"all the same", 3, nil, nil, ""},
		{
			"a break on rank 1 of two", 2, func(_ *explain.Report, step, _ *explain.Frame) { addBreak(step, 12) },
			map[int]string{1: "step (train.py:10): breaks here alone: GB0025 explicit graph break at train.py:12"},
			"rank 1 breaks in step (train.py:10) where rank 0 does not: GB0025 explicit graph break at train.py:12",
		},
		{
			"the usual rank is not accused", 4, func(_ *explain.Report, step, _ *explain.Frame) { addBreak(step, 12) },
			map[int]string{1: "step (train.py:10): breaks here alone: GB0025 explicit graph break at train.py:12"},
			"rank 1 breaks in step (train.py:10) where rank 0 does not: GB0025 explicit graph break at train.py:12",
		},
		{
			"other graphs", 3, func(_ *explain.Report, step, _ *explain.Frame) { step.Compiles[0].Graph.Ops = []string{"add"} },
			map[int]string{1: "step (train.py:10): graphs of [1] operators here, of [2] on rank 0"},
			"rank 1 captures a different graph of step (train.py:10): no operator 2 here, mul on rank 0",
		},
		{
			"caches answer otherwise", 3, func(r *explain.Report, _, _ *explain.Frame) { r.Caches[2].Hit = "hit" },
			map[int]string{1: "step (train.py:10): caches: 1 x fx_graph hit here, 1 x fx_graph miss on rank 0"},
			"rank 1 finds in the caches for step (train.py:10): 1 x fx_graph hit; rank 0: 1 x fx_graph miss",
		},
		{
			"a function that is missing", 3, func(r *explain.Report, _, helper *explain.Frame) {
				i := slices.Index(r.Frames, helper)
				r.Frames = slices.Delete(r.Frames, i, i+1)
				r.Caches = slices.Delete(r.Caches, 3, 4)
			},
			map[int]string{1: "helper (train.py:20): not compiled here, but on rank 0"},
			"rank 1 compiles nothing more where rank 0 compiles helper (train.py:20)",
		},
		{
			"a recompile", 3, func(_ *explain.Report, step, _ *explain.Frame) {
				c := &explain.Compile{Frame: step, Status: explain.Compiled, Start: time.Unix(9, 0), ID: step.ID}
				c.Recompile = &explain.Recompile{
					Compile:  c,
					Failures: []explain.GuardFailure{explain.ParseReason("0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5")},
				}
				step.Compiles = append(step.Compiles, c)
			},
			map[int]string{1: "step (train.py:10): recompiles here alone: a size changed: x dim 0, expected 4, actual 5"},
			"rank 1 compiles step (train.py:10) again (a size changed: x dim 0, expected 4, actual 5) where rank 0 compiles nothing more",
		},
		{
			"another outcome", 3, func(_ *explain.Report, step, _ *explain.Frame) { step.Compiles[0].Status = explain.Skipped },
			map[int]string{1: "step (train.py:10): 1 x skipped here, 1 x compiled on rank 0"},
			"rank 1 ends a compile of step (train.py:10) as skipped, rank 0 as compiled",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rankRun(c.ranks, c.change)
			for _, rk := range r.Ranks {
				if got := strings.Join(rk.Diverged, "; "); got != c.differs[rk.Rank] {
					t.Errorf("rank %d differs by %q, want %q", rk.Rank, got, c.differs[rk.Rank])
				}
			}
			if got := strings.Join(r.Divergence, "; "); got != c.parting {
				t.Errorf("they part: %q, want %q", got, c.parting)
			}
		})
	}
}

// TestTwoRanksAreBothTold: of two, neither is the usual one.
func TestTwoRanksAreBothTold(t *testing.T) {
	r := rankRun(2, func(r *explain.Report, _, _ *explain.Frame) { r.Caches[2].Hit = "hit" })
	if len(r.Ranks[0].Diverged) != 1 || len(r.Ranks[1].Diverged) != 1 {
		t.Errorf("differences: %q and %q", r.Ranks[0].Diverged, r.Ranks[1].Diverged)
	}
}

// TestRanksThatAreBehind: in a run that goes on a rank may do yet what the others have done; what it did otherwise it did.
func TestRanksThatAreBehind(t *testing.T) {
	behind := func(live bool, change func(r *explain.Report, step, helper *explain.Frame)) explain.Parting {
		r := rankRun(3, func(r *explain.Report, step, helper *explain.Frame) {
			r.Live = live
			change(r, step, helper)
		})
		return r.RankGroups[1].Parted
	}
	without := func(r *explain.Report, _, helper *explain.Frame) {
		i := slices.Index(r.Frames, helper)
		r.Frames = slices.Delete(r.Frames, i, i+1)
		r.Caches = slices.Delete(r.Caches, 3, 4)
	}
	open := func(_ *explain.Report, _, helper *explain.Frame) { helper.Compiles[0].Graph = nil }
	broken := func(_ *explain.Report, _, helper *explain.Frame) { addBreak(helper, 12) }
	for _, c := range []struct {
		live   bool
		change func(r *explain.Report, step, helper *explain.Frame)
		kind   explain.PartKind
	}{
		{true, without, explain.PartBehind},
		{false, without, explain.PartFunction},
		{true, open, explain.PartBehind},
		{false, open, explain.PartGraph},
		{true, broken, explain.PartBreak},
	} {
		if p := behind(c.live, c.change); p.Kind != c.kind {
			t.Errorf("live %v: %s: %s, want %s", c.live, p.Kind, p.Text, c.kind)
		}
	}
}
