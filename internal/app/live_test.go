package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

// compiled is a program with a break, whose second compiled call waits until a
// file appears.
const compiled = `import (
	"fmt"
	"os"
	"time"

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
	fmt.Println(fast(torch.Ones(10), torch.Ones(10)).Shape())
	for {
		if _, err := os.Stat(os.Args[1]); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	fmt.Println(fast(torch.Ones(4), torch.Ones(4)).Shape())
}
`

// needCompiler skips aloud where kernels cannot be built.
func needCompiler(t testing.TB) {
	t.Helper()
	for _, cc := range []string{"cc", "gcc", "clang"} {
		if _, err := exec.LookPath(cc); err == nil {
			return
		}
	}
	t.Skip("no C compiler: no kernels to see")
}

// until waits for a report that passes; the test's own deadline bounds it.
func until(t *testing.T, f *feed, what string, ok func(*explain.Report) bool) {
	t.Helper()
	for {
		r := f.Snapshot()
		if ok(r) {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("never saw %s: %+v", what, r.Totals)
		case <-time.After(5 * time.Millisecond):
		}
		if run := f.Run(); !run.Live {
			t.Fatalf("the program ended (%s) before %s: %+v", run.Ended, what, f.Snapshot().Totals)
		}
	}
}

// The first graph, break and kernel are on the screens while the program waits
// between two compiled calls; afterwards the recompile is, and the end.
func TestLive(t *testing.T) {
	needCompiler(t)
	t.Setenv(asProgram, "1")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	freshCache(t)
	gate := filepath.Join(t.TempDir(), "go-on")
	r, err := newRun("run", []string{program(t, compiled)}, []string{gate}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &feed{title: "model.go", exportDir: r.Path}
	if err := f.startChild(r, func(in, out, errs *os.File) (*child, error) { return startEngine(r, in, out, errs, true) },
		false); err != nil {
		t.Fatal(err)
	}
	until(t, f, "the first graph, break and kernel", func(r *explain.Report) bool {
		return r.Totals.Graphs > 0 && r.Totals.DistinctBreaks > 0 && r.Totals.Kernels > 0 && r.Totals.Recompiles == 0
	})
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	st := f.now()
	<-st.done
	if n := f.Snapshot().Totals.Recompiles; n == 0 {
		t.Error("the second call's recompile is missing")
	}
	if e := f.Run().Ended; e != "exit 0" {
		t.Errorf("ended: %q", e)
	}
	if n := st.out.Len(); n != 2 {
		t.Errorf("%d lines of output", n)
	}
}

// A pause from the screen stops the program at its next safe point, with a
// record that says where; continue lets it go on.
func TestPauseContinue(t *testing.T) {
	needCompiler(t)
	t.Setenv(asProgram, "1")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	freshCache(t)
	gate := filepath.Join(t.TempDir(), "go-on")
	r, err := newRun("run", []string{program(t, compiled)}, []string{gate}, Options{Pause: true})
	if err != nil {
		t.Fatal(err)
	}
	f := &feed{title: "model.go", exportDir: r.Path}
	if err := f.startChild(r, func(in, out, errs *os.File) (*child, error) { return startEngine(r, in, out, errs, true) },
		false); err != nil {
		t.Fatal(err)
	}
	paused := func(r *explain.Report) bool { return r.State.State == "paused" }
	until(t, f, "the first pause", paused)
	if run := f.Run(); !run.Paused || !run.Control || run.Where == "" {
		t.Errorf("%+v", run)
	}
	if n := f.Snapshot().Totals.Graphs; n != 0 {
		t.Errorf("%d graphs before the program was let go", n)
	}
	if err := f.Send(ctl.Command{Verb: ctl.Continue}); err != nil {
		t.Fatal(err)
	}
	until(t, f, "the first graph", func(r *explain.Report) bool { return r.Totals.Graphs > 0 })
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	<-f.now().done
	if e := f.Run().Ended; e != "exit 0" {
		t.Errorf("ended: %q", e)
	}
}

// A breakpoint that is set from the screen stops the program before a generated kernel
// runs, with its inputs; the record is read from the trace.
func TestStopAtKernel(t *testing.T) {
	needCompiler(t)
	t.Setenv(asProgram, "1")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	freshCache(t)
	gate := filepath.Join(t.TempDir(), "go-on")
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := newRun("run", []string{program(t, compiled)}, []string{gate}, Options{Pause: true})
	if err != nil {
		t.Fatal(err)
	}
	f := &feed{title: "model.go", exportDir: r.Path}
	if err := f.startChild(r, func(in, out, errs *os.File) (*child, error) { return startEngine(r, in, out, errs, true) },
		false); err != nil {
		t.Fatal(err)
	}
	standing := func(kind logs.StopKind) (stop *logs.Stop) {
		until(t, f, "a stop: "+string(kind), func(r *explain.Report) bool {
			s := r.Session.Standing()
			if len(s) == 0 || s[len(s)-1].Kind != kind {
				return false
			}
			stop = s[len(s)-1].Load()
			return true
		})
		return stop
	}
	send := func(c ctl.Command) {
		t.Helper()
		if err := f.Send(c); err != nil {
			t.Fatal(err)
		}
	}
	standing(logs.StopStart)
	send(ctl.Command{Verb: ctl.Break, Arg: "kernel", Point: 1})
	send(ctl.Command{Verb: ctl.Continue})
	s := standing(logs.StopKernel)
	if s.Compiled != "bar" || s.Where.Func != "bar" || !strings.Contains(s.Reason, "kernel ") || len(s.Symbolic) < 2 || s.Point != 1 {
		t.Errorf("%+v", s)
	}
	if in := s.Symbolic[0]; in.Tensor == nil || strings.Join(in.Tensor.Shape, " ") != "10" || in.Tensor.Min != "1" {
		t.Errorf("the kernel's input is %+v", in)
	}
	if len(s.Stack) != 2 || s.Stack[1].Func != "main" {
		t.Errorf("the stack is %+v", s.Stack)
	}
	send(ctl.Command{Verb: ctl.Leave})
	<-f.now().done
	if e := f.Run().Ended; e != "exit 0" {
		t.Errorf("ended: %q", e)
	}
}

// A kernel that faults ends with exit 70 and one line naming graph and kernel.
func TestKernelFault(t *testing.T) {
	needCompiler(t)
	state := t.TempDir()
	c := tcdbg(t, state, "run", "--plain", program(t, compiled), "/")
	c.Env = append(c.Env, "TCDBG_TRAP_KERNEL=fused_mul_0", "XDG_CACHE_HOME="+freshCache(t))
	r := run(t, c)
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	last := lines[len(lines)-1]
	if r.code != ExitKernel || !strings.HasPrefix(last, "tcdbg: kernel fault: SIG") ||
		!strings.Contains(last, "kernel fused_mul_0 of graph __compiled_fn_") {
		t.Errorf("code %d, last line %q", r.code, last)
	}
	if i := lastRun(t, state).Info; i.State != Crashed || i.Crash == "" {
		t.Errorf("run.json: %+v", i)
	}
}
