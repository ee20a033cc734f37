package explain

import (
	"strconv"
	"strings"

	"tcdbg/tracer/breaks"
)

// This file groups the recompiles of a frame by cause: a frame whose sizes
// changed once and whose list grows with every call has two causes, and the
// second one is what drives it into the limit.

// RecompileCause is why a frame was compiled again, once or many times.
type RecompileCause struct {
	Recompiles []*Recompile
	Fix        Fix
	Seconds    float64
	Limit      bool // the last of them hit the limit: the frame runs eagerly from there
}

// Key is what the cause has in common with others.
func (c *RecompileCause) Key() CauseKey { return KeyOf(c.Lead()) }

// Add joins the cause of another frame of the same function.
func (c *RecompileCause) Add(o *RecompileCause) {
	c.Recompiles = append(c.Recompiles, o.Recompiles...)
	c.Seconds += o.Seconds
	c.Limit = c.Limit || o.Limit
	if c.Fix.Text == "" {
		c.Fix = o.Fix
	}
}

// AtLimit says what becomes of calls for which no entry may be made.
func (rc *Recompile) AtLimit() string {
	if rc.Compile.Failure != nil {
		return "fails"
	}
	return "runs eagerly"
}

// Compiled counts the recompiles that took place: one that hit the limit did not.
func (c *RecompileCause) Compiled() int {
	n := 0
	for _, rc := range c.Recompiles {
		if rc.Compile.Status != Limit {
			n++
		}
	}
	return n
}

// Lead is the guard that failed first.
func (c *RecompileCause) Lead() *GuardFailure { return &c.Recompiles[0].Failures[0] }

// CauseKey is what two recompiles of one frame share when they have one cause:
// the elements calls[0] and calls[1] are one.
type CauseKey struct {
	kind, source string
	dim          int
	asked        bool // the outcome of a comparison changed, not the value that is compared
}

// KeyOf is what failed guards of one cause have in common: elements of one list count as one.
func KeyOf(g *GuardFailure) CauseKey {
	asked := strings.HasPrefix(g.Expected, "not ") || strings.HasPrefix(g.Actual, "not ") ||
		strings.HasPrefix(g.Actual, "true (") || strings.HasPrefix(g.Actual, "false (")
	return CauseKey{g.Kind, withoutIndices(g.Source), g.Dim, asked}
}

// withoutIndices replaces the numbers between brackets, which count elements.
func withoutIndices(source string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(source, '[')
		if i < 0 {
			b.WriteString(source)
			return b.String()
		}
		b.WriteString(source[:i+1])
		source = strings.TrimLeft(source[i+1:], "0123456789")
	}
}

// Climbs says whether a length or a number went up by one from entry to entry, and each has
// its own.
func (c *RecompileCause) Climbs() bool {
	up, last := 0, 0
	for i, rc := range c.Recompiles {
		n, err := strconv.Atoi(rc.Failures[0].Expected)
		if err != nil {
			return false
		}
		if i > 0 && n == last+1 {
			up++
		}
		last = n
	}
	switch c.Lead().Kind {
	case breaks.LengthChanged, breaks.AttributeChanged, breaks.ValueChanged, breaks.GlobalChanged, breaks.ClosureChanged:
		return up > 0 && 2*up >= len(c.Recompiles)-1
	}
	return false
}
