package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/tui/columns"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"
)

// columnFeeds are feeds in which every column of every screen has something to say.
func columnFeeds(t *testing.T) map[keys.Screen]Feed {
	rich := recompiledFeed()
	r := rich.report
	for _, rc := range r.Recompiles {
		rc.Failures = append(rc.Failures, rc.Failures[0], rc.Failures[0])
	}
	r.Recompiles[0].Failures[0].Entry = "1/0"
	failed := []explain.GuardFailure{{Entry: "1/0"}}
	r.Recompiles = append(r.Recompiles, &explain.Recompile{Compile: r.Frames[1].Compiles[0], Failures: failed})
	r.Breaks[0].LeftNanos = 2000
	untimed := richFeed()
	for _, k := range untimed.report.Kernels {
		k.Nanos, k.Calls, k.Timed = -1, -1, 0
	}
	out := map[keys.Screen]Feed{
		keys.Ranks: traceFeed(t, "testdata/job"), keys.Calls: callsFeed(), keys.Numerics: numericsFeed(),
		keys.Ledger: &triedFeed{fakeFeed: richFeed(), ledger: richLedger()}, keys.Profile: profiledFeed(t, "cpu-2.15"),
		-1: untimed, // of Kernels: without times there are others
	}
	for _, s := range []keys.Screen{
		keys.Overview, keys.Source, keys.Timeline, keys.Breaks, keys.Recompiles, keys.Guards, keys.Kernels, keys.Logs,
	} {
		out[s] = rich
	}
	return out
}

// listText is the list of the screen that is shown, with its lead.
func listText(d *driver) string {
	f := d.m.arrange()
	var out []string
	for i, l := range strings.Split(d.plain(), "\n") {
		if i >= f.Lead.Y && i < f.List.Y+f.List.H {
			out = append(out, theme.Cut(l, f.List.W))
		}
	}
	return strings.Join(out, "\n")
}

// Every column of every screen can be hidden, alone and with all others, and comes back; frames stay whole.
func TestColumnsAreHidden(t *testing.T) {
	for s, feed := range columnFeeds(t) {
		d := newDriver(t, feed, Options{}, 250, 50)
		if s < 0 {
			s = keys.Kernels
		}
		d.send(keyMsg(title(s).Key))
		d.script("keys g")
		c, whole := d.m.current().columns, listText(d)
		if s == keys.Kernels { // which there are depends on what was measured
			c.List = slices.DeleteFunc(slices.Clone(c.List), func(n columns.Named) bool {
				head := strings.ToUpper(n.Name)
				return n.Name != "compile" && !strings.Contains(whole, head)
			})
		}
		for i, n := range c.List {
			down := strings.Repeat(" j", i)
			d.script("keys C" + down + " space esc\nexpect 1 column hidden")
			if listText(d) == whole {
				t.Errorf("%s: without %s the list is as before:\n%s", title(s).Name, n.Name, whole)
			}
			if c.On(n.Name) {
				t.Errorf("%s: %s is not hidden", title(s).Name, n.Name)
			}
			d.script("keys C" + down + " enter esc\nrefute hidden")
			if got := listText(d); got != whole {
				t.Errorf("%s: with %s again the list is\n%s\nnot\n%s", title(s).Name, n.Name, got, whole)
			}
		}
		d.script("keys C" + strings.Repeat(" space j", len(c.List)) + " esc")
		if n := len(c.Hidden()); n != len(c.List) {
			t.Errorf("%s: %d of %d columns are hidden", title(s).Name, n, len(c.List))
		}
		for _, size := range []struct{ w, h int }{{60, 15}, {80, 24}, {160, 50}} {
			d.script(fmt.Sprintf("size %dx%d", size.w, size.h))
			checkFrame(t, d.frame(), size.w, size.h)
			d.script("keys C\nexpect " + c.List[0].Name)
			checkFrame(t, d.frame(), size.w, size.h)
			d.script("keys esc")
		}
		d.script("size 250x50\nkeys C a esc")
		if got := listText(d); got != whole {
			t.Errorf("%s: with all columns again the list is\n%s\nnot\n%s", title(s).Name, got, whole)
		}
	}
}

