package tui

// This file is the layout: one pure function from the terminal's size to
// rectangles, so that every size can be tested without drawing anything.

// rect is a place on the terminal.
type rect struct{ x, y, w, h int }

func (r rect) has(x, y int) bool {
	return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h
}

// frame is where everything goes. An empty rect is not shown.
type frame struct {
	header, tabs, rule, lead rect
	list, divider, detail    rect
	bottom, footer           rect
	stacked                  bool // the detail is below the list
}

// The sizes at which the layout changes.
const (
	wide      = 100 // list and detail side by side
	tallStack = 20  // room for a detail below the list
	tallRules = 18  // room for rules and lead
)

// ask is what a screen asks of the layout.
type ask struct {
	lead   int     // lines above the list
	detail bool    // it has a detail pane
	share  float64 // of the list, when side by side; above a half also when stacked
	rows   int     // of the list: a short one leaves its room to the detail; 0: many
	zoom   bool    // the detail alone (it has the focus in a small terminal)
}

// arrange lays out a terminal of w by h cells.
func arrange(w, h int, a ask) frame {
	var f frame
	y := 0
	line := func(n int) rect {
		r := rect{0, y, w, n}
		y += n
		return r
	}
	f.header = line(1)
	f.tabs = line(1)
	if h >= tallRules {
		f.rule = line(1)
	}
	foot := 1
	if h >= tallRules {
		foot = 2
	}
	body := max(0, h-y-foot)
	if a.lead > 0 && h < tallRules {
		a.lead = 1
	}
	if lead := min(a.lead, body/2); lead > 0 && (!a.zoom || h >= tallRules) {
		f.lead = line(lead)
		body -= lead
	}
	f.split(a, rect{0, y, w, body})
	if foot == 2 {
		f.bottom = rect{0, h - 2, w, 1}
	}
	f.footer = rect{0, h - 1, w, 1}
	return f
}

// split divides the body between list and detail.
func (f *frame) split(a ask, body rect) {
	switch {
	case !a.detail:
		f.list = body
	case body.w >= wide:
		if a.share == 0 {
			a.share = 0.42
		}
		lw := int(float64(body.w) * a.share)
		f.list = rect{body.x, body.y, lw, body.h}
		f.divider = rect{body.x + lw, body.y, 1, body.h}
		f.detail = rect{body.x + lw + 2, body.y, body.w - lw - 2, body.h}
	case body.h >= tallStack-6 && !a.zoom:
		f.stacked = true
		lh := int(float64(body.h) * max(0.4, a.share*0.9))
		if a.share <= 0.5 {
			lh = body.h * 2 / 5
		}
		if a.rows > 0 {
			lh = min(lh, a.rows+1)
		}
		lh = max(3, lh)
		f.list = rect{body.x, body.y, body.w, lh}
		f.divider = rect{body.x, body.y + lh, body.w, 1}
		f.detail = rect{body.x, body.y + lh + 1, body.w, body.h - lh - 1}
	case a.zoom:
		f.detail = body
	default:
		f.list = body
	}
}

// overlay is the whole body of a frame.
func (f frame) overlay() rect {
	top := f.tabs.y + 1
	if f.rule.h > 0 {
		top++
	}
	bottom := f.footer.y
	if f.bottom.h > 0 {
		bottom--
	}
	return rect{0, top, f.header.w, max(1, bottom-top)}
}
