package fusion

import (
	"cmp"
	"slices"

	"tcdbg/explain"
)

// This file lists what stayed apart in all graphs of a report, as screens and reports show it: the costliest first.

// Pair is two kernels of a graph that stayed apart.
type Pair struct {
	View *View
	At   int // of its losses
}

// Loss is what the pair costs.
func (p Pair) Loss() *Loss { return &p.View.Losses[p.At] }

// OfAll explains the decisions over all graphs of a report.
func OfAll(r *explain.Report) []*View {
	out := make([]*View, len(r.Fusions))
	for i, f := range r.Fusions {
		out[i] = Of(f)
	}
	return out
}

// Apart are the pairs of all graphs that stayed apart, those first that cost most, those last of which it is not known.
func Apart(views []*View) []Pair {
	var out []Pair
	for _, v := range views {
		for i := range v.Losses {
			out = append(out, Pair{v, i})
		}
	}
	slices.SortStableFunc(out, func(a, b Pair) int { return cmp.Compare(b.Loss().Bytes, a.Loss().Bytes) })
	return out
}
