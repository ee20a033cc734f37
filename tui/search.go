package tui

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// This file is search: through the rows of a screen, the lines of a detail,
// and on the Logs screen every payload of the trace, with its progress. It
// runs beside the UI.

// searching is a search over payloads that is under way or done.
type searching struct {
	query string
	hits  []int // records, ascending
	done  float64
	on    bool
	stop  context.CancelFunc
	out   chan searchMsg
}

// searchMsg is news of a search over payloads, or the end of one over rows.
type searchMsg struct {
	query  string
	hits   []int
	done   float64
	end    bool
	screen keys.Screen
	inside bool
	at     int // row or line that was found; -1: none; -2: payload search
}

func (s *searching) running() bool { return s.on }

// note is the progress; what may be long stands last, where a narrow terminal cuts.
func (s *searching) note() string {
	return fmt.Sprintf("searching payloads (esc ends it): %.0f %%, %s for %q", 100*s.done, count(len(s.hits), "hit"), s.query)
}

// end stops the search under way; what it found stays.
func (s *searching) end() string {
	s.stop()
	s.on = false
	return fmt.Sprintf("the search stopped at %.0f %%, with %s for %q", 100*s.done, count(len(s.hits), "hit"), s.query)
}

// startSearch searches for text from the cursor on.
func (m *Model) startSearch(text string) tea.Cmd {
	p := m.current()
	p.query = text
	if text == "" {
		return nil
	}
	if m.screen == keys.Logs && !p.inside {
		return m.searchPayloads(text)
	}
	return m.findFrom(0, true)
}

// find goes to the next or previous match.
func (m *Model) find(on bool) tea.Cmd {
	p := m.current()
	if p.query == "" {
		m.status = "nothing to search for; / starts a search"
		return nil
	}
	if m.screen == keys.Logs && !p.inside && m.search.query == p.query {
		m.nextHit(on)
		return nil
	}
	step := 1
	if !on {
		step = -1
	}
	return m.findFrom(step, on)
}

// findFrom looks for the query, beginning step rows from the cursor and going
// round once.
func (m *Model) findFrom(step int, on bool) tea.Cmd {
	p := m.current()
	inside := p.inside && p.doc != nil
	if !inside && p.doc != nil && !m.anyRow(p) {
		inside = true // what is searched for stands in the detail only
	}
	msg := searchMsg{query: p.query, screen: m.screen, inside: inside}
	test, n, at := rowTest(p, p.query), p.Len(), p.list.Cursor()
	if inside {
		d := p.doc
		test, n, at = func(i int) bool { return theme.IndexFold(d.text(i), msg.query) >= 0 }, d.Len(), p.detail.Cursor()
	}
	return func() tea.Msg {
		msg.at = scan(test, n, at+step, on)
		return msg
	}
}

// anyRow reports whether one of the first rows matches: the cheap half of the
// question whether the list is what is meant.
func (m *Model) anyRow(p *pane) bool {
	test := rowTest(p, p.query)
	for i := range p.Len() {
		if i > slowFilter || test(i) {
			return true
		}
	}
	return false
}

func rowTest(p *pane, query string) func(i int) bool {
	rows, shown := p.rows, p.shown
	return func(i int) bool {
		if shown != nil {
			i = int(shown[i])
		}
		return rows.At(i).matches(query)
	}
}

// scan finds the first i from start on, going round, that passes.
func scan(test func(i int) bool, n, start int, on bool) int {
	for k := range n {
		i := start + k
		if !on {
			i = start - k
		}
		i = (i%n + n) % n
		if test(i) {
			return i
		}
	}
	return -1
}

// takeSearch shows what a search found.
func (m *Model) takeSearch(msg searchMsg) tea.Cmd {
	if msg.at == -2 {
		return m.takeHits(msg)
	}
	p := m.panes[msg.screen]
	if msg.at < 0 {
		m.status, m.bad = fmt.Sprintf("%q: not found", msg.query), true
		return nil
	}
	if msg.inside && p.doc != nil {
		p.inside = true
		p.detail.Set(docSource{d: p.doc}, msg.at)
		return nil
	}
	p.list.Set(paneRows{p}, msg.at)
	p.list.SetFollow(false)
	m.moved()
	return nil
}

// searchPayloads starts a search over all payloads.
func (m *Model) searchPayloads(text string) tea.Cmd {
	if m.search.stop != nil {
		m.search.stop()
	}
	rec := m.feed.Records()
	if rec == nil {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	out := make(chan searchMsg, 1)
	m.search = searching{query: text, on: true, stop: stop, out: out}
	go searchBeside(ctx, rec, text, out)
	return nextNews(out)
}

// searchBeside searches and sends news; news that nobody took yet grows.
func searchBeside(ctx context.Context, rec Records, text string, out chan searchMsg) {
	msg := searchMsg{query: text, at: -2}
	send := func() {
		select {
		case out <- msg:
			msg.hits = nil
		default:
		}
	}
	rec.Search(ctx, text, func(i int) { msg.hits = append(msg.hits, i) }, func(done float64) {
		msg.done = done
		send()
	})
	msg.end, msg.done = true, 1
	select {
	case out <- msg:
	case <-ctx.Done():
	}
	close(out)
}

func nextNews(out chan searchMsg) tea.Cmd {
	return func() tea.Msg {
		msg, ok := <-out
		if !ok {
			return nil
		}
		return msg
	}
}

// takeHits adds hits and goes to the first at or after the cursor.
func (m *Model) takeHits(msg searchMsg) tea.Cmd {
	s := &m.search
	if msg.query != s.query || !s.on {
		return nil
	}
	first := len(s.hits) == 0 && len(msg.hits) > 0
	s.hits = append(s.hits, msg.hits...)
	s.done = msg.done
	s.on = !msg.end
	if first {
		m.goHit(s.hits[0])
	}
	if msg.end {
		m.status = fmt.Sprintf("%q: %s", s.query, count(len(s.hits), "record"))
		m.bad = len(s.hits) == 0
		return nil
	}
	return nextNews(s.out)
}

// nextHit goes to the hit after or before the cursor, going round.
func (m *Model) nextHit(on bool) {
	hits, p := m.search.hits, m.pane(keys.Logs)
	if len(hits) == 0 {
		m.status, m.bad = fmt.Sprintf("%q: not found", m.search.query), true
		return
	}
	at := p.list.Cursor()
	if p.shown != nil && at < len(p.shown) {
		at = int(p.shown[at])
	}
	pick := hits[0]
	if !on {
		pick = hits[len(hits)-1]
	}
	for i := range hits {
		h := hits[i]
		if !on {
			h = hits[len(hits)-1-i]
		}
		if on && h > at || !on && h < at {
			pick = h
			break
		}
	}
	m.goHit(pick)
}

// goHit puts the cursor on a record; a filter that hides it is dropped.
func (m *Model) goHit(i int) {
	p := m.pane(keys.Logs)
	if p.shown != nil {
		p.filter, p.shown = "", nil
		p.version++
	}
	p.list.SetFollow(false)
	p.list.Set(paneRows{p}, i)
	p.note()
}
