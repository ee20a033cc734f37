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

// Write writes the reproducer of a compile into a new folder, and returns its file: a Go program,
// or of a trace of PyTorch's the Python program that PyTorch has put there.
func Write(dir string, r *explain.Report, c *explain.Compile, seed int64) (path string, err error) {
	name, program := "model.go", ""
	if r.OfGo() {
		s, err := Read(c)
		if err != nil {
			return "", err
		}
		p, err := s.Program(seed)
		if err == nil {
			program, err = p.Text()
		}
		if err != nil {
			return "", err
		}
	} else {
		name = "repro.py"
		if program, err = runnable(c); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, name), writeFolder(dir, name, program)
}

// writeFolder makes a folder with one file.
func writeFolder(dir, name, text string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
}

// runnable is the program that PyTorch has written for a graph.
func runnable(c *explain.Compile) (string, error) {
	for _, s := range c.Graph.Stages {
		if s.Name == "runnable" && s.Load != nil {
			if text := s.Load(); strings.TrimSpace(text) != "" {
				return text, nil
			}
		}
	}
	return "", fmt.Errorf("the trace has no fx_graph_runnable of graph %s, which PyTorch writes where Inductor compiles a graph",
		c.ID.CompileID)
}
