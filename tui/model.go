package tui

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/list"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is the model: its state, and Update as a dispatch by message.

// Model is the screens. Make one with New and give it to Bubble Tea.
type Model struct {
	feed Feed
	opt  Options
	th   *theme.Theme
	hl   *syntax.Highlighter

	w, h    int
	screen  keys.Screen
	defs    [keys.Screens]screenDef
	panes   [keys.Screens]*pane
	report  *explain.Report
	facts   facts
	run     Run
	version uint64 // of report
	polling bool
	// madeWidth is that of the terminal when the rows were made.
	madeWidth int
	frozen    bool // following is paused

	sel    Selection
	selGen uint64
	back   []keys.Screen

	overlay overlay
	prompt  prompt
	status  string
	bad     bool // status is an error
	saidAt  time.Time
	now     func() time.Time
	texts   texts
	quit    bool
	hit     int // Ctrl-C pressed so often
	search  searching

	parsed   *parsed                        // graphs and guards read for the Source screen
	trees    map[string]*explain.GuardNode  // parsed guard trees, by entry
	nodesOf  map[string][]explain.GraphNode // parsed graphs
	states   map[string]state               // schedules at fusion steps
	maker    *stateMaker
	made     string // row that schedules were last made for
	foldable []leaf // lines of the guard tree that is shown
	foldFrom int    // its first line in the document
	// kernelFirst is the line of the document at which the shown kernel's
	// source begins.
	kernelFirst int
	chart       chart
	earlier     earlier
}

// input is what rows are made from.
type input struct {
	report *explain.Report
	feed   Feed
	facts  *facts
	parsed *parsed
	width  int // of the terminal; texts of rows are wrapped to it
}

// Messages of our own.
type (
	pollMsg   struct{}
	reportMsg struct {
		report *explain.Report
		width  int
		rows   [keys.Screens]rowsOf
		shown  [keys.Screens][]int32 // what the filters of that time left
		filter [keys.Screens]string
		facts  facts
		took   time.Duration
	}
	sameMsg struct{ took time.Duration }
	// rowsMsg are the rows of a slow screen for one report.
	rowsMsg struct {
		screen keys.Screen
		report *explain.Report
		rows   rowsOf
	}
	filterMsg struct {
		screen keys.Screen
		filter string
		rows   rowsOf
		shown  []int32
	}
	textMsg   struct{ key, text string }
	statusMsg struct {
		text string
		bad  bool
	}
)

// New makes the screens for a feed.
func New(feed Feed, opt Options) *Model {
	m := &Model{
		feed: feed, opt: opt,
		th: theme.New(opt.Colour), hl: &syntax.Highlighter{},
		screen: keys.Screen(opt.First),
		report: &explain.Report{},
		defs:   screens(),
		texts:  texts{have: map[string]string{}, want: map[string]bool{}},
		parsed: &parsed{},
		trees:  map[string]*explain.GuardNode{}, nodesOf: map[string][]explain.GraphNode{}, states: map[string]state{}, maker: &stateMaker{},
		w: 80, h: 24, now: time.Now,
	}
	for i := range m.panes {
		m.panes[i] = &pane{folds: map[string]bool{}}
	}
	m.pane(keys.Breaks).folds[noiseGroup] = true
	m.prompt.input = textinput.New()
	m.prompt.input.Cursor.SetMode(cursor.CursorStatic)
	m.run = feed.Run()
	return m
}

func (m *Model) pane(s keys.Screen) *pane { return m.panes[s] }
func (m *Model) current() *pane           { return m.panes[m.screen] }
func (m *Model) def() *screenDef          { return &m.defs[m.screen] }

// Init asks for the first report.
func (m *Model) Init() tea.Cmd {
	m.polling = true
	return tea.Batch(tea.SetWindowTitle("tcdbg "+theme.Clean(m.run.Title)), m.poll())
}

// Update handles one message. It prepares what View draws, so that View only
// reads.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if k, ok := msg.(tea.KeyMsg); ok && len(k.Runes) > 1 && !k.Paste && !m.prompt.on() {
		return m, m.oneByOne(k)
	}
	said, paused := m.status, m.run.Paused
	cmd := m.handle(msg)
	m.forget(said, paused)
	if m.quit {
		return m, tea.Quit
	}
	return m, tea.Batch(cmd, m.slowRows(), m.prepare())
}

