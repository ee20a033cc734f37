package graph

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// TestGoCodeCompiles builds the Go form of graphs with arguments of every kind.
func TestGoCodeCompiles(t *testing.T) {
	g := New("__compiled_fn_2", nil)
	x := g.Input("l_x_", "L_x_", "L['x']", f32(4, 6))
	w := g.Input("func", "L_w_", "L['w']", f32(3, 6)) // a Go keyword
	b := &Builder{G: g}
	y := b.Emit(ops.Linear, x, w)
	y = b.Emit(ops.Reshape, y, []sym.Int{sym.C(2), sym.C(6)})
	y = b.Emit(ops.Sum, y, []sym.Int{sym.C(1)}, true)
	y = b.Emit(ops.Where, b.Emit(ops.Gt, y, sym.C(0)), y, b.Emit(ops.Mul, y, 0.5))
	y = b.Emit(ops.To, y, ops.Float64)
	g.SetOutput([]ops.Arg{y.(*Node)})
	apply := applyGraph(t)
	apply.Name = "__compiled_fn_3"
	choice, loop, sliced := flowGraph(t, condText), flowGraph(t, loopText), flowGraph(t, slicesText)
	choice.Name, loop.Name, sliced.Name = "__compiled_fn_4", "__compiled_fn_5", "__compiled_fn_6"
	text := bar(t).GoCode() + "\n" + g.GoCode() + "\n" + apply.GoCode() + "\n" + choice.GoCode() + "\n" + loop.GoCode() +
		"\n" + sliced.GoCode()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	src := "package p\n\nimport (\n\t\"tcdbg/torch\"\n\t\"tcdbg/torch/kw\"\n\tF \"tcdbg/torch/nn/functional\"\n)\n\nvar _ = " +
		"kw.Dim\nvar _ = F.Relu\n\n" + text
	mod := "module p\n\ngo 1.26\n\nrequire tcdbg v0.0.0\n\nreplace tcdbg => " + root + "\n"
	for name, data := range map[string]string{"p.go": src, "go.mod": mod} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "vet", "-mod=mod", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, text)
	}
	if !strings.Contains(text, "kw.Keepdim(true)") {
		t.Errorf("no keyword in\n%s", text)
	}
}
