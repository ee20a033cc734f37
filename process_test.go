package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/logs"
)

// This file runs tcdbg as processes: what the user sees on the streams and in
// the exit code, and what a trace holds while the program still runs.

// session is one environment for runs: its own state and cache folders.
type session struct {
	bin, state, cache string
	env               []string
}

func newSession(t *testing.T, env ...string) *session {
	t.Helper()
	bin, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	return &session{bin: bin, state: t.TempDir(), cache: freshCache(t), env: env}
}

func (s *session) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.bin, args...)
	cmd.Env = append(append(os.Environ(), "XDG_STATE_HOME="+s.state, "XDG_CACHE_HOME="+s.cache, checksOn), s.env...)
	return cmd
}

// run returns the streams and the exit code.
func (s *session) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := s.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), code
}

// trace is the only trace of the session.
func (s *session) trace() string {
	files, _ := filepath.Glob(filepath.Join(s.state, "tcdbg/runs/*/trace/*.log"))
	if len(files) == 0 {
		return ""
	}
	return files[0]
}

// program writes a program into a folder of its own.
func program(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "model.go")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestLive wants the graph, the break and the kernels of the first call in the
// report while the program is still waiting to make its second.
func TestLive(t *testing.T) {
	s := warmSession(t)
	cmd := s.command("run", "--plain", program(t, `package main

import (
	"bufio"
	"fmt"
	"os"

	"tcdbg/torch"
)

func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin().Mul(2)
	if y.Sum().Gt(0).Bool() {
		return y.Cos()
	}
	return y
}

func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Ones(4)))
	bufio.NewReader(os.Stdin).ReadString('\n') // waits for the test
	fmt.Println(g(torch.Ones(5)))
}
`))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close(); _ = cmd.Wait() }()
	r := s.await(t, func(r *explain.Report) bool {
		return len(r.Graphs) == 2 && len(r.Breaks) == 1 && len(r.Kernels) >= 2
	})
	if n := len(r.Recompiles); n != 0 {
		t.Errorf("%d recompiles before the second call", n)
	}
	if _, err := stdin.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	s.await(t, func(r *explain.Report) bool { return len(r.Recompiles) > 0 && r.State.State == "exited" })
}

