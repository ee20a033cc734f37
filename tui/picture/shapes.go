package picture

import (
	"fmt"
	"strings"
)

// This file draws boxes, lines and blocks as shapes. As text they would be glyphs of whatever
// font is there, with seams between the cells.

// The sides of a cell that a line reaches from its middle.
const (
	left = 1 << iota
	right
	up
	down
	heavy
)

// boxes are the characters that lines are made of.
var boxes = map[rune]int{
	'─': left | right, '━': left | right | heavy, '│': up | down, '┃': up | down | heavy, '╌': left | right, '╎': up | down,
	'┌': right | down, '┐': left | down, '└': right | up, '┘': left | up, '╭': right | down, '╮': left | down, '╰': right | up,
	'╯': left | up, '├': up | down | right, '┤': up | down | left, '┬': left | right | down, '┴': left | right | up,
	'┼': left | right | up | down, '╴': left, '╶': right, '╵': up, '╷': down,
}

// block is the part of a cell that a block fills, in parts of it, and how much it covers.
type block struct{ x, y, w, h, shade float64 }

// blocks are the characters that fill cells.
var blocks = map[rune]block{
	'█': {0, 0, 1, 1, 1}, '▓': {0, 0, 1, 1, .75}, '▒': {0, 0, 1, 1, .5}, '░': {0, 0, 1, 1, .25},
	'▀': {0, 0, 1, .5, 1}, '▄': {0, .5, 1, .5, 1}, '▌': {0, 0, .5, 1, 1}, '▐': {.5, 0, .5, 1, 1},
	'▏': {0, 0, .125, 1, 1}, '▎': {0, 0, .25, 1, 1}, '▍': {0, 0, .375, 1, 1}, '▋': {0, 0, .625, 1, 1}, '▊': {0, 0, .75, 1, 1},
	'▉': {0, 0, .875, 1, 1}, '▁': {0, .875, 1, .125, 1}, '▂': {0, .75, 1, .25, 1}, '▃': {0, .625, 1, .375, 1}, '▅': {0, .375, 1, .625, 1},
	'▆': {0, .25, 1, .75, 1}, '▇': {0, .125, 1, .875, 1}, '▔': {0, 0, 1, .125, 1}, '▕': {.875, 0, .125, 1, 1},
}

// isShape says whether a character is drawn as shapes.
func isShape(r rune) bool { return boxes[r] != 0 || blocks[r].w > 0 }

// alike parts text into runs of equal shapes and runs of other characters.
func alike(text string) []string {
	var out []string
	start, last := 0, rune(-1)
	for i, r := range text {
		if i > 0 && (isShape(r) || isShape(last)) && r != last {
			out = append(out, text[start:i])
			start = i
		}
		last = r
	}
	return append(out, text[start:])
}

// drawShapes draws n equal shapes from a corner on, in one piece where they join.
func drawShapes(b *strings.Builder, r rune, n int, x, y float64, fill string, opacity float64) {
	rect := func(x, y, w, h, shade float64) {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" shape-rendering="crispEdges"`, x, y, w, h, fill)
		if shade < 1 {
			fmt.Fprintf(b, ` opacity="%.2g"`, shade)
		}
		b.WriteString("/>\n")
	}
	if k, ok := blocks[r]; ok {
		if k.w == 1 {
			rect(x, y+k.y*cellH, float64(n)*cellW, k.h*cellH, k.shade*opacity)
			return
		}
		for i := range n {
			rect(x+(float64(i)+k.x)*cellW, y+k.y*cellH, k.w*cellW, k.h*cellH, k.shade*opacity)
		}
		return
	}
	sides, thick := boxes[r], 1.0
	if sides&heavy != 0 {
		thick = 2
	}
	middle := y + cellH/2
	if sides&(left|right) == left|right && sides&(up|down) == 0 {
		rect(x, middle, float64(n)*cellW, thick, opacity)
		return
	}
	for i := range n {
		cell := x + float64(i)*cellW
		centre := cell + cellW/2
		if sides&left != 0 {
			rect(cell, middle, centre-cell+thick, thick, opacity)
		}
		if sides&right != 0 {
			rect(centre, middle, cell+cellW-centre, thick, opacity)
		}
		if sides&up != 0 {
			rect(centre, y, thick, cellH/2, opacity)
		}
		if sides&down != 0 {
			rect(centre, middle, thick, cellH/2, opacity)
		}
	}
}
