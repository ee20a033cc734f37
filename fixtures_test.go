package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/inductor"
	"tcdbg/internal/test"
	"tcdbg/logs"
)

// This file runs every fixture as a user would, in a process of its own, and holds the run
// against the // want comments of its source and against what the same program prints when
// Go compiles it: under inductor, and in the long form of the tests under each backend.
//
// A want is on the line that causes it, or anywhere for the whole run:
//
//	// want break CODE          the line breaks the graph, for this cause
//	// want recompile "TEXT"    a recompile whose first reason holds TEXT
//	// want guard "TEXT"        a guard whose check holds TEXT
//	// want stderr "TEXT"       a line of standard error that holds TEXT
//	// want graphs N            graphs captured
//	// want ops I: NAME ...     operators of graph I, in order
//	// want kernels N           generated kernels
//	// want once N              kernels that depend on parameters alone, not counted above
//	// want extern N            kernels that are calls of eager operators
//	// want exit N              exit code (0 without it)
//	// want backend NAME        runs under this one alone
//	// want long WHY            runs in the long form of the tests alone

var builtIn string // the folder of buildBinary, once it was asked for

// buildBinary makes the tcdbg binary once.
var buildBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tcdbg-test")
	if err != nil {
		return "", err
	}
	builtIn = dir
	bin := filepath.Join(dir, "tcdbg")
	out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %v\n%s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	// What ignores a signal here, as under nohup and in the background of a script, would ignore it in all that tests
	// start, too; what is caught is not passed on.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(builtIn)
	_ = os.RemoveAll(warmIn)
	os.Exit(code)
}

func TestFixtures(t *testing.T) {
	models, err := filepath.Glob("fixtures/*/model.go")
	if err != nil || len(models) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	bin, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	cache := freshCache(t)
	backends := test.Some(t, 1, []string{"inductor", "aot_eager", "eager"})
	for _, m := range models {
		t.Run(filepath.Base(filepath.Dir(m)), func(t *testing.T) {
			if why := readWants(t, m).long; why != "" {
				test.Long(t, why)
			}
			if !test.IsLong() { // two models of full size may need more memory than there is
				t.Parallel()
			}
			native := compiledOutput(t, m)
			for _, b := range backends {
				t.Run(b, func(t *testing.T) { checkFixture(t, bin, m, cache, b, native) })
			}
		})
	}
}

// checkFixture runs a model under one backend. What is wanted of kernels holds
// where there are some; what is captured does not depend on the backend.
func checkFixture(t *testing.T, bin, model, cache, backend, native string) {
	w := readWants(t, model)
	if w.backend != "" && w.backend != backend {
		t.Skipf("the program asks for what only %s does", w.backend)
	}
	got := runFixture(t, bin, model, cache, backend)
	if got.code != w.exit {
		t.Errorf("exit code %d, want %d\n%s", got.code, w.exit, got.stderr)
	}
	if got.stdout != native {
		t.Errorf("standard output differs from that of the compiled program\n--- tcdbg\n%s--- compiled\n%s--- stderr\n%s",
			got.stdout, native, got.stderr)
	}
	if backend != "inductor" {
		w.kernels, w.once, w.extern = -1, -1, -1
	}
	w.check(t, got.report)
	for _, want := range w.guards {
		if !slices.ContainsFunc(got.guards, func(g string) bool { return strings.Contains(g, want) }) {
			t.Errorf("no guard holds %q; there are\n%s", want, strings.Join(got.guards, "\n"))
		}
	}
	for _, text := range w.stderr {
		if !strings.Contains(got.stderr, text) {
			t.Errorf("standard error does not hold %q\n%s", text, got.stderr)
		}
	}
}

// checksOn has the program that tests run check its passes and shuffle those without an order.
const checksOn = "TCDBG_CHECK=1"

type fixtureRun struct {
	stdout, stderr string
	code           int
	report         *explain.Report
	guards         []string
}

func runFixture(t *testing.T, bin, model, cache, backend string) fixtureRun {
	t.Helper()
	state := t.TempDir()
	cmd := exec.Command(bin, "run", "--plain", model)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "XDG_CACHE_HOME="+cache, "TCDBG_BACKEND="+backend, checksOn)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	r := fixtureRun{}
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		r.code = exit.ExitCode()
	}
	r.stdout, r.stderr = out.String(), errs.String()
	traces, _ := filepath.Glob(filepath.Join(state, "tcdbg/runs/*/trace"))
	if len(traces) != 1 {
		t.Fatalf("%d traces in the run folder\n%s", len(traces), r.stderr)
	}
	store, err := logs.Open(traces, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if r.report, err = fold.All(store, model); err != nil {
		t.Fatal(err)
	}
	r.guards = guardsOf(r.report)
	checkNumbers(t, r.report)
	checkReplays(t, r.report)
	return r
}

// checkReplays wants of each graph's record, from which the screens show the kernels after any fusion, that it leads to the
// decisions which were made.
func checkReplays(t *testing.T, r *explain.Report) {
	t.Helper()
	for _, f := range r.Fusions {
		start, ok := f.Start()
		if !ok {
			t.Errorf("%s: the record of the schedule cannot be read", f.ID)
			continue
		}
		_, steps, err := inductor.Replay(start, 0)
		if err != nil {
			t.Errorf("%s: %v", f.ID, err)
			continue
		}
		same := func(a, b logs.FusionStep) bool {
			return a.A == b.A && a.B == b.B && a.Fused == b.Fused && a.Reason == b.Reason
		}
		if !slices.EqualFunc(steps, f.Steps, same) {
			t.Errorf("%s: a replay decides otherwise than the compile did", f.ID)
		}
	}
}

