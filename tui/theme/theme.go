// Package theme is how the screens look: styles made of the terminal's own six
// palette colours and four attributes, the glyphs that carry a state without
// colour, and lines of styled text with the operations that panes need.
//
// It imports nothing of ours. Open theme.go first, then line.go.
package theme

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Style is a colour with attributes, combined by |.
type Style uint16

// The colours. They are the palette's, so that they follow light and dark
// terminal themes.
const (
	Plain   Style = 0
	Red     Style = 1
	Green   Style = 2
	Yellow  Style = 3
	Blue    Style = 4
	Magenta Style = 5
	Cyan    Style = 6

	colours = 7
)

// The attributes.
const (
	Bold Style = 1 << (iota + 3)
	Faint
	Reverse
	Underline

	allStyles = 1 << 7
)

// The roles of colours: one state, one colour, one glyph.
const (
	Compiled  = Green
	Eager     = Yellow
	Break     = Red
	Recompile = Magenta
	Guard     = Blue
	Accent    = Cyan
	Noise     = Faint
)

// Glyphs. Each says without colour what its colour says.
const (
	GlyphCompiled  = "█"
	GlyphEager     = "░"
	GlyphBreak     = "✂"
	GlyphRecompile = "↻"
	GlyphGuard     = "◆"
	GlyphSkipped   = "·"
	GlyphRunning   = "●"
	GlyphWatching  = "◉"
	GlyphPaused    = "‖"
	GlyphStands    = "▶"
	GlyphEnded     = "■"
	GlyphFailed    = "✗"
	GlyphDone      = "✓"
	GlyphCursor    = "▸"
	GlyphFolded    = "▹"
	GlyphOpen      = "▿"
)

// Theme renders styles. Make one with New; it is safe for concurrent use.
type Theme struct {
	before, after [allStyles]string
}

// New makes a theme. Without colour the attributes stay: bold still marks the
// selected row.
func New(colour bool) *Theme {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	palette := [colours]lipgloss.Color{"", "1", "2", "3", "4", "5", "6"}
	t := &Theme{}
	for s := Style(1); s < allStyles; s++ {
		st := r.NewStyle().
			Bold(s&Bold != 0).Faint(s&Faint != 0).
			Reverse(s&Reverse != 0).Underline(s&Underline != 0)
		if c := s & 7; colour && c > 0 && c < colours {
			st = st.Foreground(palette[c])
		}
		// lipgloss frames text the same way every time; keeping the frame
		// makes a span cost two concatenations.
		const mark = "x"
		t.before[s], t.after[s], _ = strings.Cut(st.Render(mark), mark)
	}
	return t
}

// UseColour decides from the environment: NO_COLOR counts for any value that
// is not empty.
func UseColour(getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// Render returns text in style s. The text must be clean (see Clean).
func (t *Theme) Render(s Style, text string) string {
	if s == Plain || text == "" {
		return text
	}
	return t.before[s&(allStyles-1)] + text + t.after[s&(allStyles-1)]
}
