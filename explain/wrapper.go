package explain

import (
	"strings"

	"tcdbg/logs"
)

// This file advises on what wraps a model. A break there is the framework's own and
// is folded; but it may leave the whole model to eager execution, or cut it at every
// sharded module, and this the user can change: by compiling what is wrapped.

// wrapperAdvice lists the calls whose wrapper breaks before anything is compiled, and
// the functions that call sharded modules.
func wrapperAdvice(r *Report) []Advice {
	var out []Advice
	graphs := compiledCalls(r)
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
			case frameworkFile(b.Compile.Frame.Pos.File) && isWrapper(b.Compile.Frame.Name) && b.Compile.Status == Empty && !graphs[key]:
				seen[key] = true
				out = addAdvice(out, Advice{
					Text: "nothing of this call is compiled: what wraps the model breaks the graph before the first operator", Pos: at,
					Fix: Fix{Text: "compile the model and wrap the result, as in DDP(torch.compile(model)), or compile the forward of its parts"}, Break: g, Frame: b.Compile.Frame,
				})
			case strings.Contains(b.Pos.File, "torch/distributed/fsdp/"):
				line, inside := userLine(b.Stack)
				if !inside || frameworkFile(b.Compile.Frame.Pos.File) {
					continue
				}
				seen[key] = true
				out = addAdvice(out, Advice{
					Text: "a sharded module is called here: its hooks break the graph", Pos: line,
					Fix: Fix{Text: "compile the forward of each module before it is sharded (m.forward = torch.compile(m.forward)), not the model that calls them"}, Break: g, Frame: b.Compile.Frame,
				})
			}
		}
	}
	return out
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

// isWrapper knows the function that Dynamo compiles for a callable without a frame of
// its own, such as a module with hooks.
func isWrapper(name string) bool { return name == "inner" || name == "wrapper" }

// callPlace is a line of the user on one rank.
type callPlace struct {
	rank int
	file string
	line int
}

// compiledCalls are the lines below which a graph with operators was compiled.
func compiledCalls(r *Report) map[callPlace]bool {
	out := map[callPlace]bool{}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if c.Graph == nil || len(c.Graph.Ops) == 0 {
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
