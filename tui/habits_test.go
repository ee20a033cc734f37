package tui

import (
	"slices"
	"strings"
	"testing"

	"tcdbg/explain/remedy"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// A search says which of how many matches it is at; up brings back what was searched for before.
func TestSearchCountsAndRemembers(t *testing.T) {
	d := newDriver(t, traceFeed(t, "testdata/bar.log"), Options{}, 100, 30)
	d.script("keys 0 g /\ntype nothing of the kind\nkeys enter /\ntype graph\nkeys enter n")
	if !strings.Contains(d.plain(), `"graph": 2 of `) {
		t.Errorf("the second hit is not said to be one:\n%s", d.plain())
	}
	d.script("keys /\nkeys up\nexpect /graph\nkeys up\nexpect /nothing of the kind\nkeys down down\nrefute nothing of the kind\nkeys esc")
	d = newDriver(t, richFeed(), Options{}, 100, 30)
	d.script("keys 3 /\ntype model.go\nkeys enter\nexpect \"model.go\": ")
	if !strings.Contains(d.plain(), " of ") {
		t.Error(d.plain())
	}
}

// The count is of all matches, wherever the cursor is.
func TestHitCount(t *testing.T) {
	third := func(i int) bool { return i%3 == 0 }
	for at, want := range map[int]string{0: "1 of 4", 3: "2 of 4", 9: "4 of 4"} {
		if got := hitCount(third, 10, at); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
	if got := hitCount(third, maxCounted+1, 3); got != "row 4 of 1048577" {
		t.Error(got)
	}
}

// A mark comes back to its row from another screen.
func TestMarks(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 100, 30)
	d.script("keys 8 j")
	want := d.m.current().selected().key()
	d.script("keys m a\nexpect ' a comes back here\nkeys 3 ' a\nscreen Kernels")
	if got := d.m.current().selected().key(); got != want {
		t.Errorf("the mark leads to %q, not %q", got, want)
	}
	d.script("keys ' b\nexpect no mark b\nkeys m +\nexpect no mark: a mark is a letter or a digit\nkeys m esc 3\nscreen Breaks")
}

// The list is made wider and narrower, within limits.
func TestWidthOfTheList(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 160, 40)
	d.script("keys 3")
	before := d.m.arrange().List.W
	d.script("keys > >\nexpect of the width")
	if after := d.m.arrange().List.W; after <= before {
		t.Errorf("the list has %d columns, and had %d", after, before)
	}
	d.script(strings.Repeat("keys <\n", 30))
	if f := d.m.arrange(); f.List.W < 160*leastShare-1 {
		t.Errorf("the list has %d columns", f.List.W)
	}
}

// What was left is there again: screen, row, filter, order, width, marks and searches.
func TestScreensAreRestored(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 160, 40)
	d.script("keys 3 f\ntype model\nkeys enter >\nkeys /\ntype model\nkeys enter\nkeys 8 o j m k")
	left := Left(d.m)
	row, order := d.m.current().selected().key(), d.m.current().order.name
	again := newDriver(t, richFeed(), Options{Left: left}, 160, 40)
	again.script("screen Kernels")
	if p := again.m.current(); p.selected().key() != row || p.order.name != order {
		t.Errorf("on row %q, ordered %q; left on %q, %q", p.selected().key(), p.order.name, row, order)
	}
	again.script("keys 3\nexpect filter \"model\"\nkeys ' k\nscreen Kernels\nkeys /\nkeys up\nexpect /model\nkeys esc")
	if got, want := again.m.pane(keys.Breaks).chosen, d.m.pane(keys.Breaks).chosen; got != want || got == 0 {
		t.Errorf("the list has %v of the width, and had %v", got, want)
	}
	for _, bad := range []string{"{", `{"screen":"No Such","panes":{"Breaks":{"mode":99,"share":7,"row":"x","order":"y"}},` +
		`"marks":{"\u001b":{}}}`} {
		newDriver(t, richFeed(), Options{Left: []byte(bad)}, 80, 24).script("screen Overview\nkeys 3\nscreen Breaks")
	}
}

