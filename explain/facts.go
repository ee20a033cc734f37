package explain

import (
	"slices"
	"strings"

	"tcdbg/logs"
)

// TraceFacts are what the advice on recompiles takes from the whole report.
type TraceFacts struct {
	Ours    bool                    // a Go program
	Source  *Source                 // the program's files
	Symbols map[ID][]*Symbol        // by compile, those of its last attempt
	Sites   map[CallSite][]logs.Pos // the functions which break, by the lines that call them
	Eager   map[CallSite]bool       // functions that break or are not compiled, by their first lines
	Lost    map[*Frame]bool         // functions that failed to compile or reached the limit
	Any     bool                    // the trace records symbols at all
	Named   []*Frame                // the functions of the program that are no lambdas
	Frames  map[[2]string][]int     // the first lines of what was compiled, by file and name of the code
}

// CallSite is a line of the program.
type CallSite struct {
	File string
	Line int
}

// NoteEager keeps the lines that call a function which is left to eager execution from a
// break on: what it calls there is compiled by itself.
func (x *TraceFacts) NoteEager(fr *Frame) {
	name, _, resumed := ResumedFunction(fr.Name)
	if !resumed {
		name = fr.Name
	}
	for _, c := range fr.Compiles {
		if c.Status == Limit || c.Status == Failed {
			x.Lost[fr] = true
		}
		for _, b := range c.Breaks {
			if b.WrapsModel() { // which passes on what it is given
				continue
			}
			for i, p := range b.Stack {
				if i > 0 && p.Func == name && p.File == fr.Pos.File {
					if at, ok := UserLine(b.Stack[:i]); ok {
						site := CallSite{at.File, at.Line}
						if start := fr.start(); !slices.Contains(x.Sites[site], start) {
							x.Sites[site] = append(x.Sites[site], start)
						}
					}
					break
				}
			}
		}
	}
}

// Direct reports whether the program certainly calls a function by what torch.compile gave,
// and not within another one that is left to eager execution. Dynamo's stacks lack the last
// two calls: within such a function, the last that is left is the call of that function.
func (x *TraceFacts) Direct(c *Compile) bool {
	if c.Frame.ID.Frame == 0 || len(c.Stack) == 0 { // a text log has no stacks
		return true
	}
	at, ok := UserLine(c.Stack[:len(c.Stack)-1])
	if !ok {
		return true
	}
	own := c.Frame.start()
	for fr := range x.Lost {
		if fr.start() != own {
			return false
		}
	}
	return !slices.ContainsFunc(x.Sites[CallSite{at.File, at.Line}], func(p logs.Pos) bool { return p != own })
}

// stackOf is the stack that a compile was asked for with: one at the limit records none, and
// the function's last compile before it is called in the same way as far as is known.
func stackOf(c *Compile) []logs.Pos {
	if len(c.Stack) > 0 {
		return c.Stack
	}
	var last []logs.Pos
	for _, o := range c.Frame.Compiles {
		if len(o.Stack) > 0 {
			last = o.Stack
		}
	}
	return last
}

// start is where the function begins of which a frame is all or the rest.
func (fr *Frame) start() logs.Pos {
	if fr.Parent != nil {
		fr = fr.Parent
	}
	return logs.Pos{File: fr.Pos.File, Line: fr.Pos.Line}
}

// CalledWithin reports whether a function was called by one that is compiled too and runs
// eager where it calls it, as after a graph break: else it would be a part of that graph.
// What wraps a model for several devices only passes its call on.
func (x *TraceFacts) CalledWithin(c *Compile) bool {
	stack := stackOf(c)
	for i := 0; i+1 < len(stack); i++ {
		p := stack[i]
		if strings.Contains(p.File, "torch/nn/parallel/") || strings.Contains(p.File, "torch/distributed/") {
			return false
		}
	}
	for i := 0; i+1 < len(stack); i++ {
		p := stack[i]
		if first, ok := x.compiledAt(p); ok && x.Eager[CallSite{p.File, first}] && x.Source.mayBegin(p, first) &&
			(p.File != c.Frame.Pos.File || p.Func != c.Frame.Name || first != c.Frame.Pos.Line) {
			return true
		}
	}
	return false
}

// Enclosed reports whether a lambda is in a function that breaks, as far as a trace tells:
// the compiled function that begins last before it breaks, and so does one that the line
// calls which led to the lambda. Dynamo's stacks lack the last two calls.
func (x *TraceFacts) Enclosed(c *Compile) bool {
	stack := stackOf(c)
	if len(stack) == 0 {
		return false
	}
	at, ok := UserLine(stack[:len(stack)-1])
	if !ok || len(x.Sites[CallSite{at.File, at.Line}]) == 0 {
		return false
	}
	own := c.Frame.Pos
	var around *Frame
	for _, fr := range x.Named {
		if start := fr.start(); start.File == own.File && start.Line <= own.Line && (around == nil || start.Line > around.start().Line) {
			around = fr
		}
	}
	return around != nil && slices.ContainsFunc(around.Compiles, func(o *Compile) bool { return len(o.Breaks) > 0 && o.Status != Failed })
}

// compiledAt finds the compiled function that a line of a stack is of, by its first line:
// the methods forward of two classes in one file are two functions.
func (x *TraceFacts) compiledAt(p logs.Pos) (first int, ok bool) {
	for _, line := range x.Frames[[2]string{p.File, p.Func}] {
		if line <= p.Line && line >= first {
			first, ok = line, true
		}
	}
	return first, ok
}
