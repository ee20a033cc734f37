// Package pairs draws what two nodes of a scheduler do with a buffer, each in a column of its own.
//
// It knows no screen. Open this file.
package pairs

import (
	"tcdbg/tui/theme"
)

// narrow is the width below which the second column goes under the first.
const narrow = 72

// Sides draws two texts of several lines beside each other, under their headings; the second
// below the first where the terminal is narrow.
func Sides(headA, headB string, a, b []string, w int) []theme.Line {
	if w < narrow {
		return append(column(headA, a, w), column(headB, b, w)...)
	}
	half := (w - 3) / 2
	left, right := column(headA, a, half), column(headB, b, half)
	var out []theme.Line
	for i := range max(len(left), len(right)) {
		var l theme.Line
		if i < len(left) {
			l = append(l, left[i]...)
		}
		l = append(l.Fit(half), theme.Span{Text: " │ ", Style: theme.Faint})
		if i < len(right) {
			l = append(l, right[i]...)
		}
		out = append(out, l)
	}
	return out
}

func column(head string, lines []string, w int) []theme.Line {
	out := []theme.Line{{{Text: "  " + theme.Cut(theme.Clean(head), max(1, w-2)), Style: theme.Faint}}}
	for _, text := range lines {
		for _, l := range theme.Wrap(theme.Clean(text), max(8, w-4)) {
			out = append(out, theme.Line{{Text: "    " + l}})
		}
	}
	return out
}
