package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	trace "tcdbg/logs/calls"
	"tcdbg/tui/keys"
)

// texts are the rows that a pane shows, in their order.
func shownKeys(p *pane) (out []string) {
	for i := range p.Len() {
		out = append(out, p.at(i).key())
	}
	return out
}

// recompiledFeed has three functions that recompiled: often, long, and last.
func recompiledFeed() *fakeFeed {
	f := richFeed()
	r := f.report
	r.Recompiles = nil
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	add := func(fr *explain.Frame, n int, cause string, line int, seconds float64, after time.Duration) {
		id := fr.ID
		id.Compile = n
		c := &explain.Compile{ID: id, Frame: fr, Seconds: seconds, Start: start.Add(after)}
		fr.Compiles = append(fr.Compiles, c)
		c.Recompile = &explain.Recompile{Key: cause, Compile: c, Failures: []explain.GuardFailure{{
			Source: cause, Kind: "size", Expected: "1", Actual: "2", Pos: at(line, "f", ""),
		}}}
		r.Recompiles = append(r.Recompiles, c.Recompile)
	}
	often, long, last := r.Frames[3], r.Frames[0], r.Frames[1]
	add(often, 1, "once", 80, 0.1, 1*time.Second)
	add(often, 2, "twice", 79, 0.2, 2*time.Second)
	add(long, 1, "long", 20, 9, 3*time.Second)
	add(often, 3, "twice", 79, 0.3, 4*time.Second)
	add(last, 1, "last", 44, 0.1, 5*time.Second)
	r.Totals.Recompiles = 5
	return f
}

// Recompiles are sorted below the headings of their functions, and these by the same; the cursor stays on its row.
func TestRecompilesAreSorted(t *testing.T) {
	d := newDriver(t, recompiledFeed(), Options{}, 120, 40)
	d.script("keys 4 j")
	p := d.m.current()
	row := p.selected().key()
	for _, c := range []struct{ order, rows string }{
		{"most compile time first", "h[0/0] 0/1  h[3/0] 3/3 3/2 3/1  h[1/0] 1/1"},
		{"most often first", "h[3/0] 3/2 3/3 3/1  h[0/0] 0/1  h[1/0] 1/1"},
		{"by line", "h[0/0] 0/1  h[1/0] 1/1  h[3/0] 3/2 3/3 3/1"},
		{"newest first", "h[1/0] 1/1  h[3/0] 3/3 3/2 3/1  h[0/0] 0/1"},
		{"by function, as they came", "h[3/0] 3/1 3/2 3/3  h[0/0] 0/1  h[1/0] 1/1"},
	} {
		d.script("keys o\nexpect order: " + c.order)
		if got := p.selected().key(); got != row {
			t.Errorf("%s: the cursor went from %q to %q", c.order, row, got)
		}
		var got []string
		for i := range p.Len() {
			switch r := p.at(i).(type) {
			case *chainRow:
				got = append(got, "h"+idText(r.f.ID))
			case *recompileRow:
				got = append(got, strings.Trim(idText(r.rc.Compile.ID), "[]"))
			default:
				got = append(got, "")
			}
		}
		if text := strings.Join(got, " "); text != c.rows {
			t.Errorf("%s: %s, want %s", c.order, text, c.rows)
		}
	}
}

// Where a filter leaves no headings, recompiles of all functions are sorted as one list.
func TestFilteredRecompilesAreSorted(t *testing.T) {
	d := newDriver(t, recompiledFeed(), Options{}, 120, 40)
	d.script("keys 4 o f\ntype size\nkeys enter\nexpect filter \"size\": 5 of 10, most compile time first")
	var took []float64
	for i := range d.m.current().Len() {
		took = append(took, d.m.current().at(i).(*recompileRow).seconds())
	}
	if !slices.Equal(took, []float64{9, 0.3, 0.2, 0.1, 0.1}) {
		t.Error(took)
	}
}

// Guards are sorted by what they cost and how often they failed.
func TestGuardsAreSorted(t *testing.T) {
	f := richFeed()
	fr := f.report.Frames
	for i, g := range []explain.GuardTree{{Leaves: 9, Micros: 0.1}, {Leaves: 4, Micros: 0.9}, {Leaves: 7, Micros: 0.5}} {
		fr[i].Compiles[0].Guards = &explain.GuardTree{Leaves: g.Leaves, Micros: g.Micros, Load: fr[1].Compiles[0].Guards.Load}
	}
	f.report.Recompiles = []*explain.Recompile{{Compile: fr[2].Compiles[0], Failures: []explain.GuardFailure{{Entry: "2/0"}}}}
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys 5 j")
	p := d.m.current()
	row := p.selected().key()
	for _, c := range []struct{ order, ids string }{
		{"slowest check first", "1 2 0"},
		{"most guards first", "0 2 1"},
		{"most failures first", "2 0 1"},
		{"by line", "0 1 2"},
		{"as compiled", "0 1 2"},
	} {
		d.script("keys o\nexpect order: " + c.order)
		var ids []string
		for i := range p.Len() {
			ids = append(ids, fmt.Sprint(p.at(i).(*guardRow).c.ID.CompileID.Frame))
		}
		if got := strings.Join(ids, " "); got != c.ids || p.selected().key() != row {
			t.Errorf("%s: %s, want %s; the cursor on %q, was on %q", c.order, got, c.ids, p.selected().key(), row)
		}
	}
}

