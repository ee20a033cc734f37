package diagnose

import (
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/tracer/breaks"
)

// This file is numbers that were constants of one entry and are inputs of the next:
// a number is opened when it changes for the first time.

// notOne is what an entry expects of every int that is one of its inputs.
const notOne = ">= 2"

// OpenNumbers lists, by compile of a Go program, the sources of its symbols that are
// no sizes.
func OpenNumbers(r *explain.Report) map[explain.ID][]string {
	out := map[explain.ID][]string{}
	if !r.OfGo() {
		return out // there a recompile takes seconds: the advice is how to spare it
	}
	for _, s := range r.Symbols {
		if s.Specialized == "" && s.Source != "" && !strings.Contains(s.Source, ".size()") && !strings.Contains(s.Source, ".stride()") {
			out[s.ID] = append(out[s.ID], explain.PlainSource(s.Source))
		}
	}
	return out
}

// BecameInput advises on a number that the compile after its change has as an input:
// there is nothing to mend.
func BecameInput(rc *explain.Recompile, open map[explain.ID][]string) (explain.Fix, bool) {
	if len(rc.Failures) == 0 {
		return explain.Fix{}, false
	}
	g := &rc.Failures[0]
	if !explain.IsNumber(g.Expected) && g.Expected != notOne {
		return explain.Fix{}, false // a relation: an entry for each outcome
	}
	switch g.Kind {
	case breaks.ValueChanged, breaks.AttributeChanged, breaks.ClosureChanged, breaks.GlobalChanged:
	default:
		return explain.Fix{}, false
	}
	source := explain.PlainSource(g.Source)
	for _, s := range open[rc.Compile.ID] {
		switch {
		case !hasWord(source, s):
		case asksOf(rc.Compile.Frame, s):
			if source != s { // of an expression the question may be another one's
				return explain.Fix{}, false
			}
			return goFix("number-asked", s), true
		default:
			return goFix("number-dynamic", s), true
		}
	}
	return settledOne(rc, g, source, open)
}

// settledOne advises on an int that became 0 or 1, which have entries of their own, where
// another entry has it as an input.
func settledOne(rc *explain.Recompile, g *explain.GuardFailure, source string, open map[explain.ID][]string) (explain.Fix, bool) {
	if g.Actual != "0" && g.Actual != "1" {
		return explain.Fix{}, false
	}
	for _, c := range rc.Compile.Frame.Compiles {
		if slices.Contains(open[c.ID], source) && !asksOf(rc.Compile.Frame, source) {
			return goFix("number-one", source), true
		}
	}
	return explain.Fix{}, false
}

// asksOf says whether a frame was recompiled for the outcome of a comparison with a number,
// as `if k > 3` has two.
func asksOf(fr *explain.Frame, name string) bool {
	if fr == nil {
		return false
	}
	for _, c := range fr.Compiles {
		if c.Recompile == nil {
			continue
		}
		for i := range c.Recompile.Failures {
			g := &c.Recompile.Failures[i]
			if hasWord(explain.PlainSource(g.Source), name) && !explain.IsNumber(g.Expected) && g.Expected != notOne {
				return true
			}
		}
	}
	return false
}
