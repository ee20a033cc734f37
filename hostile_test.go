package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tcdbg/internal/test"
	"tcdbg/logs/printable"
)

// This file runs every command that reads what others send over a folder of hostile files:
// none panics, hangs, takes much memory or sends anything to the terminal but text.

// What each run of a command may take.
const (
	hostileTime   = 60 * time.Second
	hostileMemory = 700 << 10 // KB of resident memory
)

func TestHostileFiles(t *testing.T) {
	s := warmSession(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/hostile")); err != nil {
		t.Fatal(err)
	}
	largeHostileFiles(t, dir)
	runs := filepath.Join(s.state, "tcdbg/runs")
	if err := os.CopyFS(filepath.Join(runs, "20260101-000000-received-0000"), os.DirFS("testdata/hostile/run")); err != nil {
		t.Fatal(err)
	}
	good, err := filepath.Abs("testdata/hostile/escapes.log")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range test.Some(t, (len(entries)+1)/2, entries) {
		path := filepath.Join(dir, e.Name())
		commands := [][]string{{"report", path}, {"check", "--max-breaks", "0", path}, {"diff", path, good}}
		if !strings.HasPrefix(e.Name(), "large") {
			commands = append(commands, [][]string{
				{"report", "--format", "json", path},
				{"report", "--format", "html", path},
				{"report", "--format", "chrome", path},
				{"replay", path},
				{"code", path},
				{"lower", "--all", path},
				{"repro", "-o", filepath.Join(t.TempDir(), "repro"), path, "0/0"},
				{"check", "--annotate", "github", "--max-breaks", "0", path},
				{"check", "--baseline", path, good},
				{"diff", "--json", good, path},
			}...)
		}
		for _, args := range commands {
			s.hostile(t, args)
		}
	}
	for _, args := range [][]string{{"version"}, {"runs"}, {"doctor"}, {"report", "last"}, {"report", dir}, {"replay", "\x1b[2J\u202e"}} {
		s.hostile(t, args)
	}
	if got, _ := filepath.Glob(filepath.Join(dir, "*pwned*")); len(got) > 0 {
		t.Errorf("%v were made", got)
	}
}

// hostile runs a command that reads a hostile file.
func (s *session) hostile(t *testing.T, args []string) {
	t.Helper()
	name := args[0] + " " + filepath.Base(args[len(args)-1])
	ctx, cancel := context.WithTimeout(t.Context(), hostileTime)
	defer cancel()
	made := s.command(args...)
	cmd := exec.CommandContext(ctx, made.Path, args...)
	cmd.Env, cmd.Dir = made.Env, t.TempDir()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Errorf("%s %q: it hangs", name, args)
		return
	}
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains([]int{0, 1, 64, 65, 66}, code) {
		t.Errorf("%s %q: exit %d\n%.2000s", name, args, code, errs.String())
	}
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && use.Maxrss > hostileMemory {
		t.Errorf("%s %q: %d MB of memory", name, args, use.Maxrss>>10)
	}
	for _, text := range []string{out.String(), errs.String()} {
		if strings.Contains(text, "goroutine ") || strings.Contains(text, "panic:") || strings.Contains(text, "internal error") {
			t.Errorf("%s %q: %.2000s", name, args, text)
		}
		plain := strings.NewReplacer("\n", "", "\t", "").Replace(text)
		if shown := printable.Clean(plain); shown != plain {
			i := 0
			for i < len(plain) && plain[i] == shown[i] {
				i++
			}
			t.Errorf("%s %q: %q reaches the terminal", name, args, plain[max(0, i-40):min(len(plain), i+20)])
		}
	}
	if slices.Contains(args, "json") && code == 0 && !json.Valid(out.Bytes()) {
		t.Errorf("%s %q: no JSON", name, args)
	}
	if n := strings.Count(errs.String(), "\n"); code >= 64 && n != 1 {
		t.Errorf("%s %q: %d lines say why\n%.1000s", name, args, n, errs.String())
	}
}

// largeHostileFiles makes what is too large to be kept, or no file that can be.
func largeHostileFiles(t *testing.T, dir string) {
	t.Helper()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const head = "V1121 12:00:00.000000 7 torch/a.py:1] "
	write("large-deep.log", head+`{"dynamo_start": {"stack": `+strings.Repeat("[", 200_000)+"\n")
	write("large-line.log", head+`{"artifact": {"name": "`+strings.Repeat("x", 48<<20)+"\n")
	write("large-info/run.json", `{"id": "`+strings.Repeat("x", 20<<20)+`"}`)
	write("pipe-info/trace/a.log", head+"{}\n")
	for name, target := range map[string]string{
		"zero.log": "/dev/zero", "zero-info/run.json": "/dev/zero", "none.log": "/no/such", "self.log": "self.log",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pipe.log", "pipe-info/run.json"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	block := bytes.Repeat([]byte("\taaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"), 1<<15)
	_, _ = w.Write([]byte(head + `{"artifact": {"name": "x"}, "has_payload": "x"}` + "\n"))
	for range 512 { // half a gigabyte
		_, _ = w.Write(block)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write("large-bomb.log.gz", b.String())
}
