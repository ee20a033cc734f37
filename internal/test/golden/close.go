package golden

import (
	"fmt"
	"math"
)

// Tolerance is how far numbers may be apart: |got-want| <= Abs + Rel*|want|.
type Tolerance struct{ Rel, Abs float64 }

// Close compares numbers; NaN equals NaN, infinities only themselves. It
// returns the first difference in words, "" when there is none.
func Close(got, want []float64, tol Tolerance) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d numbers, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		if math.IsInf(w, 0) || math.IsInf(g, 0) || !(math.Abs(g-w) <= tol.Abs+tol.Rel*math.Abs(w)) {
			return fmt.Sprintf("number %d is %v, want %v within %v relative and %v absolute", i, g, w, tol.Rel, tol.Abs)
		}
	}
	return ""
}
