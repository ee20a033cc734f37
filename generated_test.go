package main

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tcdbg/internal/test"
)

// This file holds every generated file against its generator.

var directive = regexp.MustCompile(`(?m)^//go:generate go run (\S+)(.*) -o (\S+)$`)

// TestGeneratedFresh runs every go:generate line with its output in a folder of its own
// and compares what comes out with the tree. What says "Code generated" and comes out of
// none is a file that `make generate` would not write.
func TestGeneratedFresh(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("SKIPPED: generators run through the go command")
	}
	test.Long(t, "it builds the generators; make check runs it too")
	made := map[string]bool{}
	walkGo(t, func(path, text string) {
		if !strings.Contains(text, "//go:generate ") {
			return
		}
		lines := directive.FindAllStringSubmatch(text, -1)
		if n := strings.Count("\n"+text, "\n//go:generate "); n != len(lines) {
			t.Errorf("%s: %d go:generate lines, %d end in -o PLACE", path, n, len(lines))
		}
		for _, l := range lines {
			generateAside(t, filepath.Dir(path), l[1], strings.Fields(l[2]), l[3], made)
		}
	})
	walkGo(t, func(path, text string) {
		if strings.HasPrefix(text, "// Code generated ") && !made[path] {
			t.Errorf("%s: no go:generate line writes it", path)
		}
	})
}

// generateAside runs one generator of the package at dir, whose output is for place.
func generateAside(t *testing.T, dir, tool string, args []string, place string, made map[string]bool) {
	t.Helper()
	to := t.TempDir()
	out := to
	if filepath.Ext(place) != "" && filepath.Base(place) != ".." && place != "." { // a file
		out, place = filepath.Join(to, filepath.Base(place)), filepath.Dir(place)
	}
	cmd := exec.Command("go", append(append([]string{"run", tool}, args...), "-o", out)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=") // -race, say, has files of its own
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", tool, err, text)
	}
	err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(to, path)
		name := filepath.Join(dir, place, rel)
		made[name] = true
		if !sameFile(t, path, name) {
			t.Errorf("%s is stale: run make generate", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sameFile compares two files, archives by what they hold.
func sameFile(t *testing.T, fresh, have string) bool {
	t.Helper()
	want, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(have)
	if err != nil {
		t.Error(err)
		return true
	}
	if filepath.Ext(have) == ".zip" {
		return entries(t, want) == entries(t, got)
	}
	return bytes.Equal(want, got)
}

func entries(t *testing.T, data []byte) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(f.Name + "\n" + string(text) + "\n")
	}
	return out.String()
}

// walkGo calls f with the text of every Go file outside testdata.
func walkGo(t *testing.T, f func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "build"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			f(path, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
