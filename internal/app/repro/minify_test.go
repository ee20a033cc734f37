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
		"gradient": {Loops: func(p *ir.Program) {
			for _, v := range steps(p, ir.Sub) {
				if strings.HasSuffix(p.Name, "_backward") {
					v.Op = ir.Add
				}
			}
		}},
		"crash": {Code: func(c string) string {
			return regexp.MustCompile(`\n(.*= tanh_f\w*\()`).ReplaceAllString(c, "\n*(volatile int *)8 = 1;\n$1")
		}},
	}
}

func tanhs(p *ir.Program) []*ir.Value { return steps(p, ir.Tanh) }

// steps are the steps of loops that compute op.
func steps(p *ir.Program, op ir.Op) (out []*ir.Value) {
	for _, n := range p.Nodes {
		for i := range n.Body {
			if n.Body[i].Op == op {
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
			m := regexp.MustCompile(`(\d+) of 500 operators (?:is|are) left after (\d+) tries in (\S+): ` + kind).FindStringSubmatch(out)
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

// TestMinifyGradients: a fault of the backward graph alone is found with gradients, and the program has them.
func TestMinifyGradients(t *testing.T) {
	dir := t.TempDir()
	program := `package main

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

func f(x, w *torch.Tensor) *torch.Tensor {
	parts := x.Matmul(w).Chunk(2, kw.Dim(1))
	for range 4 {
		parts[0] = parts[0].Exp().Add(1).Log().Mul(parts[1])
	}
	y := parts[0].Sigmoid()
	return y.Cos().Add(y).Sum()
}

func main() {
	torch.ManualSeed(1)
	torch.Compile(f)(torch.Randn(4, 6), torch.Randn(6, 8, kw.RequiresGrad(true))).Backward()
}
`
	if err := os.WriteFile(filepath.Join(dir, "model.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := tcdbg(t, dir, "gradient", "run", "--plain", "model.go"); code != 0 {
		t.Fatal(out)
	}
	out, code := tcdbg(t, dir, "gradient", "repro", "--minify", "-o", "small", "last", "0/0")
	if code != 0 || !strings.Contains(out, "1 of 22 operators is left") || !strings.Contains(out, "accuracy: gradient of ") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	small := filepath.Join(dir, "small")
	if out, code := tcdbg(t, small, "gradient", "run", "--plain", "model.go"); code != 1 || !strings.Contains(out, "value 1: ") {
		t.Errorf("with the fault: exit %d\n%s", code, out)
	}
	if out, code := tcdbg(t, small, "", "run", "--plain", "model.go"); code != 0 {
		t.Errorf("without the fault: exit %d\n%s", code, out)
	}
	if out, code := tcdbg(t, dir, "", "repro", "--check", "crash", "last", "0/0"); code != app.ExitUsage {
		t.Errorf("--check alone: exit %d\n%s", code, out)
	}
	refused, code := tcdbg(t, dir, "", "repro", "--minify", "-o", "none", "last", "0/0")
	if code != app.ExitData || !strings.Contains(refused, "there is nothing to minify") {
		t.Errorf("without a fault: exit %d\n%s", code, refused)
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder is left")
	}
}
