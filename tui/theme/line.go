package theme

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tcdbg/logs/printable"
)

// This file is lines of styled text. Whatever a trace contains is hostile:
// text becomes a span only through T, which makes it printable.

// Span is text in one style. Text is clean.
type Span struct {
	Text  string
	Style Style
}

// Line is one line of a pane.
type Line []Span

// T makes a span of any text.
func T(style Style, text string) Span { return Span{Clean(text), style} }

// L makes a line of one span.
func L(style Style, text string) Line { return Line{T(style, text)} }

// Clean shows what could act on a terminal: control characters by glyphs of one cell, line
// feeds as an arrow, what has no glyph escaped as in reports. Tabs become spaces.
func Clean(s string) string { return printable.Map(s, glyph) }

func glyph(r rune, raw string) string {
	switch {
	case r == '\t':
		return "    "
	case r == '\n':
		return "↵"
	case r == '\r':
		return ""
	case r < 0x20:
		return string('␀' + r)
	case r == 0x7f:
		return "␡"
	}
	return printable.Spell(r, raw)
}

// Width is how many cells text takes.
func Width(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// Cut shortens text to w cells, with an ellipsis where something went.
func Cut(s string, w int) string {
	if Width(s) <= w {
		return s
	}
	if w <= 0 {
		return ""
	}
	return ansi.Truncate(s, w, "…")
}

// CutLeft shortens text to w cells at its left end: for paths.
func CutLeft(s string, w int) string {
	n := Width(s)
	if n <= w {
		return s
	}
	if w <= 1 {
		return Cut(s, w)
	}
	out := ansi.TruncateLeft(s, n-w+1, "…")
	for drop := n - w + 2; Width(out) > w; drop++ { // a wide character lay across the cut
		out = ansi.TruncateLeft(s, drop, "…")
	}
	return out
}

// Fit cuts or pads text to exactly w cells.
func Fit(s string, w int) string {
	s = Cut(s, w)
	return s + Spaces(w-Width(s))
}

// FitRight is Fit with the text at the right.
func FitRight(s string, w int) string {
	s = Cut(s, w)
	return Spaces(w-Width(s)) + s
}

// Spaces is n spaces.
func Spaces(n int) string {
	const many = "                                                                                                                  " +
		"              "
	if n <= 0 {
		return ""
	}
	if n <= len(many) {
		return many[:n]
	}
	return strings.Repeat(" ", n)
}

// Width is the number of cells of a line.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += Width(s.Text)
	}
	return n
}

// Fit cuts or pads a line to exactly w cells.
func (l Line) Fit(w int) Line {
	out, room := make(Line, 0, len(l)+1), w
	for _, s := range l {
		n := Width(s.Text)
		if n > room {
			s.Text = Cut(s.Text, room)
			out = append(out, s)
			room -= Width(s.Text)
			break
		}
		out = append(out, s)
		room -= n
	}
	if room > 0 {
		out = append(out, Span{Text: Spaces(room)})
	}
	return out
}

// Skip drops the first n cells, for panes that scroll sideways.
func (l Line) Skip(n int) Line {
	for i, s := range l {
		w := Width(s.Text)
		if w > n {
			s.Text = ansi.TruncateLeft(s.Text, n, "")
			return append(Line{s}, l[i+1:]...)
		}
		n -= w
	}
	return nil
}

// With adds attributes to every span.
func (l Line) With(attr Style) Line {
	out := make(Line, len(l))
	for i, s := range l {
		out[i] = Span{s.Text, s.Style | attr}
	}
	return out
}

// Text is the line without styles.
func (l Line) Text() string {
	if len(l) == 1 {
		return l[0].Text
	}
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Line renders a line.
func (t *Theme) Line(l Line) string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(t.Render(s.Style, s.Text))
	}
	return b.String()
}

// Mark shows where query occurs in the line (letters of either case are the
// same).
func (l Line) Mark(query string) Line {
	if query == "" {
		return l
	}
	var out Line
	for _, s := range l {
		rest := s.Text
		for {
			i := IndexFold(rest, query)
			if i < 0 {
				break
			}
			out = append(out, Span{rest[:i], s.Style}, Span{rest[i : i+len(query)], s.Style | Reverse})
			rest = rest[i+len(query):]
		}
		out = append(out, Span{rest, s.Style})
	}
	return out
}

// IndexFold is strings.Index without regard to the case of ASCII letters; it
// allocates nothing.
func IndexFold(s, query string) int {
	if query == "" {
		return 0
	}
	lo, up := lower(query[0]), upper(query[0])
	for i := 0; i+len(query) <= len(s); i++ {
		if c := s[i]; (c == lo || c == up) && equalFold(s[i:i+len(query)], query) {
			return i
		}
	}
	return -1
}

func equalFold(a, b string) bool {
	for i := 0; i < len(b); i++ {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 32
	}
	return c
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 32
	}
	return c
}

// Wrap breaks text on words to lines of at most w cells; words longer than a
// line are cut.
func Wrap(text string, w int) []string {
	if w < 1 {
		return nil
	}
	var out []string
	for _, par := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, wrapParagraph(Clean(par), w)...)
	}
	return out
}

func wrapParagraph(par string, w int) []string {
	if Width(par) <= w {
		return []string{par}
	}
	indent := par[:len(par)-len(strings.TrimLeft(par, " "))]
	if len(indent) > w/2 {
		indent = ""
	}
	var out []string
	line := ""
	for _, word := range strings.Fields(par) {
		if line != "" && Width(line)+1+Width(word) <= w {
			line += " " + word
			continue
		}
		if line != "" {
			out = append(out, line)
		}
		line = indent + word
		for Width(line) > w { // a path or an expression without blanks
			head := ansi.Truncate(line, w, "")
			if head == "" {
				break
			}
			out = append(out, head)
			line = line[len(head):]
		}
	}
	return append(out, line)
}
