package tui

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file compares lists of lines, and shows two texts side by side.

// edit is one line of a comparison: ' ' in both, '-' only before, '+' only
// after.
type edit struct {
	op   byte
	text string
}

// maxDiff bounds the quadratic part of a comparison; longer middles are shown
// as removed and added whole.
const maxDiff = 800

// diffLines compares two lists by their longest common subsequence.
func diffLines(a, b []string) []edit {
	var out []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		out = append(out, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	tail := a[len(a)-n:]
	a, b = a[:len(a)-n], b[:len(b)-n]
	if len(a) > maxDiff || len(b) > maxDiff {
		for _, l := range a {
			out = append(out, edit{'-', l})
		}
		for _, l := range b {
			out = append(out, edit{'+', l})
		}
	} else {
		out = append(out, middle(a, b)...)
	}
	for _, l := range tail {
		out = append(out, edit{' ', l})
	}
	return out
}

// middle is the comparison of lists without common ends.
func middle(a, b []string) []edit {
	w := len(b) + 1
	long := make([]int32, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				long[i*w+j] = long[(i+1)*w+j+1] + 1
			} else {
				long[i*w+j] = max(long[(i+1)*w+j], long[i*w+j+1])
			}
		}
	}
	var out []edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && long[(i+1)*w+j] >= long[i*w+j+1]:
			out = append(out, edit{'-', a[i]})
			i++
		default:
			out = append(out, edit{'+', b[j]})
			j++
		}
	}
	return out
}

// sideBySide is the width from which before and after lie side by side.
const sideBySide = 84

// beforeAfter compares two texts: side by side where there is room.
func (d *doc) beforeAfter(lang syntax.Lang, before, after string) {
	edits := diffLines(splitLines(before), splitLines(after))
	if related(edits) {
		edits = foldSame(edits)
	}
	if d.width < sideBySide && !related(edits) {
		d.add(theme.T(theme.Faint, "AFTER"))
		d.code(d.sc.hl, lang, after)
		d.blank()
		d.add(theme.T(theme.Faint, "BEFORE"))
		d.code(d.sc.hl, lang, before)
		return
	}
	if d.width < sideBySide {
		d.parts = append(d.parts, part{
			n: len(edits), code: true,
			line: func(i int) theme.Line { return editLine(d.sc.hl, edits[i], lang) },
			text: func(i int) string { return edits[i].text },
		})
		return
	}
	rows := pairUp(edits)
	half := (d.width - 3) / 2
	d.add(theme.T(theme.Faint, theme.Fit("BEFORE", half)+" │ AFTER"))
	d.parts = append(d.parts, part{
		n: len(rows),
		line: func(i int) theme.Line {
			l := editSide(d.sc.hl, rows[i][0], lang).Fit(half)
			l = append(l, theme.Span{Text: " │ ", Style: theme.Faint})
			return append(l, editSide(d.sc.hl, rows[i][1], lang)...)
		},
		text: func(i int) string { return rows[i][0].text + " " + rows[i][1].text },
	})
}

// The lines around a change that stay, and the shortest run that is folded.
const (
	aroundChange = 3
	foldedRun    = 2*aroundChange + 4
)

// foldSame replaces long runs of lines in both texts by one line that counts
// them. Texts that are the same stay whole.
func foldSame(edits []edit) []edit {
	if !slices.ContainsFunc(edits, func(e edit) bool { return e.op != ' ' }) {
		return edits
	}
	var out []edit
	for i := 0; i < len(edits); {
		n := 0
		for i+n < len(edits) && edits[i+n].op == ' ' {
			n++
		}
		if n < foldedRun {
			n = max(n, 1)
			out = append(out, edits[i:i+n]...)
			i += n
			continue
		}
		first, last := aroundChange, aroundChange
		if i == 0 {
			first = 1
		}
		if i+n == len(edits) {
			last = 1
		}
		out = append(out, edits[i:i+first]...)
		out = append(out, edit{'~', fmt.Sprintf("⋮ %d lines the same", n-first-last)})
		out = append(out, edits[i+n-last:i+n]...)
		i += n
	}
	return out
}

// related reports whether two texts have lines in common that say something; a
// pass from one language to another leaves none.
func related(edits []edit) bool {
	for _, e := range edits {
		if e.op == ' ' && strings.TrimSpace(e.text) != "" {
			return true
		}
	}
	return false
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimRight(s, "\n"), "\n")
}

// pairUp aligns removed and added lines of one place.
func pairUp(edits []edit) [][2]edit {
	var rows [][2]edit
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' || edits[i].op == '~' {
			rows = append(rows, [2]edit{edits[i], edits[i]})
			i++
			continue
		}
		var del, ins []edit
		for ; i < len(edits) && (edits[i].op == '-' || edits[i].op == '+'); i++ {
			if edits[i].op == '-' {
				del = append(del, edits[i])
			} else {
				ins = append(ins, edits[i])
			}
		}
		for k := range max(len(del), len(ins)) {
			var pair [2]edit
			if k < len(del) {
				pair[0] = del[k]
			}
			if k < len(ins) {
				pair[1] = ins[k]
			}
			rows = append(rows, pair)
		}
	}
	return rows
}

func editLine(hl *syntax.Highlighter, e edit, lang syntax.Lang) theme.Line {
	mark, style := markOf(e)
	return append(theme.Line{{Text: mark, Style: style}}, editText(hl, e, lang)...)
}

func editSide(hl *syntax.Highlighter, e edit, lang syntax.Lang) theme.Line {
	if e.op == 0 {
		return nil
	}
	return editLine(hl, e, lang)
}

func editText(hl *syntax.Highlighter, e edit, lang syntax.Lang) theme.Line {
	if e.op == ' ' {
		return hl.Line(lang, e.text)
	}
	_, style := markOf(e)
	return theme.L(style, e.text)
}

func markOf(e edit) (string, theme.Style) {
	switch e.op {
	case '-':
		return "- ", theme.Red
	case '+':
		return "+ ", theme.Green
	case '~':
		return "  ", theme.Faint
	}
	return "  ", theme.Plain
}
