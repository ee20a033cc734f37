package render

import (
	"bufio"
	"fmt"
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
