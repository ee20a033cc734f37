package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/layout"
	"tcdbg/tui/theme"
)

// This file is what a screen is: rows made from a report, a lead that answers
// the screen's question, a detail for the selected row, and an empty state
// that teaches. The table of screens is here too.

// screens is the table of screens, in the order of their tabs.
func screens() []screen {
	return []screen{
		keys.Overview:   newOverview(),
		keys.Source:     newSource(),
		keys.Breaks:     newBreaks(),
		keys.Recompiles: newRecompiles(),
		keys.Guards:     newGuards(),
		keys.Graph:      newGraph(),
		keys.Fusion:     newFusion(),
		keys.Kernels:    newKernels(),
		keys.Timeline:   newTimeline(),
		keys.Logs:       newLogs(),
		keys.Output:     newOutput(),
		keys.Ranks:      newRanks(),
		keys.Stop:       newStop(),
		keys.Ledger:     newLedger(),
		keys.Calls:      newCalls(),
		keys.Numerics:   newNumerics(),
		keys.Profile:    newProfile(),
	}
}

// screen is one screen: a struct that embeds a pane and keeps what it alone needs.
// The pane has a default for every method but empty.
type screen interface {
	// state is the pane.
	state() *pane
	// rows makes the list from a report. It runs beside the UI, and reads nothing
	// of the screen.
	rows(in *input) []row
	// lead is the first lines of the screen, at most the pane's leadLines.
	lead(sc *scene, width int) []theme.Line
	// detail is the document for a row.
	detail(sc *scene, r row, width int) *doc
	// count is the number in the tab; 0: none.
	count(r *explain.Report) int
	// empty says what it means that there is nothing.
	empty(sc *scene) []string
	// act handles an action that only this screen has, and reports whether it did.
	act(sc *scene, a keys.Action) (tea.Cmd, bool)
	// enter is where enter goes from a row; false: it stays on the screen.
	enter(r row) (keys.Screen, bool)
	// hidden tells the modes that there is nothing for.
	hidden(sc *scene, mode int) bool
	// absent says that a run has no use for the screen: it has no tab.
	absent(r *explain.Report) bool
}

// What only some screens are.
type (
	// slow screens make their rows when they are looked at: it takes reading.
	slow interface {
		// first puts the cursor on the first row to look at.
		first()
	}
	// tabled screens list a table of the feed's own; it grows, and the cursor
	// follows its end.
	tabled interface {
		table(feed Feed) rowsOf
	}
	// finding screens know better than their rows which one a selection means; they
	// report whether they do.
	finding interface {
		find(want Selection) bool
	}
	// regrouped screens fold rows by what new ones are of: they are asked before these are shown.
	regrouped interface {
		regroup(rows rowsOf)
	}
	// pointed screens have more under the mouse than rows; they report whether it was theirs.
	pointed interface {
		point(sc *scene, e tea.MouseMsg, f layout.Frame) bool
	}
	// searching screens look further than their rows for a text.
	searching interface {
		search(sc *scene, text string) tea.Cmd
		// nextHit goes to the next or previous hit; false: that is not what was
		// searched for.
		nextHit(sc *scene, on bool) (tea.Cmd, bool)
	}
)

// row is one row of a list.
type row interface {
	// draw draws the row; the list marks the selected one.
	draw(sc *scene, width int) theme.Line
	// matches reports whether a filter or search finds the row.
	matches(query string) bool
	// key identifies the row in later reports.
	key() string
	// sel is what the row means in other screens.
	sel() Selection
}

// fixed is implemented by rows that the cursor passes over.
type fixed interface{ fixedRow() }

// folded is implemented by rows that belong to a group that can be folded.
type folded interface {
	// group is the name of the row's group; "" for none.
	group() string
}

// rowsOf is a list of rows, kept or virtual.
type rowsOf interface {
	Len() int
	At(i int) row
}

type rowSlice []row

func (s rowSlice) Len() int     { return len(s) }
func (s rowSlice) At(i int) row { return s[i] }

// input is what rows are made from.
type input struct {
	report *explain.Report
	feed   Feed
	facts  *facts
	parsed *parsed
	width  int // of the terminal; texts of rows are wrapped to it
	height int // of the terminal; 0: as high as the rows are
}

// Selection is the one thing that is selected, as every screen knows it.
// Fields are zero where they are not known.
type Selection struct {
	Pos    logs.Pos
	HasID  bool
	ID     explain.ID // compile
	Node   string
	Kernel string
	Break  string // key of the group
	// Record is the record that tells it, 0: none; no screen but Logs shows it.
	Record int64
	// Call is the call that the screens follow from then on; they keep the last one.
	Call callAt
}

// score tells how well a row stands for the wanted selection; 0: not at all.
func (s Selection) score(want Selection) int {
	n := 0
	if s.Break != "" && s.Break == want.Break {
		n += 64
	}
	same := s.HasID && want.HasID && s.ID.Epoch == want.ID.Epoch && s.ID.Rank == want.ID.Rank &&
		s.ID.CompileID.Frame == want.ID.CompileID.Frame
	compile := same && s.ID.Compile == want.ID.Compile
	if s.Kernel != "" && s.Kernel == want.Kernel && (compile || !want.HasID) {
		n += 32
	}
	if s.Node != "" && s.Node == want.Node && compile {
		n += 16
	}
	if s.Pos.Line > 0 && s.Pos.Line == want.Pos.Line && s.Pos.File == want.Pos.File {
		n += 8
	}
	if compile {
		n += 2
	}
	if same {
		n++
	}
	return n
}

// screenFor is the screen that shows a selection best.
func screenFor(s Selection) keys.Screen {
	switch {
	case s.Break != "":
		return keys.Breaks
	case s.Kernel != "":
		return keys.Kernels
	case s.Node != "":
		return keys.Graph
	case s.Pos.Line > 0:
		return keys.Source
	case s.Record > 0:
		return keys.Logs
	}
	return keys.Graph
}

// headRow is a heading between rows.
type headRow struct {
	text, right string
	draws       func(sc *scene, w int) theme.Line
}

func (h *headRow) fixedRow() {}

func (h *headRow) draw(sc *scene, w int) theme.Line {
	if h.draws != nil {
		return h.draws(sc, w)
	}
	return theme.L(theme.Faint, theme.Fit(h.text, max(0, w-len(h.right)))+h.right)
}

func (h *headRow) matches(string) bool { return false }
func (h *headRow) key() string         { return "" }
func (h *headRow) sel() Selection      { return Selection{} }

// textRow is a line of a text below a row: what an error says, or a fix.
type textRow struct {
	headRow
	label, line string
	style       theme.Style
	cut         bool // more of the text does not follow
}

// maxTextRows bounds the lines of one text; the row above it opens the whole.
const maxTextRows = 5

// textRows wraps a text to a terminal's width, after its label.
func textRows(width int, label, text string, style theme.Style) []row {
	lines := theme.Wrap(text, max(20, width-2-len(label)))
	long := len(lines) > maxTextRows
	if long {
		lines = lines[:maxTextRows]
	}
	rows := make([]row, len(lines))
	for i, l := range lines {
		if i == 1 {
			label = theme.Spaces(len(label))
		}
		rows[i] = &textRow{label: label, line: l, style: style, cut: long && i == maxTextRows-1}
	}
	return rows
}

func (r *textRow) draw(_ *scene, w int) theme.Line {
	line := r.line
	if r.cut {
		line += " …"
	}
	return theme.Line{{Text: r.label, Style: theme.Faint}, theme.T(r.style, theme.Cut(line, max(0, w-len(r.label))))}
}
