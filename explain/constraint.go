package explain

import (
	"fmt"
	"strings"

	"tcdbg/explain/advice"
	"tcdbg/logs"
)

// This file reads the error on a size that was marked dynamic and that the code
// made a constant: which size, which constant, and the line that did it.

// constraint is a size that was to stay open.
type constraint struct {
	source string // L['x'].size()[0]
	name   string // x; of a named dimension of torch.export its name
	dim    string // 0; "" of a named dimension
	value  string // the constant it became; "" where the message does not say
}

// brokenConstraint reads the first such size out of a failure.
func brokenConstraint(f *Failure) (constraint, bool) {
	if f.Type != "ConstraintViolationError" {
		return constraint{}, false
	}
	for line := range strings.SplitSeq(f.Reason, "\n") {
		_, after, ok := strings.Cut(line, " to be a constant (")
		if !ok {
			continue
		}
		c, ok := sizeIn(line)
		if !ok {
			if c, ok = namedIn(line); !ok {
				continue
			}
		}
		c.value, _, _ = strings.Cut(after, ")")
		return c, true
	}
	return constraint{}, false
}

// sizeIn finds "L['x'].size()[0]" in a text.
func sizeIn(text string) (constraint, bool) {
	const call = ".size()["
	at := strings.Index(text, call)
	if at < 0 {
		return constraint{}, false
	}
	from := strings.LastIndexAny(text[:at], " (,") + 1
	dim, _, ok := strings.Cut(text[at+len(call):], "]")
	if !ok || dim == "" {
		return constraint{}, false
	}
	end := at + len(call) + len(dim) + 1
	return constraint{source: text[from:end], name: plainSource(text[from:at]), dim: dim}, true
}

// namedIn finds the name in "You marked batch as dynamic but".
func namedIn(text string) (constraint, bool) {
	_, rest, _ := strings.Cut(text, "You marked ")
	name, _, ok := strings.Cut(rest, " as dynamic")
	return constraint{name: name}, ok && name != "" && !strings.Contains(name, " ")
}

// refusedMark is a compile of a frame that failed because a size was marked dynamic and
// the code makes it a constant; nil where there is none.
func refusedMark(fr *Frame, name string, dim int) *Compile {
	for _, c := range fr.Compiles {
		if c.Failure == nil {
			continue
		}
		if size, ok := brokenConstraint(c.Failure); ok && size.name == name && size.dim == itoa(dim) {
			return c
		}
	}
	return nil
}

func (c constraint) words() string {
	if c.dim == "" {
		return fmt.Sprintf("the dimension %s is marked dynamic, and this code makes it the constant %s", c.name, c.value)
	}
	return fmt.Sprintf("size %s of %s is marked dynamic, and this code makes it the constant %s", c.dim, c.name, c.value)
}

// fix advises on it.
func (c constraint) fix(fl *Failure) Fix {
	f := failureFinding(fl)
	f.Marked, f.MarkedDim = c.name, c.dim
	text, id, _ := advice.Advise(f)
	return Fix{Text: text, Row: id}
}

// placeConstraint puts a failure at the line that made the size a constant,
// where the trace tells it.
func (f *Fold) placeConstraint(fl *Failure) {
	c, ok := brokenConstraint(fl)
	if !ok {
		return
	}
	fl.Fix = c.fix(fl)
	if _, trace, found := strings.Cut(fl.Reason, "\nUser stack:\n"); found {
		trace, _, _ = strings.Cut(trace, "\n\n")
		if at, ok := userLine(parseStack(trace)); ok {
			fl.Pos, fl.Stack = f.pos(at), []logs.Pos{f.pos(at)}
			return
		}
	}
	for i := len(f.symbols) - 1; i >= 0; i-- {
		s := f.symbols[i]
		if s.ID.Rank != fl.ID.Rank || s.ID.Epoch != fl.ID.Epoch || s.ID.Frame != fl.ID.Frame || s.ID.Compile != fl.ID.Compile {
			return // the compile's own symbols were noted last
		}
		if s.Specialized != "" && s.Source == c.source && s.Pos.File != "" {
			fl.Pos, fl.Stack = s.Pos, []logs.Pos{s.Pos}
			return
		}
	}
}
