package modules

import (
	"fmt"
	"strings"
)

// This file draws a graph as SVG: a box for every node or closed module, below everything that it reads.

// The sizes of the drawing, in pixels.
const (
	boxWide, boxHigh = 220, 40
	gapWide, gapHigh = 20, 36
	margin           = 24
	titleHigh        = 40
	maxColumns       = 40 // boxes beside each other; further ones go into another row
)

type spot struct{ x, y int }

func svg(d *Drawn) string {
	boxes := d.boxes()
	spots, columns, high := layout(boxes)
	wide := 2*margin + columns*(boxWide+gapWide)
	high += 2*margin + titleHigh
	title := d.Title + ": " + d.InputText() + "; " + SumText(d.Tree.Sum)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %d %d" width="%d" height="%d"`, wide, high, wide, high)
	b.WriteString(` font-family="monospace" font-size="11">` + "\n")
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n", escaped(title))
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" font-size=\"14\" fill=\"#222222\">%s</text>\n", margin, margin+8, escaped(title))
	b.WriteString("<g fill=\"none\" stroke=\"#7a7a7a\">\n")
	for i := range boxes {
		for _, a := range boxes[i].args {
			from, to := spots[a], spots[i]
			x1, y1, x2, y2 := from.x+boxWide/2, from.y+boxHigh, to.x+boxWide/2, to.y
			fmt.Fprintf(&b, "<path d=\"M%d %d C%d %d %d %d %d %d\"/>\n", x1, y1, x1, y1+gapHigh/2, x2, y2-gapHigh/2, x2, y2)
		}
	}
	b.WriteString("</g>\n")
	for i := range boxes {
		d.svgBox(&b, &boxes[i], spots[i])
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// svgBox draws one box: the redder, the more bytes it moves.
func (d *Drawn) svgBox(b *strings.Builder, x *box, at spot) {
	share := 0.0
	if total := d.Tree.Sum.Bytes; total > 0 {
		share = min(1, float64(d.sum(x).Bytes)/float64(total))
	}
	light := 255 - int(110*share)
	weight := 1
	if x.level != nil {
		weight = 2
	}
	fmt.Fprintf(b, `<g><title>%s</title><rect x="%d" y="%d"`, escaped(d.boxTitle(x)), at.x, at.y)
	fmt.Fprintf(b, ` width="%d" height="%d" rx="4"`, boxWide, boxHigh)
	fmt.Fprintf(b, ` fill="#ff%02x%02x" stroke="#333333" stroke-width="%d"/>`, light, light, weight)
	for k, line := range d.label(x) {
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" fill=\"#222222\">%s</text>", at.x+8, at.y+16+15*k, escaped(cut(line, 32)))
	}
	b.WriteString("</g>\n")
}

// boxTitle is what a box says where a browser asks for more.
func (d *Drawn) boxTitle(x *box) string {
	if x.level != nil {
		return x.level.Path + ": " + SumText(x.level.Sum)
	}
	n := &d.Nodes[x.node]
	return strings.TrimSpace(strings.Join([]string{n.Name, n.Target, n.Type, place(n), strings.TrimSpace(n.Pos.Code)}, "  "))
}

func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// layout puts every box below those that it reads. Boxes stand in the order of the program, so that an edge
// of a module that computes twice may go upwards.
func layout(boxes []box) (spots []spot, columns, high int) {
	depth := make([]int, len(boxes))
	var rows [][]int
	for i := range boxes {
		for _, a := range boxes[i].args {
			if a < i {
				depth[i] = max(depth[i], depth[a]+1)
			}
		}
		for len(rows) <= depth[i] {
			rows = append(rows, nil)
		}
		rows[depth[i]] = append(rows[depth[i]], i)
	}
	spots = make([]spot, len(boxes))
	for _, row := range rows {
		columns = max(columns, min(len(row), maxColumns))
	}
	for _, row := range rows {
		for len(row) > 0 {
			n := min(len(row), maxColumns)
			left := margin + (columns-n)*(boxWide+gapWide)/2
			for k, i := range row[:n] {
				spots[i] = spot{left + k*(boxWide+gapWide), margin + titleHigh + high}
			}
			row = row[n:]
			high += boxHigh + gapHigh
		}
	}
	return spots, columns, high
}
