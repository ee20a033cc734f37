package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/syntax"
	"tcdbg/tui/theme"
)

// This file is the two screens that list a table of the feed. Screen 0, Logs: what exactly was
// recorded? It begins the search through every payload of the trace. Screen -, Output: what did
// the program print?

// logsScreen is the Logs screen.
type logsScreen struct {
	pane
}

func newLogs() screen {
	return &logsScreen{pane{
		title:     keys.Title{Name: "Logs", Short: "Log", Key: "0", Asks: "What exactly was recorded?"},
		leadLines: 2, detailed: true, share: 0.5,
		columns: columns.Of("time", "when it was written", "compile", "the compile that it is about, and its rank", "size", "its bytes"),
		orders: []order{
			{name: "as recorded"},
			{name: "newest first", newest: true, worth: func(r row) worth { return worth{n: -writtenAt(r)} }},
			{name: "oldest first", worth: func(r row) worth { return worth{n: writtenAt(r)} }},
			{name: "largest first", worth: func(r row) worth { return worth{n: -recordAt(r).Bytes} }},
			{name: "by kind", worth: func(r row) worth { return worth{text: recordAt(r).Kind} }},
		},
	}}
}

func (*logsScreen) empty(sc *scene) []string {
	if sc.run.Live {
		return []string{"No record yet.", "Every record of the trace appears here as it is written; / searches all payloads."}
	}
	return []string{"The trace holds no record."}
}

func (scr *logsScreen) lead(sc *scene, _ int) []theme.Line {
	t := sc.report.Totals
	l := theme.Line{{Text: " " + count(int(t.Records), "record"), Style: theme.Bold}}
	if t.UnexplainedRecords > 0 {
		l = append(l, theme.Span{Text: fmt.Sprintf(" · %d of an unknown kind", t.UnexplainedRecords), Style: theme.Yellow})
	}
	st := sc.report.Stats
	for _, bad := range []struct {
		n    int64
		what string
	}{{st.BadJSON, "bad JSON"}, {st.MD5Mismatch, "bad md5 checksum"}, {st.Stray, "stray lines"}, {st.Oversized, "too large"}} {
		if bad.n > 0 {
			l = append(l, theme.Span{Text: fmt.Sprintf(" · %d %s", bad.n, bad.what), Style: theme.Yellow})
		}
	}
	if s := &sc.search; s.query != "" {
		l = append(l, theme.T(theme.Accent, fmt.Sprintf(" · %s with %q", count(len(s.hits), "record"), s.query)))
	}
	return []theme.Line{l, nil}
}

// table lists the records.
func (scr *logsScreen) table(feed Feed) rowsOf {
	if r := feed.Records(); r != nil {
		return recordRows{r, scr.columns}
	}
	return rowSlice(nil)
}

// recordRows are the records as rows.
type recordRows struct {
	r     Records
	shown *columns.Set
}

func (s recordRows) Len() int     { return s.r.Len() }
func (s recordRows) At(i int) row { return recordRow{s.r, i, s.shown} }

func (s recordRows) index(key string) int { return indexOf(key, s.Len()) }

// writtenAt is when a record was written; the files of ranks are listed one after the other, so that
// its place does not tell.
func writtenAt(r row) int64 {
	if at := recordAt(r).When; !at.IsZero() {
		return at.UnixNano()
	}
	return 0
}

func recordAt(r row) Record {
	rec := r.(recordRow)
	return rec.r.At(rec.i)
}

// recordRow is one record.
type recordRow struct {
	r     Records
	i     int
	shown *columns.Set
}

func (r recordRow) key() string    { return fmt.Sprint(r.i) }
func (r recordRow) sel() Selection { return Selection{} }
func (r recordRow) matches(q string) bool {
	rec := r.r.At(r.i)
	return rec.Rank >= 0 && strings.EqualFold(q, fmt.Sprintf("r%d", rec.Rank)) || theme.IndexFold(rec.Kind, q) >= 0 ||
		theme.IndexFold(rec.ID, q) >= 0 || theme.IndexFold(rec.Summary, q) >= 0
}

func (r recordRow) draw(_ *scene, w int) theme.Line {
	rec := r.r.At(r.i)
	id := rec.ID
	if id != "" {
		id = "[" + id + "]"
	}
	if rec.Rank >= 0 {
		id += fmt.Sprintf(" r%d", rec.Rank)
	}
	size := ""
	if r.shown.On("size") {
		size = " " + bytesText(rec.Bytes)
	}
	var l theme.Line
	if r.shown.On("time") {
		l = append(l, theme.Span{Text: theme.Clean(rec.Time) + " ", Style: theme.Faint})
	}
	if r.shown.On("compile") {
		width := 8
		if rec.Rank >= 0 {
			width = rankedID
		}
		l = append(l, theme.Span{Text: theme.Fit(id, width) + " ", Style: theme.Faint})
	}
	l = append(l, theme.T(kindStyle(rec.Kind), rec.Kind+" "), theme.T(theme.Faint, rec.Summary))
	return append(l.Fit(max(0, w-len(size))), theme.Span{Text: size, Style: theme.Faint})
}

// rankedID is the column of a compile with its rank: [12/1_1] r10.
const rankedID = 12

// kindStyle colours the records that people look for.
func kindStyle(kind string) theme.Style {
	switch {
	case strings.Contains(kind, "break"):
		return theme.Break
	case strings.Contains(kind, "recompile"), strings.Contains(kind, "guard_miss"):
		return theme.Recompile
	case strings.Contains(kind, "guard"):
		return theme.Guard
	case strings.Contains(kind, "graph"):
		return theme.Compiled
	case kind == "str", kind == "chromium_event", strings.HasPrefix(kind, "describe_"):
		return theme.Faint
	case strings.Contains(kind, "output_code"), strings.Contains(kind, "kernel"):
		return theme.Accent
	}
	return theme.Plain
}

