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
// trace of PyTorch's the Python programs that PyTorch has put there, of forward and backward graph.
func Write(dir string, r *explain.Report, c *explain.Compile, seed int64) (paths []string, err error) {
	files, err := programs(r, c, seed)
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
func programs(r *explain.Report, c *explain.Compile, seed int64) ([][2]string, error) {
	if !r.OfGo() {
		return runnable(c)
	}
	s, err := Read(c)
	if err != nil {
		return nil, err
	}
	p, err := s.Program(seed)
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
func runnable(c *explain.Compile) (out [][2]string, err error) {
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
	if len(out) == 0 {
		err = fmt.Errorf("the trace has no fx_graph_runnable of graph %s: PyTorch writes it where Inductor compiles a graph that is "+
			"in no cache (TORCHINDUCTOR_FORCE_DISABLE_CACHES=1)", c.ID.CompileID)
	}
	return out, err
}
