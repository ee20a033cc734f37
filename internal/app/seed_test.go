package app

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/internal/test"
)

// TestTrialsShareTheRuntimeLibrary: the C compiler builds the runtime library for the program's
// first run, and for none of the trials, whose caches are their own.
func TestTrialsShareTheRuntimeLibrary(t *testing.T) {
	test.Long(t, "a C compiler builds the runtime library once more")
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	script, calls := filepath.Join(t.TempDir(), "cc"), filepath.Join(t.TempDir(), "calls")
	text := fmt.Sprintf("#!/bin/sh\necho \"$@\" >> '%s'\nexec '%s' \"$@\"\n", calls, cc)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CC", script)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	state, path := t.TempDir(), program(t, branching)
	if r := run(t, tcdbg(t, state, "run", "--plain", path)); r.code != 0 {
		t.Fatal(r.stderr)
	}
	compared(t, state, 0, path)
	log, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	runtimes, graphs := 0, 0
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "-DTC_UNIT=0") {
			runtimes++
		} else if strings.Contains(line, "unit0.c") {
			graphs++
		}
	}
	if runtimes != 1 || graphs < 2 {
		t.Errorf("the runtime library was built %d times, graphs %d times\n%s", runtimes, graphs, log)
	}
}
