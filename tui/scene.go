package tui

import (
	"path/filepath"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/prompt"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is what all screens share: the report, how the program is, the one
// selection, and what is said to the user. A screen gets it with every call and keeps
// none of it.

// scene is what every screen sees.
type scene struct {
	feed Feed
	opt  Options
	hl   *syntax.Highlighter
	now  func() time.Time
	keys *keys.Table
	w, h int // of the terminal

	report  *explain.Report
	facts   facts
	parsed  *parsed // graphs, guards and files read for the Source screen
	run     Run
	version uint64 // of report; 0: none came yet
	frozen  bool   // following is paused

	sel    Selection
	selGen uint64

	notice notice
	over   overlay // nil: none
	prompt prompt.Prompt
	texts  texts
	search payloadSearch
	debug  debugging
	quit   bool // the screens end
}

// onUI is a message: what work beside the UI leaves to be done on its goroutine.
type onUI func(sc *scene) tea.Cmd

// notice is what the last line says instead of the keys.
type notice struct {
	text string
	bad  bool // it is an error
	at   time.Time
}

// noticeFor is how long a notice covers the keys.
const noticeFor = 4 * time.Second

func (sc *scene) say(text string)  { sc.notice.text, sc.notice.bad = text, false }
func (sc *scene) fail(text string) { sc.notice.text, sc.notice.bad = text, true }

// forget drops a notice that has been read, or that what it announced has
// overtaken. said and paused are what was before the last message.
func (sc *scene) forget(said string, paused bool) {
	now := sc.now()
	switch n := &sc.notice; {
	case n.text != said:
		n.at = now
	case n.text != "" && (sc.run.Paused != paused || now.Sub(n.at) > noticeFor):
		sc.say("")
	}
}

// look takes how the program is now; what changed since the run before is news
// on every screen.
func (sc *scene) look(r Run) {
	if r.Changes != "" && r.Changes != sc.run.Changes {
		sc.say("since the previous run: " + r.Changes)
	}
	sc.run = r
	sc.debug.header(sc)
	if o, asks := sc.over.(*parting); asks && !r.Ours {
		sc.over = nil // there is nothing left to stop or to leave running
		sc.quit = sc.quit || o.then == keys.Quit && sc.now().Sub(o.asked) < justAsked
	}
}

// place is a position under the brief name of its file.
func (sc *scene) place(p logs.Pos) string {
	if p.File != "" {
		p.File = sc.facts.names.File(p.File)
	}
	return placeText(p)
}

// placeIn is place in at most w cells: without its folders where they do not
// fit.
func (sc *scene) placeIn(p logs.Pos, w int) string {
	s := sc.place(p)
	if theme.Width(s) > w {
		p.File = filepath.Base(p.File)
		s = theme.CutLeft(placeText(p), w)
	}
	return s
}

// placeColumn is the width of a column of places in a document of w cells: wide
// enough for all of them, but at most two fifths.
func (sc *scene) placeColumn(ps []logs.Pos, w int) int {
	n := 0
	for _, p := range ps {
		n = max(n, theme.Width(sc.place(p)))
	}
	return min(n, max(12, w*2/5))
}

// placeCell is a place in a column.
func (sc *scene) placeCell(p logs.Pos, col int) string {
	return theme.Fit(sc.placeIn(p, col), col) + " "
}

// root is the folder from which paths are shown: the run's, or where the
// trace comes from elsewhere, the folder of all its user files.
func (sc *scene) root() string {
	run, files := sc.run.Root, sc.facts.root
	if files == "" || files == "/" || run != "" && (files == run || strings.HasPrefix(files, run+"/")) {
		return run
	}
	return files
}

// compiling names the innermost phase of a compile that runs now, with how long it
// and the outermost one have been running.
func (sc *scene) compiling() (phase string, took, all time.Duration) {
	p := sc.facts.running
	if p == nil || !sc.run.Live {
		return "", 0, 0
	}
	return phaseWords(p.Name), max(0, sc.now().Sub(p.Start)), sc.now().Sub(sc.facts.since)
}

func (sc *scene) elapsed() time.Duration {
	if sc.run.Elapsed > 0 || sc.run.Start.IsZero() {
		return sc.run.Elapsed
	}
	return time.Since(sc.run.Start)
}
