package render

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
)

// This file writes what a reader can act on: failures, advice, breaks, recompiles, each with links to what it is about.

func (h *htmlWriter) advice(r *explain.Report) {
	if len(r.Advice) == 0 {
		return
	}
	h.section("first", "What to do first", true)
	h.raw("<ol>")
	causes := explain.AlikeAdvice(r.Advice)
	h.each(len(causes), "entry", func(i int) {
		if i == firstAdvice {
			h.raw(`</ol><details><summary>and ` + explain.Count(len(causes)-i, "more entry"))
			h.raw(fmt.Sprintf(`</summary><ol start="%d">`, i+1))
		}
		same := &causes[i]
		a := &r.Advice[same.Lead]
		h.raw(fmt.Sprintf(`<li class="row" id="advice-%d">`, i+1))
		h.tag("b", "", h.names.Place(a.Pos))
		h.tag("span", "", " "+a.Text+" ")
		h.tag("span", "dim", a.Cost)
		h.about(a)
		h.marked(a.Pos)
		h.fix(a.Fix)
		h.elsewhere(r, same)
		h.raw("</li>\n")
	})
	h.raw("</ol>")
	if len(causes) > firstAdvice {
		h.raw("</details>")
	}
	h.end()
}

// elsewhere unfolds to the other places that ask for the same change, each with its code and what it is about.
func (h *htmlWriter) elsewhere(r *explain.Report, same *explain.SameAdvice) {
	text := same.MoreText(r.Advice)
	if text == "" {
		return
	}
	h.raw("<details><summary>")
	h.words(text)
	h.raw("</summary><ul>")
	h.each(len(same.More), "place", func(i int) {
		a := &r.Advice[same.More[i]]
		h.raw("<li>")
		h.tag("b", "", a.Where(h.names))
		h.tag("span", "dim", " "+a.Cost)
		h.about(a)
		h.marked(a.Pos)
		h.raw("</li>\n")
	})
	h.raw("</ul></details>\n")
}

// firstAdvice is how many entries of the advice are not folded.
const firstAdvice = 8

// about links advice to its finding.
func (h *htmlWriter) about(a *explain.Advice) {
	h.raw(`<span class="about">`)
	if g := a.Break; g != nil {
		h.raw(" ")
		h.link(h.at.breaks[g], "the break")
	}
	if c := a.Cause; c != nil && len(c.Recompiles) > 0 {
		h.raw(" ")
		h.link(h.at.recompiles[c.Recompiles[0]], "the recompile")
	}
	if fr := a.Frame; fr != nil {
		h.raw(" ")
		h.link(h.at.frames[fr], "the frame")
	}
	h.raw("</span>")
}

// advised links a finding back to the advice on it.
func (h *htmlWriter) advised(list []int) {
	if len(list) == 0 {
		return
	}
	h.term("what to do first", func() {
		h.listed(len(list), func(i int) { h.link(fmt.Sprintf("advice-%d", list[i]+1), fmt.Sprintf("entry %d", list[i]+1)) })
	})
}

func (h *htmlWriter) breaks(r *explain.Report) {
	h.section("breaks", fmt.Sprintf("Breaks (%d at %d places)", r.Totals.Breaks, r.Totals.DistinctBreaks), true)
	switch {
	case r.Totals.Breaks > 0:
	case r.Textual:
		h.tag("p", "", "none recorded: TORCH_LOGS=graph_breaks shows them")
	case r.Totals.Graphs > 0:
		h.tag("p", "", "none: every function was captured whole")
	}
	h.each(len(r.Breaks), "break", func(i int) { h.group(r.Breaks[i]) })
	h.end()
}

func (h *htmlWriter) group(g *explain.BreakGroup) {
	b := g.Lead
	class := "break"
	if b.Noise {
		class += " noise"
	}
	h.row(h.at.breaks[g], class, func() {
		h.tag("code", "gb", orUnknown(b.Code))
		h.tag("b", "", " "+b.Title()+" ")
		h.tag("span", "", h.names.Place(b.Pos))
		h.tag("span", "dim", "  "+h.groupCost(g))
	})
	h.marked(b.Pos)
	if b.Explanation != "" {
		h.tag("p", "", b.Explanation)
	}
	if why := diagnose.DisabledBecause(b); why != "" {
		h.tag("p", "", "disabled because: "+why)
	}
	h.fix(g.Fix)
	if page := registryPage(b.Code); page != "" {
		h.term("PyTorch on "+b.Code, func() { h.raw(`<a rel="noreferrer" href="` + page + `">` + page + "</a>") })
	}
	if len(b.Hints) > 0 {
		h.tag("p", "dim", "PyTorch's hints:")
		h.raw("<ul>")
		for _, x := range b.Hints {
			h.tag("li", "", x)
		}
		h.raw("</ul>")
	}
	h.advised(h.at.advice[g])
	h.groupLinks(g)
	h.stack("where the value comes from", b.Value)
	const chains = 10
	for i, c := range g.Chains {
		if i == chains {
			h.tag("p", "cut", fmt.Sprintf("and %s, which tcdbg replay shows", explain.Count(len(g.Chains)-chains, "more call chain")))
			break
		}
		h.stack("call chain", c)
	}
	if b.Context != "" {
		h.tag("p", "dim", b.Context)
	}
	h.rowEnd()
}

