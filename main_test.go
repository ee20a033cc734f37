package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSourceIsWhole compares the source that the program carries with the folders: every Go
// and assembly file of torch and ops, and nothing that only tests read.
func TestSourceIsWhole(t *testing.T) {
	carried := map[string]bool{}
	err := fs.WalkDir(source, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			carried[p] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for p := range carried {
		if strings.Contains(p, "testdata") {
			t.Errorf("%s is carried, which only tests read", p)
		}
	}
	n := 0
	for _, dir := range []string{"torch", "ops"} {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case d.IsDir() || strings.HasSuffix(p, "_test.go"):
				return nil
			}
			n++
			if !carried[filepath.ToSlash(p)] {
				t.Errorf("%s is not carried: main.go names no pattern for it", p)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 200 {
		t.Fatalf("only %d files were compared", n)
	}
	if _, err := os.Stat("torch/testdata"); err != nil {
		t.Fatal("torch/testdata is gone: this test compares nothing with it")
	}
}
