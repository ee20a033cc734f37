package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file annotates the program's lines, and those of libraries below them: how many operators of a line were captured,
// where it breaks, which of its guards failed, each with a link. Lines are those that the trace tells; the ones around
// them are shown where the program's file is there and has the recorded lines.

// The bounds of the annotated source: operators whose lines are looked up, and lines around a marked one.
const (
	sourceOperators = 20_000
	linesAround     = 2
)

// sourceLine is what is known of a line.
type sourceLine struct {
	n         int
	code      string
	operators int
	in        *explain.Graph // the graph with the most of them
	breaks    []*explain.BreakGroup
	failed    []*explain.Recompile
	failures  []*explain.Failure
	begins    *explain.Frame
	kernel    *explain.Kernel
}

// lineIndex is the program's files, by lines.
type lineIndex struct {
	files []string
	lines map[string]map[int]*sourceLine
}

// at is a line of the program or of a library; nil for those of torch and of the standard library.
func (x *lineIndex) at(p logs.Pos) *sourceLine {
	if p.File == "" || p.Line <= 0 || explain.FrameworkFile(p.File) {
		return nil
	}
	file := x.lines[p.File]
	if file == nil {
		file = map[int]*sourceLine{}
		x.lines[p.File] = file
		x.files = append(x.files, p.File)
	}
	l := file[p.Line]
	if l == nil {
		l = &sourceLine{n: p.Line}
		file[p.Line] = l
	}
	l.code = cmp.Or(l.code, explain.FirstLine(p.Code))
	return l
}

func indexLines(r *explain.Report) *lineIndex {
	x := &lineIndex{lines: map[string]map[int]*sourceLine{}}
	for _, g := range r.Breaks {
		if l := x.at(g.Lead.Line()); l != nil {
			l.breaks = append(l.breaks, g)
		}
	}
	for _, rc := range r.Recompiles {
		for i := range rc.Failures {
			if l := x.at(rc.Failures[i].Pos); l != nil {
				l.failed = appendOnce(l.failed, rc)
			}
		}
	}
	for _, f := range r.Failures {
		if l := x.at(f.Place()); l != nil {
			l.failures = append(l.failures, f)
		}
	}
	for _, fr := range r.Frames {
		if l := x.at(fr.Place()); l != nil && fr.Parent == nil {
			l.begins = cmp.Or(l.begins, fr)
		}
	}
	x.operators(r)
	for _, k := range r.Kernels {
		for _, p := range k.Pos {
			if l := x.at(p); l != nil && l.kernel == nil {
				l.kernel = k
			}
		}
	}
	return x
}

// operators counts the operators that were captured of each line, of the graph with the most.
func (x *lineIndex) operators(r *explain.Report) {
	left := sourceOperators
	for _, g := range r.Graphs {
		if left -= len(g.Ops); left < 0 {
			return
		}
		n := map[*sourceLine]int{}
		for _, node := range g.Nodes() {
			if node.Op == "placeholder" || node.Op == "output" {
				continue
			}
			if l := x.at(node.Pos); l != nil {
				n[l]++
			}
		}
		for l, k := range n {
			if k > l.operators {
				l.operators, l.in = k, g
			}
		}
	}
}

func (h *htmlWriter) sources(r *explain.Report) {
	x := indexLines(r)
	if len(x.files) == 0 {
		return
	}
	library := func(file string) bool { return explain.InstalledPackage(file) != "" }
	slices.SortStableFunc(x.files, func(a, b string) int { return cmp.Compare(btoi(library(a)), btoi(library(b))) })
	own := len(x.files)
	if i := slices.IndexFunc(x.files, library); i >= 0 {
		own = i
	}
	h.section("source", "Annotated source ("+explain.Count(len(x.files), "file")+")", true)
	h.each(own, "file", func(i int) { h.sourceFile(r.Source, x.files[i], x.lines[x.files[i]]) })
	if libraries := x.files[own:]; len(libraries) > 0 {
		h.raw(`<details class="row"><summary>` + explain.Count(len(libraries), "file") + " of libraries</summary>")
		h.each(len(libraries), "file", func(i int) { h.sourceFile(r.Source, libraries[i], x.lines[libraries[i]]) })
		h.raw("</details>")
	}
	h.end()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sourceFile is the marked lines of a file and those around them.
func (h *htmlWriter) sourceFile(src *explain.Source, file string, marked map[int]*sourceLine) {
	var list []*sourceLine
	for _, l := range marked {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *sourceLine) int { return cmp.Compare(a.n, b.n) })
	text := agreeing(src, file, list)
	h.raw(`<div class="scroll"><table class="src"><caption>`)
	h.words(h.names.File(file))
	h.raw(`</caption><thead class="hide"><tr><th scope="col">line</th><th scope="col">marks</th><th scope="col">code</th>` +
		`<th scope="col">what became of it</th></tr></thead><tbody>` + "\n")
	last, left := 0, 0
	for i, l := range list {
		if h.sectionFull() {
			left = len(list) - i
			break
		}
		from, to := l.n, l.n
		if text != nil {
			from, to = max(1, l.n-linesAround), min(len(text), l.n+linesAround)
		}
		from = max(from, last+1)
		if from > last+1 && last > 0 {
			h.raw(`<tr class="gap"><td></td><td></td><td class="dim">⋮</td><td></td></tr>` + "\n")
		}
		for n := from; n <= to; n++ {
			h.sourceRow(n, text, marked[n])
		}
		last = max(last, to)
	}
	h.raw("</tbody></table></div>")
	if left > 0 {
		h.leftOut(left, "line")
	}
}

