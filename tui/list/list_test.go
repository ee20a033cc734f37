package list

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/tui/theme"
)

// rows is n rows; every tenth is a heading; drawn counts calls of Draw.
type rows struct {
	n     int
	drawn *int
}

func (r rows) Len() int              { return r.n }
func (r rows) Selectable(i int) bool { return i%10 != 0 }
func (r rows) Draw(i, _ int, sel bool) theme.Line {
	*r.drawn++
	mark := " "
	if sel {
		mark = ">"
	}
	return theme.L(theme.Plain, fmt.Sprint(mark, i))
}

func window(l *List, r rows, h int) string {
	var out []string
	for _, line := range l.Lines(r, 8, h, 1) {
		out = append(out, strings.TrimSpace(line.Text()))
	}
	return strings.Join(out, " ")
}

// The cursor passes over headings, stays in view, and stops at the ends.
func TestMove(t *testing.T) {
	r := rows{30, new(int)}
	l := &List{}
	if got := window(l, r, 4); got != "0 >1 2 3" {
		t.Errorf("at first: %s", got)
	}
	l.Move(r, 9)
	if got := window(l, r, 4); got != "8 9 10 >11" {
		t.Errorf("down over a heading: %s", got)
	}
	l.Move(r, -9)
	if got := window(l, r, 4); got != "0 >1 2 3" {
		t.Errorf("up again: %s", got)
	}
	l.End(r)
	l.Move(r, 5)
	if got := window(l, r, 3); got != "27 28 >29" {
		t.Errorf("at the end: %s", got)
	}
	l.Scroll(r, -10, 3)
	if got := window(l, r, 3); got != "17 18 >19" {
		t.Errorf("scrolled: %s", got)
	}
}

// Following keeps the cursor at the end as rows come; moving up stops it.
func TestFollow(t *testing.T) {
	r := rows{15, new(int)}
	l := &List{}
	l.SetFollow(true)
	window(l, r, 3)
	r.n = 28
	if got := window(l, r, 3); got != "25 26 >27" {
		t.Errorf("%s", got)
	}
	l.Move(r, -1)
	r.n = 30
	if got := window(l, r, 3); got != "25 >26 27" {
		t.Errorf("%s", got)
	}
}

// A window costs its rows, once: not the list's length, not again when
// nothing changed.
func TestVirtual(t *testing.T) {
	r := rows{1_000_000, new(int)}
	l := &List{}
	window(l, r, 40)
	if *r.drawn > 40 {
		t.Errorf("%d rows were drawn for 40", *r.drawn)
	}
	window(l, r, 40)
	if *r.drawn > 40 {
		t.Errorf("%d rows were drawn for the same window", *r.drawn)
	}
	l.Move(r, 1)
	window(l, r, 40)
	if *r.drawn > 42 {
		t.Errorf("%d rows were drawn after one step", *r.drawn)
	}
}

// An empty list, and one of headings only, draw.
func TestDegenerate(t *testing.T) {
	l := &List{}
	if got := window(l, rows{0, new(int)}, 5); got != "" {
		t.Errorf("%q", got)
	}
	l.Move(rows{0, new(int)}, 1)
	if got := window(l, rows{1, new(int)}, 5); got == "" {
		t.Error("a heading alone is not drawn")
	}
}

// In a window without height the cursor stays on a row.
func TestScrollWithoutHeight(t *testing.T) {
	r := rows{5, new(int)}
	l := &List{}
	for range 9 {
		l.Scroll(r, 3, -1)
	}
	if l.Cursor() >= r.n {
		t.Errorf("the cursor is on row %d of %d", l.Cursor(), r.n)
	}
}