func (h *htmlWriter) groupCost(g *explain.BreakGroup) string {
	cost := explain.GroupOften(g)
	if len(g.Lost) > 0 {
		cost += ", " + g.LostWords()
	}
	cost += ", adds " + explain.Count(g.Graphs, "graph")
	if g.Seconds > 0 {
		cost += ", " + explain.Duration(g.Seconds) + " to compile them"
	}
	cost += ", eager operators: " + unknown(g.EagerOps)
	if g.Memory != nil {
		cost += ", " + g.Memory.Text()
	}
	return cost + ", " + g.Lead.Fixability + ", " + g.Lead.Outcome
}

// groupLinks leads from a break to frames, graphs and other breaks.
func (h *htmlWriter) groupLinks(g *explain.BreakGroup) {
	if c := g.CausedBy; c != nil {
		h.term("caused by", func() { h.link(h.at.breaks[c], c.Lead.Code+" at "+h.names.Place(c.Lead.Pos)) })
	}
	if len(g.Causes) > 0 {
		h.term("causes", func() {
			h.listed(len(g.Causes), func(i int) {
				h.link(h.at.breaks[g.Causes[i]], g.Causes[i].Lead.Code+" at "+h.names.Place(g.Causes[i].Lead.Pos))
			})
		})
	}
	var frames []*explain.Frame
	var compiles []*explain.Compile
	var before, after []*explain.Graph
	for _, b := range g.Breaks {
		c := b.Compile
		if c == nil {
			continue
		}
		compiles = appendOnce(compiles, c)
		frames = appendOnce(frames, c.Frame)
		before = appendOnce(before, c.Graph)
		after = appendOnce(after, b.After)
	}
	h.frameLinks("frame", frames)
	if len(compiles) > 0 {
		h.term("seen in", func() {
			h.listed(len(compiles), func(i int) { h.link(h.at.compiles[compiles[i]], idText(compiles[i].ID)) })
		})
	}
	h.graphLinks("graph that ends here", before)
	h.graphLinks("graph that follows", after)
	h.frameLinks("resumed part", g.Parts)
}

func (h *htmlWriter) frameLinks(name string, list []*explain.Frame) {
	if len(list) > 0 {
		h.term(name, func() { h.listed(len(list), func(i int) { h.link(h.at.frames[list[i]], list[i].Title()) }) })
	}
}

func (h *htmlWriter) graphLinks(name string, list []*explain.Graph) {
	if len(list) > 0 {
		h.term(name, func() {
			h.listed(len(list), func(i int) {
				h.link(h.at.graphs[list[i]], idText(list[i].ID)+", "+explain.Count(len(list[i].Ops), "operator"))
			})
		})
	}
}

// appendOnce appends what is not nil and not the newest of the list, up to what is ever listed and a few more.
func appendOnce[T any](list []*T, x *T) []*T {
	if x == nil {
		return list
	}
	for _, y := range list[max(0, len(list)-64):] {
		if y == x {
			return list
		}
	}
	return append(list, x)
}

func (h *htmlWriter) recompiles(r *explain.Report) {
	repeats := r.Repeats()
	if len(r.Recompiles) == 0 && len(repeats) == 0 {
		return
	}
	h.section("recompiles", fmt.Sprintf("Recompiles (%d)", r.Totals.Recompiles), true)
	h.each(len(r.Recompiles), "recompile", func(i int) { h.recompile(r.Recompiles[i]) })
	for _, x := range repeats {
		h.term("no recompile", func() {
			h.link(h.at.frames[x.Frame], x.Frame.Title())
			h.words(fmt.Sprintf(" was compiled by %d calls of torch.Compile, each with entries of its own", x.Times))
		})
	}
	h.end()
}

