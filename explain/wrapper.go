package explain

import (
	"slices"
	"strings"

	"tcdbg/explain/advice"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file advises on what wraps a model. A break there is the framework's own and
// is folded; but it may leave the whole model to eager execution, or cut it at every
// sharded module, and this the user can change: by compiling what is wrapped.

// wrapperAdvice lists the calls whose wrapper breaks before anything is compiled, and
// the functions that call sharded modules.
func wrapperAdvice(r *Report) []Advice {
	var out []Advice
	reached := reachedCalls(r)
	seen := map[callPlace]bool{}
	for _, g := range r.Breaks {
		if !g.Lead.Noise {
			continue
		}
		for _, b := range g.Breaks {
			at, ok := userLine(b.Compile.Stack)
			key := callPlace{b.Compile.ID.Rank, at.File, at.Line}
			if !ok || seen[key] {
				continue
			}
			switch {
			case (b.Compile.Frame.wraps != nil || frameworkFile(b.Compile.Frame.Pos.File) && isWrapper(b.Compile.Frame.Name)) && b.Compile.Status == Empty && !reached[key]:
				seen[key] = true
				text, fix := eagerCall(b)
				out = addAdvice(out, Advice{Text: "nothing of this call is compiled: " + text, Pos: at, Fix: fix, Break: g, Frame: b.Compile.Frame})
			case strings.Contains(b.Pos.File, "torch/distributed/fsdp/"):
				line, inside := userLine(b.Stack)
				if !inside || !b.Compile.Frame.ofProgram() {
					continue
				}
				seen[key] = true
				out = addAdvice(out, Advice{
					Text: "a sharded module is called here: its hooks break the graph", Pos: line,
					Break: g, Frame: b.Compile.Frame, // what to change has not been tried
				})
			}
		}
	}
	return out
}

// eagerCall says why nothing of a call is compiled that has no frame of its own, and what
// helps: where the break does not show a wrapper there is none to compile within.
func eagerCall(b *Break) (string, Fix) {
	switch {
	case b.wrapsModel():
		text, id, _ := advice.Advise(&advice.Finding{Wraps: true})
		return "what wraps the model breaks the graph before the first operator", Fix{Text: text, Row: id}
	case b.Compile.recurrent() != nil:
		return "Dynamo leaves RNN, GRU and LSTM to eager execution by default", adviseBreak(breakFinding(b.Compile.recurrent()))
	}
	return b.Title() + " within " + shortPlace(b.Pos.File, b.Pos.Line), Fix{}
}

// parallelClass knows the classes that replicate or shard a model.
func parallelClass(class string) bool {
	return class == "DistributedDataParallel" || class == "DataParallel" || class == "FullyShardedDataParallel"
}

// wrapsModel says whether a break shows that a model is called through what replicates or
// shards it: by the class that was compiled, or by the calls that led to the break.
func (b *Break) wrapsModel() bool {
	if parallelClass(b.Compile.wrapped) {
		return true
	}
	parallel := func(p logs.Pos) bool {
		return strings.Contains(p.File, "torch/nn/parallel/") || strings.Contains(p.File, "torch/distributed/fsdp/")
	}
	return parallel(b.Pos) || slices.ContainsFunc(b.Stack, parallel)
}

// libraryAdvice lists the lines of compiled functions of the program that call what breaks
// within torch or the standard library: the break is theirs, the call is not.
func libraryAdvice(r *Report) []Advice {
	var out []Advice
	for _, g := range r.Breaks {
		b, line, ok := calledBy(g)
		if !ok || g.CausedBy != nil || strings.Contains(b.Pos.File, "torch/distributed/fsdp/") {
			continue
		}
		f := breakFinding(b)
		f.Inner, f.Line, f.Place = shortPlace(b.Pos.File, b.Pos.Line), line.Code, shortPlace(line.File, line.Line)
		f.Callee, f.Builtin = "", ""
		fix := adviseBreak(f)
		switch {
		case !r.OfGo():
		case b.Code == breaks.FakeTensorFailure: // eager it fails as well
			fix = goBreak(b)
		default:
			fix = goFix("library-call")
		}
		if fix.Text == "" || strings.Contains(b.Pos.File, "torch/optim/") { // a compiled step() is one graph
			continue
		}
		out = addAdvice(out, Advice{Text: b.Title() + " within " + shortPlace(b.Pos.File, b.Pos.Line) + ", which this line calls", Pos: line, Fix: fix, Break: g, Frame: b.Compile.Frame})
	}
	return out
}

// calledBy is the first break of a group that a line of the program is known to cause: the
// group's first may be that of a module's own method, left to be compiled by itself.
func calledBy(g *BreakGroup) (b *Break, line logs.Pos, ok bool) {
	for _, b = range g.Breaks {
		if line, ok = callerOf(b); ok {
			return b, line, true
		}
	}
	return g.Lead, line, false
}

// callerOf is the line of the program that calls what breaks within torch or the standard
// library, where the program asked for the caller to be compiled.
func callerOf(b *Break) (logs.Pos, bool) {
	if !b.Noise || b.Compile == nil || b.Compile.Frame.Pos.File == "" || !b.Compile.Frame.ofProgram() {
		return logs.Pos{}, false
	}
	return userLine(b.Stack)
}

// addAdvice adds what no other rank has said.
func addAdvice(list []Advice, a Advice) []Advice {
	for i := range list {
		if list[i].Text == a.Text && list[i].Pos.File == a.Pos.File && list[i].Pos.Line == a.Pos.Line {
			return list
		}
	}
	a.Cost = count(len(a.Break.Breaks), "break")
	return append(list, a)
}

// ofProgram says whether a frame's code is not the framework's.
func (fr *Frame) ofProgram() bool { return fr.wraps == nil && !frameworkFile(fr.Pos.File) }

// isWrapper knows the function that Dynamo compiles for a callable without a frame of
// its own, such as a module with hooks.
func isWrapper(name string) bool { return name == "inner" || name == "wrapper" }

// Place is where a reader looks for a frame. What Dynamo compiles for a callable without
// a frame of its own, as for nn.Sequential, is known by the line that calls it.
func (fr *Frame) Place() logs.Pos {
	if !isWrapper(fr.Name) || !frameworkFile(fr.Pos.File) || len(fr.Compiles) == 0 {
		return fr.Pos
	}
	if at, ok := userLine(fr.Compiles[0].Stack); ok {
		return at
	}
	return fr.Pos
}

// callPlace is a line of the user on one rank.
type callPlace struct {
	rank int
	file string
	line int
}

// reachedCalls are the lines below which a graph with operators was compiled, or which
// led to a function of the program's own: what breaks there is not the wrapper's fault.
func reachedCalls(r *Report) map[callPlace]bool {
	out := map[callPlace]bool{}
	for _, fr := range r.Frames {
		own := fr.Pos.File != "" && fr.ofProgram() && fr.Status != Compiling
		for _, c := range fr.Compiles {
			if !own && (c.Graph == nil || len(c.Graph.Ops) == 0) {
				continue
			}
			for _, p := range c.Stack {
				out[callPlace{c.ID.Rank, p.File, p.Line}] = true
			}
		}
	}
	return out
}

// userLine is the innermost line of a stack that is not the framework's.
func userLine(stack []logs.Pos) (logs.Pos, bool) {
	for i := len(stack) - 1; i >= 0; i-- {
		if p := stack[i]; p.File != "" && !frameworkFile(p.File) {
			return p, true
		}
	}
	return logs.Pos{}, false
}
