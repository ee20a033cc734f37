package diagnose

import (
	"tcdbg/explain"
	"tcdbg/explain/advice"
)

// ConstraintFix advises on a mark that could not hold.
func ConstraintFix(c explain.Constraint, fl *explain.Failure) explain.Fix {
	f := failureFinding(fl)
	f.Marked, f.MarkedDim = c.Name, c.Dim
	text, id, _ := advice.Advise(f)
	return explain.Fix{Text: text, Row: id}
}
