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
	call   callAt   // the last one that was selected
	walked logs.Pos // of the step of a trace that is shown

	notice notice
	over   overlay // nil: none
	prompt prompt.Prompt
	texts  texts
	search payloadSearch
	debug  debugging
	sent   chan struct{} // closed when the last command to the program was given; nil: none was
	quit   bool          // the screens end
}

// onUI is a message: what work beside the UI leaves to be done on its goroutine.
type onUI func(sc *scene) tea.Cmd

// notice is what the last line says instead of the keys.
type notice struct {
	text string
	bad  bool // it is an error
	// stays is set where a program that stops or goes on does not overtake it: an interrupted one leaves a
	// stop before it ends.
	stays bool
	at    time.Time
}

// noticeFor is how long a notice covers the keys.
const noticeFor = 4 * time.Second

func (sc *scene) say(text string) {
	sc.notice.text, sc.notice.bad, sc.notice.stays = text, false, false
}

func (sc *scene) fail(text string) {
	sc.notice.text, sc.notice.bad, sc.notice.stays = text, true, false
}

// forget drops a notice that has been read, or that what it announced has
// overtaken. said and paused are what was before the last message.
func (sc *scene) forget(said string, paused bool) {
	now := sc.now()
	switch n := &sc.notice; {
	case n.text != said:
		n.at = now
	case n.text != "" && (sc.run.Paused != paused && !n.stays || now.Sub(n.at) > noticeFor):
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

// Below is what documents need and nobody waits for: payloads that are read and trees that
// are parsed beside the UI. A document is made without them at first, and again when they
// have come.

// texts are the payloads that were read, and the work that is under way.
type texts struct {
	have  map[string]string
	order []string
	want  map[string]bool // under way
	jobs  []tea.Cmd       // not begun
	// missed says that a document lacks something that is under way.
	missed bool
	gen    int // counts what has come
}

// maxTexts is how many payloads are kept.
const maxTexts = 24

// text returns a payload, or false while it is read.
func (sc *scene) text(key string, read func() string) (string, bool) {
	t := &sc.texts
	if s, ok := t.have[key]; ok {
		return s, true
	}
	if read == nil {
		t.missed = true
		return "", false
	}
	t.later(key, func() func() {
		s := read()
		return func() { t.put(key, s) }
	})
	return "", false
}

func (t *texts) put(key, text string) {
	if len(t.order) >= maxTexts {
		delete(t.have, t.order[0])
		t.order = t.order[1:]
	}
	t.have[key] = text
	t.order = append(t.order, key)
}

// later has work done beside the UI, unless it is under way, and what work returns
// done on the UI's goroutine.
func (t *texts) later(key string, work func() (done func())) {
	t.missed = true
	if t.want[key] {
		return
	}
	t.want[key] = true
	t.jobs = append(t.jobs, func() tea.Msg {
		done := work()
		return onUI(func(*scene) tea.Cmd {
			delete(t.want, key)
			done()
			t.gen++
			return nil
		})
	})
}

// begin begins what was asked for.
func (t *texts) begin() tea.Cmd {
	jobs := t.jobs
	t.jobs = nil
	return tea.Batch(jobs...)
}

// kept is what was parsed beside the UI, by key.
type kept[T any] struct {
	have map[string]T
	most int
}

func newKept[T any](most int) kept[T] { return kept[T]{map[string]T{}, most} }

// get returns what read makes, or false while it is made.
func (k *kept[T]) get(t *texts, key string, read func() T) (v T, ok bool) {
	if v, ok = k.have[key]; ok {
		return v, true
	}
	t.later(key, func() func() {
		v := read()
		return func() { k.put(key, v) }
	})
	return v, false
}

func (k *kept[T]) put(key string, v T) {
	if len(k.have) >= k.most {
		clear(k.have)
	}
	k.have[key] = v
}
