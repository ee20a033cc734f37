package autotune

import (
	"fmt"

	"tcdbg/logs"
)

// Summary says in a line what a search came to.
func Summary(r *logs.Autotuning) string {
	tried := 0
	for _, t := range r.Tables {
		tried += len(t.Tried)
	}
	out := fmt.Sprintf("%d candidates in %.1f s, of which building took %.1f s: ", tried, r.Seconds, r.Build)
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	if r.Kept {
		return out + fmt.Sprintf("a call takes %.3f ms by default, and nothing was faster beyond noise", ms(r.Default))
	}
	return out + fmt.Sprintf("a call takes %.3f ms where it took %.3f", ms(r.Chosen), ms(r.Default))
}
