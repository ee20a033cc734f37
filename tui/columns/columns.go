// Package columns is the columns of a list: which there are, which of them the user hides, and
// which a narrow list has no room for.
//
// It imports tui/theme only. Open this file.
package columns

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/tui/theme"
)

// Set is the columns of a list that can be hidden. A nil Set hides none.
type Set struct {
	List []Named
	off  map[string]bool
	out  map[string]bool // shown, had the list more room
}

// Named is a column, and what it says.
type Named struct{ Name, About string }

// Of makes columns of names and what each says, in turn.
func Of(text ...string) *Set {
	c := &Set{off: map[string]bool{}, out: map[string]bool{}}
	for i := 0; i+1 < len(text); i += 2 {
		c.List = append(c.List, Named{text[i], text[i+1]})
	}
	return c
}

// On says that the user does not hide a column.
func (c *Set) On(name string) bool { return c == nil || !c.off[name] }

// Toggle hides a column, or shows it.
func (c *Set) Toggle(name string) { c.off[name] = !c.off[name] }

// All shows all columns.
func (c *Set) All() { clear(c.off) }

// Hidden are the columns that the user hides, in their order.
func (c *Set) Hidden() (out []string) {
	if c == nil {
		return nil
	}
	for _, k := range c.List {
		if c.off[k.Name] {
			out = append(out, k.Name)
		}
	}
	return out
}

// Hide hides the columns of these names; one that there is not is passed over.
func (c *Set) Hide(names []string) {
	if c == nil {
		return
	}
	for _, k := range c.List {
		if slices.Contains(names, k.Name) {
			c.off[k.Name] = true
		}
	}
}

// Measure forgets which columns had no room: what is drawn next says so.
func (c *Set) Measure() { clear(c.out) }

// Leave says that the list had no room for a column of its own kind.
func (c *Set) Leave(name string) {
	if c.On(name) && c != nil {
		c.out[name] = true
	}
}

// Without says that the list had no room for a column when it was drawn last.
func (c *Set) Without(name string) bool { return c.out[name] }

// Cell is what a row has in a column. A negative width sets the text to the right. Where there is no
// room, the cell with the least Goes is left out first, and one with 0 never.
type Cell struct {
	Name  string
	Width int
	Text  any
	Goes  int
}

// Room is how many terminal cells some take, each with a blank.
func Room(cells []Cell) (n int) {
	for _, c := range cells {
		n += max(c.Width, -c.Width) + 1
	}
	return n
}

// Plenty is more room than any list has: what does not fit is cut.
const Plenty = 1 << 20

// Fit are the cells that the user does not hide and that fit in so much room.
func (c *Set) Fit(room int, cells ...Cell) []Cell {
	cells = slices.DeleteFunc(cells, func(k Cell) bool { return !c.On(k.Name) })
	for Room(cells) > room {
		least := -1
		for i, k := range cells {
			if k.Goes > 0 && (least < 0 || k.Goes < cells[least].Goes) {
				least = i
			}
		}
		if least < 0 {
			break
		}
		c.Leave(cells[least].Name)
		cells = slices.Delete(cells, least, least+1)
	}
	return cells
}

// Text joins cells, each followed by a blank.
func Text(cells []Cell) string {
	var args []any
	for _, k := range cells {
		args = append(args, k.Width, k.Text)
	}
	return Padded(args...)
}

// Behind joins cells that follow a name, each preceded by a blank.
func Behind(cells []Cell) string {
	if len(cells) == 0 {
		return ""
	}
	return " " + strings.TrimSuffix(Text(cells), " ")
}

// Padded joins columns, given as width and text in turn: each text is fitted to its width, negative
// widths to the right.
func Padded(cols ...any) string {
	var b strings.Builder
	for i := 0; i+1 < len(cols); i += 2 {
		w, text := cols[i].(int), fmt.Sprint(cols[i+1])
		if w < 0 {
			b.WriteString(theme.FitRight(text, -w))
		} else {
			b.WriteString(theme.Fit(text, w))
		}
		b.WriteByte(' ')
	}
	return b.String()
}
