package stop_test

import (
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/logs/ctl"
)

// timed are fixtures whose output is not the same in every run, or that need another
// backend than the graph interpreter.
var timed = map[string]bool{"steadymemory": true, "reduceoverhead": true, "models_llama7b": true}

// Stepping through a program by lines, into functions and by safe points does not change
// what it prints: to its end in the long form, and for its first steps in the short one.
func TestSteppingChangesNothing(t *testing.T) {
	folders, err := filepath.Glob("../../fixtures/*/model.go")
	if err != nil || len(folders) < 50 {
		t.Fatalf("%d fixtures: %v", len(folders), err)
	}
	limit := 4000
	if !test.IsLong() {
		limit = 60
		var few []string
		for _, f := range folders {
			switch filepath.Base(filepath.Dir(f)) {
			case "bar", "deepbreak", "recoverbreak", "innersteps", "autogradfunction", "concurrent":
				few = append(few, f)
			}
		}
		folders = few
	}
	for _, file := range folders {
		name := filepath.Base(filepath.Dir(file))
		if timed[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := open(t, file)
			want := s.finish()
			out := s.stdout.String()
			for _, kind := range []string{"line", "into", ""} {
				s := open(t, file)
				n := 0
				for ; n < limit; n++ {
					s.send(ctl.Step, kind)
					if _, ok := s.nextOrEnd(); !ok {
						break
					}
				}
				got := s.finish()
				if got.Code != want.Code || s.stdout.String() != out {
					t.Errorf("%d steps %q: exit %d, want %d\n%s", n, kind, got.Code, want.Code, difference(s.stdout.String(), out))
				}
				if n == 0 {
					t.Errorf("no step %q", kind)
				}
			}
		})
	}
}

// difference is the first line in which two texts differ.
func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "got " + a[i] + "\nwant " + b[i]
		}
	}
	return "the lengths differ"
}
