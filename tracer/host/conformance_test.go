package host

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	conformance = flag.String("conformance", os.Getenv("TCDBG_CONFORMANCE"),
		"run the programs of $GOROOT/test whose path matches (. for all)")
	conformanceLimit = flag.Duration("conformance-limit", 20*time.Second, "time limit of one program")
	conformanceMin   = flag.Int("conformance-min", 50, "percentage that must pass")
)

// TestConformance runs every `// run` program under $GOROOT/test in a child
// process. One passes when it exits with 0 and prints what its .out file says
// (nothing without one), as the Go project's own runner demands.
func TestConformance(t *testing.T) {
	if *conformance == "" {
		t.Skip("SKIPPED: conformance needs TCDBG_CONFORMANCE=1 (make conformance)")
	}
	if *conformance == "1" {
		*conformance = "."
	}
	root := filepath.Join(build.Default.GOROOT, "test")
	programs := runPrograms(t, root, regexp.MustCompile(*conformance))
	results := runAll(root, programs)
	passed := report(t, results)
	if total := len(results); total == 0 || passed*100 < *conformanceMin*total {
		t.Errorf("%d of %d passed, fewer than %d%%", passed, total, *conformanceMin)
	}
}

type program struct {
	file string // below the root
	args []string
}

// runPrograms lists the programs, recursively; those that Go itself does not
// build for this platform are no programs here.
func runPrograms(t *testing.T, root string, match *regexp.Regexp) []program {
	var out []program
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		args, ok := runDirective(path)
		if !ok || !match.MatchString(rel) {
			return nil
		}
		if fits, err := build.Default.MatchFile(filepath.Dir(path), filepath.Base(path)); err == nil && !fits && !ignoredByName(path) {
			t.Logf("not for %s/%s: %s", runtime.GOOS, runtime.GOARCH, rel)
			return nil
		}
		out = append(out, program{rel, args})
		return nil
	})
	if err != nil {
		t.Skipf("SKIPPED: no Go test programs: %v", err)
	}
	return out
}

// ignoredByName: a constraint of experiments or of cgo must not hide a program.
func ignoredByName(path string) bool {
	data, _ := os.ReadFile(path)
	return bytes.Contains(data, []byte("//go:build goexperiment")) || bytes.Contains(data, []byte("//go:build cgo"))
}

// runDirective reads the action of a test file: "run" with its arguments.
func runDirective(path string) (args []string, ok bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//go:build") || strings.HasPrefix(line, "// +build") {
			continue
		}
		f := strings.Fields(strings.TrimPrefix(line, "//"))
		if !strings.HasPrefix(line, "//") || len(f) == 0 || f[0] != "run" {
			return nil, false
		}
		f = f[1:]
		for len(f) > 0 && strings.HasPrefix(f[0], "-") { // flags of go run
			if f[0] == "-goexperiment" || f[0] == "-gcflags" {
				f = f[1:]
			}
			f = f[min(1, len(f)):]
		}
		return f, true
	}
	return nil, false
}

type outcome struct {
	program
	reason string // empty: passed
	detail string
}

func runAll(root string, programs []program) []outcome {
	results := make([]outcome, len(programs))
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, p := range programs {
		slots <- struct{}{}
		wg.Go(func() {
			results[i] = runOne(root, p)
			<-slots
		})
	}
	wg.Wait()
	return results
}

func runOne(root string, p program) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), *conformanceLimit)
	defer cancel()
	path := filepath.Join(root, p.file)
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{filepath.Base(path)}, p.args...)...)
	cmd.Dir = filepath.Dir(path)
	cmd.Env = append(os.Environ(), childEnv+"=1", "GOROOT="+build.Default.GOROOT)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	want, _ := os.ReadFile(strings.TrimSuffix(path, ".go") + ".out")
	text := strings.ReplaceAll(out.String(), "\r\n", "\n")
	switch {
	case ctx.Err() != nil:
		return outcome{p, "time limit", ""}
	case err != nil:
		return outcome{p, classifyFailure(text, err), text}
	case text != string(want):
		return outcome{p, "output differs", text}
	}
	return outcome{program: p}
}

var notAvailable = regexp.MustCompile(`package (\S+) is not available|host: ([^\n]{0,60})`)

func classifyFailure(text string, err error) string {
	var exit *exec.ExitError
	errors.As(err, &exit)
	switch m := notAvailable.FindStringSubmatch(text); {
	case m != nil && m[1] != "":
		return "imports " + m[1]
	case m != nil:
		return "host: " + m[2]
	case exit != nil && exit.ExitCode() == 1 && strings.Contains(text, ".go:"):
		return "does not compile"
	case strings.Contains(text, "fatal error:"):
		return "fatal error"
	case strings.Contains(text, "panic:"):
		return "panic"
	}
	return fmt.Sprint("exit: ", err)
}

// report prints the summary and returns how many passed.
func report(t *testing.T, results []outcome) (passed int) {
	groups := map[string][]outcome{}
	for _, r := range results {
		if r.reason == "" {
			passed++
		} else {
			groups[r.reason] = append(groups[r.reason], r)
		}
	}
	var names []string
	for name := range groups {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := len(groups[names[i]]), len(groups[names[j]])
		return a > b || a == b && names[i] < names[j]
	})
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%4d  %s\n", len(groups[name]), name)
		for _, r := range groups[name] {
			fmt.Fprintf(&b, "        %s  %s\n", r.file, firstLine(r.detail))
		}
	}
	fmt.Printf("%sconformance: %d/%d passed (%.1f%%)\n", b.String(), passed, len(results),
		100*float64(passed)/float64(max(1, len(results))))
	return passed
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s[:min(len(s), 110)]
}
