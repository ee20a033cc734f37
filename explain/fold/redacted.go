package fold

import (
	"tcdbg/explain"
	"tcdbg/logs"
)

// This file reads what a redacted trace has in the place of records with code: as much as
// frames, compiles and failures are told apart and counted by.

func tcdbgRedacted(f *Fold, r *logs.Record) {
	var v logs.Redacted
	if !f.versioned(r, &v) {
		return
	}
	f.redacted = true
	switch v.Of {
	case logs.PartialTraceRecord:
		tracedUntil(f, r, v.Last, placeOf(&v))
	case logs.GraphRecord:
		if c := f.compileOf(r); c != nil && c.Graph != nil {
			namedOperators(f, c, &v)
		}
	case logs.ExportRecord:
		if c := f.exporting[r.Source]; c != nil && !r.HasID {
			if c.Graph == nil {
				c.Graph = &explain.Graph{ID: c.ID, Stages: c.stages}
				c.stages = nil
			}
			namedOperators(f, c, &v)
		}
	case logs.GuardsRecord, logs.GoGuardsRecord:
		if c := f.compileOf(r); c != nil {
			countedGuards(f, c, &v)
		}
	}
}

func placeOf(v *logs.Redacted) logs.Pos {
	if v.At == nil {
		return logs.Pos{}
	}
	return *v.At
}

// namedOperators is a graph of which the names of its operators are told.
func namedOperators(f *Fold, c *compile, v *logs.Redacted) {
	g := c.Graph
	g.Ops, g.Inputs, g.First = f.interned(v.Operators), max(0, v.Inputs), f.pos(placeOf(v))
	c.Ops, c.named = len(g.Ops), true
}

func countedGuards(f *Fold, c *compile, v *logs.Redacted) {
	c.guarded = true
	if v.Guards < 0 || v.Noise < 0 {
		return // no trace of ours
	}
	if explain.IsWrapper(c.Frame.Name) {
		c.Wrapped, c.Held = f.intern(v.Class), f.interned(v.Held)
	}
	t := &explain.GuardTree{Leaves: v.Guards, Noise: v.Noise, Micros: v.Micros}
	if c.Guards != nil && t.Micros == 0 {
		t.Micros = c.Guards.Micros
	}
	c.Guards = t
}
