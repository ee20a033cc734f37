package app

import (
	"context"
	"encoding/json"
	"errors"
	"go/format"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tcdbg/explain/remedy"
	"tcdbg/internal/test"
)

// tried runs tcdbg try on a program and reads the ledger that it prints.
func tried(t *testing.T, state string, code int, args ...string) *remedy.Ledger {
	t.Helper()
	t.Setenv("TCDBG_BACKEND", "aot_eager") // no C compiler has to run for each trial
	out := run(t, tcdbg(t, state, append([]string{"try", "--json"}, args...)...))
	if out.code != code {
		t.Fatalf("try %v ends with %d, want %d\n%s%s", args, out.code, code, out.stdout, out.stderr)
	}
	var l remedy.Ledger
	if err := json.Unmarshal([]byte(out.stdout), &l); err != nil {
		t.Fatalf("%v\n%s%s", err, out.stdout, out.stderr)
	}
	return &l
}

// nothingLeft checks that trials left nothing in a run's folder, and no process.
func nothingLeft(t *testing.T, state string) {
	t.Helper()
	r := lastRun(t, state)
	for _, name := range append([]string{trialFolders, sharedCache}, trialParts...) {
		if _, err := os.Stat(r.file(name)); !os.IsNotExist(err) {
			t.Errorf("%s is left in the run folder (%v)", name, err)
		}
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), r.Path) {
			t.Errorf("a process is left: %q", text)
		}
	}
}

// branching has a break that a patch removes, and a size that changes.
const branching = `import (
	"fmt"

	"tcdbg/torch"
)

func bar(a, b *torch.Tensor) *torch.Tensor {
	x := a.Div(a.Abs().Add(1))
	if b.Sum().Lt(0).Bool() {
		b = b.Mul(-1)
	}
	return x.Mul(b)
}

func main() {
	fast := torch.Compile(bar)
	for i := range 8 {
		fmt.Println(fast(torch.Randn(4+i%3), torch.Randn(4+i%3)))
	}
}
`

// mapped writes tensors that lie in maps, one in a map of a struct that is written by a goroutine beside it.
const mapped = `import (
	"fmt"

	"tcdbg/torch"
)

type state struct{ of map[int]*torch.Tensor }

var sums = map[string]*torch.Tensor{"a": torch.Zeros(2), "b": torch.Zeros(2)}

func add(s *state, x *torch.Tensor) *torch.Tensor {
	sums["b"].Add_(x)
	s.of[7].Mul_(2)
	return x.Mul(2)
}

func main() {
	fast := torch.Compile(add)
	s := &state{map[int]*torch.Tensor{7: torch.Ones(2)}}
	others := map[int]int{}
	done := make(chan bool)
	go func() {
		for i := range 1000 {
			others[i%10]++
		}
		close(done)
	}()
	for range 3 {
		torch.NoGrad(func() { fmt.Println(fast(s, torch.Ones(2))) })
	}
	<-done
	fmt.Println(sums["b"])
}
`

// Tensors in maps count as written.
func TestTryComparesMaps(t *testing.T) {
	l := tried(t, t.TempDir(), ExitFound, "--only", "backend=eager", program(t, mapped))
	c := l.Trials[len(l.Trials)-1].Compared
	if c == nil || !c.Equal || c.Written != 6 {
		t.Errorf("%+v", c)
	}
}

// A break that a patch removes is proven, with the size marked more so; the user's file is
// as it was; the diff applies, and then there is no break.
func TestTryAll(t *testing.T) {
	state, path := t.TempDir(), program(t, branching)
	before, _ := os.ReadFile(path)
	l := tried(t, state, 0, "--all", path)
	patch := l.Trial("patch:GB0170@model.go:11")
	switch {
	case patch == nil || !patch.Verdict.Proven || !patch.Compared.Equal:
		t.Fatalf("the patch is not proven: %+v", patch)
	case *l.Baseline.Measured.Breaks != 1 || *patch.Measured.Breaks != 0:
		t.Errorf("breaks %d, with the patch %d", *l.Baseline.Measured.Breaks, *patch.Measured.Breaks)
	case *patch.Measured.Recompiles == 0 || patch.Compared.Calls != 8:
		t.Errorf("%+v, %+v", patch.Measured, patch.Compared)
	}
	if l.Together == nil || len(l.Together.Remedies) < 2 || *l.Together.Measured.Breaks != 0 || *l.Together.Measured.Recompiles != 0 {
		t.Errorf("together: %+v", l.Together)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the program's file has changed")
	}
	nothingLeft(t, state)

	diff := run(t, tcdbg(t, state, "fix", "last"))
	if diff.code != 0 || !strings.Contains(diff.stdout, "#   set: ") || !strings.Contains(diff.stdout, "+\tb = torch.Where(") {
		t.Fatalf("%+v", diff)
	}
	applyDiff(t, filepath.Dir(path), path, diff.stdout)
	if out := run(t, tcdbg(t, state, "check", "--max-breaks", "0", path)); out.code != 0 {
		t.Errorf("with the diff applied: %+v", out)
	}
}

