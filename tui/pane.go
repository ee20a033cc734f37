package tui

import (
	"cmp"

	"tcdbg/explain"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/layout"
	"tcdbg/tui/list"
	"tcdbg/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

// This file is the pane: the rows, cursors and document of one screen, whatever it
// shows. Every screen embeds one.

// pane is the state of one screen, and what a screen does that says nothing else.
type pane struct {
	// What the screen sets once.
	title     keys.Title
	keys      []keys.Binding      // of this screen alone
	leadLines int                 // the most lines of the lead
	leadOf    func(sc *scene) int // likewise, where that changes; nil: leadLines
	detailed  bool                // it has a detail pane
	share     float64             // of the width for the list
	chosen    float64             // the share that the user chose, 0: none
	modes     []string
	orders    []order
	columns   *columns.Set // of the list that can be hidden; nil: none

	view
	list    list.List
	docList list.List // the cursor in the document
	inside  bool      // the document has the focus
	all     rowsOf
	shown   []int32  // rows that filter and folds leave, in their order; nil: all
	listed  *listing // that has them
	// generation counts the rows that are not those of before.
	generation uint64
	query      string // last search
	mode       int    // of modes
	xoff       int
	version    uint64
	synced     uint64 // selection that the cursor was put to
	docKey     docKey
	doc        *doc
	cursor     string // key of the selected row
	// touched says that somebody chose the row of the cursor. Until then a pane
	// shows its first row, whatever comes before it while the program runs.
	touched bool
	// wanted is the key of a row to go to once there is one; a move of the cursor forgets it.
	wanted string

	made   *explain.Report // report that slow rows were made from
	making bool
	ready  bool
}

// The defaults of a screen.

func (p *pane) state() *pane { return p }

func (p *pane) rows(*input) []row { return nil }

func (p *pane) lead(*scene, int) []theme.Line { return nil }

func (p *pane) detail(*scene, row, int) *doc { return nil }

func (p *pane) count(*explain.Report) int { return 0 }

func (p *pane) act(*scene, keys.Action) (tea.Cmd, bool) { return nil, false }

func (p *pane) hidden(*scene, int) bool { return false }

func (p *pane) absent(*explain.Report) bool { return false }

// enter goes into the detail, where there is one.
func (p *pane) enter(row) (keys.Screen, bool) {
	p.inside = p.detailed
	return 0, false
}

// Len is the number of rows that are shown.
func (p *pane) Len() int {
	if p.shown != nil {
		return len(p.shown)
	}
	if p.all == nil {
		return 0
	}
	return p.all.Len()
}

// at returns the i-th row that is shown, nil beyond the end.
func (p *pane) at(i int) row {
	if i < 0 || i >= p.Len() {
		return nil
	}
	if p.shown != nil {
		return p.all.At(int(p.shown[i]))
	}
	return p.all.At(i)
}

func (p *pane) selected() row { return p.at(p.list.Cursor()) }

// target is what the document's cursor leads to.
func (p *pane) target() (Selection, bool) {
	if !p.inside || p.doc == nil {
		return Selection{}, false
	}
	return p.doc.target(p.docList.Cursor())
}

// arrange lays out the terminal for the pane's screen.
func (p *pane) arrange(sc *scene) layout.Frame {
	lead := p.leadLines
	if p.leadOf != nil {
		lead = p.leadOf(sc)
	}
	return layout.Arrange(sc.w, sc.h, layout.Ask{
		Lead: lead, Detail: p.detailed && p.Len() > 0, Share: cmp.Or(p.chosen, p.share), Rows: p.Len(), Zoom: p.inside,
	})
}

// keep puts the cursor back on its row, wherever that row is now, and moves the
// window with it. In a pane that nobody touched it goes to the first row.
func (p *pane) keep() {
	switch {
	case p.wanted != "" && p.goTo(p.wanted):
		return
	case p.list.Follow():
		return
	case !p.touched:
		p.list.Home(paneRows{p})
		return
	case p.cursor == "":
		return
	}
	at := p.list.Cursor()
	if t, ok := p.all.(table); ok {
		if i := p.place(t.index(p.cursor)); i >= 0 {
			p.list.Shift(i - at)
		}
		return
	}
	for d := range p.Len() { // the nearest of this key
		for _, i := range [2]int{at + d, at - d} {
			if r := p.at(i); r != nil && r.key() == p.cursor {
				p.list.Shift(i - at)
				return
			}
		}
	}
}

// goTo puts the cursor on the row of a key, at once or when there is one.
func (p *pane) goTo(key string) (there bool) {
	p.wanted = key
	if t, ok := p.all.(table); ok {
		if i := p.place(t.index(key)); i >= 0 {
			p.wanted = ""
			p.set(i)
			return true
		}
		return false
	}
	for i := range p.Len() {
		if p.at(i).key() == key {
			p.wanted = ""
			p.set(i)
			return true
		}
	}
	return false
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

// set puts the cursor on row i, as if somebody had chosen it.
func (p *pane) set(i int) {
	p.list.Set(paneRows{p}, i)
	p.touched = true
	p.note()
}

// moved makes what the cursor is on the selection of all screens.
func (p *pane) moved(sc *scene) {
	p.touched, p.wanted = true, ""
	p.note()
	if p.inside && p.doc != nil {
		if s, ok := p.target(); ok {
			p.choose(sc, s)
		}
		return
	}
	if r := p.selected(); r != nil {
		p.choose(sc, r.sel())
	}
}

// choose makes s the selection of all screens; the cursor of this one stays.
func (p *pane) choose(sc *scene, s Selection) {
	if s == (Selection{}) || s == sc.sel {
		return
	}
	sc.sel = s
	if s.Call != (callAt{}) {
		sc.call = s.Call
	}
	sc.selGen++
	p.synced = sc.selGen
}

// step moves the cursor of the list by n rows, from within the detail too.
func (p *pane) step(sc *scene, n int) {
	p.list.Move(paneRows{p}, n)
	inside := p.inside
	p.inside = false
	p.moved(sc)
	p.inside = inside
}

// stepItem goes to the previous or next row where the action says so.
func (p *pane) stepItem(sc *scene, a keys.Action) bool {
	n := map[keys.Action]int{keys.PrevItem: -1, keys.NextItem: 1}[a]
	if n == 0 {
		return false
	}
	p.step(sc, n)
	return true
}

// slowLocate is the number of rows from which the selection is looked up
// beside the UI.
const slowLocate = 20_000

// locate puts the cursor on the row that fits the selection best; it reports whether
// that is done already.
func (p *pane) locate(sc *scene) (tea.Cmd, bool) {
	if p.Len() <= slowLocate {
		if at := p.best(sc.sel); at >= 0 {
			p.set(at)
		}
		return nil, true
	}
	want, gen := sc.sel, sc.selGen
	copied := pane{all: p.all, shown: p.shown}
	n := p.Len()
	return func() tea.Msg {
		best := copied.index(copied.best(want))
		return onUI(func(sc *scene) tea.Cmd {
			if at := p.place(best); gen == sc.selGen && n == p.Len() && at >= 0 { // it may be sorted otherwise by now
				p.set(at)
			}
			return nil
		})
	}, false
}

// best is the row that fits a selection best, -1 for none.
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

// toRecord puts the cursor of the Logs screen on a record, or where a filter hides
// it, on the next one that is shown.
func (p *pane) toRecord(record int) {
	at := p.place(record)
	if at < 0 && p.shown != nil {
		at = len(p.shown)
		for i, r := range p.shown {
			if int(r) >= record && (at == len(p.shown) || r < p.shown[at]) {
				at = i
			}
		}
	}
	p.list.SetFollow(false)
	p.set(at)
}

// compose makes the document of the selected row, if it is not made yet.
func (p *pane) compose(sc *scene, s screen) {
	if !p.detailed {
		p.doc = nil
		return
	}
	p.settle()
	f := p.arrange(sc)
	r := p.selected()
	if r == nil || f.Detail.W == 0 {
		p.doc, p.docKey = nil, docKey{}
		return
	}
	k := docKey{r.key(), f.Detail.W, p.version, p.mode, sc.texts.gen, len(p.folds)}
	if p.docKey == k && p.doc != nil {
		return
	}
	sameRow := p.docKey.row == k.row && p.docKey.mode == k.mode && (p.doc == nil || !p.doc.pending)
	sc.texts.missed = false
	p.doc, p.docKey = s.detail(sc, r, f.Detail.W), k
	p.doc.pending = sc.texts.missed
	if sameRow {
		return
	}
	p.xoff = 0
	p.docList = list.List{}
	if p.doc.focus > 0 {
		src := docSource{d: p.doc}
		p.docList.Set(src, p.doc.focus)
		p.docList.Scroll(src, max(0, p.doc.focus-f.Detail.H/3), f.Detail.H)
	}
}

// drawVersion changes when the text of rows may have: report, search, filter,
// sideways scroll.
func (p *pane) drawVersion(sc *scene) uint64 {
	h := p.version*1_000_003 + uint64(sc.texts.gen)*8191 + uint64(p.xoff)*131 + uint64(p.mode) + sc.selGen*524287
	for i := range len(p.query) {
		h = h*31 + uint64(p.query[i])
	}
	if p.inside {
		h = h*31 + 1
	}
	return h
}

// bottomRule closes the pane: below list and document it says where in each the
// cursor is.
func (p *pane) bottomRule(f layout.Frame, w int) theme.Line {
	list, detail := position("row", &p.list, paneRows{p}, f.List.H), ""
	if f.Detail.W > 0 && p.doc != nil {
		detail = position("line", &p.docList, docSource{d: p.doc}, f.Detail.H)
	}
	switch {
	case f.Divider.W == 1:
		return append(rule(f.List.W, p.filterNote(), list), rule(w-f.List.W, "", detail)...)
	case f.Detail.W > 0: // the list is above it, or not shown
		return rule(w, p.filterNote(), detail)
	}
	return rule(w, p.filterNote(), list)
}

// unfold shows the rows of a group.
func (v view) unfold(group string) {
	if group == moreGroup {
		v.folds[group] = true
	} else {
		delete(v.folds, group)
	}
}

func toggle(folds map[string]bool, name string) {
	if folds[name] {
		delete(folds, name)
	} else {
		folds[name] = true
	}
}

// paneRows is a list.Source that is never drawn.
type paneRows struct{ p *pane }

func (s paneRows) Len() int { return s.p.Len() }

func (s paneRows) Selectable(i int) bool {
	_, no := s.p.at(i).(fixed)
	return !no
}

func (s paneRows) Draw(int, int, bool) theme.Line { return nil }

// source is a pane's rows as they are drawn.
type source struct {
	paneRows
	sc *scene
}

func (s source) Draw(i, width int, selected bool) theme.Line {
	r := s.p.at(i)
	line := r.draw(s.sc, width-2).Mark(s.p.query)
	if _, no := r.(fixed); no || !selected {
		return append(theme.Line{{Text: "  "}}, line...)
	}
	style := theme.Accent | theme.Bold
	if s.p.inside {
		style = theme.Faint
	}
	return append(theme.Line{{Text: theme.GlyphCursor + " ", Style: style}}, line.With(theme.Bold)...)
}
