// Package golden helps tests: golden files with one -update flag, expectations
// in "// want" comments of fixtures, and comparison of numbers with a
// tolerance. Only tests import it, and it imports nothing of ours.
package golden

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Updating says whether the golden files are being written again.
func Updating() bool { return *update }

// Equal compares got with the golden file at path, and writes the file when
// the test runs with -update.
func Equal(t testing.TB, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -update to write it", err)
	}
	if bytes.Equal(got, want) {
		return
	}
	t.Errorf("%s differs (run with -update and review the change):\n%s", path, Diff(string(want), string(got)))
}

// Diff shows the lines in which two texts differ, each after - or +, with one
// line of context; at most 40 lines.
func Diff(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	ea, eb := len(a), len(b)
	for ea > start && eb > start && a[ea-1] == b[eb-1] {
		ea--
		eb--
	}
	var out strings.Builder
	if start > 0 {
		fmt.Fprintf(&out, "  %s\n", a[start-1])
	}
	write := func(mark string, lines []string) {
		for i, l := range lines {
			if i == 20 {
				fmt.Fprintf(&out, "%s ... %d more lines\n", mark, len(lines)-20)
				return
			}
			fmt.Fprintf(&out, "%s %s\n", mark, l)
		}
	}
	fmt.Fprintf(&out, "  (from line %d)\n", start+1)
	write("-", a[start:ea])
	write("+", b[start:eb])
	return out.String()
}
