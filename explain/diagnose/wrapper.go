package diagnose

import (
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/advice"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file advises on what wraps a model. A break there is the framework's own and
// is folded; but it may leave the whole model to eager execution, or cut it at every
// sharded module, and this the user can change: by compiling what is wrapped.

// WrapperAdvice lists the calls whose wrapper breaks before anything is compiled, and
// the functions that call sharded modules.
func WrapperAdvice(r *explain.Report) []explain.Advice {
	var out []explain.Advice
	reached := reachedCalls(r)
	seen := map[callPlace]bool{}
	for _, g := range r.Breaks {
		if !g.Lead.Noise {
			continue
		}
		for _, b := range g.Breaks {
			at, ok := explain.UserLine(b.Compile.Stack)
			key := callPlace{b.Compile.ID.Rank, at.File, at.Line}
			if !ok || seen[key] {
				continue
			}
			switch {
			case (b.Compile.Frame.Wraps != nil ||
				explain.FrameworkFile(b.Compile.Frame.Pos.File) && explain.IsWrapper(b.Compile.Frame.Name)) &&
				b.Compile.Status == explain.Empty && !reached[key]:
				seen[key] = true
				text, fix := eagerCall(b)
				out = addAdvice(
					out,
					explain.Advice{Text: "nothing of this call is compiled: " + text, Pos: at, Fix: fix, Break: g, Frame: b.Compile.Frame},
				)
			case strings.Contains(b.Pos.File, "torch/distributed/fsdp/"):
				line, inside := explain.UserLine(b.Stack)
				if !inside || !b.Compile.Frame.OfProgram() {
					continue
				}
				seen[key] = true
				out = addAdvice(out, explain.Advice{
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
func eagerCall(b *explain.Break) (string, explain.Fix) {
	switch {
	case b.WrapsModel():
		text, id, _ := advice.Advise(&advice.Finding{Wraps: true})
		return "what wraps the model breaks the graph before the first operator", explain.Fix{Text: text, Row: id}
	case recurrentBreak(b.Compile) != nil:
		return "Dynamo leaves RNN, GRU and LSTM to eager execution by default", AdviseBreak(breakFinding(recurrentBreak(b.Compile)))
	}
	return b.Title() + " within " + ShortPlace(b.Pos.File, b.Pos.Line), explain.Fix{}
}

// LibraryAdvice lists the lines of compiled functions of the program that call what breaks
// within torch or the standard library: the break is theirs, the call is not.
func LibraryAdvice(r *explain.Report) []explain.Advice {
	var out []explain.Advice
	for _, g := range r.Breaks {
		b, line, ok := calledBy(g)
		if !ok || g.CausedBy != nil || strings.Contains(b.Pos.File, "torch/distributed/fsdp/") {
			continue
		}
		f := breakFinding(b)
		f.Inner, f.Line, f.Place = ShortPlace(b.Pos.File, b.Pos.Line), line.Code, ShortPlace(line.File, line.Line)
		f.Callee, f.Builtin = "", ""
		fix := AdviseBreak(f)
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
		out = addAdvice(
			out,
			explain.Advice{
				Text: b.Title() + " within " + ShortPlace(b.Pos.File, b.Pos.Line) + ", which this line calls",
				Pos:  line, Fix: fix, Break: g, Frame: b.Compile.Frame,
			},
		)
	}
	return out
}

// calledBy is the first break of a group that a line of the program is known to cause: the
// group's first may be that of a module's own method, left to be compiled by itself.
func calledBy(g *explain.BreakGroup) (b *explain.Break, line logs.Pos, ok bool) {
	for _, b = range g.Breaks {
		if line, ok = CallerOf(b); ok {
			return b, line, true
		}
	}
	return g.Lead, line, false
}

// CallerOf is the line of the program that calls what breaks within torch or the standard
// library, where the program asked for the caller to be compiled.
func CallerOf(b *explain.Break) (logs.Pos, bool) {
	if !b.Noise || b.Compile == nil || b.Compile.Frame.Pos.File == "" || !b.Compile.Frame.OfProgram() {
		return logs.Pos{}, false
	}
	line, ok := explain.UserLine(b.Stack)
	if !ok || b.Compile.Frame.Wraps != nil {
		return line, ok
	}
	if b.Compile.Frame.From != nil { // our engine's stack is whole; the function that went on has returned
		return line, true
	}
	// Of two functions of one name PyTorch's traceback may leave one out: the compiled
	// function (dumps, of json.dumps). The line that is left is that of its caller.
	fr := b.Compile.Frame
	compiled := explain.FunctionOf(logs.Pos{Func: fr.Name}, nil)
	for _, p := range b.Stack {
		if p.File == fr.Pos.File && (p.Func == "" || sameName(explain.FunctionOf(p, nil), compiled)) {
			return line, true
		}
	}
	return logs.Pos{}, false
}

// sameName says whether a function is known by these names, of which one may have the names
// around it, too.
func sameName(a, b string) bool {
	last := func(s string) string { return s[strings.LastIndexByte(s, '.')+1:] }
	return last(a) == last(b)
}

// LedBy is the line of the program whose call led to a break within torch or the standard
// library, which may be many calls away and none that is compiled: of a frame of the library's
// own the trace has the stack of calls. It is told to find the break, and is no advice.
func LedBy(b *explain.Break) (logs.Pos, bool) {
	if line, ok := CallerOf(b); ok || !b.Noise || b.Compile == nil {
		return line, ok
	}
	whole := b.Compile
	if fr := whole.Frame.Parent; fr != nil && len(fr.Compiles) > 0 {
		whole = fr.Compiles[len(fr.Compiles)-1] // a part after a break is called by library code alone
	}
	for _, c := range []*explain.Compile{b.Compile, whole} {
		for i := len(c.Stack) - 1; i >= 0; i-- {
			if p := c.Stack[i]; p.File != "" && !explain.FrameworkFile(p.File) && explain.InstalledPackage(p.File) == "" {
				return p, true
			}
		}
	}
	return logs.Pos{}, false
}

// addAdvice adds what no other rank has said.
func addAdvice(list []explain.Advice, a explain.Advice) []explain.Advice {
	for i := range list {
		if list[i].Text == a.Text && list[i].Pos.File == a.Pos.File && list[i].Pos.Line == a.Pos.Line {
			return list
		}
	}
	a.Cost = explain.Count(len(a.Break.Breaks), "break")
	return append(list, a)
}

// callPlace is a line of the user on one rank.
type callPlace struct {
	rank int
	file string
	line int
}

// reachedCalls are the lines below which a graph with operators was compiled, or which
// led to a function of the program's own: what breaks there is not the wrapper's fault.
func reachedCalls(r *explain.Report) map[callPlace]bool {
	out := map[callPlace]bool{}
	for _, fr := range r.Frames {
		own := fr.Pos.File != "" && fr.OfProgram() && fr.Status != explain.Compiling
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
