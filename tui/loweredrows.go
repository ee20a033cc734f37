package tui

import (
	"fmt"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/theme"
)

// This file is the rows of the Fusion screen that say how a lowered graph's kernels differ from PyTorch's.

// loweredRow is a kernel of one compiler of which the other one put the nodes into several.
type loweredRow struct {
	l    *explain.Lowered
	r    *logs.Regrouped // nil: there is none, and said says so
	ours bool            // the kernel is
	i    int             // among those of its compiler
}

// said is what a comparison without a difference says.
func (r *loweredRow) said() string {
	if r.l.Silent != "" {
		return "not compared with PyTorch: " + r.l.Silent
	}
	return "PyTorch's kernels put the same nodes together"
}

func loweredRows(l *explain.Lowered) []row {
	if l == nil {
		return nil
	}
	if l.Silent != "" {
		return []row{&loweredRow{l: l}}
	}
	var rows []row
	add := func(head string, list []logs.Regrouped, ours bool) {
		if len(list) > 0 {
			rows = append(rows, &headRow{text: head})
		}
		for i := range list {
			rows = append(rows, &loweredRow{l, &list[i], ours, i})
		}
	}
	add("PyTorch fused, we did not", l.Apart, false)
	add("we fused, PyTorch did not", l.Joined, true)
	if len(rows) == 0 {
		rows = append(rows, &loweredRow{l: l})
	}
	return rows
}

func (r *loweredRow) key() string    { return fmt.Sprintf("lowered %t %d", r.ours, r.i) }
func (r *loweredRow) sel() Selection { return Selection{HasID: true, ID: r.l.ID} }
func (r *loweredRow) quiet() bool    { return false }

func (r *loweredRow) matches(q string) bool {
	if r.r == nil {
		return theme.IndexFold(r.said(), q) >= 0
	}
	if theme.IndexFold(r.r.Kernel, q) >= 0 {
		return true
	}
	for _, p := range r.r.Parts {
		if theme.IndexFold(p.Kernel, q) >= 0 || theme.IndexFold(strings.Join(p.Nodes, " "), q) >= 0 {
			return true
		}
	}
	return false
}

// whose tells the two compilers' kernels apart.
func (r *loweredRow) whose() (whole, parts string) {
	if r.ours {
		return "our", "PyTorch's"
	}
	return "PyTorch's", "ours"
}

func (r *loweredRow) draw(_ *scene, w int) theme.Line {
	if r.r == nil {
		return theme.Line{theme.T(theme.Plain, "= "+r.said())}
	}
	glyph := theme.Span{Text: theme.GlyphFailed + " ", Style: theme.Red}
	if r.ours {
		glyph = theme.Span{Text: theme.GlyphDone + " ", Style: theme.Green}
	}
	_, parts := r.whose()
	tail := fmt.Sprintf("  in %d of %s", len(r.r.Parts), parts)
	room := max(0, w-2-theme.Width(tail))
	return theme.Line{glyph, {Text: cutMiddle(theme.Clean(r.r.Kernel), room)}, {Text: tail, Style: theme.Faint}}
}

// detail lists the kernels of the other compiler with their nodes and lines.
func (r *loweredRow) detail(d *doc) {
	if r.r == nil {
		d.wrap(theme.Plain, 0, r.said()+".")
		return
	}
	whole, parts := r.whose()
	d.add(theme.T(theme.Bold, r.r.Kernel))
	d.wrap(theme.Plain, 0, fmt.Sprintf("What %s kernel computes is in %d of %s:", whole, len(r.r.Parts), parts))
	for _, p := range r.r.Parts {
		d.blank()
		d.add(theme.T(theme.Bold, p.Kernel))
		for _, n := range p.Nodes {
			d.link(Selection{HasID: true, ID: r.l.ID, Node: n}, theme.T(theme.Blue, "  "+n))
		}
		col := d.sc.placeColumn(p.Pos, d.width)
		for _, at := range p.Pos {
			d.link(posSel(at), theme.T(theme.Accent, "  "+d.sc.placeCell(at, col)), theme.T(theme.Plain, strings.TrimSpace(at.Code)))
		}
	}
}
