package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestCacheIsTakenAlong: a program that another machine's cache was imported for compiles nothing.
func TestCacheIsTakenAlong(t *testing.T) {
	needCompiler(t)
	first, second := warmSession(t), coldSession(t)
	run := func(s *session, want string, args ...string) {
		t.Helper()
		stdout, stderr, code := s.run(t, args...)
		if code != 0 || !strings.Contains(stdout, want) {
			t.Fatalf("%v: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
	run(first, "", "run", "--plain", "fixtures/bar/model.go")
	file := filepath.Join(t.TempDir(), "warm.zip")
	run(first, "to "+file, "cache", "export", file)
	run(second, "holds no compiled code", "cache")
	run(second, "0 were there already", "cache", "import", file)
	run(second, "runtime-", "cache", "list")
	run(second, "", "run", "--plain", "fixtures/bar/model.go")
	run(second, "fx_graph hit 3\n", "report", "last")
	run(second, "removed ", "cache", "clear")
	run(second, "[]", "cache", "list", "--json")
	for _, args := range [][]string{
		{"cache", "import", "go.mod"}, {"cache", "import"}, {"cache", "export", file}, {"cache", "import", "none"},
	} {
		if stdout, stderr, code := second.run(t, args...); code == 0 || strings.Count(stderr, "\n") != 1 || stdout != "" {
			t.Errorf("%v: exit %d\n%s%s", args, code, stdout, stderr)
		}
	}
}