// The columns of the table of a graph's nodes are hidden, too; the name gets what they leave, and a drawing stays as it is.
func TestColumnsOfNodesAreHidden(t *testing.T) {
	d := newDriver(t, traceFeed(t, "testdata/bar.log"), Options{}, 160, 40)
	d.script(`
		keys 6
		expect NAME
		expect TARGET
		expect SHAPE
		expect FROM
		keys C space esc
		expect 1 column hidden
		refute TARGET
		keys C j space esc
		refute SHAPE
		expect FROM
		keys C j j space esc
		refute FROM
		expect 3 columns hidden
		keys C a esc
		expect TARGET
		refute hidden
	`)
	drawn := func() string {
		d.script("keys v")
		defer d.script("keys v v v v")
		return d.plain()
	}
	whole := drawn()
	d.script("keys C space esc")
	if got := drawn(); strings.ReplaceAll(got, "1 column hidden", "") == got {
		t.Errorf("nothing is hidden:\n%s", got)
	} else if strings.Count(got, "\n") != strings.Count(whole, "\n") || !strings.Contains(got, "●") {
		t.Errorf("a drawing without targets:\n%s", got)
	}
}

// What a hidden column leaves is room for the name, and for columns that had none.
func TestHiddenColumnsLeaveRoom(t *testing.T) {
	f := richFeed()
	name := "fused_" + strings.Repeat("long_", 11) + "end"
	f.report.Kernels[1].Name = name
	d := newDriver(t, f, Options{}, 80, 24)
	d.script("keys 8\nrefute " + name + "\nkeys C j space j space j space j j space esc\nexpect " + name)
	d = newDriver(t, richFeed(), Options{}, 80, 24)
	d.script(`
		expect eager
		expect ops eager  compile
		refute calls   ops
		keys C
		expect place    where the function begins  no room for it now
		expect calls    how often it was called  no room for it now
		keys j j j j space
		refute calls    how often it was called  no room
		keys esc
		expect calls   ops  compile
	`)
	d = newDriver(t, traceFeed(t, "testdata/job"), Options{}, 80, 24)
	d.script("keys =\nrefute recompiles\nkeys C j j space j space esc\nexpect recompiles")
	ledger := newDriver(t, &triedFeed{fakeFeed: richFeed(), ledger: richLedger()}, Options{}, 80, 24)
	ledger.script("keys $ C space j space esc")
	l := trialLine(ledger.m.current().columns, theme.Plain, " ", "name", richLedger().Baseline.Cells(), 78).Text()
	if theme.Width(l) != 78 {
		t.Errorf("%d cells: %q", theme.Width(l), l)
	}
}

// Hidden columns are so when the screens are opened again; names that no screen has are passed over.
func TestHiddenColumnsAreRestored(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 160, 50)
	d.script("keys 8 C j j space esc 5 C j j j space esc")
	again := newDriver(t, richFeed(), Options{Left: Left(d.m)}, 160, 50)
	again.script("screen Guards\nexpect 1 column hidden\nkeys 8\nexpect 1 column hidden\nrefute CALLS\nexpect PER CALL")
	bad := `{"screen":"Kernels","panes":{"Kernels":{"hidden":["no such","share"]},` +
		`"Output":{"hidden":["share"]}}}`
	newDriver(t, richFeed(), Options{Left: []byte(bad)}, 160, 50).script("expect 1 column hidden\nrefute SHARE\nkeys -\nrefute hidden")
}

// The list of columns closes by esc and by its own key; on a screen without columns the key does nothing.
func TestColumnsOpenAndClose(t *testing.T) {
	newDriver(t, richFeed(), Options{}, 160, 50).script(`
		keys 8 C
		expect Columns of Kernels
		expect ✓ per call
		keys C
		refute Columns of Kernels
		keys C k space
		expect a: show all
		keys esc
		screen Kernels
		keys ?
		expect hide and show columns
		keys esc -
		keys C
		refute Columns of
		keys 8 :
		type show columns
		keys enter
		expect Columns of Kernels
	`)
}

// In a window without room for the list of columns its keys do no harm.
func TestColumnsInATinyWindow(t *testing.T) {
	for _, size := range []string{"3x1", "3x3", "20x5", "30x6"} {
		d := newDriver(t, richFeed(), Options{Mouse: true}, 80, 24)
		d.script("keys 8\nsize " + size)
		for _, key := range []string{"enter", "space", "a", "j", "k"} {
			d.script("keys C" + strings.Repeat("\nwheel down 1 0", 9) + "\nkeys pgdown " + key + " esc esc")
		}
	}
}
