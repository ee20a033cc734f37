package tui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/logs"
)

// This file decides which rows of a pane are shown, and in which order: by folds, filter and
// order. Of a table that has grown, only what is new is looked at and put in its place.

// view is what decides which rows are shown, and in which order.
type view struct {
	filter string
	folds  map[string]bool
	hide   bool // rows that change nothing
	order  order
}

// order is a way to sort rows. One that sets none of the functions leaves them as they were made.
type order struct {
	name    string
	compare func(a, b row) int
	// arrange sorts rows that stand below headings.
	arrange func(rows rowsOf, shown []int32)
	// worth is what rows of a table are compared by; it is asked once for each.
	worth func(r row) worth
	// newest says that new rows come first: a cursor on the first row stays there.
	newest bool
	// has says whether a row has what it is sorted by, lacks what to say where none has; nil: all have.
	has   func(r row) bool
	lacks string
}

// worth is what a row of a table is compared by: the least number comes first, then the first text.
type worth struct {
	n    int64
	text string
}

// sorted says that rows are not as they were made.
func (o order) sorted() bool { return o.compare != nil || o.arrange != nil || o.worth != nil }

// betweenHeads sorts the rows of one kind where they stand beside each other: headings and rows of other
// kinds stay where they are.
func betweenHeads[T row](compare func(a, b T) int) func(rows rowsOf, shown []int32) {
	return func(rows rowsOf, shown []int32) {
		for from := 0; from < len(shown); {
			to := from
			for to < len(shown) {
				if _, ok := rows.At(int(shown[to])).(T); !ok {
					break
				}
				to++
			}
			slices.SortStableFunc(shown[from:to], func(i, j int32) int {
				return compare(rows.At(int(i)).(T), rows.At(int(j)).(T))
			})
			from = to + 1
		}
	}
}

// ofRows says whether a row is of one kind and has something.
func ofRows[T row](has func(r T) bool) func(r row) bool {
	return func(r row) bool {
		x, ok := r.(T)
		return ok && has(x)
	}
}

// comparePos compares places by file and line; those that are not known come last.
func comparePos(a, b logs.Pos) int {
	return cmp.Or(cmp.Compare(bit(a.File == ""), bit(b.File == "")), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

// clone is a copy that may be read beside the UI.
func (v view) clone() view {
	v.folds = maps.Clone(v.folds)
	return v
}

// same says that two views show the same of the same rows.
func (v view) same(o view) bool {
	return v.filter == o.filter && v.hide == o.hide && v.order.name == o.order.name && maps.Equal(v.folds, o.folds)
}

// whole says that a view shows all rows as they were made.
func (v view) whole() bool {
	return v.filter == "" && len(v.folds) == 0 && !v.hide && !v.order.sorted()
}

// leaves reports whether a view shows a row.
func (v view) leaves(r row) bool {
	if f, ok := r.(folded); ok && v.filter == "" && v.folded(f.group()) {
		return false
	}
	if q, ok := r.(interface{ quiet() bool }); ok && v.hide && q.quiet() {
		return false
	}
	if _, no := r.(fixed); no && v.filter != "" {
		return false
	}
	return v.filter == "" || r.matches(v.filter)
}

// moreGroup is a group that is folded until somebody opens it.
const moreGroup = "more"

// folded says whether the rows of a group are hidden.
func (v view) folded(group string) bool {
	return group != "" && v.folds[group] != (group == moreGroup)
}

// listing is the rows that a view shows. It does not change once it is made.
type listing struct {
	view  view
	rows  rowsOf
	n     int      // rows that were looked at
	shown []int32  // nil: all
	by    []placed // shown, where the order asks for worths
}

// placed is a row with what it is compared by.
type placed struct {
	i, tie int32 // the row, and what decides between equals
	worth
}

func comparePlaced(a, b placed) int {
	return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.text, b.text), cmp.Compare(a.tie, b.tie))
}

// list lists the rows that a view shows. before, nil for none, is what was listed of the same
// table: of that only the rows that came since are looked at.
func (v view) list(rows rowsOf, before *listing) *listing {
	l := &listing{view: v, rows: rows}
	if rows == nil || v.whole() {
		return l
	}
	l.n = rows.Len()
	from := 0
	if before != nil && before.shown != nil && before.view.same(v) && sameTable(before.rows, rows) && before.n <= l.n &&
		v.order.compare == nil && v.order.arrange == nil {
		if before.n == l.n {
			return before
		}
		from = before.n
	} else {
		before = &listing{}
	}
	fresh := make([]int32, 0, 64)
	for i := from; i < l.n; i++ {
		if v.leaves(rows.At(i)) {
			fresh = append(fresh, int32(i))
		}
	}
	switch o := v.order; {
	case o.worth != nil:
		l.by = merge(before.by, place(rows, fresh, o))
		l.shown = make([]int32, len(l.by))
		for k := range l.by {
			l.shown[k] = l.by[k].i
		}
		return l
	case o.arrange != nil:
		o.arrange(rows, fresh)
	case o.compare != nil:
		slices.SortStableFunc(fresh, func(i, j int32) int { return o.compare(rows.At(int(i)), rows.At(int(j))) })
	}
	l.shown = slices.Concat(before.shown, fresh)
	if l.shown == nil {
		l.shown = fresh // nothing, and not all
	}
	return l
}