// oneByOne takes keys that came faster than they were read, and so in one message:
// a slow line or a machine at work joins them, and each still is a key.
func (m *Model) oneByOne(k tea.KeyMsg) tea.Cmd {
	var cmds []tea.Cmd
	for _, r := range k.Runes {
		_, cmd := m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: k.Alt})
		cmds = append(cmds, cmd)
	}
	return tea.Batch(cmds...)
}

// statusFor is how long a message covers the keys.
const statusFor = 4 * time.Second

// forget drops a message that has been read, or that what it announced has
// overtaken. said and paused are what was before the last message.
func (m *Model) forget(said string, paused bool) {
	now := m.now()
	switch {
	case m.status != said:
		m.saidAt = now
	case m.status != "" && (m.run.Paused != paused || now.Sub(m.saidAt) > statusFor):
		m.status, m.bad = "", false
	}
}

func (m *Model) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		if m.version > 0 && m.w != m.madeWidth && !m.polling {
			m.polling = true
			return m.poll()
		}
	case tea.KeyMsg:
		return m.key(msg)
	case tea.MouseMsg:
		return m.mouse(msg)
	case pollMsg:
		if !m.polling {
			m.polling = true
			return m.poll()
		}
	case reportMsg:
		m.take(msg)
		return m.again(msg.took)
	case rowsMsg:
		m.takeRows(msg)
	case locatedMsg:
		m.takeLocated(msg)
	case treeMsg:
		m.takeTree(msg)
	case nodesMsg:
		m.takeNodes(msg)
	case stateMsg:
		m.takeState(msg)
	case earlierMsg:
		m.takeEarlier(msg)
	case sameMsg:
		m.polling = false
		m.stand(m.feed.Run())
		return m.again(msg.took)
	case filterMsg:
		m.takeFilter(msg)
	case leftMsg:
		return m.takeLeft(msg)
	case textMsg:
		m.texts.put(msg.key, msg.text)
	case searchMsg:
		return m.takeSearch(msg)
	case statusMsg:
		m.status, m.bad = msg.text, msg.bad
	}
	return nil
}

// poll asks the feed for a report and makes the rows of every screen, off the
// UI goroutine.
func (m *Model) poll() tea.Cmd {
	feed, old, frozen, files := m.feed, m.report, m.frozen, m.parsed
	width, made := m.w, m.madeWidth
	defs := m.defs
	var views [keys.Screens]pane
	for i, p := range m.panes {
		views[i] = pane{filter: p.filter, folds: maps.Clone(p.folds), hide: p.hide, order: p.order}
	}
	return func() tea.Msg {
		t0 := time.Now()
		r := feed.Snapshot()
		if r == old && width == made || frozen {
			return sameMsg{time.Since(t0)}
		}
		out := reportMsg{report: r, width: width}
		in := &input{report: r, feed: feed, facts: &out.facts, width: width}
		out.facts.collect(in)
		files.readMarked(feed, r)
		for i := range defs {
			if defs[i].rows != nil && !defs[i].slow {
				out.rows[i] = rowSlice(defs[i].rows(in))
				out.filter[i] = views[i].filter
				out.shown[i] = views[i].visible(out.rows[i], views[i].filter)
			}
		}
		out.took = time.Since(t0)
		return out
	}
}

// idle is how much seldomer a run that has ended is looked at: it can only
// begin again.
const idle = 8

// again plans the next poll: never more than a fifth of the time is spent on
// making rows.
func (m *Model) again(took time.Duration) tea.Cmd {
	if m.opt.Poll == 0 {
		return nil
	}
	every := m.opt.Poll
	if !m.run.Live && !m.report.Live && m.version > 0 {
		every *= idle
	}
	return tea.Tick(max(every, 5*took), func(time.Time) tea.Msg { return pollMsg{} })
}

// stand takes how the program stands now; what changed since the run before is news
// on every screen.
func (m *Model) stand(r Run) {
	if r.Changes != "" && r.Changes != m.run.Changes {
		m.status, m.bad = "since the previous run: "+r.Changes, false
	}
	m.run = r
}

// take shows a new report without moving what the eye is on.
func (m *Model) take(msg reportMsg) {
	first := m.version == 0
	m.polling = false
	m.report, m.facts, m.madeWidth = msg.report, msg.facts, msg.width
	m.stand(m.feed.Run())
	m.version++
	for i, p := range m.panes {
		if m.defs[i].slow {
			continue // its old rows stay until the new ones are made
		}
		p.note()
		p.version++
		switch {
		case m.defs[i].rows == nil:
			p.rows = m.virtual(keys.Screen(i))
		default:
			p.rows = msg.rows[i]
		}
		if len(p.folds) == 0 && p.filter != "" && p.filter == msg.filter[i] {
			p.shown = msg.shown[i] // made beside the UI
		} else {
			p.apply()
		}
		p.keep()
	}
	if first {
		m.pane(keys.Output).list.SetFollow(m.run.Live)
		m.pane(keys.Logs).list.SetFollow(m.run.Live)
	}
}

