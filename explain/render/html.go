package render

import (
	"bytes"
	"embed"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/logs/printable"
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

// htmlWriter writes a page in pieces: HTML, and texts that are packed beside it.
type htmlWriter struct {
	b      *bytes.Buffer
	pieces []piece
	size   int // of pieces
	began  int // where the section began, by size

	names   explain.Names
	at      *anchors
	trace   string              // what opens the trace, for a command line
	traces  map[int]string      // what opens that of a rank
	alone   map[explain.ID]bool // graphs of which a command was given
	headers []sectionName
}

// sectionName is a section as the page's list of sections has it.
type sectionName struct{ id, title string }

// piece is a stretch of the page.
type piece struct {
	html []byte
	text *packedText // what follows it; nil: nothing
}

// htmlSections in the order in which a reader needs them.
var htmlSections = []func(h *htmlWriter, r *explain.Report){
	(*htmlWriter).failures, (*htmlWriter).numerics, (*htmlWriter).advice, (*htmlWriter).cuts, (*htmlWriter).sources,
	(*htmlWriter).breaks, (*htmlWriter).recompiles, (*htmlWriter).frames, (*htmlWriter).stacks,
	(*htmlWriter).graphs, (*htmlWriter).kernels, (*htmlWriter).autotuned,
	(*htmlWriter).fusion, (*htmlWriter).timeline, (*htmlWriter).tables,
}

// WriteHTML writes the report as one self-contained HTML file.
func WriteHTML(w io.Writer, r *explain.Report) error {
	h := &htmlWriter{b: &bytes.Buffer{}, names: explain.BriefNames(r), at: newAnchors(r), trace: traceArgument(r)}
	h.alone, h.traces = map[explain.ID]bool{}, rankTraces(r)
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

// flush ends a piece, after which a text follows.
func (h *htmlWriter) flush(t *packedText) {
	h.pieces = append(h.pieces, piece{h.b.Bytes(), t})
	h.size += h.b.Len()
	h.b = &bytes.Buffer{}
}

func (h *htmlWriter) raw(s string) { _, _ = h.b.WriteString(s) }

// esc writes text of a trace: control characters visible, markup harmless.
func (h *htmlWriter) esc(s string) { h.raw(html.EscapeString(cleanLines(s))) }

// cleanLines is Clean with line ends kept.
func cleanLines(s string) string {
	if !strings.Contains(s, "\n") {
		return printable.Clean(s)
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = printable.Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

func (h *htmlWriter) tag(name, class, text string) {
	h.raw("<" + name)
	if class != "" {
		h.raw(` class="` + class + `"`)
	}
	h.raw(">")
	h.esc(text)
	h.raw("</" + name + ">")
}

// link leads to another element of the page; text alone where there is none.
func (h *htmlWriter) link(id, text string) {
	if id == "" {
		h.tag("span", "", text)
		return
	}
	h.raw(`<a href="#` + id + `">`)
	h.esc(text)
	h.raw("</a>")
}

func (h *htmlWriter) section(id, title string, open bool) {
	h.headers = append(h.headers, sectionName{id, title})
	h.began = h.size + h.b.Len()
	state := ""
	if open {
		state = " open"
	}
	h.raw(`<section id="` + id + `" aria-labelledby="h-` + id + `"><details class="section"` + state + `><summary><h2 id="h-` + id + `">`)
	h.esc(title)
	h.raw("</h2></summary>")
}

func (h *htmlWriter) end() { h.raw("</details></section>\n") }

// each calls f with the numbers below n until the section is full, and says how many are left out.
func (h *htmlWriter) each(n int, what string, f func(i int)) {
	for i := range n {
		if h.sectionFull() {
			h.leftOut(n-i, what)
			return
		}
		f(i)
	}
}

func (h *htmlWriter) sectionFull() bool { return h.size+h.b.Len()-h.began > maxSection }

// leftOut says how many rows a full section does not show, and what has them all.
func (h *htmlWriter) leftOut(n int, what string) {
	h.raw(`<p class="cut">Left out here: ` + explain.Count(n, "more "+what) + `. All of them: <code>`)
	h.esc("tcdbg report --format json " + h.trace)
	h.raw("</code></p>")
}

// row opens a row that unfolds: its summary is written by f.
func (h *htmlWriter) row(id, class string, f func()) {
	h.raw(`<details class="` + strings.TrimSpace("row "+class) + `"`)
	if id != "" {
		h.raw(` id="` + id + `"`)
	}
	h.raw("><summary>")
	f()
	h.raw("</summary><div class=\"body\">")
	if id != "" {
		h.raw(`<p class="tools"><a href="#` + id + `">link to this</a></p>`)
	}
}

func (h *htmlWriter) rowEnd() { h.raw("</div></details>\n") }

// table opens a table with the names of its columns.
func (h *htmlWriter) table(caption string, columns ...string) *htmlTable {
	h.raw("<table><caption>")
	h.esc(caption)
	h.raw("</caption><thead><tr>")
	for _, c := range columns {
		h.raw(`<th scope="col">` + html.EscapeString(c) + "</th>")
	}
	h.raw("</tr></thead><tbody>\n")
	return &htmlTable{h: h, columns: columns}
}

// htmlTable is a table that is being written.
type htmlTable struct {
	h       *htmlWriter
	columns []string
	left    int    // rows that are left out
	what    string // they are
}

// each writes rows until the section is full.
func (t *htmlTable) each(n int, what string, f func(i int)) {
	for i := range n {
		if t.h.sectionFull() {
			t.left, t.what = n-i, what
			return
		}
		f(i)
	}
}

func (t *htmlTable) row(cells ...string) {
	t.h.raw(`<tr class="row">`)
	for i, c := range cells {
		t.h.raw(`<td data-l="` + html.EscapeString(t.columns[i]) + `">`)
		t.h.esc(c)
		t.h.raw("</td>")
	}
	t.h.raw("</tr>\n")
}

func (t *htmlTable) end() {
	t.h.raw("</tbody></table>")
	if t.left > 0 {
		t.h.leftOut(t.left, t.what)
	}
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
		`<input id="filter" type="search" aria-keyshortcuts="/" title="/ comes here, escape clears" placeholder="file, function, code, operator" autocomplete="off">` +
		`<span id="count" role="status"></span><span class="buttons">` +
		`<button type="button" id="deep" hidden>search packed texts</button>` +
		`<button type="button" id="all">open all</button><button type="button" id="none">close all</button>` +
		`<button type="button" id="copy">copy as Markdown</button></span></search><main id="main" tabindex="-1"><p id="gone" role="status" class="warn"></p>`)
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
		if r.Unlogged(c.n) {
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
func (h *htmlWriter) total(value, name string) {
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
