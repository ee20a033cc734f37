// Package layout is where everything goes on a terminal: one pure function from its
// size to rectangles, so that every size can be tested without drawing anything.
//
// It imports nothing of ours. Open layout.go.
package layout

// Rect is a place on the terminal.
type Rect struct{ X, Y, W, H int }

// Has reports whether a cell is in the rectangle.
func (r Rect) Has(x, y int) bool {
	return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H
}

// Frame is where everything goes. An empty rect is not shown.
type Frame struct {
	Header, Tabs, Rule, Lead Rect
	List, Divider, Detail    Rect
	Bottom, Footer           Rect
	Stacked                  bool // the detail is below the list
}

// The sizes at which the layout changes.
const (
	wide      = 100 // list and detail side by side
	tallStack = 20  // room for a detail below the list
	tallRules = 18  // room for rules and lead
)

// Ask is what a screen asks of the layout.
type Ask struct {
	Lead   int     // lines above the list
	Detail bool    // it has a detail pane
	Share  float64 // of the list, when side by side; above a half also when stacked
	Rows   int     // of the list: a short one leaves its room to the detail; 0: many
	Zoom   bool    // the detail alone (it has the focus in a small terminal)
}

// Arrange lays out a terminal of w by h cells.
func Arrange(w, h int, a Ask) Frame {
	var f Frame
	y := 0
	line := func(n int) Rect {
		r := Rect{0, y, w, n}
		y += n
		return r
	}
	f.Header = line(1)
	f.Tabs = line(1)
	if h >= tallRules {
		f.Rule = line(1)
	}
	foot := 1
	if h >= tallRules {
		foot = 2
	}
	body := max(0, h-y-foot)
	if a.Lead > 0 && h < tallRules {
		a.Lead = 1
	}
	if lead := min(a.Lead, body/2); lead > 0 && (!a.Zoom || h >= tallRules) {
		f.Lead = line(lead)
		body -= lead
	}
	f.split(a, Rect{0, y, w, body})
	if foot == 2 {
		f.Bottom = Rect{0, h - 2, w, 1}
	}
	f.Footer = Rect{0, h - 1, w, 1}
	return f
}

// split divides the body between list and detail.
func (f *Frame) split(a Ask, body Rect) {
	switch {
	case !a.Detail:
		f.List = body
	case body.W >= wide:
		if a.Share == 0 {
			a.Share = 0.42
		}
		lw := int(float64(body.W) * a.Share)
		f.List = Rect{body.X, body.Y, lw, body.H}
		f.Divider = Rect{body.X + lw, body.Y, 1, body.H}
		f.Detail = Rect{body.X + lw + 2, body.Y, body.W - lw - 2, body.H}
	case body.H >= tallStack-6 && !a.Zoom:
		f.Stacked = true
		lh := int(float64(body.H) * max(0.4, a.Share*0.9))
		if a.Share <= 0.5 {
			lh = body.H * 2 / 5
		}
		if a.Rows > 0 {
			lh = min(lh, a.Rows+1)
		}
		lh = max(3, lh)
		f.List = Rect{body.X, body.Y, body.W, lh}
		f.Divider = Rect{body.X, body.Y + lh, body.W, 1}
		f.Detail = Rect{body.X, body.Y + lh + 1, body.W, body.H - lh - 1}
	case a.Zoom:
		f.Detail = body
	default:
		f.List = body
	}
}

// Body is the whole body of a frame.
func (f Frame) Body() Rect {
	top := f.Tabs.Y + 1
	if f.Rule.H > 0 {
		top++
	}
	bottom := f.Footer.Y
	if f.Bottom.H > 0 {
		bottom--
	}
	return Rect{0, top, f.Header.W, max(1, bottom-top)}
}
