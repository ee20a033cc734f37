package numerics

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tcdbg/backends/reproducer"
	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/torch"
)

// This file writes the smallest part of a graph that differs as a program of its own.

// reproduce writes the reproducer of a search; it says why not.
func (x *search) reproduce() string {
	s, dir := x.repro, x.w.c.cfg.Repro
	switch {
	case dir == "":
		return ""
	case x.w.record.Backend == "custom":
		return "the backend is the program's own"
	case s.random:
		return "the graph draws random numbers"
	}
	at := filepath.Join(dir, "graph-"+strings.ReplaceAll(x.w.record.Compile, "/", "-")+"-"+graph.Word(s.g.Name))
	if err := writeRepro(at, s, x.fault); err != nil {
		return err.Error()
	}
	x.w.record.Repro = at
	return ""
}

// writeRepro writes model.go and inputs.pt into a new folder.
func writeRepro(dir string, s *subject, f *logs.NumericsFault) error {
	first := "Part of a captured graph that differs from eager execution in " + f.Stage
	if f.Node != "" {
		first += ", at " + f.Node
	}
	return s.write(dir, &reproducer.Program{Doc: []string{
		first + ".", "",
		"It runs the part compiled and eagerly on the inputs in inputs.pt, prints where the results",
		"differ, and then exits with 1. Run it in its folder: tcdbg run --plain model.go. Written by",
		"tcdbg check --numerics.",
	}})
}

// WritePart writes a graph with inputs as a program, of which p has the rest, into a new folder.
func WritePart(dir string, g *graph.Graph, in []torch.Value, p *reproducer.Program) error {
	s, _ := newSubject(g, in)
	s.train = s.train && !p.NoGrad
	return s.write(dir, p)
}

// write writes p with the graph and the inputs of s.
func (s *subject) write(dir string, p *reproducer.Program) error {
	text, err := s.program(p)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	var saved []any
	for _, v := range s.in {
		if t := tensor(v); t != nil {
			saved = append(saved, t.Detach())
		}
	}
	if err := torch.Save(saved, filepath.Join(dir, "inputs.pt")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "model.go"), []byte(text), 0o644)
}

// program is the text of p.
func (s *subject) program(p *reproducer.Program) (string, error) {
	p.Graph, p.Saved = s.g, true
	saved := 0
	for i, n := range s.g.Placeholders() {
		switch v := s.in[i].(type) {
		case *torch.Tensor:
			grad := s.train && v.RequiresGrad()
			p.Inputs = append(p.Inputs, reproducer.Input{
				Make: fmt.Sprintf("saved(%d, %t)", saved, grad), Type: "*torch.Tensor", Grad: grad, Copy: grad && s.made[i],
			})
			saved++
		case int:
			p.Inputs = append(p.Inputs, reproducer.Input{Make: strconv.Itoa(v), Type: "int"})
		case float64:
			p.Inputs = append(p.Inputs, reproducer.Input{Make: fmt.Sprint(v), Type: "float64"})
		default:
			return "", fmt.Errorf("input %s is a %T", n.Name, v)
		}
	}
	for i, a := range s.g.Outputs() {
		if n, ok := a.(*graph.Node); !ok || !n.IsTensor() {
			return "", fmt.Errorf("output %d is no tensor", i)
		}
	}
	return p.Text()
}
