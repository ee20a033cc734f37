package main

import (
	"os"
	"path/filepath"
	"testing"
)

// What is generated must be what stands in the tree.
func TestGeneratedFilesAreFresh(t *testing.T) {
	root := filepath.Join("..", "..")
	files, err := Generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
		} else if string(got) != want {
			t.Errorf("%s is stale: run go run ./cmd/genops", name)
		}
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{"log_softmax": "LogSoftmax", "add_": "Add_", "mm": "Mm", "clamp_min_": "ClampMin_", "_to_copy": "ToCopy"} {
		if got := camel(in); got != want {
			t.Errorf("camel(%s) = %s, want %s", in, got, want)
		}
	}
}
