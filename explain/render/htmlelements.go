package render

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/printable"
)

// This file writes the elements that sections of the HTML report are made of: rows that unfold, links, tables, stacks. Text
// of a trace passes esc or words.

// htmlElements writes the elements of a page in pieces: HTML, and texts that are packed beside it.
type htmlElements struct {
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

// flush ends a piece, after which a text follows.
func (h *htmlElements) flush(t *packedText) {
	h.pieces = append(h.pieces, piece{h.b.Bytes(), t})
	h.size += h.b.Len()
	h.b = &bytes.Buffer{}
}

func (h *htmlElements) raw(s string) { _, _ = h.b.WriteString(s) }

// esc writes text of a trace: control characters visible, markup harmless.
func (h *htmlElements) esc(s string) { h.raw(html.EscapeString(cleanLines(s))) }

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

func (h *htmlElements) tag(name, class, text string) {
	h.raw("<" + name)
	if class != "" {
		h.raw(` class="` + class + `"`)
	}
	h.raw(">")
	if name == "pre" || name == "mark" { // code
		h.esc(text)
	} else {
		h.words(text)
	}
	h.raw("</" + name + ">")
}

// link leads to another element of the page; text alone where there is none.
func (h *htmlElements) link(id, text string) {
	if id == "" {
		h.tag("span", "", text)
		return
	}
	h.raw(`<a href="#` + id + `">`)
	h.words(text)
	h.raw("</a>")
}

func (h *htmlElements) section(id, title string, open bool) {
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

func (h *htmlElements) end() { h.raw("</details></section>\n") }

// each calls f with the numbers below n until the section is full, and says how many are left out.
func (h *htmlElements) each(n int, what string, f func(i int)) {
	for i := range n {
		if h.sectionFull() {
			h.leftOut(n-i, what)
			return
		}
		f(i)
	}
}

func (h *htmlElements) sectionFull() bool { return h.size+h.b.Len()-h.began > maxSection }

// leftOut says how many rows a full section does not show, and what has them all.
func (h *htmlElements) leftOut(n int, what string) {
	h.raw(`<p class="cut">Left out here: ` + explain.Count(n, "more "+what) + `. All of them: <code>`)
	h.esc("tcdbg report --format json " + h.trace)
	h.raw("</code></p>")
}

// row opens a row that unfolds: its summary is written by f.
func (h *htmlElements) row(id, class string, f func()) {
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

func (h *htmlElements) rowEnd() { h.raw("</div></details>\n") }

// manyColumns is how many columns a table has that becomes a list on a narrow page before others do.
const manyColumns = 6

// table opens a table with the names of its columns.
func (h *htmlElements) table(caption string, columns ...string) *htmlTable {
	if len(columns) >= manyColumns {
		h.raw(`<table class="wide"><caption>`)
	} else {
		h.raw("<table><caption>")
	}
	h.words(caption)
	h.raw("</caption><thead><tr>")
	for _, c := range columns {
		h.raw(`<th scope="col">`)
		h.esc(c)
		h.raw("</th>")
	}
	h.raw("</tr></thead><tbody>\n")
	return &htmlTable{h: h, columns: columns}
}

// htmlTable is a table that is being written.
type htmlTable struct {
	h       *htmlElements
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
		t.h.raw(`<td data-l="`)
		t.h.esc(t.columns[i])
		t.h.raw(`">`)
		t.h.words(c)
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

// term begins a line that says what belongs to a finding: "frame: ", "graphs: ".
func (h *htmlElements) term(name string, f func()) {
	h.raw(`<p class="term"><span class="dim">`)
	h.esc(name)
	h.raw(": </span>")
	f()
	h.raw("</p>")
}

// listed calls f for the first of n, and says how many more there are.
func (h *htmlElements) listed(n int, f func(i int)) {
	const most = 20
	for i := range min(n, most) {
		if i > 0 {
			h.raw(", ")
		}
		f(i)
	}
	if n > most {
		h.raw(fmt.Sprintf(" and %d more", n-most))
	}
}

// marked shows a line with the part at fault underlined.
func (h *htmlElements) marked(p logs.Pos) {
	if p.Code == "" {
		return
	}
	h.raw(`<pre tabindex="0">`)
	from, to := p.Col-1, p.EndCol-1
	if p.Col > 0 && from < len(p.Code) && to <= len(p.Code) && from < to {
		h.esc(p.Code[:from])
		h.tag("mark", "", p.Code[from:to])
		h.esc(p.Code[to:])
	} else {
		h.esc(p.Code)
	}
	h.raw("</pre>")
}

func (h *htmlElements) stack(title string, st []logs.Pos) {
	if len(st) == 0 {
		return
	}
	h.tag("p", "dim", title)
	h.raw(`<ol class="stack">`)
	for _, p := range st {
		class := ""
		if explain.FrameworkFile(p.File) {
			class = ` class="noise"`
		}
		h.raw("<li" + class + ">")
		h.tag("span", "", fmt.Sprintf("%s:%d", p.File, p.Line))
		h.tag("b", "", " "+explain.FunctionOf(p, nil)+" ")
		h.tag("code", "", p.Code)
		h.raw("</li>")
	}
	h.raw("</ol>")
}

func (h *htmlElements) fix(f explain.Fix) {
	if f.Text != "" {
		h.tag("p", "fix", f.Label()+f.Text)
	}
	if len(f.Lines) == 0 {
		return
	}
	h.raw(`<pre tabindex="0">`)
	for _, l := range f.Lines {
		class := ""
		switch {
		case strings.HasPrefix(l, "+"):
			class = "add"
		case strings.HasPrefix(l, "-"):
			class = "del"
		}
		h.tag("span", class, l)
		h.raw("\n")
	}
	h.raw("</pre>")
}