// place sorts rows of a table by their worth. Texts that many rows have are kept once.
func place(rows rowsOf, which []int32, o order) []placed {
	out := make([]placed, len(which))
	texts := map[string]string{}
	for k, i := range which {
		w := o.worth(rows.At(int(i)))
		if t, ok := texts[w.text]; ok {
			w.text = t
		} else {
			texts[w.text] = w.text
		}
		out[k] = placed{i, i, w}
		if o.newest {
			out[k].tie = -i
		}
	}
	slices.SortFunc(out, comparePlaced)
	return out
}

// merge makes one list of two sorted ones.
func merge(a, b []placed) []placed {
	if len(a) == 0 {
		return b
	}
	out := make([]placed, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if comparePlaced(a[0], b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// table is rows of which each keeps its place: more may come behind them.
type table interface {
	rowsOf
	// index is the place of the row with a key, -1 for none.
	index(key string) int
}

// sameTable says that rows are those of a table as it was before, and perhaps more.
func sameTable(before, rows rowsOf) bool {
	a, one := before.(table)
	b, other := rows.(table)
	return one && other && a == b
}

// indexOf is the row whose key is a number below n, -1 for none.
func indexOf(key string, n int) int {
	i, err := strconv.Atoi(key)
	if err != nil || i < 0 || i >= n {
		return -1
	}
	return i
}

// index is which of all rows the i-th one that is shown is, -1 beyond the end.
func (p *pane) index(i int) int {
	switch {
	case i < 0 || i >= p.Len():
		return -1
	case p.shown != nil:
		return int(p.shown[i])
	}
	return i
}

// place is where the i-th of all rows is shown, -1 where it is not.
func (p *pane) place(i int) int {
	switch {
	case i < 0 || p.all == nil || i >= p.all.Len():
		return -1
	case p.shown != nil:
		return slices.Index(p.shown, int32(i))
	}
	return i
}

// apply recomputes which rows are shown.
func (p *pane) apply() { p.take(p.view.clone().list(p.all, nil)) }

func (p *pane) take(l *listing) { p.listed, p.shown = l, l.shown }

// refresh shows the rows of a new report without moving what the eye is on; l is what a view
// of some time ago left of them.
func (p *pane) refresh(rows rowsOf, l *listing) tea.Cmd {
	p.note()
	p.version++
	same := sameTable(p.all, rows)
	if !same {
		p.generation++
	}
	p.all = rows
	ours := l.view.same(p.view)
	switch {
	case same && p.listed != nil && p.listed.view.same(p.view) && (!ours || p.listed.n > l.n): // what is shown is newer
	case ours:
		p.take(l)
	case rows.Len() < slowFilter:
		p.apply()
	default: // the view has changed since: until its rows are listed, those of the old one are shown
		p.take(l)
		if p.wanted == "" && p.touched {
			p.wanted = p.cursor
		}
		return p.refilter()
	}
	p.keep()
	return nil
}

// slowFilter is the number of rows from which a filter runs beside the UI.
const slowFilter = 5000

// refilter applies the filter, the folds and the order.
func (p *pane) refilter() tea.Cmd {
	p.version++
	v, rows, generation := p.view.clone(), p.all, p.generation
	if rows == nil || rows.Len() < slowFilter || v.whole() {
		p.show(v.list(rows, nil))
		return nil
	}
	return func() tea.Msg {
		l := v.list(rows, nil)
		return onUI(func(*scene) tea.Cmd {
			if p.generation != generation || !p.view.same(v) || p.listed != nil && p.listed.view.same(v) && p.listed.n > l.n {
				return nil // rows, view or both have changed since: they are listed by what changed them
			}
			p.version++
			p.show(l)
			return nil
		})
	}
}

// show shows other rows of those that there are; the cursor stays on its row where that is among them.
func (p *pane) show(l *listing) {
	p.note()
	was := p.index(p.list.Cursor())
	p.take(l)
	if at := p.place(was); at >= 0 && p.wanted == "" && p.touched && !p.list.Follow() {
		p.list.Shift(at - p.list.Cursor())
		return
	}
	p.keep()
}

// nextOrder sorts the rows in the next way; the cursor stays on its row.
func (p *pane) nextOrder(sc *scene) tea.Cmd {
	if len(p.orders) == 0 {
		return nil
	}
	at := slices.IndexFunc(p.orders, func(o order) bool { return o.name == p.order.name })
	p.order = p.orders[(max(0, at)+1)%len(p.orders)]
	_, grows := p.all.(table)
	switch {
	case p.order.sorted() && p.list.Follow(): // new rows do not come last any more
		p.list.SetFollow(false)
		p.touched = false
	case grows && !p.order.sorted() && !p.touched && sc.run.Live:
		p.list.SetFollow(true)
	}
	sc.say("order: " + p.order.name + p.unsortable())
	return p.refilter()
}

// unsortable says why an order changes nothing, "" where it may.
func (p *pane) unsortable() string {
	if p.order.has == nil {
		return ""
	}
	for i := range p.Len() {
		if r := p.at(i); p.order.has(r) {
			return ""
		}
	}
	return "; " + p.order.lacks
}

// filterNote says below the list what the filter leaves, how rows are sorted, and whether columns are hidden.
func (p *pane) filterNote() string {
	var notes []string
	if p.order.sorted() {
		notes = append(notes, p.order.name)
	}
	if hidden := p.columnNote(); hidden != "" {
		notes = append(notes, hidden)
	}
	if p.filter == "" {
		return strings.Join(notes, ", ")
	}
	total := 0
	if p.all != nil {
		total = p.all.Len()
	}
	return strings.Join(append([]string{fmt.Sprintf("filter %q: %d of %d", p.filter, p.Len(), total)}, notes...), ", ")
}
