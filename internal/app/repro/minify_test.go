package repro_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tcdbg/inductor"
	"tcdbg/inductor/ir"
	"tcdbg/internal/app"
)

// These tests run the program as people do: the test binary is tcdbg when it is called as that, with the
// fault that this variable names.
const planted = "TCDBG_TEST_PLANTED"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(app.Main(app.Process{
			Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Source: os.DirFS(os.Getenv("TCDBG_TEST_SOURCE")),
			Faults: faults()[os.Getenv(planted)],
		}))
	}
	os.Exit(m.Run())
}

// faults are what can be planted. Each is of tanh.
func faults() map[string]*inductor.Faults {
	return map[string]*inductor.Faults{
		"accuracy": {Loops: func(p *ir.Program) {
			for _, n := range tanhs(p) {
				n.Op = ir.Sin
			}
		}},
		"compile": {Loops: func(p *ir.Program) {
			if len(tanhs(p)) > 0 {
				panic("planted: no code for tanh")
			}
		}},
		"crash": {Code: func(c string) string {
			return regexp.MustCompile(`\n(.*= tanh_f\w*\()`).ReplaceAllString(c, "\n*(volatile int *)8 = 1;\n$1")
		}},
	}
}

// tanhs are the steps of loops that compute a tanh.
func tanhs(p *ir.Program) (out []*ir.Value) {
	for _, n := range p.Nodes {
		for i := range n.Body {
			if n.Body[i].Op == ir.Tanh {
				out = append(out, &n.Body[i])
			}
		}
	}
	return out
}

// wide is a program whose one graph has 500 operators, of which one is tanh.
func wide() string {
	var b strings.Builder
	b.WriteString("package main\n\nimport \"tcdbg/torch\"\n\nfunc f(x, w *torch.Tensor) *torch.Tensor {\n\tsum := x\n")
	for i := range 100 {
		name := "Sigmoid"
		if i == 57 {
			name = "Tanh"
		}
		fmt.Fprintf(&b, "\tsum = sum.Add(x.Mul(%d).Sub(w).%s().Abs())\n", i+1, name)
	}
	b.WriteString("\treturn sum\n}\n\nfunc main() {\n\ttorch.ManualSeed(1)\n\ttorch.Compile(f)(torch.Randn(4, 6), torch.Randn(6))\n}\n")
	return b.String()
}

// tcdbg runs a command line in a folder.
func tcdbg(t *testing.T, dir, fault string, args ...string) (string, int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	source, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), planted+"="+fault, "TCDBG_TEST_SOURCE="+source, "XDG_STATE_HOME="+filepath.Join(dir, "state"),
		"TORCH_LOGS=", "TCDBG_LOGS=", "TORCH_COMPILE_DEBUG=")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestMinify: a fault of each kind that is planted in a graph of 500 operators is reduced to at most five,
// and the program of these shows it, and shows nothing without the fault.
func TestMinify(t *testing.T) {
	for _, kind := range []string{"accuracy", "compile", "crash"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "model.go"), []byte(wide()), 0o600); err != nil {
				t.Fatal(err)
			}
			tcdbg(t, dir, kind, "run", "--plain", "model.go")
			out, code := tcdbg(t, dir, kind, "repro", "--minify", "--check", kind, "-o", "small", "last", "0/0")
			m := regexp.MustCompile(`(\d+) of 500 operators are left after (\d+) tries in (\S+): ` + kind).FindStringSubmatch(out)
			if code != 0 || m == nil {
				t.Fatalf("exit %d\n%s", code, out)
			}
			t.Logf("%s operators after %s tries in %s", m[1], m[2], m[3])
			if n, _ := strconv.Atoi(m[1]); n > 5 {
				t.Errorf("%d operators are left\n%s", n, out)
			}
			text, err := os.ReadFile(filepath.Join(dir, "small", "model.go"))
			if err != nil {
				t.Fatal(err)
			}
			body, _, _ := strings.Cut(string(text), "\n}\n")
			if !strings.Contains(body, ".Tanh()") || strings.Contains(out, "the program itself") {
				t.Errorf("%s\n%s", out, body)
			}
			small := filepath.Join(dir, "small")
			out, code = tcdbg(t, small, kind, "run", "--plain", "model.go")
			if code == 0 || kind == "accuracy" && !strings.Contains(out, "elements differ") {
				t.Errorf("with the fault: exit %d\n%s", code, out)
			}
			if out, code = tcdbg(t, small, "", "run", "--plain", "model.go"); code != 0 || !strings.Contains(out, "value 0 is equal") {
				t.Errorf("without the fault: exit %d\n%s", code, out)
			}
		})
	}
}
