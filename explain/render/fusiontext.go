package render

import (
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/fusion"
	"tcdbg/logs"
)

// This file is the report's section on fusion: what was fused, what was not and why, and what that costs.

const (
	fusionReasons = 4 // reasons of one graph
	fusionLosses  = 3 // pairs of one graph
	fusionLines   = 3 // lines of the program of one node
)

func (t *TextWriter) fusion(r *explain.Report) {
	if len(r.Fusions) == 0 {
		return
	}
	t.section("FUSION")
	said := map[string]bool{}
	for i, f := range r.Fusions {
		if i == t.most(Rows) {
			t.more(len(r.Fusions)-Rows, "graph")
			return
		}
		v := fusion.Of(f)
		t.line(
			"  [%s] %s, %d after fusion: %s, %s", idText(f.ID), explain.Count(f.Before, "node"), f.After,
			explain.Count(v.Fused, "fusion"), explain.Count(v.Refused, "refusal")+savedText(v),
		)
		for j := range v.Reasons {
			if j == t.most(fusionReasons) {
				t.line("      ... and %s", explain.Count(len(v.Reasons)-j, "more reason"))
				break
			}
			why := &v.Reasons[j]
			t.line("      %3d x %s", why.Times, why.Words)
			if why.Means != "" && !said[why.Words] {
				said[why.Words] = true
				t.line("            %s", why.Means)
			}
		}
		t.losses(r, v)
	}
}

// savedText is what the fusions of a graph saved, as far as that is known.
func savedText(v *fusion.View) string {
	switch {
	case v.Fused == 0 || v.Unknown == v.Fused:
		return ""
	case v.Unknown > 0:
		return ", " + explain.Bytes(v.Saved) + " of memory traffic saved by the " + explain.Count(v.Fused-v.Unknown, "fusion") +
			" whose accesses are logged"
	}
	return ", " + explain.Bytes(v.Saved) + " of memory traffic saved"
}

// losses are the pairs that cost most by not being fused.
func (t *TextWriter) losses(r *explain.Report, v *fusion.View) {
	if len(v.Losses) == 0 || v.Losses[0].Bytes <= 0 {
		return
	}
	t.line("      not fused, by the bytes that both kernels move:")
	lines := fusion.LinesOf(r, v.Fusion)
	more := 0
	for i := range v.Losses {
		l := &v.Losses[i]
		if l.Bytes <= 0 {
			break
		}
		if i >= t.most(fusionLosses) {
			more++
			continue
		}
		t.line(
			"        up to %s  %s + %s: %s", explain.Bytes(l.Bytes), v.Fusion.Label(l.A), v.Fusion.Label(l.B), l.Reason,
		)
		t.sourceLines(l.A, lines.Of(l.A))
		t.sourceLines(l.B, lines.Of(l.B))
		if shared, ok := v.Shared(l.Step()); ok && len(shared) > 0 {
			s := &shared[0]
			t.line("            %s: %s | %s", s.Buffer, strings.Join(s.A, "; "), strings.Join(s.B, "; "))
		}
	}
	if more > 0 {
		t.line("        ... and %s", explain.Count(more, "more pair"))
	}
}

// sourceLines are the lines of the program that a node computes.
func (t *TextWriter) sourceLines(node string, at []logs.Pos) {
	for i, p := range at {
		if i == t.most(fusionLines) {
			t.line("            %s: and %s", node, explain.Count(len(at)-i, "more line"))
			return
		}
		t.line("            %s: %s  %s", node, t.names.Place(p), explain.ClipText(p.Code, 80))
	}
}