// working has a branch whose sides do work.
const working = `import (
	"fmt"

	"tcdbg/torch"
)

func way(x, w *torch.Tensor) *torch.Tensor {
	if x.Sum().Gt(0).Bool() {
		y := x.Matmul(w)
		return y.Softmax(-1)
	}

	// the other way
	return x.Cumsum(0)
}

func main() {
	fast, w := torch.Compile(way), torch.Eye(3)
	for i := range 4 {
		fmt.Println(fast(torch.Full([]int{3, 3}, 1-2*float64(i%2)), w))
	}
}
`

// A branch whose sides do work is rewritten as compiler.Cond: one graph, both ways taken, the
// same results.
func TestTryCond(t *testing.T) {
	state, path := t.TempDir(), program(t, working)
	const id = "patch:GB0170@model.go:10"
	l := tried(t, state, 0, "--only", id, path)
	patch := l.Trial(id)
	switch {
	case patch == nil || !patch.Verdict.Proven || !patch.Compared.Equal || *patch.Measured.Breaks != 0 || *patch.Measured.Graphs != 1:
		t.Fatalf("the patch is not proven: %+v", patch)
	case l.Remedy(id).Text != "rewrite as: return compiler.Cond(x.Sum().Gt(0), a function for each side)":
		t.Errorf("it says %q", l.Remedy(id).Text)
	}
	if out := run(t, tcdbg(t, state, "fix", "-w", path)); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	text, _ := os.ReadFile(path)
	if tidy, err := format.Source(text); err != nil || string(tidy) != string(text) || !strings.Contains(string(text), "compiler.Cond(") {
		t.Errorf("gofmt: %v\n%s", err, text)
	}
	if out := run(t, tcdbg(t, state, "check", "--max-breaks", "0", path)); out.code != 0 {
		t.Errorf("with the fix written: %+v", out)
	}
}

// applyDiff applies a diff of one file as people do.
func applyDiff(t *testing.T, dir, path, diff string) {
	t.Helper()
	diff = strings.ReplaceAll(diff, strings.TrimPrefix(path, "/"), filepath.Base(path)) // it was written from elsewhere
	for _, tool := range [][]string{{"patch", "-p1"}, {"git", "apply", "-p1"}} {
		if _, err := exec.LookPath(tool[0]); err != nil {
			continue
		}
		c := exec.Command(tool[0], tool[1:]...)
		c.Dir, c.Stdin = dir, strings.NewReader(diff)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s\n%s", tool, err, out, diff)
		}
		return
	}
	t.Skip("neither patch nor git is here")
}

// fix -w writes what is proven, with a backup.
func TestFixWrites(t *testing.T) {
	state, path := t.TempDir(), program(t, branching)
	out := run(t, tcdbg(t, state, "fix", "-w", "--only", "patch:GB0170@model.go:11", path))
	text, _ := os.ReadFile(path)
	if out.code != 0 || !strings.Contains(string(text), "b = torch.Where(") {
		t.Fatalf("%+v\n%s", out, text)
	}
	backups, _ := filepath.Glob(filepath.Join(state, "tcdbg", "backups", "*-model.go"))
	if len(backups) != 1 {
		t.Errorf("backups: %v", backups)
	}
}

// counting logs in a compiled function, which the advice leaves out of compiled calls; what
// comes after depends on it, so the advice is wrong here. %s is what.
const counting = `import (
	"bytes"
	"fmt"
	"log"
	"os"
	"time"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

var said bytes.Buffer

func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	log.Println("inside")
	return y.Cos()
}

func main() {
	log.SetOutput(&said)
	_, _, _ = os.Exit, time.Second, kw.Name
	g := torch.Compile(f)
	for range 3 {
		fmt.Println(g(torch.Ones(3)))
	}
	WHAT
}
`

