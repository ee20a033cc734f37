package explain

import (
	"strings"

	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// Times is how often compiles met the break. What came up while another break was
// handled is no break of its own; Times is 0 where that is all there is.
func (g *BreakGroup) Times() int {
	n := 0
	for _, b := range g.Breaks {
		if !b.During {
			n++
		}
	}
	return n
}

// LostWords names the functions that run eagerly.
func (g *BreakGroup) LostWords() string {
	if len(g.Lost) == 1 {
		return g.Lost[0] + " runs eagerly"
	}
	return Count(len(g.Lost), "function") + " run eagerly"
}

// FunctionOf is the user's function of a place, without the names that resume
// functions get.
func FunctionOf(p logs.Pos, c *Compile) string {
	name := p.Func
	if name == "" && c != nil {
		name = c.Frame.Name
	}
	if fn, _, ok := ResumedFunction(name); ok {
		return fn
	}
	return name
}

// Squeeze makes runs of white space single spaces.
func Squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// Root is the function that a part which was resumed belongs to; others are their own.
func (fr *Frame) Root() *Frame {
	at := fr
	for at.Parent != nil && at.Parent != fr {
		at = at.Parent
	}
	return at
}

// Recompiles yields every compile of a frame that was asked for because entries
// did not fit. Where all before it failed there was no entry, and it is a new try.
func (fr *Frame) Recompiles(yield func(*Compile) bool) {
	tried := false // and nothing came of it
	for i, c := range fr.Compiles {
		if i == 0 {
			tried = c.Status == Failed
		}
		later := c.ID.Compile > 0 && (i == 0 || !tried) && !c.Fresh
		if (later || c.Recompile != nil) && !yield(c) {
			return
		}
		tried = tried && c.Status == Failed
	}
}

// Title is what every screen and report calls a frame: a resumed part by its function
// and the line where it goes on.
func (fr *Frame) Title() string { return FrameTitle(fr) }

// builtinTitle names the built-in that a break is about: a print, or another one.
func builtinTitle(b *Break, c breaks.Cause) string {
	switch name := BuiltinName(b); {
	case name == "print" || name == "println" || strings.HasPrefix(b.Context, "call of "):
		return c.Title()
	case name != "":
		return "call to built-in " + name
	}
	return "call to an unsupported built-in"
}

// Title is the table's short name of a break's cause: the words in which every
// screen and report speaks of it.
func (b *Break) Title() string {
	if c, ok := breaks.Lookup(b.Code); ok {
		if b.Code == breaks.BuiltinPrint {
			return builtinTitle(b, c)
		}
		if unknownNumber(b) {
			return "branch on a number that has no value yet"
		}
		return c.Title()
	}
	return b.Type
}