// The palette has the themes; the one that is chosen is kept.
func TestThemeOfThePalette(t *testing.T) {
	kept := ""
	keep := func(name string) error {
		kept = name
		return nil
	}
	d := newDriver(t, richFeed(), Options{Colour: true, KeepTheme: keep}, 80, 24)
	before := d.frame()
	d.script("keys :\ntype theme high\nkeys enter\nexpect theme: high-contrast")
	if kept != "high-contrast" {
		t.Errorf("kept %q", kept)
	}
	if after := d.frame(); !strings.Contains(after, "\x1b[1;9") || strings.Contains(before, "\x1b[1;9") {
		t.Errorf("the colours are the same: %q", after[:400])
	}
}

// Rows of the Ranks screen are sorted below their heading.
func TestRanksAreSorted(t *testing.T) {
	d := newDriver(t, traceFeed(t, "testdata/job"), Options{}, 120, 40)
	d.script("keys = o\nexpect order: slowest first")
	p := d.m.current()
	if _, head := p.at(0).(*headRow); !head {
		t.Errorf("the first row is %T", p.at(0))
	}
	if r, ok := p.at(1).(*rankRow); !ok || r.ranks[0].Rank != 3 {
		t.Errorf("the slowest row is %v", p.at(1))
	}
}

// Graphs that were compared, what took time, and trials are sorted where they stand: headings, the capture and the
// baseline keep their places, and the cursor its row.
func TestRowsBetweenHeadsAreSorted(t *testing.T) {
	for _, c := range []struct {
		feed   Feed
		key    string
		orders []string
	}{
		{numericsFeed(), "#", []string{"largest difference first", "most calls compared first", "by name", "differing first"}},
		{profiledFeed(t, "cpu-2.15"), "%", []string{"most calls first", "by kind", "by name", "by line", "most time first"}},
		{&triedFeed{fakeFeed: richFeed(), ledger: richLedger()}, "$", []string{
			"fewest breaks first", "shortest call first", "shortest compile first", "least memory first", "proven first",
		}},
	} {
		if f, ok := c.feed.(*triedFeed); ok {
			for i, tr := range f.ledger.Ranked() { // the last one has fewest
				fewer := 9 - i
				tr.Measured = &remedy.Measured{Breaks: &fewer}
			}
		}
		d := newDriver(t, c.feed, Options{}, 160, 50)
		d.script("keys " + c.key + " j")
		p := d.m.current()
		rows := func() (out []string) {
			for i := range p.Len() {
				out = append(out, p.at(i).key())
			}
			return out
		}
		row, first, before := p.selected().key(), rows(), strings.Join(rows(), "\n")
		changed := false
		for _, name := range c.orders {
			d.script("keys o\nexpect order: " + name)
			now := rows()
			if got := p.selected().key(); got != row {
				t.Errorf("%s: the cursor went from %q to %q", name, row, got)
			}
			changed = changed || strings.Join(now, "\n") != before
			sorted := slices.Sorted(slices.Values(now))
			if !slices.Equal(sorted, slices.Sorted(slices.Values(first))) {
				t.Errorf("%s: other rows: %q", name, now)
			}
			for i, k := range first {
				if (k == "" || k == "capture" || k == "try baseline") && now[i] != k {
					t.Errorf("%s: row %d is %q, not %q", name, i, now[i], k)
				}
			}
		}
		if got := strings.Join(rows(), "\n"); got != before || !changed {
			t.Errorf("%s: sorted in every way the rows are\n%s\nthey were\n%s", c.key, got, before)
		}
	}
}

