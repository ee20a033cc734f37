// Package repro is `tcdbg repro`: a graph of a trace as a program that compiles it alone, and the
// smallest part of it that still shows a fault.
//
// Open this file first (from a report to a program), then minify.go (how a graph is made smaller) and
// try.go (the process in which each part is tried).
package repro

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tcdbg/backends/reproducer"
	"tcdbg/explain"
	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/logs/printable"
	"tcdbg/tracer/breaks"
)

// captured is the name of the stage that is what was captured.
const captured = "dynamo"

// Find is the compile that has the graph of an id; of several the last.
func Find(r *explain.Report, id string) (*explain.Compile, error) {
	var found *explain.Compile
	var have []string
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if c.Graph == nil || text(c.Graph, captured) == "" {
				continue
			}
			name := c.ID.CompileID.String()
			if name == id || fmt.Sprintf("%d/%d", c.ID.Frame, c.ID.CompileID.Compile) == id {
				found = c
			}
			if len(have) < 20 {
				have = append(have, name+" "+printable.Clean(fr.Name))
			}
		}
	}
	switch {
	case found != nil:
		return found, nil
	case len(have) == 0:
		return nil, fmt.Errorf("the trace has no captured graph")
	case id == "":
		return nil, fmt.Errorf("which graph? there are %s", strings.Join(have, ", "))
	}
	return nil, fmt.Errorf("there is no graph %s; there are %s", printable.Clean(id), strings.Join(have, ", "))
}

// text is the text of a stage.
func text(g *explain.Graph, stage string) string {
	for _, s := range slices.Backward(g.Stages) {
		if s.Name == stage && s.Load != nil {
			return s.Load()
		}
	}
	return ""
}

// Source is a graph of a Go program with what it was compiled with.
type Source struct {
	Compile *explain.Compile
	Graph   *graph.Graph
	Text    string
	Known   logs.GraphInputs
	OfTorch bool // it is of PyTorch's trace
}

// Read reads the graph of a compile.
func Read(c *explain.Compile) (*Source, error) {
	s := &Source{Compile: c, Text: text(c.Graph, captured)}
	if c.Graph.LoadInputs != nil {
		s.Known = c.Graph.LoadInputs()
	}
	g, err := Parse(c.Graph.Name, s.Text, s.Known)
	if err != nil {
		return nil, fmt.Errorf("the text of graph %s cannot be read back: %w", c.ID.CompileID, err)
	}
	s.Graph = g
	return s, nil
}

// graphName is what names of captured graphs look like, which become names of functions.
var graphName = regexp.MustCompile(`^_*compiled_fn_[0-9a-z_]*$`)

// Parse reads the text of a graph, with what is known besides.
func Parse(name, text string, known logs.GraphInputs) (g *graph.Graph, err error) {
	defer func() {
		if v := recover(); v != nil { // sizes that no tensor can have
			g, err = nil, fmt.Errorf("%v", v)
		}
	}()
	if !graphName.MatchString(name) {
		name = "__compiled_fn"
	}
	if g, err = graph.ParseSized(name, text, known.Hints); err != nil {
		return nil, err
	}
	g.Untaped = known.Untaped
	for n := g.First(); n != nil; n = n.Next() {
		n.NoGrad = known.NoGrad || slices.Contains(known.Ungraded, n.Name)
	}
	return g, nil
}

// Program is the program that compiles the graph of s.
func (s *Source) Program(seed int64) (p *reproducer.Program, err error) {
	defer func() {
		if v := recover(); v != nil { // what no graph has that was captured
			p, err = nil, fmt.Errorf("graph %s cannot be written as a program: %v", s.Compile.ID.CompileID, v)
		}
	}()
	inputs, err := reproducer.Random(s.Graph, s.Known.Inputs)
	if err != nil {
		return nil, err
	}
	p = &reproducer.Program{Graph: s.Graph, Inputs: inputs, Seed: seed, Options: reproducer.Options(s.Known)}
	p.NoGrad = s.Known.NoGrad || s.Known.Untaped || ungraded(s.Graph)
	if reproducer.NumbersVary(s.Graph) {
		p.Options = append(p.Options, "kw.Dynamic(true)")
	}
	id := s.Compile.ID.CompileID.String()
	p.Doc = []string{
		fmt.Sprintf("Graph %s of %s, compiled alone.", id, shown(s.Compile.Frame.Name)), "",
		"It runs the graph compiled and eagerly on random inputs of the recorded shapes, strides and types, prints",
		"where results differ, and then exits with 1. Run it: tcdbg run --plain model.go. Written by tcdbg repro.",
	}
	s.notes(p)
	return p, nil
}

