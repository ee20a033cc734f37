package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/tui/keys"
)

// jobFeed is a job of 256 ranks, each with twelve phases within each other. Rank 213 is the slowest of those that did the same; 17
// breaks elsewhere, 100 found nothing in the caches, 200 is a straggler, and 42 had its memory collected.
func jobFeed() *fakeFeed {
	t0 := time.UnixMilli(1_800_000_000_000)
	r := &explain.Report{Title: "job", RankGroups: []*explain.RankGroup{
		{Usual: true},
		{Ranks: []int{17}, Parted: explain.Parting{Kind: explain.PartBreak, Text: "breaks in step (a.py:3) where rank 0 does not"}},
		{Ranks: []int{100}, Parted: explain.Parting{Kind: explain.PartCache, Text: "finds in the caches for step: 1 x fx_graph miss"}},
		{Ranks: []int{200}, Parted: explain.Parting{Kind: explain.PartTime, Text: "takes 9.00 s to compile, the usual rank 3.00 s"}},
	}}
	for rank := range 256 {
		took := 3 * time.Second
		switch rank {
		case 213:
			took += 100 * time.Millisecond
		case 200:
			took *= 3
		}
		rk := &explain.Rank{Rank: rank}
		rk.Totals.CompileSeconds = took.Seconds()
		r.Ranks = append(r.Ranks, rk)
		if !slices.Contains([]int{17, 100, 200}, rank) {
			r.RankGroups[0].Ranks = append(r.RankGroups[0].Ranks, rank)
		}
		begin := len(r.Phases)
		id := explain.ID{Rank: rank, CompileID: logs.CompileID{}}
		add := func(name string, depth int, from, dur time.Duration) {
			r.Phases = append(r.Phases, &explain.Phase{
				Name: name, ID: id, Start: t0.Add(from), Dur: dur, Depth: depth, Source: rank,
			})
		}
		for d := range 12 {
			add(fmt.Sprintf("phase %d", d), d, time.Duration(d)*time.Millisecond, took-time.Duration(2*d)*time.Millisecond)
		}
		if rank == 42 {
			add("gc", 12, time.Second, time.Second)
		}
		selfTimes(r.Phases[begin:])
		r.Sources = append(r.Sources, logs.Source{Path: fmt.Sprintf("/job/%d.log", rank)})
	}
	r.Stragglers = []explain.Straggler{{Rank: 200, Seconds: 9, Usual: 3}}
	r.Totals.Compiles, r.Totals.CompileSeconds = 256, 256*3
	slices.SortStableFunc(r.Phases, func(a, b *explain.Phase) int { return a.Start.Compare(b.Start) })
	return &fakeFeed{report: r, run: Run{Title: "job"}}
}

// sides are the names of the tracks that a frame shows.
func sides(frame string) []string {
	var out []string
	for _, l := range strings.Split(frame, "\n") {
		for _, name := range []string{"▹", "▿", "rank "} {
			if strings.HasPrefix(l, " "+name) && !strings.Contains(l, "with the times of") {
				out = append(out, strings.TrimSpace(strings.TrimRight(l[:min(len(l), 18)], "█▓▒░▸ ")))
				break
			}
		}
	}
	return out
}

// Ranks that did the same are one track, with the times of the one that took longest; those that did not are seen beside it.
func TestTimelineFoldsRanks(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {160, 50}} {
		d := newDriver(t, jobFeed(), Options{}, size[0], size[1])
		d.script(`
			keys 9
			expect 253 ranks alike, with the times of rank 213, which took longest
			expect rank 17
			expect rank 100
			expect rank 200 slow
			expect ▹253 ranks
			refute rank 1 █
		`)
		if got := sides(d.plain()); len(got) != 4 {
			t.Errorf("at %v the tracks are %q", size, got)
		}
		p := d.m.pane(keys.Timeline)
		spans := 0
		for i := range p.Len() {
			if _, ok := p.at(i).(*spanRow); ok {
				spans++
			}
		}
		if spans != 4*12 {
			t.Errorf("%d spans are listed", spans)
		}
	}
}

