package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/internal/test/golden"
)

// TestUserPrograms runs each program of testdata/programs under a backend, which is another
// for each (half of them), or in the long form of the tests all under all, and compares it with what it prints when it is compiled:
// standard output and the exit code are equal, and standard error holds its lines, in order.
//
// A comment says what is not equal, and why:
//
//	// want differs BACKEND...: WHY    the output is NAME.BACKEND.out
func TestUserPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	bin, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	cache := freshCache(t)
	all := []string{"inductor", "aot_eager", "eager"}
	if !golden.Updating() {
		files = test.Some(t, len(files)/2, files)
	}
	for i, file := range files {
		backends := all
		if !test.IsLong() && !golden.Updating() {
			backends = all[i%3 : i%3+1]
		}
		name := strings.TrimSuffix(filepath.Base(file), ".go")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if golden.Updating() {
				compiled(t, file).write(t, strings.TrimSuffix(file, ".go"))
			}
			differs := differing(t, file)
			for _, backend := range backends {
				t.Run(backend, func(t *testing.T) {
					got := runCommand(t, exec.Command(bin, "run", "--plain", file), "XDG_STATE_HOME="+t.TempDir(),
						"XDG_CACHE_HOME="+cache, "TCDBG_BACKEND="+backend, checksOn)
					expected := strings.TrimSuffix(file, ".go")
					if slices.Contains(differs, backend) {
						expected += "." + backend
						if golden.Updating() {
							programRun{stdout: got.stdout, code: got.code}.write(t, expected)
						}
					}
					got.compare(t, expected)
				})
			}
		})
	}
}

var differsComment = regexp.MustCompile(`(?m)^// want differs ([a-z_ ]+): .`)

// differing lists the backends under which a program says other things.
func differing(t *testing.T, file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if m := differsComment.FindSubmatch(text); m != nil {
		return strings.Fields(string(m[1]))
	}
	return nil
}

// programRun is what a program did.
type programRun struct {
	stdout, stderr string
	code           int
}

func runCommand(t *testing.T, cmd *exec.Cmd, env ...string) programRun {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = append(os.Environ(), env...)
	var r programRun
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		r.code = exit.ExitCode()
	}
	r.stdout, r.stderr = out.String(), errs.String()
	return r
}

// compiled runs the program as `go run` does.
func compiled(t *testing.T, file string) programRun {
	t.Helper()
	r := runCommand(t, exec.Command(goBuild(t, file)))
	r.stderr, _, _ = strings.Cut(r.stderr, "\ngoroutine ") // the trace of a panic
	r.stderr = changingLine.ReplaceAllString(r.stderr, "")
	return r
}

// changingLine is a line of standard error with a duration, or with addresses of a
// signal.
var changingLine = regexp.MustCompile(`(?m)^(.*[0-9](ns|µs|ms|s)\b.*|\[signal .*)(\n|$)`)

// write makes the golden files of name; what is empty has none.
func (r programRun) write(t *testing.T, name string) {
	t.Helper()
	code := ""
	if r.code != 0 {
		code = string(rune('0'+r.code)) + "\n"
	}
	for ext, text := range map[string]string{".out": r.stdout, ".err": r.stderr, ".exit": code} {
		var err error
		if text == "" && ext != ".out" {
			if err = os.Remove(name + ext); errors.Is(err, os.ErrNotExist) {
				err = nil
			}
		} else {
			err = os.WriteFile(name+ext, []byte(text), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (r programRun) compare(t *testing.T, name string) {
	t.Helper()
	want, err := os.ReadFile(name + ".out")
	if err != nil {
		t.Fatal(err)
	}
	code := 0
	if text, err := os.ReadFile(name + ".exit"); err == nil {
		code = int(text[0] - '0')
	}
	if r.code != code {
		t.Errorf("exit code %d, want %d\n%s", r.code, code, r.stderr)
	}
	if r.stdout != string(want) {
		t.Errorf("standard output differs from the compiled program's:\n%s", firstDifference(r.stdout, string(want)))
	}
	rest := r.stderr
	errs, _ := os.ReadFile(name + ".err")
	for line := range strings.Lines(string(errs)) {
		_, after, found := strings.Cut(rest, strings.TrimSuffix(line, "\n"))
		if !found {
			t.Errorf("standard error lacks %q, or has it elsewhere:\n%s", line, r.stderr)
			break
		}
		rest = after
	}
}

// firstDifference shows the first line that is not equal.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, a, b)
		}
	}
	return "equal"
}