// An order by what no row has says so.
func TestOrdersWithoutFigures(t *testing.T) {
	f := richFeed()
	for _, k := range f.report.Kernels {
		k.Nanos, k.Calls, k.Timed = -1, -1, 0
	}
	for _, fr := range f.report.Frames {
		for _, c := range fr.Compiles {
			c.Seconds = 0
			if c.Guards != nil {
				c.Guards.Micros = 0
			}
		}
	}
	newDriver(t, f, Options{}, 120, 40).script(`
		keys 8 o
		expect order: slowest first; no kernel was timed
		keys o
		refute timed
		keys 5 o
		expect order: slowest check first; no check was timed
		keys 4 o
		expect order: most compile time first; no compile was timed
	`)
	newDriver(t, richFeed(), Options{}, 120, 40).script("keys 8 o\nexpect order: slowest first\nrefute no kernel was timed")
}

// Functions on Calls are sorted by their calls; those of which calls are not known come last.
func TestCallsAreSorted(t *testing.T) {
	f := richFeed()
	track := func(name string, line int, runs ...trace.Run) *explain.CallTrack {
		return &explain.CallTrack{Name: name, Pos: logs.Pos{File: modelFile, Line: line}, Runs: runs}
	}
	unknown := track("d", 5, trace.Run{Count: 99, Outcome: trace.Compiled})
	unknown.Derived = true
	f.report.Calls = explain.Calls{Recorded: true, Tracks: []*explain.CallTrack{
		track("a", 30, trace.Run{First: 1, Count: 5, Outcome: trace.Hit, Timed: 1, Nanos: 1000}),
		track("b", 20, trace.Run{First: 1, Count: 9, Outcome: trace.Hit, Timed: 9, Nanos: 900}),
		track("c", 10, trace.Run{First: 1, Count: 2, Outcome: trace.Eager, Timed: 2, Nanos: 10}),
		unknown,
	}}
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys @ j")
	p := d.m.current()
	for _, c := range []struct{ order, names string }{
		{"most calls first", "b a c d"},
		{"most time first", "a b c d"},
		{"most compiles, errors and eager calls first", "d c a b"},
		{"by line", "d c b a"},
		{"as compiled", "a b c d"},
	} {
		d.script("keys o\nexpect order: " + c.order)
		var names []string
		for i := range p.Len() {
			names = append(names, p.at(i).(*trackRow).track.Name)
		}
		if got := strings.Join(names, " "); got != c.names || p.selected().(*trackRow).track.Name != "b" {
			t.Errorf("%s: %s, want %s; the cursor on %q", c.order, got, c.names, p.selected().key())
		}
	}
}

// Records are sorted; what comes while they are goes to its place, and the cursor stays on its record.
func TestRecordsAreSorted(t *testing.T) {
	f := richFeed()
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys 0 g j j")
	p := d.m.current()
	same := func(order, want string) {
		t.Helper()
		if got := strings.Join(shownKeys(p), " "); got != want || p.selected().key() != "2" {
			t.Errorf("%s: %s, want %s; the cursor on %s", order, got, want, p.selected().key())
		}
	}
	d.script("keys o\nexpect order: newest first")
	same("newest first", "7 6 5 4 3 2 1 0")
	f.grow(Record{Kind: "dynamo_start", Rank: -1, Bytes: 250})
	d.script("poll")
	same("newest first", "8 7 6 5 4 3 2 1 0")
	d.script("keys o\nexpect order: oldest first")
	same("oldest first", "0 1 2 3 4 5 6 7 8")
	d.script("keys o\nexpect order: largest first")
	same("largest first", "7 6 5 4 3 8 2 1 0")
	f.grow(Record{Kind: "dynamo_start", Rank: -1, Bytes: 600}, Record{Kind: "dynamo_guards", Rank: -1, Bytes: 5000})
	d.script("poll")
	same("largest first", "10 7 6 9 5 4 3 8 2 1 0")
	d.script("keys o\nexpect order: by kind")
	same("by kind", "3 6 0 7 4 10 2 1 8 9 5")
	d.script("keys f\ntype dynamo_\nkeys enter\nexpect by kind")
	same("filtered", "3 4 10 2 1 8 9")
	f.grow(Record{Kind: "dynamo_a", Rank: -1}, Record{Kind: "str", Rank: -1})
	d.script("poll")
	same("filtered", "3 11 4 10 2 1 8 9")
	d.script("keys esc o\nexpect order: as recorded")
	if p.shown != nil || p.selected().key() != "2" {
		t.Errorf("as recorded: %v, the cursor on %s", p.shown, p.selected().key())
	}
}