// guardsOf lists the checks of all entries, while their trace is open.
func guardsOf(r *explain.Report) (leaves []string) {
	var walk func(n *explain.GuardNode)
	walk = func(n *explain.GuardNode) {
		leaves = append(leaves, n.Text)
		for _, c := range n.Children {
			walk(c)
		}
	}
	for _, f := range r.Frames {
		for _, c := range f.Compiles {
			if root := c.Guards.Root(); root != nil {
				walk(root)
			}
		}
	}
	return leaves
}

// compiledOutput is what the program prints when Go compiles it.
func compiledOutput(t *testing.T, model string) string {
	t.Helper()
	r := runCommand(t, exec.Command(goBuild(t, "./"+filepath.Dir(model))))
	if r.stdout == "" {
		t.Logf("%s prints nothing: %s", model, r.stderr)
	}
	return r.stdout
}

// goBuild compiles a program as Go does, without what debuggers need: that takes half of
// a linker's time.
func goBuild(t *testing.T, program string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, program).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// wants are the expectations of one fixture; -1: none.
type wants struct {
	breaks                        map[string]int // CODE at line
	recompiles, guards, stderr    []string
	graphs, kernels, once, extern int
	ops                           map[int]string
	exit                          int
	backend, long                 string
}

var wantRE = regexp.MustCompile(`// want (\w+) ?(.*)$`)

func readWants(t *testing.T, model string) *wants {
	t.Helper()
	text, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	w := &wants{breaks: map[string]int{}, graphs: -1, kernels: -1, once: -1, extern: -1, ops: map[int]string{}}
	for i, line := range strings.Split(string(text), "\n") {
		m := wantRE.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if err := w.add(i+1, m[1], strings.TrimSpace(m[2])); err != nil {
			t.Fatalf("%s:%d: %v", model, i+1, err)
		}
	}
	return w
}

func (w *wants) add(line int, what, arg string) (err error) {
	switch what {
	case "break":
		w.breaks[fmt.Sprintf("%s at line %d", arg, line)]++
	case "recompile":
		arg, err = strconv.Unquote(arg)
		w.recompiles = append(w.recompiles, arg)
	case "guard":
		arg, err = strconv.Unquote(arg)
		w.guards = append(w.guards, arg)
	case "stderr":
		arg, err = strconv.Unquote(arg)
		w.stderr = append(w.stderr, arg)
	case "graphs":
		w.graphs, err = strconv.Atoi(arg)
	case "once":
		w.once, err = strconv.Atoi(arg)
	case "kernels":
		w.kernels, err = strconv.Atoi(arg)
	case "extern":
		w.extern, err = strconv.Atoi(arg)
	case "exit":
		w.exit, err = strconv.Atoi(arg)
	case "backend":
		w.backend = arg
	case "long":
		w.long = arg
	case "ops":
		i, list, _ := strings.Cut(arg, ":")
		var k int
		k, err = strconv.Atoi(i)
		w.ops[k] = strings.TrimSpace(list)
	default:
		err = fmt.Errorf("unknown want %q", what)
	}
	return err
}

func (w *wants) check(t *testing.T, r *explain.Report) {
	t.Helper()
	if w.graphs >= 0 && len(r.Graphs) != w.graphs {
		t.Errorf("%d graphs, want %d", len(r.Graphs), w.graphs)
	}
	for i, list := range w.ops {
		if i >= len(r.Graphs) {
			t.Errorf("there is no graph %d", i)
		} else if got := strings.Join(r.Graphs[i].Ops, " "); got != list {
			t.Errorf("operators of graph %d: %s, want %s", i, got, list)
		}
	}
	w.checkBreaks(t, r)
	w.checkRecompiles(t, r)
	extern, once, generated := 0, 0, 0
	for _, k := range r.Kernels {
		switch {
		case k.Lang == "extern":
			extern++
		case k.Hoisted:
			once++
		default:
			generated++
		}
	}
	if w.kernels >= 0 && generated != w.kernels {
		t.Errorf("%d generated kernels, want %d", generated, w.kernels)
	}
	if w.once >= 0 && once != w.once {
		t.Errorf("%d kernels of parameters alone, want %d", once, w.once)
	}
	if w.extern >= 0 && extern != w.extern {
		t.Errorf("%d extern calls, want %d", extern, w.extern)
	}
}

func (w *wants) checkBreaks(t *testing.T, r *explain.Report) {
	t.Helper()
	got := map[string]bool{}
	for _, g := range r.Breaks {
		for _, b := range g.Breaks {
			at := fmt.Sprintf("%s at line %d", b.Code, b.Pos.Line)
			got[at] = true
			if w.breaks[at] == 0 {
				t.Errorf("unexpected break %s: %s", at, b.Context)
			}
		}
	}
	for at := range w.breaks {
		if !got[at] {
			t.Errorf("missing break %s", at)
		}
	}
}

func (w *wants) checkRecompiles(t *testing.T, r *explain.Report) {
	t.Helper()
	if len(r.Recompiles) != len(w.recompiles) {
		t.Errorf("%d recompiles, want %d", len(r.Recompiles), len(w.recompiles))
	}
	for i, want := range w.recompiles {
		if i >= len(r.Recompiles) {
			break
		}
		var texts []string
		for _, f := range r.Recompiles[i].Failures {
			texts = append(texts, f.Text)
		}
		if !strings.Contains(strings.Join(texts, "\n"), want) {
			t.Errorf("recompile %d: %q does not hold %q", i, texts, want)
		}
	}
}
