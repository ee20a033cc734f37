package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"

	"tcdbg/explain"
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

	view
	list    list.List
	docList list.List // the cursor in the document
	inside  bool      // the document has the focus
	all     rowsOf
	shown   []int32 // rows that filter and folds leave; nil: all
	query   string  // last search
	mode    int     // of modes
	xoff    int
	version uint64
	synced  uint64 // selection that the cursor was put to
	docKey  docKey
	doc     *doc
	cursor  string // key of the selected row
	// touched says that somebody chose the row of the cursor. Until then a pane
	// shows its first row, whatever comes before it while the program runs.
	touched bool
	// wanted is the key of a row to go to once there is one; a move of the cursor forgets it.
	wanted string

	made   *explain.Report // report that slow rows were made from
	making bool
	ready  bool
}

// view is what decides which rows are shown, and in which order.
type view struct {
	filter string
	folds  map[string]bool
	hide   bool // rows that change nothing
	order  order
}

// order is a way to sort rows.
type order struct {
	name    string
	compare func(a, b row) int // nil: as they were made
}

// clone is a copy that may be read beside the UI.
func (v view) clone() view {
	v.folds = maps.Clone(v.folds)
	return v
}

// visible lists the rows that a view leaves; nil for all.
func (v view) visible(rows rowsOf) []int32 {
	if rows == nil || v.filter == "" && len(v.folds) == 0 && !v.hide && v.order.compare == nil {
		return nil
	}
	shown := make([]int32, 0, 64)
	for i := range rows.Len() {
		r := rows.At(i)
		if f, ok := r.(folded); ok && v.filter == "" && v.folded(f.group()) {
			continue
		}
		if q, ok := r.(interface{ quiet() bool }); ok && v.hide && q.quiet() {
			continue
		}
		if _, no := r.(fixed); no && v.filter != "" {
			continue
		}
		if v.filter == "" || r.matches(v.filter) {
			shown = append(shown, int32(i))
		}
	}
	if by := v.order.compare; by != nil {
		slices.SortStableFunc(shown, func(i, j int32) int { return by(rows.At(int(i)), rows.At(int(j))) })
	}
	return shown
}

// moreGroup is a group that is folded until somebody opens it.
const moreGroup = "more"

// folded says whether the rows of a group are hidden.
func (v view) folded(group string) bool {
	return group != "" && v.folds[group] != (group == moreGroup)
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

// apply recomputes which rows are shown.
func (p *pane) apply() { p.shown = p.visible(p.all) }

// refresh shows the rows of a new report without moving what the eye is on; shown is
// what a filter of that time left of them.
func (p *pane) refresh(rows rowsOf, filter string, shown []int32) {
	p.note()
	p.version++
	p.all = rows
	if len(p.folds) == 0 && p.filter != "" && p.filter == filter {
		p.shown = shown // made beside the UI
	} else {
		p.apply()
	}
	p.keep()
}

// slowFilter is the number of rows from which a filter runs beside the UI.
const slowFilter = 5000

// refilter applies the filter, the folds and the order.
func (p *pane) refilter() tea.Cmd {
	p.version++
	if p.all == nil || p.all.Len() < slowFilter {
		p.note()
		p.apply()
		p.keep()
		return nil
	}
	v, rows := p.view.clone(), p.all
	return func() tea.Msg {
		shown := v.visible(rows)
		return onUI(func(*scene) tea.Cmd {
			if p.filter == v.filter && maps.Equal(p.folds, v.folds) && p.all.Len() >= rows.Len() { // it has not changed since
				p.note()
				p.shown = shown
				p.version++
				p.keep()
			}
			return nil
		})
	}
}

// maxMoved is how far a row is looked for after a report changed.
const maxMoved = 4096

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
	for d := range min(p.Len(), maxMoved) {
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
	for i := range min(p.Len(), maxMoved) {
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

// nextOrder sorts the rows in the next way; the cursor stays on its row.
func (p *pane) nextOrder(sc *scene) tea.Cmd {
	if len(p.orders) == 0 {
		return nil
	}
	at := slices.IndexFunc(p.orders, func(o order) bool { return o.name == p.order.name })
	p.order = p.orders[(max(0, at)+1)%len(p.orders)]
	sc.say("order: " + p.order.name)
	return p.refilter()
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
		at := copied.best(want)
		return onUI(func(sc *scene) tea.Cmd {
			if gen == sc.selGen && n == p.Len() && at >= 0 {
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
	at := record
	if p.shown != nil {
		at = sort.Search(len(p.shown), func(i int) bool { return int(p.shown[i]) >= record })
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

func (p *pane) filterNote() string {
	if p.filter == "" && p.order.compare != nil {
		return p.order.name
	}
	if p.filter == "" {
		return ""
	}
	total := 0
	if p.all != nil {
		total = p.all.Len()
	}
	return fmt.Sprintf("filter %q: %d of %d", p.filter, p.Len(), total)
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