// Records of several files are sorted by when they were written; a file comes after the other else.
func TestRecordsOfRanksAreSortedByTime(t *testing.T) {
	f := richFeed()
	f.records = nil
	for i, second := range []int{1, 4, 4, 2, 3} {
		when := time.Date(2026, 3, 1, 12, 0, second, 0, time.UTC)
		f.records = append(f.records, Record{
			Time: when.Format("15:04:05.000"), When: when, ID: "12/1_1", Rank: i / 3, Kind: "dynamo_start",
		})
	}
	d := newDriver(t, f, Options{}, 120, 40)
	for _, want := range []string{"2 1 4 3 0", "0 3 4 1 2"} {
		d.script("keys 0 o")
		if got := strings.Join(shownKeys(d.m.current()), " "); got != want {
			t.Errorf("%s: %s, want %s", d.m.current().order.name, got, want)
		}
	}
	d.script("expect [12/1_1] r1")
}

// grow adds records, as a program that runs does.
func (f *fakeFeed) grow(more ...Record) {
	f.records = append(f.records, more...)
	next := *f.report
	next.Totals.Records += int64(len(more))
	f.report = &next
}

// Whoever is on the newest record sees those that come; one that was chosen keeps the cursor.
func TestNewestRecordsAreFollowed(t *testing.T) {
	f := richFeed()
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys 0 G o\nexpect newest first")
	p := d.m.current()
	grow := func() string {
		f.grow(Record{Kind: "dynamo_start", Rank: -1})
		d.script("poll")
		return p.selected().key()
	}
	if p.selected().key() != "7" || grow() != "8" {
		t.Errorf("it followed: the cursor is on %s", p.selected().key())
	}
	d.script("keys j")
	if got := grow(); got != "7" {
		t.Errorf("chosen: the cursor is on %s", got)
	}
	d.script("keys g")
	if got := grow(); got != "10" {
		t.Errorf("on the newest: the cursor is on %s", got)
	}
	if p.list.Follow() {
		t.Error("it follows the end of a sorted list")
	}
}

// Search, marks and what is selected elsewhere find records in any order.
func TestSortedRecordsAreFound(t *testing.T) {
	f := richFeed()
	for i := range 30_000 {
		kind := "dynamo_start"
		if i%10_000 == 0 {
			kind = "needle"
		}
		f.records = append(f.records, Record{Kind: kind, Rank: -1, Bytes: int64(i % 1000)})
	}
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys 0 g /\ntype needle\nkeys enter m a o")
	p := d.m.current()
	if p.selected().key() != "8" {
		t.Fatalf("found %s", p.selected().key())
	}
	for _, want := range []string{"20008", "10008", "8"} {
		d.script("keys n")
		if got := p.selected().key(); got != want {
			t.Errorf("newest first: n goes to %s, want %s", got, want)
		}
	}
	d.script("keys N")
	if got := p.selected().key(); got != "10008" {
		t.Errorf("N goes to %s", got)
	}
	d.script("keys G ' a")
	if got := p.selected().key(); got != "8" {
		t.Errorf("the mark leads to %s", got)
	}
	p.toRecord(12345)
	if got := p.selected().key(); got != "12345" {
		t.Errorf("the selection leads to %s", got)
	}
	d.script("keys f\ntype start\nkeys enter n")
	if got := p.selected().key(); p.filter != "" || p.all.At(d.m.current().index(p.list.Cursor())).(recordRow).i%10_000 != 8 {
		t.Errorf("a hit that the filter hides: filter %q, record %s", p.filter, got)
	}
	again := newDriver(t, f, Options{Left: Left(d.m)}, 120, 40)
	if q := again.m.current(); q.order.name != "newest first" || q.selected().key() != p.selected().key() {
		t.Errorf("opened again: order %q, record %s", q.order.name, q.selected().key())
	}
}

// counted counts how often a record is looked at.
type counted struct {
	n     int
	looks *int
}

