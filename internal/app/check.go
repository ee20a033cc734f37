package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/gate"
	"tcdbg/explain/render"
	"tcdbg/logs/printable"
	"tcdbg/logs/regular"
)

// This file is `tcdbg check`: limits and baselines for a project's CI.

// check folds a trace, or what a program writes, and compares it with limits.
func (s *session) check(f checkFlags, args []string, foreign bool) error {
	if f.annotate != "" && f.annotate != "github" {
		return failf(ExitUsage, "--annotate %s: the only value is github", f.annotate)
	}
	if f.annotate == "github" {
		f.format = "github"
	}
	if !slices.Contains(gate.Formats, f.format) {
		return failf(ExitUsage, "unknown format %q; there are %s", f.format, strings.Join(gate.Formats, ", "))
	}
	var base *gate.Baseline
	var err error
	if !strings.Contains(f.baseline, ofRelease) { // what is wrong with it is said before anything runs
		if base, err = readBaseline(f.baseline); err != nil {
			return err
		}
	}
	command := args[0]
	if args, err = s.checkedTrace(args, foreign); err != nil {
		return err
	}
	ended := s.code
	r, done, err := s.foldTrace(args)
	if err != nil {
		return err
	}
	defer done()
	if base == nil {
		if base, err = readBaseline(forRelease(f.baseline, r)); err != nil {
			return err
		}
	}
	if ended != 0 {
		return s.checkFailed(f, command, ended, r, base)
	}
	s.remark("", gate.CheckRemarks(r, f.limits, base != nil || f.write != ""))
	if f.write != "" {
		return writeBaseline(forRelease(f.write, r), r)
	}
	found := gate.Check(r, f.limits, base)
	s.code = ExitOK
	if len(found) > 0 {
		s.code = ExitFound
	}
	return s.writeViolations(f, found)
}

// checkFailed tells of a program that failed: what it compiled until then is reported,
// and the limits that this passed already; a baseline of half a run is not written.
func (s *session) checkFailed(f checkFlags, command string, code int, r *explain.Report, base *gate.Baseline) error {
	told := "nothing had been compiled"
	if r.Totals.Frames+r.Totals.Failures > 0 {
		told = "the report above covers what it compiled before that"
		if err := render.WriteText(s.Stderr, r); err != nil {
			return err
		}
	}
	if err := s.writeViolations(f, gate.Check(r, f.limits, base)); err != nil {
		return err
	}
	return failf(code, "%s exited with code %d: the check fails; %s", command, code, told)
}

func (s *session) writeViolations(f checkFlags, found []gate.Violation) error {
	root := os.Getenv("GITHUB_WORKSPACE")
	if !filepath.IsAbs(root) {
		root, _ = os.Getwd()
	}
	if f.out == "" || f.out == "-" {
		return gate.Write(s.Stdout, f.format, found, root, Version)
	}
	if err := gate.WriteViolations(s.Stdout, found); err != nil {
		return err
	}
	return writeOut(f.out, func(o *outFile) error { return gate.Write(o, f.format, found, root, Version) })
}

// ofRelease in the name of a baseline stands for PyTorch's release: each has breaks of its own.
const ofRelease = "{torch}"

// forRelease is a baseline's name for what a report is of.
func forRelease(path string, r *explain.Report) string {
	release := "unknown"
	if number, ok := strings.CutPrefix(r.Engine, "PyTorch "); ok {
		parts := strings.SplitN(number, ".", 3)
		if release = parts[0]; len(parts) > 1 {
			release += "." + parts[1]
		}
	} else if r.OfGo() {
		release = "tcdbg"
	}
	safe := strings.Map(func(c rune) rune { // the trace's word, in a path
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '.' {
			return c
		}
		return '_'
	}, release)
	return strings.ReplaceAll(path, ofRelease, safe)
}

// checkedTrace runs what is to be checked, where it is a program; its output
// goes to standard error, so that standard output is the check's own.
func (s *session) checkedTrace(args []string, foreign bool) ([]string, error) {
	if foreign {
		return s.runForeign(args)
	}
	if isGo(args[0]) {
		r, err := s.runQuietly(args, s.Stderr)
		if err != nil {
			return nil, err
		}
		return []string{r.Path}, nil
	}
	return args, nil
}

// isGo reports whether a path is a Go program.
func isGo(path string) bool { return strings.HasSuffix(path, ".go") || hasGoFiles(path) }

// hasGoFiles reports whether a path is a folder of Go files.
func hasGoFiles(path string) bool {
	found, err := filepath.Glob(filepath.Join(path, "*.go"))
	return err == nil && len(found) > 0
}

func (s *session) runForeign(argv []string) ([]string, error) {
	r, err := newRun("exec", argv[:1], argv[1:], Options{})
	if err != nil {
		return nil, err
	}
	env := traceEnv(r, os.Environ(), false)
	stderr, done, err := s.pipeStderr(r, env)
	if err != nil {
		return nil, err
	}
	c, err := startForeign(r, argv, env, s.Stdin, s.Stderr, stderr, false)
	if err != nil {
		done()
		return nil, err
	}
	err = s.endPlain(c)
	done()
	if err != nil {
		return nil, err
	}
	return []string{r.Path}, nil
}

// maxBaseline is how much of a baseline is read: some hundred thousand breaks.
const maxBaseline = 64 << 20

func readBaseline(path string) (*gate.Baseline, error) {
	if path == "" {
		return nil, nil
	}
	file, err := regular.OpenNamed(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, failf(ExitData, "the baseline %s cannot be read: %s", path, strings.TrimPrefix(reason(err), path+": "))
	}
	if err != nil {
		return nil, fileError("cannot read", path, err, "--write-baseline makes one")
	}
	defer file.Close()
	b, err := gate.ReadBaseline(io.LimitReader(file, maxBaseline))
	if err != nil {
		return nil, failf(ExitData, "%s: %v", path, err)
	}
	return b, nil
}

func writeBaseline(path string, r *explain.Report) error {
	return writeOut(path, func(o *outFile) error { return gate.WriteBaseline(o, gate.NewBaseline(r)) })
}

// remark says on standard error what a verdict cannot vouch for.
func (s *session) remark(of string, remarks []string) {
	for _, remark := range remarks {
		fmt.Fprintln(s.Stderr, "tcdbg: "+of+printable.Clean(remark))
	}
}
