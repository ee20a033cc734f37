// Package diff compares lists of lines, and draws what differs.
//
// It imports theme and syntax only, and knows no screen. It is one file.
package diff

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// Edit is one line of a comparison: ' ' in both, '-' only before, '+' only after, '~' for lines
// that are left out, 0 for none.
type Edit struct {
	Op   byte
	Text string
}

// maxDiff bounds the quadratic part of a comparison; longer middles are shown
// as removed and added whole.
const maxDiff = 800

// Lines compares two lists by their longest common subsequence.
func Lines(a, b []string) []Edit {
	var out []Edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		out = append(out, Edit{' ', a[0]})
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
			out = append(out, Edit{'-', l})
		}
		for _, l := range b {
			out = append(out, Edit{'+', l})
		}
	} else {
		out = append(out, middle(a, b)...)
	}
	for _, l := range tail {
		out = append(out, Edit{' ', l})
	}
	return out
}

// middle is the comparison of lists without common ends.
func middle(a, b []string) []Edit {
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
	var out []Edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, Edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && long[(i+1)*w+j] >= long[i*w+j+1]:
			out = append(out, Edit{'-', a[i]})
			i++
		default:
			out = append(out, Edit{'+', b[j]})
			j++
		}
	}
	return out
}

// The lines around a change that stay, and the shortest run that is folded.
const (
	aroundChange = 3
	foldedRun    = 2*aroundChange + 4
)

// FoldSame replaces long runs of lines in both texts by one line that counts
// them. Texts that are the same stay whole.
func FoldSame(edits []Edit) []Edit {
	if !slices.ContainsFunc(edits, func(e Edit) bool { return e.Op != ' ' }) {
		return edits
	}
	var out []Edit
	for i := 0; i < len(edits); {
		n := 0
		for i+n < len(edits) && edits[i+n].Op == ' ' {
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
		out = append(out, Edit{'~', fmt.Sprintf("⋮ %d lines the same", n-first-last)})
		out = append(out, edits[i+n-last:i+n]...)
		i += n
	}
	return out
}

// Related reports whether two texts have lines in common that say something; a
// pass from one language to another leaves none.
func Related(edits []Edit) bool {
	for _, e := range edits {
		if e.Op == ' ' && strings.TrimSpace(e.Text) != "" {
			return true
		}
	}
	return false
}

func Split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimRight(s, "\n"), "\n")
}

// Pairs aligns removed and added lines of one place.
func Pairs(edits []Edit) [][2]Edit {
	var rows [][2]Edit
	for i := 0; i < len(edits); {
		if edits[i].Op == ' ' || edits[i].Op == '~' {
			rows = append(rows, [2]Edit{edits[i], edits[i]})
			i++
			continue
		}
		var del, ins []Edit
		for ; i < len(edits) && (edits[i].Op == '-' || edits[i].Op == '+'); i++ {
			if edits[i].Op == '-' {
				del = append(del, edits[i])
			} else {
				ins = append(ins, edits[i])
			}
		}
		for k := range max(len(del), len(ins)) {
			var pair [2]Edit
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

func Draw(hl *syntax.Highlighter, e Edit, lang syntax.Lang) theme.Line {
	mark, style := markOf(e)
	return append(theme.Line{{Text: mark, Style: style}}, editText(hl, e, lang)...)
}

func DrawSide(hl *syntax.Highlighter, e Edit, lang syntax.Lang) theme.Line {
	if e.Op == 0 {
		return nil
	}
	return Draw(hl, e, lang)
}

func editText(hl *syntax.Highlighter, e Edit, lang syntax.Lang) theme.Line {
	if e.Op == ' ' {
		return hl.Line(lang, e.Text)
	}
	_, style := markOf(e)
	return theme.L(style, e.Text)
}

func markOf(e Edit) (string, theme.Style) {
	switch e.Op {
	case '-':
		return "- ", theme.Red
	case '+':
		return "+ ", theme.Green
	case '~':
		return "  ", theme.Faint
	}
	return "  ", theme.Plain
}
