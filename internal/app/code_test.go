package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCode: the code of a run comes as C and as a Triton module that Python parses;
// that of PyTorch as it is in the trace; a trace without code says so.
func TestCode(t *testing.T) {
	state, out := t.TempDir(), filepath.Join(t.TempDir(), "code")
	p := program(t, `import ("fmt"; "tcdbg/torch")
func f(x *torch.Tensor) *torch.Tensor { return x.Sin().Add(x.Cos()) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(4)).Shape()) }`)
	if r := run(t, tcdbg(t, state, "run", "--plain", p)); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	r := run(t, tcdbg(t, state, "code", "-o", out, "last"))
	if r.code != 0 || !strings.Contains(r.stdout, "0_0_inference.c\n") || !strings.Contains(r.stdout, "0_0_inference.py\n") {
		t.Fatalf("%+v", r)
	}
	module, err := os.ReadFile(filepath.Join(out, "0_0_inference.py"))
	if err != nil || !strings.Contains(string(module), "@triton.jit\ndef fused_sin_cos_add_0(") ||
		!strings.Contains(string(module), "def call(args):") {
		t.Errorf("%v\n%s", err, module)
	}
	if r := run(t, tcdbg(t, state, "code", "last")); r.code != 0 || !strings.HasPrefix(r.stdout, "==> 0_0_inference.c <==\n") {
		t.Errorf("%+v", r)
	}
	theirs := filepath.Join("..", "..", "explain", "testdata", "traces", "pytorch-2.15", "fusion_small.log.zst")
	if r := run(t, tcdbg(t, state, "code", theirs)); r.code != 0 || !strings.Contains(r.stdout, ".py <==\n") ||
		strings.Contains(r.stdout, "\x1b") {
		t.Errorf("%d %s", r.code, r.stderr)
	}
	empty := program(t, "func main() {}")
	run(t, tcdbg(t, state, "run", "--plain", empty))
	if r := run(t, tcdbg(t, state, "code", "last")); r.code != ExitData || !strings.Contains(r.stderr, "no generated code") {
		t.Errorf("%+v", r)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no Python: that the module is Python is not tested")
	}
	c := exec.Command("python3", "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())", filepath.Join(out, "0_0_inference.py"))
	if text, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
