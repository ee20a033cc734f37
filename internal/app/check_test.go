package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Flags of check come before or after the path; what follows -- is the program's.
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
		{"check --max-breaks 0 -- false --max-recompiles 0", 1, "false exited with code 1: the check fails; nothing had been compiled"},
		{"check " + trace + " --max-brakes 0", ExitUsage, "--max-brakes"},
	} {
		r := run(t, tcdbg(t, t.TempDir(), strings.Fields(c.args)...))
		if r.code != c.code || !strings.Contains(r.stdout+r.stderr, c.want) {
			t.Errorf("%s: code %d, want %d and %q\n%s%s", c.args, r.code, c.code, c.want, r.stdout, r.stderr)
		}
	}
}

// A check that passes says what it cannot vouch for: what is wrong with the trace, what is
// never recorded, and what a text log was not asked for.
func TestCheckRemarks(t *testing.T) {
	traces := filepath.Join("..", "..", "explain", "testdata", "traces", "pytorch-2.15")
	exports, text, trace := filepath.Join(traces, "failed_exports.log.zst"), filepath.Join(traces, "loops.txt.zst"),
		filepath.Join(traces, "loops.log.zst")
	const unrecorded, unlogged = "PyTorch does not record how an export ends", "no recompiles logged"
	for _, c := range []struct{ path, flag, value, says string }{
		{exports, "--max-failures", "9", unrecorded},
		{exports, "--write-baseline", filepath.Join(t.TempDir(), "b.json"), unrecorded},
		{text, "--max-recompiles", "0", unlogged},
		{text, "--write-baseline", filepath.Join(t.TempDir(), "b.json"), unlogged},
		{text, "--max-compile-time", "1s", "no compile times logged"},
		{text, "--max-breaks", "99", ""},
		{trace, "--max-recompiles", "99", ""},
	} {
		r := run(t, tcdbg(t, t.TempDir(), "check", c.flag, c.value, c.path))
		if r.code != ExitOK || r.stdout != "" || !strings.Contains(r.stderr, c.says) || c.says == "" && r.stderr != "" ||
			c.says != "" && !strings.HasPrefix(r.stderr, "tcdbg: ") {
			t.Errorf("%s %s: code %d, want %q\n%s%s", c.path, c.flag, r.code, c.says, r.stdout, r.stderr)
		}
	}
}

// A comparison says the same of both sides.
func TestDiffRemarks(t *testing.T) {
	traces := filepath.Join("..", "..", "explain", "testdata", "traces", "pytorch-2.15")
	text, trace := filepath.Join(traces, "loops.txt.zst"), filepath.Join(traces, "loops.log.zst")
	for _, c := range []struct{ old, now, says, not string }{
		{text, trace, "tcdbg: OLD: no recompiles logged", "NEW"},
		{trace, text, "tcdbg: NEW: no recompiles logged", "OLD"},
		{trace, trace, "", "tcdbg"},
	} {
		r := run(t, tcdbg(t, t.TempDir(), "diff", c.old, c.now))
		if r.code != ExitOK || !strings.Contains(r.stderr, c.says) || strings.Contains(r.stderr, c.not) {
			t.Errorf("%s %s: code %d\n%s", c.old, c.now, r.code, r.stderr)
		}
	}
}

// What is no trace ends every command that reads one with 65 and one line, whatever its
// name: nothing that passes may have been read for want of a better file.
func TestNoTraceIsRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join("..", "..", "explain", "testdata", "traces", "pytorch-2.15", "loops.log.zst")
	for name, path := range map[string]string{
		"go.mod": filepath.Join("..", "..", "go.mod"), "three bytes": write("s.log", []byte("abc")), "none": write("e.log", nil),
		"prose": write("prose.txt", []byte("a line\nanother\n\nTraceback (most recent call last):\n  File \"x.py\", line "+
			"1\nValueError: no\n")),
		"binary": write("b.log", bytes.Repeat([]byte{0, 1, 2, 0xff, '\n'}, 400)), "an empty folder": folder,
	} {
		for _, args := range [][]string{
			{"check", "--max-breaks", "0", path},
			{"report", path},
			{"replay", path},
			{"code", path},
			{"check", good, path},
			{"diff", path, path},
			{"diff", "--exit-code", good, path},
			{"diff", path, good},
			{"check", "--write-baseline", filepath.Join(dir, "b.json"), path},
		} {
			if name == "an empty folder" && args[1] == good || name == "binary" && args[1] == good && args[0] == "check" {
				continue // beside a trace the folder may be empty, and damage is told in the report
			}
			r := run(t, tcdbg(t, t.TempDir(), args...))
			if r.code != ExitData || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
				t.Errorf("%s: %v: code %d\n%s%s", name, args, r.code, r.stdout, r.stderr)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "b.json")); err == nil {
		t.Error("a baseline was written of no trace")
	}
}

