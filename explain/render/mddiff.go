package render

import (
	"fmt"
	"io"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/gate"
)

// This file writes the difference of two reports as Markdown.

// WriteDiffMarkdown writes a comparison as Markdown of less than 65,000 characters.
func WriteDiffMarkdown(w io.Writer, d *gate.Difference, from Origin) error {
	m := &mdWriter{}
	foot := mdFoot(&explain.Report{}, from)
	m.room = maxMarkdown - len(foot)
	m.add("### What changed\n\n**" + diffVerdict(d) + "**\n\n" + diffTable(d))
	for _, kind := range kindsOf(d) {
		m.changes(kind.what, kind.of)
	}
	m.plain("Graphs", "graph", d.Graphs)
	m.plain("Code", "graph", d.Code)
	m.plain("Caches", "cache", d.Caches)
	m.plain("New kernels", "kernel", d.KernelsNew)
	m.plain("Kernels that are gone", "kernel", d.KernelsGone)
	_, err := io.WriteString(w, m.b.String()+foot)
	return err
}

// kindOf is what differs of one kind of cause.
type kindOf struct {
	what string
	of   *gate.Changes
}

func kindsOf(d *gate.Difference) []kindOf {
	return []kindOf{{"break", &d.Breaks}, {"recompile", &d.Recompiles}, {"failure", &d.Failures}}
}

// diffVerdict says in a line whether a run got better or worse.
func diffVerdict(d *gate.Difference) string {
	var worse, better []string
	for _, kind := range kindsOf(d) {
		if n := len(kind.of.New); n > 0 {
			worse = append(worse, explain.Count(n, "new "+kind.what))
		}
		if n := len(kind.of.Fixed); n > 0 {
			better = append(better, explain.Count(n, "fixed "+kind.what))
		}
	}
	switch {
	case d.Worse() && len(worse) == 0:
		return "Worse: what was there is seen more often"
	case d.Worse():
		return "Worse: " + strings.Join(append(worse, better...), ", ")
	case len(better) > 0:
		return "Better: " + strings.Join(better, ", ")
	case d.Empty():
		return "No difference but time"
	}
	return "No new break, recompile or failure"
}

// diffTable is the totals side by side.
func diffTable(d *gate.Difference) string {
	var b strings.Builder
	b.WriteString("| | before | after |\n|---|--:|--:|\n")
	row := func(what string, before, after int) { fmt.Fprintf(&b, "| %s | %d | %d |\n", what, before, after) }
	row("breaks", d.Before.Breaks, d.After.Breaks)
	row("recompiles", d.Before.Recompiles, d.After.Recompiles)
	row("failures", d.Before.Failures, d.After.Failures)
	row("graphs", d.Before.Graphs, d.After.Graphs)
	row("kernels", d.Before.Kernels, d.After.Kernels)
	fmt.Fprintf(&b, "| compile time | %s | %s |\n\n", seconds(d.Before.CompileSeconds), seconds(d.After.CompileSeconds))
	return b.String()
}

// changes lists one kind of cause.
func (m *mdWriter) changes(what string, c *gate.Changes) {
	if c.Empty() {
		return
	}
	cause := func(x *gate.Cause) string {
		s := mdCode(x.Place) + " " + mdLine(x.What+x.Often())
		if x.Pos.Code != "" {
			s += " " + mdCode(explain.ClipText(x.Pos.Code, 120))
		}
		return s
	}
	var rows []string
	for i := range c.New {
		rows = append(rows, "- new: "+cause(&c.New[i])+"\n")
	}
	for i := range c.Fixed {
		rows = append(rows, "- fixed: "+cause(&c.Fixed[i])+"\n")
	}
	for i := range c.Counted {
		x := &c.Counted[i]
		rows = append(rows, fmt.Sprintf("- seen %d times, was %d: %s\n", x.To.Count, x.From.Count, cause(&x.To)))
	}
	for i := range c.Moved {
		x := &c.Moved[i]
		often := ""
		if x.From.Count != x.To.Count {
			often = fmt.Sprintf(" (%d -> %d times)", x.From.Count, x.To.Count)
		}
		rows = append(rows, "- moved: "+mdCode(x.From.Place)+" to "+mdCode(x.To.Place)+" "+mdLine(x.To.What)+often+"\n")
	}
	title := fmt.Sprintf("%s%ss: %d new, %d fixed, %d moved, %d the same", strings.ToUpper(what[:1]), what[1:], len(c.New), len(c.Fixed),
		len(c.Moved), c.Same)
	m.list(title, what, len(rows), func(i int) string { return rows[i] })
	m.add("\n")
}

// plain lists lines, folded.
func (m *mdWriter) plain(title, what string, lines []string) {
	if len(lines) == 0 {
		return
	}
	const shown = 40
	var b strings.Builder
	fmt.Fprintf(&b, "<details><summary>%s: %d</summary>\n\n", title, len(lines))
	for i, l := range lines {
		if i == shown {
			fmt.Fprintf(&b, "- ... and %s\n", explain.Count(len(lines)-i, "more "+what))
			break
		}
		b.WriteString("- " + mdLine(explain.ClipText(l, 300)) + "\n")
	}
	b.WriteString("\n</details>\n\n")
	if !m.add(b.String()) {
		m.add(fmt.Sprintf("_%s: %d, left out for lack of room._\n\n", title, len(lines)))
	}
}
