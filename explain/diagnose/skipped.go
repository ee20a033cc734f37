package diagnose

import "tcdbg/explain"

// SkippedWords are the consequence.
const SkippedWords = "always runs eagerly: its first call had no operator, so PyTorch skips it and never compiles it again"

// skippedAdvice tells them after what has a cost that is known.
func skippedAdvice(r *explain.Report) []explain.Advice {
	var out []explain.Advice
	for _, fr := range r.SkippedForGood() {
		out = append(out, explain.Advice{Text: fr.Title() + " " + SkippedWords, Pos: fr.Pos, Cost: "never compiled", Frame: fr})
	}
	return out
}