func (h *htmlWriter) recompile(rc *explain.Recompile) {
	c := rc.Compile
	h.row(h.at.recompiles[rc], "", func() {
		h.tag("code", "", idText(c.ID))
		h.tag("b", "", " "+c.Frame.Title()+" ")
		if len(rc.Failures) > 0 {
			h.tag("span", "", explain.FailureText(&rc.Failures[0])+also(rc))
		} else {
			h.tag("span", "", "reason not recorded")
		}
		h.tag("span", "dim", "  "+h.whichRun(c))
		if c.Status == explain.Limit {
			h.tag("span", "warn", " limit reached: "+rc.AtLimit()+" from here")
		}
	})
	if len(rc.Failures) > 0 {
		h.raw("<ul>")
		for i := range rc.Failures {
			h.failedGuard(rc, &rc.Failures[i])
		}
		h.raw("</ul>")
	}
	if rc.Older > 0 {
		h.tag("p", "cut", explain.Count(rc.Older, "other entry")+" failed, too, whose guards the trace does not list")
	}
	h.fix(rc.Fix)
	h.advised(h.at.advise[rc])
	h.term("frame", func() { h.link(h.at.frames[c.Frame], c.Frame.Title()) })
	h.term("compile", func() { h.link(h.at.compiles[c], idText(c.ID)+" with its guards and metrics") })
	if c.Graph != nil {
		h.graphLinks("graph", []*explain.Graph{c.Graph})
	}
	if raw := strings.Join(rc.Raw, "\n"); raw != "" {
		h.text("", "as recorded", func() string { return raw })
	}
	h.rowEnd()
}

// whichRun tells a recompile's line, call, cost, and its epoch and rank.
func (h *htmlWriter) whichRun(c *explain.Compile) string {
	parts := []string{h.names.At(c.Frame.Place())}
	if rc := c.Recompile; rc != nil && rc.Call > 0 {
		parts = append(parts, fmt.Sprintf("call %d", rc.Call))
	}
	if c.Seconds > 0 {
		parts = append(parts, explain.Duration(c.Seconds))
	}
	if c.ID.Epoch > 0 {
		parts = append(parts, fmt.Sprintf("epoch %d", c.ID.Epoch))
	}
	if c.ID.Rank >= 0 {
		parts = append(parts, fmt.Sprintf("rank %d", c.ID.Rank))
	}
	return strings.Join(parts, ", ")
}

// failedGuard is a guard that did not hold, with its line and the entry that has it.
func (h *htmlWriter) failedGuard(rc *explain.Recompile, g *explain.GuardFailure) {
	h.raw("<li>")
	h.tag("span", "dim", "entry ")
	entry := ""
	if c := rc.Entry(g); c != nil {
		entry = h.at.compiles[c]
	}
	h.link(entry, g.Entry)
	h.tag("span", "", " "+explain.FailureText(g))
	if g.Pos.File != "" {
		h.tag("span", "dim", "  guard from "+h.names.Place(g.Pos))
		h.tag("code", "", " "+g.Pos.Code)
	}
	h.raw("</li>")
}

func (h *htmlWriter) failures(r *explain.Report) {
	if len(r.Failures) == 0 {
		return
	}
	h.section("failures", fmt.Sprintf("Failures (%d)", len(r.Failures)), true)
	h.each(len(r.Failures), "failure", func(i int) { h.failure(r.Failures[i]) })
	h.end()
}

func (h *htmlWriter) failure(f *explain.Failure) {
	h.row(h.at.failures[f], "", func() {
		h.tag("code", "", idText(f.ID))
		h.tag("b", "", " "+f.Function()+" ")
		h.tag("span", "", f.What()+" ")
		h.tag("span", "dim", h.names.Place(f.Pos))
	})
	for _, detail := range f.Details() {
		h.tag("p", "", detail)
	}
	h.marked(f.Pos)
	h.fix(f.Fix)
	if len(f.Hints) > 0 {
		h.raw("<ul>")
		for _, x := range f.Hints {
			h.tag("li", "", x)
		}
		h.raw("</ul>")
	}
	if page := registryPage(f.Code); page != "" {
		h.term("PyTorch on "+f.Code, func() { h.raw(`<a rel="noreferrer" href="` + page + `">` + page + "</a>") })
	}
	if c := h.at.byID[f.ID]; c != nil {
		h.frameLinks("frame", []*explain.Frame{c.Frame})
		h.term("compile", func() { h.link(h.at.compiles[c], idText(c.ID)) })
		for _, b := range c.Breaks {
			if g := h.at.groups[b]; g != nil {
				h.term("break", func() { h.link(h.at.breaks[g], b.Title()) })
			}
		}
	}
	if len(f.Reason) > plainText {
		h.text("", "the error as recorded", func() string { return f.Reason })
	} else {
		h.tag("pre", "", f.Reason)
	}
	h.stack("user code", f.Stack)
	h.rowEnd()
}
