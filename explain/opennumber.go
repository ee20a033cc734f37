package explain

import (
	"strings"

	"tcdbg/tracer/breaks"
)

// This file is numbers that were constants of one entry and are inputs of the next:
// a number is opened when it changes for the first time.

// openNumbers lists, by compile of a Go program, the sources of its symbols that are
// no sizes.
func openNumbers(r *Report) map[ID][]string {
	out := map[ID][]string{}
	if !r.OfGo() {
		return out // there a recompile takes seconds: the advice is how to spare it
	}
	for _, s := range r.Symbols {
		if s.Specialized == "" && s.Source != "" && !strings.Contains(s.Source, ".size()") && !strings.Contains(s.Source, ".stride()") {
			out[s.ID] = append(out[s.ID], plainSource(s.Source))
		}
	}
	return out
}

// becameInput advises on a number that the compile after its change has as an input:
// there is nothing to mend.
func becameInput(rc *Recompile, open map[ID][]string) (Fix, bool) {
	if len(rc.Failures) == 0 {
		return Fix{}, false
	}
	g := &rc.Failures[0]
	if !isNumber(g.Expected) {
		return Fix{}, false // a relation: an entry for each outcome
	}
	switch g.Kind {
	case breaks.ValueChanged, breaks.AttributeChanged, breaks.ClosureChanged, breaks.GlobalChanged:
	default:
		return Fix{}, false
	}
	source := plainSource(g.Source)
	for _, s := range open[rc.Compile.ID] {
		if hasWord(source, s) && !asksOf(rc.Compile.Frame, s) {
			return goFix("number-dynamic", s), true
		}
	}
	return Fix{}, false
}

// asksOf says whether a frame was recompiled for the outcome of a comparison with a number,
// as `if k > 3` has two.
func asksOf(fr *Frame, name string) bool {
	if fr == nil {
		return false
	}
	for _, c := range fr.Compiles {
		if c.Recompile == nil {
			continue
		}
		for i := range c.Recompile.Failures {
			g := &c.Recompile.Failures[i]
			if hasWord(plainSource(g.Source), name) && !isNumber(g.Expected) && g.Expected != ">= 2" { // which every int that is an input has
				return true
			}
		}
	}
	return false
}
