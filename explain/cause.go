package explain

import (
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain/advice"
	"tcdbg/logs"
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
	Limit      bool // the last of them hit the limit: the frame runs eager from there
}

func (c *RecompileCause) key() causeKey { return keyOf(c.Lead()) }

// add joins the cause of another frame of the same function.
func (c *RecompileCause) add(o *RecompileCause) {
	c.Recompiles = append(c.Recompiles, o.Recompiles...)
	c.Seconds += o.Seconds
	c.Limit = c.Limit || o.Limit
	if c.Fix.Text == "" {
		c.Fix = o.Fix
	}
}

// atLimit says what becomes of calls for which no entry may be made.
func (rc *Recompile) atLimit() string {
	if rc.Compile.Failure != nil {
		return "fails"
	}
	return "runs eagerly"
}

// compiled counts the recompiles that took place: one that hit the limit did not.
func (c *RecompileCause) compiled() int {
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

// causeKey is what two recompiles of one frame share when they have one cause:
// the elements calls[0] and calls[1] are one.
type causeKey struct {
	kind, source string
	dim          int
}

func keyOf(g *GuardFailure) causeKey {
	return causeKey{g.Kind, withoutIndices(g.Source), g.Dim}
}

// Causes groups the frame's recompiles by the guard that failed, in order of
// their first appearance; recompiles without a recorded reason are left out.
func (fr *Frame) Causes() []*RecompileCause {
	var out []*RecompileCause
	seen := map[causeKey]*RecompileCause{}
	for _, comp := range fr.Compiles {
		rc := comp.Recompile
		if rc == nil || len(rc.Failures) == 0 {
			continue
		}
		key := keyOf(&rc.Failures[0])
		c := seen[key]
		if c == nil {
			c = &RecompileCause{}
			seen[key] = c
			out = append(out, c)
		}
		c.Recompiles = append(c.Recompiles, rc)
		c.Seconds += comp.Seconds
		c.Limit = c.Limit || comp.Status == Limit
		if c.Fix.Text == "" || c.Fix.Settled && !rc.Fix.Settled && strings.HasPrefix(rc.Fix.Row, goRow) || rc.Fix.Row == "limit" { // what to do about the first entries is no help at the limit
			c.Fix = rc.Fix
		}
	}
	for _, c := range out {
		if c.Limit && advice.IsNormal(c.Fix.Text) { // what is normal for the first entries is not at the limit
			c.Fix = Fix{}
		}
		if f, ok := anotherModule(c.Recompiles[0]); ok {
			c.Fix = f
		} else if f, ok := manyCompiles(c); ok {
			c.Fix = f
		} else if f, ok := growth(c); ok {
			c.Fix = f
		} else if f, ok := manyDtypes(c); ok {
			c.Fix = f
		}
	}
	return out
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

// manyCompiles advises on a function that torch.compile was called on again and again.
func manyCompiles(c *RecompileCause) (Fix, bool) {
	x := c.Recompiles[0].facts
	if c.Lead().Kind != breaks.BackendChanged || x == nil || x.ours {
		return Fix{}, false
	}
	f := recompileFinding(c.Recompiles[0], x)
	f.Compiles = len(c.Recompiles)
	return adviseRecompile(f), true
}

// manyDtypes advises on a tensor whose dtype changed more than once.
func manyDtypes(c *RecompileCause) (Fix, bool) {
	name := argumentName(c.Recompiles[0], c.Lead())
	if c.Lead().Kind != breaks.DtypeChanged || name == "" {
		return Fix{}, false
	}
	var seen []string
	for _, rc := range c.Recompiles {
		for _, d := range []string{rc.Failures[0].Expected, rc.Failures[0].Actual} {
			if d != "" && !slices.Contains(seen, d) {
				seen = append(seen, d)
			}
		}
	}
	if len(seen) < 3 {
		return Fix{}, false
	}
	if x := c.Recompiles[0].facts; x != nil && !x.ours {
		f := recompileFinding(c.Recompiles[0], x)
		last := len(seen) - 1
		f.Expected, f.Actual = strings.Join(seen[:last], ", as "), seen[last]
		return adviseRecompile(f), true
	}
	return fixDtype(name, seen), true
}

// climbs says whether a length or a number went up by one from entry to entry, and each has
// its own.
func (c *RecompileCause) climbs() bool {
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

// growth advises on a length or a number that goes up by one with every
// recompile: the compiled function (or its caller) counts calls.
func growth(c *RecompileCause) (Fix, bool) {
	if x := c.Recompiles[0].facts; x != nil && !x.ours && (c.Fix.Row == "dict-keys" || c.Fix.Row == "list-lengths" || c.Fix.Row == "number-constant") && c.climbs() {
		f := recompileFinding(c.Recompiles[0], x)
		f.Grows = true
		return adviseRecompile(f), true // of one that climbs with the calls "keep these few" is no advice
	}
	if len(c.Recompiles) < 3 {
		return Fix{}, false
	}
	g := c.Lead()
	name := argumentName(c.Recompiles[0], g)
	if name == "" {
		return Fix{}, false
	}
	last, lastCompile := 0, 0
	for i, rc := range c.Recompiles {
		n, err := strconv.Atoi(rc.Failures[0].Expected)
		if err != nil || (i > 0 && n-last != rc.Compile.ID.Compile-lastCompile) { // others may lie between
			return Fix{}, false
		}
		last, lastCompile = n, rc.Compile.ID.Compile
	}
	if x := c.Recompiles[0].facts; x != nil && !x.ours {
		return Fix{}, false
	}
	switch g.Kind {
	case breaks.LengthChanged:
		if g.Map || g.Origin == logs.OriginArgument && !strings.Contains(name, ".") { // the caller passes another one
			return Fix{}, false
		}
		return goFix("length-grows", name), true
	case breaks.AttributeChanged:
		return goFix("counter-field", name), true
	case breaks.ValueChanged, breaks.GlobalChanged, breaks.ClosureChanged:
		return goFix("counter", name), true
	}
	return Fix{}, false
}
