// Package codegen is the seam between a plan and its text: a Target is a language and
// a machine, and Assemble puts a program together, the same way for all of them.
//
// It imports plan, ir and logs; targets are the packages below it, and the table of
// them is inductor's. Open this file.
package codegen

import (
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
	"tcdbg/logs"
	"tcdbg/ops/sym"
)

// Target is a language that programs are written in, for one machine.
type Target interface {
	Name() string
	plan.Packer
	// Writer begins the module of a plan. It reads the plan and the IR and writes to
	// neither.
	Writer(p *plan.Plan) Writer
}

// Writer writes one module.
type Writer interface {
	// Kernel writes the kernel of a group. The error names what the language cannot hold.
	Kernel(group int) (*Code, error)
	// Head is the text before the kernels; all of them have been written.
	Head() string
	// Gap is the text before each kernel.
	Gap() string
	// Tail is the text after the kernels, which are all there.
	Tail() (string, error)
	// Build is what a compiler and a run need; nil where the text is all there is.
	Build() *Build
}

// Code is the text of one kernel.
type Code struct {
	Text  string
	Lines []Line
}

// Line ties a line of a kernel's text (0-based) to a node that it computes.
type Line struct {
	Line   int
	Origin ir.Origin
}

// Build is what is compiled: translation units that together define every kernel and,
// in the first, the entry function.
type Build struct {
	Shards []string
	Cold   int    // how many of them, the last ones, hold functions in which a call spends next to no time
	Entry  string // symbol of the entry function
	Libm   bool   // some shard calls functions of libm
	Lanes  int    // float32 elements of a vector
	// Sizes are the expressions in the table S that kernels are given.
	Sizes []sym.Int
	Heads []string // [] /* shard */ its prelude
	Start string   // text of the entry function
}

// Module is a program as text.
type Module struct {
	Text    string
	Parts   []Part // [] /* group */
	Missing error  // what the language cannot hold; Text ends after the kernels then
	Build   *Build
}

// Part is where a kernel is in a module.
type Part struct {
	Code     string // "" for an extern call, and where Missing is set
	From, To int    // lines of the module
	Lines    []logs.KernelLine
	Missing  error
}

// Assemble writes the program of a plan.
func Assemble(t Target, p *plan.Plan) *Module {
	w := t.Writer(p)
	m := &Module{Parts: make([]Part, len(p.Kernels))}
	codes := make([]*Code, len(p.Kernels))
	for i, k := range p.Kernels {
		if k == nil {
			continue
		}
		codes[i], m.Parts[i].Missing = w.Kernel(i)
		m.miss(m.Parts[i].Missing)
	}
	out := listing{line: 1}
	out.add(w.Head())
	for i, c := range codes {
		if c == nil {
			continue
		}
		out.add(w.Gap())
		part := &m.Parts[i]
		part.Code, part.From = c.Text, out.line
		for _, l := range c.Lines {
			part.Lines = AddLine(part.Lines, out.line+l.Line, l.Origin)
		}
		out.add(c.Text)
		part.To = out.line - 1
	}
	if m.Missing == nil {
		tail, err := w.Tail()
		if m.miss(err); err == nil {
			out.add(tail)
		}
	}
	m.Text, m.Build = out.String(), w.Build()
	return m
}

// miss notes the first thing that is missing.
func (m *Module) miss(err error) {
	if m.Missing == nil {
		m.Missing = err
	}
}

// listing is text that counts its lines.
type listing struct {
	strings.Builder
	line int
}

func (l *listing) add(s string) {
	l.WriteString(s)
	l.line += strings.Count(s, "\n")
}

// What listings of calls begin with, and the lines of control flow below them.
const (
	FlowMark   = "// call "
	FlowIndent = "//      "
)

// AddLine adds o to the origins of a line.
func AddLine(ls []logs.KernelLine, line int, o ir.Origin) []logs.KernelLine {
	pos := logs.Pos{}
	if len(o.Stack) > 0 {
		f := o.Stack[len(o.Stack)-1]
		pos = logs.Pos{File: f.File, Line: f.Line, Col: f.Col, Func: f.Func, Code: f.Code}
	}
	if n := len(ls); n > 0 && ls[n-1].Line == line {
		ls[n-1].Nodes = append(ls[n-1].Nodes, o.Node)
		ls[n-1].Pos = append(ls[n-1].Pos, pos)
		return ls
	}
	return append(ls, logs.KernelLine{Line: line, Nodes: []string{o.Node}, Pos: []logs.Pos{pos}})
}