// ungraded reports whether all calls of a graph are made under torch.NoGrad.
func ungraded(g *graph.Graph) bool {
	return !slices.ContainsFunc(g.Nodes(), func(n *graph.Node) bool { return n.OpRow() != nil && !n.NoGrad })
}

func shown(s string) string { return printable.Clean(s) }

// notes say what the program has not of the one that the graph is of.
func (s *Source) notes(p *reproducer.Program) {
	note := func(format string, args ...any) {
		p.Doc = append(p.Doc, "")
		p.Doc = append(p.Doc, fmt.Sprintf(format, args...))
	}
	switch {
	case s.OfTorch:
		note("The graph is one of PyTorch's, as tcdbg lower reads it. Whole numbers are 0.")
	case s.Compile.Graph.LoadInputs == nil:
		note("The trace does not say which inputs want gradients, nor what whole numbers they had: none do, and these are 0.")
	}
	if s.Known.Backend == "custom" {
		note("The program's backend was its own; this one has inductor.")
	}
	if len(s.Graph.FlowBodies()) > 0 {
		note("Control flow of the graph is Go's own here: the graph breaks at it.")
	}
	if strings.Contains(s.Graph.GoCode(), "torch.Op(") {
		note("Go has no function for some operators of the graph: it breaks at torch.Op.")
	}
	if f := s.Compile.Failure; f != nil {
		note("The compile ended with %s: %s", shown(f.Type), shown(firstLine(f.Reason)))
	}
	for _, b := range s.Compile.Breaks {
		if b.During {
			continue
		}
		where := fmt.Sprintf("The graph ended at %s:%d with %s %s", shown(b.Pos.File), b.Pos.Line, shown(b.Code), shown(b.Type))
		p.Break = breakOf(b, s.Graph)
		if p.Break == nil {
			note("%s, which is not in this program.", where)
			continue
		}
		note("%s; so it does here.", where)
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// breakOf is a statement that ends a graph as b did; nil for those that take more of the program.
func breakOf(b *explain.Break, g *graph.Graph) *reproducer.Break {
	switch b.Code {
	case breaks.BuiltinPrint:
		return &reproducer.Break{Text: "fmt.Println() // the graph ends here"}
	case breaks.GraphBreakCall:
		return &reproducer.Break{Text: "compiler.GraphBreak() // the graph ends here"}
	case breaks.TimeFunction:
		return &reproducer.Break{Text: "_ = time.Now() // the graph ends here", Imports: []string{"time"}}
	case breaks.DataDependentBranching:
		return branch(b.Context, g)
	}
	return nil
}

// output is the place of a node among the outputs, -1 where it is none.
func output(g *graph.Graph, name string) int {
	return slices.IndexFunc(g.Outputs(), func(a any) bool {
		n, ok := a.(*graph.Node)
		return ok && n.Name == name
	})
}

// branch is a branch on an output: on one whose sides compute tensors, or do more, as the program's did.
func branch(context string, g *graph.Graph) *reproducer.Break {
	name, ok := strings.CutPrefix(context, "branch on the value of ")
	name, more, _ := strings.Cut(name, ",")
	out := output(g, name)
	if !ok || out < 0 {
		return nil
	}
	side := "noted = !noted"
	if i := slices.IndexFunc(g.Outputs(), isTensor); more == "" {
		side = fmt.Sprintf("out%d = out%d.Clone()", i, i)
	}
	return &reproducer.Break{Text: fmt.Sprintf("if out%d.Bool() { // the graph ends here\n\t\t%s\n\t}", out, side)}
}

func isTensor(a any) bool {
	n, ok := a.(*graph.Node)
	return ok && n.IsTensor()
}
