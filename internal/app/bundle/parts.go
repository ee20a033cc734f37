package bundle

import (
	"path/filepath"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/rewrite"
)

// This file chooses the lines of a source file that a bundle holds: those that the report names,
// each with the function that it is in and a few lines around it, and those that advice read.

// linesAround is how many lines a screen shows before the first line of which something is known.
const linesAround = 3

// part is what is kept of a file.
type part struct {
	name   string
	lines  []string
	kept   []bool // by line, of which the first is 0
	within []bool // in a function or declaration that is kept
}

// partOf is the part of a file in which lines are named, of which the first is 1.
func partOf(r *explain.Report, name string, lines []string, named map[int]bool) *part {
	p := &part{name: name, lines: lines, kept: make([]bool, len(lines)), within: make([]bool, len(lines))}
	around := p.python
	if filepath.Ext(name) == ".go" {
		around = p.goDeclarations()
	}
	for n := range named {
		if n >= 1 && n <= len(lines) {
			p.keep(explain.Extent{From: n, To: n})
			around(n)
		}
	}
	for _, e := range r.Source.Asked(name) {
		p.keep(e)
	}
	for _, e := range rewrite.Reads(r, name, lines) {
		p.keep(e)
	}
	for i, l := range lines {
		p.kept[i] = p.kept[i] && !explain.LeftOut(l) // of a bundle of a bundle
	}
	return p
}

func (p *part) keep(e explain.Extent) {
	for n := max(1, e.From); n <= min(e.To, len(p.lines)); n++ {
		p.kept[n-1] = true
	}
}

// whole keeps a function or a declaration.
func (p *part) whole(e explain.Extent) {
	p.keep(e)
	for n := max(1, e.From); n <= min(e.To, len(p.lines)); n++ {
		p.within[n-1] = true
	}
}

// python keeps the function that a line is in, or that it decorates, and the lines around it.
func (p *part) python(n int) {
	p.keep(explain.Extent{From: n - linesAround, To: n + linesAround})
	if p.within[n-1] {
		return
	}
	if from, to, ok := explain.FunctionAround(p.lines, p.decorated(n-1)); ok {
		for from > 0 && strings.HasPrefix(strings.TrimSpace(p.lines[from-1]), "@") {
			from--
		}
		p.whole(explain.Extent{From: from + 1, To: to})
	}
}

// mostDecorators is how many lines there may be between a decorator and its function.
const mostDecorators = 20

// decorated is the line that begins the function which a line decorates; of others the line itself.
func (p *part) decorated(i int) int {
	if !strings.HasPrefix(strings.TrimSpace(p.lines[i]), "@") {
		return i
	}
	depth := explain.LeadingSpace(p.lines[i])
	for k := i; k < min(len(p.lines), i+mostDecorators); k++ {
		rest := strings.TrimPrefix(strings.TrimPrefix(p.lines[k], depth), "async ")
		if strings.HasPrefix(rest, "def ") {
			return k
		}
	}
	return i
}

// goDeclarations keeps the declaration that a line is in, and of the lines around it those that
// are in no other: half a declaration is no Go.
func (p *part) goDeclarations() func(n int) {
	declaration := rewrite.Declaration(p.lines)
	return func(n int) {
		if !p.within[n-1] {
			if e, ok := declaration(n); ok {
				p.whole(e)
			}
		}
		for k := max(1, n-linesAround); k <= min(len(p.lines), n+linesAround); k++ {
			if _, other := declaration(k); !other {
				p.keep(explain.Extent{From: k, To: k})
			}
		}
	}
}

// ranges are the lines that are kept, in order, of which the first is 1; nil where all are.
func (p *part) ranges() [][2]int {
	var out [][2]int
	all := true
	for i, kept := range p.kept {
		switch {
		case !kept:
			all = false
		case len(out) > 0 && out[len(out)-1][1] == i:
			out[len(out)-1][1]++
		default:
			out = append(out, [2]int{i + 1, i + 1})
		}
	}
	if all {
		return nil
	}
	return out
}

// text is the file with nothing in the place of the lines that are not kept.
func (p *part) text() string {
	out := make([]string, len(p.lines))
	for i, l := range p.lines {
		if p.kept[i] {
			out[i] = l
		}
	}
	return strings.Join(out, "\n")
}

// fill puts a mark in the place of each line that is not within the ranges.
func fill(name string, lines []string, kept [][2]int) {
	mark := explain.LeftOutLine(name)
	next := 0
	for i := range lines {
		for next < len(kept) && kept[next][1] < i+1 {
			next++
		}
		if next == len(kept) || i+1 < kept[next][0] {
			lines[i] = mark
		}
	}
}
