package diagnose

import (
	"tcdbg/explain"
	"tcdbg/explain/advice"
)

// fix advises on it.
func ConstraintFix(c explain.Constraint, fl *explain.Failure) explain.Fix {
	f := failureFinding(fl)
	f.Marked, f.MarkedDim = c.Name, c.Dim
	text, id, _ := advice.Advise(f)
	return explain.Fix{Text: text, Row: id}
}
