package timeline

// This file is the window onto an axis: what zooming and moving make of it.

// View is the part of a chart that is shown. Its zero value shows all of the axis.
type View struct {
	From, To int64 // on the axis; To 0: all of it
	Top      int   // the first line that is shown
	Whole    bool  // gaps are as long as they are
}

// narrowest is the least that a window shows, in nanoseconds.
const narrowest = 100

// Window is what is shown of an axis.
func (v View) Window(a Axis) (from, to int64) {
	if v.To <= 0 || v.To > a.Len() && v.From <= 0 {
		return 0, max(1, a.Len())
	}
	return v.From, v.To
}

// Zoomed says whether it shows less than all.
func (v View) Zoomed(a Axis) bool {
	from, to := v.Window(a)
	return from > 0 || to < a.Len()
}

// Zoom shows a window of by times the length; the place at stays where it is.
func (v *View) Zoom(a Axis, by float64, at int64) {
	from, to := v.Window(a)
	at = max(from, min(to, at))
	length := max(narrowest, int64(float64(to-from)*by))
	if length >= a.Len() {
		v.From, v.To = 0, 0
		return
	}
	start := at - int64(float64(at-from)/float64(max(1, to-from))*float64(length))
	v.put(a, start, length)
}

// Pan moves the window by a part of its length.
func (v *View) Pan(a Axis, by float64) {
	if !v.Zoomed(a) {
		return
	}
	from, to := v.Window(a)
	v.put(a, from+int64(by*float64(to-from)), to-from)
}

func (v *View) put(a Axis, from, length int64) {
	from = max(0, min(a.Len()-length, from))
	v.From, v.To = from, from+length
}

// Fit shows one event, with a little around it.
func (v *View) Fit(a Axis, e *Event) {
	from, to := a.On(e.Start), a.On(e.End())
	room := max(narrowest, (to-from)/20)
	if length := to - from + 2*room; length < a.Len() {
		v.put(a, from-room, length)
		return
	}
	v.From, v.To = 0, 0
}

// Show moves the window so that an event is in it.
func (v *View) Show(a Axis, e *Event) {
	from, to := v.Window(a)
	begin, end := a.On(e.Start), a.On(e.End())
	if begin < to && end > from {
		return
	}
	v.put(a, (begin+end)/2-(to-from)/2, to-from)
}

// All shows the whole axis.
func (v *View) All() { v.From, v.To = 0, 0 }

// Line moves the lines so that one of h is among those that are shown.
func (v *View) Line(line, lines, h int) {
	if line >= 0 {
		v.Top = min(v.Top, line)
		v.Top = max(v.Top, line-h+1)
	}
	v.Top = max(0, min(v.Top, lines-h))
}
