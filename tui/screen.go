package tui

import (
	"slices"
	"sort"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/list"
	"tcdbg/tui/theme"
)

// This file is what a screen is: rows made from a report, a lead that answers
// the screen's question, a detail for the selected row, and an empty state
// that teaches.

// screenDef is one screen. Only rows and empty are required.
type screenDef struct {
	id keys.Screen
	// rows makes the list from a report, off the UI goroutine.
	rows func(in *input) []row
	// slow rows are made when the screen is looked at: they take reading.
	slow bool
	// lead is the first lines of the screen, at most leadLines.
	lead      func(m *Model, width int) []theme.Line
	leadLines int
	// detail is the document for a row; nil: the screen has no detail.
	detail func(m *Model, r row, width int) *doc
	// share of the width for the list.
	share float64
	// count is the number in the tab; nil or -1: none.
	count func(r *explain.Report) int
	// empty says what it means that there is nothing.
	empty func(m *Model) []string
	// act handles an action that only this screen has.
	act func(m *Model, a keys.Action) bool
	// modes names the views of the detail.
	modes []string
	// hidden tells the views that there is nothing for; nil: none.
	hidden func(m *Model, mode int) bool
	// orders are the ways to sort the rows, the one in which they are made first.
	orders []order
	// enter is where enter goes from a row (default: into the detail).
	enter func(m *Model, r row) (keys.Screen, bool)
}

// order is a way to sort rows.
type order struct {
	name    string
	compare func(a, b row) int // nil: as they were made
}

// row is one row of a list.
type row interface {
	// draw draws the row; the list marks the selected one.
	draw(m *Model, width int) theme.Line
	// matches reports whether a filter or search finds the row.
	matches(query string) bool
	// key identifies the row in later reports.
	key() string
	// sel is what the row stands for in other screens.
	sel() Selection
}

// fixed is implemented by rows that the cursor passes over.
type fixed interface{ fixedRow() }

