package tui

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/fusion"
	"tcdbg/logs"
	"tcdbg/tui/theme"
)

// This file is what several screens need of a report, made once for each
// snapshot off the UI goroutine.

// compileKey names a compile whatever its attempt.
type compileKey struct{ rank, epoch, frame, compile int }

func keyOf(id explain.ID) compileKey {
	return compileKey{id.Rank, id.Epoch, id.CompileID.Frame, id.Compile}
}

// facts are the indexes.
type facts struct {
	kernels map[compileKey][]*explain.Kernel
	roots   []*rootFrame
	root    string // folder of all the user's files
	names   explain.Names
	counts  counts
	idWidth int // of the longest compile id
	fusions map[*explain.Fusion]*fusion.View
	// running is the innermost phase that has not ended, nil for none.
	running *explain.Phase
	since   time.Time // the start of the outermost one
}

// counts are what the leads of the screens say.
type counts struct {
	causes, fixable        int // of breaks in the program's own code
	framework              int // causes of breaks inside torch or the standard library
	again, limit           int // functions recompiled, at the limit
	againSeconds           float64
	entries, guards, noise int
	worst                  float64 // costliest guard set, microseconds
	extern, kernelOps      int
	kernelNanos            float64 // of all calls of kernels, 0: not timed
	backwardNanos          float64 // of these, in graphs of backward passes
	fused, refused         int
	uncounted              int   // fusions of which it is not known what they saved
	saved                  int64 // by the others
	apart                  int   // pairs of kernels that were not fused and move a buffer twice
}

// rootFrame is a compiled function with all its resume points.
type rootFrame struct {
	frame   *explain.Frame
	parts   []*explain.Frame // itself and its resume points, in order
	ops     int
	eager   int64 // -1: unknown
	seconds float64
	run     int64 // nanoseconds that all calls took, in all parts
	graphs  int
	calls   int64 // -1: unknown
	epoch   int   // the last that it is of
	epochs  int   // further ones that it stands for
	running bool  // one of those is being compiled
	again   int   // compiles after the first of each part
	twin    bool  // another function has its name
}

// collect makes the indexes.
func (f *facts) collect(in *input) {
	f.counts.collect(in.report)
	f.collectFusions(in.report)
	f.idWidth = idColumn(in.report)
	for _, p := range in.report.Phases {
		if !p.Open {
			continue
		}
		if f.running == nil || p.Start.Before(f.since) {
			f.since = p.Start
		}
		if f.running == nil || !p.Start.Before(f.running.Start) {
			f.running = p
		}
	}
	f.names = explain.BriefNames(in.report)
	f.kernels = map[compileKey][]*explain.Kernel{}
	for _, k := range in.report.Kernels {
		f.kernels[keyOf(k.ID)] = append(f.kernels[keyOf(k.ID)], k)
	}
	for _, fr := range in.report.Frames {
		if fr.Parent == nil {
			f.roots = append(f.roots, newRoot(fr))
		}
		if !library(fr.Pos.File) {
			f.root = commonDir(f.root, fr.Pos.File)
		}
	}
	f.roots = byCost(acrossEpochs(f.roots))
	markTwins(f.roots)
}

// acrossEpochs makes one row of a function that is compiled again in later epochs, with the sums of
// all of them; how it splits is that of the first.
func acrossEpochs(roots []*rootFrame) []*rootFrame {
	type function struct {
		rank, line int
		name, file string
	}
	of := map[function]*rootFrame{}
	var out []*rootFrame
	for _, r := range roots {
		f := r.frame
		k := function{f.ID.Rank, f.Pos.Line, f.Title(), f.Pos.File}
		first := of[k]
		if first == nil || k.name == "" || k.line == 0 || first.epoch == f.ID.Epoch {
			of[k], r.epoch = r, f.ID.Epoch
			out = append(out, r)
			continue
		}
		first.epoch = f.ID.Epoch
		first.epochs++
		first.ops, first.graphs, first.again = first.ops+r.ops, first.graphs+r.graphs, first.again+r.again
		first.seconds, first.run = first.seconds+r.seconds, first.run+r.run
		if first.calls = sumKnown(first.calls, r.calls); r.frame.Status == explain.Compiling {
			first.running = true
		}
		first.eager = sumKnown(first.eager, r.eager)
	}
	return out
}

