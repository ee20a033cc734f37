package tui

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"
)

// This file is the search through every payload of the trace, with its progress,
// which the Logs screen begins.

// payloadSearch is a search over payloads that is under way or done.
type payloadSearch struct {
	query string
	hits  []int // records, ascending
	done  float64
	on    bool
	stop  context.CancelFunc
	out   chan hits
}

// hits is news of a search over payloads.
type hits struct {
	records []int
	done    float64
	end     bool
}

func (s *payloadSearch) running() bool { return s.on }

// note is the progress; what may be long stands last, where a narrow terminal cuts.
func (s *payloadSearch) note() string {
	return fmt.Sprintf("searching payloads (esc ends it): %.0f %%, %s for %q", 100*s.done, count(len(s.hits), "hit"), s.query)
}

// end stops the search under way; what it found stays.
func (s *payloadSearch) end() string {
	s.stop()
	s.on = false
	return fmt.Sprintf("the search stopped at %.0f %%, with %s for %q", 100*s.done, count(len(s.hits), "hit"), s.query)
}

// search starts a search over all payloads.
func (scr *logsScreen) search(sc *scene, text string) tea.Cmd {
	if sc.search.stop != nil {
		sc.search.stop()
	}
	rec := sc.feed.Records()
	if rec == nil {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	out := make(chan hits, 1)
	sc.search = payloadSearch{query: text, on: true, stop: stop, out: out}
	go searchBeside(ctx, rec, text, out)
	return scr.nextNews(text, out)
}

// searchBeside searches and sends news; news that nobody took yet grows.
func searchBeside(ctx context.Context, rec Records, text string, out chan hits) {
	msg := hits{}
	send := func() {
		select {
		case out <- msg:
			msg.records = nil
		default:
		}
	}
	rec.Search(ctx, text, func(i int) { msg.records = append(msg.records, i) }, func(done float64) {
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

// nextNews waits for news of a search.
func (scr *logsScreen) nextNews(query string, out chan hits) tea.Cmd {
	return func() tea.Msg {
		news, ok := <-out
		if !ok {
			return nil
		}
		return onUI(func(sc *scene) tea.Cmd { return scr.takeHits(sc, query, news) })
	}
}

// takeHits adds hits and goes to the first at or after the cursor.
func (scr *logsScreen) takeHits(sc *scene, query string, news hits) tea.Cmd {
	s := &sc.search
	if query != s.query || !s.on {
		return nil
	}
	first := len(s.hits) == 0 && len(news.records) > 0
	s.hits = append(s.hits, news.records...)
	s.done = news.done
	s.on = !news.end
	if first {
		scr.goHit(s.hits[0])
	}
	if !news.end {
		return scr.nextNews(query, s.out)
	}
	sc.say(fmt.Sprintf("%q: %s", s.query, count(len(s.hits), "record")))
	sc.notice.bad = len(s.hits) == 0
	return nil
}

// nextHit goes to the hit after or before the cursor, going round.
func (scr *logsScreen) nextHit(sc *scene, on bool) bool {
	if sc.search.query != scr.query {
		return false
	}
	hits := sc.search.hits
	if len(hits) == 0 {
		sc.fail(fmt.Sprintf("%q: not found", sc.search.query))
		return true
	}
	at := scr.list.Cursor()
	if scr.shown != nil && at < len(scr.shown) {
		at = int(scr.shown[at])
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
	scr.goHit(pick)
	return true
}

// goHit puts the cursor on a record; a filter that hides it is dropped.
func (scr *logsScreen) goHit(i int) {
	if scr.shown != nil {
		scr.filter, scr.shown = "", nil
		scr.version++
	}
	scr.list.SetFollow(false)
	scr.list.Set(paneRows{&scr.pane}, i)
	scr.note()
}

// find goes to the record of a selection.
func (scr *logsScreen) find(want Selection) bool {
	if want.Record <= 0 {
		return false
	}
	scr.toRecord(int(want.Record))
	return true
}