func (scr *logsScreen) detail(sc *scene, r row, w int) *doc {
	d := newDoc(sc, w)
	rr := r.(recordRow)
	rec := rr.r.At(rr.i)
	d.add(theme.T(theme.Bold, rec.Kind), theme.T(theme.Faint, fmt.Sprintf("  record %d  %s", rr.i, rec.ID)))
	text, ok := sc.text(fmt.Sprintf("record %d", rr.i), func() string { return rr.r.Payload(rr.i) })
	if !ok {
		d.add(theme.T(theme.Faint, "reading …"))
		return d
	}
	d.blank()
	d.code(sc.hl, payloadLang(rec.Kind), text)
	return d
}

func payloadLang(kind string) syntax.Lang {
	switch {
	case strings.Contains(kind, "output_code"):
		return syntax.Python
	case strings.Contains(kind, "graph") && !strings.Contains(kind, "break"):
		return syntax.FX
	}
	return syntax.None
}

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

// note is the progress; what may be long comes last, where a narrow terminal cuts.
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
	var cmds []tea.Cmd
	if first {
		cmds = append(cmds, scr.goHit(s.hits[0]))
	}
	if !news.end {
		return tea.Batch(append(cmds, scr.nextNews(query, s.out))...)
	}
	sc.say(fmt.Sprintf("%q: %s", s.query, count(len(s.hits), "record")))
	sc.notice.bad = len(s.hits) == 0
	return tea.Batch(cmds...)
}

// nextHit goes to the hit after or before the cursor, going round.
func (scr *logsScreen) nextHit(sc *scene, on bool) (tea.Cmd, bool) {
	if sc.search.query != scr.query {
		return nil, false
	}
	hits, at := scr.inOrder(sc.search.hits)
	if len(hits) == 0 {
		sc.fail(fmt.Sprintf("%q: not found", sc.search.query))
		return nil, true
	}
	pick, found := slices.BinarySearchFunc(hits, at, func(h hit, at int) int { return cmp.Compare(h.at, at) })
	switch {
	case !on:
		pick--
	case found:
		pick++
	}
	pick = (pick + len(hits)) % len(hits)
	sc.say(fmt.Sprintf("%q: %d of %d", sc.search.query, pick+1, len(hits)))
	return scr.goHit(hits[pick].record), true
}

// hit is a record that a search found, and where it is among others: in the list where that is sorted,
// else in the trace.
type hit struct{ at, record int }

// inOrder is hits in the order of the list, and where among them the cursor is. Where a filter
// hides them all, that is the trace's order.
func (scr *logsScreen) inOrder(records []int) (out []hit, at int) {
	at = scr.list.Cursor()
	if scr.order.sorted() && len(records) > 0 {
		found := make([]bool, records[len(records)-1]+1) // they ascend
		for _, r := range records {
			found[r] = true
		}
		for i, r := range scr.shown {
			if int(r) < len(found) && found[r] {
				out = append(out, hit{i, int(r)})
			}
		}
	}
	if len(out) > 0 {
		return out, at
	}
	for _, r := range records {
		out = append(out, hit{r, r})
	}
	return out, scr.index(at)
}

// goHit puts the cursor on a record; a filter that hides it is dropped.
func (scr *logsScreen) goHit(i int) tea.Cmd {
	scr.list.SetFollow(false)
	if scr.goTo(recordRow{i: i}.key()) {
		return nil
	}
	scr.filter = ""
	return scr.refilter()
}

// find goes to the record of a selection.
func (scr *logsScreen) find(want Selection) bool {
	if want.Record <= 0 {
		return false
	}
	scr.toRecord(int(want.Record))
	return true
}

// outputScreen is the Output screen.
type outputScreen struct {
	pane
}

func newOutput() screen {
	return &outputScreen{pane{
		title: keys.Title{Name: "Output", Short: "Out", Key: "-", Asks: "What did the program print?"},
	}}
}

func (*outputScreen) empty(sc *scene) []string {
	switch {
	case sc.feed.Output() == nil:
		return []string{
			"The program's output was not saved with this trace.",
			"Runs under the screens of tcdbg run and tcdbg exec keep it; --plain leaves it to its terminal.",
		}
	case sc.run.Live:
		return []string{"The program has printed nothing yet."}
	}
	return []string{"The program printed nothing."}
}

// table lists what the program printed.
func (scr *outputScreen) table(feed Feed) rowsOf {
	if o := feed.Output(); o != nil {
		return outputRows{o, scr}
	}
	return rowSlice(nil)
}

// outputRows are the lines that the program printed.
type outputRows struct {
	o   Output
	scr *outputScreen
}

func (s outputRows) Len() int     { return s.o.Len() }
func (s outputRows) At(i int) row { return outputRow{s, i} }

func (s outputRows) index(key string) int { return indexOf(key, s.Len()) }

// outputRow is one line.
type outputRow struct {
	outputRows
	i int
}

func (r outputRow) key() string           { return fmt.Sprint(r.i) }
func (r outputRow) sel() Selection        { return Selection{} }
func (r outputRow) matches(q string) bool { return theme.IndexFold(r.o.Line(r.i).Text, q) >= 0 }
func (r outputRow) draw(*scene, int) theme.Line {
	l := r.o.Line(r.i)
	line := theme.L(theme.Plain, l.Text).Skip(r.scr.xoff)
	if l.Err {
		return append(theme.Line{{Text: "! ", Style: theme.Yellow}}, line...)
	}
	return append(theme.Line{{Text: "  "}}, line...)
}
