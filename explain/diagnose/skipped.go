package diagnose

import "tcdbg/explain"

// SkippedWords are the consequence.
func SkippedWords(fr *explain.Frame) string {
	if c := fr.SkippedAt(); c != nil {
		return "runs eagerly from [" + c.ID.String() + "] on: that call met no operator, " +
			"so PyTorch skips the function from then on, with the graphs it had compiled"
	}
	return "always runs eagerly: its first call had no operator, so PyTorch skips it and never compiles it again"
}

// skippedAdvice tells them after what has a cost that is known. Where a recompile was the
// last the advice on it tells.
func skippedAdvice(r *explain.Report) []explain.Advice {
	var out []explain.Advice
	for _, fr := range r.SkippedForGood() {
		cost := "never compiled"
		if c := fr.SkippedAt(); c != nil {
			if c.Recompile != nil && c.Recompile.Fix.Row == skipsForGood {
				continue
			}
			cost = "no longer compiled"
		}
		out = append(out, explain.Advice{Text: fr.Title() + " " + SkippedWords(fr), Pos: fr.Pos, Cost: cost, Frame: fr})
	}
	return out
}

// skipsForGood is the row for a recompile that met no operator.
const skipsForGood = "skips-for-good"
