package explain

import (
	"fmt"
	"strconv"
	"strings"
)

// This file reads the error on a size that was marked dynamic and that the code
// made a constant: which size, which constant, and the line that did it.

// Constraint is a size that was to stay open.
type Constraint struct {
	Source string // L['x'].size()[0]
	Name   string // x; of a named dimension of torch.export its name
	Dim    string // 0; "" of a named dimension
	value  string // the constant it became; "" where the message does not say
}

// BrokenConstraint reads the first such size out of a failure.
func BrokenConstraint(f *Failure) (Constraint, bool) {
	if f.Type != "ConstraintViolationError" {
		return Constraint{}, false
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
	return Constraint{}, false
}

// sizeIn finds "L['x'].size()[0]" in a text.
func sizeIn(text string) (Constraint, bool) {
	const call = ".size()["
	at := strings.Index(text, call)
	if at < 0 {
		return Constraint{}, false
	}
	from := strings.LastIndexAny(text[:at], " (,") + 1
	dim, _, ok := strings.Cut(text[at+len(call):], "]")
	if !ok || dim == "" {
		return Constraint{}, false
	}
	end := at + len(call) + len(dim) + 1
	return Constraint{Source: text[from:end], Name: PlainSource(text[from:at]), Dim: dim}, true
}

// namedIn finds the name in "You marked batch as dynamic but".
func namedIn(text string) (Constraint, bool) {
	_, rest, _ := strings.Cut(text, "You marked ")
	name, _, ok := strings.Cut(rest, " as dynamic")
	return Constraint{Name: name}, ok && name != "" && !strings.Contains(name, " ")
}

// RefusedMark is a compile of a frame that failed because a size was marked dynamic and
// the code makes it a constant; nil where there is none.
func RefusedMark(fr *Frame, name string, dim int) *Compile {
	for _, c := range fr.Compiles {
		if c.Failure == nil {
			continue
		}
		if size, ok := BrokenConstraint(c.Failure); ok && size.Name == name && size.Dim == strconv.Itoa(dim) {
			return c
		}
	}
	return nil
}

func (c Constraint) words() string {
	if c.Dim == "" {
		return fmt.Sprintf("the dimension %s is marked dynamic, and this code makes it the constant %s", c.Name, c.value)
	}
	return fmt.Sprintf("size %s of %s is marked dynamic, and this code makes it the constant %s", c.Dim, c.Name, c.value)
}