// sumKnown adds counts of which -1 is not known.
func sumKnown(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// byCost sorts functions by what compiling and running them took, the costliest first.
func byCost(roots []*rootFrame) []*rootFrame {
	slices.SortStableFunc(roots, func(a, b *rootFrame) int { return cmp.Compare(b.cost(), a.cost()) })
	return roots
}

// cost is the seconds that a function took, compiling and running.
func (r *rootFrame) cost() float64 { return r.seconds + float64(r.run)/1e9 }

// collectFusions explains the decisions of the scheduler.
func (f *facts) collectFusions(r *explain.Report) {
	f.fusions = map[*explain.Fusion]*fusion.View{}
	c := &f.counts
	for _, fu := range r.Fusions {
		v := fusion.Of(fu)
		f.fusions[fu] = v
		c.fused, c.refused, c.uncounted, c.saved = c.fused+v.Fused, c.refused+v.Refused, c.uncounted+v.Unknown, c.saved+v.Saved
		for i := range v.Losses {
			if v.Losses[i].Bytes <= 0 {
				break
			}
			c.apart++
		}
	}
}

// markTwins marks the functions of one name: a table without their files has to tell
// them apart. The ranks' frames of one function are none.
func markTwins(roots []*rootFrame) {
	first, twins := map[string]logs.Pos{}, map[string]bool{}
	for _, r := range roots {
		name, at := r.frame.Title(), r.frame.Pos
		if p, known := first[name]; !known {
			first[name] = at
		} else if p.File != at.File || p.Line != at.Line {
			twins[name] = true
		}
	}
	for _, r := range roots {
		r.twin = twins[r.frame.Title()]
	}
}

func (c *counts) collect(r *explain.Report) {
	for _, g := range r.Breaks {
		if g.Lead == nil {
			continue
		}
		if g.Lead.Noise {
			c.framework++
			continue
		}
		c.causes++
		if g.Fix.Text != "" && !g.Fix.Untried || len(g.Fix.Lines) > 0 {
			c.fixable++
		}
	}
	for _, k := range r.Kernels {
		if k.Lang == "extern" {
			c.extern++
		}
		c.kernelOps += max(1, k.Fused)
	}
	c.kernelNanos, c.backwardNanos = r.KernelNanos(), r.BackwardNanos()
	c.collectCompiles(r)
}

func (c *counts) collectCompiles(r *explain.Report) {
	again, functions := map[*explain.Frame]bool{}, map[*explain.Frame]bool{}
	for _, rc := range r.Recompiles {
		if rc.Compile == nil {
			continue
		}
		c.againSeconds += rc.Compile.Seconds
		f := rc.Compile.Frame
		if f == nil || again[f] {
			continue
		}
		again[f] = true
		if f.Status == explain.Limit {
			c.limit++
		}
		for f.Parent != nil { // a function and what resumes it are one
			f = f.Parent
		}
		functions[f] = true
	}
	c.again = len(functions)
	for _, f := range r.Frames {
		for _, comp := range f.Compiles {
			if g := comp.Guards; g != nil {
				c.entries++
				c.guards += g.Leaves
				c.noise += g.Noise
				c.worst = max(c.worst, g.Micros)
			}
		}
	}
}

// The narrowest and the widest column of compile ids.
const (
	minIDColumn = 8
	maxIDColumn = 18
)

// idColumn is the width that the longest compile id of a report takes.
func idColumn(r *explain.Report) int {
	w := minIDColumn
	for _, f := range r.Frames {
		for _, c := range f.Compiles {
			w = max(w, len(idText(c.ID)))
		}
	}
	for _, k := range r.Kernels {
		w = max(w, len(idText(k.ID)))
	}
	for _, g := range r.Graphs {
		w = max(w, len(idText(g.ID)))
	}
	return min(w, maxIDColumn)
}

// idCell is a compile id in its column.
func (sc *scene) idCell(id explain.ID) string {
	return theme.Fit(idText(id), max(minIDColumn, sc.facts.idWidth)) + " "
}

// commonDir is the folder that holds both a folder and a file; "" stands for
// a folder that is not known yet, "/" for none in common.
func commonDir(dir, file string) string {
	if !strings.HasPrefix(file, "/") {
		return dir
	}
	if dir == "" {
		return filepath.Dir(file)
	}
	for dir != "/" && !strings.HasPrefix(file, dir+"/") {
		dir = filepath.Dir(dir)
	}
	return dir
}

// newRoot adds up a function and its resume points.
func newRoot(fr *explain.Frame) *rootFrame {
	n := fr.Whole()
	root := &rootFrame{
		frame: fr, parts: fr.Parts(), run: n.RunNanos, eager: n.EagerOps, again: n.Recompiles, seconds: n.Seconds,
		graphs: n.Graphs, ops: n.CompiledOps, calls: fr.Calls,
	}
	return root
}

// The selections that parts of a report stand for.

func frameSel(f *explain.Frame) Selection {
	return Selection{Pos: placeOnly(f.Pos), HasID: true, ID: f.ID}
}

func compileSel(c *explain.Compile) Selection {
	s := Selection{HasID: true, ID: c.ID}
	if c.Frame != nil {
		s.Pos = placeOnly(c.Frame.Pos)
	}
	return s
}

func groupSel(g *explain.BreakGroup) Selection {
	s := Selection{Break: g.Key}
	if g.Lead != nil {
		s.Pos, s.Record = placeOnly(g.Lead.Pos), g.Lead.Seq
		if g.Lead.Compile != nil {
			s.HasID, s.ID = true, g.Lead.Compile.ID
		}
	}
	return s
}

func kernelSel(k *explain.Kernel) Selection {
	s := Selection{HasID: true, ID: k.ID, Kernel: k.Name}
	if len(k.Pos) > 0 {
		s.Pos = placeOnly(k.Pos[0])
	}
	if len(k.Nodes) > 0 {
		s.Node = k.Nodes[0]
	}
	return s
}

func posSel(p logs.Pos) Selection { return Selection{Pos: placeOnly(p)} }

// placeOnly drops what two records of one place may tell differently.
func placeOnly(p logs.Pos) logs.Pos { return logs.Pos{File: p.File, Line: p.Line} }