// A remedy that changes the exit code, what is printed, or whether the program ends at all
// is refuted, and the reason is told.
func TestTryRefutes(t *testing.T) {
	cases := map[string]struct{ what, why, state string }{
		"exit code": {`if said.Len() == 0 { os.Exit(3) }`, "ends with 3, and without the remedy with 0", "done"},
		"output":    {`fmt.Println("logged", said.Len())`, "the results differ: line 4 of standard output", "done"},
		"value": {
			`_ = fmt.Sprint(g(torch.Full([]int{2}, float64(said.Len()))))`,
			"the results differ: call 4 of f, output[0] is 1, and without the remedy 0.", "done",
		},
		"gradient": {
			`w := torch.Full([]int{2}, 3.0, kw.RequiresGrad(true)); g(w).Sum().Mul(1+said.Len()).Backward()`,
			"the results differ: after call 4 the gradient of x[0] is", "done",
		},
		"argument": {
			`b := torch.Zeros(2, 2); torch.Compile(func(b *torch.Tensor, n int) { b.Add_(n) })(b, said.Len())`,
			"the results differ: call 4 of main.func1, b[0, 0] is 0, and without the remedy ", "done",
		},
		"standard error": {
			`fmt.Fprintln(os.Stderr, "logged", said.Len())`, `the results differ: line 1 of standard error is "logged 0"`, "done",
		},
		"endless": {`for said.Len() == 0 { time.Sleep(time.Millisecond) }`, "it had not ended after 8s", "time limit"},
	}
	names := slices.Sorted(maps.Keys(cases))
	for _, name := range test.Some(t, 3, names) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			state, path := t.TempDir(), program(t, strings.Replace(counting, "WHAT", c.what, 1))
			l := tried(t, state, ExitFound, "--max-time", "8s", path)
			trial := l.Trials[0]
			if trial.Verdict.Proven || !strings.Contains(trial.Verdict.Why, c.why) || string(trial.State) != c.state {
				t.Errorf("%s: %+v", trial.State, trial.Verdict)
			}
			nothingLeft(t, state)
			if out := run(t, tcdbg(t, state, "fix", "last")); out.code != ExitFound || out.stdout != "" {
				t.Errorf("fix: %+v", out)
			}
		})
	}
}

// A program that fails before it calls a compiled function is said to, and not to have none.
func TestTryOfAProgramThatFailsAtOnce(t *testing.T) {
	for why, args := range map[string][]string{
		"ends with 65 before it calls a compiled function": {program(t, "func main() { missing() }\n")},
		"undefined: missing": {program(t, "func main() { missing() }\n")},
		"ends with 4 before it calls a compiled function (the data is not to hand)": {
			"--", "sh", "-c", "echo the data is not to hand >&2; exit 4",
		},
		"calls no compiled function where tcdbg sees it": {"--", "true"},
	} {
		out := run(t, tcdbg(t, t.TempDir(), append([]string{"try"}, args...)...))
		if out.code != ExitData || !strings.Contains(out.stderr, why) {
			t.Errorf("%s: %d %s", why, out.code, out.stderr)
		}
	}
}

// A switch that there is not is refused before the program runs, which may take long.
func TestTryRefusesBeforeItRuns(t *testing.T) {
	for id, why := range map[string]string{
		"dynamic=maybe":            `dynamic is true, false, auto, not "maybe"`,
		"nothing":                  "neither a remedy of this program nor a switch",
		"cudagraphs=false":         "a switch of PyTorch",
		"patch:GB0170@other.go:19": "neither a remedy of this program nor a switch",
	} {
		ran := filepath.Join(t.TempDir(), "ran")
		path := program(t, strings.ReplaceAll("import \"os\"\n\nfunc main() { os.WriteFile(\"RAN\", nil, 0o600) }\n", "RAN", ran))
		out := run(t, tcdbg(t, t.TempDir(), "try", "--only", id, path))
		if out.code != ExitUsage && !strings.HasPrefix(id, "patch:") || !strings.Contains(out.stderr, why) {
			t.Errorf("%s: %d %s", id, out.code, out.stderr)
		}
		if _, err := os.Stat(ran); (err == nil) != strings.HasPrefix(id, "patch:") {
			t.Errorf("%s: the program ran: %v", id, err == nil)
		}
	}
}

// A program whose results differ from run to run refutes nothing and proves nothing.
func TestTryUnstable(t *testing.T) {
	state, path := t.TempDir(), program(t, strings.Replace(counting, "WHAT", `fmt.Println(time.Now().UnixNano())`, 1))
	l := tried(t, state, ExitFound, path)
	if l.Unstable == "" || !strings.Contains(l.Trials[0].Verdict.Why, "nothing can be said") {
		t.Errorf("%q %+v", l.Unstable, l.Trials[0].Verdict)
	}
}

