// Package picture turns a frame of the screens into an SVG: for READMEs, bug
// reports and reviews.
//
// It imports nothing of ours. Open picture.go, then shapes.go (boxes, lines and blocks).
package picture

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// The size of a cell, in pixels, and the margin around the frame.
const (
	cellW  = 8.4
	cellH  = 18.0
	margin = 12.0
)

// palette is a dark terminal's: foreground first, then the six colours.
var palette = [...]string{"#d8dee9", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2"}

const background = "#1b1f27"

// style is what SGR sequences have set.
type style struct {
	colour                         int
	bold, faint, reverse, underlin bool
}

// SVG draws a frame: lines of text with SGR sequences, w by h cells. The title is what it says to
// who cannot see it.
func SVG(title, frame string, w, h int) string {
	var b strings.Builder
	width, height := float64(w)*cellW+2*margin, float64(h)*cellH+2*margin
	fmt.Fprintf(
		&b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title" viewBox="0 0 %.0f %.0f" `+
			`width="%.0f" height="%.0f">`+"\n", width, height, width, height,
	)
	fmt.Fprintf(&b, `<title id="title">%s</title>`+"\n", escape(ansi.Strip(title)))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", background)
	b.WriteString(`<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" ` +
		`xml:space="preserve">` + "\n")
	for y, line := range strings.Split(frame, "\n") {
		drawLine(&b, line, y)
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// drawLine draws the runs of one line.
func drawLine(b *strings.Builder, line string, y int) {
	var st style
	x := 0
	for line != "" {
		if line[0] == 0x1b {
			end := strings.IndexByte(line, 'm')
			if end < 0 {
				return
			}
			st.apply(line[2:end])
			line = line[end+1:]
			continue
		}
		n := strings.IndexByte(line, 0x1b)
		if n < 0 {
			n = len(line)
		}
		cells := ansi.StringWidth(line[:n])
		at := x
		for _, part := range alike(line[:n]) {
			wide := ansi.StringWidth(part)
			drawRun(b, part, st, at, y, wide)
			at += wide
		}
		x += cells
		line = line[n:]
	}
}

// apply takes the parameters of one SGR sequence.
func (s *style) apply(params string) {
	for _, p := range strings.Split(params, ";") {
		switch p {
		case "", "0":
			*s = style{}
		case "1":
			s.bold = true
		case "2":
			s.faint = true
		case "4":
			s.underlin = true
		case "7":
			s.reverse = true
		default:
			if len(p) == 2 && p[0] == '3' && p[1] >= '1' && p[1] <= '6' {
				s.colour = int(p[1] - '0')
			}
		}
	}
}

// drawRun draws text of one style. Its length is given, so that glyphs of any
// font fill their cells; blanks need no text.
func drawRun(b *strings.Builder, text string, s style, x, y, cells int) {
	at, top := margin+float64(x)*cellW, margin+float64(y)*cellH
	fill := palette[s.colour]
	if s.reverse {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", at, top, float64(cells)*cellW, cellH, fill)
		fill = background
	}
	if r, _ := utf8.DecodeRuneInString(text); isShape(r) {
		opacity := 1.0
		if s.faint {
			opacity = 0.6
		}
		drawShapes(b, r, cells, at, top, fill, opacity)
		return
	}
	trimmed := strings.TrimLeft(text, " ")
	at += float64(len(text)-len(trimmed)) * cellW
	trimmed = strings.TrimRight(trimmed, " ")
	if trimmed == "" {
		return
	}
	extra := ""
	if s.bold {
		extra += ` font-weight="bold"`
	}
	if s.faint {
		extra += ` opacity="0.6"`
	}
	if s.underlin {
		extra += ` text-decoration="underline"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
		at, top+cellH-5, fill, float64(ansi.StringWidth(trimmed))*cellW, extra, escape(trimmed))
}

// escape makes text safe within SVG; blanks inside must not collapse.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", " ", "\u00a0").Replace(s)
}