func (c counted) Len() int { return c.n }
func (c counted) At(i int) Record {
	*c.looks++
	return Record{Kind: fmt.Sprint("kind ", i%7), Rank: -1, Bytes: int64(i * 7919 % 100_003)}
}
func (c counted) Payload(int) string                                              { return "" }
func (c counted) Search(context.Context, string, func(i int), func(done float64)) {}

// growingRows is a table of records that becomes longer.
type growingRows struct{ c *counted }

func (g growingRows) Len() int             { return g.c.n }
func (g growingRows) At(i int) row         { return recordRow{r: g.c, i: i} }
func (g growingRows) index(key string) int { return indexOf(key, g.c.n) }

// A large trace is sorted with one look at each record; what is added costs a look at itself alone.
func TestSortingLooksOnce(t *testing.T) {
	looks := 0
	c := &counted{200_000, &looks}
	for _, o := range newLogs().state().orders[1:] {
		for _, filter := range []string{"", "kind"} {
			v := view{order: o, filter: filter}
			c.n = 200_000
			l := v.list(growingRows{c}, nil)
			looks = 0
			for range 20 {
				c.n += 50
				l = v.list(growingRows{c}, l)
			}
			if most := 20 * 50 * 2; looks > most {
				t.Errorf("%s, filter %q: %d looks at 1000 new records", o.name, filter, looks)
			}
			fresh := v.list(growingRows{c}, nil)
			if !slices.Equal(l.shown, fresh.shown) || len(l.shown) != c.n {
				t.Errorf("%s, filter %q: what was added is not in its place", o.name, filter)
			}
		}
	}
	looks = 0
	view{order: newLogs().state().orders[2]}.list(growingRows{c}, nil)
	if looks > c.n {
		t.Errorf("%d looks at %d records", looks, c.n)
	}
}

// An order that is chosen while another one is made is what is shown in the end.
func TestLastOrderCounts(t *testing.T) {
	f := richFeed()
	for i := range slowFilter {
		f.records = append(f.records, Record{Kind: "str", Rank: -1, Bytes: int64(i)})
	}
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys 0 g o")
	p := d.m.pane(keys.Logs)
	_, first := d.m.Update(keyMsg("o"))
	_, second := d.m.Update(keyMsg("o"))
	d.run(second)
	d.run(first)
	if p.order.name != "largest first" || p.listed.view.order.name != "largest first" {
		t.Errorf("order %q, shown %q", p.order.name, p.listed.view.order.name)
	}
	if got := p.at(0).key(); got != fmt.Sprint(len(f.records)-1) {
		t.Errorf("the first record is %s", got)
	}
}

// A report whose rows were made before the filter or the order changed moves nothing.
func TestLateReportKeepsRowAndOrder(t *testing.T) {
	for _, n := range []int{3, slowFilter + 10} {
		f := richFeed()
		for i := len(f.report.Kernels); i < n; i++ {
			f.report.Kernels = append(f.report.Kernels, &explain.Kernel{ID: cid(1, 0), Name: fmt.Sprintf("more_%d", i), Bytes: int64(i)})
		}
		d := newDriver(t, f, Options{}, 120, 40)
		d.script("keys 8 j")
		p := d.m.current()
		row := p.selected().key()
		next := *f.report
		next.Kernels = slices.Clone(f.report.Kernels)
		f.report = &next
		late := d.m.poll()()
		d.script("keys o o o\nexpect by name")
		d.send(late)
		if got := p.selected().key(); got != row {
			t.Errorf("%d kernels: the cursor went from %q to %q", n, row, got)
		}
		if p.Len() != n || p.at(0).(*kernelRow).k.Name != "fused_add_layer_norm_1" {
			t.Errorf("%d kernels: %d rows, the first is %s", n, p.Len(), p.at(0).key())
		}
	}
	f := richFeed()
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys 0 g j j")
	f.grow(Record{Kind: "dynamo_start", Rank: -1})
	late := d.m.poll()()
	d.script("keys o")
	d.send(late)
	if p := d.m.current(); p.selected().key() != "2" || p.at(0).key() != "8" {
		t.Errorf("records: the cursor on %s, the first is %s", p.selected().key(), p.at(0).key())
	}
}

// A search that ends after the order was changed goes to the row that it found.
func TestSearchBesideAnOrder(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 120, 40)
	d.script("keys 8 g")
	p := d.m.current()
	p.query = "layer_norm"
	found := p.findFrom(0, true)
	d.script("keys o o o\nexpect by name")
	d.run(found)
	if got := p.selected().(*kernelRow).k.Name; got != "fused_add_layer_norm_1" {
		t.Errorf("the cursor is on %s", got)
	}
}