// The order of costs and trials is what it says.
func TestOrdersOfFiguresHold(t *testing.T) {
	d := newDriver(t, profiledFeed(t, "cpu-2.15"), Options{}, 160, 50)
	d.script("keys % o")
	p, most := d.m.current(), int64(1)<<62
	for i := range p.Len() {
		if r, ok := p.at(i).(*costRow); ok {
			if r.c.Calls > most {
				t.Errorf("%s was called %d times, the one above it %d", r.c.Text(), r.c.Calls, most)
			}
			most = r.c.Calls
		}
	}
	d = newDriver(t, &triedFeed{fakeFeed: richFeed(), ledger: richLedger()}, Options{}, 160, 50)
	d.script("keys $ o")
	p = d.m.current()
	least, trials := -1, 0
	for i := range p.Len() {
		r, ok := p.at(i).(*trialRow)
		if !ok || len(r.t.Remedies) == 0 {
			continue
		}
		trials++
		if r.t.Measured == nil || r.t.Measured.Breaks == nil {
			least = 1 << 30
		} else if n := *r.t.Measured.Breaks; n < least {
			t.Errorf("%s has %d breaks, the one above it %d", r.t.ID(), n, least)
		} else {
			least = n
		}
	}
	if trials < 2 {
		t.Errorf("%d trials", trials)
	}
}

// Breaks are sorted; the cursor stays on its row, and the next open has the order again.
func TestBreaksAreSorted(t *testing.T) {
	feed := richFeed()
	for _, g := range feed.report.Breaks {
		if g.Key == "GB0059 Decoder.Forward" {
			g.Seconds = 99
		}
	}
	d := newDriver(t, feed, Options{}, 120, 40)
	d.script("keys 3 j")
	p := d.m.current()
	keys := func() (out []string) {
		for i := range p.shown {
			out = append(out, p.at(i).key())
		}
		return out
	}
	row := p.selected().key()
	orders := map[string]bool{}
	for _, name := range []string{"most compile time first", "most often first", "by line"} {
		d.script("keys o\nexpect order: " + name)
		if got := p.selected().key(); got != row {
			t.Errorf("%s: the cursor went from %q to %q", name, row, got)
		}
		orders[strings.Join(keys(), "\n")] = true
	}
	if len(orders) < 2 {
		t.Errorf("every order shows the same rows: %q", keys())
	}
	last := 0
	for i := range p.shown {
		r, ok := p.at(i).(*breakRow)
		if !ok || r.fold != "" {
			break
		}
		if i > 0 && p.at(i-1).(*breakRow).g.Lead.Pos.File == r.g.Lead.Pos.File && r.g.Lead.Pos.Line < last {
			t.Errorf("line %d is below line %d", r.g.Lead.Pos.Line, last)
		}
		last = r.g.Lead.Pos.Line
	}
	again := newDriver(t, richFeed(), Options{Left: Left(d.m)}, 120, 40)
	if p := again.m.current(); p.order.name != "by line" || p.selected().key() != row {
		t.Errorf("opened again: order %q, row %q", p.order.name, p.selected().key())
	}
}

// Who is here for the first time is told where to begin.
func TestHintOfTheFirstTime(t *testing.T) {
	for _, w := range []int{60, 80} {
		newDriver(t, richFeed(), Options{Hint: true}, w, 24).script(
			"expect first time here: ? shows the keys\nkeys j\nrefute first time here")
	}
}

// Every screen fits every size: as many lines as the terminal has, each as wide, with rows that can be read and
// clicked.
func TestEveryScreenAtEverySize(t *testing.T) {
	for _, trace := range []string{"", "../explain/testdata/traces/pytorch-2.15/ddp_train"} {
		for _, size := range []struct{ w, h int }{{60, 15}, {80, 24}, {160, 50}, {250, 80}} {
			feed := Feed(richFeed())
			if trace != "" {
				feed = traceFeed(t, trace)
			}
			d := newDriver(t, feed, Options{Mouse: true}, size.w, size.h)
			for s := range d.m.screens {
				d.send(keyMsg(title(keys.Screen(s)).Key))
				for _, more := range []string{"", "keys j", "keys enter", "keys esc", "wheel down 5 8", "wheel up 5 8", "click 5 8"} {
					d.script(more)
					lines := strings.Split(d.plain(), "\n")
					if len(lines) != size.h {
						t.Fatalf("%s, %dx%d, %s: %d lines", title(d.m.at).Name, size.w, size.h, more, len(lines))
					}
					for i, l := range lines {
						if n := theme.Width(l); n != size.w {
							t.Fatalf("%s, %dx%d, %s: line %d has %d cells: %q", title(d.m.at).Name, size.w, size.h, more, i, n, l)
						}
					}
				}
			}
		}
	}
}