// slowRows makes the rows of the current screen where that takes reading, once
// for each report and only when the screen is looked at.
func (m *Model) slowRows() tea.Cmd {
	d, p := m.def(), m.current()
	if !d.slow || p.making || m.version == 0 || p.made == m.report {
		return nil
	}
	p.making = true
	f := m.facts
	in := &input{report: m.report, feed: m.feed, facts: &f, parsed: m.parsed}
	return func() tea.Msg { return rowsMsg{d.id, in.report, rowSlice(d.rows(in))} }
}

func (m *Model) takeRows(msg rowsMsg) {
	p := m.panes[msg.screen]
	p.note()
	p.rows, p.made, p.making, p.ready = msg.rows, msg.report, false, true
	p.version++
	p.apply()
	if m.sel == (Selection{}) && p.cursor == "" {
		p.firstMarked()
		return
	}
	if p.cursor == "" || p.synced != m.selGen {
		p.synced = m.selGen - 1 // prepare looks it up
		return
	}
	p.keep()
}

// virtual are the rows of a screen that lists the feed's own tables.
func (m *Model) virtual(s keys.Screen) rowsOf {
	switch s {
	case keys.Logs:
		if r := m.feed.Records(); r != nil {
			return recordRows{r}
		}
	case keys.Output:
		if o := m.feed.Output(); o != nil {
			return outputRows{o}
		}
	}
	return rowSlice(nil)
}

// takeFilter shows the rows that a filter left, unless it has changed since.
func (m *Model) takeFilter(msg filterMsg) {
	p := m.panes[msg.screen]
	if p.filter == msg.filter && p.rows.Len() >= msg.rows.Len() {
		p.note()
		p.shown = msg.shown
		p.version++
		p.keep()
	}
}

// slowFilter is the number of rows from which a filter runs beside the UI.
const slowFilter = 5000

// refilter applies the filter of the current screen.
func (m *Model) refilter() tea.Cmd {
	p, s := m.current(), m.screen
	p.version++
	if p.rows == nil || p.rows.Len() < slowFilter {
		p.note()
		p.apply()
		p.keep()
		return nil
	}
	copied := pane{folds: p.folds, hide: p.hide, order: p.order}
	rows, filter := p.rows, p.filter
	return func() tea.Msg {
		return filterMsg{s, filter, rows, copied.visible(rows, filter)}
	}
}

// prepare makes the document of the selected row and asks for the texts that
// it lacks.
func (m *Model) prepare() tea.Cmd {
	p, d := m.current(), m.def()
	if p.synced != m.selGen {
		p.synced = m.selGen
		if m.screen == keys.Logs && m.sel.Record > 0 {
			p.toRecord(int(m.sel.Record))
		} else if p.Len() > slowLocate {
			return m.locateBeside()
		}
		p.locate(m.sel)
	}
	if d.detail == nil {
		p.doc = nil
		return m.loadTexts()
	}
	p.settle()
	f := m.arrange()
	r := p.selected()
	if r == nil || f.detail.w == 0 {
		p.doc, p.docKey = nil, docKey{}
		return nil
	}
	k := docKey{r.key(), f.detail.w, p.version, p.mode, m.texts.gen, len(p.folds)}
	if p.docKey == k && p.doc != nil {
		return nil
	}
	sameRow := p.docKey.row == k.row && p.docKey.mode == k.mode && (p.doc == nil || !p.doc.pending)
	m.texts.missed = false
	p.doc, p.docKey = d.detail(m, r, f.detail.w), k
	p.doc.pending = m.texts.missed
	if !sameRow {
		p.xoff = 0
		p.detail = list.List{}
		if p.doc != nil && p.doc.focus > 0 {
			src := docSource{d: p.doc}
			p.detail.Set(src, p.doc.focus)
			p.detail.Scroll(src, max(0, p.doc.focus-f.detail.h/3), f.detail.h)
		}
	}
	return m.loadTexts()
}

// slowLocate is the number of rows from which the selection is looked up
// beside the UI.
const slowLocate = 20_000

// locatedMsg is the row that stands best for a selection.
type locatedMsg struct {
	screen keys.Screen
	gen    uint64
	rows   int
	at     int
}