// await follows the session's trace until the report satisfies ok.
func (s *session) await(t *testing.T, ok func(*explain.Report) bool) *explain.Report {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if file := s.trace(); file != "" {
			if st, err := logs.Open([]string{file}, logs.Options{}); err == nil {
				r, _ := fold.All(st, "")
				st.Close()
				if ok(r) {
					return r
				}
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		<-ctx.Done()
		cancel()
	}
	t.Fatal("the trace never showed it")
	return nil
}

// TestKernelFault makes a kernel fault on purpose, in the calling thread and in
// a thread of the pool, which there is on a machine of one processor, too, when it is asked for.
func TestKernelFault(t *testing.T) {
	needCompiler(t)
	large := program(t, `package main

import "tcdbg/torch"

func foo(x, y *torch.Tensor) *torch.Tensor { return x.Sin().Add(y.Cos()) }

func main() { torch.Compile(foo)(torch.Ones(1<<20), torch.Ones(1<<20)) }
`)
	for _, where := range []string{"", ",pool"} {
		s := warmSession(t, "GOMAXPROCS=2", "TCDBG_TRAP_KERNEL=fused_sin_cos_add_0"+where)
		_, stderr, code := s.run(t, "run", "--plain", large)
		var lines []string
		for _, l := range strings.Split(stderr, "\n") {
			if strings.Contains(l, "kernel fault") {
				lines = append(lines, l)
			}
		}
		if code != 70 || len(lines) != 1 || !strings.Contains(lines[0], "fused_sin_cos_add_0") ||
			!strings.Contains(lines[0], "__compiled_fn_0") {
			t.Errorf("trap %q: exit %d, standard error:\n%s", where, code, stderr)
		}
		if out, stderr, code := s.run(t, "report", s.trace()); code != 0 || !strings.Contains(out, "foo") {
			t.Errorf("the run does not replay: exit %d\n%s%s", code, out, stderr)
		}
	}
}

func needCompiler(t *testing.T) {
	t.Helper()
	for _, cc := range []string{os.Getenv("CC"), "cc", "gcc", "clang"} {
		if _, err := exec.LookPath(cc); cc != "" && err == nil {
			return
		}
	}
	t.Skip("NO C COMPILER: kernels cannot be built here")
}

// TestWithoutCompiler wants the same output from the interpreter, and one
// line that says so.
func TestWithoutCompiler(t *testing.T) {
	want, _, _ := warmSession(t).run(t, "run", "--plain", "fixtures/bar/model.go")
	s := newSession(t, "PATH="+t.TempDir(), "CC=")
	got, stderr, code := s.run(t, "run", "--plain", "fixtures/bar/model.go")
	if code != 0 || got != want {
		t.Errorf("exit %d\n%s\nwant\n%s", code, got, want)
	}
	if n := strings.Count(stderr, "in the interpreter"); n != 1 {
		t.Errorf("the interpreter is announced %d times\n%s", n, stderr)
	}
}

// TestTlparse opens one of our traces in PyTorch's own reader.
func TestTlparse(t *testing.T) {
	tlparse, err := exec.LookPath("tlparse")
	if err != nil {
		t.Skip("NO TLPARSE: pip install tlparse to run this test")
	}
	s := newSession(t)
	s.run(t, "run", "--plain", "fixtures/bar/model.go")
	out := filepath.Join(t.TempDir(), "out")
	text, err := exec.Command(tlparse, s.trace(), "-o", out, "--no-browser").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if strings.Contains(string(text), "fail") || !strings.Contains(string(text), "ok:") {
		t.Errorf("tlparse says %s", text)
	}
	for _, want := range []string{"dynamo_output_graph_*", "dynamo_cpp_guards_str_*", "inductor_output_code_*"} {
		if m, _ := filepath.Glob(filepath.Join(out, "-_0_0_0", want)); len(m) != 1 {
			t.Errorf("%d files %s", len(m), want)
		}
	}
}

// TestCompilerFailure wants a program whose graphs cannot be compiled to end as it would,
// with its results, and the failure with the compiler's words in the report.
func TestCompilerFailure(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: its failure is not tested")
	}
	script := filepath.Join(t.TempDir(), "cc")
	text := "#!/bin/sh\ncase \"$*\" in *TC_LANES*|*unit1.c.o*) exec " + cc + " \"$@\";; esac\necho unit0.c:7: no such thing >&2; exit 1\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	s := newSession(t, "CC="+script)
	out, errs, code := s.run(t, "run", "--plain", program(t, sinProgram))
	if code != 0 || out != "tensor([1.8415, 1.8415])\n" || strings.Count(errs, "runs in the interpreter") != 1 {
		t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
	}
	report, _, _ := s.run(t, "report", "last")
	for _, want := range []string{"FAILURES: 1", "compiling __compiled_fn_0: cc: exit status 1", "unit0.c:7: no such thing"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
}

const sinProgram = `package main

import (
	"fmt"

	"tcdbg/torch"
)

func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Sin().Add(1) })
	fmt.Println(f(torch.Ones(2)))
}
`

// TestNothingOutlivesTheEngine kills viewer or engine while a C compiler runs, which has
// started another process, and wants none of them and no build folder left.
func TestNothingOutlivesTheEngine(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("no /proc: processes are not found")
	}
	script := filepath.Join(t.TempDir(), "slow-cc")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nsh -c 'sleep 60; : "+script+"' &\nwait\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, how := range []os.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP} {
		for _, who := range []string{"run", "engine"} {
			s := newSession(t, "CC="+script)
			cmd := s.command("run", "--plain", program(t, sinProgram))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "a compiler", func() bool { return len(naming(script)) >= 2 })
			victims := []int{cmd.Process.Pid}
			if who == "engine" {
				victims = naming(s.bin + "\x00engine\x00" + s.state)
			}
			for _, pid := range victims {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Signal(how)
				}
			}
			until(t, "the end of all compilers after "+how.String()+" to "+who, func() bool { return len(naming(script)) == 0 })
			until(t, "the end of all build folders", func() bool {
				left, _ := filepath.Glob(filepath.Join(s.cache, "tcdbg/build-*"))
				return len(left) == 0
			})
			_ = cmd.Wait()
		}
	}
}

// naming are the processes in whose command line a text is, this one left out.
func naming(text string) []int {
	var out []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, err := os.ReadFile(f)
		pid, perr := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err == nil && perr == nil && pid != os.Getpid() && bytes.Contains(line, []byte(text)) {
			out = append(out, pid)
		}
	}
	return out
}

// until waits for something that must come.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
