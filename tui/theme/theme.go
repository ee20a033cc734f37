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

// palettes are the colours of each theme, in the order of the constants above. terminal has the terminal's own,
// which follow its theme; the others are of the 256 that terminals share: dark ones for a light ground, light ones for a
// dark ground, bright ones, and ones that people with any colour vision tell apart (after Okabe and Ito).
var palettes = []struct {
	name    string
	colours [colours]lipgloss.Color
}{
	{Terminal, [colours]lipgloss.Color{"", "1", "2", "3", "4", "5", "6"}},
	{"light", [colours]lipgloss.Color{"", "124", "22", "94", "19", "90", "24"}},
	{"dark", [colours]lipgloss.Color{"", "210", "114", "221", "111", "176", "80"}},
	{HighContrast, [colours]lipgloss.Color{"", "9", "10", "11", "12", "13", "14"}},
	{"colour-blind", [colours]lipgloss.Color{"", "166", "36", "220", "32", "175", "74"}},
}

// Names of themes that are named elsewhere.
const (
	Terminal     = "terminal"
	HighContrast = "high-contrast"
)

// Names are the themes.
func Names() []string {
	var out []string
	for _, p := range palettes {
		out = append(out, p.name)
	}
	return out
}

// New makes the terminal's own theme. Without colour the attributes stay: bold still marks the
// selected row.
func New(colour bool) *Theme { return Named(Terminal, colour) }

// Named makes a theme by its name; one that there is not is the terminal's own. High contrast has no faint text.
func Named(name string, colour bool) *Theme {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI256)
	palette := palettes[0].colours
	for _, p := range palettes {
		if p.name == name {
			palette = p.colours
		}
	}
	t := &Theme{}
	for s := Style(1); s < allStyles; s++ {
		st := r.NewStyle().
			Bold(s&Bold != 0).Faint(s&Faint != 0 && name != HighContrast).
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
