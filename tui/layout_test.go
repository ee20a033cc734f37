package tui

import "testing"

// The layout at the sizes that people have: where list and detail stand, and
// that nothing overlaps or leaves the terminal.
func TestArrange(t *testing.T) {
	for _, c := range []struct {
		w, h    int
		detail  bool
		zoom    bool
		list    rect
		det     rect
		stacked bool
	}{
		{120, 40, true, false, rect{0, 5, 50, 33}, rect{52, 5, 68, 33}, false},
		{200, 60, true, false, rect{0, 5, 84, 53}, rect{86, 5, 114, 53}, false},
		{80, 24, true, false, rect{0, 5, 80, 6}, rect{0, 12, 80, 10}, true},
		{80, 24, true, true, rect{}, rect{0, 5, 80, 17}, false},
		{60, 15, true, false, rect{0, 3, 60, 11}, rect{}, false},
		{60, 15, true, true, rect{}, rect{0, 2, 60, 12}, false},
		{120, 40, false, false, rect{0, 5, 120, 33}, rect{}, false},
		{10, 3, true, false, rect{0, 2, 10, 0}, rect{}, false},
	} {
		f := arrange(c.w, c.h, ask{lead: 2, detail: c.detail, zoom: c.zoom})
		if f.list != c.list || f.detail != c.det || f.stacked != c.stacked {
			t.Errorf("%dx%d detail=%v zoom=%v: list %v detail %v stacked %v", c.w, c.h, c.detail, c.zoom, f.list, f.detail, f.stacked)
		}
	}
	for w := 1; w < 260; w += 7 {
		for h := 3; h < 90; h++ {
			for _, a := range []ask{{}, {lead: 2, detail: true}, {lead: 8, detail: true, zoom: true}, {lead: 2, detail: true, share: 0.6}} {
				checkArrange(t, w, h, a)
			}
		}
	}
}

// checkArrange checks that every cell belongs to at most one rectangle.
func checkArrange(t *testing.T, w, h int, a ask) {
	f := arrange(w, h, a)
	owner := map[[2]int]bool{}
	for _, r := range []rect{f.header, f.tabs, f.rule, f.lead, f.list, f.divider, f.detail, f.bottom, f.footer} {
		for y := r.y; y < r.y+r.h && r.w > 0; y++ {
			for _, x := range []int{r.x, r.x + r.w - 1} {
				if x < 0 || x >= w || y < 0 || y >= h {
					t.Fatalf("%dx%d %+v: %v leaves the terminal", w, h, a, r)
				}
			}
			k := [2]int{r.x, y}
			if owner[k] {
				t.Fatalf("%dx%d %+v: %v overlaps", w, h, a, r)
			}
			owner[k] = true
		}
	}
}
