package render

import (
	"fmt"
	"strings"

	"tcdbg/explain"
)

// This file writes graphs with all their recorded stages, the code that was generated for them, and how to run one alone;
// and kernels, whose code is lines of the generated code.

func (h *htmlWriter) graphs(r *explain.Report) {
	if len(r.Graphs) == 0 {
		return
	}
	h.section("graphs", fmt.Sprintf("Graphs (%d)", len(r.Graphs)), false)
	h.each(len(r.Graphs), "graph", func(i int) { h.graph(r.Graphs[i]) })
	h.end()
}

func (h *htmlWriter) graph(g *explain.Graph) {
	id, c := h.at.graphs[g], h.at.owner[g]
	h.row(id, "", func() {
		h.tag("code", "", idText(g.ID))
		if c != nil {
			h.tag("b", "", " "+c.Frame.Title())
		}
		captured := fmt.Sprintf(" %s: %s", explain.Count(len(g.Ops), "operator"), explain.ClipText(strings.Join(g.Ops, ", "), 160))
		if !g.Named() {
			captured = " as captured not recorded"
		}
		h.tag("span", "", captured)
	})
	if c != nil {
		h.frameLinks("frame", []*explain.Frame{c.Frame})
		h.term("compile", func() { h.link(h.at.compiles[c], idText(c.ID)) })
		for _, b := range c.Breaks {
			if group := h.at.groups[b]; group != nil {
				h.term("ended by", func() { h.link(h.at.breaks[group], b.Title()+" at "+h.names.At(b.Pos)) })
			}
		}
	}
	if g.Next != nil {
		h.graphLinks("graph after the break", []*explain.Graph{g.Next})
	}
	if kernels := h.at.made[g.ID]; len(kernels) > 0 {
		h.term("kernels", func() {
			h.listed(len(kernels), func(i int) { h.link(h.at.kernels[kernels[i]], kernels[i].Name) })
		})
	}
	if s := g.SavedText(); s != "" {
		h.tag("p", "", s)
	}
	h.reproducer(g)
	h.stages(id, g)
	if c != nil {
		h.outputs(id, c)
	}
	h.rowEnd()
}

// reproducer says how to run the graph alone; of graphs with one id the command finds the first.
func (h *htmlWriter) reproducer(g *explain.Graph) {
	key := explain.ID{Rank: g.ID.Rank, CompileID: g.ID.CompileID}
	if g.ID.Frame < 0 || h.alone[key] {
		return
	}
	h.alone[key] = true
	trace, ok := h.traces[g.ID.Rank]
	if !ok {
		trace = h.trace
	}
	h.term("run it alone", func() { h.tag("code", "", "tcdbg repro "+trace+" "+g.ID.CompileID.String()) })
}

// stageNames are what stages are called where their short name says too little.
var stageNames = map[string]string{"runnable": "reproducer: a program that compiles this graph alone (fx_graph_runnable)"}

func (h *htmlWriter) stages(id string, g *explain.Graph) {
	if len(g.Ops) > 0 {
		ops := g.Ops
		h.text(id+"-operators", "operators", func() string { return strings.Join(ops, "\n") })
	}
	if g.Table != "" {
		h.text(id+"-table", "nodes as a table", func() string { return g.Table })
	}
	for _, s := range g.Stages {
		title := s.Name
		if name := stageNames[s.Name]; name != "" {
			title = name
		}
		h.text(id+"-"+s.Name, title, s.Load)
	}
}

// outputs are the codes that were generated for a compile's graphs.
func (h *htmlWriter) outputs(id string, c *explain.Compile) {
	for _, o := range c.Outputs {
		title := strings.TrimSpace("generated code " + o.Role)
		if o.Path != "" {
			title += ": " + o.Path
		}
		h.at.code[o] = h.text(id+"-code-"+o.Role, title, o.Load)
		for _, other := range o.Others {
			if other.Load != nil {
				h.text(id+"-"+other.Language, "the same in "+other.Language, other.Load)
			}
		}
	}
}

func (h *htmlWriter) kernels(r *explain.Report) {
	if len(r.Kernels) == 0 {
		return
	}
	h.section("kernels", fmt.Sprintf("Kernels (%d generated, %d extern)", r.Totals.Kernels, len(r.Kernels)-r.Totals.Kernels), false)
	list, total := explain.CostliestKernels(r)
	h.each(len(list), "kernel", func(i int) { h.kernel(list[i], total) })
	h.end()
}

func (h *htmlWriter) kernel(k *explain.Kernel, total float64) {
	h.row(h.at.kernels[k], "", func() {
		h.tag("code", "", idText(k.ID))
		h.tag("b", "", " "+k.Name+" ")
		if total > 0 {
			h.tag("span", "", explain.Squeeze(k.TimeText(total))+" ")
		}
		h.tag("span", "dim", k.Lang+" "+strings.Join(k.Ops, ", ")+" "+k.Reason)
	})
	if c := h.at.byID[k.ID]; c != nil && c.Graph != nil {
		h.graphLinks("graph", []*explain.Graph{c.Graph})
		h.frameLinks("frame", []*explain.Frame{c.Frame})
	}
	if k.Bytes >= 0 {
		h.term("memory traffic", func() { h.esc(explain.Bytes(k.Bytes)) })
	}
	h.stack("computes", k.Pos)
	switch of := h.at.code[k.Output]; {
	case of != nil && k.From > 0 && k.To >= k.From:
		h.lines("code", of, k.From, k.To)
	case k.Load != nil:
		h.text("", "code", k.Load)
	}
	h.rowEnd()
}
