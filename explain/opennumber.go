package explain

import (
	"fmt"
	"strings"

	"tcdbg/tracer/breaks"
)

// This file is numbers that were constants of one entry and are inputs of the next:
// a number is opened when it changes for the first time.

// openNumbers lists, by compile of a Go program, the sources of its symbols that are
// no sizes.
func openNumbers(r *Report) map[ID][]string {
	out := map[ID][]string{}
	if !strings.HasPrefix(r.Engine, "tcdbg") {
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
	switch g.Kind {
	case breaks.ValueChanged, breaks.AttributeChanged, breaks.ClosureChanged, breaks.GlobalChanged:
	default:
		return Fix{}, false
	}
	source := plainSource(g.Source)
	for _, s := range open[rc.Compile.ID] {
		if s == source || strings.Contains(source, "("+s+" ") {
			return Fix{Text: fmt.Sprintf("%s was baked in by the first compile and is now dynamic: new values do not recompile (an int that becomes 0 or 1 does), nothing to do", s), Settled: true}, true
		}
	}
	return Fix{}, false
}

// countedBehindBreak advises on the counter of a loop that a graph break cuts: what
// follows the break begins again in each iteration, with the counter among its locals.
func countedBehindBreak(rc *Recompile) (Fix, bool) {
	fr := rc.Compile.Frame
	if fr.From == nil || fr.Parent == nil || len(rc.Failures) == 0 {
		return Fix{}, false
	}
	g := &rc.Failures[0]
	if g.Kind != breaks.ValueChanged && g.Kind != breaks.AttributeChanged || !strings.HasPrefix(strings.TrimSpace(g.Pos.Code), "for ") {
		return Fix{}, false
	}
	for _, from := range append([]*Frame{fr.Parent}, fr.Parent.Resumes...) {
		for _, c := range from.Compiles {
			if c.ID.CompileID == *fr.From && len(c.Breaks) > 0 {
				at := c.Breaks[0].Pos
				return Fix{Text: fmt.Sprintf("the graph break at %s splits this loop, and the rest of it is recompiled for each iteration: what removes that break removes this", shortPlace(at.File, at.Line))}, true
			}
		}
	}
	return Fix{}, false
}
