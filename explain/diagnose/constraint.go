package diagnose

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/advice"
)

// ConstraintFix advises on a mark that could not hold.
func ConstraintFix(c explain.Constraint, fl *explain.Failure, engine string) explain.Fix {
	if strings.HasPrefix(engine, "tcdbg") {
		return explain.Fix{Text: fmt.Sprintf("call compiler.MaybeMarkDynamic(%s, %s) instead of MarkDynamic, which allows a constant; "+
			"for one graph for all sizes, let this line hold for every size", c.Name, c.Dim)}
	}
	f := failureFinding(fl)
	f.Marked, f.MarkedDim = c.Name, c.Dim
	text, id, _ := advice.Advise(f)
	return explain.Fix{Text: text, Row: id}
}
