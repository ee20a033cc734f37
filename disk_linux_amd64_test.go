package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/internal/test/faults"
)

// This file has one call to the disk fail, each in its turn.

// diskCommand is a command line whose calls to the disk fail.
type diskCommand struct {
	name string
	args []string
	// under are the folders and files whose calls fail.
	under []string
	// prepare is before each time, ends after each.
	prepare func(t *testing.T)
	ends    func(t *testing.T, what string, r faults.Result)
}

// TestDiskErrors has the n-th write, read, fsync, rename, making, opening and removal of a
// run, of a run that fills the cache, of exec and of a report fail, with a full disk and
// with a broken one. Every n with $TCDBG_FAULTS=all; else a few of each.
func TestDiskErrors(t *testing.T) {
	needCompiler(t)
	s := newSession(t)
	file := program(t, exitsWith3)
	if _, errs, code := s.run(t, "run", "--plain", file); code != 3 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	report, _, _ := s.run(t, "report", "last")
	out := filepath.Join(t.TempDir(), "report.txt")
	saved, err := filepath.Glob(filepath.Join(s.state, "tcdbg/runs/*"))
	if err != nil || len(saved) != 1 {
		t.Fatal(saved, err)
	}
	for _, c := range []diskCommand{
		{
			"run",
			[]string{"run", "--plain", file},
			[]string{s.state, s.cache, file},
			nil,
			func(t *testing.T, what string, r faults.Result) { s.ranAsEver(t, what, file, r) },
		},
		{
			"run that fills the cache",
			[]string{"run", "--plain", file},
			[]string{s.cache},
			func(t *testing.T) {
				graphs, _ := filepath.Glob(filepath.Join(s.cache, "tcdbg/graph-*"))
				for _, g := range graphs {
					_ = os.Remove(g)
				}
			},
			func(t *testing.T, what string, r faults.Result) { s.ranAsEver(t, what, file, r) },
		},
		{
			"exec",
			[]string{"exec", "--plain", "--", "sh", "-c", "echo out; echo err >&2; exit 3"},
			[]string{s.state},
			nil,
			func(t *testing.T, what string, r faults.Result) {
				if r.Code != 3 || r.Stdout != "out\n" || strings.Count(r.Stderr, "err\n") != 1 {
					t.Errorf("%s: exit %d, standard output %q\n%s", what, r.Code, r.Stdout, r.Stderr)
				}
			},
		},
		{
			"report",
			[]string{"report", saved[0]},
			[]string{s.state},
			nil,
			func(t *testing.T, what string, r faults.Result) {
				whole := r.Stdout == report || strings.Contains(r.Stdout, "input/output error: read up to there")
				if r.Code == 0 && !whole || r.Code != 0 &&
					(r.Stdout != "" || strings.Count(r.Stderr, "\n") != 1 || !strings.Contains(r.Stderr, "input/output error")) {
					t.Errorf("%s: exit %d, standard output\n%s%s", what, r.Code, r.Stdout, r.Stderr)
				}
			},
		},
		{
			"report -o",
			[]string{"report", "-o", out, saved[0]},
			[]string{filepath.Dir(out)},
			func(t *testing.T) {
				if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			func(t *testing.T, what string, r faults.Result) {
				text, _ := os.ReadFile(out)
				left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), ".*"))
				if left != nil || (r.Code != 0 || string(text) != report) &&
					(r.Code != 73 || string(text) != "old" || strings.Count(r.Stderr, "\n") != 1) {
					t.Errorf("%s: exit %d, the file holds %d bytes, left %q\n%s", what, r.Code, len(text), left, r.Stderr)
				}
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.prepare != nil && c.under[0] == s.cache {
				test.Long(t, "every call of a C compiler is looked at; TestCacheOnABrokenDisk is without one")
			}
			c.sweep(t, s)
		})
	}
}

