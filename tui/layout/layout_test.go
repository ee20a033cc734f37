package layout

import "testing"

// The layout at the sizes that people have: where list and detail are, and
// that nothing overlaps or leaves the terminal.
func TestArrange(t *testing.T) {
	for _, c := range []struct {
		w, h    int
		detail  bool
		zoom    bool
		list    Rect
		det     Rect
		stacked bool
	}{
		{120, 40, true, false, Rect{0, 5, 50, 33}, Rect{52, 5, 68, 33}, false},
		{200, 60, true, false, Rect{0, 5, 84, 53}, Rect{86, 5, 114, 53}, false},
		{80, 24, true, false, Rect{0, 5, 80, 6}, Rect{0, 12, 80, 10}, true},
		{80, 24, true, true, Rect{}, Rect{0, 5, 80, 17}, false},
		{60, 15, true, false, Rect{0, 3, 60, 11}, Rect{}, false},
		{60, 15, true, true, Rect{}, Rect{0, 2, 60, 12}, false},
		{120, 40, false, false, Rect{0, 5, 120, 33}, Rect{}, false},
		{10, 3, true, false, Rect{0, 2, 10, 0}, Rect{}, false},
	} {
		f := Arrange(c.w, c.h, Ask{Lead: 2, Detail: c.detail, Zoom: c.zoom})
		if f.List != c.list || f.Detail != c.det || f.Stacked != c.stacked {
			t.Errorf("%dx%d detail=%v zoom=%v: list %v detail %v stacked %v", c.w, c.h, c.detail, c.zoom, f.List, f.Detail, f.Stacked)
		}
	}
	for w := 1; w < 260; w += 7 {
		for h := 3; h < 90; h++ {
			for _, a := range []Ask{{}, {Lead: 2, Detail: true}, {Lead: 8, Detail: true, Zoom: true}, {Lead: 2, Detail: true, Share: 0.6}} {
				checkArrange(t, w, h, a)
			}
		}
	}
}

// checkArrange checks that every cell belongs to at most one rectangle.
func checkArrange(t *testing.T, w, h int, a Ask) {
	f := Arrange(w, h, a)
	owner := map[[2]int]bool{}
	for _, r := range []Rect{f.Header, f.Tabs, f.Rule, f.Lead, f.List, f.Divider, f.Detail, f.Bottom, f.Footer} {
		for y := r.Y; y < r.Y+r.H && r.W > 0; y++ {
			for _, x := range []int{r.X, r.X + r.W - 1} {
				if x < 0 || x >= w || y < 0 || y >= h {
					t.Fatalf("%dx%d %+v: %v leaves the terminal", w, h, a, r)
				}
			}
			k := [2]int{r.X, y}
			if owner[k] {
				t.Fatalf("%dx%d %+v: %v overlaps", w, h, a, r)
			}
			owner[k] = true
		}
	}
}