// The key that folds elsewhere opens the track of the cursor, and closes it; the cursor stays on its phase.
func TestTimelineOpensRanks(t *testing.T) {
	d := newDriver(t, jobFeed(), Options{}, 160, 50)
	d.script("keys 9 / \ntype phase 3\nkeys enter z")
	scr := d.m.screens[keys.Timeline].(*timelineScreen)
	d.script(`
		expect ▿rank 213
		expect rank 0
		refute ranks alike
	`)
	if got := sides(d.plain()); len(got) < 8 {
		t.Errorf("the tracks are %q", got)
	}
	d.script("keys / \ntype r5\nkeys enter")
	if r, ok := scr.selected().(*spanRow); !ok || scr.head().ix.RankOf(r.event().Track) != 5 {
		t.Fatalf("the cursor is on %v", scr.selected())
	}
	name := scr.selected().(*spanRow).event().Name
	d.script("keys z\nexpect with the times of rank 213\nexpect ▹253 ranks")
	r, ok := scr.selected().(*spanRow)
	if !ok || r.event().Name != name || scr.head().ix.RankOf(r.event().Track) != 213 {
		t.Errorf("the cursor is on %v", scr.selected())
	}
	for _, rank := range []string{"r17", "r200"} {
		d.script("keys / \ntype " + rank + "\nkeys enter z\nexpect no other rank did the same\nexpect ▹253 ranks")
	}
	d.script("keys g z\nrefute ▹253 ranks\nkeys z\nexpect ▹253 ranks")
}

// A search finds what only a folded rank has, and shows that rank; a filter lists all ranks.
func TestTimelineSearchesFoldedRanks(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {160, 50}} {
		d := newDriver(t, jobFeed(), Options{}, size[0], size[1])
		scr := d.m.screens[keys.Timeline].(*timelineScreen)
		d.script("keys 9 / \ntype gc\nkeys enter\nexpect \"gc\" was folded, and is shown now\nexpect rank 42")
		if r, ok := scr.selected().(*spanRow); !ok || r.event().Name != "gc" {
			t.Errorf("the cursor is on %v", scr.selected())
		}
		if got := sides(d.plain()); len(got) != 5 {
			t.Errorf("the tracks are %q", got)
		}
		d.script("keys / \ntype r77\nkeys enter\nexpect rank 77\nexpect ▹253 ranks\nkeys n\nexpect \"r77\": 2 of 12")
		d.script("keys / \ntype nowhere\nkeys enter\nexpect \"nowhere\": not found")
		d.script("keys f \ntype r9\nkeys enter\nexpect filter \"r9\": 12 of")
	}
}

// What is open stays open when the report comes again, and a compile of a folded rank is found in the one that stands for it.
func TestTimelineKeepsFolds(t *testing.T) {
	d := newDriver(t, jobFeed(), Options{}, 160, 50)
	scr := d.m.screens[keys.Timeline].(*timelineScreen)
	d.script("keys 9 / \ntype gc\nkeys enter")
	scr.regroup(rowSlice(scr.rows(&input{report: jobFeed().report})))
	if len(scr.folds) != 251 {
		t.Errorf("%d ranks are folded", len(scr.folds))
	}
	if !scr.find(Selection{HasID: true, ID: explain.ID{Rank: 9}}) {
		t.Error("the compile of rank 9 is not found")
	}
	if r, ok := scr.selected().(*spanRow); !ok || scr.head().ix.RankOf(r.event().Track) != 213 {
		t.Errorf("the cursor is on %v", scr.selected())
	}
	d.script("keys z")
	scr.regroup(rowSlice(scr.rows(&input{report: jobFeed().report})))
	if len(scr.folds) != 0 {
		t.Errorf("%d ranks are folded", len(scr.folds))
	}
}

// The ranks of the run before fold as those of this one do, apart from them.
func TestTimelineFoldsTheRunBefore(t *testing.T) {
	f := jobFeed()
	f.before = jobFeed().report
	d := newDriver(t, f, Options{}, 160, 50)
	d.script(`
		keys 9 d
		expect ▹506 ranks in 2 tracks, each with the times of its longest rank · z opens
	`)
	d.script("keys / \ntype phase 3\nkeys enter z\nexpect ▿rank 213\nexpect ▹253 ranks alike, with the times of rank 213")
	d.script("keys d\nexpect ▿rank 213\nrefute ranks alike")
}

// Of ranks that are open, the selected one is shown with as many levels as fit.
func TestTimelineScrollsToATrack(t *testing.T) {
	d := newDriver(t, jobFeed(), Options{}, 160, 50)
	d.script("keys 9 / \ntype r9\nkeys enter z z / \ntype r99\nkeys enter")
	lines := strings.Split(d.plain(), "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, " rank 99 ") })
	if at < 0 || !strings.Contains(lines[at+5], "phase 5") {
		t.Errorf("rank 99 is in line %d:\n%s", at, strings.Join(lines[:26], "\n"))
	}
}

// A click finds the span that is drawn there, whichever tracks are folded.
func TestTimelineClicksOnRanks(t *testing.T) {
	d := newDriver(t, jobFeed(), Options{}, 160, 50)
	d.script("keys 9")
	for y, l := range strings.Split(d.plain(), "\n") {
		if x := strings.Index(l, "rank 200 slow"); x >= 0 {
			d.script(fmt.Sprintf("click %d %d", x+30, y))
			break
		}
	}
	d.script("expect compile [0/0 r200]")
}
