package render

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file is what was chosen by timing, in the HTML report: each choice with all its candidates, their times, and what was taken.

func (h *htmlWriter) autotuned(r *explain.Report) {
	if len(r.Autotuned) == 0 {
		return
	}
	h.section("autotuned", "Autotuned ("+explain.Count(len(r.Autotuned), "graph")+")", false)
	h.each(len(r.Autotuned), "graph", func(i int) {
		a := r.Autotuned[i]
		h.row(h.at.name("autotuned", rankEpoch(a.ID)+a.Graph), "", func() {
			h.tag("code", "", idText(a.ID))
			h.tag("span", "", " "+a.Graph+": "+a.Summary())
		})
		if c := h.at.byID[a.ID]; c != nil && c.Graph != nil {
			h.graphLinks("graph", []*explain.Graph{c.Graph})
		}
		h.each(len(a.Tables), "choice", func(i int) { h.tuning(&a.Tables[i]) })
		h.rowEnd()
	})
	h.end()
}

// tuning is the table of one choice.
func (h *htmlWriter) tuning(t *logs.Tuning) {
	title := t.Title() + " " + t.What + ": " + t.Chosen
	if t.Changed() {
		title += " instead of " + t.Was + saved(t)
	}
	if len(t.Kernels) > 0 {
		h.tag("p", "dim", strings.Join(t.Kernels, ", "))
	}
	table := h.table(title, "candidate", "time", "taken", "why not")
	for _, w := range t.Tried {
		took, mark := "could not be timed", ""
		if w.Nanos > 0 {
			took = fmt.Sprintf("%.4f ms", float64(w.Nanos)/1e6)
		}
		if w.Name == t.Chosen {
			mark = "← chosen"
		}
		table.row(w.Name, took, mark, w.Wrong)
	}
	table.end()
}
