package rewrite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tcdbg/explain"
)

// This file joins the hunks of several rewrites of a file, and writes them as a unified diff.

// Join are the hunks of several rewrites of one run, as one rewrite: what two of them share
// is there once. It fails with ErrOverlap where two change the same lines.
func Join(lists ...[]explain.Hunk) ([]explain.Hunk, error) {
	var out []explain.Hunk
	for _, h := range slices.Concat(lists...) {
		if !slices.ContainsFunc(out, func(o explain.Hunk) bool { return o.Line == h.Line && slices.Equal(o.Lines, h.Lines) }) {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b explain.Hunk) int { return cmp.Compare(a.Line, b.Line) })
	for i := 1; i < len(out); i++ {
		if old, _ := out[i-1].Sizes(); out[i-1].Line+old > out[i].Line {
			return nil, ErrOverlap
		}
	}
	return out, nil
}

// diffContext is how many lines a unified diff shows around a change.
const diffContext = 3

// Unified is the change of a file by joined hunks, as diff -u and git write it.
func Unified(name string, lines []string, hunks []explain.Hunk) (string, error) {
	last := len(lines) // a file that ends with a line end has an empty last part
	if last > 0 && lines[last-1] == "" {
		last--
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", name, name)
	moved := 0
	for i := 0; i < len(hunks); {
		j := i + 1
		for j < len(hunks) && hunks[j].Line-end(hunks[j-1]) <= 2*diffContext {
			j++
		}
		from, to := max(1, hunks[i].Line-diffContext), min(last+1, end(hunks[j-1])+diffContext)
		body, old, added := "", 0, 0
		at := from
		keep := func(until int) {
			for ; at < until; at++ {
				body += " " + lines[at-1] + "\n"
				old, added = old+1, added+1
			}
		}
		for _, h := range hunks[i:j] {
			keep(h.Line)
			n, _ := h.Sizes()
			fixed, err := ApplyFix(lines, h.Line, h.Lines)
			if err != nil {
				return "", err
			}
			m := len(fixed) - len(lines) + n
			body += changedLines(lines[h.Line-1:h.Line-1+n], fixed[h.Line-1:h.Line-1+m])
			old, added, at = old+n, added+m, h.Line+n
		}
		keep(to)
		fmt.Fprintf(&b, "@@ -%s +%s @@\n%s", extent(from, old), extent(from+moved, added), body)
		moved += added - old
		i = j
	}
	return b.String(), nil
}

// changedLines are the lines that a hunk takes away and puts in their place; what begins or ends both stays.
func changedLines(old, fixed []string) string {
	before, after := 0, 0
	for before < min(len(old), len(fixed)) && old[before] == fixed[before] {
		before++
	}
	for after < min(len(old), len(fixed))-before && old[len(old)-1-after] == fixed[len(fixed)-1-after] {
		after++
	}
	var b strings.Builder
	put := func(sign string, list []string) {
		for _, l := range list {
			b.WriteString(sign + l + "\n")
		}
	}
	put(" ", old[:before])
	put("-", old[before:len(old)-after])
	put("+", fixed[before:len(fixed)-after])
	put(" ", old[len(old)-after:])
	return b.String()
}

// end is the line after those that a hunk replaces.
func end(h explain.Hunk) int {
	old, _ := h.Sizes()
	return h.Line + old
}

func extent(from, n int) string {
	if n == 0 {
		from--
	}
	if n == 1 {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d,%d", from, n)
}
