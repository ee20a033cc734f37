package tui

import (
	"fmt"

	"tcdbg/explain"
	"tcdbg/explain/rewrite"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

// This file shows the fix of a break as a change of the user's file, and has it
// written there after a question.

// fixSheet is the fix that is shown.
type fixSheet struct {
	sheet
	sc      *scene
	pos     logs.Pos
	rewrite *explain.Rewrite
	asking  bool // y writes
}

// openFix shows the fix of the selected break, or says why there is none.
func (scr *breaksScreen) openFix(sc *scene, ask bool) {
	row, ok := scr.selected().(*breakRow)
	if !ok {
		sc.fail("select a break first: this row is not one")
		return
	}
	if row.g.Rewrite == nil {
		sc.fail("no preview: " + rewrite.WhyNoRewrite(row.g.Lead))
		return
	}
	sc.over = newFixSheet(sc, row.g.Lead.Pos, row.g.Rewrite, ask)
}

func newFixSheet(sc *scene, pos logs.Pos, rewrite *explain.Rewrite, asking bool) *fixSheet {
	place := sc.place(pos)
	o := &fixSheet{sheet{title: "Fix for " + theme.Clean(place)}, sc, pos, rewrite, asking}
	for i, h := range rewrite.Hunks {
		if len(rewrite.Hunks) > 1 {
			if i > 0 {
				o.add(nil)
			}
			o.add(theme.L(theme.Faint, sc.place(logs.Pos{File: pos.File, Line: h.Line})))
		}
		for _, l := range h.Lines {
			o.add(sc.hl.Line(syntax.Diff, l))
		}
	}
	o.add(nil)
	if note := rewrite.Note; note != "" {
		o.add(theme.L(theme.Yellow, note))
		o.add(nil)
	}
	if asking {
		o.add(theme.Line{theme.T(theme.Bold, "Write this to "+place+"?"), {Text: "  y: yes, any other key: no"}})
	} else {
		o.add(theme.L(theme.Faint, "a writes it to the file after asking; any other key leaves the file as it is"))
	}
	return o
}

// key writes the fix, or asks whether to.
func (o *fixSheet) key(k string) (tea.Cmd, bool) {
	switch {
	case o.asking:
		o.sc.over = nil
		if k == "y" {
			return o.apply(), true
		}
		o.sc.say("nothing was written")
		return nil, true
	case k == o.sc.keyOf(keys.ApplyFix):
		o.sc.over = newFixSheet(o.sc, o.pos, o.rewrite, true)
		return nil, true
	}
	return nil, false
}

// keyOf is the key of an action.
func (sc *scene) keyOf(a keys.Action) string {
	for _, b := range sc.keys.Rows {
		if b.Action == a {
			return b.Binding.Keys()[0]
		}
	}
	return ""
}

// afterChange is what happens to the program when a file of it was written.
func (sc *scene) afterChange() string {
	switch {
	case sc.run.Watched:
		return "the program runs again"
	case sc.run.Again:
		return sc.keyOf(keys.Rerun) + " runs the program again"
	}
	return "it takes effect in the next run"
}

func (o *fixSheet) apply() tea.Cmd {
	sc := o.sc
	feed, place, next, undo := sc.feed, sc.place(o.pos), sc.afterChange(), sc.keyOf(keys.UndoFix)
	return func() tea.Msg {
		if err := feed.Apply(o.pos.File, o.rewrite.Hunks); err != nil {
			return statusMsg{"nothing was written: " + err.Error(), true}
		}
		return statusMsg{text: fmt.Sprintf("written to %s; %s, %s undoes it", place, next, undo)}
	}
}

// undoFix takes the last fix that was written back.
func undoFix(sc *scene) tea.Cmd {
	feed, next := sc.feed, sc.afterChange()
	return func() tea.Msg {
		file, err := feed.Undo()
		if err != nil {
			return statusMsg{"nothing was undone: " + err.Error(), true}
		}
		return statusMsg{text: fmt.Sprintf("undone: %s is as it was before the last fix; %s", file, next)}
	}
}
