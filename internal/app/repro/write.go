package repro

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tcdbg/explain"
	"tcdbg/graph"
)

// This file writes reproducers into folders of their own.

// Folder is the name of the folder for a graph's reproducer.
func Folder(c *explain.Compile) string { return "repro_" + graph.Word(c.ID.CompileID.String()) }

// Write writes the reproducer of a compile into a new folder, and returns its files: a Go program, or of a
// trace of PyTorch's the Python programs that PyTorch has put there, of forward and backward graph, else one of the graph's text.
// asGo makes a Go program of a graph of PyTorch's.
func Write(dir string, r *explain.Report, c *explain.Compile, o Options, asGo bool) (paths []string, err error) {
	files, err := programs(r, c, o, asGo)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	for _, f := range files {
		path := filepath.Join(dir, f[0])
		if err := os.WriteFile(path, []byte(f[1]), 0o644); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// programs are the reproducers of a compile, each a name and a text.
func programs(r *explain.Report, c *explain.Compile, o Options, asGo bool) ([][2]string, error) {
	read := func() (*Source, error) { return Read(c) }
	switch {
	case r.OfGo():
	case asGo:
		read = func() (*Source, error) { return ReadTorch(r, c) }
	default:
		if files := runnable(c); len(files) > 0 && o.Backend == DefaultBackend {
			return files, nil
		}
		text, err := TorchProgram(r, c, o.Seed, o.Backend)
		return [][2]string{{"repro.py", text}}, err
	}
	s, err := read()
	if err != nil {
		return nil, err
	}
	p, err := s.Program(o.Seed)
	if err != nil {
		return nil, err
	}
	text, err := p.Text()
	return [][2]string{{"model.go", text}}, err
}

// writeFolder makes a folder with one file.
func writeFolder(dir, name, text string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
}

// runnable are the programs that PyTorch has written for a graph.
func runnable(c *explain.Compile) (out [][2]string) {
	for _, s := range c.Graph.Stages {
		if s.Name != "runnable" || s.Load == nil {
			continue
		}
		name := "repro.py"
		if len(out) > 0 {
			name = fmt.Sprintf("repro_%d.py", len(out)+1)
		}
		if text := s.Load(); strings.TrimSpace(text) != "" {
			out = append(out, [2]string{name, text})
		}
	}
	return out
}
