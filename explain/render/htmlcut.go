package render

import (
	"cmp"
	"fmt"
	"slices"

	"tcdbg/explain"
)

// This file draws how each function is cut into graphs: a bar a function, a block a graph as wide as it has operators,
// and where it breaks and was recompiled. Each mark is a link.

// cutRows is how many functions are drawn; the section of frames has all.
const cutRows = 40

func (h *htmlWriter) cuts(r *explain.Report) {
	type function struct {
		root *explain.Frame
		sum  explain.Sum
	}
	var list []function
	for _, fr := range r.Roots() {
		list = append(list, function{fr, fr.Whole()})
	}
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b function) int { return cmp.Compare(b.sum.Seconds, a.sum.Seconds) })
	h.section("cut", "How it is cut", true)
	h.raw(`<p class="dim legend"><b class="g">12</b> a graph and its operators <b class="x">✂</b> a graph break ` +
		`<b class="r">↻</b> a recompile <b class="e">░</b> runs eagerly</p>`)
	for i, f := range list {
		if i == cutRows {
			h.raw(`<p class="cut">and ` + explain.Count(len(list)-i, "more function") + `: <a href="#frames">all frames</a></p>`)
			break
		}
		h.raw(`<div class="row cutrow"><span class="fn">`)
		h.link(h.at.frames[f.root], f.root.Title())
		h.tag("span", "dim", " "+h.names.At(f.root.Place()))
		h.raw(`</span><span class="strip">`)
		h.strip(f.root)
		h.raw("</span>")
		h.tag("span", "dim", fmt.Sprintf("%s, %s, %s", explain.Count(f.sum.Graphs, "graph"), explain.Count(f.sum.Ops, "operator"),
			explain.Duration(f.sum.Seconds)))
		h.raw("</div>\n")
	}
	h.end()
}

// stripMarks bounds the marks of one function's bar.
const stripMarks = 120

// strip is the bar of a function with the parts that resume it.
func (h *htmlWriter) strip(root *explain.Frame) {
	n := 0
	for i, part := range root.Parts() {
		if i > 0 {
			h.mark(h.breakBefore(part), "x", "✂", "graph break")
			n++
		}
		for _, c := range part.Compiles {
			if n++; n > stripMarks {
				h.tag("span", "dim", "… more: see its frame")
				return
			}
			if c.Recompile != nil {
				h.mark(h.at.recompiles[c.Recompile], "r", "↻", "recompile")
			}
			if g := c.Graph; g != nil {
				h.raw(fmt.Sprintf(`<a class="g" style="flex-grow:%d" href="#%s" title="graph `, max(1, len(g.Ops)), h.at.graphs[g]))
				h.esc(idText(g.ID) + ": " + explain.Count(len(g.Ops), "operator"))
				h.raw(fmt.Sprintf(`"><span class="hide">graph of </span>%d<span class="hide"> operators</span></a>`, len(g.Ops)))
			}
		}
		switch part.Status {
		case explain.Limit, explain.Failed, explain.Skipped:
			h.mark(h.at.frames[part], "e", "░░", string(part.Status)+", runs eagerly")
		case explain.Empty:
			h.mark(h.at.frames[part], "e", "·", string(part.Status))
		}
	}
}

// mark is a glyph of a bar, with words for who does not see it.
func (h *htmlElements) mark(id, class, glyph, words string) {
	if id == "" {
		id = "breaks"
	}
	h.raw(`<a class="` + class + `" href="#` + id + `" title="`)
	h.esc(words)
	h.raw(`"><span aria-hidden="true">` + glyph + `</span><span class="hide">`)
	h.esc(words)
	h.raw("</span></a>")
}

// breakBefore is the break that a resumed part follows.
func (h *htmlWriter) breakBefore(part *explain.Frame) string {
	if part.Parent == nil {
		return ""
	}
	for _, c := range part.Parent.Compiles {
		for _, b := range c.Breaks {
			if slices.Contains(b.Resumed, part) && h.at.groups[b] != nil {
				return h.at.breaks[h.at.groups[b]]
			}
		}
	}
	return ""
}
