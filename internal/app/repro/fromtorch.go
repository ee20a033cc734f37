package repro

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/graph/fxtext"
	"tcdbg/internal/app/lowering"
	"tcdbg/logs"
	"tcdbg/logs/fx"
	"tcdbg/torch/export"
)

// This file makes a Go program of a graph of PyTorch's, with what `tcdbg lower` makes of its text.

// ReadTorch reads the graph of a compile of PyTorch's. Operators that tcdbg lacks are the error.
func ReadTorch(r *explain.Report, c *explain.Compile) (*Source, error) {
	s := &Source{Compile: c, Text: text(c.Graph, captured), OfTorch: true}
	hints := lowering.Hints(r, c.Graph.ID)
	read, err := fxtext.Build(fx.Parse(s.Text), "__compiled_fn", hints)
	var missing *export.Missing
	switch {
	case errors.As(err, &missing):
		return nil, fmt.Errorf("graph %s is no program of Go: %w", c.ID.CompileID, err)
	case err != nil:
		return nil, fmt.Errorf("graph %s cannot be read: %w", c.ID.CompileID, err)
	}
	s.Graph = read.Graph
	s.Graph.Untaped = false
	p := &torchProgram{c: c}
	for _, n := range read.Graph.Placeholders() {
		in := logs.GraphInput{Name: n.Name, Leaf: true}
		in.Grad = n.IsTensor() && p.grad(&fx.Node{Target: sourceName(s.Text, n.Name)})
		s.Known.Inputs = append(s.Known.Inputs, in)
	}
	s.Known.Hints = hints
	s.Known.Backend = DefaultBackend
	s.Known.NoGrad = !slices.ContainsFunc(s.Known.Inputs, func(in logs.GraphInput) bool { return in.Grad })
	return s, nil
}

// sourceName is the parameter of forward that the body calls name.
func sourceName(text, name string) string {
	for line := range strings.Lines(text) {
		if to, from, ok := strings.Cut(strings.TrimSpace(line), " = "); ok && to == name {
			return from
		}
	}
	return name
}
