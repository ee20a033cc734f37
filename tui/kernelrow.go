package tui

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/tui/theme"
)

// This file is the list of the Kernels screen: a row a kernel, in columns that are
// the same for all of them.

// kernelTable is what the rows of the list share.
type kernelTable struct {
	total float64 // nanoseconds of all kernels; 0: none was timed
	name  int     // cells that the names want
}

// wantedName is how much of a name goes before the numbers: the detail has them too.
const wantedName = 22

func (*kernelsScreen) rows(in *input) []row {
	t := &kernelTable{total: in.report.KernelNanos()}
	for _, k := range in.report.Kernels {
		t.name = max(t.name, min(wantedName, theme.Width(theme.Clean(k.Name))))
	}
	rows := make([]row, 0, len(in.report.Kernels))
	for _, k := range in.report.Kernels {
		rows = append(rows, &kernelRow{k, t})
	}
	return rows
}

// kernelRow is a kernel or an extern kernel.
type kernelRow struct {
	k *explain.Kernel
	t *kernelTable
}

// kernelColumn is a column of the list.
type kernelColumn struct {
	head  string
	width int
	text  func(k *explain.Kernel, total float64) string
}

// columns are those that have room beside the names in w cells; the last go first.
func (t *kernelTable) columns(w int) []kernelColumn {
	cols := []kernelColumn{
		{"PER CALL", 8, func(k *explain.Kernel, _ float64) string { return kernelCall(k) }},
		{"CALLS", 6, func(k *explain.Kernel, _ float64) string { return fmt.Sprint(max(0, k.Calls)) }},
		{"SHARE", 5, func(k *explain.Kernel, total float64) string { return kernelShare(k, total) }},
		{"BYTES", 8, func(k *explain.Kernel, _ float64) string { return kernelBytes(k) }},
	}
	if t.total == 0 {
		cols = []kernelColumn{{"LANG", 8, func(k *explain.Kernel, _ float64) string { return k.Lang }}, cols[3]}
	}
	for room := w - t.name; len(cols) > 1; cols = cols[:len(cols)-1] {
		need := 0
		for _, c := range cols {
			need += c.width + 1
		}
		if need <= room {
			break
		}
	}
	return cols
}

// kernelCall is the time of a call; of a kernel that was never called, that.
func kernelCall(k *explain.Kernel) string {
	switch ns, ok := k.CallNanos(); {
	case k.Calls <= 0:
		return "not run"
	case ok:
		return nanos(int64(ns))
	}
	return "?" // called, and no call timed
}

func kernelShare(k *explain.Kernel, total float64) string {
	if _, ok := k.CallNanos(); ok && k.Calls > 0 {
		return percent(k.RunNanos(), total)
	}
	return ""
}

func kernelBytes(k *explain.Kernel) string {
	if k.Bytes <= 0 {
		return ""
	}
	return bytesText(k.Bytes)
}

// heading names the columns of a list of w cells.
func (t *kernelTable) heading(sc *scene, w int) theme.Line {
	w -= 2 // the cursor
	lead := "  " + theme.Spaces(theme.Width(sc.idCell(explain.ID{})))
	var tail strings.Builder
	for _, c := range t.columns(w - len(lead)) {
		tail.WriteString(" " + theme.FitRight(c.head, c.width))
	}
	return theme.L(theme.Faint, "  "+theme.Fit(lead+"KERNEL", max(0, w-tail.Len()))+tail.String())
}

func (r *kernelRow) draw(sc *scene, w int) theme.Line {
	k := r.k
	glyph, style := theme.GlyphCompiled, theme.Compiled
	if k.Lang == "extern" {
		glyph, style = theme.GlyphEager, theme.Eager
	}
	l := theme.Line{{Text: glyph + " ", Style: style}, {Text: sc.idCell(k.ID), Style: theme.Faint}}
	tail := ""
	for _, c := range r.t.columns(w - l.Width()) {
		tail += " " + theme.FitRight(theme.Clean(c.text(k, r.t.total)), c.width)
	}
	room := max(0, w-l.Width()-theme.Width(tail))
	l = append(l, theme.Span{Text: theme.Fit(cutMiddle(theme.Clean(k.Name), room), room)})
	return append(l, theme.Span{Text: tail, Style: theme.Faint})
}

// cutMiddle shortens a name in its middle: kernels differ at both ends.
func cutMiddle(s string, w int) string {
	n := theme.Width(s)
	if n <= w || w < 8 {
		return theme.Cut(s, w)
	}
	tail := w / 3
	return theme.Cut(s, w-tail) + theme.CutLeft(s, tail+1)[len("…"):]
}
