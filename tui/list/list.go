// Package list is the one virtual list of the screens: it draws only the rows
// that are seen, remembers them by row, width and version, and keeps the
// cursor on its row while rows come and go around it.
//
// It imports tui/theme only. Open list.go.
package list

import "tcdbg/tui/theme"

// Source is what a list shows.
type Source interface {
	// Len is the number of rows.
	Len() int
	// Draw draws row i for a width; the list cuts what is longer.
	Draw(i, width int, selected bool) theme.Line
	// Selectable reports whether the cursor may be on row i.
	Selectable(i int) bool
}

// List is the state of one list.
type List struct {
	cursor, top int
	follow      bool // the cursor stays on the last row

	memo    map[memoKey]theme.Line
	width   int
	version uint64
}

type memoKey struct {
	row      int
	selected bool
}

// Cursor is the selected row.
func (l *List) Cursor() int { return l.cursor }

// Top is the first row that is seen.
func (l *List) Top() int { return l.top }

// Follow reports whether the cursor follows the last row.
func (l *List) Follow() bool { return l.follow }

// SetFollow makes the cursor follow the last row, or stop doing so.
func (l *List) SetFollow(on bool) { l.follow = on }

// Set puts the cursor on row i (or the next one that can be selected) without
// moving the window more than needed.
func (l *List) Set(src Source, i int) {
	l.cursor = nearest(src, clamp(i, 0, src.Len()-1), 1)
}

// Shift moves cursor and window together by n rows: rows were inserted above,
// and the eye should not lose its place.
func (l *List) Shift(n int) {
	l.cursor += n
	l.top = max(0, l.top+n)
}

// Move moves the cursor by n rows that can be selected.
func (l *List) Move(src Source, n int) {
	step := 1
	if n < 0 {
		step, n = -1, -n
	}
	at := clamp(l.cursor, 0, src.Len()-1)
	for range n {
		next := at + step
		for next >= 0 && next < src.Len() && !src.Selectable(next) {
			next += step
		}
		if next < 0 || next >= src.Len() {
			break
		}
		at = next
	}
	l.cursor = at
	if step < 0 && at <= firstSelectable(src) {
		l.top = 0 // headings above the first row come into view
	}
	l.follow = l.follow && step > 0
}

// Home and End jump to the first and last row.
func (l *List) Home(src Source) { l.cursor, l.top, l.follow = nearest(src, 0, 1), 0, false }

// End jumps to the last row.
func (l *List) End(src Source) { l.cursor = nearest(src, src.Len()-1, -1) }

// Scroll moves the window by n rows; the cursor stays inside it.
func (l *List) Scroll(src Source, n, height int) {
	height = max(1, height) // a window without room still has its cursor on a row
	l.top = clamp(l.top+n, 0, max(0, src.Len()-height))
	if c := clamp(l.cursor, l.top, l.top+height-1); c != l.cursor {
		dir := 1
		if n < 0 {
			dir = -1
		}
		l.cursor = nearest(src, c, dir)
	}
	l.follow = false
}

// At returns the row that is drawn at line y of the window, -1 for none.
func (l *List) At(src Source, y int) int {
	if i := l.top + y; y >= 0 && i < src.Len() {
		return i
	}
	return -1
}

// Lines draws the window: exactly height lines (fewer where the rows end),
// each cut to width. version changes when the rows' text may have.
func (l *List) Lines(src Source, width, height int, version uint64) []theme.Line {
	n := src.Len()
	if l.follow {
		l.End(src)
	}
	l.cursor = clamp(l.cursor, 0, n-1)
	if n > 0 && !src.Selectable(l.cursor) {
		l.cursor = nearest(src, l.cursor, 1)
	}
	switch {
	case l.cursor < l.top:
		l.top = l.cursor
	case l.cursor >= l.top+height:
		l.top = l.cursor - height + 1
	}
	l.top = clamp(l.top, 0, max(0, n-height))
	if l.memo == nil || l.width != width || l.version != version || len(l.memo) > 4096 {
		l.memo, l.width, l.version = map[memoKey]theme.Line{}, width, version
	}
	out := make([]theme.Line, 0, height)
	for i := l.top; i < n && len(out) < height; i++ {
		out = append(out, l.line(src, i, width))
	}
	return out
}

func (l *List) line(src Source, i, width int) theme.Line {
	k := memoKey{i, i == l.cursor}
	line, ok := l.memo[k]
	if !ok {
		line = src.Draw(i, width, k.selected).Fit(width)
		l.memo[k] = line
	}
	return line
}

// nearest finds a row that can be selected from i on in direction dir, else in
// the other one, else i.
func nearest(src Source, i, dir int) int {
	n := src.Len()
	for _, d := range []int{dir, -dir} {
		for j := i; j >= 0 && j < n; j += d {
			if src.Selectable(j) {
				return j
			}
		}
	}
	return i
}

func firstSelectable(src Source) int {
	for i := range src.Len() {
		if src.Selectable(i) {
			return i
		}
	}
	return 0
}

func clamp(v, lo, hi int) int { return max(lo, min(v, hi)) }
