package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/explain"
	"tcdbg/tui/keys"
)

// This file asks the feed for reports and gives their rows to the screens. Rows are
// made beside the UI.

// Messages of a poll.
type (
	reportMsg struct {
		report *explain.Report
		size   size
		rows   []rowsOf
		listed []*listing // what the views of that time left
		facts  facts
		took   time.Duration
	}
	sameMsg struct{ took time.Duration }
)

// poll asks the feed for a report and makes the rows of every screen, off the
// UI goroutine.
func (m *Model) poll() tea.Cmd {
	feed, old, frozen, files := m.sc.feed, m.sc.report, m.sc.frozen, m.sc.parsed
	now, made := size{m.sc.w, m.sc.h}, m.madeFor
	screens := m.screens
	views, listed := make([]view, len(screens)), make([]*listing, len(screens))
	for i, s := range screens {
		views[i], listed[i] = s.state().view.clone(), s.state().listed
	}
	return func() tea.Msg {
		t0 := time.Now()
		r := feed.Snapshot()
		if r == old && now == made || frozen {
			return sameMsg{time.Since(t0)}
		}
		n := len(screens)
		out := reportMsg{report: r, size: now, rows: make([]rowsOf, n), listed: make([]*listing, n)}
		in := &input{report: r, feed: feed, facts: &out.facts, width: now.w, height: now.h}
		out.facts.collect(in)
		files.readMarked(feed, r)
		for i, s := range screens {
			switch s := s.(type) {
			case slow:
				continue
			case tabled:
				out.rows[i] = s.table(feed)
			case screen:
				out.rows[i] = rowSlice(s.rows(in))
			}
			out.listed[i] = views[i].list(out.rows[i], listed[i])
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
	every := m.sc.opt.Poll
	if every == 0 {
		return nil
	}
	if !m.sc.run.Live && !m.sc.report.Live && m.sc.version > 0 {
		every *= idle
	}
	return tea.Tick(max(every, 5*took), func(time.Time) tea.Msg { return pollMsg{} })
}

// lookEvery is how often the end of the program is looked for. That is beside the polls: the
// report of a large run may take seconds to make, and an end is seen at once.
const lookEvery = 200 * time.Millisecond

// lookAgain plans the next look at how the program is.
func (m *Model) lookAgain() tea.Cmd {
	if m.sc.opt.Poll == 0 {
		return nil
	}
	return tea.Tick(lookEvery, func(time.Time) tea.Msg { return lookMsg{} })
}

// take shows a new report without moving what the eye is on.
func (m *Model) take(msg reportMsg) tea.Cmd {
	sc := &m.sc
	first := sc.version == 0
	m.polling = false
	m.madeFor = msg.size
	sc.report, sc.facts = msg.report, msg.facts
	sc.look(sc.feed.Run())
	sc.version++
	m.stopped()
	foreign := len(msg.report.Traces) > 0 && !msg.report.Profiled() && len(msg.report.Frames) == 0
	if first && foreign && m.at == keys.Overview && sc.opt.First == 0 {
		m.at = keys.Timeline // a trace of another program has nothing else
	}
	cmds := []tea.Cmd{m.again(msg.took)}
	for i, s := range m.screens {
		p := s.state()
		if _, late := s.(slow); late {
			continue // its old rows stay until the new ones are made
		}
		cmds = append(cmds, p.refresh(msg.rows[i], msg.listed[i]))
		if _, grows := s.(tabled); grows && first && !p.order.sorted() {
			p.list.SetFollow(sc.run.Live)
		}
	}
	return tea.Batch(cmds...)
}

// slowRows makes the rows of the shown screen where that takes reading, once
// for each report and only when the screen is looked at.
func (m *Model) slowRows() tea.Cmd {
	var cmds []tea.Cmd
	for _, c := range m.columnsShown() {
		cmds = append(cmds, m.slowRowsOf(m.screens[c.screen]))
	}
	return tea.Batch(cmds...)
}

func (m *Model) slowRowsOf(s screen) tea.Cmd {
	sc, p := &m.sc, s.state()
	late, ok := s.(slow)
	if !ok || p.making || sc.version == 0 || p.made == sc.report {
		return nil
	}
	p.making = true
	f := sc.facts
	in := &input{report: sc.report, feed: sc.feed, facts: &f, parsed: sc.parsed}
	return func() tea.Msg {
		rows := rowSlice(s.rows(in))
		return onUI(func(sc *scene) tea.Cmd {
			p.made, p.making, p.ready = in.report, false, true
			p.takeSlow(sc, late, rows)
			return nil
		})
	}
}

// takeSlow shows slow rows that were made.
func (p *pane) takeSlow(sc *scene, s slow, rows rowsOf) {
	p.note()
	if g, ok := s.(regrouped); ok {
		g.regroup(rows)
	}
	p.all = rows
	p.version++
	p.generation++
	p.apply()
	switch {
	case sc.sel == (Selection{}) && p.cursor == "":
		s.first()
	case p.cursor == "" || p.synced != sc.selGen:
		p.synced = sc.selGen - 1 // prepare looks it up
	default:
		p.keep()
	}
}