// agreeing is the text of a file, nil where it is not there or has another line than one that was recorded.
func agreeing(src *explain.Source, file string, list []*sourceLine) []string {
	var text []string
	for _, l := range list {
		if l.code == "" {
			continue
		}
		if text = src.File(logs.Pos{File: file, Line: l.n, Code: l.code}); text == nil {
			return nil
		}
	}
	return text
}

func (h *htmlWriter) sourceRow(n int, text []string, l *sourceLine) {
	code := ""
	if n <= len(text) {
		code = text[n-1]
	} else if l != nil {
		code = l.code
	}
	if l == nil {
		l = &sourceLine{}
	}
	class := ""
	switch {
	case len(l.breaks)+len(l.failures) > 0:
		class = "hit"
	case len(l.failed) > 0:
		class = "again"
	}
	h.raw(`<tr class="row ` + class + `"><td class="dim">` + strconv.Itoa(n) + "</td><td>")
	h.sourceMarks(l)
	h.raw("</td><td><code>")
	h.esc(code)
	h.raw("</code></td><td>")
	h.sourceNotes(l)
	h.raw("</td></tr>\n")
}

func (h *htmlWriter) sourceMarks(l *sourceLine) {
	if l.operators > 0 {
		h.mark(h.at.graphs[l.in], "g", strconv.Itoa(l.operators), explain.Count(l.operators, "operator")+" captured")
	}
	if len(l.breaks) > 0 {
		h.mark(h.at.breaks[l.breaks[0]], "x", "✂", "graph break")
	}
	if len(l.failures) > 0 {
		h.mark(h.at.failures[l.failures[0]], "x", "✗", "failure")
	}
	if len(l.failed) > 0 {
		h.mark(h.at.recompiles[l.failed[0]], "r", "↻", "failed guard")
	}
}

// noteLinks is how many findings of a kind a line names.
const noteLinks = 3

func (h *htmlWriter) sourceNotes(l *sourceLine) {
	note := func(id, text string) {
		h.raw(`<span class="note">`)
		h.link(id, text)
		h.raw("</span> ")
	}
	for _, g := range l.breaks[:min(len(l.breaks), noteLinks)] {
		note(h.at.breaks[g], "break: "+g.Lead.Title())
	}
	for _, f := range l.failures[:min(len(l.failures), noteLinks)] {
		note(h.at.failures[f], "fails: "+explain.ClipText(f.Title(), 100))
	}
	for _, rc := range l.failed[:min(len(l.failed), noteLinks)] {
		note(h.at.recompiles[rc], "recompiled as "+idText(rc.Compile.ID))
	}
	if n := max(0, len(l.breaks)-noteLinks) + max(0, len(l.failures)-noteLinks) + max(0, len(l.failed)-noteLinks); n > 0 {
		h.tag("span", "dim", fmt.Sprintf("and %d more ", n))
	}
	if l.begins != nil {
		note(h.at.frames[l.begins], l.begins.Title()+": "+string(l.begins.Status))
	}
	if l.kernel != nil && len(l.breaks)+len(l.failures)+len(l.failed) == 0 {
		note(h.at.kernels[l.kernel], "in "+explain.ClipText(l.kernel.Name, 60))
	}
}
