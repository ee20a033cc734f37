package app

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/explain/xray"
	"tcdbg/logs"
)

// columnText is a column as text.
func columnText(c *xray.Column) string {
	var b strings.Builder
	for _, s := range c.Sections {
		b.WriteString(s.Title + "\n")
		for _, r := range s.Rows {
			b.WriteString("  " + r.Text + " | " + r.Detail + "\n")
			for _, l := range r.More {
				b.WriteString("      " + l + "\n")
			}
			for _, u := range r.Uses {
				b.WriteString("      " + u.Buffer + ": " + u.A + " | " + u.B + "\n")
			}
		}
		if s.Note != "" {
			b.WriteString("  " + s.Note + "\n")
		}
	}
	return b.String()
}

// TestXRay: a line of a Go program is followed through all stages, its refused fusion with
// both indexings, and another line has none of it.
func TestXRay(t *testing.T) {
	state := t.TempDir()
	p := program(t, `import ("fmt"; "tcdbg/torch")
func f(x, bias *torch.Tensor) *torch.Tensor {
	y := x.Add(bias)
	k := y.Reshape(2, 2, 2, 3)
	return k.Transpose(2, 3).Matmul(torch.Ones(2, 2, 2, 2)).Square().Mean()
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3, 8), torch.Ones(8))) }`)
	if r := run(t, tcdbg(t, state, "run", "--plain", p)); r.code != 0 {
		t.Fatal(r.stderr)
	}
	text, _ := os.ReadFile(p)
	at := func(code string) logs.Pos {
		n := slices.IndexFunc(strings.Split(string(text), "\n"), func(l string) bool { return strings.Contains(l, code) })
		return logs.Pos{File: p, Line: n + 1}
	}
	store, err := logs.Open([]string{lastRun(t, state).file(traceFile)}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	report, err := fold.All(store, "model.go")
	if err != nil {
		t.Fatal(err)
	}
	line := at("x.Add(bias)")
	got := columnText(xray.Of(report, xray.Subject{Pos: line}))
	for _, want := range []string{
		"CAPTURED\n  y: f32[3, 8]", "IN LATER GRAPHS\n  y: f32[3, 8]", "aten.add.Tensor", "FUSION\n",
		"memory deps did not match: would save 96 B of memory traffic [0/0]", "buf0: written at [8*i0 + i1] over [3, 8] by op0 | read at [",
		"KERNELS\n  fused_add_0 | [0/0]", "GUARDS THAT THE LINE NEEDS\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the column lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "bmm_1") || strings.Contains(got, "mean") && strings.Contains(got, "mean.default") {
		t.Errorf("the column has nodes of other lines:\n%s", got)
	}
	other := columnText(xray.Of(report, xray.Subject{Pos: at("func main")}))
	if !strings.Contains(other, "No operator was captured from this line.") || strings.Contains(other, "KERNELS") {
		t.Errorf("a line outside:\n%s", other)
	}
	report.Kernels[0].Pos = append(report.Kernels[0].Pos, at("func main")) // as PyTorch's provenance says of a copy at the end
	compiled := columnText(xray.Of(report, xray.Subject{Pos: at("func main")}))
	if !strings.Contains(compiled, "No operator was captured from this line.") || !strings.Contains(compiled, "KERNELS") {
		t.Errorf("a line that a kernel names:\n%s", compiled)
	}
	report.Kernels[0].Pos = report.Kernels[0].Pos[:len(report.Kernels[0].Pos)-1]
	report.Live = true
	live := columnText(xray.Of(report, xray.Subject{Pos: at("func main")}))
	if !strings.Contains(live, "No graph so far has an operator of this line.") {
		t.Errorf("a line outside, while records may still come:\n%s", live)
	}
	if id := (explain.ID{Rank: -1, CompileID: logs.CompileID{Frame: 7}}); strings.Contains(
		columnText(xray.Of(report, xray.Subject{Pos: line, ID: &id})), "KERNELS") {
		t.Error("a compile that is not there has kernels")
	}
}