// folded is implemented by rows that belong to a group that can be folded.
type folded interface {
	// group is the name of the row's group; "" for none.
	group() string
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

// rowsOf is a list of rows, kept or virtual.
type rowsOf interface {
	Len() int
	At(i int) row
}

type rowSlice []row

func (s rowSlice) Len() int     { return len(s) }
func (s rowSlice) At(i int) row { return s[i] }

// pane is the state of one screen.
type pane struct {
	list    list.List
	detail  list.List
	inside  bool // the detail has the focus
	rows    rowsOf
	shown   []int32 // rows that filter and folds leave; nil: all
	filter  string
	query   string // last search
	folds   map[string]bool
	mode    int
	xoff    int
	hide    bool // Fusion: steps that change nothing
	order   order
	version uint64
	synced  uint64 // selection that the cursor was put to
	docKey  docKey
	doc     *doc
	cursor  string // key of the selected row
	// touched says that somebody chose the row of the cursor. Until then a pane
	// shows its first row, whatever comes before it while the program runs.
	touched bool

	made   *explain.Report // report that slow rows were made from
	making bool
	ready  bool
}

// Len is the number of rows that are shown.
func (p *pane) Len() int {
	if p.shown != nil {
		return len(p.shown)
	}
	if p.rows == nil {
		return 0
	}
	return p.rows.Len()
}

// at returns the i-th row that is shown, nil beyond the end.
func (p *pane) at(i int) row {
	if i < 0 || i >= p.Len() {
		return nil
	}
	if p.shown != nil {
		return p.rows.At(int(p.shown[i]))
	}
	return p.rows.At(i)
}

func (p *pane) selected() row { return p.at(p.list.Cursor()) }

// source joins a pane and the model to a list.Source.
type source struct {
	m *Model
	p *pane
}

func (s source) Len() int { return s.p.Len() }

func (s source) Selectable(i int) bool {
	_, no := s.p.at(i).(fixed)
	return !no
}

func (s source) Draw(i, width int, selected bool) theme.Line {
	r := s.p.at(i)
	line := r.draw(s.m, width-2).Mark(s.p.query)
	if _, no := r.(fixed); no {
		return append(theme.Line{{Text: "  "}}, line...)
	}
	if !selected {
		return append(theme.Line{{Text: "  "}}, line...)
	}
	style := theme.Accent | theme.Bold
	if s.p.inside {
		style = theme.Faint
	}
	return append(theme.Line{{Text: theme.GlyphCursor + " ", Style: style}}, line.With(theme.Bold)...)
}

// apply recomputes which rows are shown.
func (p *pane) apply() {
	p.shown = p.visible(p.rows, p.filter)
}

// visible lists the rows that a filter and the folds leave; nil for all.
func (p *pane) visible(rows rowsOf, filter string) []int32 {
	if rows == nil || filter == "" && len(p.folds) == 0 && !p.hide && p.order.compare == nil {
		return nil
	}
	shown := make([]int32, 0, 64)
	for i := range rows.Len() {
		r := rows.At(i)
		if f, ok := r.(folded); ok && filter == "" && f.group() != "" && p.folds[f.group()] {
			continue
		}
		if q, ok := r.(interface{ quiet() bool }); ok && p.hide && q.quiet() {
			continue
		}
		if _, no := r.(fixed); no && filter != "" {
			continue
		}
		if filter == "" || r.matches(filter) {
			shown = append(shown, int32(i))
		}
	}
	if by := p.order.compare; by != nil {
		slices.SortStableFunc(shown, func(i, j int32) int { return by(rows.At(int(i)), rows.At(int(j))) })
	}
	return shown
}

// maxMoved is how far a row is looked for after a report changed.
const maxMoved = 4096

// keep puts the cursor back on the row that it stood on, wherever that row is
// now, and moves the window with it. In a pane that nobody touched it goes to the
// first row.
func (p *pane) keep() {
	switch {
	case p.list.Follow():
		return
	case !p.touched:
		p.list.Home(paneRows{p})
		return
	case p.cursor == "":
		return
	}
	at := p.list.Cursor()
	for d := range min(p.Len(), maxMoved) {
		for _, i := range [2]int{at + d, at - d} {
			if r := p.at(i); r != nil && r.key() == p.cursor {
				p.list.Shift(i - at)
				return
			}
		}
	}
}

// settle moves the cursor off a heading: a new list begins with one.
func (p *pane) settle() {
	if _, no := p.selected().(fixed); no {
		p.list.Set(paneRows{p}, p.list.Cursor())
	}
}

// note remembers the row of the cursor.
func (p *pane) note() {
	if r := p.selected(); r != nil {
		p.cursor = r.key()
	}
}

// locate puts the cursor on the row that stands best for a selection.
func (p *pane) locate(want Selection) {
	if at := p.best(want); at >= 0 {
		p.list.Set(paneRows{p}, at)
		p.touched = true
		p.note()
	}
}

// toRecord puts the cursor of the Logs screen on a record, or where a filter hides
// it, on the next one that is shown.
func (p *pane) toRecord(record int) {
	at := record
	if p.shown != nil {
		at = sort.Search(len(p.shown), func(i int) bool { return int(p.shown[i]) >= record })
	}
	p.list.SetFollow(false)
	p.list.Set(paneRows{p}, at)
	p.touched = true
	p.note()
}

// best is the row that stands best for a selection, -1 for none.
func (p *pane) best(want Selection) int {
	best, at := 0, -1
	for i := range p.Len() {
		r := p.at(i)
		if _, no := r.(fixed); no {
			continue
		}
		if n := r.sel().score(want); n > best {
			best, at = n, i
		}
	}
	return at
}

// paneRows is a list.Source that is never drawn.
type paneRows struct{ p *pane }

func (s paneRows) Len() int { return s.p.Len() }

func (s paneRows) Selectable(i int) bool {
	_, no := s.p.at(i).(fixed)
	return !no
}

func (s paneRows) Draw(int, int, bool) theme.Line { return nil }
