package render

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"tcdbg/explain"
)

// This file writes the report as one HTML file: no other file, no network. Everything that comes from a trace is
// escaped; the page's script never puts text in as HTML. What the elements of a page are called is in htmlanchors.go,
// how texts are packed in htmltexts.go; each section has a file of its own.

//go:embed report.css
var reportCSS string

//go:embed report_texts.js report_open.js report_filter.js report_copy.js
var reportScripts embed.FS

// scripts are the parts of the page's script, in their order.
var scripts = []string{"report_texts.js", "report_open.js", "report_filter.js", "report_copy.js"}

// The bounds of a page, in bytes: of all of it, and of what one section lists beside packed texts.
const (
	maxPage    = 10_000_000
	maxSection = 500_000
)

// maxFlame bounds the bars of the flame chart.
const maxFlame = 5000

// htmlWriter writes the sections of a page.
type htmlWriter struct{ *htmlElements }

// htmlSections in the order in which a reader needs them.
var htmlSections = []func(h *htmlWriter, r *explain.Report){
	(*htmlWriter).failures, (*htmlWriter).numerics, (*htmlWriter).advice, (*htmlWriter).cuts, (*htmlWriter).sources,
	(*htmlWriter).breaks, (*htmlWriter).recompiles, (*htmlWriter).frames, (*htmlWriter).steady, (*htmlWriter).stacks,
	(*htmlWriter).graphs, (*htmlWriter).kernels, (*htmlWriter).autotuned,
	(*htmlWriter).fusions, (*htmlWriter).timeline, (*htmlWriter).tables,
}

// WriteHTML writes the report as one self-contained HTML file.
func WriteHTML(w io.Writer, r *explain.Report) error {
	h := &htmlWriter{&htmlElements{
		b: &bytes.Buffer{}, names: explain.BriefNames(r), at: newAnchors(r), trace: traceArgument(r), traces: rankTraces(r),
		alone: map[explain.ID]bool{},
	}}
	for _, section := range htmlSections {
		section(h, r)
	}
	h.flush(nil)
	body := h.pieces
	h.pieces = nil
	h.head(r)
	h.flush(nil)
	h.pieces = append(h.pieces, body...)
	h.raw("</main>")
	for _, name := range scripts {
		text, err := reportScripts.ReadFile(name)
		if err != nil {
			return err
		}
		h.raw("<script>" + string(text) + "</script>")
	}
	h.raw("</body></html>\n")
	h.flush(nil)
	return writePieces(w, h.pieces, h.size, h.trace)
}

// head writes what stands above the sections.
func (h *htmlWriter) head(r *explain.Report) {
	h.raw(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">`)
	h.raw(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">`)
	h.tag("title", "", "tcdbg: "+r.Title)
	h.raw("<style>" + reportCSS + `</style></head><body><a class="skip" href="#main">to the findings</a><header>`)
	h.tag("h1", "", r.Title)
	h.tag("p", "dim", strings.TrimSpace(r.Engine+"  "+timeText(r.Start)))
	h.totals(r)
	for _, d := range explain.Warnings(r) {
		h.tag("p", "warn", d)
	}
	h.raw(`<noscript><p class="warn">Texts of graphs, guards and code unfold by this page's own script, which is off.</p></noscript>`)
	h.raw(`</header><nav aria-label="Sections"><ul>`)
	for _, s := range h.headers {
		h.raw(`<li><a href="#` + s.id + `">`)
		h.esc(s.title)
		h.raw("</a></li>")
	}
	h.raw(`</ul></nav><search class="bar"><label for="filter">Filter</label>` +
		`<input id="filter" type="search" aria-keyshortcuts="/" title="/ comes here, escape clears" ` +
		`placeholder="file, function, code, operator" autocomplete="off">` +
		`<span id="count" role="status"></span><span class="buttons">` +
		`<button type="button" id="deep" hidden>search packed texts</button>` +
		`<button type="button" id="all">open all</button><button type="button" id="none">close all</button>` +
		`<button type="button" id="copy">copy as Markdown</button></span></search>` +
		`<main id="main" tabindex="-1"><p id="gone" role="status" class="warn"></p>`)
}

func (h *htmlWriter) totals(r *explain.Report) {
	h.raw(`<div class="totals">`)
	n := &r.Totals
	for _, c := range []struct {
		n    int
		name string
	}{
		{n.Frames, "frame"},
		{n.Compiles, "compile"},
		{n.Graphs, "graph"},
		{n.Ops, "operator"},
		{n.Breaks, "break"},
		{n.DistinctBreaks, "place"},
		{n.Recompiles, "recompile"},
		{n.Kernels, "kernel"},
		{n.Failures, "failure"},
	} {
		value, name := strconv.Itoa(c.n), c.name
		if c.n != 1 {
			name += "s"
		}
		if r.Untold(c.n, c.name) {
			value = "none logged:"
		}
		h.total(value, name)
	}
	if n.CompileSeconds == 0 {
		h.total("unknown:", "compile time")
	} else {
		h.total(explain.Duration(n.CompileSeconds), "compiling")
	}
	h.raw("</div>")
	if compiled, eager, known := r.Share(); known && compiled > 0 {
		h.tag("p", "", fmt.Sprintf("%d%% of operators run compiled (%d of %d)", 100*compiled/(compiled+eager), compiled, compiled+eager))
	}
}

// total is one of the numbers of the header.
func (h *htmlElements) total(value, name string) {
	h.raw("<div><b>")
	h.esc(value)
	h.raw("</b><span>" + name + "</span></div>")
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
