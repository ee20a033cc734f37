package render

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"tcdbg/explain"
)

// This file writes the sections of the HTML report that are tables: compile time, dynamic sizes, caches,
// remarks; and what was compared with eager execution.

func (h *htmlWriter) numerics(r *explain.Report) {
	if r.Numerics == nil {
		return
	}
	var b strings.Builder
	_ = r.Numerics.WriteText(&b) // a Builder takes all
	h.section("numerics", "Beside eager execution", true)
	h.raw(`<pre tabindex="0" class="row">`)
	h.esc(b.String())
	h.raw("</pre>")
	h.end()
}

// asText is a section that the page has as the text report has it.
func (h *htmlWriter) asText(id, title string, r *explain.Report, write func(t *TextWriter, r *explain.Report)) {
	var b strings.Builder
	t := &TextWriter{W: bufio.NewWriter(&b), names: h.names}
	write(t, r)
	_ = t.W.Flush() // a Builder takes all
	text := strings.TrimSpace(b.String())
	if text == "" {
		return
	}
	h.section(id, title, false)
	h.raw(`<pre tabindex="0" class="row">`)
	h.esc(text)
	h.raw("</pre>")
	h.end()
}

func (h *htmlWriter) steady(r *explain.Report) {
	h.asText("runtime", "Run time of steady steps", r, (*TextWriter).runTime)
	h.asText("calls", "Calls", r, (*TextWriter).calls)
}

// timeline draws the flame chart: bars are plain elements, placed in per cent.
func (h *htmlWriter) timeline(r *explain.Report) {
	if len(r.Phases) == 0 || r.End.Sub(r.Start) <= 0 {
		return
	}
	h.section("timeline", fmt.Sprintf("Compile time (%s)", explain.Duration(r.Totals.CompileSeconds)), false)
	h.flame(r)
	t := h.table("phases, costliest first", "phase", "times", "total s", "self s")
	t.each(len(r.PhaseSums), "phase", func(i int) {
		p := &r.PhaseSums[i]
		t.row(p.Name, strconv.Itoa(p.Count), fmt.Sprintf("%.3f", p.Seconds), fmt.Sprintf("%.3f", p.Self))
	})
	t.end()
	h.end()
}

func (h *htmlWriter) flame(r *explain.Report) {
	const deepest, narrowest = 40, 0.02 // levels, per cent
	span := float64(r.End.Sub(r.Start))
	depth := 0
	for _, p := range r.Phases {
		depth = max(depth, p.Depth)
	}
	h.raw(fmt.Sprintf(`<div class="flame" role="img" aria-label="phases over time; the table below has their sums" style="height:%dpx">`,
		(min(depth, deepest)+1)*16))
	shown, cut := 0, 0
	for _, p := range r.Phases {
		width := float64(p.Dur) / span * 100
		if width < narrowest || p.Depth > deepest || shown >= maxFlame || h.sectionFull() {
			cut++
			continue
		}
		shown++
		left := float64(p.Start.Sub(r.Start)) / span * 100
		h.raw(fmt.Sprintf(`<i style="left:%.3f%%;width:%.3f%%;top:%dpx" title="`, left, width, p.Depth*16))
		h.esc(fmt.Sprintf("%s %s %.1f ms", p.Name, p.ID.CompileID.String(), float64(p.Dur)/1e6))
		h.raw(`">`)
		h.esc(p.Name)
		h.raw("</i>")
	}
	h.raw("</div>")
	if cut > 0 {
		all := "All of them"
		if r.PhasesLeftOut > 0 {
			all = "All that are kept"
		}
		h.raw(`<p class="cut">Not drawn: ` + explain.Count(cut, "span") + `, too short or too many. ` + all + `: <code>`)
		h.esc("tcdbg report --format chrome " + h.trace)
		h.raw("</code></p>")
	}
	if n := r.PhasesLeftOut; n > 0 {
		h.raw(`<p class="cut">` + explain.Are(int(n), "phase") + ` not kept one by one; the table has them.</p>`)
	}
}

func (h *htmlWriter) tables(r *explain.Report) {
	h.symbols(r)
	h.caches(r)
	h.ranks(r)
	h.remarks(r)
}

func (h *htmlWriter) symbols(r *explain.Report) {
	if len(r.Symbols) == 0 {
		return
	}
	h.section("symbols", fmt.Sprintf("Dynamic sizes (%d)", len(r.Symbols)), false)
	t := h.table("dynamic sizes", "symbol", "source", "first", "range", "specialised", "line")
	t.each(len(r.Symbols), "symbol", func(i int) {
		s := r.Symbols[i]
		t.row(idText(s.ID)+" "+s.Name, s.Source, s.Hint, s.Range, s.Specialized+" "+s.Reason, h.names.Place(s.Pos))
	})
	t.end()
	h.end()
}

func (h *htmlWriter) caches(r *explain.Report) {
	if len(r.Caches) == 0 {
		return
	}
	h.section("caches", fmt.Sprintf("Caches (%d)", len(r.Caches)), false)
	t := h.table("look-ups", "compile", "cache", "result", "reason", "key")
	t.each(len(r.Caches), "look-up", func(i int) {
		c := &r.Caches[i]
		t.row(idText(c.ID), c.Cache, c.Hit, c.Reason, c.Key)
	})
	t.end()
	h.end()
}

func (h *htmlWriter) remarks(r *explain.Report) {
	if len(r.Side) == 0 {
		return
	}
	h.section("remarks", fmt.Sprintf("Warnings about the trace (%d)", len(r.Side)), false)
	t := h.table("remarks", "compile", "kind", "text")
	t.each(len(r.Side), "remark", func(i int) {
		s := &r.Side[i]
		text := explain.Squeeze(s.Text)
		if cut := explain.ClipText(text, 1000); cut != text {
			text = cut + " (cut; the whole: tcdbg replay " + h.trace + ")"
		}
		t.row(idText(s.ID), s.Kind, text)
	})
	t.end()
	h.end()
}
