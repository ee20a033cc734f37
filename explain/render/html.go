package render

import (
	"bufio"
	_ "embed"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/printable"
)

// This file writes the report as one HTML file: no other file, no network.
// Everything that comes from a trace is escaped; the page's script never puts
// text in as HTML.

//go:embed report.css
var reportCSS string

//go:embed report.js
var reportJS string

// htmlTexts bounds the graphs' and kernels' texts that go into one file, and
// htmlPhases the bars of its flame chart.
const (
	htmlTexts  = 4 << 20
	htmlPhases = 5000
)

type htmlWriter struct {
	w    *bufio.Writer
	left int // bytes of texts that still fit

	names explain.Names
}

// WriteHTML writes the report as one self-contained HTML file.
func WriteHTML(w io.Writer, r *explain.Report) error {
	h := &htmlWriter{bufio.NewWriter(w), htmlTexts, explain.BriefNames(r)}
	h.raw(`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">`)
	h.raw(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">`)
	h.tag("title", "", "tcdbg: "+r.Title)
	h.raw("<style>" + reportCSS + "</style></head><body>")
	h.header(r)
	for _, section := range htmlSections {
		section(h, r)
	}
	h.raw("<script>" + reportJS + "</script></body></html>\n")
	return h.w.Flush()
}

var htmlSections = []func(h *htmlWriter, r *explain.Report){
	(*htmlWriter).advice, (*htmlWriter).breaks, (*htmlWriter).recompiles, (*htmlWriter).failures, (*htmlWriter).frames,
	(*htmlWriter).graphs, (*htmlWriter).kernels, (*htmlWriter).autotuned,
	(*htmlWriter).fusion, (*htmlWriter).timeline, (*htmlWriter).tables,
}

func (h *htmlWriter) raw(s string) { _, _ = h.w.WriteString(s) }

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

func (h *htmlWriter) section(id, title string, open bool) {
	state := ""
	if open {
		state = " open"
	}
	h.raw(`<details class="section" id="` + id + `"` + state + `><summary>`)
	h.esc(title)
	h.raw("</summary>")
}

func (h *htmlWriter) end() { h.raw("</details>") }

func (h *htmlWriter) header(r *explain.Report) {
	h.tag("h1", "", r.Title)
	h.tag("p", "engine", r.Engine+"  "+timeText(r.Start))
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
	for _, d := range explain.Warnings(r) {
		h.tag("p", "warn", d)
	}
	h.raw(`<input id="filter" type="search" placeholder="filter: file, function, code" aria-label="filter">`)
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

func (h *htmlWriter) fix(f explain.Fix) {
	if f.Text != "" {
		h.tag("p", "fix", f.Text)
	}
	if len(f.Lines) == 0 {
		return
	}
	h.raw("<pre>")
	for _, l := range f.Lines {
		class := "del"
		if strings.HasPrefix(l, "+") {
			class = "add"
		}
		h.tag("span", class, l)
		h.raw("\n")
	}
	h.raw("</pre>")
}

func (h *htmlWriter) advice(r *explain.Report) {
	if len(r.Advice) == 0 {
		return
	}
	h.section("first", "What to do first", true)
	h.raw("<ol>")
	for i, a := range r.Advice {
		if i == 10 {
			break
		}
		h.raw(`<li class="row">`)
		h.tag("b", "", h.names.Place(a.Pos))
		h.tag("span", "", " "+a.Text+" ")
		h.tag("span", "dim", a.Cost)
		h.fix(a.Fix)
		h.raw("</li>")
	}
	h.raw("</ol>")
	h.end()
}

func (h *htmlWriter) breaks(r *explain.Report) {
	h.section("breaks", fmt.Sprintf("Breaks (%d at %d places)", r.Totals.Breaks, r.Totals.DistinctBreaks), true)
	for _, g := range r.Breaks {
		h.group(g)
	}
	h.end()
}

func (h *htmlWriter) group(g *explain.BreakGroup) {
	b := g.Lead
	class := "row break"
	if b.Noise {
		class += " noise"
	}
	h.raw(`<details class="` + class + `"><summary>`)
	h.tag("code", "gb", orUnknown(b.Code))
	h.tag("b", "", " "+b.Title()+" ")
	h.tag("span", "", h.names.Place(b.Pos))
	h.tag(
		"span", "dim",
		fmt.Sprintf(
			"  %s, adds %s, %s, %s, %s", explain.GroupOften(g), explain.Count(g.Graphs, "graph"),
			explain.Duration(g.Seconds), b.Fixability, b.Outcome,
		),
	)
	h.raw("</summary>")
	h.marked(b.Pos)
	if b.Explanation != "" {
		h.tag("p", "", b.Explanation)
	}
	h.fix(g.Fix)
	if len(b.Hints) > 0 {
		h.raw("<ul>")
		for _, x := range b.Hints {
			h.tag("li", "", x)
		}
		h.raw("</ul>")
	}
	if g.CausedBy != nil {
		h.tag("p", "dim", "caused by "+g.CausedBy.Lead.Code+" at "+h.names.Place(g.CausedBy.Lead.Pos))
	}
	h.stack("where the value comes from", b.Value)
	for i, c := range g.Chains {
		if i == 10 {
			break
		}
		h.stack("call chain", c)
	}
	if b.Context != "" {
		h.tag("p", "dim", b.Context)
	}
	h.raw("</details>")
}

// marked shows a line with the part at fault underlined.
func (h *htmlWriter) marked(p logs.Pos) {
	if p.Code == "" {
		return
	}
	h.raw("<pre>")
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

func (h *htmlWriter) stack(title string, st []logs.Pos) {
	if len(st) == 0 {
		return
	}
	h.tag("p", "dim", title)
	h.raw("<ol class=\"stack\">")
	for _, p := range st {
		class := ""
		if explain.FrameworkFile(p.File) {
			class = "noise"
		}
		h.raw(`<li class="` + class + `">`)
		h.tag("span", "", fmt.Sprintf("%s:%d", p.File, p.Line))
		h.tag("b", "", " "+explain.FunctionOf(p, nil)+" ")
		h.tag("code", "", p.Code)
		h.raw("</li>")
	}
	h.raw("</ol>")
}

func (h *htmlWriter) recompiles(r *explain.Report) {
	if len(r.Recompiles) == 0 {
		return
	}
	h.section("recompiles", fmt.Sprintf("Recompiles (%d)", r.Totals.Recompiles), true)
	for _, rc := range r.Recompiles {
		h.raw(`<details class="row"><summary>`)
		h.tag("code", "", rc.Compile.ID.CompileID.String())
		h.tag("b", "", " "+rc.Compile.Frame.Name+" ")
		if len(rc.Failures) > 0 {
			h.tag("span", "", explain.FailureText(&rc.Failures[0]))
		}
		if rc.Compile.Status == explain.Limit {
			h.tag("span", "warn", " limit reached")
		}
		h.raw("</summary><ul>")
		for _, g := range rc.Failures {
			h.raw("<li>")
			h.tag("code", "", g.Entry)
			h.tag("span", "", " "+explain.FailureText(&g))
			if g.Pos.File != "" {
				h.tag("span", "dim", "  "+h.names.Place(g.Pos))
				h.tag("code", "", " "+g.Pos.Code)
			}
			h.raw("</li>")
		}
		h.raw("</ul>")
		h.fix(rc.Fix)
		h.raw("</details>")
	}
	h.end()
}

func (h *htmlWriter) failures(r *explain.Report) {
	if len(r.Failures) == 0 {
		return
	}
	h.section("failures", fmt.Sprintf("Failures (%d)", len(r.Failures)), true)
	for _, f := range r.Failures {
		h.raw(`<details class="row"><summary>`)
		h.tag("code", "", f.ID.CompileID.String())
		h.tag("b", "", " "+f.Function()+" ")
		h.tag("span", "", f.What()+" ")
		h.tag("span", "dim", h.names.Place(f.Pos))
		h.raw("</summary>")
		for _, detail := range f.Details() {
			h.tag("p", "", detail)
		}
		h.marked(f.Pos)
		h.fix(f.Fix)
		h.tag("pre", "", f.Reason)
		h.stack("user code", f.Stack)
		h.raw("</details>")
	}
	h.end()
}

func (h *htmlWriter) frames(r *explain.Report) {
	h.section("frames", fmt.Sprintf("Frames (%d)", len(r.Frames)), false)
	h.raw("<table><tr><th>id</th><th>function</th><th>place</th><th>status</th><th>compiles</th><th>breaks</th><th>seconds</th></tr>")
	for _, fr := range r.Frames {
		sum := fr.Sum()
		name := fr.Name
		if fr.Parent != nil {
			name = "↳ " + name
		}
		h.row(
			fmt.Sprintf("%s%d", explain.RankPrefix(fr.ID), fr.ID.Frame), name, h.names.At(fr.Place()),
			string(fr.Status), strconv.Itoa(sum.Compiles), strconv.Itoa(sum.Breaks), fmt.Sprintf("%.2f", sum.Seconds),
		)
	}
	h.raw("</table>")
	h.end()
}

func (h *htmlWriter) row(cells ...string) {
	h.raw(`<tr class="row">`)
	for _, c := range cells {
		h.tag("td", "", c)
	}
	h.raw("</tr>")
}

// text embeds a loaded text while there is room.
func (h *htmlWriter) text(load func() string) {
	if load == nil {
		return
	}
	if h.left <= 0 {
		h.tag("p", "dim", "left out: this file is full; open the trace itself")
		return
	}
	s := load()
	if len(s) > h.left {
		s = s[:h.left]
	}
	h.left -= len(s)
	h.tag("pre", "", s)
}

func (h *htmlWriter) graphs(r *explain.Report) {
	if len(r.Graphs) == 0 {
		return
	}
	h.section("graphs", fmt.Sprintf("Graphs (%d)", len(r.Graphs)), false)
	for _, g := range r.Graphs {
		h.raw(`<details class="row"><summary>`)
		h.tag("code", "", explain.RankPrefix(g.ID)+g.ID.CompileID.String())
		h.tag("span", "", fmt.Sprintf(" %s: %s", explain.Count(len(g.Ops), "operator"), explain.ClipText(strings.Join(g.Ops, ", "), 160)))
		h.raw("</summary>")
		for _, s := range g.Stages {
			if s.Name == "dynamo" || s.Name == "go" || s.Name == "post-grad" || s.Name == "backward" {
				h.tag("p", "dim", s.Name)
				h.text(s.Load)
			}
		}
		h.raw("</details>")
	}
	h.end()
}

func (h *htmlWriter) kernels(r *explain.Report) {
	if len(r.Kernels) == 0 {
		return
	}
	h.section("kernels", fmt.Sprintf("Kernels (%d generated, %d extern)", r.Totals.Kernels, len(r.Kernels)-r.Totals.Kernels), false)
	list, total := explain.CostliestKernels(r)
	for _, k := range list {
		h.raw(`<details class="row"><summary>`)
		h.tag("code", "", explain.RankPrefix(k.ID)+k.ID.CompileID.String())
		h.tag("b", "", " "+k.Name+" ")
		if total > 0 {
			h.tag("span", "", k.TimeText(total)+" ")
		}
		h.tag("span", "dim", k.Lang+" "+strings.Join(k.Ops, ", ")+" "+k.Reason)
		h.raw("</summary>")
		h.stack("computes", k.Pos)
		h.text(k.Load)
		h.raw("</details>")
	}
	h.end()
}

func (h *htmlWriter) fusion(r *explain.Report) {
	if len(r.Fusions) == 0 {
		return
	}
	h.section("fusion", "Fusion", false)
	for _, f := range r.Fusions {
		h.raw(`<details class="row"><summary>`)
		h.tag("code", "", f.ID.CompileID.String())
		h.tag("span", "", fmt.Sprintf(" %s, %d after fusion", explain.Count(f.Before, "node"), f.After))
		h.raw("</summary><table>")
		for i, s := range f.Steps {
			if i == 2000 {
				break
			}
			state, why := "✗", s.Reason
			if s.Fused {
				state, why = "✓", s.Result
			}
			if s.Why != "" {
				why += ": " + s.Why
			}
			h.row(state, s.A, s.B, why)
		}
		h.raw("</table></details>")
	}
	h.end()
}

// timeline draws the flame chart: bars are plain elements, placed in per cent.
func (h *htmlWriter) timeline(r *explain.Report) {
	if len(r.Phases) == 0 || r.End.Sub(r.Start) <= 0 {
		return
	}
	h.section("timeline", fmt.Sprintf("Compile time (%s)", explain.Duration(r.Totals.CompileSeconds)), false)
	span := float64(r.End.Sub(r.Start))
	depth := 0
	for _, p := range r.Phases {
		depth = max(depth, p.Depth)
	}
	h.raw(fmt.Sprintf(`<div class="flame" style="height:%dpx">`, (min(depth, 40)+1)*16))
	shown := 0
	for _, p := range r.Phases {
		width := float64(p.Dur) / span * 100
		if width < 0.02 || p.Depth > 40 || shown >= htmlPhases {
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
	h.raw("</div><table><tr><th>phase</th><th>times</th><th>total s</th><th>self s</th></tr>")
	for i, p := range r.PhaseSums {
		if i == 60 {
			break
		}
		h.row(p.Name, strconv.Itoa(p.Count), fmt.Sprintf("%.3f", p.Seconds), fmt.Sprintf("%.3f", p.Self))
	}
	h.raw("</table>")
	h.end()
}

func (h *htmlWriter) tables(r *explain.Report) {
	if len(r.Symbols) > 0 {
		h.section("symbols", fmt.Sprintf("Dynamic sizes (%d)", len(r.Symbols)), false)
		h.raw("<table><tr><th>symbol</th><th>source</th><th>first</th><th>range</th><th>specialised</th><th>line</th></tr>")
		for _, s := range r.Symbols {
			h.row(s.ID.CompileID.String()+" "+s.Name, s.Source, s.Hint, s.Range, s.Specialized+" "+s.Reason, h.names.Place(s.Pos))
		}
		h.raw("</table>")
		h.end()
	}
	if len(r.Caches) > 0 {
		h.section("caches", fmt.Sprintf("Caches (%d)", len(r.Caches)), false)
		h.raw("<table><tr><th>compile</th><th>cache</th><th>result</th><th>reason</th><th>key</th></tr>")
		for _, c := range r.Caches {
			h.row(c.ID.CompileID.String(), c.Cache, c.Hit, c.Reason, c.Key)
		}
		h.raw("</table>")
		h.end()
	}
	if len(r.Ranks) > 0 {
		h.section("ranks", fmt.Sprintf("Ranks (%d)", len(r.Ranks)), true)
		h.raw("<table><tr><th>rank</th><th>frames</th><th>graphs</th><th>breaks</th>" +
			"<th>recompiles</th><th>seconds</th><th>differs</th></tr>")
		for _, k := range r.Ranks {
			t := &k.Totals
			h.row(
				strconv.Itoa(k.Rank), strconv.Itoa(t.Frames), strconv.Itoa(t.Graphs), strconv.Itoa(t.Breaks),
				strconv.Itoa(t.Recompiles), fmt.Sprintf("%.2f", t.CompileSeconds), strings.Join(k.Diverged, "; "),
			)
		}
		h.raw("</table>")
		h.end()
	}
	if len(r.Side) > 0 {
		h.section("remarks", fmt.Sprintf("Warnings about the trace (%d)", len(r.Side)), false)
		h.raw("<table>")
		for i, s := range r.Side {
			if i == 500 {
				break
			}
			h.row(s.ID.CompileID.String(), s.Kind, explain.ClipText(s.Text, 300))
		}
		h.raw("</table>")
		h.end()
	}
}