// Switches of our own engine take effect, one that the program has no use for is told, and
// one of PyTorch's is refused.
func TestTrySwitches(t *testing.T) {
	state, path := t.TempDir(), program(t, branching)
	l := tried(t, state, 0, "--steps", "4", "--only", "dynamic=true", "--only", "backend=eager", "--only", "mark_dynamic=bar:z:0", path)
	if m := l.Baseline.Measured; !m.Cut || *m.Calls != 4 || *m.Exit != 0 {
		t.Errorf("the baseline was not cut: %+v", m)
	}
	dynamic, eager, none := l.Trial("dynamic=true"), l.Trial("backend=eager"), l.Trial("mark_dynamic=bar:z:0")
	if !dynamic.Verdict.Proven || *dynamic.Measured.Recompiles != 0 {
		t.Errorf("dynamic: %+v %+v", dynamic.Verdict, dynamic.Measured)
	}
	if *eager.Measured.Breaks != 1 || eager.Compared == nil || !eager.Compared.Equal {
		t.Errorf("eager: %+v", eager.Verdict)
	}
	if none.Verdict.Proven || !strings.Contains(none.Verdict.Why, "took no effect") {
		t.Errorf("a mark of no parameter: %+v", none.Verdict)
	}
	if out := run(t, tcdbg(t, state, "try", "--only", "ignore_logging_functions=logging", path)); out.code != ExitUsage ||
		!strings.Contains(out.stderr, "a switch of PyTorch") {
		t.Errorf("%+v", out)
	}
}

// Cancelling ends a trial that runs, and nothing is left.
func TestCancelTrial(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv(asProgram, "1")
	path := program(t, strings.Replace(counting, "WHAT", `for said.Len() == 0 { time.Sleep(time.Millisecond) }`, 1))
	p, r, err := trialProgramOf(tryFlags{maxTime: time.Hour}, []string{path}, false)
	if err != nil {
		t.Fatal(err)
	}
	ts, err := p.begin(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	l, _ := ts.Ledger()
	go func() { done <- ts.try(context.Background(), l.Remedies[:1], false) }()
	for {
		if l, _ := ts.Ledger(); l.Running != nil && strings.HasPrefix(l.Running.What, "patch:") {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := ts.try(t.Context(), l.Remedies, false); err == nil || !strings.Contains(err.Error(), "trials are running") {
		t.Errorf("a second list at once: %v", err)
	}
	if !ts.Cancel() {
		t.Error("nothing to cancel")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	ts.close()
	l, _ = ts.Ledger()
	if tr := l.Trials[0]; tr.State != remedy.Cancelled || tr.Verdict.Proven || l.Stopped == "" {
		t.Errorf("%+v", tr)
	}
	nothingLeft(t, state)
}

// sleeps is a program that says that it has begun and does not end.
const sleeps = `import ("fmt"; "os"; "time"; "tcdbg/torch")
func f(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func main() {
	fmt.Println(torch.Compile(f)(torch.Ones(2)))
	_ = os.WriteFile(os.Args[1], nil, 0o644)
	time.Sleep(time.Hour)
}`

// tryThatRuns starts to try a program, which has begun when it returns.
func tryThatRuns(t *testing.T, state string) *exec.Cmd {
	t.Helper()
	begun := filepath.Join(t.TempDir(), "begun")
	c := tcdbg(t, state, "try", program(t, sleeps), begun)
	c.Env = append(c.Env, "TCDBG_BACKEND=eager")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(begun); err == nil {
			return c
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestKilledTry: what is left in the run folder where tcdbg is killed while it tries is
// removed by the next trial of any program, but not while it tries.
func TestKilledTry(t *testing.T) {
	state := t.TempDir()
	c := tryThatRuns(t, state)
	r := lastRun(t, state)
	sweepTrials(filepath.Dir(r.Path))
	if _, err := os.Stat(r.file(trialParts[0])); err != nil {
		t.Errorf("a trial that runs has lost its folder: %v", err)
	}
	if err := errors.Join(c.Process.Kill(), os.MkdirAll(filepath.Join(r.file(trialFolders), "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if _, err := os.Stat(r.file(trialParts[0])); err != nil {
		t.Fatalf("nothing is left that could be swept: %v", err)
	}
	if out := run(t, tcdbg(t, state, "try", "--", "true")); out.code == ExitUsage {
		t.Errorf("%+v", out)
	}
	for _, name := range append([]string{trialFolders, sharedCache}, trialParts...) {
		if _, err := os.Stat(r.file(name)); !os.IsNotExist(err) {
			t.Errorf("%s is left in the run folder (%v)", name, err)
		}
	}
}

// Interrupted before anything was tried, try ends as a program that was interrupted, and
// leaves nothing.
func TestInterruptedTry(t *testing.T) {
	state := t.TempDir()
	c := tryThatRuns(t, state)
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != exitSignal+2 {
		t.Errorf("ends with %d", code)
	}
	nothingLeft(t, state)
}
