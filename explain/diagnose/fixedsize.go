package diagnose

import (
	"fmt"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file finds sizes that are recompiled for each value though the compiler
// left them open: some line of the program needs the number.

// fixedSize is a size that became a constant in one compile.
type fixedSize struct {
	compile explain.ID
	source  string // L['x'].size()[0]
}

// fixedSizes is where the sizes of a report became constants.
func fixedSizes(r *explain.Report) map[fixedSize]logs.Pos {
	out := map[fixedSize]logs.Pos{}
	for _, s := range r.Symbols {
		if s.Specialized != "" {
			out[fixedSize{s.ID, s.Source}] = s.Pos
		}
	}
	return out
}

// needsNumber advises on a size that changed where the compile that should have left
// it open made a constant of it again: no marking of the size helps.
func needsNumber(rc *explain.Recompile, fixed map[fixedSize]logs.Pos) (explain.Fix, bool) {
	if len(rc.Failures) == 0 || rc.Failures[0].Kind != breaks.SizeChanged {
		return explain.Fix{}, false
	}
	g := &rc.Failures[0]
	at, ok := fixed[fixedSize{rc.Compile.ID, fmt.Sprintf("%s.size()[%d]", g.Source, g.Dim)}]
	name := argumentName(rc, g)
	if !ok || name == "" {
		return explain.Fix{}, false
	}
	where := "the marked line"
	if at.File != "" {
		where = ShortPlace(at.File, at.Line)
	}
	return goFix("size-constant", where, g.Dim, name), true
}
