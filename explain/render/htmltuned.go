package render

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file is what was chosen by timing, in the HTML report: each choice with all its candidates, their times, and what was taken.

// maxTunedTables bounds the choices that are listed of a graph.
const maxTunedTables = 500

func (h *htmlWriter) autotuned(r *explain.Report) {
	if len(r.Autotuned) == 0 {
		return
	}
	h.section("autotuned", "Autotuned ("+explain.Count(len(r.Autotuned), "graph")+")", false)
	for _, a := range r.Autotuned {
		h.raw(`<details class="row"><summary>`)
		h.tag("code", "", explain.RankPrefix(a.ID)+a.ID.CompileID.String())
		h.tag("span", "", " "+a.Graph+": "+a.Summary())
		h.raw("</summary>")
		for i := range a.Tables {
			if i == maxTunedTables {
				h.tag("p", "dim", "and "+explain.Count(len(a.Tables)-i, "more choice"))
				break
			}
			h.tuning(&a.Tables[i])
		}
		h.raw("</details>")
	}
	h.end()
}

// tuning is the table of one choice.
func (h *htmlWriter) tuning(t *logs.Tuning) {
	title := t.Title() + " " + t.What + ": " + t.Chosen
	if t.Changed() {
		title += " instead of " + t.Was + saved(t)
	}
	h.tag("p", "", title)
	if len(t.Kernels) > 0 {
		h.tag("p", "dim", strings.Join(t.Kernels, ", "))
	}
	h.raw("<table>")
	for _, w := range t.Tried {
		took, mark := "could not be timed", ""
		if w.Nanos > 0 {
			took = fmt.Sprintf("%.4f ms", float64(w.Nanos)/1e6)
		}
		if w.Name == t.Chosen {
			mark = "← chosen"
		}
		h.row(w.Name, took, mark, w.Wrong)
	}
	h.raw("</table>")
}
