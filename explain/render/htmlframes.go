package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
)

// This file writes frames with all their compiles: status, cost, stack, guards, metrics, side effects, and links to
// breaks, recompiles and graphs.

func (h *htmlWriter) frames(r *explain.Report) {
	h.section("frames", fmt.Sprintf("Frames (%d)", len(r.Frames)), false)
	h.each(len(r.Frames), "frame", func(i int) { h.frame(r.Frames[i]) })
	h.end()
}

func (h *htmlWriter) frame(fr *explain.Frame) {
	sum := fr.Sum()
	h.row(h.at.frames[fr], "", func() {
		h.tag("code", "", fmt.Sprintf("%s%d", explain.RankPrefix(fr.ID), fr.ID.Frame))
		name := fr.Title()
		if fr.Parent != nil {
			name = "↳ " + name
		}
		h.tag("b", "", " "+name+" ")
		took := "compile time unknown"
		if sum.Seconds > 0 {
			took = explain.Duration(sum.Seconds)
		}
		h.tag("span", "", h.names.At(fr.Place())+" ")
		h.tag("span", "dim", fmt.Sprintf(" %s, %s, %s, %s, %s", fr.Status, explain.Count(sum.Compiles, "compile"),
			explain.Count(sum.Ops, "operator"), explain.Count(sum.Breaks, "break"), took))
		if fr.ID.Epoch > 0 {
			h.tag("span", "dim", fmt.Sprintf(", epoch %d", fr.ID.Epoch))
		}
	})
	if fr.SkippedAt() != nil {
		h.tag("p", "", diagnose.SkippedWords(fr))
	}
	if fr.Parent != nil {
		h.frameLinks("resumes", []*explain.Frame{fr.Parent})
	}
	h.frameLinks("resumed by", fr.Resumes)
	if fr.Calls >= 0 {
		h.term("calls", func() {
			h.words(fmt.Sprintf("%d, of which %d were served by an entry; %s in all", fr.Calls, fr.Hits, explain.Nanos(fr.RunNanos)))
		})
	}
	h.each(len(fr.Compiles), "compile", func(i int) { h.compile(fr.Compiles[i]) })
	h.rowEnd()
}

// compile is all that is known of one compile.
func (h *htmlWriter) compile(c *explain.Compile) {
	id := h.at.compiles[c]
	h.row(id, "", func() {
		h.tag("code", "", "["+idText(c.ID)+"]")
		took := "time unknown"
		if c.Seconds > 0 {
			took = explain.Duration(c.Seconds)
		}
		parts := []string{string(c.Status), took}
		if c.Graph != nil {
			parts = append(parts, explain.Count(len(c.Graph.Ops), "operator"))
		}
		if c.Attempts > 1 {
			parts = append(parts, explain.Count(c.Attempts, "attempt"))
		}
		if c.Cache != "" {
			parts = append(parts, "cache "+c.Cache)
		}
		if c.Guards != nil {
			parts = append(parts, explain.Count(c.Guards.Leaves, "guard"))
		}
		h.tag("span", "", " "+strings.Join(parts, ", "))
	})
	if !c.Start.IsZero() {
		h.term("began", func() { h.words(c.Start.UTC().Format("15:04:05.000 UTC")) })
	}
	h.compileLinks(c)
	if len(c.Restarts) > 0 {
		h.term("tracing restarted", func() { h.words(strings.Join(c.Restarts, "; ")) })
	}
	h.shapeGuards(c)
	if c.Served != nil {
		h.term("its calls", func() { h.words(strings.Join(c.Lines(), "; ")) })
	}
	if g := c.Guards; g != nil {
		h.text(id+"-guards", "guards: "+explain.Count(g.Leaves, "guard")+fmt.Sprintf(", %d about hasattr and dynamic marking", g.Noise),
			func() string { return guardText(g.Root()) })
	}
	if c.LoadMetrics != nil {
		h.text(id+"-metrics", "compile metrics", func() string { return metricsText(c.LoadMetrics()) })
	}
	if c.SideEffects != nil {
		h.text(id+"-effects", "side effects that are replayed", c.SideEffects)
	}
	h.stack("called from", c.Stack)
	h.rowEnd()
}

func (h *htmlWriter) compileLinks(c *explain.Compile) {
	if rc := c.Recompile; rc != nil && h.at.recompiles[rc] != "" {
		h.term("recompiled", func() {
			why := "reason not recorded"
			if len(rc.Failures) > 0 {
				why = explain.FailureText(&rc.Failures[0])
			}
			h.link(h.at.recompiles[rc], why)
		})
	}
	if c.Graph != nil {
		h.graphLinks("graph", []*explain.Graph{c.Graph})
	}
	var groups []*explain.BreakGroup
	for _, b := range c.Breaks {
		groups = appendOnce(groups, h.at.groups[b])
	}
	if len(groups) > 0 {
		h.term("breaks", func() {
			h.listed(len(groups), func(i int) {
				h.link(h.at.breaks[groups[i]], groups[i].Lead.Title()+" at "+h.names.At(groups[i].Lead.Pos))
			})
		})
	}
	if f := c.Failure; f != nil {
		h.term("failure", func() { h.link(h.at.failures[f], f.What()) })
	}
}

func (h *htmlWriter) shapeGuards(c *explain.Compile) {
	if len(c.ShapeGuards) == 0 {
		return
	}
	h.text("", "conditions on sizes: "+explain.Count(len(c.ShapeGuards), "guard"), func() string {
		var b strings.Builder
		for _, g := range c.ShapeGuards {
			fmt.Fprintf(&b, "%s    # %s %s", g.Expr, h.names.At(g.Pos), g.Pos.Code)
			if g.Backend {
				b.WriteString(" (added by the code generator)")
			}
			b.WriteByte('\n')
		}
		return b.String()
	})
}

// metricsText is a compile's metrics as JSON.
func metricsText(m map[string]any) string {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return "(cannot be shown: " + err.Error() + ")"
	}
	return string(b)
}

// deepestGuard bounds how far a guard tree is followed.
const deepestGuard = 200

// guardText is a guard tree, a manager or a guard a line.
func guardText(root *explain.GuardNode) string {
	var b strings.Builder
	writeGuards(&b, root, 0)
	return b.String()
}

func writeGuards(b *strings.Builder, n *explain.GuardNode, depth int) {
	if n == nil || depth > deepestGuard {
		return
	}
	for range depth {
		b.WriteString("  ")
	}
	if n.Kind == "" {
		b.WriteString(cmp.Or(strings.TrimSpace(n.Source+" "+n.Accessor+" "+n.Type), "all guards"))
	} else {
		b.WriteString(strings.TrimSpace(n.Kind+" "+n.Source) + ": " + explain.Squeeze(n.Text))
	}
	if n.Pos.File != "" {
		fmt.Fprintf(b, "    # %s:%d %s", n.Pos.File, n.Pos.Line, n.Code)
	}
	b.WriteByte('\n')
	for _, x := range n.Children {
		writeGuards(b, x, depth+1)
	}
}
