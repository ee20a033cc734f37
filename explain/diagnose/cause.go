package diagnose

import (
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/advice"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// Causes groups the frame's recompiles by the guard that failed, in order of
// their first appearance; recompiles without a recorded reason are left out.
func Causes(fr *explain.Frame) []*explain.RecompileCause {
	var out []*explain.RecompileCause
	seen := map[explain.CauseKey]*explain.RecompileCause{}
	for _, comp := range fr.Compiles {
		rc := comp.Recompile
		if rc == nil || len(rc.Failures) == 0 {
			continue
		}
		key := explain.KeyOf(&rc.Failures[0])
		c := seen[key]
		if c == nil {
			c = &explain.RecompileCause{}
			seen[key] = c
			out = append(out, c)
		}
		c.Recompiles = append(c.Recompiles, rc)
		c.Seconds += comp.Seconds
		c.Limit = c.Limit || comp.Status == explain.Limit
		if c.Fix.Text == "" || outdone(c.Fix, rc.Fix) {
			c.Fix = rc.Fix
		}
	}
	for _, c := range out {
		if c.Limit && advice.IsNormal(c.Fix.Text) { // what is normal for the first entries is not at the limit
			c.Fix = explain.Fix{}
		}
		if f, ok := anotherModule(c.Recompiles[0]); ok {
			c.Fix = f
		} else if f, ok := manyCompiles(c); ok {
			c.Fix = f
		} else if f, ok := growth(c); ok {
			c.Fix = f
		} else if f, ok := manyDtypes(c); ok {
			c.Fix = f
		} else if f, ok := manyMarks(c); ok {
			c.Fix = f
		}
	}
	return out
}

// outdone says whether the advice on a later recompile of a cause takes the place of the advice
// on an earlier one: there is something to do after all. What to do about the first entries is
// no help at the limit.
func outdone(first, later explain.Fix) bool {
	if first.Row == "number-written-back" { // which helps at the limit as before it
		return false
	}
	if later.Row == "limit" || later.Row == "limit-filled" {
		return true
	}
	if first.Row == "number-branch" || first.Row == "number-input" { // on another side of a branch it is a constant all the same
		return slices.Contains([]string{"number-in-text", "number-constant", "number-constants"}, later.Row)
	}
	return first.Settled && later.Text != "" && !later.Settled && (strings.HasPrefix(later.Row, goRow) || first.Row == "size-and-value")
}

// manyCompiles advises on a function that torch.compile was called on again and again.
func manyCompiles(c *explain.RecompileCause) (explain.Fix, bool) {
	x := c.Recompiles[0].Facts
	if c.Lead().Kind != breaks.BackendChanged || x == nil || x.Ours {
		return explain.Fix{}, false
	}
	f := RecompileFinding(c.Recompiles[0], x)
	f.Compiles = len(c.Recompiles)
	return AdviseRecompile(f), true
}

// manyDtypes advises on a tensor whose dtype changed more than once.
func manyDtypes(c *explain.RecompileCause) (explain.Fix, bool) {
	name := argumentName(c.Recompiles[0], c.Lead())
	if c.Lead().Kind != breaks.DtypeChanged || name == "" {
		return explain.Fix{}, false
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
		return explain.Fix{}, false
	}
	if x := c.Recompiles[0].Facts; x != nil && !x.Ours {
		f := RecompileFinding(c.Recompiles[0], x)
		last := len(seen) - 1
		f.Expected, f.Actual = strings.Join(seen[:last], ", as "), seen[last]
		return AdviseRecompile(f), true
	}
	return fixDtype(name, seen), true
}

// manyMarks advises on a size that changed in several entries, with other inputs' sizes in the one
// than in the other: calls with an optional input have a size more to mark.
func manyMarks(c *explain.RecompileCause) (explain.Fix, bool) {
	if len(c.Recompiles) < 2 || c.Fix.Row != "size" && c.Fix.Row != "size-every-call" {
		return explain.Fix{}, false
	}
	var all *advice.Finding
	for _, rc := range c.Recompiles {
		if rc.Fix.Row != "size" && rc.Fix.Row != "size-every-call" || rc.Facts == nil {
			continue
		}
		f := RecompileFinding(rc, rc.Facts)
		if all == nil {
			all = f
			continue
		}
		for _, size := range f.Changed {
			if !slices.Contains(all.Changed, size) {
				all.Changed, all.Uneven = append(all.Changed, size), true
			}
		}
		all.Partial = all.Partial || f.Partial
	}
	if all == nil || !all.Uneven {
		return explain.Fix{}, false
	}
	return AdviseRecompile(all), true
}

// growth advises on a length or a number that goes up by one with every
// recompile: the compiled function (or its caller) counts calls.
func growth(c *explain.RecompileCause) (explain.Fix, bool) {
	if x := c.Recompiles[0].Facts; x != nil && !x.Ours &&
		(c.Fix.Row == "dict-keys" || c.Fix.Row == "list-lengths" || c.Fix.Row == "number-constant") && c.Climbs() {
		f := RecompileFinding(c.Recompiles[0], x)
		f.Grows = true
		return AdviseRecompile(f), true // of one that climbs with the calls "keep these few" is no advice
	}
	if len(c.Recompiles) < 3 {
		return explain.Fix{}, false
	}
	g := c.Lead()
	name := argumentName(c.Recompiles[0], g)
	if name == "" {
		return explain.Fix{}, false
	}
	last, lastCompile := 0, 0
	for i, rc := range c.Recompiles {
		n, err := strconv.Atoi(rc.Failures[0].Expected)
		if err != nil || (i > 0 && n-last != rc.Compile.ID.Compile-lastCompile) { // others may lie between
			return explain.Fix{}, false
		}
		last, lastCompile = n, rc.Compile.ID.Compile
	}
	if x := c.Recompiles[0].Facts; x != nil && !x.Ours {
		return explain.Fix{}, false
	}
	switch g.Kind {
	case breaks.LengthChanged:
		// The caller passes another one, or one of another element.
		if g.Map || g.Origin == logs.OriginArgument && !strings.Contains(name, ".") || strings.Contains(name, "[") {
			return explain.Fix{}, false
		}
		return goFix("length-grows", name), true
	case breaks.AttributeChanged:
		return goFix("counter-field", name), true
	case breaks.ValueChanged, breaks.GlobalChanged, breaks.ClosureChanged:
		return goFix("counter", name), true
	}
	return explain.Fix{}, false
}
