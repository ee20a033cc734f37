package fold

import (
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
)

// placeConstraint puts a failure at the line that made the size a constant,
// where the trace tells it.
func (f *Fold) placeConstraint(fl *explain.Failure) {
	c, ok := explain.BrokenConstraint(fl)
	if !ok {
		return
	}
	fl.Fix = diagnose.ConstraintFix(c, fl, f.engine)
	if _, trace, found := strings.Cut(fl.Reason, "\nUser stack:\n"); found {
		trace, _, _ = strings.Cut(trace, "\n\n")
		if at, ok := explain.UserLine(explain.ParseStack(trace)); ok {
			fl.Pos, fl.Stack = f.pos(at), []logs.Pos{f.pos(at)}
			return
		}
	}
	for i := len(f.symbols) - 1; i >= 0; i-- {
		s := f.symbols[i]
		if s.ID.Rank != fl.ID.Rank || s.ID.Epoch != fl.ID.Epoch || s.ID.Frame != fl.ID.Frame || s.ID.Compile != fl.ID.Compile {
			return // the compile's own symbols were noted last
		}
		if s.Specialized != "" && s.Source == c.Source && s.Pos.File != "" {
			fl.Pos, fl.Stack = s.Pos, []logs.Pos{s.Pos}
			return
		}
	}
}
