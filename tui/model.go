package tui

import (
	"context"
	"time"

	"tcdbg/explain"
	"tcdbg/tui/habit"
	"tcdbg/tui/keys"
	"tcdbg/tui/layout"
	"tcdbg/tui/prompt"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

// This file is the model: it gives every message to whom it is meant for, and has
// the screen that is shown prepare what View draws. What a screen shows is the
// screen's own.

// Model is the screens. Make one with New and give it to Bubble Tea.
type Model struct {
	sc      scene
	th      *theme.Theme
	screens []screen
	at      keys.Screen // the one that is shown; of linked ones the one that has the keys
	linked  linked
	back    []keys.Screen

	polling bool
	// columns are those of the window. Screens draw at least minColumns, of which the frame
	// has the first.
	columns int
	// madeFor is the size of the terminal when the rows were made.
	madeFor size
	hit     int // Ctrl-C pressed so often

	searches habit.History
	marks    map[string]habit.Mark
	marking  keys.Action // a letter is waited for: SetMark, GoMark; else None
}

// What is drawn at most: more than any screen shows, and little enough for a terminal that
// says it has 65535 columns or rows.
const (
	maxColumns = 2000
	maxRows    = 1000
)

// minColumns is the least width that screens draw for: in less nothing can be read, and each
// screen would have to see to it that no part of a part is narrower than nothing.
const minColumns = 10

// size is how many cells a terminal has.
type size struct{ w, h int }

// Messages of our own; all others are of the type onUI.
type (
	pollMsg   struct{}
	lookMsg   struct{}
	statusMsg struct {
		text string
		bad  bool
	}
)

// New makes the screens for a feed.
func New(feed Feed, opt Options) *Model {
	m := &Model{
		sc: scene{
			feed: feed, opt: opt, hl: &syntax.Highlighter{}, now: time.Now, w: 80, h: 24,
			report: &explain.Report{}, parsed: &parsed{}, run: feed.Run(),
			texts: texts{have: map[string]string{}, want: map[string]bool{}},
		},
		th: theme.Named(opt.Theme, opt.Colour), marks: map[string]habit.Mark{}, screens: screens(), at: keys.Screen(opt.First),
	}
	var titles []keys.Title
	var own [][]keys.Binding
	for _, s := range m.screens {
		p := s.state()
		if p.folds == nil {
			p.folds = map[string]bool{}
		}
		titles, own = append(titles, p.title), append(own, p.keys)
	}
	m.columns = m.sc.w
	m.sc.keys = keys.New(titles, own)
	m.sc.prompt = prompt.New()
	restore(m, opt.Left)
	if opt.Hint {
		m.sc.say("first time here: ? shows the keys of a screen, : finds any command, 1 to 9 open screens, q quits")
		m.sc.notice.at = m.sc.now().Add(hintFor) // a program takes a while to begin
	}
	return m
}

// hintFor is how much longer than a notice the hint of the first time stays.
const hintFor = 8 * time.Second

// framesPerSecond bounds how often the terminal is written to.
const framesPerSecond = 30

// Start shows the screens on the terminal until the user quits or ctx ends.
func Start(ctx context.Context, m *Model, opts ...tea.ProgramOption) error {
	opts = append(opts, tea.WithContext(ctx), tea.WithAltScreen(), tea.WithFPS(framesPerSecond))
	if m.sc.opt.Mouse {
		opts = append(opts, tea.WithMouseCellMotion())
	}
	p := tea.NewProgram(m, opts...)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go passOn(ctx, p, m.sc.opt.Away)
	_, err := p.Run()
	return err
}

func (m *Model) shown() screen { return m.screens[m.at] }

func (m *Model) current() *pane { return m.pane(m.at) }

func (m *Model) pane(s keys.Screen) *pane { return m.screens[s].state() }

func (m *Model) arrange() (f layout.Frame) {
	w := m.sc.w
	for _, c := range m.columnsShown() {
		if c.screen == m.at {
			w = c.w
		}
	}
	m.within(w, func() { f = m.current().arrange(&m.sc) })
	return f
}

// Init asks for the first report.
func (m *Model) Init() tea.Cmd {
	m.polling = true
	return tea.Batch(tea.SetWindowTitle("tcdbg "+theme.Clean(m.sc.run.Title)), m.poll(), m.lookAgain())
}

// Update handles one message. It prepares what View draws, so that View only
// reads.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if k, ok := msg.(tea.KeyMsg); ok && len(k.Runes) > 1 && !k.Paste && !m.sc.prompt.On() {
		return m, m.oneByOne(k)
	}
	said, paused := m.sc.notice.text, m.sc.run.Paused
	cmd := m.handle(msg)
	m.sc.forget(said, paused)
	if m.sc.quit {
		return m, tea.Quit
	}
	m.settle()
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

func (m *Model) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.columns, m.sc.h = min(msg.Width, maxColumns), min(msg.Height, maxRows)
		m.sc.w = max(m.columns, minColumns)
		if m.sc.version > 0 && (size{m.sc.w, m.sc.h}) != m.madeFor && !m.polling {
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
	case lookMsg:
		m.sc.look(m.sc.feed.Run())
		return m.lookAgain()
	case reportMsg:
		return m.take(msg)
	case sameMsg:
		m.polling = false
		m.sc.look(m.sc.feed.Run())
		return m.again(msg.took)
	case awayMsg:
		return m.sc.away(msg.do)
	case onUI:
		return msg(&m.sc)
	case statusMsg:
		m.sc.notice.text, m.sc.notice.bad = msg.text, msg.bad
	}
	return nil
}

// prepare does so for every screen that is shown, and asks for the texts that they lack.
func (m *Model) prepare() tea.Cmd {
	var cmds []tea.Cmd
	for _, c := range m.columnsShown() {
		m.within(c.w, func() { cmds = append(cmds, m.prepareScreen(m.screens[c.screen])) })
	}
	return tea.Batch(append(cmds, m.sc.texts.begin())...)
}

// prepareScreen puts the cursor of a screen on the selection and makes the document of its row.
func (m *Model) prepareScreen(s screen) tea.Cmd {
	sc, p := &m.sc, s.state()
	if p.synced != sc.selGen {
		p.synced = sc.selGen
		if f, ok := s.(finding); !ok || !f.find(sc.sel) {
			if cmd, done := p.locate(sc); !done {
				return cmd
			}
		}
	}
	p.compose(sc, s)
	return nil
}