// sweep has each call fail in its turn.
func (c *diskCommand) sweep(t *testing.T, s *session) {
	cmd := s.command(c.args...)
	run := func(f faults.Fault) faults.Result {
		if c.prepare != nil {
			c.prepare(t)
		}
		f.Under = c.under
		return faults.Run(t, cmd.Args, cmd.Env, f)
	}
	counts := run(faults.Fault{}).Counts
	for _, call := range faults.Kinds() {
		for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
			if errno == syscall.ENOSPC && call != "write" && (call != "mkdir" || !everyFault()) {
				continue // most need no room
			}
			tried, said := 0, 0
			for n := 1; ; n = c.next(n, counts[call], errno) {
				r := run(faults.Fault{Call: call, N: n, Errno: errno})
				if r.Failed == "" {
					break
				}
				tried++
				if r.Stderr != "" {
					said++
				}
				c.check(t, fmt.Sprintf("%s: %s number %d, %s (%v)", c.name, call, n, r.Failed, errno), r)
			}
			t.Logf("%s, %v: %d tried, %d said so", call, errno, tried, said)
		}
	}
}

// everyFault reports whether every n is tried, or a few.
func everyFault() bool { return os.Getenv("TCDBG_FAULTS") == "all" }

// next is the call to fail after the n-th of about so many.
func (c *diskCommand) next(n, count int, errno syscall.Errno) int {
	switch {
	case everyFault():
		return n + 1
	case errno == syscall.ENOSPC:
		return n + max(1, count*2/3)
	}
	return n + max(1, count/2)
}

// check wants an end in good order.
func (c *diskCommand) check(t *testing.T, what string, r faults.Result) {
	t.Helper()
	if everyFault() {
		t.Logf("%s: exit %d: %s", what, r.Code, strings.TrimSpace(r.Stderr))
	}
	if r.Hung {
		t.Errorf("%s: no end", what)
	}
	for _, bad := range []string{"panic", "goroutine ", "internal error", "SIG"} {
		if strings.Contains(r.Stderr, bad) {
			t.Errorf("%s: it says\n%s", what, r.Stderr)
		}
	}
	c.ends(t, what, r)
}

// ranAsEver wants the output and the exit code of exitsWith3, unless it could not be read;
// and a clean run after it, which finds nothing to mend.
func (s *session) ranAsEver(t *testing.T, what, file string, r faults.Result) {
	t.Helper()
	unread := strings.HasSuffix(r.Failed, " of "+file) && (r.Code == 65 || r.Code == 66) &&
		r.Stdout == "" && strings.Contains(r.Stderr, file)
	if !unread && (r.Code != 3 || r.Stdout != "tensor([1.8415, 1.8415])\n") {
		t.Errorf("%s: exit %d, standard output %q\n%s", what, r.Code, r.Stdout, r.Stderr)
	}
	messages := slices.DeleteFunc(strings.Split(r.Stderr, "\n"), func(l string) bool { return !strings.HasPrefix(l, "tcdbg: ") })
	if len(messages) > 2 {
		t.Errorf("%s: it says\n%s", what, r.Stderr)
	}
	lost := strings.HasPrefix(r.Failed, "write") || strings.HasPrefix(r.Failed, "rename") || strings.HasPrefix(r.Failed, "mkdir")
	if lost && r.Stderr == "" && !strings.Contains(r.Failed, "/build-") { // what a linker does not say we cannot
		t.Errorf("%s: nobody says so", what)
	}
	runs, _ := filepath.Glob(filepath.Join(s.state, "tcdbg/runs/*/run.json"))
	for _, run := range runs[min(1, len(runs)):] {
		if _, errs, code := s.run(t, "report", filepath.Dir(run)); code != 0 {
			t.Errorf("%s: the report ends with %d: %s", what, code, errs)
		}
	}
	if out, errs, code := s.run(t, "run", "--plain", file); code != 3 || errs != "" || out != "tensor([1.8415, 1.8415])\n" {
		t.Errorf("%s: the run after it: exit %d, standard output %q\n%s", what, code, out, errs)
	}
	folders, _ := filepath.Glob(filepath.Join(s.state, "tcdbg/runs/*"))
	for _, folder := range folders[min(1, len(folders)):] {
		_ = os.RemoveAll(folder)
	}
}
