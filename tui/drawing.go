package tui

import (
	"fmt"

	"tcdbg/explain"
	"tcdbg/tui/theme"
)

// This file draws a graph in characters: one line a node in order, and a rail
// for every value from the node that makes it to the last one that uses it.

// maxDrawn is the number of nodes up to which a drawing helps.
const maxDrawn = 60

// maxRails bounds the width of a drawing.
const maxRails = 24

// graphDrawing appends the drawing, or says why there is none.
func graphDrawing(d *doc, g *explain.Graph, nodes []explain.GraphNode) {
	switch {
	case len(nodes) == 0:
		d.wrap(theme.Faint, 0, "The trace records no text of this graph to draw from.")
		return
	case len(nodes) > maxDrawn:
		d.wrap(theme.Faint, 0, fmt.Sprintf("The graph has %d nodes, and a drawing shows up to %d. v shows the operators as bars, v again the code.", len(nodes), maxDrawn))
		return
	}
	rails := drawRails(nodes)
	wide := 0
	for _, r := range rails {
		wide = max(wide, theme.Width(r))
	}
	c := drawingColumns(d.width - wide - 2)
	d.focus = focusNode(d.sc, g, nodes, d.Len())
	d.parts = append(d.parts, part{
		n: len(nodes), code: true,
		line: func(i int) theme.Line {
			n := &nodes[i]
			style := theme.Plain
			if n.Op == "placeholder" || n.Op == "output" {
				style = theme.Faint
			}
			what := n.Target
			if n.Op == "placeholder" {
				what = "input"
			} else if n.Op == "output" {
				what = ""
			}
			return theme.Line{
				{Text: theme.Fit(rails[i], wide) + "  ", Style: theme.Compiled},
				theme.T(style|theme.Bold, theme.Fit(theme.Clean(n.Name), 16)+" "), theme.T(style, theme.Fit(theme.Clean(what), c.target)+" "),
				theme.T(theme.Yellow, theme.Fit(shapeText(n.Type), c.shape)+" "), theme.T(theme.Accent, d.sc.placeIn(n.Pos, c.place)),
			}
		},
		text:   func(i int) string { return nodes[i].Name + " " + nodes[i].Target },
		target: nodeTarget(g, nodes),
	})
}

// drawnColumns are the widths of what stands beside the rails.
type drawnColumns struct{ target, shape, place int }

// drawingColumns shares the cells behind the rails and the name of 16: the line of
// the program is kept before the shape, which the table has too.
func drawingColumns(room int) drawnColumns {
	const place = 14
	room -= 17 + place
	switch {
	case room >= 38:
		return drawnColumns{20, 16, place + room - 38}
	case room >= 26:
		return drawnColumns{room - 18, 16, place}
	}
	return drawnColumns{max(4, min(20, room-2)), 0, place}
}

// drawRails returns the rails of every node's line.
func drawRails(nodes []explain.GraphNode) []string {
	uses := map[string]int{}
	for i := range nodes {
		for _, a := range distinct(nodes[i].Args) {
			uses[a]++
		}
	}
	var rails []string // value on each rail, "" when free
	out := make([]string, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		args := distinct(n.Args)
		used, ends := map[int]bool{}, map[int]bool{}
		for _, a := range args {
			for c, v := range rails {
				if v == a {
					used[c] = true
					if uses[a]--; uses[a] == 0 {
						ends[c] = true
					}
				}
			}
		}
		col := place(rails, ends)
		if col == len(rails) {
			rails = append(rails, "")
		}
		out[i] = railLine(rails, used, ends, col)
		for c := range ends {
			rails[c] = ""
		}
		if uses[n.Name] > 0 && col < maxRails {
			rails[col] = n.Name
		} else if col < len(rails) {
			rails[col] = ""
		}
		for len(rails) > 0 && rails[len(rails)-1] == "" {
			rails = rails[:len(rails)-1]
		}
	}
	return out
}

func distinct(args []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, a := range args {
		if !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	return out
}

// place picks the rail of a new node: the leftmost one that ends here, else
// the first free one.
func place(rails []string, ends map[int]bool) int {
	for c := range rails {
		if ends[c] {
			return c
		}
	}
	for c, v := range rails {
		if v == "" {
			return c
		}
	}
	return len(rails)
}

// railLine draws one line: two cells a rail.
func railLine(rails []string, used, ends map[int]bool, col int) string {
	left, right := col, col
	for c := range used {
		left, right = min(left, c), max(right, c)
	}
	var b []rune
	for c := range max(len(rails), right+1) {
		live := c < len(rails) && rails[c] != ""
		across := c >= left && c <= right
		var r rune
		switch {
		case c == col:
			r = '●'
		case used[c]:
			r = joint(c == left, c == right, ends[c])
		case live:
			r = '│'
		case across:
			r = '─'
		default:
			r = ' '
		}
		b = append(b, r)
		if c < right && across {
			b = append(b, '─')
		} else {
			b = append(b, ' ')
		}
	}
	return string(b)
}

// joint is the piece where a value's rail meets its user's line.
func joint(left, right, ends bool) rune {
	switch {
	case ends && left:
		return '╰'
	case ends && right:
		return '╯'
	case ends:
		return '┴'
	case left:
		return '├'
	case right:
		return '┤'
	}
	return '┼'
}