func (m *Model) locateBeside() tea.Cmd {
	p, want := m.current(), m.sel
	copied := pane{rows: p.rows, shown: p.shown}
	msg := locatedMsg{screen: m.screen, gen: m.selGen, rows: p.Len()}
	return func() tea.Msg {
		msg.at = copied.best(want)
		return msg
	}
}

func (m *Model) takeLocated(msg locatedMsg) {
	p := m.panes[msg.screen]
	if msg.gen == m.selGen && msg.rows == p.Len() && msg.at >= 0 {
		p.list.Set(paneRows{p}, msg.at)
		p.touched = true
		p.note()
	}
}

// arrange lays out the current screen.
func (m *Model) arrange() frame {
	d, p := m.def(), m.current()
	a := ask{lead: d.leadLines, detail: d.detail != nil && p.Len() > 0, share: d.share, rows: p.Len(), zoom: p.inside}
	return arrange(m.w, m.h, a)
}

// choose makes a row's selection the selection of all screens.
func (m *Model) choose(s Selection) {
	if s == (Selection{}) || s == m.sel {
		return
	}
	m.sel = s
	m.selGen++
	m.current().synced = m.selGen
}

// texts are payloads that documents asked for, read off the UI goroutine.
type texts struct {
	have  map[string]string
	want  map[string]bool
	loads []load
	jobs  []func() any // parsing for a document
	// missed says that a document lacks a text that is being read.
	missed bool
	order  []string
	gen    int
}

type load struct {
	key  string
	read func() string
}

// maxTexts is how many payloads are kept.
const maxTexts = 24

// text returns a payload, or false while it is read.
func (m *Model) text(key string, read func() string) (string, bool) {
	t := &m.texts
	if s, ok := t.have[key]; ok {
		return s, true
	}
	t.missed = true
	if !t.want[key] && read != nil {
		t.want[key] = true
		t.loads = append(t.loads, load{key, read})
	}
	return "", false
}

func (t *texts) put(key, text string) {
	delete(t.want, key)
	if len(t.order) >= maxTexts {
		delete(t.have, t.order[0])
		t.order = t.order[1:]
	}
	t.have[key] = text
	t.order = append(t.order, key)
	t.gen++
}

// loadTexts reads what was asked for.
func (m *Model) loadTexts() tea.Cmd {
	var cmds []tea.Cmd
	for _, l := range m.texts.loads {
		cmds = append(cmds, func() tea.Msg { return textMsg{l.key, l.read()} })
	}
	for _, job := range m.texts.jobs {
		cmds = append(cmds, func() tea.Msg { return job() })
	}
	m.texts.loads, m.texts.jobs = nil, nil
	return tea.Batch(cmds...)
}

// framesPerSecond bounds how often the terminal is written to.
const framesPerSecond = 30

// Start shows the screens on the terminal until the user quits or ctx ends.
func Start(ctx context.Context, m *Model, opts ...tea.ProgramOption) error {
	opts = append(opts, tea.WithContext(ctx), tea.WithAltScreen(), tea.WithFPS(framesPerSecond))
	if m.opt.Mouse {
		opts = append(opts, tea.WithMouseCellMotion())
	}
	_, err := tea.NewProgram(m, opts...).Run()
	return err
}

// place is where a position stands, under the brief name of its file.
func (m *Model) place(p logs.Pos) string {
	if p.File != "" {
		p.File = m.facts.names.File(p.File)
	}
	return placeText(p)
}

// placeIn is place in at most w cells: without its folders where they do not
// fit.
func (m *Model) placeIn(p logs.Pos, w int) string {
	s := m.place(p)
	if theme.Width(s) > w {
		p.File = filepath.Base(p.File)
		s = theme.CutLeft(placeText(p), w)
	}
	return s
}

// placeColumn is the width of a column of places in a document of w cells: wide
// enough for all of them, but at most two fifths.
func (m *Model) placeColumn(ps []logs.Pos, w int) int {
	n := 0
	for _, p := range ps {
		n = max(n, theme.Width(m.place(p)))
	}
	return min(n, max(12, w*2/5))
}

// placeCell is a place in a column.
func (m *Model) placeCell(p logs.Pos, col int) string { return theme.Fit(m.placeIn(p, col), col) + " " }

// root is the folder from which paths are shown: the run's, or where the
// trace comes from elsewhere, the folder of all its user files.
func (m *Model) root() string {
	run, files := m.run.Root, m.facts.root
	if files == "" || files == "/" || run != "" && (files == run || strings.HasPrefix(files, run+"/")) {
		return run
	}
	return files
}