// A run in which nothing is compiled is one: its check passes.
func TestRunsWithoutCompiles(t *testing.T) {
	state := t.TempDir()
	for _, args := range [][]string{
		{"check", "--max-breaks", "0", "--", "true"},
		{"check", "--max-breaks", "0", "last"},
		{"report", "last"},
	} {
		if r := run(t, tcdbg(t, state, args...)); r.code != ExitOK {
			t.Errorf("%v: code %d\n%s", args, r.code, r.stderr)
		}
	}
}

// sampleTrace is a trace with two breaks.
const sampleTrace = "../../tui/testdata/bar.log"

// A program that fails ends its check with its own code, but what its trace holds is told.
func TestCheckOfAFailingProgram(t *testing.T) {
	plain, err := filepath.Abs(sampleTrace)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, tcdbg(t, t.TempDir(), "check", "--max-breaks", "0", "--", "sh", "-c", "cp "+plain+" $TORCH_TRACE/; exit 7"))
	if r.code != 7 || !strings.Contains(r.stdout, "max-breaks: 2 breaks") || !strings.Contains(r.stderr, "BREAKS: 2 breaks") ||
		!strings.Contains(r.stderr, "sh exited with code 7: the check fails; the report above covers what it compiled before that") {
		t.Errorf("code %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
}

// Without a terminal, replay --follow waits for a trace to appear in a folder and prints
// its report when it is interrupted.
func TestFollowWaits(t *testing.T) {
	folder := t.TempDir()
	var out, errs bytes.Buffer
	c := tcdbg(t, t.TempDir(), "replay", "--follow", folder)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	if err := c.Process.Signal(syscall.Signal(0)); err != nil {
		t.Fatalf("it does not wait: %v, %s", err, errs.String())
	}
	text, err := os.ReadFile(sampleTrace)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "t.log"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || !strings.Contains(out.String(), "BREAKS: 2 breaks") {
		t.Errorf("%v\n%s%s", err, out.String(), errs.String())
	}
}

// An error of the compiler that ended a command is a failure of its report and of its
// check, though no record tells it.
func TestUncaughtErrorOfACommand(t *testing.T) {
	state := t.TempDir()
	const script = `cp "$0" $TORCH_TRACE/; printf 'Traceback (most recent call last):\n  File "/u/train.py", line 20, in main\n    ` +
		`d(x)\n  File "/v/site-packages/torch/_dynamo/backends/distributed.py", line 5, in compile_fn\n    x\nAssertionError: the ` +
		`first bucket\n' >&2; exit 1`
	r := run(t, tcdbg(t, state, "exec", "--plain", "--", "sh", "-c", script, sampleTrace))
	const want = "[-/-] main AssertionError: the first bucket\n"
	if r.code != 1 || !strings.Contains(r.stderr, "FAILURES: 1\n") || !strings.Contains(r.stderr, want) {
		t.Errorf("code %d\n%s", r.code, r.stderr)
	}
	for _, args := range [][]string{{"report", "last"}, {"check", "--max-failures", "0", "last"}} {
		if r := run(t, tcdbg(t, state, args...)); !strings.Contains(r.stdout, "the first bucket") {
			t.Errorf("%v: %s%s", args, r.stdout, r.stderr)
		}
	}
	r = run(t, tcdbg(t, t.TempDir(), "check", "--max-failures", "0", "--", "sh", "-c", script, sampleTrace))
	if r.code != 1 || !strings.Contains(r.stdout, "max-failures: 1 failure") || !strings.Contains(r.stdout, "the first bucket") {
		t.Errorf("code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// The same where the user asked for PyTorch's logs: their lines are shown as they come and
// are no part of what the program printed, however much a traceback in them looks so.
func TestUncaughtErrorBesideTheUsersLogs(t *testing.T) {
	const log = "V1122 20:02:51.832000 16597 torch/_dynamo/symbolic_convert.py:9] [2/0] "
	const script = `cp "$0" $TORCH_TRACE/; printf '` + log + `Traceback (most recent call last):\n` + log +
		`[__graph_breaks] x\nTraceback (most recent call last):\n  File "/u/train.py", line 20, in main\n    d(x)\n` + log +
		`late\n  File "/v/site-packages/torch/_dynamo/backends/distributed.py", line 5, in compile_fn\n    x\nAssertionError: the ` +
		`first bucket\n' >&2; exit 1`
	for _, set := range []string{"TORCH_LOGS=dynamo", "TORCH_LOGS_OUT=" + filepath.Join(t.TempDir(), "mine.txt")} {
		c := tcdbg(t, t.TempDir(), "exec", "--plain", "--", "sh", "-c", script, sampleTrace)
		c.Env = append(c.Env, set)
		r := run(t, c)
		if r.code != 1 || !strings.Contains(r.stderr, "FAILURES: 1\n") ||
			!strings.Contains(r.stderr, "[-/-] main AssertionError: the first bucket\n") {
			t.Errorf("%s: code %d\n%s", set, r.code, r.stderr)
		}
		if !strings.Contains(r.stderr, log+"[__graph_breaks] x\n") || !strings.Contains(r.stderr, log+"late\n") {
			t.Errorf("%s: the user's log is not shown: %s", set, r.stderr)
		}
	}
}
