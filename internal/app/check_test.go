package app

import (
	"path/filepath"
	"strings"
	"testing"
)

// Flags of check stand before or behind the path; what follows -- is the program's.
func TestCheckFlags(t *testing.T) {
	trace := filepath.Join("..", "..", "explain", "testdata", "traces", "pytorch-2.15", "nested_gb.log.zst")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"check --max-breaks 0 " + trace, ExitFound, "max-breaks: "},
		{"check " + trace + " --max-breaks 0", ExitFound, "max-breaks: "},
		{"check " + trace + " --max-breaks 1000", ExitOK, ""},
		{"check --max-breaks 0 -- false --max-recompiles 0", 1, "false ended with code 1"},
		{"check " + trace + " --max-brakes 0", ExitUsage, "--max-brakes"},
	} {
		r := run(t, tcdbg(t, t.TempDir(), strings.Fields(c.args)...))
		if r.code != c.code || !strings.Contains(r.stdout+r.stderr, c.want) {
			t.Errorf("%s: code %d, want %d and %q\n%s%s", c.args, r.code, c.code, c.want, r.stdout, r.stderr)
		}
	}
}
