package tui

import (
	"strings"
	"testing"

	"tcdbg/tui/keys"
)

// Three screens beside each other: what is selected in one is in the others.
func TestGoldenLinked(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 160, 50)
	var b strings.Builder
	for _, step := range []string{"keys 2 |", "keys tab tab j", "keys 3 j"} {
		d.script(step)
		for _, l := range strings.Split(d.frame(), "\n") {
			b.WriteString(strings.TrimRight(strings.ReplaceAll(l, "\x1b", "␛"), " ") + "\n")
		}
		b.WriteString("===\n")
	}
	golden(t, "linked-160x50.txt", b.String())
}

// Moving among the kernels moves Source to the line of each, and the other way round.
func TestLinkedScreensFollow(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 160, 50)
	d.script("keys 8 |\nscreen Kernels\nexpect 2 Source\nexpect 6 Graph")
	lines := map[string]bool{}
	for range 4 {
		d.script("keys j")
		d.frame()
		if r := d.m.pane(keys.Source).selected(); r != nil {
			lines[r.key()] = true
		}
	}
	if len(lines) < 2 {
		t.Errorf("the cursor of Source was at %v", lines)
	}
	d.script("keys tab\nscreen Source")
	before := d.m.pane(keys.Kernels).selected().key()
	moved := false
	for range 30 {
		d.script("keys k")
		d.frame()
		moved = moved || d.m.pane(keys.Kernels).selected().key() != before
	}
	if !moved {
		t.Error("the cursor of Kernels stays where it is")
	}
}

// A screen's key puts it in the place of the one with the keys, or goes to where it is; tab and the
// mouse go from one to the next; the second | ends it, and so does a terminal that is too small.
func TestLinkedScreensAreChosen(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 160, 50)
	d.script("keys 2 | 3")
	if want := [3]keys.Screen{keys.Breaks, keys.Graph, keys.Kernels}; d.m.linked.of != want {
		t.Error(d.m.linked.of)
	}
	d.script("keys 6\nscreen Graph\nkeys tab\nscreen Kernels\nkeys tab\nscreen Breaks\nkeys 8 4\nscreen Recompiles")
	if want := [3]keys.Screen{keys.Breaks, keys.Graph, keys.Recompiles}; d.m.linked.of != want {
		t.Error(d.m.linked.of)
	}
	d.script("click 70 10\nscreen Graph\nsize 120x40\nrefute 4 Recompiles ─\nscreen Graph\nkeys |\nsize 160x50\nrefute ── 4 Recompiles")
	d.script("size 100x40\nkeys |\nexpect linked panes want 160 columns and 24 lines; this terminal has 100 and 40")
}
