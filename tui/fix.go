package tui

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file shows the fix of a break as a change of the user's file, and has it
// written there after a question.

// pendingFix is the fix in the overlay.
type pendingFix struct {
	pos     logs.Pos
	rewrite *explain.Rewrite
	asking  bool // y writes
}

// openFix shows the fix of the selected break, or says why there is none.
func (m *Model) openFix(ask bool) tea.Cmd {
	row, ok := m.current().selected().(*breakRow)
	if !ok {
		m.status, m.bad = "select a break first: this row is not one", true
		return nil
	}
	if row.g.Rewrite == nil {
		m.status, m.bad = "no preview: "+explain.WhyNoRewrite(row.g.Lead), true
		return nil
	}
	m.showFix(pendingFix{row.g.Lead.Pos, row.g.Rewrite, ask})
	return nil
}

func (m *Model) showFix(f pendingFix) {
	place := m.place(f.pos)
	o := overlay{kind: "fix", title: "Fix for " + theme.Clean(place), fix: f}
	for i, h := range f.rewrite.Hunks {
		if len(f.rewrite.Hunks) > 1 {
			if i > 0 {
				o.items = append(o.items, item{})
			}
			o.items = append(o.items, item{line: theme.L(theme.Faint, m.place(logs.Pos{File: f.pos.File, Line: h.Line}))})
		}
		for _, l := range h.Lines {
			o.items = append(o.items, item{line: m.hl.Line(syntax.Diff, l)})
		}
	}
	o.items = append(o.items, item{})
	if note := f.rewrite.Note; note != "" {
		o.items = append(o.items, item{line: theme.L(theme.Yellow, note)}, item{})
	}
	if f.asking {
		o.items = append(o.items, item{line: theme.Line{theme.T(theme.Bold, "Write this to "+place+"?"), {Text: "  y: yes, any other key: no"}}})
	} else {
		o.items = append(o.items, item{line: theme.L(theme.Faint, "a writes it to the file, after a question; any other key leaves the file as it is")})
	}
	m.overlay = o
}

// fixKey handles a key over a shown fix; it reports whether it did.
func (m *Model) fixKey(k string) (tea.Cmd, bool) {
	f := m.overlay.fix
	switch {
	case f.asking:
		m.overlay = overlay{}
		if k == "y" {
			return m.applyFix(f), true
		}
		m.status, m.bad = "nothing was written", false
		return nil, true
	case k == keyOfAction(keys.ApplyFix):
		f.asking = true
		m.showFix(f)
		return nil, true
	}
	return nil, false
}

func keyOfAction(a keys.Action) string {
	for _, b := range keys.Table() {
		if b.Action == a {
			return b.Binding.Keys()[0]
		}
	}
	return ""
}

// next is what happens to the program when a file of it was written.
func (m *Model) next() string {
	switch {
	case m.run.Watched:
		return "the program runs again"
	case m.run.Again:
		return keyOfAction(keys.Rerun) + " runs the program again"
	}
	return "the next run of the program has it"
}

func (m *Model) applyFix(f pendingFix) tea.Cmd {
	feed, place, next := m.feed, m.place(f.pos), m.next()
	return func() tea.Msg {
		if err := feed.Apply(f.pos.File, f.rewrite.Hunks); err != nil {
			return statusMsg{"nothing was written: " + err.Error(), true}
		}
		return statusMsg{text: fmt.Sprintf("written to %s; %s, %s undoes it", place, next, keyOfAction(keys.UndoFix))}
	}
}

// undoFix takes the last fix that was written back.
func (m *Model) undoFix() tea.Cmd {
	feed, next := m.feed, m.next()
	return func() tea.Msg {
		file, err := feed.Undo()
		if err != nil {
			return statusMsg{"nothing was undone: " + err.Error(), true}
		}
		return statusMsg{text: fmt.Sprintf("undone: %s is as it was before the last fix; %s", file, next)}
	}
}
