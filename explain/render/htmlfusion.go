package render

import (
	"fmt"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/fusion"
	"tcdbg/logs"
)

// This file writes fusion: what stayed apart by the bytes that it costs, as the Fusion screen lists it, and the decisions
// over each graph.

// apartShown is how many pairs the page lists; the JSON report has more.
const apartShown = 200

// longestNode bounds the name of a node or group: a group is named by all of its nodes.
const longestNode = 120

func (h *htmlWriter) fusions(r *explain.Report) {
	if len(r.Fusions) == 0 {
		return
	}
	views := fusion.OfAll(r)
	for _, v := range views {
		id := v.Fusion.ID
		h.at.fusions[v.Fusion] = h.at.name("fusion", rankEpoch(id)+id.CompileID.String())
	}
	h.apart(r, views)
	h.section("fusion", "Fusion", false)
	h.each(len(views), "graph", func(i int) { h.decisions(views[i]) })
	h.end()
}

// apart lists the pairs of kernels that stayed apart, the costliest first.
func (h *htmlWriter) apart(r *explain.Report, views []*fusion.View) {
	pairs := fusion.Apart(views)
	if len(pairs) == 0 {
		return
	}
	h.section("not-fused", "Not fused ("+explain.Count(len(pairs), "pair")+")", false)
	if pairs[0].Loss().Bytes < 0 {
		h.tag("p", "", "The trace does not tell what the nodes read and write: what each pair costs is not known.")
	} else {
		h.tag("p", "dim", "By the memory traffic that one kernel in place of the two would save, at most.")
	}
	lines := &nodeLines{r: r}
	h.each(min(len(pairs), apartShown), "pair", func(i int) { h.pair(pairs[i], lines) })
	if left := len(pairs) - apartShown; left > 0 {
		h.raw(`<p class="cut">` + "Left out here: " + explain.Count(left, "more pair") + ". All of them: <code>")
		h.esc("tcdbg replay " + h.trace)
		h.raw("</code>, v on the Fusion screen</p>")
	}
	h.end()
}

// pair is two kernels that stayed apart: why, what that costs, how both address what they share, and their lines.
func (h *htmlWriter) pair(p fusion.Pair, lines *nodeLines) {
	f, l := p.View.Fusion, p.Loss()
	key := rankEpoch(f.ID) + f.ID.CompileID.String() + "\n" + f.Graph + "\n" + l.A + "\n" + l.B
	h.row(h.at.name("apart", f.Label(l.A), f.Label(l.B), hashed(key)), "", func() {
		cost := "not known"
		if l.Bytes >= 0 {
			cost = "up to " + explain.Bytes(l.Bytes)
		}
		h.tag("b", "", cost)
		h.tag("span", "", "  "+explain.ClipText(f.Label(l.A), longestNode)+" + "+explain.ClipText(f.Label(l.B), longestNode)+": "+l.Reason)
		h.tag("span", "dim", "  "+idText(f.ID))
	})
	if means := fusion.Means(l.Reason); means != "" {
		h.tag("p", "", means)
	}
	h.term("refused", func() { h.tag("span", "", explain.Count(len(l.Steps), "time")) })
	h.term("decisions", func() { h.link(h.at.fusions[f], "graph "+idText(f.ID)) })
	for _, node := range [2]string{l.A, l.B} {
		h.term(explain.ClipText(node, longestNode), func() { h.nodeLines(lines.of(f, node)) })
	}
	h.shared(p)
	h.rowEnd()
}

// nodeLines are the lines of the program that a node computes.
func (h *htmlElements) nodeLines(at []logs.Pos) {
	if len(at) == 0 {
		h.tag("span", "dim", "its lines are not recorded")
		return
	}
	for i, p := range at {
		if i == fusionLines {
			h.tag("span", "dim", "; and "+explain.Count(len(at)-i, "more line"))
			return
		}
		if i > 0 {
			h.raw("; ")
		}
		h.tag("span", "", h.names.Place(p)+" ")
		h.tag("code", "", explain.ClipText(p.Code, 80))
	}
}

// shared are the buffers that both kernels of a pair use.
func (h *htmlElements) shared(p fusion.Pair) {
	list, known := p.View.Shared(p.Loss().Step())
	if !known || len(list) == 0 {
		return
	}
	for i := range list {
		if i == mostShared {
			h.tag("p", "dim", "and "+explain.Count(len(list)-i, "more buffer")+" that both use")
			return
		}
		s := &list[i]
		name := s.Buffer
		if s.Bytes >= 0 {
			name += ", " + explain.Bytes(s.Bytes)
		}
		h.term(name, func() { h.tag("span", "", strings.Join(s.A, "; ")+" | "+strings.Join(s.B, "; ")) })
	}
}

// decisions are what the scheduler decided over a graph, with its refusals by their reason.
func (h *htmlWriter) decisions(v *fusion.View) {
	f := v.Fusion
	h.row(h.at.fusions[f], "", func() {
		h.tag("code", "", idText(f.ID))
		h.tag("span", "", fmt.Sprintf(" %s, %d after fusion: %s, %s", explain.Count(f.Before, "node"), f.After,
			explain.Count(v.Fused, "fusion"), explain.Count(v.Refused, "refusal")+savedText(v)))
	})
	if c := h.at.byID[f.ID]; c != nil && c.Graph != nil {
		h.graphLinks("graph", []*explain.Graph{c.Graph})
	}
	if len(v.Reasons) > 0 {
		t := h.table("reasons", "refusals", "why", "pairs that stayed apart", "a pair costs at most", "what it means")
		t.each(len(v.Reasons), "reason", func(i int) {
			x := &v.Reasons[i]
			bytes := ""
			if x.Bytes >= 0 {
				bytes = explain.Bytes(x.Bytes)
			}
			t.row(strconv.Itoa(x.Times), x.Words, strconv.Itoa(x.Pairs), bytes, x.Means)
		})
		t.end()
	}
	t := h.table("decisions", "fused", "node", "other node", "why")
	t.each(len(f.Steps), "decision", func(i int) {
		s := &f.Steps[i]
		state, why := "✗", s.Reason
		if s.Fused {
			state, why = "✓", s.Result
		}
		if s.Why != "" {
			why += ": " + s.Why
		}
		t.row(state, s.A, s.B, why)
	})
	t.end()
	h.rowEnd()
}
